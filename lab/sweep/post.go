package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"tamtam/fleet/stream"
)

// ahead is the maximum number of posted jobs without a result.
const ahead = 1000

// A poster is a sweep whose jobs are run by other processes.
type poster struct {
	*Board
	*running
	names    []string       // names of the results, by job
	index    map[string]int // index of the job, by the name of its result
	left     int            // number of jobs without outcome or failure
	waits    map[int]bool   // indices of jobs that were posted and have neither outcome nor failure
	reported map[string]bool
	posted   Posted
}

// Posted summarises the jobs that a sweep posted.
type Posted struct {
	There   int            // number of results that already existed
	Workers map[string]int // number of first results, by worker
}

// Post does the same as [File.Run], but workers of a board run the jobs. It waits for its turn on the board. o.Workers
// is the number of cores that look for existing results.
func (f *File) Post(ctx context.Context, b *Board, o Options) ([]Outcome, Posted, error) {
	if err := b.check(); err != nil {
		return nil, Posted{}, err
	}
	o.Program = b.Program
	r, end, err := f.begin(o)
	if err != nil {
		return nil, Posted{}, err
	}
	defer end()
	p := &poster{Board: b, running: r, names: make([]string, len(r.jobs)), index: map[string]int{}, waits: map[int]bool{},
		reported: map[string]bool{}}
	p.posted.Workers = map[string]int{}
	p.look(ctx)
	if p.left > 0 && ctx.Err() == nil {
		if err := p.run(ctx); err != nil && ctx.Err() == nil {
			return nil, p.posted, err
		}
	}
	all, err := p.gathered(ctx.Err())
	return all, p.posted, err
}

// known reports whether a job has an outcome or a failure.
func (p *poster) known(i int) bool { return p.outcomes[i] != nil || p.failures[i] != nil }

// look finds the existing results, and the jobs that cannot run.
func (p *poster) look(ctx context.Context) {
	p.each(ctx, func(i int) {
		ready, err := p.prepare(p.Options, p.jobs[i])
		if err == nil {
			p.names[i] = ready.name
			p.outcomes[i], err = p.read(filepath.Join(p.dir, ready.name), p.jobs[i])
		}
		p.failures[i] = err
	})
	for i, name := range p.names {
		if name != "" {
			p.index[name] = i
		}
		switch {
		case p.outcomes[i] != nil:
			p.posted.There++
		case p.failures[i] == nil:
			p.left++
		}
	}
}

// run posts the jobs without a result, and waits for all results.
func (p *poster) run(ctx context.Context) error {
	bundle, err := p.pack()
	if err != nil {
		return err
	}
	for p.left > 0 {
		err := p.hasTurn(ctx, bundle)
		switch lost := errors.Is(err, errTurn) && ctx.Err() == nil; {
		case lost && p.left > 0:
			p.report("%v; waiting for another", err)
		case !lost && err != nil:
			return err
		}
	}
	return nil
}

// errTurn is in the error of a sweep that did not renew its turn in time.
var errTurn = errors.New("the turn is over")

// hasTurn waits for a turn, and posts jobs and collects results until it is over.
func (p *poster) hasTurn(ctx context.Context, bundle []byte) error {
	turn, err := p.turn(ctx)
	if err != nil {
		return err
	}
	defer p.giveBack(ctx, turn)
	work, cancel := context.WithCancelCause(ctx)
	var holding sync.WaitGroup
	holding.Go(func() {
		if err := p.hold(work, turn); err != nil {
			cancel(fmt.Errorf("board %s: %w: %w", p.Name, errTurn, err))
		}
	})
	defer holding.Wait()
	defer cancel(nil)
	err = p.collect(work, bundle)
	if work.Err() != nil {
		err = context.Cause(work)
	}
	return err
}

// turn waits until this sweep has the board for itself. The turn is the first message of the topic, which is never
// acknowledged. Each sweep appends it in case it is missing. Further messages are acknowledged by the sweep that
// receives them.
func (p *poster) turn(ctx context.Context) (stream.Work, error) {
	if _, err := p.Log.Append(ctx, p.Name+topicTurns, "", []byte("the turn")); err != nil {
		return nil, err
	}
	waits := time.AfterFunc(2*time.Second, func() {
		p.report("another sweep has its turn on board %s, or its process died a moment ago: waiting", p.Name)
	})
	defer waits.Stop()
	for {
		w, err := p.Log.Claim(ctx, p.Name+topicTurns)
		if err != nil || w.Entry().Seq == 1 {
			return w, err
		}
		if err := w.Done(ctx); err != nil && !errors.Is(err, stream.ErrLost) {
			return nil, err
		}
	}
}

