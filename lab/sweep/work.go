package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"

	"tamtam/fleet/stream"
)

// A refusal is the reason why a worker accepts no jobs.
type refusal struct{ why string }

func (r refusal) Error() string { return r.why }

// A damage is the reason why a job cannot run anywhere as it was posted.
type damage struct{ what string }

func (d damage) Error() string { return d.what }

// A worker runs jobs of a board.
type worker struct {
	*Board
	o   Options
	dir string // directory for files

	mu     sync.Mutex
	sweeps map[string]*unpacked // sweeps by the checksum of their bundle
}

// Work runs jobs that sweeps post on a board, o.Workers in parallel, until ctx ends. Then it returns its unfinished
// jobs, and nil. Of the other options it uses only Open. It returns an error if the jobs come from another program, or
// if a job's inputs differ here. Its result would otherwise have the name of other inputs.
func (b *Board) Work(ctx context.Context, o Options) error {
	if err := b.check(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "tamtam-sweep-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	o.Program = b.Program
	w := &worker{Board: b, o: o, dir: dir, sweeps: map[string]*unpacked{}}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var working sync.WaitGroup
	for range cmp.Or(o.Workers, runtime.GOMAXPROCS(0)) {
		working.Go(func() {
			for ctx.Err() == nil {
				if err := w.next(ctx); err != nil {
					cancel(err)
				}
			}
		})
	}
	working.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// next takes a job and runs it.
func (w *worker) next(ctx context.Context) error {
	work, err := w.Log.Claim(ctx, w.Name+topicJobs)
	if err != nil {
		return err
	}
	said, err := w.job(ctx, work)
	var no refusal
	switch {
	case err == nil && said != nil:
		err = w.say(ctx, *said)
	case errors.As(err, &no):
		err = errors.Join(err, w.say(ctx, reply{Reported: "takes no jobs: " + no.why}))
	}
	if err == nil {
		err = work.Done(ctx)
	}
	if errors.Is(err, stream.ErrLost) {
		return nil // another worker has it, and gets the same result
	}
	if err != nil {
		w.giveBack(ctx, work)
	}
	return err
}

// job runs the job of a message that is held. It returns nil if there is no reply.
func (w *worker) job(ctx context.Context, work stream.Work) (*reply, error) {
	p, err := parsePost(work.Entry().Data, w.Program)
	if err != nil {
		return &reply{Reported: fmt.Sprintf("topic %s, message %d: %v; it is dropped", w.Name+topicJobs,
			work.Entry().Seq, err)}, nil
	}
	if p.Program != w.Program {
		return nil, refusal{fmt.Sprintf("this is %s, program %.12s; the sweep wants %.80s, program %.12s: "+
			"want the same executable, since another may come to other results", w.Version, w.Program, p.Version, p.Program)}
	}
	run, stop := context.WithCancel(ctx)
	var holding sync.WaitGroup
	holding.Go(func() {
		if err := w.hold(run, work); err != nil { // the result is as good as another worker's
			w.report("message %d of topic %s: another worker may run the job too: %v", work.Entry().Seq, w.Name+topicJobs, err)
		}
	})
	said, err := w.run(ctx, p)
	stop()
	holding.Wait()
	return said, err
}

// run runs a job. It returns nil if no sweep waits for the result. The error does not concern the job.
func (w *worker) run(ctx context.Context, p *post) (*reply, error) {
	u, err := w.sweep(ctx, p.Bundle)
	var gone *stream.Gone
	if errors.As(err, &gone) {
		return nil, nil // the sweep has ended, or posted it again
	}
	said := &reply{Job: p.Name}
	if bad := (damage{}); errors.As(err, &bad) {
		said.Failed = bad.what
		return said, nil
	}
	if err != nil {
		return nil, err
	}
	defer w.leaves(u)
	if p.Index >= u.file.count() {
		said.Failed = fmt.Sprintf("index %d: want one of a sweep of %d jobs", p.Index, u.file.count())
		return said, nil
	}
	ready, err := u.file.prepare(w.o, u.file.job(p.Index))
	if err == nil && ready.name != p.Name {
		return nil, refusal{fmt.Sprintf("%s: what it depends on has the sum %s here, and %s where it was posted: want no "+
			"files outside the experiment's folder", u.withPackedPaths(ready.what), ready.name, p.Name)}
	}
	var out *Outcome
	if err == nil {
		out, err = u.file.run(ctx, ready)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		said.Failed = u.withPackedPaths(err.Error())
		return said, nil
	}
	text, err := out.text()
	said.Result = string(text)
	return said, err
}

// sweep returns an unpacked sweep. The caller must call leaves.
func (w *worker) sweep(ctx context.Context, c chunks) (*unpacked, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if u := w.sweeps[c.Sum]; u != nil {
		// The sweep's turn may nevertheless be over.
		if _, err := w.Log.Read(ctx, w.Name+topicFiles, c.First, 1); err != nil {
			return nil, err
		}
		u.users++
		return u, nil
	}
	data, err := w.getBundle(ctx, c)
	if err != nil {
		return nil, err
	}
	for sum, u := range w.sweeps {
		if u.users == 0 {
			delete(w.sweeps, sum)
			if err := os.RemoveAll(u.dir); err != nil {
				return nil, refusal{err.Error()}
			}
		}
	}
	dir, err := os.MkdirTemp(w.dir, "")
	if err != nil {
		return nil, refusal{err.Error()}
	}
	u, err := unpack(data, dir)
	if err != nil {
		if bad := (damage{}); !errors.As(err, &bad) {
			err = refusal{err.Error()}
		}
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	u.users++
	w.sweeps[c.Sum] = u
	return u, nil
}

func (w *worker) leaves(u *unpacked) {
	w.mu.Lock()
	defer w.mu.Unlock()
	u.users--
}
