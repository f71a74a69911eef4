package fetch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"tamtam/mgmt/tree"
	"tamtam/swss"
)

// A Hub watches tables for all requests and subscribers, and caches their rows. It watches each table once, from its
// first use on.
type Hub struct {
	redis *swss.Redis
	log   *slog.Logger
	now   func() time.Time
	claim func() *swss.Claim // returns the claim to the databases; nil means that no other process has them

	reading chan struct{} // holds a value while the turn to read the sources is free
	Memos   *Memos
	newest  time.Time // start of the last complete sync: all earlier writes have been received; guarded by the turn

	mu       sync.RWMutex
	listener *swss.Listener // nil until the first subscriber
	done     chan struct{}
	stop     context.CancelFunc
	tables   map[tree.TableID]*watched
	order    []tree.TableID
	version  uint64 // the newest row's version
	changes  uint64 // number of times that rows of some table have changed
	troubled bool
}

// A Subscriber is notified of changed rows in the tables that it has joined. These methods must not block.
type Subscriber interface {
	// Mark is called with the rows that changed.
	Mark(rows []*Touched)
	// Suspect is called when the databases may be unreadable.
	Suspect()
}

type watched struct {
	id     tree.TableID
	source *swss.Subscriber
	users  map[Subscriber]struct{}
	kept   *keptTable // cached rows; nil until they are read, or if the table is too large
	large  bool
	change uint64 // the hub's change count at the last change of this table
}

// NewHub returns a hub that does not watch any table yet. claim returns the claim to the databases, or nil if no other
// process has them.
func NewHub(r *swss.Redis, log *slog.Logger, now func() time.Time, claim func() *swss.Claim) *Hub {
	h := &Hub{redis: r, log: log, now: now, claim: claim, tables: map[tree.TableID]*watched{},
		Memos: newMemos(), reading: make(chan struct{}, 1)}
	h.reading <- struct{}{}
	return h
}

// turn waits until the caller may read the sources, and returns the function that ends its turn. One caller has the
// turn at a time.
func (h *Hub) turn(ctx context.Context) (release func(), err error) {
	select {
	case <-h.reading:
		return func() { h.reading <- struct{}{} }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Join notifies st of every change in tables from now on.
func (h *Hub) Join(ctx context.Context, st Subscriber, tables []tree.TableID) error {
	release, err := h.turn(ctx)
	if err != nil {
		return err
	}
	defer release()
	for _, id := range tables {
		w := h.table(id)
		if w.kept == nil && !w.large {
			if err := h.pop(ctx, w); err != nil {
				return err
			}
		}
		h.mu.Lock()
		w.users[st] = struct{}{}
		h.mu.Unlock()
	}
	return nil
}

// table returns a watched table. If the table is not watched yet, table begins to watch it.
func (h *Hub) table(id tree.TableID) *watched {
	l := h.listening()
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.tables[id]
	if w == nil {
		source := swss.NewSubscriber(l, h.redis.DB(id.DB), id.Table).Stored().Brief()
		w = &watched{id: id, source: source, users: map[Subscriber]struct{}{}}
		h.tables[id] = w
		h.order = append(h.order, id)
	}
	return w
}

// listening returns the listener, and starts it if needed.
func (h *Hub) listening() *swss.Listener {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.listener == nil {
		run, stop := context.WithCancel(context.Background())
		h.listener, h.stop, h.done = swss.NewListener(h.redis), stop, make(chan struct{})
		go h.run(run, h.listener)
	}
	return h.listener
}

// Leave undoes Join.
func (h *Hub) Leave(st Subscriber) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.tables {
		delete(w.users, st)
	}
}

// Changed returns a number that differs after any change of rows of the tables.
func (h *Hub) Changed(ids []tree.TableID) (last uint64) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, id := range ids {
		if w := h.tables[id]; w != nil {
			last = max(last, w.change)
		}
	}
	return last
}

// Subscribers returns the subscribers that have joined a table.
func (h *Hub) Subscribers(id tree.TableID) []Subscriber {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if w := h.tables[id]; w != nil {
		return slices.Collect(maps.Keys(w.users))
	}
	return nil
}

func (h *Hub) run(ctx context.Context, l *swss.Listener) {
	defer close(h.done)
	for {
		var again <-chan time.Time
		if h.dispatch(ctx, l) != nil {
			again = time.After(RetryPeriod)
		}
		select {
		case <-ctx.Done():
			return
		case <-l.Ready():
		case <-again:
		}
	}
}

// Step waits until all earlier writes have been passed on.
func (h *Hub) Step(ctx context.Context) error {
	l := h.connection()
	if l == nil {
		return nil // there are no subscribers
	}
	if err := l.Sync(ctx); err != nil {
		h.afterPass(err)
		return err
	}
	return h.dispatch(ctx, l)
}

func (h *Hub) connection() *swss.Listener {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.listener
}

// Distrust causes all tables to be read again.
func (h *Hub) Distrust() {
	if l := h.connection(); l != nil {
		l.Distrust()
	}
}

// dispatch passes on changes.
func (h *Hub) dispatch(ctx context.Context, l *swss.Listener) error {
	err := l.Down()
	if err == nil {
		err = h.pass(ctx)
	}
	if !errors.Is(err, context.Canceled) { // the server closes
		h.afterPass(err)
	}
	return err
}

func (h *Hub) pass(ctx context.Context) error {
	release, err := h.turn(ctx)
	if err != nil {
		return err
	}
	defer release()
	h.mu.RLock()
	order := slices.Clone(h.order)
	h.mu.RUnlock()
	for _, id := range order {
		if err := h.pop(ctx, h.table(id)); err != nil {
			return fmt.Errorf("%s: %w", id.Table, err)
		}
	}
	return nil
}

// afterPass records whether changes were passed on. After a failure, every subscriber checks whether the databases are
// readable.
func (h *Hub) afterPass(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil && !h.troubled {
		h.log.Warn("gNMI subscribers wait for Redis", "because", swss.Why(err))
	}
	if h.troubled = err != nil; !h.troubled {
		return
	}
	for _, w := range h.tables {
		for st := range w.users {
			st.Suspect()
		}
	}
}

func (h *Hub) Close() {
	h.mu.Lock()
	l, stop, done := h.listener, h.stop, h.done
	h.mu.Unlock()
	if l == nil {
		return
	}
	stop()
	<-done
	l.Close()
}

// A ChangedRow is a row that changed.
type ChangedRow struct {
	Table tree.TableID
	Key   string
}

// A Touched is a changed row, shared by all streams that are notified of the change.
type Touched struct {
	ChangedRow

	mu    sync.Mutex
	found []rowKeys
}

// rowKeys holds the keys of the entries that have the row as this kind of row; nil if there are none.
type rowKeys struct {
	row  *tree.ListRow
	keys []string
}

// KeysOf returns the keys of the entries that have the row. The caller may change them.
func (t *Touched) KeysOf(r *tree.ListRow, n int) ([]string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range t.found {
		if f.row == r {
			return slices.Clone(f.keys), f.keys != nil
		}
	}
	keys, _ := r.Match(t.Key, n)
	t.found = append(t.found, rowKeys{r, keys})
	return slices.Clone(keys), keys != nil
}

// RetryPeriod is the delay before a failed read is repeated.
const RetryPeriod = time.Second
