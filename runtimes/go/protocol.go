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

// readEach reads the parameters of each measurement: a value with commas is a list with one for each.
func readEach(arguments []string) (each []settings) {
	most := 1
	for _, argument := range arguments {
		if values := strings.Count(argument, ",") + 1; values > most {
			most = values
		}
	}
	for at := 0; at < most; at++ {
		own := make([]string, len(arguments))
		for i, argument := range arguments {
			key, value, _ := strings.Cut(argument, "=")
			if values := strings.Split(value, ","); len(values) > 1 {
				value = values[at]
			}
			own[i] = key + "=" + value
		}
		each = append(each, readSettings(own))
	}
	return each
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

// border counts the calls of a language by another, of one mechanism.
type border struct {
	calls   uint64 // by the caller
	entered uint64 // by the callee
	copies  uint64 // calls whose text was copied
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
		return m.border.entered
	}
	for _, resumes := range m.resumes {
		sum += resumes
	}
	return sum
}

func (m *meter) copies() uint64 {
	if m.border != nil {
		return m.border.copies
	}
	return 0
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

// course is one measurement.
type course struct {
	settings
	m                           *meter
	rounds                      func(uint64) // runs so many rounds
	before, after               uint64       // resident size before the tasks were created, and after each has run
	warm                        uint64
	ended                       string
	samples                     []sample
	resumes, dispatcher, copies uint64
}

// begin lets each task run once and warms up.
func begin(s settings, m *meter, before uint64, rounds func(uint64)) *course {
	rounds(1)
	samples := make([]sample, 0, s.batches)
	c := &course{settings: s, m: m, rounds: rounds, before: before, after: resident(), samples: samples}
	c.warm, c.ended = warmUp(s, c.timed)
	return c
}

// timed runs a batch.
func (c *course) timed() sample {
	counted := c.m.made()
	start := time.Now()
	c.rounds(c.batch / uint64(c.tasks))
	elapsed := time.Since(start)
	return sample{c.m.made() - counted, elapsed}
}

// sample runs so many batches that count.
func (c *course) sample(batches int) {
	resumes, dispatcher, copies := c.m.sum(), c.m.dispatcher, c.m.copies()
	for ; batches > 0; batches-- {
		c.samples = append(c.samples, c.timed())
	}
	c.resumes += c.m.sum() - resumes
	c.dispatcher += c.m.dispatcher - dispatcher
	c.copies += c.m.copies() - copies
}

// measure runs the whole protocol. rounds runs so many rounds; before is the resident size before the tasks were created.
func measure(s settings, m *meter, before uint64, rounds func(uint64)) {
	c := begin(s, m, before, rounds)
	c.sample(s.batches)
	c.print()
}

// takeTurns samples courses batch by batch. The others had the caches before each batch, so an eighth of it runs first.
func takeTurns(courses []*course) {
	for again := true; again; {
		again = false
		for _, c := range courses {
			if len(c.samples) < c.batches {
				c.rounds(c.batch/8 + 1)
				c.sample(1)
				again = true
			}
		}
	}
	for _, c := range courses {
		c.print()
	}
}

// print times single events and prints everything.
func (c *course) print() {
	s, m := c.settings, c.m
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()

	pairs := make([]time.Duration, s.singles)
	for i := range pairs {
		start := time.Now()
		pairs[i] = time.Since(start)
	}
	if s.singles > 0 {
		m.singles = make([]time.Duration, 0, s.singles)
		m.timing, m.start = true, time.Now()
		c.rounds(uint64((s.singles + s.tasks - 1) / s.tasks))
		m.timing = false
	}

	fmt.Fprintf(out, "tollgate-runtime 1\nversion %s\nclock 1 time.Now (CLOCK_MONOTONIC)\n", version())
	fmt.Fprintf(out, "rss %d %d\nwarm %d %s\n", c.before, c.after, c.warm, c.ended)
	var switches uint64
	for _, sample := range c.samples {
		switches += sample.switches
		fmt.Fprintf(out, "sample %d %d\n", sample.switches, sample.elapsed.Nanoseconds())
	}
	for _, pair := range pairs {
		fmt.Fprintf(out, "pair %d\n", pair.Nanoseconds())
	}
	for _, single := range m.singles {
		fmt.Fprintf(out, "single 1 %d\n", single.Nanoseconds())
	}
	fmt.Fprintf(out, "count switches %d\ncount resumes %d\n", switches, c.resumes)
	if c.dispatcher > 0 {
		fmt.Fprintf(out, "count dispatcher %d\n", c.dispatcher)
	}
	if m.border != nil {
		fmt.Fprintf(out, "count copies %d\n", c.copies)
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
