package recordorch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"tamtam/orch/feature"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/record"
)

// pollPeriod is the interval between polls of the chip.
const pollPeriod = feature.TryAgain

// enough is the number of packets that must be counted before the plans are made again with the counted path
// probabilities.
const enough = 10_000

// nextTimer returns the time of the next poll; zero if there is none.
func (o *Orch) nextTimer() time.Time {
	if !o.Running || !o.asked() {
		return time.Time{}
	}
	if o.pollAt.IsZero() {
		return o.Daemon.Now()
	}
	return o.pollAt
}

// timers polls the chip if a poll is due.
func (o *Orch) timers(ctx context.Context, now time.Time) error {
	if now.Before(o.pollAt) {
		return nil
	}
	return o.PollCounters(ctx)
}

// PollCounters polls the chip now: whether its graph has changed, the number of counted packets, and the counters of
// the sessions.
func (o *Orch) PollCounters(ctx context.Context) error {
	o.pollAt = o.Daemon.Now().Add(pollPeriod)
	if !o.Running || !o.asked() {
		return nil
	}
	err, read := o.look(ctx), o.readCounters(ctx)
	if away := errors.Join(err, read); errors.Is(away, swss.ErrUnavailable) {
		return away
	}
	if err != nil {
		o.Log.Error("table recording", "err", err)
	}
	o.CountersRead(ctx, read)
	return o.Reconcile(ctx)
}

// look detects changes of the chip's graph, and makes the plans that wait for counted probabilities.
func (o *Orch) look(ctx context.Context) error {
	if o.graph == nil {
		o.learn(ctx)
		return nil
	}
	p, err := o.describe(ctx, false, false)
	switch {
	case err != nil:
	case p.version != o.graph.Version:
		o.learn(ctx)
	case len(o.bound()) > 0 && p.counted >= enough:
		err = o.planCounted(ctx)
	}
	return err
}

// learn reads the graph. If it is new, learn makes all plans again. If the read fails, the known graph remains valid.
func (o *Orch) learn(ctx context.Context) {
	p, err := o.describe(ctx, true, false)
	if err != nil {
		o.Log.Error("the switch's pipeline", "err", err)
		if o.graph == nil {
			o.unlearned = fmt.Errorf("what the switch's pipeline is like is not known: %w", err)
			o.MarkAll()
		}
		return
	}
	o.graph, o.unlearned = p.graph, nil
	for _, c := range o.sortedSchemes() {
		if o.replan(ctx, c, nil); c.plan == nil {
			continue // the status of its sessions contains the reason
		}
		if err := o.write(ctx, c, c.labels); err != nil { // the sessions of the scheme are recreated
			o.Log.Error("table recording", "err", err)
		}
	}
	o.MarkAll()
}

// planCounted makes all plans that wait for counted probabilities, each of them once.
func (o *Orch) planCounted(ctx context.Context) error {
	var due []*scheme
	for _, c := range o.sortedSchemes() {
		if c.awaits() {
			due = append(due, c)
		}
	}
	if len(due) == 0 {
		return nil
	}
	p, err := o.describe(ctx, false, true)
	if err != nil {
		return err
	}
	if p.version != o.graph.Version || len(p.paths) == 0 {
		return nil // the next poll detects the new graph
	}
	for _, c := range due {
		o.planByCounts(ctx, c, p.paths)
	}
	return nil
}

// planByCounts makes a plan from the counted paths. If that fails, or the chip does not accept the plan, the previous
// plan remains.
func (o *Orch) planByCounts(ctx context.Context, c *scheme, paths []record.PathCount) {
	was := c.plan
	o.replan(ctx, c, paths)
	err := c.err
	if err == nil {
		err = o.write(ctx, c, c.labels)
	}
	if err != nil {
		o.Log.Error("the plan by uniform probabilities stays", "err", err)
		c.plan, c.err, c.paths = was, nil, nil
		return
	}
	o.MarkAll()
}

// readCounters reads the counters of the sessions' records.
func (o *Orch) readCounters(ctx context.Context) error {
	for some := range slices.Chunk(o.bound(), record.MaxLabels) {
		labels := make([]string, len(some))
		for i, s := range some {
			labels[i] = s.InASIC.label.Label
		}
		words, err := o.Windows.Words(ctx, counted, labels)
		o.Windows.Close(ctx)
		if err != nil {
			return err
		}
		for i, s := range some {
			o.counters.Put(s.Name, countersOf(words[i]))
		}
	}
	return nil
}

// countersOf returns the counters row of a session. The words are in the order of the chip.
func countersOf(words []uint64) swss.FieldValues {
	row := swss.FieldValues{}
	for i, f := range schema.CountersIn(schema.CountersRecord) {
		row[f.Name] = strconv.FormatUint(words[i], 10)
	}
	return row
}

// bound returns the sessions that record, sorted.
func (o *Orch) bound() (list []*session) {
	for _, s := range o.Sessions {
		if s.InASIC != nil && !s.Leaving {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, (*session).Compare)
	return list
}
