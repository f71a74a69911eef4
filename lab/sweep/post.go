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

// ahead is how many jobs are posted, at most, whose results are not there yet.
const ahead = 1000

// A poster is a sweep whose jobs are run elsewhere.
type poster struct {
	*Board
	*running
	names  []string       // of the results, by job
	index  map[string]int // by the name of the result
	left   int            // jobs of which there is neither outcome nor failure
	waits  map[int]bool   // those of them that have been posted
	told   map[string]bool
	posted Posted
}

// Posted says what became of the jobs that a sweep posted.
type Posted struct {
	There   int            // results that were there already
	Workers map[string]int // results that came first, by worker
}

// Post is [File.Run] where the jobs are run by workers of a board. It waits for its turn there; o.Workers is how many
// cores look what is there already.
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
		told: map[string]bool{}}
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

// known says whether it is known what came of a job.
func (p *poster) known(i int) bool { return p.outcomes[i] != nil || p.failures[i] != nil }

// look finds out which results are there, and what cannot run.
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

// run has the jobs run whose results are missing.
func (p *poster) run(ctx context.Context) error {
	bundle, err := p.pack()
	if err != nil {
		return err
	}
	for p.left > 0 {
		err := p.hasTurn(ctx, bundle)
		switch lost := errors.Is(err, errTurn) && ctx.Err() == nil; {
		case lost && p.left > 0:
			p.tell("%v; waiting for another", err)
		case !lost && err != nil:
			return err
		}
	}
	return nil
}

// errTurn is in the error of a sweep that could not say in time that it is there.
var errTurn = errors.New("the turn is over")

// hasTurn waits for a turn, and has the jobs run until it is over.
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

// turn waits until this sweep has the board for itself: the first message of the topic is the turn, which is never
// done. Whoever comes sees to it that it is there; what is beyond is done by whoever takes it.
func (p *poster) turn(ctx context.Context) (stream.Work, error) {
	if _, err := p.Log.Append(ctx, p.Name+topicTurns, "", []byte("the turn")); err != nil {
		return nil, err
	}
	waits := time.AfterFunc(2*time.Second, func() {
		p.tell("another sweep has its turn on board %s, or its process died a moment ago: waiting", p.Name)
	})
	defer waits.Stop()
	for {
		w, err := p.Log.Take(ctx, p.Name+topicTurns)
		if err != nil || w.Entry().Seq == 1 {
			return w, err
		}
		if err := w.Done(ctx); err != nil && !errors.Is(err, stream.ErrLost) {
			return nil, err
		}
	}
}

// beginning is what a sweep itself appends to the results.
const beginning = "a sweep has its turn"

// collect takes the results that are there, posts the jobs that are missing, a number of them ahead, and takes results
// until none is missing.
func (p *poster) collect(ctx context.Context, bundle []byte) error {
	begin, err := json.Marshal(reply{By: p.By, Told: beginning})
	if err != nil {
		return err
	}
	// In front of it are results that came while nobody waited.
	mark, err := p.Log.Append(ctx, p.Name+topicResults, "", begin)
	if err != nil {
		return err
	}
	next, err := p.take(ctx, 1, mark)
	if err != nil {
		return err
	}
	at, err := p.putBundle(ctx, bundle)
	if err != nil {
		return err
	}
	// What is left of others' files makes way; workers drop jobs that need it.
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
		if next, err = p.take(ctx, next, next); err != nil {
			return err
		}
	}
	return p.Log.Acknowledge(ctx, p.Name+topicFiles, at.First+uint64(at.Count)-1)
}

// postFrom posts jobs of which nothing is known, from one on, and returns where it stopped: so many are ahead.
func (p *poster) postFrom(ctx context.Context, i int, at chunks) (int, error) {
	for ; i < len(p.jobs) && len(p.waits) < ahead; i++ {
		if p.known(i) {
			continue
		}
		data, err := json.Marshal(post{p.Board.Program, p.Version, at, i, p.names[i]})
		if err != nil {
			return i, err
		}
		if _, err := p.Log.Append(ctx, p.Name+topicJobs, "", data); err != nil { // no id: it may have been there before
			return i, err
		}
		p.waits[i] = true
	}
	return i, nil
}

// take takes results from one on, to one at least, and acknowledges them. It returns where the next are.
func (p *poster) take(ctx context.Context, from, to uint64) (uint64, error) {
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

// reply takes one reply. The error is of the directory of results.
func (p *poster) reply(data []byte) error {
	r, err := parseReply(data)
	if err != nil {
		p.tell("topic %s: %v", p.Name+topicResults, err)
		return nil
	}
	if r.Job == "" {
		p.toldBy(r)
		return nil
	}
	i, ours := p.index[r.Job]
	if !ours || p.known(i) { // of another sweep, or of a worker that ran the job again
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

// accept keeps what came of a job. The error is of the directory of results.
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

// toldBy passes on what a worker tells, once.
func (p *poster) toldBy(r *reply) {
	what := fmt.Sprintf("worker %s: %s", r.By, r.Told)
	if r.Told != beginning && !p.told[what] && len(p.told) < ahead {
		p.told[what] = true
		p.tell("%s", what)
	}
}
