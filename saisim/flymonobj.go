package saisim

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/tam/flymon"
)

// newSketchExtension is newExtension for FlyMon.
func (c *store) newSketchExtension(name string) extension {
	if c.prof.FlyMon.Groups == 0 {
		return nil
	}
	switch {
	case name == flymon.ObjectGroups:
		return &groupsWindow{}
	case name == flymon.ObjectTask:
		return &sketchObject{}
	case name == flymon.ObjectStatus:
		return &statusWindow{}
	case name == flymon.ObjectRegisters:
		return &registerWindow{}
	case name == flymon.ObjectClear:
		return &clearWindow{}
	case name == flymon.ObjectDigests:
		return &digestWindow{}
	case name == flymon.ObjectTruth && c.cfg.Oracle > 0:
		return &truthWindow{}
	}
	return nil
}

// maxSketchTasks is how many tasks there may be at most: each has a unit in some
// group.
func (c *store) maxSketchTasks() uint64 {
	return uint64(c.prof.FlyMon.Groups+c.prof.FlyMon.Spliced) * flymon.MaxTasks
}

// A sketchObject is what the store keeps of a task on the groups of CMUs.
type sketchObject struct{ task string } // "": another object has taken it, or it is new

// apply gives the groups the task, at once and whole. An object that is set to
// another name takes it from the object that has it: syncd may have two exchange
// theirs, one after the other. The task of the name before goes.
func (k *sketchObject) apply(c *store, text []byte) error {
	var l flymon.Layout
	given, err := readExtension(text, flymon.AttrTask, &l)
	if err != nil {
		return err
	}
	if given == nil {
		return errors.New("task is missing, want a layout")
	}
	groups, err := c.sketchGroups()
	if err != nil {
		return err
	}
	owner := c.sketchOwners[l.Task]
	if owner != nil && owner != k && k.task == "" {
		return fmt.Errorf("task: task is %q, want a name that no other object has", l.Task)
	}
	if err := groups.Check(&l); err != nil {
		return fmt.Errorf("task: %w", err)
	}
	c.put(config.Sketch{Layout: l})
	if owner != nil && owner != k {
		owner.task = ""
	}
	if k.task != l.Task {
		k.leave(c)
	}
	k.task, c.sketchOwners[l.Task] = l.Task, k
	return nil
}

func (k *sketchObject) leave(c *store) {
	if k.task == "" {
		return
	}
	delete(c.sketchOwners, k.task)
	c.drop(config.Sketch{Layout: flymon.Layout{Task: k.task}})
	k.task = ""
}

func (k *sketchObject) read(*store) sai.Value { return nil }

// sketchLayouts are the tasks of rows, for Tables.
func sketchLayouts(rows []config.Sketch) (l []flymon.Layout) {
	for i := range rows {
		l = append(l, cloneLayout(rows[i].Layout))
	}
	return l
}

func cloneLayout(l flymon.Layout) flymon.Layout {
	units := func(of []flymon.Unit) []flymon.Unit {
		of = slices.Clone(of)
		for i := range of {
			u := &of[i]
			u.Map, u.P1.Of, u.P2.Of = slices.Clone(u.Map), slices.Clone(u.P1.Of), slices.Clone(u.P2.Of)
		}
		return of
	}
	l.Masks, l.Units, l.Frozen = slices.Clone(l.Masks), units(l.Units), units(l.Frozen)
	if l.Digest != nil {
		d := *l.Digest
		l.Digest = &d
	}
	return l
}

// A groupsWindow tells what the chip has of groups of CMUs.
type groupsWindow struct{ entry map[string]json.RawMessage }

func (w *groupsWindow) apply(_ *store, text []byte) error {
	if len(text) == 0 {
		w.entry = nil
		return nil
	}
	var none struct{}
	given, err := readExtension(text, flymon.AttrGroups, &none)
	if err == nil {
		w.entry = given
	}
	return err
}

func (w *groupsWindow) leave(*store) {}

func (w *groupsWindow) read(c *store) sai.Value {
	return writeValues(w.entry, extensionValue{flymon.AttrGeometry, valueJSON, c.prof.FlyMon.Geometry()})
}

// A statusWindow reads how tasks are.
type statusWindow struct {
	entry map[string]json.RawMessage
	tasks []string
}

func (w *statusWindow) apply(_ *store, text []byte) error {
	next := statusWindow{}
	if len(text) > 0 {
		var err error
		if next.entry, err = readExtension(text, flymon.AttrTasks, &next.tasks); err != nil {
			return err
		}
	}
	if len(next.tasks) > flymon.MaxChipTasks {
		return fmt.Errorf("tasks: %d, want at most %d", len(next.tasks), flymon.MaxChipTasks)
	}
	*w = next
	return nil
}

func (w *statusWindow) leave(*store) {}

// TaskStatus is what a window of tasks reads, for those who have the chip at hand;
// false: there is no such task.
func (c *Chip) TaskStatus(task string) (flymon.ChipStatus, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sketch.groups == nil {
		return flymon.ChipStatus{}, false
	}
	return c.sketch.groups.Status(task)
}

func (w *statusWindow) read(c *store) sai.Value {
	status := make([]*flymon.ChipStatus, len(w.tasks))
	for i, name := range w.tasks {
		if c.sketch.groups == nil {
			break
		}
		if s, ok := c.sketch.groups.Status(name); ok {
			status[i] = &s
		}
	}
	return writeValues(w.entry, extensionValue{flymon.AttrTime, valueNumbers, c.clockNumbers()},
		extensionValue{flymon.AttrStatus, valueJSON, status})
}
