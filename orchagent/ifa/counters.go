package ifa

import (
	"context"
	"maps"
	"slices"

	"tamtam/orch/feature"
	"tamtam/swss/schema"
	"tamtam/tam/ifa"
)

// counted reports whether the switch counts anything for IFA.
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

// read reads the counters of packets.
func (o *Orch) read(ctx context.Context) error {
	defer o.Windows.Close(ctx)
	news := false // whether a problem with sending reports by the host has changed
	err := o.readTransit(ctx)
	for _, name := range slices.SortedFunc(maps.Keys(o.Sessions), schema.CompareNames) {
		if s := o.Sessions[name]; err == nil && s.InASIC != nil && !s.Leaving {
			err = o.readSession(ctx, s)
			x := s.InASIC.sender
			news = news || x != nil && (x.Note != s.Note || x.Idle != s.Idle)
		}
	}
	if news {
		o.LookAgain(ctx)
	}
	return err
}

// readTransit reads the counters of the switch as transit, for which the label "" stands. A transit that was created
// again counts from then on, even if its counters do not show a restart.
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

// count records counters. If a count is less than before, the counters have restarted. Their object was then created
// again, possibly while no orchagent was running.
func (o *Orch) count(rows *feature.Rows, key string, c schema.Counters) {
	was := rows.Get(key)
	if !c.Resume(rows.Table, key, was, o.Daemon.TimeOfDay()) && was != nil {
		rows.Restart(key)
	}
	rows.Put(key, c.Fields())
}

// ask returns the summed counters of the entries with these labels.
func (o *Orch) ask(ctx context.Context, labels []string) (n [ifa.NumCounts]uint64, err error) {
	slices.Sort(labels)
	for some := range slices.Chunk(slices.Compact(labels), ifa.MaxLabels) {
		words, err := o.Windows.Words(ctx, feature.Counted{
			Name: ifa.ObjectCounters, Labels: ifa.AttrLabels, Counters: ifa.AttrCounters, Words: int(ifa.NumCounts),
		}, some)
		if err != nil {
			return n, err
		}
		for _, of := range words {
			for i, w := range of {
				n[i] += w
			}
		}
	}
	return n, nil
}

// countersOf returns the counters that apply to a role.
func countersOf(role string, n *[ifa.NumCounts]uint64) schema.Counters {
	c := schema.Counters{Counts: map[string]uint64{}}
	for i, f := range schema.CountersIn(schema.CountersIFA)[:ifa.NumCounts] {
		if f.Has(role) {
			c.Counts[f.Name] = n[i]
		}
	}
	return c
}
