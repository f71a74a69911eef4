package cmu

import (
	"fmt"
	"slices"

	"tamtam/tam/flymon"
)

// Read copies n words of a unit's bank, from a bucket on. Unit numbers after those of the layout are its frozen units.
func (g *Groups) Read(task string, unit, bank int, from, n uint32) ([]uint32, error) {
	w, err := g.words(task, unit, bank, from, n)
	if err != nil {
		return nil, err
	}
	return slices.Clone(w), nil
}

// ClearRange zeroes n words of a unit's bank, from a bucket on. The counts of the bank stay.
func (g *Groups) ClearRange(task string, unit, bank int, from, n uint32) error {
	w, err := g.words(task, unit, bank, from, n)
	clear(w)
	return err
}

// Clear zeroes a bank: all units including frozen ones, digests, exact values and counts.
func (g *Groups) Clear(task string, bank int) error {
	t, err := g.bank(task, bank)
	if err != nil {
		return err
	}
	for _, units := range [][]flymon.Unit{t.layout.Units, t.layout.Frozen} {
		for i := range units {
			u := &units[i]
			clear(g.partition(u, t.layout.Banks())[uint32(bank)*u.Size:][:u.Size])
		}
	}
	t.banks[bank], t.frozen.banks[bank] = flymon.ChipBank{Epoch: t.banks[bank].Epoch},
		flymon.ChipBank{Epoch: t.frozen.banks[bank].Epoch}
	t.digests[bank], t.frozen.digests[bank] = t.digests[bank][:0], t.frozen.digests[bank][:0]
	clear(t.seen[bank])
	for _, truth := range []*[2]Truth{t.truth, t.frozen.truth} {
		if truth != nil {
			truth[bank].clear()
		}
	}
	t.length = 0 // the next packet marks the bank as used
	return nil
}

// Layout returns a copy of a task's layout. It returns false if there is no such task.
func (g *Groups) Layout(task string) (flymon.Layout, bool) {
	t, ok := g.tasks[task]
	if !ok {
		return flymon.Layout{}, false
	}
	return copyLayout(t.layout), true
}

// Digests copies at most n digests of a bank, from index from on. First come the digests from before a freeze of
// partitions that still exist, then those made since. If from equals their number, none are copied.
func (g *Groups) Digests(task string, bank, from, n int) ([]flymon.Vector, error) {
	t, err := g.bank(task, bank)
	if err != nil {
		return nil, err
	}
	d := slices.Concat(t.frozen.digests[bank], t.digests[bank])
	if from < 0 || from > len(d) || n < 0 {
		return nil, fmt.Errorf("task %q, bank %d: %d digests from %d, want some of %d", task, bank, n, from, len(d))
	}
	return d[from : from+min(n, len(d)-from)], nil
}

func (g *Groups) bank(task string, bank int) (*task, error) {
	g.flush()
	t, ok := g.tasks[task]
	if !ok {
		return nil, fmt.Errorf("task %q: there is none", task)
	}
	if banks := int(t.layout.Banks()); bank < 0 || bank >= banks {
		return nil, fmt.Errorf("task %q: bank is %d, want 0 to %d", task, bank, banks-1)
	}
	return t, nil
}

func (g *Groups) words(task string, unit, bank int, from, n uint32) ([]uint32, error) {
	t, err := g.bank(task, bank)
	if err != nil {
		return nil, err
	}
	l := &t.layout
	all := len(l.Units) + len(l.Frozen)
	if unit < 0 || unit >= all {
		return nil, fmt.Errorf("task %q: unit is %d, want 0 to %d", task, unit, all-1)
	}
	u := &l.Units[min(unit, len(l.Units)-1)]
	if unit >= len(l.Units) {
		u = &l.Frozen[unit-len(l.Units)]
	}
	if uint64(from)+uint64(n) > uint64(u.Size) {
		return nil, fmt.Errorf("task %q, unit %d: %d buckets from %d, want some of %d", task, unit, n, from, u.Size)
	}
	return g.partition(u, l.Banks())[uint32(bank)*u.Size:][from : from+n], nil
}
