package swss

import (
	"context"
	"maps"
	"slices"
)

// A Hash is a table without keys: a single hash, such as COUNTERS_DB's COUNTERS_PORT_NAME_MAP. Changes are collected
// and written together by Flush.
type Hash struct {
	Table *Table
	set   FieldValues
	del   map[string]bool

	// These are set between Load and DropFormer: the fields of a former process, the fields in the table, and the
	// fields that this process has put.
	former, has, put FieldValues
}

// Load reads the fields that a former process left in the table. They stay there until [Hash.DropFormer], so that
// readers do not notice the change of process.
func (h *Hash) Load(ctx context.Context) error {
	row, _, err := h.Table.Get(ctx, "")
	if err != nil {
		return err
	}
	h.former, h.has, h.put = row, maps.Clone(row), FieldValues{}
	return nil
}

// Former returns the value that a former process left in a field. It returns "" after [Hash.DropFormer].
func (h *Hash) Former(field string) string { return h.former[field] }

// DropFormer makes the next Flush remove the fields of a former process that this process has not put. It returns,
// sorted, the former values that no field holds any more.
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

// Put makes the next Flush set a field.
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

// Remove makes the next Flush delete a field.
func (h *Hash) Remove(field string) {
	delete(h.put, field)
	if h.del == nil {
		h.del = map[string]bool{}
	}
	h.del[field] = true
	delete(h.set, field)
}

// Pending returns the number of changes that wait for Flush.
func (h *Hash) Pending() int { return len(h.set) + len(h.del) }

// Flush writes the changes. Changes that cannot be written are tried again by the next Flush.
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
