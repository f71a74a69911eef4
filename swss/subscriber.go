package swss

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// A Subscriber watches the rows of a table through Redis' keyspace events (CONFIG_DB, STATE_DB).
// There may be any number per table, and they see writes by anybody.
//
// Every SET carries the whole row as it now is, unless it is too large; several changes of a row between
// two calls of Pops are delivered as one. The first Pops returns all rows, and
// after Redis was away all rows are returned again, with a DEL for each that is
// gone.
type Subscriber struct {
	db     *DB
	table  string
	prefix string // of the events' channels
	l      *Listener
	known  map[string]struct{} // rows delivered and not deleted

	mu      sync.Mutex
	changed map[string]struct{}
	resync  bool
}

// NewSubscriber returns a subscriber to a table.
func NewSubscriber(l *Listener, db *DB, table string) *Subscriber {
	s := &Subscriber{
		db: db, table: table, l: l,
		prefix:  fmt.Sprintf("__keyspace@%d__:%s%s", db.id, table, db.sep),
		known:   map[string]struct{}{},
		changed: map[string]struct{}{},
		resync:  true,
	}
	l.add(subscription{name: globEscape(s.prefix) + "*", pattern: true}, s)
	return s
}

// Name returns the table's name.
func (s *Subscriber) Name() string { return s.table }

// DB returns the table's database.
func (s *Subscriber) DB() *DB { return s.db }

func (s *Subscriber) message(channel, _ string) {
	key, ok := strings.CutPrefix(channel, s.prefix)
	if !ok {
		return
	}
	s.mu.Lock()
	s.changed[key] = struct{}{}
	s.mu.Unlock()
}

func (s *Subscriber) stale() {
	s.mu.Lock()
	s.resync = true
	s.mu.Unlock()
}

// Pops returns the rows that changed, at most one entry per row, sorted by key.
func (s *Subscriber) Pops(ctx context.Context) ([]KeyOpFieldsValues, error) {
	s.mu.Lock()
	resync := s.resync
	s.mu.Unlock()
	if resync { // what was missed is fetched once the subscription is active
		if err := s.l.Sync(ctx); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	changed, resync := s.changed, s.resync
	if len(changed) == 0 && !resync {
		s.mu.Unlock()
		return nil, nil
	}
	s.changed, s.resync = map[string]struct{}{}, false
	s.mu.Unlock()
	out, err := s.pops(ctx, changed, resync)
	if err != nil {
		s.stale()
		return nil, err
	}
	return out, nil
}

func (s *Subscriber) pops(ctx context.Context, changed map[string]struct{}, resync bool) ([]KeyOpFieldsValues, error) {
	t := NewTable(s.db, s.table)
	keys := slices.Sorted(maps.Keys(changed))
	rows := map[string]KeyOpFieldsValues{}
	if resync {
		var err error
		if keys, err = t.Keys(ctx); err != nil {
			return nil, err
		}
		for key := range s.known {
			rows[key] = KeyOpFieldsValues{Key: key, Op: OpDel}
		}
	}
	if err := t.readRows(ctx, keys, func(key string, row FieldValues, size int64) {
		if row != nil || size > 0 {
			rows[key] = KeyOpFieldsValues{Key: key, Op: OpSet, Fields: Pairs(row), Size: size}
		} else if _, ok := s.known[key]; ok {
			rows[key] = KeyOpFieldsValues{Key: key, Op: OpDel}
		}
	}); err != nil {
		return nil, err
	}
	out := make([]KeyOpFieldsValues, 0, len(rows))
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		row := rows[key]
		if row.Op == OpDel {
			delete(s.known, key)
		} else {
			s.known[key] = struct{}{}
		}
		out = append(out, row)
	}
	return out, nil
}
