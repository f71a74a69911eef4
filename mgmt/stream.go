package mgmt

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"tamtam/mgmt/auth"
	"tamtam/mgmt/fetch"
	"tamtam/mgmt/rights"
	"tamtam/mgmt/tree"
	"tamtam/swss"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// A stream is one Subscribe RPC. It queues not values but the set of entries that changed. Entries are read when the
// client accepts the next message. So a slow client gets the newest values, and its cost is bounded by the number of
// entries.
type stream struct {
	s      *Server
	reader fetch.Reader
	rpc    gpb.GNMI_SubscribeServer
	list   *gpb.SubscriptionList
	feeds  []*feed
	view   *rights.View // what the caller may see; nil means everything
	client string       // the client whose share of the server's work it uses
	works  bool         // true while begin has admitted a piece of work
	count  uint64       // number of passes

	outbox
	scratch []reading // used again for each entry

	out    chan []*gpb.SubscribeResponse
	sent   chan struct{} // closed when the sender has ended
	failed error         // the sender's error; valid once sent is closed

	mu      sync.Mutex
	dirty   map[fetch.ChangedRow]mark
	lost    bool // true if too many rows changed to record them; everything must be read again
	suspect bool // true if the databases may be unreadable; the next pass must check
	wake    chan struct{}
	sampled chan struct{} // receives a value when there may be records of high-frequency telemetry
}

// An outbox holds the messages that wait for the sender of a stream.
type outbox struct {
	prefix []byte // the prefix of Notifications, encoded
	batch  []*gpb.SubscribeResponse
	ends   []ending // deletes that follow the updates of the same change

	held    bool // true if queued messages wait
	weighed int  // number of waiting messages that size includes
	size    int  // size of these messages in bytes
}

// A mark is a changed row, with the number of its changes.
type mark struct {
	n   uint32
	row *fetch.Touched
}

// maxDirty bounds the rows that are remembered one by one.
const maxDirty = 65536

func newStream(s *Server, rpc gpb.GNMI_SubscribeServer, list *gpb.SubscriptionList, feeds []*feed) *stream {
	st := &stream{
		s: s, rpc: rpc, list: list, feeds: feeds, view: auth.ViewOf(rpc.Context()),
		client: auth.CallerOf(rpc.Context()).Client(),
		out:    make(chan []*gpb.SubscribeResponse), sent: make(chan struct{}),
		dirty: map[fetch.ChangedRow]mark{}, wake: make(chan struct{}, 1), sampled: make(chan struct{}, 1),
	}
	st.reader = s.reader
	st.reader.Hub, st.prefix = s.hub, wirePrefix(list)
	go func() {
		defer close(st.sent)
		for batch := range st.out {
			for _, m := range batch {
				if st.failed = rpc.Send(m); st.failed != nil {
					return
				}
			}
		}
	}()
	return st
}

// close ends the stream. It waits for the sender only if the sender has not stalled.
func (st *stream) close(err error) {
	for _, f := range st.feeds {
		f.unfollow()
	}
	st.s.hub.Leave(st)
	close(st.out)
	if err == nil {
		<-st.sent
	}
}

// Mark records that rows changed.
func (st *stream) Mark(rows []*fetch.Touched) {
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
		st.dirty[row.ChangedRow] = mark{st.dirty[row.ChangedRow].n + 1, row}
	}
	st.rouse()
}

// unmark forgets which rows changed, because all are read now. Otherwise a later update would count these changes in
// its duplicates.
func (st *stream) unmark() {
	st.mu.Lock()
	defer st.mu.Unlock()
	clear(st.dirty)
}

// lose records that anything may have changed.
func (st *stream) lose() {
	st.mu.Lock()
	defer st.mu.Unlock()
	clear(st.dirty)
	st.lost = true
	st.rouse()
}

// Suspect records that the databases may be unreadable. If they are readable, all changes have been marked already.
func (st *stream) Suspect() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.suspect = true
	st.rouse()
}

// rouse wakes the stream.
func (st *stream) rouse() {
	select {
	case st.wake <- struct{}{}:
	default:
	}
}

