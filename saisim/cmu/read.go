package cmu

import (
	"fmt"
	"slices"

	"tamtam/flymon"
)

// Status returns what a task has counted in all; false: there is no such task.
func (g *Groups) Status(name string) (Status, bool) {
	t := g.tasks[name]
	if t == nil {
		return Status{}, false
	}
	return t.status, true
}

// Layout returns a task's layout; false: there is no such task.
func (g *Groups) Layout(name string) (flymon.Layout, bool) {
	t := g.tasks[name]
	if t == nil {
		return flymon.Layout{}, false
	}
	return clone(t.layout), true
}

// Read returns n buckets from the bucket from on of a task's unit; units behind its
// own are its frozen ones.
func (g *Groups) Read(name string, unit, bank int, from, n uint32) ([]uint32, error) {
	words, err := g.buckets(name, unit, bank, from, n)
	return slices.Clone(words), err
}

// ClearRange zeroes what Read returns.
func (g *Groups) ClearRange(name string, unit, bank int, from, n uint32) error {
	words, err := g.buckets(name, unit, bank, from, n)
	clear(words)
	return err
}

func (g *Groups) buckets(name string, unit, bank int, from, n uint32) ([]uint32, error) {
	t, err := g.taskOf(name, bank)
	if err != nil {
		return nil, err
	}
	if all := len(t.layout.Units) + len(t.layout.Frozen); unit < 0 || unit >= all {
		return nil, fmt.Errorf("unit is %d, want 0 to %d", unit, all-1)
	}
	var u *flymon.Unit
	if unit < len(t.layout.Units) {
		u = &t.layout.Units[unit]
	} else {
		u = &t.layout.Frozen[unit-len(t.layout.Units)]
	}
	if from > u.Size || n > u.Size-from {
		return nil, fmt.Errorf("buckets %d and %d more, want some of %d", from, n, u.Size)
	}
	first := u.Base + uint32(bank)*u.Size + from
	return g.registers(u)[first : first+n], nil
}

func (g *Groups) taskOf(name string, bank int) (*task, error) {
	t := g.tasks[name]
	if t == nil {
		return nil, fmt.Errorf("task %q is not there", name)
	}
	if bank < 0 || bank >= int(t.layout.Banks()) {
		return nil, fmt.Errorf("bank is %d, want 0 to %d", bank, t.layout.Banks()-1)
	}
	return t, nil
}

// Clear zeroes a bank of all units of a task, its digests and its counts.
func (g *Groups) Clear(name string, bank int) error {
	t, err := g.taskOf(name, bank)
	if err != nil {
		return err
	}
	for i := range t.layout.Units {
		u := &t.layout.Units[i]
		first := u.Base + uint32(bank)*u.Size
		clear(g.registers(u)[first : first+u.Size])
	}
	t.status.Banks[bank] = Bank{Epoch: t.status.Banks[bank].Epoch}
	t.keys[bank] = t.keys[bank][:0]
	if t.truth[bank] != nil {
		t.truth[bank].reset()
	}
	return nil
}

// Digests returns at most n of the keys that a bank's digests have, from the
// one numbered from on.
func (g *Groups) Digests(name string, bank, from, n int) ([]flymon.Vector, error) {
	t, err := g.taskOf(name, bank)
	if err != nil {
		return nil, err
	}
	keys := t.keys[bank]
	if from < 0 || from > len(keys) || n < 0 {
		return nil, fmt.Errorf("digests from %d on, want from 0 to %d", from, len(keys))
	}
	return slices.Clone(keys[from:min(len(keys), from+n)]), nil
}
