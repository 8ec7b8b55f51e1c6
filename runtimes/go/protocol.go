package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// settings are the parameters.
type settings struct {
	mechanism        string
	tasks            int
	batches, singles int
	batch            uint64
	warmMin, warmMax time.Duration
}

func readSettings(arguments []string) settings {
	values := map[string]uint64{"tasks": 2, "batches": 1, "batch": 2}
	var s settings
	for _, argument := range arguments {
		key, value, _ := strings.Cut(argument, "=")
		if key == "mechanism" {
			s.mechanism = value
		} else if number, err := strconv.ParseUint(value, 10, 63); err == nil {
			values[key] = number
		}
	}
	s.tasks, s.batches, s.singles = int(values["tasks"]), int(values["batches"]), int(values["singles"])
	s.batch = values["batch"]
	s.warmMin = time.Duration(values["warm_min_ms"]) * time.Millisecond
	s.warmMax = time.Duration(values["warm_max_ms"]) * time.Millisecond
	if s.tasks < 1 || s.batch == 0 || s.batch%values["tasks"] != 0 {
		leave("fail batch must be a multiple of tasks")
	}
	return s
}

// leave ends the program with one line instead of figures.
func leave(line string) {
	fmt.Printf("tollgate-runtime 1\n%s\nend\n", line)
	os.Exit(0)
}

// meter counts the resumptions of each task.
type meter struct {
	resumes    []uint64 // each task writes its own
	dispatcher uint64   // visits of the dispatcher
	timing     bool     // single switches are timed
	start      time.Time
	singles    []time.Duration
	note       string
	border     *border // in place of tasks
}

// border counts the calls of a language by another.
type border struct {
	calls   uint64        // by the caller
	entered func() uint64 // by the callee
	copies  uint64        // calls whose text was copied
}

func (m *meter) resumed(task int) {
	m.resumes[task]++
	if m.timing {
		m.stamp()
	}
}

// stamp ends one event and begins the next.
func (m *meter) stamp() {
	elapsed := time.Since(m.start)
	if len(m.singles) < cap(m.singles) {
		m.singles = append(m.singles, elapsed)
	}
	m.start = time.Now()
}

func (m *meter) sum() (sum uint64) {
	if m.border != nil {
		return m.border.entered()
	}
	for _, resumes := range m.resumes {
		sum += resumes
	}
	return sum
}

// made is the number of switches or calls so far: the scheduler need not be fair.
func (m *meter) made() uint64 {
	if m.border != nil {
		return m.border.calls
	}
	return m.sum()
}

// sample is one batch with its counted switches.
type sample struct {
	switches uint64
	elapsed  time.Duration
}

// measure runs the whole protocol. rounds runs so many rounds; before is the resident size before the tasks were created.
func measure(s settings, m *meter, before uint64, rounds func(uint64)) {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()

	rounds(1)
	after := resident()
	batch := func() sample {
		counted := m.made()
		start := time.Now()
		rounds(s.batch / uint64(s.tasks))
		elapsed := time.Since(start)
		return sample{m.made() - counted, elapsed}
	}
	warm, ended := warmUp(s, batch)

	samples := make([]sample, s.batches)
	var copies uint64
	if m.border != nil {
		copies = m.border.copies
	}
	resumes, dispatcher := m.sum(), m.dispatcher
	for i := range samples {
		samples[i] = batch()
	}
	dispatcher, resumes = m.dispatcher-dispatcher, m.sum()-resumes
	if m.border != nil {
		copies = m.border.copies - copies
	}

	pairs := make([]time.Duration, s.singles)
	for i := range pairs {
		start := time.Now()
		pairs[i] = time.Since(start)
	}
	if s.singles > 0 {
		m.singles = make([]time.Duration, 0, s.singles)
		m.timing, m.start = true, time.Now()
		rounds(uint64((s.singles + s.tasks - 1) / s.tasks))
		m.timing = false
	}

	fmt.Fprintf(out, "tollgate-runtime 1\nversion %s\nclock 1 time.Now (CLOCK_MONOTONIC)\n", version())
	fmt.Fprintf(out, "rss %d %d\nwarm %d %s\n", before, after, warm, ended)
	var switches uint64
	for _, sample := range samples {
		switches += sample.switches
		fmt.Fprintf(out, "sample %d %d\n", sample.switches, sample.elapsed.Nanoseconds())
	}
	for _, pair := range pairs {
		fmt.Fprintf(out, "pair %d\n", pair.Nanoseconds())
	}
	for _, single := range m.singles {
		fmt.Fprintf(out, "single 1 %d\n", single.Nanoseconds())
	}
	fmt.Fprintf(out, "count switches %d\ncount resumes %d\n", switches, resumes)
	if dispatcher > 0 {
		fmt.Fprintf(out, "count dispatcher %d\n", dispatcher)
	}
	if m.border != nil {
		fmt.Fprintf(out, "count copies %d\n", copies)
	}
	fmt.Fprintf(out, "note %s\nend\n", m.note)
}

func version() string {
	return runtime.Version() + ", " + runtime.Compiler
}

// warmUp runs batches until the fastest of eight is at most 2 % faster than that of the eight before, twice.
func warmUp(s settings, batch func() sample) (switches uint64, ended string) {
	const window = 8
	began := time.Now()
	var before time.Duration
	for calm := 0; time.Since(began) < s.warmMax; {
		fastest := time.Duration(1<<63 - 1)
		for i := 0; i < window && time.Since(began) < s.warmMax; i++ {
			made := batch()
			switches += made.switches
			if made.elapsed < fastest {
				fastest = made.elapsed
			}
		}
		if before != 0 && fastest*100 >= before*98 {
			calm++
		} else {
			calm = 0
		}
		if before = fastest; calm >= 2 && time.Since(began) >= s.warmMin {
			return switches, "steady"
		}
	}
	return switches, "limit"
}

func resident() uint64 {
	var size, pages uint64
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		fmt.Sscan(string(text), &size, &pages)
	}
	return pages * uint64(os.Getpagesize())
}
