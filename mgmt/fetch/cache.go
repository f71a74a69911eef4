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

// Rows of tables that a list or a subscriber requests are read once. The hub caches them, and Redis' keyspace events
// name the rows to read again. Before a request reads cached rows, all earlier writes must have been received
// ([Hub.Fresh]). If that cannot be confirmed, the request fails as if the database were unreadable. Rows of counters
// are not cached, because they change all the time.

// maxKept bounds the rows of a table that is cached. Larger tables are read on request.
const maxKept = 200_000

// maxWords bounds the field names that rows share.
const maxWords = 1000

// A keptRow is a cached row. It is immutable.
type keptRow struct {
	fields  map[string]string // nil if the row is too large to be cached; it is then read on request
	version uint64            // unique among all cached rows
	at      time.Time         // time at which these fields were first read
}

// A keptTable is a table whose rows are cached. Readers hold the hub's lock for reading.
type keptTable struct {
	rows    map[string]*keptRow
	words   map[string]string // one copy of each field name
	indexes []*index          // guarded by the hub's lock, held for writing

	mu      sync.Mutex
	matched map[matching][][]string // keys of entries, sorted
}

// A matching selects keys of entries that are found in the table.
type matching struct {
	row   *tree.ListRow
	trace bool // true for keys of entries whose trace the row may be
}

// store stores rows that were read from the table. It returns the rows that have changed.
func (w *watched) store(rows []swss.KeyOpFieldsValues, now time.Time, version *uint64) []swss.KeyOpFieldsValues {
	if w.large {
		return rows
	}
	if w.kept == nil {
		w.kept = &keptTable{rows: make(map[string]*keptRow, len(rows)), words: map[string]string{}}
	}
	t, others := w.kept, false // t is the cached table; others is true if the set of keys has changed
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

// reindex updates the indexes for a row.
func (t *keptTable) reindex(key string) {
	for _, x := range t.indexes {
		x.put(key, t.rows[key])
	}
}

// named returns a copy of a row with shared field names.
func (t *keptTable) named(row map[string]string) map[string]string {
	out := make(map[string]string, len(row))
	for f, v := range row {
		name, ok := t.words[f]
		if !ok {
			if name = f; len(t.words) < maxWords { // in some tables the field names are data
				t.words[name] = name
			}
		}
		out[name] = v
	}
	return out
}

// keys returns the sorted keys of the entries of a group that have a row in the table, or a possible trace. Callers
// must not change the result.
func (t *keptTable) keys(g *tree.List, of matching) [][]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if found, ok := t.matched[of]; ok {
		return found
	}
	found, r := [][]string{}, of.row
	for k := range t.rows {
		m, ok := r.Match(k, len(g.Keys))
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

// Fresh waits until all earlier writes to the tables are cached. Tables that were not requested before are only read if
// load is set.
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

// synced waits until all writes before the time asked have been received. The caller must have the turn.
func (h *Hub) synced(ctx context.Context, asked time.Time) error {
	l := h.listening()
	if h.newest.After(asked) && l.Down() == nil {
		return nil // a caller that had the turn before has waited for these writes
	}
	began := time.Now()
	if claim := h.claim(); claim != nil {
		// No event reports that a database was emptied or exchanged.
		if err := claim.Ours(ctx); errors.Is(err, swss.ErrReset) {
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

// pop stores the rows that were written to a table, and reports changes to subscribers. Only one caller may read the
// sources at a time.
func (h *Hub) pop(ctx context.Context, w *watched) error {
	rows, err := w.source.Pops(ctx)
	if err != nil || len(rows) == 0 && (w.kept != nil || w.large) {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	changed := w.store(rows, h.now(), &h.version)
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

// kept returns the cached table of a row, or nil if it is not cached. The caller holds the hub's lock for reading.
func (r Reader) kept(row *tree.ListRow) *keptTable {
	if r.Hub == nil || !row.Cacheable() {
		return nil
	}
	if w := r.Hub.tables[row.TableID()]; w != nil {
		return w.kept
	}
	return nil
}

// lock locks the hub for reading, if the reader has a hub.
func (r Reader) lock() (unlock func()) {
	if r.Hub == nil {
		return func() {}
	}
	r.Hub.mu.RLock()
	return r.Hub.mu.RUnlock
}

// Cached returns the reader with the hub's cache, which includes all earlier writes to the rows that a selection reads.
// From then on a list that is read completely is cached. A pattern without wildcards is read from the database unless
// its table is cached.
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
