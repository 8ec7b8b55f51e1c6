//go:build !ffi

// Command go measures switches between goroutines.
package main

import (
	"os"
	"runtime"
	"runtime/debug"
)

func main() {
	s := readEach(os.Args[1:])[0]
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(-1)
	m := &meter{resumes: make([]uint64, s.tasks), note: "GOMAXPROCS=1, garbage collector off"}
	before := resident()
	switch s.mechanism {
	case "gosched":
		measure(s, m, before, gosched(s, m))
	case "channel":
		measure(s, m, before, channel(s, m))
	case "iter-pull":
		measure(s, m, before, pull(s, m))
	default:
		leave("fail unknown mechanism: " + s.mechanism)
	}
}

// gosched: each goroutine yields. The scheduler decides the order of its queue.
func gosched(s settings, m *meter) func(uint64) {
	// They wait until all exist: this goroutine is interrupted every 10 ms, and all others would run then.
	start := make(chan struct{})
	for task := 1; task < s.tasks; task++ {
		go func(task int) {
			<-start
			for {
				m.resumed(task)
				runtime.Gosched()
			}
		}(task)
	}
	close(start)
	return func(rounds uint64) {
		for ; rounds > 0; rounds-- {
			runtime.Gosched()
			m.resumed(0)
		}
	}
}

// channel: goroutine i takes a token from its unbuffered channel and puts it into that of goroutine i + 1.
func channel(s settings, m *meter) func(uint64) {
	channels := make([]chan struct{}, s.tasks)
	for task := range channels {
		channels[task] = make(chan struct{})
	}
	for task := 1; task < s.tasks; task++ {
		go func(task int) {
			next := channels[(task+1)%s.tasks]
			for token := range channels[task] {
				m.resumed(task)
				next <- token
			}
		}(task)
	}
	return func(rounds uint64) {
		for ; rounds > 0; rounds-- {
			channels[1] <- struct{}{}
			<-channels[0]
			m.resumed(0)
		}
	}
}
