package mgmt

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

// A hub watches tables for all who ask and subscribe: each table once, from the first who does on. It keeps their rows.
type hub struct {
	redis *swss.Redis
	log   *slog.Logger
	now   func() time.Time
	claim func() *swss.Claim // to the databases; nil: nobody else has them

	reading chan struct{} // holds a value while nobody reads the sources; who takes it has the turn
	memos   *memos
	newest  time.Time // what was written before has been received; of who has the turn

	mu       sync.RWMutex
	listener *swss.Listener // nil until the first subscriber
	done     chan struct{}
	stop     context.CancelFunc
	tables   map[tree.TableID]*watched
	order    []tree.TableID
	version  uint64 // of the newest record
	troubled bool
}

// A subscriber hears of the rows that change in the tables that it has joined. It does not wait in these calls.
type subscriber interface {
	// mark hears which rows changed.
	mark(rows []*touched)
	// suspect hears that the databases may not be readable.
	suspect()
}

type watched struct {
	id     tree.TableID
	source *swss.Subscriber
	users  map[subscriber]struct{}
	kept   *keptTable // nil: it was not read yet, or is too large
	large  bool
}

func newHub(r *swss.Redis, log *slog.Logger, now func() time.Time, claim func() *swss.Claim) *hub {
	h := &hub{redis: r, log: log, now: now, claim: claim, tables: map[tree.TableID]*watched{},
		memos: newMemos(), reading: make(chan struct{}, 1)}
	h.reading <- struct{}{}
	return h
}

// turn waits until nobody else reads the sources, and returns what ends that.
func (h *hub) turn(ctx context.Context) (release func(), err error) {
	select {
	case <-h.reading:
		return func() { h.reading <- struct{}{} }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// join makes st hear of every change in tables from now on.
func (h *hub) join(ctx context.Context, st subscriber, tables []tree.TableID) error {
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

// table returns a table that is watched, from now on if it was not before.
func (h *hub) table(id tree.TableID) *watched {
	l := h.listening()
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.tables[id]
	if w == nil {
		source := swss.NewSubscriber(l, h.redis.DB(id.DB), id.Table).Stored().Brief()
		w = &watched{id: id, source: source, users: map[subscriber]struct{}{}}
		h.tables[id] = w
		h.order = append(h.order, id)
	}
	return w
}

// listening returns the listener, which runs from now on if it did not before.
func (h *hub) listening() *swss.Listener {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.listener == nil {
		run, stop := context.WithCancel(context.Background())
		h.listener, h.stop, h.done = swss.NewListener(h.redis), stop, make(chan struct{})
		go h.run(run, h.listener)
	}
	return h.listener
}

// leave undoes join.
func (h *hub) leave(st subscriber) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.tables {
		delete(w.users, st)
	}
}

// subscribers are those that have joined a table.
func (h *hub) subscribers(id tree.TableID) []subscriber {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if w := h.tables[id]; w != nil {
		return slices.Collect(maps.Keys(w.users))
	}
	return nil
}

func (h *hub) run(ctx context.Context, l *swss.Listener) {
	defer close(h.done)
	for {
		var again <-chan time.Time
		if h.dispatch(ctx, l) != nil {
			again = time.After(retryPeriod)
		}
		select {
		case <-ctx.Done():
			return
		case <-l.Ready():
		case <-again:
		}
	}
}

// step returns when all that was written before has been passed on.
func (h *hub) step(ctx context.Context) error {
	l := h.connection()
	if l == nil {
		return nil // there are no subscribers
	}
	if err := l.Sync(ctx); err != nil {
		h.settle(err)
		return err
	}
	return h.dispatch(ctx, l)
}

func (h *hub) connection() *swss.Listener {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.listener
}

// distrust makes all tables be read again.
func (h *hub) distrust() {
	if l := h.connection(); l != nil {
		l.Distrust()
	}
}

// dispatch passes on what changed.
func (h *hub) dispatch(ctx context.Context, l *swss.Listener) error {
	err := l.Down()
	if err == nil {
		err = h.pass(ctx)
	}
	if !errors.Is(err, context.Canceled) { // the server closes
		h.settle(err)
	}
	return err
}

func (h *hub) pass(ctx context.Context) error {
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

// settle notes how passing on went. Where it failed, every subscriber sees whether the databases can be read, and is
// told if they cannot.
func (h *hub) settle(err error) {
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
			st.suspect()
		}
	}
}

func (h *hub) close() {
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

// A change is a row that changed.
type change struct {
	id  tree.TableID
	key string
}

// A touched is a row that changed, for all streams that hear of it.
type touched struct {
	change

	mu    sync.Mutex
	found []rowKeys
}

// rowKeys are the keys of the entries that a row is in as what the row is to them; nil: it is not theirs.
type rowKeys struct {
	row  *tree.ListRow
	keys []string
}

// keys are those of the entries that have the row. The caller may change them.
func (t *touched) keys(r *tree.ListRow, n int) ([]string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range t.found {
		if f.row == r {
			return slices.Clone(f.keys), f.keys != nil
		}
	}
	keys, _ := r.Template.Match(t.key, n)
	t.found = append(t.found, rowKeys{r, keys})
	return slices.Clone(keys), keys != nil
}

// retryPeriod is the wait before what failed is read again.
const retryPeriod = time.Second
