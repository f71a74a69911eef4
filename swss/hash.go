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

	// Between Load and DropFormer: what a former process left, what the table has, and what this process has put.
	former, has, put FieldValues
}

// Load reads what a former process left in the table. It stays there until [Hash.DropFormer]: whoever reads it
// meanwhile does not see that there is another process.
func (h *Hash) Load(ctx context.Context) error {
	row, _, err := h.Table.Get(ctx, "")
	if err != nil {
		return err
	}
	h.former, h.has, h.put = row, maps.Clone(row), FieldValues{}
	return nil
}

// Former returns what a former process left in a field; "" after [Hash.DropFormer].
func (h *Hash) Former(field string) string { return h.former[field] }

// DropFormer removes what a former process left and this one has not put, at the next Flush. It returns the values that
// no field has any more, sorted.
func (h *Hash) DropFormer() []string {
	gone := map[string]bool{}
	for field, value := range h.former {
		if gone[value] = true; h.put[field] == "" {
			h.Remove(field)
		}
	}
	for _, value := range h.put {
		delete(gone, value)
	}
	h.former, h.has, h.put = nil, nil, nil
	return slices.Sorted(maps.Keys(gone))
}

// Put sets a field at the next Flush.
func (h *Hash) Put(field, value string) {
	delete(h.del, field)
	if h.put != nil {
		h.put[field] = value
	}
	if was, ok := h.has[field]; ok && was == value {
		delete(h.set, field)
		return
	}
	if h.set == nil {
		h.set = FieldValues{}
	}
	h.set[field] = value
}

// Remove deletes a field at the next Flush.
func (h *Hash) Remove(field string) {
	delete(h.put, field)
	if h.del == nil {
		h.del = map[string]bool{}
	}
	h.del[field] = true
	delete(h.set, field)
}

// Pending returns how many changes wait for Flush.
func (h *Hash) Pending() int { return len(h.set) + len(h.del) }

// Flush writes what has changed. What could not be written is kept for the next Flush.
func (h *Hash) Flush(ctx context.Context) error {
	if len(h.del) > 0 {
		if err := h.Table.HDel(ctx, "", slices.Sorted(maps.Keys(h.del))...); err != nil {
			return err
		}
		for field := range h.del {
			delete(h.has, field)
		}
		h.del = nil
	}
	if len(h.set) > 0 {
		if err := h.Table.Set(ctx, "", h.set); err != nil {
			return err
		}
		if h.has != nil {
			maps.Copy(h.has, h.set)
		}
		h.set = nil
	}
	return nil
}
