package mgmt

import (
	"context"
	"log/slog"
	"sync"

	"tamtam/swss"
)

// A tableID names a table of a database.
type tableID struct {
	db    swss.DBName
	table string
}

// A hub watches tables for all subscribers: each table once, from the first subscription on.
type hub struct {
	redis *swss.Redis
	log   *slog.Logger

	mu       sync.Mutex
	listener *swss.Listener // nil until the first subscriber
	done     chan struct{}
	stop     context.CancelFunc
	tables   map[tableID]*watched
	order    []tableID
}

type watched struct {
	source *swss.Subscriber
	users  map[*stream]struct{}
}

func newHub(r *swss.Redis, log *slog.Logger) *hub {
	return &hub{redis: r, log: log, tables: map[tableID]*watched{}}
}

// join makes st hear of every change in tables from now on.
func (h *hub) join(ctx context.Context, st *stream, tables []tableID) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.listener == nil {
		run, stop := context.WithCancel(context.Background())
		h.listener, h.stop, h.done = swss.NewListener(h.redis), stop, make(chan struct{})
		go h.run(run, h.listener)
	}
	for _, id := range tables {
		w := h.tables[id]
		if w == nil {
			w = &watched{swss.NewSubscriber(h.listener, h.redis.DB(id.db), id.table), map[*stream]struct{}{}}
			h.tables[id] = w
			h.order = append(h.order, id)
			if _, err := w.source.Pops(ctx); err != nil { // all rows: nobody waits for them
				return err
			}
		}
		w.users[st] = struct{}{}
	}
	return nil
}

// leave undoes join.
func (h *hub) leave(st *stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.tables {
		delete(w.users, st)
	}
}

func (h *hub) run(ctx context.Context, l *swss.Listener) {
	defer close(h.done)
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.Ready():
			h.dispatch(ctx)
		}
	}
}

// dispatch passes on what changed.
func (h *hub) dispatch(ctx context.Context) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range h.order {
		w := h.tables[id]
		rows, err := w.source.Pops(ctx)
		if err != nil {
			h.log.Warn("gNMI subscribers wait for Redis", "table", id.table, "error", err)
			return // the listener signals when it is back
		}
		for _, row := range rows {
			for st := range w.users {
				st.mark(id, row.Key)
			}
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