// run serves the RPC according to its mode.
func (st *stream) run(ctx context.Context) error {
	stream := st.list.GetMode() == gpb.SubscriptionList_STREAM
	var listener *swss.Listener // listener for raw feeds
	if stream {
		var err error
		if listener, err = st.listen(ctx); err != nil {
			return err
		}
		if listener != nil {
			defer listener.Close()
		}
		if t := tables(st.feeds); len(t) > 0 {
			if err := st.s.hub.Join(ctx, st, t); err != nil {
				return err
			}
		}
	}
	now := st.s.now()
	err := st.atOnce(ctx, func() error { return st.everything(ctx, st.list.GetUpdatesOnly(), stream) })
	if err != nil {
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
	return st.changes(ctx, requests, listener)
}

// atOnce calls f, whose messages show the data of one instant: no Set is written from the first row that f reads to the
// last. The client gets the messages afterwards, so that a slow client does not delay writers.
func (st *stream) atOnce(ctx context.Context, f func() error) error {
	err := st.work(ctx, func() error {
		st.s.snapshot.RLock()
		defer st.s.snapshot.RUnlock()
		st.held = true
		err := f()
		st.held, st.size = false, 0
		return err
	})
	if err != nil {
		return err
	}
	all := st.batch
	st.batch = nil
	for part := range slices.Chunk(all, fetch.Chunk) {
		st.batch = part
		if err := st.flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

// work calls f within the client's share of the server's work. While f waits for the client, other clients can work.
func (st *stream) work(ctx context.Context, f func() error) error {
	if err := st.begin(ctx); err != nil {
		return err
	}
	defer st.rest()
	return f()
}

// begin waits until the server may do another piece of work for this client (see [auth.Shares]).
func (st *stream) begin(ctx context.Context) error {
	err := st.s.reading.Enter(ctx, st.client)
	st.works = err == nil
	return err
}

// rest ends the piece of work that begin admitted, if there is one.
func (st *stream) rest() {
	if st.works {
		st.works = false
		st.s.reading.Leave(st.client)
	}
}

// everything sends all values and one sync_response.
func (st *stream) everything(ctx context.Context, only, remember bool) error {
	if err := st.fresh(ctx, st.feeds, true); err != nil {
		return err
	}
	st.unmark()
	for _, f := range st.feeds {
		if f.raw != nil {
			if !remember {
				f.raw.sent = map[string]string{} // a Poll sends no deletes
			}
			if err := f.sendRaw(ctx, st, true, only); err != nil {
				return err
			}
		}
		if f.records != nil {
			if err := f.follow(ctx, st, only); err != nil {
				return err
			}
		}
		for _, w := range f.watches {
			if only && !remember {
				continue
			}
			if err := st.pass(ctx, w, w.pattern, pass{all: true, quiet: only, forget: !remember}); err != nil {
				return err
			}
		}
	}
	if err := st.flushEnds(ctx); err != nil {
		return err
	}
	return st.synced(ctx)
}

// fresh returns when all earlier writes to the tables of the feeds are known to the hub.
func (st *stream) fresh(ctx context.Context, feeds []*feed, load bool) error {
	if feeds[0].raw != nil {
		return nil // the rows are read when they are sent
	}
	seen := map[tree.TableID]bool{}
	for _, f := range feeds {
		for w := range each(f.watches) {
			w.group.AddTables(seen)
			load = load && slices.Contains(w.pattern, tree.Wildcard)
		}
	}
	return st.s.hub.Fresh(ctx, slices.Collect(maps.Keys(seen)), load)
}

// synced sends the sync_response.
func (st *stream) synced(ctx context.Context) error {
	if err := st.s.mine(ctx); err != nil {
		return err
	}
	return st.send(ctx, &gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_SyncResponse{SyncResponse: true}})
}

// A request is a message of the client after its SubscriptionList.
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
	return eachPoll(ctx, requests, func() error {
		return st.atOnce(ctx, func() error { return st.everything(ctx, false, false) })
	})
}

// eachPoll calls answer for each Poll until the client ends.
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

// changes sends changes and samples until the client disconnects. Failed reads are repeated for a while, and then end
// the RPC with the error.
func (st *stream) changes(ctx context.Context, requests <-chan request, raw *swss.Listener) error {
	var written <-chan struct{}
	if raw != nil {
		written = raw.Ready()
	}
	var since time.Time // time of the first failed read; zero means that none failed
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
				requests = nil // the client sends nothing more, but still receives
			case r.err != nil:
				return r.err
			default:
				return status.Error(codes.InvalidArgument, "a STREAM takes one SubscriptionList and no Poll")
			}
		case <-again:
			again = nil
			st.lose()
		case <-st.wake:
			if err = st.work(ctx, func() error { return st.changed(ctx) }); err == nil {
				since = time.Time{}
			}
		case <-written:
			if err = st.work(ctx, func() error { return st.changedRaw(ctx, raw) }); err == nil {
				since = time.Time{}
			}
		case <-st.sampled:
			err = st.work(ctx, func() error { return st.sampledRecords(ctx) })
		case <-timer:
			now := st.s.now()
			err = st.work(ctx, func() error {
				for _, f := range st.feeds {
					if err := f.tick(ctx, st, now); err != nil {
						return err
					}
				}
				return nil
			})
		}
		if err == nil {
			continue
		}
		now := st.s.now()
		if since.IsZero() {
			since = now
		}
		if !tree.IsUnavailable(err) || ctx.Err() != nil || now.Sub(since) >= st.s.gate.patience {
			return err
		}
		if again == nil {
			again = st.s.after(fetch.RetryPeriod)
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

// changed reads the entries that changed and sends the differences.
func (st *stream) changed(ctx context.Context) error {
	st.mu.Lock()
	dirty, lost, suspect := st.dirty, st.lost, st.suspect
	st.dirty, st.lost, st.suspect = map[fetch.ChangedRow]mark{}, false, false
	st.mu.Unlock()
	if lost || suspect { // an unreadable database must end in an error
		if err := st.fresh(ctx, st.feeds, false); err != nil {
			st.lose()
			return err
		}
	}
	for _, f := range st.feeds {
		if f.sample != 0 {
			continue
		}
		if f.raw != nil && lost {
			if err := f.sendRaw(ctx, st, false, false); err != nil {
				return err
			}
		}
		for _, w := range f.watches {
			if err := st.changedIn(ctx, w, dirty, lost); err != nil {
				return err
			}
		}
	}
	return st.flushEnds(ctx)
}

// changedIn sends the differences of a watch's changed entries.
func (st *stream) changedIn(ctx context.Context, w *watch, dirty map[fetch.ChangedRow]mark, lost bool) error {
	if lost {
		return st.pass(ctx, w, w.pattern, pass{})
	}
	touched := map[string]concerned{}
	for _, m := range dirty {
		if p, ok := w.concerns(m.row); ok {
			id := tree.KeysText(p)
			touched[id] = concerned{p, max(touched[id].n, m.n)}
		}
	}
	var single [][]string
	for _, id := range tree.SortedKeys(touched) {
		p := touched[id].pattern
		if !slices.Contains(p, tree.Wildcard) && w.group.Single() && len(w.below) == 0 {
			single = append(single, p)
			continue
		}
		how := pass{duplicates: touched[id].duplicates()}
		if err := st.pass(ctx, w, p, how); err != nil {
			return err
		}
	}
	if len(single) == 0 {
		return nil
	}
	return st.passKeys(ctx, w, single, touched)
}

// A concerned is the set of entries that a changed row may affect, with the number of changes of the row.
type concerned struct {
	pattern []string
	n       uint32
}

// duplicates returns how many of the changes have no update of their own.
func (c concerned) duplicates() uint32 { return max(c.n, 1) - 1 }

// concerns returns which entries of the watch a changed row may affect.
func (w *watch) concerns(c *fetch.Touched) ([]string, bool) {
	for i, r := range w.group.Rows {
		if r.DB != c.Table.DB || r.Table != c.Table.Table || r.Source != "" || !w.reads(i) {
			continue
		}
		keys, ok := c.KeysOf(r, len(w.group.Keys))
		if !ok || !tree.Matches(keys, w.pattern) || !r.Serves(keys) {
			continue
		}
		for i, k := range w.pattern {
			if k != tree.Wildcard {
				keys[i] = k
			}
		}
		return keys, true
	}
	for _, b := range w.below {
		if keys, ok := b.concerns(c); ok {
			return keys[:len(w.pattern)], true
		}
	}
	return nil, false
}

// send queues a message, and hands all queued ones to the client.
func (st *stream) send(ctx context.Context, m *gpb.SubscribeResponse) error {
	st.batch = append(st.batch, m)
	return st.flush(ctx)
}

// flush hands the queued messages to the client. It waits for the client no longer than stallLimit.
func (st *stream) flush(ctx context.Context) error {
	if st.held {
		for _, m := range st.batch[st.weighed:] {
			st.size += proto.Size(m)
		}
		if st.weighed = len(st.batch); st.size > maxReply {
			return status.Errorf(codes.ResourceExhausted, "the answer is larger than %d bytes: ask for less at once", maxReply)
		}
		return nil
	}
	st.weighed = 0
	m := st.batch
	if st.batch = nil; len(m) == 0 {
		return nil
	}
	if st.works {
		st.rest()
		if err := st.handAll(ctx, m); err != nil {
			return err
		}
		return st.begin(ctx)
	}
	return st.handAll(ctx, m)
}

// handAll gives messages to the sender, and returns when the client has received all but the last.
func (st *stream) handAll(ctx context.Context, m []*gpb.SubscribeResponse) error {
	if n := len(m); n > 1 { // the sender accepts the last once the client has received the others
		if err := st.hand(ctx, m[:n-1]); err != nil {
			return err
		}
		m = m[n-1:]
	}
	return st.hand(ctx, m)
}

// hand gives messages to the sender, as long as the client may get them.
func (st *stream) hand(ctx context.Context, m []*gpb.SubscribeResponse) error {
	if ctx.Err() != nil { // reading kept rows does not check the context
		return context.Cause(ctx)
	}
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
