package orch

import (
	"context"

	"tamtam/swss"
)

// An Op is the operation of a task.
type Op uint8

// The ops.
const (
	Set Op = iota + 1
	Del
)

// String returns SONiC's word.
func (o Op) String() string {
	if o == Del {
		return swss.OpDel
	}
	return swss.OpSet
}

// A Task is one row to set or delete. The Fields of a Set are the whole current row. A Del has none.
type Task struct {
	Table, Key string
	Op         Op
	Fields     swss.FieldValues
}

// A Handler programs one kind of row. It runs only on the daemon's goroutine.
//
// All tasks of a call have the same table and op, sorted by key, one per key. The deletes of a batch are passed in a
// call before the sets. Handle returns one error per task:
//
//	nil             done
//	*WaitError      parked until its Dep is resolved
//	*InvalidError   rejected (so is any error with a method InvalidField)
//	other           failed; see [Classify] for the meaning of SAI statuses
//
// New work on a parked row wakes it. A Del of an unknown row is done.
type Handler interface {
	Handle(ctx context.Context, tasks []Task) []error
}

// A HandlerFunc is a function that implements [Handler].
type HandlerFunc func(ctx context.Context, tasks []Task) []error

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, tasks []Task) []error { return f(ctx, tasks) }

// Each returns a Handler that calls f for one task at a time.
func Each(f func(ctx context.Context, t Task) error) Handler {
	return HandlerFunc(func(ctx context.Context, tasks []Task) []error {
		errs := make([]error, len(tasks))
		for i, t := range tasks {
			errs[i] = f(ctx, t)
		}
		return errs
	})
}
