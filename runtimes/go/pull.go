//go:build go1.23 && !ffi

package main

import "iter"

// pull: iterators pulled in turn by one loop. iter.Pull passes control to a coroutine, without the scheduler.
func pull(s settings, m *meter) func(uint64) {
	nexts := make([]func() (uint64, bool), s.tasks)
	for task := range nexts {
		nexts[task], _ = iter.Pull(func(yield func(uint64) bool) {
			for number := uint64(0); ; number++ {
				m.resumed(task)
				if !yield(number) {
					return
				}
			}
		})
	}
	return func(rounds uint64) {
		for ; rounds > 0; rounds-- {
			for _, next := range nexts {
				next()
				m.dispatcher++
			}
		}
	}
}
