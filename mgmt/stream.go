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

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A stream is one Subscribe RPC. What waits to be sent is not a queue of
// values but the set of entries that changed: when the client takes the next
// message, the entries are read as they then are. So a slow client gets the
// newest values, and what it costs is bounded by the number of entries.
type stream struct {
	s     *Server
	rpc   gpb.GNMI_SubscribeServer
	list  *gpb.SubscriptionList
	feeds []*feed
	seed  maphash.Seed
	count uint64 // passes

	out    chan *gpb.SubscribeResponse
	sent   chan struct{} // closed when the sender has ended
	failed error         // of the sender, once sent is closed

	mu    sync.Mutex
	dirty map[change]uint32 // how often each was marked
	lost  bool              // too much changed to remember: look at everything
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

// mark notes that a row changed.
func (st *stream) mark(id tableID, key string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if len(st.dirty) >= maxDirty {
		clear(st.dirty)
		st.lost = true
	}
	if !st.lost {
		st.dirty[change{id, key}]++
	}
	select {
	case st.wake <- struct{}{}:
	default:
	}
}

// run serves the RPC by its mode.
func (st *stream) run() error {
	ctx := st.rpc.Context()
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

// everything sends the state of all and one sync_response.
func (st *stream) everything(ctx context.Context, only, remember bool) error {
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
	for {
		var r request
		select {
		case <-ctx.Done():
			return ctx.Err()
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
		if err := st.everything(ctx, false, false); err != nil {
			return err
		}
	}
}

// changes sends what changes, and samples, until the client is gone.
func (st *stream) changes(ctx context.Context, requests <-chan request) error {
	for {
		var timer <-chan time.Time
		if at, ok := st.due(); ok {
			timer = st.s.after(max(0, at.Sub(st.s.now())))
		}
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-st.sent:
			return st.failed
		case r := <-requests:
			switch {
			case errors.Is(r.err, io.EOF):
				requests = nil // the client says no more, but listens
			case r.err != nil:
				return r.err
			default:
				return status.Error(codes.InvalidArgument, "a STREAM takes one SubscriptionList and no Poll")
			}
		case <-st.wake:
			err = st.changed(ctx)
		case <-timer:
			now := st.s.now()
			for _, f := range st.feeds {
				if err = f.tick(ctx, st, now); err != nil {
					break
				}
			}
		}
		if err != nil {
			return err
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

// concerns says which entries of the watch a changed row may change.
func (w *watch) concerns(c change) ([]string, bool) {
	for i, r := range w.group.rows {
		if r.DB != c.id.db || r.Table != c.id.table || !w.rows[i] && !r.Entry {
			continue
		}
		keys, ok := r.key.match(c.key, len(w.group.keys))
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

// A pass is one look at entries of a watch.
type pass struct {
	all        bool // send leaves that did not change, too
	quiet      bool // send nothing
	forget     bool // do not remember what was sent
	duplicates uint32
}

// pass reads the entries of a watch that fit a pattern and sends them.
func (st *stream) pass(ctx context.Context, w *watch, pattern []string, how pass) error {
	st.count++
	send := func(n *gpb.Notification) error {
		if n == nil || how.quiet {
			return nil
		}
		return st.send(ctx, &gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_Update{Update: n}})
	}
	err := st.s.reader.read(ctx, w.group, pattern, w.rows, func(es []*entry) error {
		for _, e := range es {
			if err := send(st.notify(w, e, how)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || how.forget {
		return err
	}
	for _, n := range st.deletes(w, pattern) {
		if err := send(n); err != nil {
			return err
		}
	}
	return nil
}

// notify makes the Notification of one entry; nil: there is nothing to say.
func (st *stream) notify(w *watch, e *entry, how pass) *gpb.Notification {
	n := &gpb.Notification{Timestamp: st.s.now().UnixNano(), Prefix: replyPrefix(st.list.GetPrefix(), nil)}
	var old *sentEntry
	if !how.forget {
		id := strings.Join(e.keys, "\x00")
		if old = w.sent[id]; old == nil {
			old = &sentEntry{keys: e.keys, hashes: make([]uint64, len(w.leaves))}
			w.sent[id] = old
		}
		old.pass = st.count
	}
	for i, l := range w.leaves {
		v := e.value(l)
		var hash, was uint64
		if len(v) > 0 {
			hash = st.hash(v)
		}
		if old != nil {
			was, old.hashes[i] = old.hashes[i], hash
		}
		switch {
		case hash == 0 && was != 0:
			n.Delete = append(n.Delete, toPath(l, e.keys))
		case hash != 0 && (how.all || hash != was):
			n.Update = append(n.Update, &gpb.Update{Path: toPath(l, e.keys), Val: l.typed(v, st.list.GetEncoding()), Duplicates: how.duplicates})
		}
	}
	if len(n.Update)+len(n.Delete) == 0 {
		return nil
	}
	return n
}

func (st *stream) hash(v []string) uint64 {
	var h maphash.Hash
	h.SetSeed(st.seed)
	for _, s := range v {
		h.WriteString(s)
		h.WriteByte(0)
	}
	return max(h.Sum64(), 1)
}

// deletes makes the Notifications of the entries that fit the pattern and were
// not there in this pass.
func (st *stream) deletes(w *watch, pattern []string) []*gpb.Notification {
	var gone []*sentEntry
	if !slices.Contains(pattern, wildcard) {
		if old := w.sent[strings.Join(pattern, "\x00")]; old != nil && old.pass != st.count {
			gone = append(gone, old)
		}
	} else {
		for _, old := range w.sent {
			if old.pass != st.count && matches(old.keys, pattern) {
				gone = append(gone, old)
			}
		}
	}
	slices.SortFunc(gone, func(a, b *sentEntry) int { return compareKeys(a.keys, b.keys) })
	var out []*gpb.Notification
	for _, old := range gone {
		delete(w.sent, strings.Join(old.keys, "\x00"))
		at := w.target.node
		if w.group.node.within(at) {
			at = w.group.node
		}
		if !slices.ContainsFunc(old.hashes, func(h uint64) bool { return h != 0 }) {
			continue
		}
		out = append(out, &gpb.Notification{
			Timestamp: st.s.now().UnixNano(), Prefix: replyPrefix(st.list.GetPrefix(), nil),
			Delete: []*gpb.Path{toPath(at, old.keys)},
		})
	}
	return out
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
