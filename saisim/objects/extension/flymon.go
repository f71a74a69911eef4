package extension

import (
	"encoding/json"
	"errors"
	"fmt"

	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/tam/flymon"
)

// sketches holds the tasks of FlyMon.
type sketches struct {
	*Chip
	owners map[string]*sketch // owners of tasks, by name
}

// object implements [Area.Object] for FlyMon.
func (sk *sketches) object(name string) Object {
	if sk.Profile.FlyMon.Groups == 0 {
		return nil
	}
	switch {
	case name == flymon.ObjectGroups:
		return &groupsWindow{of: sk}
	case name == flymon.ObjectTask:
		return &sketch{of: sk}
	case name == flymon.ObjectStatus:
		return &statusWindow{of: sk}
	case name == flymon.ObjectRegisters:
		return &registerWindow{of: sk}
	case name == flymon.ObjectClear:
		return &clearWindow{of: sk}
	case name == flymon.ObjectDigests:
		return &digestWindow{of: sk}
	case name == flymon.ObjectTruth && sk.Oracle:
		return &truthWindow{of: sk}
	}
	return nil
}

// maxTasks returns the maximum number of tasks. Each has a unit in some group.
func (sk *sketches) maxTasks() uint64 {
	return uint64(sk.Profile.FlyMon.Groups+sk.Profile.FlyMon.Spliced) * flymon.MaxTasks
}

// A sketch is the state that the store keeps for a task on the groups of CMUs.
type sketch struct {
	of   *sketches
	task string // "" if it is new, or if another object now owns the task
}

// Apply gives the complete task to the groups in one step. An object that is set to another name takes over the task
// from its owner, since syncd may swap the tasks of two objects, one after the other. The object's old task is removed.
func (k *sketch) Apply(text []byte) error {
	var l flymon.Layout
	given, err := readExtension(text, flymon.AttrTask, &l)
	if err != nil {
		return err
	}
	if given == nil {
		return errors.New("task is missing, want a layout")
	}
	owner := k.of.owners[l.Task]
	if owner != nil && owner != k && k.task == "" {
		return fmt.Errorf("task: task is %q, want a name that no other object has", l.Task)
	}
	if err := k.of.Engine.CheckTask(&l); err != nil {
		return fmt.Errorf("task: %w", err)
	}
	k.of.Put(config.Sketch{Layout: l})
	if owner != nil && owner != k {
		owner.task = ""
	}
	if k.task != l.Task {
		k.Leave()
	}
	k.task, k.of.owners[l.Task] = l.Task, k
	return nil
}

func (k *sketch) Leave() {
	if k.task == "" {
		return
	}
	delete(k.of.owners, k.task)
	k.of.Drop(config.Sketch{Layout: flymon.Layout{Task: k.task}})
	k.task = ""
}

func (k *sketch) Read() sai.Value { return nil }

// A groupsWindow reads the groups of CMUs that the chip has.
type groupsWindow struct {
	of    *sketches
	entry map[string]json.RawMessage
}

func (w *groupsWindow) Apply(text []byte) error {
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

func (w *groupsWindow) Leave() {}

func (w *groupsWindow) Read() sai.Value {
	return writeValues(w.entry, extensionValue{flymon.AttrGeometry, valueJSON, w.of.Profile.FlyMon.Geometry()})
}

// A statusWindow reads the state of tasks.
type statusWindow struct {
	of    *sketches
	entry map[string]json.RawMessage
	tasks []string
}

func (w *statusWindow) Apply(text []byte) error {
	next := statusWindow{of: w.of}
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

func (w *statusWindow) Leave() {}

func (w *statusWindow) Read() sai.Value {
	status := make([]*flymon.ChipStatus, len(w.tasks))
	for i, name := range w.tasks {
		if s, ok := w.of.Engine.TaskStatus(name); ok {
			status[i] = &s
		}
	}
	return writeValues(w.entry, extensionValue{flymon.AttrTime, valueNumbers, w.of.clockNumbers()},
		extensionValue{flymon.AttrStatus, valueJSON, status})
}
