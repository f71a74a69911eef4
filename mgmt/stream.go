package mgmt

import (
	"context"
	"errors"
	"hash/maphash"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"tamtam/swss"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A stream is one Subscribe RPC. What waits to be sent is not a queue of values but the set of
// entries that changed: when the client takes the next message, the entries are read as they are
// then. So a slow client gets the newest values, and what it costs is bounded by the number of
// entries.
type stream struct {
	s      *Server
	reader reader
	rpc    gpb.GNMI_SubscribeServer
	list   *gpb.SubscriptionList
	feeds  []*feed
	seed   maphash.Seed
	count  uint64 // passes

	out    chan *gpb.SubscribeResponse
	sent   chan struct{} // closed when the sender has ended
	failed error         // of the sender, once sent is closed

	mu    sync.Mutex
	dirty map[change]uint32 // how often each was marked
	lost  bool              // too much changed to remember: read everything
	wake  chan struct{}
}

// A change is a row that changed.
type change struct {
	id  tableID
	key string
}

// maxDirty bounds the rows that are remembered one by one.
const maxDirty = 65536

func newStream(s *Server, rpc gpb.GNMI_SubscribeServer, list *gpb.SubscriptionList, feeds []*feed) *stream {
	st := &stream{
		s: s, rpc: rpc, list: list, feeds: feeds, seed: maphash.MakeSeed(),
		out: make(chan *gpb.SubscribeResponse), sent: make(chan struct{}),
		dirty: map[change]uint32{}, wake: make(chan struct{}, 1),
	}
	st.reader = s.reader
	st.reader.hub = s.hub
	go func() {
		defer close(st.sent)
		for m := range st.out {
			if st.failed = rpc.Send(m); st.failed != nil {
				return
			}
		}
	}()
	return st
}

// close ends the stream. The sender is waited for only if it has not stalled.
func (st *stream) close(err error) {
	st.s.hub.leave(st)
	close(st.out)
	if err == nil {
		<-st.sent
	}
}

// mark records that rows changed.
func (st *stream) mark(id tableID, rows []swss.KeyOpFieldsValues) {
	if len(rows) == 0 {
		return
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, row := range rows {
		if len(st.dirty) >= maxDirty {
			clear(st.dirty)
			st.lost = true
		}
		if st.lost {
			break
		}
		st.dirty[change{id, row.Key}]++
	}
	select {
	case st.wake <- struct{}{}:
	default:
	}
}

// lose records that anything may have changed.
func (st *stream) lose() {
	st.mu.Lock()
	defer st.mu.Unlock()
	clear(st.dirty)
	st.lost = true
	select {
	case st.wake <- struct{}{}:
	default:
	}
}

// run serves the RPC by its mode.
func (st *stream) run(ctx context.Context) error {
	stream := st.list.GetMode() == gpb.SubscriptionList_STREAM
	if stream {
		if t := tables(st.feeds); len(t) > 0 {
			if err := st.s.hub.join(ctx, st, t); err != nil {
				return err
			}
		}
	}
	now := st.s.now()
	if err := st.everything(ctx, st.list.GetUpdatesOnly(), stream); err != nil {
		return err
	}
	if st.list.GetMode() == gpb.SubscriptionList_ONCE {
		return nil
	}
	requests := st.receive(ctx)
	if !stream {
		return st.poll(ctx, requests)
	}
	for _, f := range st.feeds {
		f.start(now)
	}
	return st.changes(ctx, requests)
}

// everything sends all values and one sync_response.
func (st *stream) everything(ctx context.Context, only, remember bool) error {
	if err := st.fresh(ctx, st.feeds, true); err != nil {
		return err
	}
	for _, f := range st.feeds {
		for _, w := range f.watches {
			if only && !remember {
				continue
			}
			if err := st.pass(ctx, w, w.pattern, pass{all: true, quiet: only, forget: !remember}); err != nil {
				return err
			}
		}
	}
	return st.synced(ctx)
}

// fresh returns when all that was written to what feeds read before the call is known.
func (st *stream) fresh(ctx context.Context, feeds []*feed, load bool) error {
	seen := map[tableID]bool{}
	for _, f := range feeds {
		for _, w := range f.watches {
			w.group.addTables(seen)
			load = load && slices.Contains(w.pattern, wildcard)
		}
	}
	return st.s.hub.fresh(ctx, slices.Collect(maps.Keys(seen)), load)
}

// synced tells the client that it has all.
func (st *stream) synced(ctx context.Context) error {
	if err := st.s.mine(ctx); err != nil {
		return err
	}
	return st.send(ctx, &gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_SyncResponse{SyncResponse: true}})
}

// A request is what the client sent after its SubscriptionList.
type request struct {
	req *gpb.SubscribeRequest
	err error
}

func (st *stream) receive(ctx context.Context) <-chan request {
	c := make(chan request)
	go func() {
		for {
			req, err := st.rpc.Recv()
			select {
			case c <- request{req, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return c
}

// poll answers Polls until the client ends.
func (st *stream) poll(ctx context.Context, requests <-chan request) error {
	return eachPoll(ctx, requests, func() error { return st.everything(ctx, false, false) })
}

// eachPoll has each Poll answered until the client ends.
func eachPoll(ctx context.Context, requests <-chan request, answer func() error) error {
	for {
		var r request
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case r = <-requests:
		}
		switch {
		case errors.Is(r.err, io.EOF):
			return nil
		case r.err != nil:
			return r.err
		case r.req.GetPoll() == nil:
			return status.Error(codes.InvalidArgument, "after the SubscriptionList of a POLL come Polls")
		}
		if err := answer(); err != nil {
			return err
		}
	}
}

// changes sends what changes, and samples, until the client is gone. What cannot be read is tried again for a while,
// and then the client is told that it knows nothing.
func (st *stream) changes(ctx context.Context, requests <-chan request) error {
	var since time.Time // when reading failed first; zero: it did not
	var again <-chan time.Time
	for {
		var timer <-chan time.Time
		if at, ok := st.due(); ok {
			timer = st.s.after(max(0, at.Sub(st.s.now())))
		}
		var err error
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-st.sent:
			return st.failed
		case r := <-requests:
			switch {
			case errors.Is(r.err, io.EOF):
				requests = nil // the client sends no more, but still listens
			case r.err != nil:
				return r.err
			default:
				return status.Error(codes.InvalidArgument, "a STREAM takes one SubscriptionList and no Poll")
			}
		case <-again:
			again = nil
			st.lose()
		case <-st.wake:
			if err = st.changed(ctx); err == nil {
				since = time.Time{}
			}
		case <-timer:
			now := st.s.now()
			for _, f := range st.feeds {
				if err = f.tick(ctx, st, now); err != nil {
					break
				}
			}
		}
		if err == nil {
			continue
		}
		now := st.s.now()
		if since.IsZero() {
			since = now
		}
		if !isUnavailable(err) || ctx.Err() != nil || now.Sub(since) >= st.s.gate.patience {
			return err
		}
		if again == nil {
			again = st.s.after(retryPeriod)
		}
	}
}

func (st *stream) due() (time.Time, bool) {
	var first time.Time
	for _, f := range st.feeds {
		if at, ok := f.due(); ok && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first, !first.IsZero()
}

// changed reads the entries that changed and sends what differs.
func (st *stream) changed(ctx context.Context) error {
	st.mu.Lock()
	dirty, lost := st.dirty, st.lost
	st.dirty, st.lost = map[change]uint32{}, false
	st.mu.Unlock()
	if lost { // maybe with the databases: who cannot read them is to learn of it
		if err := st.fresh(ctx, st.feeds, false); err != nil {
			return err
		}
	}
	for _, f := range st.feeds {
		if f.sample != 0 {
			continue
		}
		for _, w := range f.watches {
			patterns := map[string][]string{}
			count := map[string]uint32{}
			if lost {
				patterns[""] = w.pattern
			}
			for c, n := range dirty {
				if p, ok := w.concerns(c); ok {
					id := strings.Join(p, "\x00")
					patterns[id] = p
					count[id] = max(count[id], n)
				}
			}
			for _, id := range sortedKeys(patterns) {
				how := pass{duplicates: max(count[id], 1) - 1}
				if err := st.pass(ctx, w, patterns[id], how); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// concerns returns which entries of the watch a changed row may affect.
func (w *watch) concerns(c change) ([]string, bool) {
	for i, r := range w.group.rows {
		if r.DB != c.id.db || r.Table != c.id.table || r.Source != "" || !w.reads(i) {
			continue
		}
		keys, ok := r.key.match(c.key, len(w.group.keys))
		if ok && r.At != "" {
			keys[0] = r.At
		}
		if !ok || !matches(keys, w.pattern) || !r.serves(keys) {
			continue
		}
		for i, k := range w.pattern {
			if k != wildcard {
				keys[i] = k
			}
		}
		return keys, true
	}
	return nil, false
}

// send hands a message to the client, waiting for it no longer than stallLimit.
func (st *stream) send(ctx context.Context, m *gpb.SubscribeResponse) error {
	select {
	case st.out <- m: // the usual case needs no timer
		return nil
	default:
	}
	select {
	case st.out <- m:
		return nil
	case <-st.sent:
		return st.failed
	case <-ctx.Done():
		return ctx.Err()
	case <-st.s.after(stallLimit):
		return status.Errorf(codes.ResourceExhausted, "the client took nothing for %s", stallLimit)
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
