package join

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tamtam/collector/result"
	"tamtam/fleet/stream"
)

// A Pool joins partitions that are shared out among workers, in any number of processes. Each partition is joined by
// one worker; when that ends, another takes over.
//
// The topic of the work has one message for each partition: the n-th message is the n-th partition, and is never done.
// Each pool first makes sure that all these messages exist; a message beyond them is done by the first worker that
// takes it. If the log cannot read one of them any more, that partition would never be given out. Then the work moves
// to another topic, and workers that hold a partition by the old topic continue.
type Pool struct {
	Worker     Worker // configuration of each partition's worker
	Work       stream.Log
	Partitions []string // names of the partitions, the same in the same order everywhere, for as long as the log lasts
	Most       int      // maximum number of partitions that are joined here at once; 0 means all
	// Hold is the interval at which a worker extends its hold on a partition, well within the log's hold time; 0 means
	// DefaultHold.
	Hold time.Duration

	mu   sync.Mutex
	held map[string]bool
}

// DefaultHold is the default interval at which a worker extends its hold on a partition.
const DefaultHold = 10 * time.Second

// Run joins the partitions that it is given until ctx ends: then it gives all back, and returns nil. It ends with an
// error if the log or the store fail.
func (p *Pool) Run(ctx context.Context) error {
	if len(p.Partitions) == 0 || p.Most < 0 || p.Hold < 0 {
		return fmt.Errorf("a pool of %d partitions, %d at once, held every %v: want partitions, and nothing negative",
			len(p.Partitions), p.Most, p.Hold)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	topic, err := p.topic(ctx)
	if err != nil {
		return ended(ctx, err)
	}
	places := make(chan struct{}, cmp.Or(p.Most, len(p.Partitions)))
	var working sync.WaitGroup
	defer working.Wait()
	for {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return ended(ctx, context.Cause(ctx))
		}
		w, err := p.claim(ctx, &topic)
		if err != nil {
			cancel(err)
			return ended(ctx, context.Cause(ctx))
		}
		working.Go(func() {
			if err := p.work(ctx, w); err != nil {
				cancel(err)
			}
			<-places
		})
	}
}

// Reach makes sure that the log continues after the joined messages in all partitions; call it before anything is
// appended. If a store or log is away, the workers check that later.
func (p *Pool) Reach(ctx context.Context) error {
	for _, name := range p.Partitions {
		at, err := p.Worker.Store.Last(ctx, name)
		if err == nil {
			err = p.Worker.reach(ctx, name, at.Last)
		}
		if err != nil && !errors.Is(err, result.ErrAway) {
			return err
		}
	}
	return nil
}

// ended returns nil if ctx was ended from outside, otherwise err.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled) {
		return nil
	}
	return err
}

// mostTopics is the maximum number of topics that the work has had.
const mostTopics = 16

// lookAtWork is the interval at which a waiting worker checks whether a partition can no longer be given out.
const lookAtWork = time.Minute

// topic returns the topic of the work, and makes sure that the topic has a message for each partition.
func (p *Pool) topic(ctx context.Context) (string, error) {
	log, looks := p.Work.(interface {
		Whole(ctx context.Context, topic string, last uint64) (bool, error)
	})
	topic := fmt.Sprintf("partitions-%d", len(p.Partitions))
	for n := 1; ; n++ {
		if err := p.post(ctx, topic); err != nil || !looks {
			return topic, err
		}
		whole, err := log.Whole(ctx, topic, uint64(len(p.Partitions)))
		if whole || err != nil {
			return topic, err
		}
		if n == mostTopics {
			return "", fmt.Errorf("the log is damaged: topic %s, the %dth by which partitions are shared out, cannot be read",
				topic, n)
		}
		p.Worker.logger().Error("the log is damaged: a partition would have no worker, so all partitions are assigned again",
			"topic", topic)
		topic = fmt.Sprintf("partitions-%d-%d", len(p.Partitions), n)
	}
}

func (p *Pool) claim(ctx context.Context, topic *string) (stream.Work, error) {
	for {
		wait, cancel := context.WithTimeout(ctx, lookAtWork)
		w, err := p.Work.Claim(wait, *topic)
		over := wait.Err() != nil && ctx.Err() == nil
		cancel()
		if w != nil || !over {
			return w, err
		}
		if *topic, err = p.topic(ctx); err != nil {
			return nil, err
		}
	}
}

// post makes sure that there is a message for each partition.
func (p *Pool) post(ctx context.Context, topic string) error {
	for {
		seq, err := p.Work.Append(ctx, topic, "", []byte("a partition"))
		if err != nil || seq >= uint64(len(p.Partitions)) {
			return err
		}
	}
}

// work joins the partition of a message for as long as the message is held.
func (p *Pool) work(ctx context.Context, w stream.Work) error {
	n := w.Entry().Seq
	if n > uint64(len(p.Partitions)) {
		return w.Done(ctx)
	}
	name := p.Partitions[n-1]
	p.note(name, true)
	joins, stop := context.WithCancel(ctx)
	defer stop()
	var holding sync.WaitGroup
	holding.Go(func() {
		defer stop()
		p.hold(joins, w, name)
	})
	err := p.Worker.Run(joins, name)
	stop()
	holding.Wait()
	p.note(name, false)
	// The next worker need not wait until the hold time is over.
	giveBack, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if backErr := w.Return(giveBack); backErr != nil && !errors.Is(backErr, stream.ErrLost) {
		p.Worker.logger().Warn("a partition is not given back: it is free when it has not been held for a while",
			"partition", name, "reason", backErr)
	}
	return err
}

// hold extends the hold on a partition until that fails or ctx ends.
func (p *Pool) hold(ctx context.Context, w stream.Work, name string) {
	tick := time.NewTicker(cmp.Or(p.Hold, DefaultHold))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := w.Hold(ctx); err != nil {
			if ctx.Err() == nil {
				p.Worker.logger().Warn("a partition is given up: another worker may have it", "partition", name, "reason", err)
			}
			return
		}
	}
}

func (p *Pool) note(name string, held bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held == nil {
		p.held = map[string]bool{}
	}
	if held {
		p.held[name] = true
	} else {
		delete(p.held, name)
	}
}

// Held reports whether a partition is joined here now.
func (p *Pool) Held(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held[name]
}
