package fetch

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"tamtam/mgmt/tree"
	"tamtam/swss"
)

// Rows of tables that a list or a subscriber asks for are read once: the hub keeps them, and Redis' keyspace events say
// which to read again. Before a request reads rows that are kept, what was written before the request has been
// received ([Hub.Fresh]); while that cannot be known the request fails, as it would if it read the database itself.
// Rows of counters are not kept: they change all the time, whether somebody looks or not.

// maxKept bounds the rows of a table that are kept. Larger tables are read as they are asked for.
const maxKept = 200_000

// maxWords bounds the names of fields that rows share.
const maxWords = 1000

// A keptRow is a row that is kept. Nobody changes it.
type keptRow struct {
	fields  map[string]string // nil: it is too large to be kept, and read when it is asked for
	version uint64            // no other record has it
	at      time.Time         // when it was read to be so
}

// A keptTable is a table whose rows are kept. Its user holds the hub's lock for reading.
type keptTable struct {
	rows    map[string]*keptRow
	words   map[string]string // one copy of each name of a field
	indexes []*index          // of whoever holds the lock for writing

	mu      sync.Mutex
	matched map[matching][][]string // keys of entries, in order
}

// A matching is which keys of entries are found in the table.
type matching struct {
	row   *tree.ListRow
	trace bool // those that the row may be a trace of
}

// take puts what was read of the table. It returns the rows that are not what they were.
func (w *watched) take(rows []swss.KeyOpFieldsValues, now time.Time, version *uint64) []swss.KeyOpFieldsValues {
	if w.large {
		return rows
	}
	if w.kept == nil {
		w.kept = &keptTable{rows: make(map[string]*keptRow, len(rows)), words: map[string]string{}}
	}
	t, others := w.kept, false // there are other keys than before
	changed := rows[:0]
	for _, row := range rows {
		old := t.rows[row.Key]
		if row.Op != swss.OpSet {
			delete(t.rows, row.Key)
			t.reindex(row.Key)
			others = true
			changed = append(changed, row)
			continue
		}
		*version++
		rec := &keptRow{version: tree.Absent + *version, at: now}
		if row.Size == 0 {
			if old != nil && old.fields != nil && maps.Equal(old.fields, row.Stored) {
				continue
			}
			rec.fields = t.named(row.Stored)
		}
		others = others || old == nil
		t.rows[row.Key] = rec
		t.reindex(row.Key)
		changed = append(changed, row)
	}
	if others {
		t.matched = nil
	}
	if w.large = len(t.rows) > maxKept; w.large {
		w.kept = nil
	}
	return changed
}

// reindex notes in the indexes what a row is now.
func (t *keptTable) reindex(key string) {
	for _, x := range t.indexes {
		x.put(key, t.rows[key])
	}
}

// named is a row with names of fields that all rows share.
func (t *keptTable) named(row map[string]string) map[string]string {
	out := make(map[string]string, len(row))
	for f, v := range row {
		name, ok := t.words[f]
		if !ok {
			if name = f; len(t.words) < maxWords { // of some tables the names are data
				t.words[name] = name
			}
		}
		out[name] = v
	}
	return out
}

// keys are those of the entries of a group whose row is in the table, or that it may be a trace of, in order. They are
// not to be changed.
func (t *keptTable) keys(g *tree.List, of matching) [][]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if found, ok := t.matched[of]; ok {
		return found
	}
	found, r := [][]string{}, of.row
	for k := range t.rows {
		m, ok := r.Template.Match(k, len(g.Keys))
		switch {
		case !ok || r.Fits != nil && !r.Fits(m):
		case of.trace && r.Template.Expand(m, nil) == k, !of.trace && g.CanHave(m):
			found = append(found, m)
		}
	}
	slices.SortFunc(found, tree.CompareKeys)
	if t.matched == nil {
		t.matched = map[matching][][]string{}
	}
	t.matched[of] = found
	return found
}

// Fresh returns when all that was written to the tables before the call is kept. Tables that nobody asked for yet are
// read if load says so.
func (h *Hub) Fresh(ctx context.Context, ids []tree.TableID, load bool) error {
	asked := time.Now()
	var use []*watched
	h.mu.RLock()
	for _, id := range ids {
		if w := h.tables[id]; w != nil {
			use = append(use, w)
		}
	}
	h.mu.RUnlock()
	if len(use) == 0 && !load {
		return nil
	}
	release, err := h.turn(ctx)
	if err != nil {
		return err
	}
	defer release()
	if load {
		use = use[:0]
		for _, id := range ids {
			use = append(use, h.table(id))
		}
	}
	if err := h.synced(ctx, asked); err != nil {
		return tree.Unavailable(err)
	}
	for _, w := range use {
		if err := h.pop(ctx, w); err != nil {
			return tree.Unavailable(err)
		}
	}
	return nil
}

// synced returns when all that was written before asked has been received. The caller has the turn.
func (h *Hub) synced(ctx context.Context, asked time.Time) error {
	l := h.listening()
	if h.newest.After(asked) && l.Down() == nil {
		return nil // who came after us, and went first, has waited for it
	}
	began := time.Now()
	if claim := h.claim(); claim != nil {
		// Of a database that was emptied or exchanged no event tells.
		if err := claim.Ours(ctx); errors.Is(err, swss.ErrAnew) {
			h.Distrust()
		} else if err != nil {
			return err
		}
	}
	if err := l.Sync(ctx); err != nil {
		return err
	}
	h.newest = began
	return nil
}

// pop takes what was written to a table. The caller has the turn.
func (h *Hub) pop(ctx context.Context, w *watched) error {
	rows, err := w.source.Pops(ctx)
	if err != nil || len(rows) == 0 && (w.kept != nil || w.large) {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	changed := w.take(rows, h.now(), &h.version)
	if len(changed) > 0 {
		h.changes++
		w.change = h.changes
	}
	if len(w.users) == 0 || len(changed) == 0 {
		return nil
	}
	marks := make([]*Touched, len(changed))
	for i, row := range changed {
		marks[i] = &Touched{ChangedRow: ChangedRow{w.id, row.Key}}
	}
	for st := range w.users {
		st.Mark(marks)
	}
	return nil
}

// kept is the table of a row, if it is kept, for a reader that may use that: its user holds the hub's lock for reading.
func (r Reader) kept(row *tree.ListRow) *keptTable {
	if r.Hub == nil || !row.Cacheable() {
		return nil
	}
	if w := r.Hub.tables[row.TableID()]; w != nil {
		return w.kept
	}
	return nil
}

// lock takes the hub's lock for reading, if the reader has a hub.
func (r Reader) lock() (unlock func()) {
	if r.Hub == nil {
		return func() {}
	}
	r.Hub.mu.RLock()
	return r.Hub.mu.RUnlock
}

// Cached is the reader with what is kept, and sees all that was written to what a selection reads before the call. A
// whole list is kept from then on; what has a pattern without wildcards is read from the database, unless it is kept.
func (r Reader) Cached(
	ctx context.Context, h *Hub, m *tree.Model, sel tree.Selection, pattern []string,
) (Reader, error) {
	r.Hub = h
	load := false
	for g := range sel {
		load = load || g.Parent != nil && slices.Contains(tree.Extend(pattern, g), tree.Wildcard)
	}
	return r, h.Fresh(ctx, m.TablesOf(sel), load)
}
