package study

import (
	"context"
	"errors"
	"sync"

	"tamtam/lab"
)

// Work is a study that runs for many seeds, on many cores.
type Work struct {
	Seeds   []uint64
	workers int
	end     lab.Time
	report  func(now lab.Time, done uint64) // nil if no progress is reported

	mu          sync.Mutex
	done, total uint64
}

// NewWork returns the work for a number of seeds. The first is the run's own seed, and each next is one higher.
func NewWork(t *lab.Topology, opts lab.Options, seeds int) *Work {
	w := &Work{workers: opts.Workers, end: t.RunTime(), report: opts.Progress}
	for i := range seeds {
		w.Seeds = append(w.Seeds, opts.Seed+uint64(i))
	}
	return w
}

// OneByOne makes EachSeed run one seed at a time from now on, for work that is timed.
func (w *Work) OneByOne() { w.workers = 1 }

// EachSeed calls f for all seeds, on as many cores as there are workers.
func (w *Work) EachSeed(ctx context.Context, f func(i int, seed uint64) error) error {
	errs := make([]error, len(w.Seeds))
	turn := make(chan struct{}, w.workers)
	var wg sync.WaitGroup
	for i, seed := range w.Seeds {
		turn <- struct{}{}
		wg.Go(func() {
			defer func() { <-turn }()
			if errs[i] = ctx.Err(); errs[i] == nil {
				errs[i] = f(i, seed)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Expect adds steps to the total.
func (w *Work) Expect(steps uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.total += steps
}

// Done adds steps to the completed ones.
func (w *Work) Done(steps int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done += uint64(steps)
	if w.report != nil {
		part := float64(w.done) / float64(max(1, w.total))
		w.report(min(w.end, lab.Time(part*float64(w.end))), w.done)
	}
}
