package main

import (
	"sync"
	"time"
)

// A target is a random test or a fuzz target, with its results.
type target struct {
	path, dir, name string
	fuzz            bool

	running  bool
	next     uint64        // seed of the next case
	spent    time.Duration // time of all slices, including the running one
	each     time.Duration // last known cost of a seed; zero before the first slice
	last     int           // number of seeds in the last slice
	seeds    int           // number of used seeds
	cases    int           // number of cases, or inputs of a fuzz target
	failed   int           // number of failed cases; a slice that failed outside a case counts as one
	bad      int           // number of failed slices
	skips    int           // number of slices that ran no case
	repeat   []string      // commands that repeat the first failures
	problems []string      // reasons why it could not run
}

// maxBad is the number of failed slices after which a test gets no more time, since it shows nothing new.
const maxBad = 3

// A slice is one run of a target, with a part of the time.
type slice struct {
	t     *target
	seed  uint64
	cases int           // for a random test
	time  time.Duration // for a fuzz target; for a random test, the minimum expected time
}

// A schedule distributes the time.
type schedule struct {
	length time.Duration // length of a slice
	mu     sync.Mutex
	tests  []*target
	fuzzes []*target
}

// pick returns the next slice that can end within the remaining time, or nil if there is none.
func (s *schedule) pick(left time.Duration) *slice {
	s.mu.Lock()
	defer s.mu.Unlock()
	groups := [2][]*target{s.tests, s.fuzzes}
	if spent(s.fuzzes)*3 < spent(s.tests) {
		groups[0], groups[1] = s.fuzzes, s.tests
	}
	for _, group := range groups {
		if t := least(group, left); t != nil {
			job := t.slice(min(s.length, left))
			t.running = true
			t.spent += job.time
			return job
		}
	}
	return nil
}

// done records the outcome of a slice.
func (s *schedule) done(job *slice, o outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := job.t
	t.running = false
	t.spent += o.elapsed - job.time
	t.cases += o.cases
	t.failed += o.failed
	t.next += uint64(o.seeds)
	t.seeds += o.seeds
	t.last = o.seeds
	if o.failed > 0 {
		t.bad++
	}
	if o.problem != "" {
		t.problems = append(t.problems, o.problem)
	}
	if o.seeds > 0 {
		t.each = max(o.elapsed/time.Duration(o.seeds), 1)
	} else if !o.cut && !t.fuzz && o.failed == 0 {
		t.skips++
	}
	t.repeat = append(t.repeat, o.repeat[:min(len(o.repeat), mostRepeat-min(len(t.repeat), mostRepeat))]...)
}

// mostRepeat is the number of failures per target that are printed with a command.
const mostRepeat = 5

func spent(group []*target) (sum time.Duration) {
	for _, t := range group {
		sum += t.spent
	}
	return sum
}

// least returns the target that has had the least time so far, among the targets that can run now.
func least(group []*target, left time.Duration) (best *target) {
	for _, t := range group {
		over := t.bad >= maxBad || t.skips > 0 || len(t.problems) > 0
		if !t.running && !over && t.shortest() <= left && (best == nil || t.spent < best.spent) {
			best = t
		}
	}
	return best
}

// shortestFuzz is the shortest useful time of fuzzing, which first tries its existing inputs.
const shortestFuzz = 5 * time.Second

// shortest returns the known minimum time of a slice of t.
func (t *target) shortest() time.Duration {
	if t.fuzz {
		return shortestFuzz
	}
	return t.each
}

// slice returns the next slice of t that fits into the given time. A test starts with one case. Later slices may have
// up to eight times as many cases as the previous slice. The cost per case falls as slices grow, since each slice
// starts a process.
func (t *target) slice(length time.Duration) *slice {
	if t.fuzz {
		return &slice{t: t, time: max(length, shortestFuzz)}
	}
	n := 1
	if t.each > 0 {
		n = max(1, min(int(length/t.each), 8*max(t.last, 1)))
	}
	return &slice{t: t, seed: t.next, cases: n, time: t.each * time.Duration(n)}
}