// beginning is the message that a sweep itself appends to the results.
const beginning = "a sweep has its turn"

// collect accepts the existing results and posts the missing jobs, a limited number ahead. Then it accepts results
// until none is missing.
func (p *poster) collect(ctx context.Context, bundle []byte) error {
	begin, err := json.Marshal(reply{By: p.By, Reported: beginning})
	if err != nil {
		return err
	}
	// Results before this message arrived while no sweep waited.
	mark, err := p.Log.Append(ctx, p.Name+topicResults, "", begin)
	if err != nil {
		return err
	}
	next, err := p.acceptFrom(ctx, 1, mark)
	if err != nil {
		return err
	}
	at, err := p.putBundle(ctx, bundle)
	if err != nil {
		return err
	}
	// Files of other sweeps are deleted; workers drop jobs that need them.
	if at.First > 1 {
		if err := p.Log.Acknowledge(ctx, p.Name+topicFiles, at.First-1); err != nil {
			return err
		}
	}
	clear(p.waits)
	for i := 0; i < len(p.jobs) || len(p.waits) > 0; {
		if i, err = p.postFrom(ctx, i, at); err != nil {
			return err
		}
		if len(p.waits) == 0 {
			continue
		}
		if next, err = p.acceptFrom(ctx, next, next); err != nil {
			return err
		}
	}
	return p.Log.Acknowledge(ctx, p.Name+topicFiles, at.First+uint64(at.Count)-1)
}

// postFrom posts jobs without a result, starting at index i, until the limit is reached. It returns the index where it
// stopped.
func (p *poster) postFrom(ctx context.Context, i int, at chunks) (int, error) {
	for ; i < len(p.jobs) && len(p.waits) < ahead; i++ {
		if p.known(i) {
			continue
		}
		data, err := json.Marshal(post{p.Board.Program, p.Version, at, i, p.names[i]})
		if err != nil {
			return i, err
		}
		// no id, since the job may have been posted before
		if _, err := p.Log.Append(ctx, p.Name+topicJobs, "", data); err != nil {
			return i, err
		}
		p.waits[i] = true
	}
	return i, nil
}

// acceptFrom accepts results from one sequence number on, at least up to another, and acknowledges them. It returns the
// next number.
func (p *poster) acceptFrom(ctx context.Context, from, to uint64) (uint64, error) {
	for from <= to {
		entries, err := p.Log.Read(ctx, p.Name+topicResults, from, 256)
		var gone *stream.Gone
		if errors.As(err, &gone) && gone.First > from {
			from = gone.First
			continue
		}
		if err != nil {
			return from, err
		}
		for _, e := range entries {
			if err := p.reply(e.Data); err != nil {
				return from, err
			}
		}
		from += uint64(len(entries))
		if err := p.Log.Acknowledge(ctx, p.Name+topicResults, from-1); err != nil {
			return from, err
		}
	}
	return from, nil
}

// reply processes one reply. Its error is about the directory of results.
func (p *poster) reply(data []byte) error {
	r, err := parseReply(data)
	if err != nil {
		p.report("topic %s: %v", p.Name+topicResults, err)
		return nil
	}
	if r.Job == "" {
		p.passOn(r)
		return nil
	}
	i, ours := p.index[r.Job]
	if !ours || p.known(i) { // the result is of another sweep, or of a worker that ran the job again
		return nil
	}
	if err := p.accept(i, r); err != nil {
		return err
	}
	p.left--
	delete(p.waits, i)
	p.posted.Workers[r.By]++
	if p.Progress != nil {
		p.Progress(len(p.jobs)-p.left, len(p.jobs))
	}
	return nil
}

// accept stores the result of a job. An error comes from the directory of results.
func (p *poster) accept(i int, r *reply) error {
	if r.Failed != "" {
		p.failures[i] = errors.New(r.Failed)
		return nil
	}
	out, err := p.parseOutcome([]byte(r.Result), p.jobs[i])
	if err != nil {
		p.failures[i] = fmt.Errorf("%s, seed %d: the result of worker %s: %w", p.Experiment, p.jobs[i].Seed, r.By, err)
		return nil
	}
	p.outcomes[i] = out
	return replace(filepath.Join(p.dir, p.names[i]), []byte(r.Result))
}

// passOn passes on a worker's message, once.
func (p *poster) passOn(r *reply) {
	what := fmt.Sprintf("worker %s: %s", r.By, r.Reported)
	if r.Reported != beginning && !p.reported[what] && len(p.reported) < ahead {
		p.reported[what] = true
		p.report("%s", what)
	}
}
