package swss

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"tamtam/swss/glob"
)

// A KeyWatch collects the names of all keys of a database that change, in any table. As a [Source] it returns one
// message while names are pending.
type KeyWatch struct {
	db     *DB
	l      *Listener
	prefix string // prefix of the channels of keyspace events

	mu      sync.Mutex
	changed map[string]struct{}
	all     bool // true if changes may have been missed, so that every key counts as changed
}

// NewKeyWatch returns a watch on a database. At first all keys count as changed.
func NewKeyWatch(l *Listener, db *DB) *KeyWatch {
	w := &KeyWatch{db: db, l: l, prefix: fmt.Sprintf("__keyspace@%d__:", db.id), changed: map[string]struct{}{}, all: true}
	l.add(subscription{name: glob.Escape(w.prefix) + "*", pattern: true}, w)
	return w
}

// Name returns the name of the database.
func (w *KeyWatch) Name() string { return string(w.db.Name()) + " keys" }

func (w *KeyWatch) message(channel, _ string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if name, ok := strings.CutPrefix(channel, w.prefix); ok && !w.all {
		w.changed[name] = struct{}{}
	}
}

func (w *KeyWatch) stale() { w.Distrust() }

// Distrust makes all keys count as changed.
func (w *KeyWatch) Distrust() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all, w.changed = true, map[string]struct{}{}
}

// Pops returns one message if names are pending.
func (w *KeyWatch) Pops(ctx context.Context) ([]KeyOpFieldsValues, error) {
	w.mu.Lock()
	all, due := w.all, w.all || len(w.changed) > 0
	w.mu.Unlock()
	if !due {
		return nil, nil
	}
	if all { // missed changes are read once the subscription is active
		if err := w.l.Sync(ctx); err != nil {
			return nil, err
		}
	}
	return []KeyOpFieldsValues{{Key: "changes", Op: OpSet}}, nil
}

// Drain returns, sorted, the names of the keys that changed since the last call. all is true if any key may have
// changed.
func (w *KeyWatch) Drain() (names []string, all bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	names, all = slices.Sorted(maps.Keys(w.changed)), w.all
	w.changed, w.all = map[string]struct{}{}, false
	return names, all
}
