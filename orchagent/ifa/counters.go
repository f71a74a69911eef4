package ifa

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"tamtam/orch/feature"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/ifa"
)

// counted reports whether there is something that the switch counts.
func (o *Orch) counted() bool {
	if !o.Running || !o.counts {
		return false
	}
	for _, s := range o.Sessions {
		if s.InASIC != nil {
			return true
		}
	}
	return o.transit.there() || o.byDevice.Get(schema.TAMDeviceKey) != nil
}

func (o *Orch) read(ctx context.Context, now time.Time) error {
	if !o.reading.Due(now) {
		return nil
	}
	return o.PollCounters(ctx)
}

// PollCounters reads what became of packets now.
func (o *Orch) PollCounters(ctx context.Context) error {
	if !o.reading.Begin() {
		return nil
	}
	defer o.Windows.Close(ctx)
	news := false // of what the host makes of reports
	err := o.readTransit(ctx)
	for _, name := range slices.SortedFunc(maps.Keys(o.Sessions), schema.CompareNames) {
		if s := o.Sessions[name]; err == nil && s.InASIC != nil && !s.InASIC.leaving {
			err = o.readSession(ctx, s)
			x := s.InASIC.sender
			news = news || x != nil && (x.Note != s.Note || x.Idle != s.Idle)
		}
	}
	if news {
		o.lookAgain(ctx)
	}
	if errors.Is(err, swss.ErrUnavailable) {
		return err
	} else if err != nil {
		o.Log.Error("counters of IFA", "err", err)
	}
	return o.Flush(ctx)
}

// readTransit reads the counters of the switch as transit, which the label "" stands for. A transit that has come into
// the ASIC again counts from then on, though nothing may show that its counters have begun anew.
func (o *Orch) readTransit(ctx context.Context) error {
	if o.transit.left || !o.transit.there() {
		o.byDevice.Drop(schema.TAMDeviceKey)
		o.transit.left = false
	}
	if !o.transit.there() {
		return nil
	}
	n, err := o.ask(ctx, []string{""})
	if err == nil {
		o.count(&o.byDevice, schema.TAMDeviceKey, countersOf(schema.IFATransit, &n))
	}
	return err
}

func (o *Orch) readSession(ctx context.Context, s *session) error {
	p := &s.InASIC.plan
	labels := []string{""}
	if p.role != schema.IFATransit {
		labels = nil
		for _, rule := range p.rules {
			if _, label, ok := o.rules.VariantCounter(rule, featureName, ""); ok {
				labels = append(labels, label)
			}
		}
	}
	n, err := o.ask(ctx, labels)
	if err != nil {
		return err
	}
	c := countersOf(p.role, &n)
	if x := s.InASIC.sender; x != nil {
		sent, err := o.reports.Sent(ctx, x)
		if err != nil {
			return err
		}
		maps.Copy(c.Counts, sent)
	}
	o.count(&o.counters, s.Name, c)
	return nil
}

// count notes counters. Where they are less than before, they have begun anew: what counts came into the ASIC again,
// maybe while nobody was here to see it.
func (o *Orch) count(rows *feature.Rows, key string, c schema.Counters) {
	was := rows.Get(key)
	if !c.Resume(rows.Table, key, was, o.Daemon.TimeOfDay()) && was != nil {
		rows.Anew(key)
	}
	rows.Put(key, c.Fields())
}

// ask returns what became of packets, of entries with these labels together.
func (o *Orch) ask(ctx context.Context, labels []string) (n [ifa.NumCounts]uint64, err error) {
	slices.Sort(labels)
	for some := range slices.Chunk(slices.Compact(labels), ifa.MaxLabels) {
		values, err := o.Windows.Ask(ctx, ifa.ObjectCounters, ifa.AttrLabels, some, 512+300*len(some))
		if err != nil {
			return n, err
		}
		words, err := feature.Value[[]uint64](values, ifa.AttrCounters)
		if err != nil {
			return n, err
		}
		if len(words) != int(ifa.NumCounts)*len(some) {
			return n, fmt.Errorf("the window returned %d counters for %d labels, want %d for each", len(words), len(some),
				ifa.NumCounts)
		}
		for i, w := range words {
			n[i%int(ifa.NumCounts)] += w
		}
	}
	return n, nil
}

// countersOf are those that a role has.
func countersOf(role string, n *[ifa.NumCounts]uint64) schema.Counters {
	c := schema.Counters{Counts: map[string]uint64{}}
	for i, f := range schema.CountersIn(schema.CountersIFA)[:ifa.NumCounts] {
		if f.Has(role) {
			c.Counts[f.Name] = n[i]
		}
	}
	return c
}
