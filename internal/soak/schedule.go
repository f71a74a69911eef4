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
	spent    time.Duration // all slices, with the one that runs
	each     time.Duration // what a seed costs, as last seen; 0 before the first
	last     int           // seeds of the last slice
	seeds    int           // that were used
	cases    int           // cases, or inputs of a fuzz target
	failed   int           // cases; a slice that failed in no case counts as one
	bad      int           // slices that failed
	skips    int           // slices that ran no case
	repeat   []string      // commands that repeat the first failures
	problems []string      // why it could not be run
}

// A test that fails in slice after slice tells nothing new, and leaves its time to the others.
const mostBad = 3

// A slice is the work that a target is given at a time.
type slice struct {
	t     *target
	seed  uint64
	cases int           // of a random test
	time  time.Duration // of a fuzz target; what a random test is expected to take, at least
}

// A schedule shares out the time.
type schedule struct {
	length time.Duration // of a slice
	mu     sync.Mutex
	tests  []*target
	fuzzes []*target
}

// pick takes the next slice that can end within what is left; nil if there is none.
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
	t.spent += o.took - job.time
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
		t.each = max(o.took/time.Duration(o.seeds), 1)
	} else if !o.cut && !t.fuzz && o.failed == 0 {
		t.skips++
	}
	t.repeat = append(t.repeat, o.repeat[:min(len(o.repeat), mostRepeat-min(len(t.repeat), mostRepeat))]...)
}

// Failures of one target that are printed with a command.
const mostRepeat = 5

func spent(group []*target) (sum time.Duration) {
	for _, t := range group {
		sum += t.spent
	}
	return sum
}

// least returns the target that had the least time so far, among those that can run now.
func least(group []*target, left time.Duration) (best *target) {
	for _, t := range group {
		over := t.bad >= mostBad || t.skips > 0 || len(t.problems) > 0
		if !t.running && !over && t.shortest() <= left && (best == nil || t.spent < best.spent) {
			best = t
		}
	}
	return best
}

// Fuzzing first goes through the inputs it has: less than this is not worth the start.
const shortestFuzz = 5 * time.Second

// shortest is the time of the shortest slice of t, as far as it is known.
func (t *target) shortest() time.Duration {
	if t.fuzz {
		return shortestFuzz
	}
	return t.each
}

// slice says what t does next, in the time given. A test starts with one case and grows up to
// eightfold from slice to slice: small cases cost less than it first seems, since each slice starts
// a process.
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
