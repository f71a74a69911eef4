package swss

import (
	"context"
	"maps"
	"slices"
)

// A Hash is a table without keys, one hash of its own such as COUNTERS_DB's
// COUNTERS_PORT_NAME_MAP. Changes are gathered and written together by Flush.
type Hash struct {
	Table *Table
	set   FieldValues
	del   map[string]bool
}

// Put sets a field at the next Flush.
func (h *Hash) Put(field, value string) {
	if h.set == nil {
		h.set = FieldValues{}
	}
	h.set[field] = value
	delete(h.del, field)
}

// Remove deletes a field at the next Flush.
func (h *Hash) Remove(field string) {
	if h.del == nil {
		h.del = map[string]bool{}
	}
	h.del[field] = true
	delete(h.set, field)
}

// Flush writes what has changed. What could not be written is kept for the next Flush.
func (h *Hash) Flush(ctx context.Context) error {
	if len(h.del) > 0 {
		if err := h.Table.HDel(ctx, "", slices.Sorted(maps.Keys(h.del))...); err != nil {
			return err
		}
		h.del = nil
	}
	if len(h.set) > 0 {
		if err := h.Table.Set(ctx, "", h.set); err != nil {
			return err
		}
		h.set = nil
	}
	return nil
}
