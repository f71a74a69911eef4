package mgmt

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"time"

	"tamtam/mgmt/auth"
	"tamtam/mgmt/rights"
	"tamtam/mgmt/tree"
	"tamtam/swss"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Intervals of samples and heartbeats, and bounds of subscriptions.
const (
	minSample      = 100 * time.Millisecond // for leaves that are not polled counters
	minHeartbeat   = time.Second
	followed       = time.Second      // how often counters that are not polled are compared for ON_CHANGE
	definedSample  = 10 * time.Second // for TARGET_DEFINED without an interval
	stallLimit     = 5 * time.Minute  // a client that receives nothing for that long is disconnected
	maxSubscribing = 1024             // subscriptions in one list
)

// Subscribe serves one Subscribe RPC.
func (s *Server) Subscribe(rpc gpb.GNMI_SubscribeServer) error { return wire{Server: s}.Subscribe(rpc) }

// Subscribe serves one Subscribe RPC.
func (w wire) Subscribe(rpc gpb.GNMI_SubscribeServer) error {
	req, err := rpc.Recv()
	if err != nil {
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	}
	list := req.GetSubscribe()
	if list == nil {
		return status.Error(codes.InvalidArgument, "the first message is a SubscriptionList")
	}
	if err := checkExtensions(req.GetExtension(), true); err != nil {
		return err
	}
	if _, own := rpc.(*follower); !own {
		if err := checkIntervals(list); err != nil {
			return err
		}
	}
	select {
	case w.subscribers <- struct{}{}:
		defer func() { <-w.subscribers }()
	default:
		return status.Errorf(codes.ResourceExhausted, "%d Subscribe RPCs run already", maxSubscribers)
	}
	if !w.encoded {
		rpc = decoding{rpc}
	}
	err = w.subscribe(rpc, list, depthOf(req.GetExtension()))
	w.guard.Trail.Denied(rpc.Context(), "subscribe", list.GetPrefix(), pathsOf(list), err)
	return err
}

// Follow serves a list as a Subscribe RPC of the caller in ctx. send receives each message that a client would.
func (s *Server) Follow(
	ctx context.Context, list *gpb.SubscriptionList, send func(*gpb.SubscribeResponse) error,
) error {
	return s.Subscribe(&follower{ctx: ctx, list: list, send: send})
}

// A follower is a Subscribe RPC without a client.
type follower struct {
	gpb.GNMI_SubscribeServer // nil, since its other methods are never called
	ctx                      context.Context
	list                     *gpb.SubscriptionList // nil after the first Recv
	send                     func(*gpb.SubscribeResponse) error
}

func (f *follower) Context() context.Context { return f.ctx }

func (f *follower) Send(m *gpb.SubscribeResponse) error { return f.send(m) }

func (f *follower) Recv() (*gpb.SubscribeRequest, error) {
	list := f.list
	if f.list = nil; list == nil {
		return nil, io.EOF // the client sends nothing more, but still receives
	}
	return &gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Subscribe{Subscribe: list}}, nil
}

// pathsOf returns the paths of a list.
func pathsOf(list *gpb.SubscriptionList) (paths []*gpb.Path) {
	for _, sub := range list.GetSubscription() {
		paths = append(paths, sub.GetPath())
	}
	return paths
}

func (s *Server) subscribe(rpc gpb.GNMI_SubscribeServer, list *gpb.SubscriptionList, level uint32) error {
	feeds, err := s.feeds(auth.ViewOf(rpc.Context()), list, level)
	if err != nil {
		return err
	}
	ctx, end := s.guard.Attend(rpc.Context())
	defer end()
	ctx, leave, err := s.gate.enter(ctx, list.GetMode() == gpb.SubscriptionList_STREAM)
	if err != nil {
		return err
	}
	defer leave()
	if err := pace(ctx, s.reader, feeds); err != nil {
		return s.dbError(ctx, err)
	}
	st := newStream(s, rpc, list, feeds)
	err = st.run(ctx)
	st.close(err)
	if err != nil {
		return s.dbError(ctx, err)
	}
	return nil
}

// feeds returns the feeds of a list, either of origin sonic-db or of the tree.
func (s *Server) feeds(v *rights.View, list *gpb.SubscriptionList, level uint32) ([]*feed, error) {
	raw, err := s.rawFeeds(v, list)
	switch {
	case err != nil:
		return nil, err
	case len(raw) > 0 && level > 0:
		return nil, errRawDepth
	case len(raw) > 0:
		return raw, nil
	}
	return s.compile(v, list, level)
}

// A feed is one subscription, or one half of a subscription that TARGET_DEFINED splits.
type feed struct {
	watches  []*watch
	raw      *rawFeed      // for tables of origin sonic-db, without watches; nil for the tree
	records  *recordFeed   // for records of high-frequency telemetry, without watches; nil for anything else
	sample   time.Duration // sample interval; 0 means on change
	samples  bool          // until pace has run, sample is the requested interval, and 0 requests the least one
	defined  bool          // the target chooses the interval
	follows  bool          // it sends counters when they change: it reads them as often as they are polled
	path     string        // the requested path; set for a STREAM only
	beat     time.Duration // heartbeat interval; 0 means no heartbeat
	suppress bool
	next     time.Time // time of the next sample
	nextBeat time.Time
}

// A watch is the part of a feed that lies in one group.
type watch struct {
	target tree.Target
	*tree.Selected
	group   *tree.List
	pattern []string
	// rank is the place in the order of lists: those to which state refers come before those that refer to them.
	rank int
	// sent holds, for each entry, a hash of the last sent value of each leaf. 0 means that no value was sent.
	sent map[string]*sentEntry
	// atomic means that an entry is sent whole, with the entries below it, which below watches.
	atomic bool
	below  []*watch
}

type sentEntry struct {
	keys   []string
	hashes []uint64
	below  int    // number of entries below it, if it is atomic
	pass   uint64 // the last pass in which the entry existed
}

// compile checks a SubscriptionList and returns its feeds. level is the number of levels below each path; 0 means all.
func (s *Server) compile(v *rights.View, list *gpb.SubscriptionList, level uint32) ([]*feed, error) {
	if err := checkEncoding(list.GetEncoding()); err != nil {
		return nil, err
	}
	if n := len(list.GetSubscription()); n == 0 || n > maxSubscribing {
		return nil, status.Errorf(codes.InvalidArgument, "a list has 1 to %d subscriptions, not %d", maxSubscribing, n)
	}
	if _, ok := gpb.SubscriptionList_Mode_name[int32(list.GetMode())]; !ok {
		return nil, status.Errorf(codes.InvalidArgument, "mode %d is not known", list.GetMode())
	}
	filter, err := useModels(list.GetUseModels())
	if err != nil {
		return nil, err
	}
	filter = v.Filter(filter)
	if err := s.served(list.GetPrefix(), pathsOf(list)); err != nil {
		return nil, err
	}
	var feeds []*feed
	for _, sub := range list.GetSubscription() {
		targets, err := s.model.Resolve(list.GetPrefix(), sub.GetPath(), codes.Unimplemented)
		if err == nil {
			targets, err = v.See(targets, list.GetPrefix(), sub.GetPath())
		}
		if err != nil {
			return nil, err
		}
		targets = tree.LimitDepth(targets, level)
		if list.GetMode() != gpb.SubscriptionList_STREAM {
			feeds = append(feeds, &feed{watches: watches(s.model, targets, filter)})
			continue
		}
		fs, err := streamFeeds(s.model, sub, targets, filter)
		if err != nil {
			return nil, err
		}
		for _, f := range fs {
			f.path = tree.PathText(&gpb.Path{Elem: slices.Concat(list.GetPrefix().GetElem(), sub.GetPath().GetElem())})
		}
		feeds = append(feeds, fs...)
	}
	return feeds, nil
}

// streamFeeds returns the feeds of one subscription of a STREAM.
func streamFeeds(
	m *tree.Model, sub *gpb.Subscription, targets []tree.Target, filter func(*tree.Node) bool,
) ([]*feed, error) {
	beat, err := duration(sub.GetHeartbeatInterval(), minHeartbeat, "heartbeat_interval")
	if err != nil {
		return nil, err
	}
	events := func(n *tree.Node) bool { return filter(n) && !n.Counter() }
	counters := func(n *tree.Node) bool { return filter(n) && n.Counter() }
	changing := &feed{beat: beat}
	sampled := sampling(sub, beat)
	switch sub.GetMode() {
	case gpb.SubscriptionMode_ON_CHANGE:
		changing.watches = watches(m, targets, events)
		feeds := []*feed{changing}
		for _, w := range watches(m, targets, counters) { // each list is polled at its own interval
			feeds = append(feeds, &feed{watches: []*watch{w}, samples: true, follows: true, suppress: true, beat: beat})
		}
		return feeds, nil
	case gpb.SubscriptionMode_SAMPLE:
		sampled.watches = watches(m, targets, filter)
		return splitRecords(m, sampled), nil
	case gpb.SubscriptionMode_TARGET_DEFINED:
		changing.watches = watches(m, targets, events)
		sampled.watches = watches(m, targets, counters)
		return []*feed{changing, sampled}, nil
	}
	return nil, status.Errorf(codes.InvalidArgument, "subscription mode %d is not known", sub.GetMode())
}

// checkIntervals refuses an interval of a client for TARGET_DEFINED, in which the target chooses it. The process itself
// may give one, as the outputs do.
func checkIntervals(list *gpb.SubscriptionList) error {
	for _, sub := range list.GetSubscription() {
		if sub.GetMode() == gpb.SubscriptionMode_TARGET_DEFINED && sub.GetSampleInterval() != 0 &&
			list.GetMode() == gpb.SubscriptionList_STREAM {
			at := tree.PathText(&gpb.Path{Elem: slices.Concat(list.GetPrefix().GetElem(), sub.GetPath().GetElem())})
			return status.Errorf(codes.InvalidArgument,
				"%s: sample_interval %s with TARGET_DEFINED: want none, or the mode SAMPLE", at,
				intervalOf(sub.GetSampleInterval()))
		}
	}
	return nil
}

// intervalOf returns an interval of a request in nanoseconds as a Duration of at most a year.
func intervalOf(ns uint64) time.Duration { return time.Duration(min(ns, uint64(365*24*time.Hour))) }

// duration checks an interval in nanoseconds; 0 is valid.
func duration(ns uint64, least time.Duration, name string) (time.Duration, error) {
	d := intervalOf(ns)
	if d != 0 && d < least {
		return 0, status.Errorf(codes.InvalidArgument, "%s %s is below the least, %s", name, d, least)
	}
	return d, nil
}

// watches returns the watches of targets.
func watches(m *tree.Model, targets []tree.Target, filter func(*tree.Node) bool) []*watch {
	var out []*watch
	for _, t := range targets {
		sel := m.SelectLeaves(t.Node, t.Shows(filter))
		atomic := map[*tree.List]*watch{}
		for i, g := range m.ByReference {
			s := sel[g]
			if s == nil {
				continue
			}
			w := &watch{target: t, Selected: s, group: g, pattern: tree.Extend(t.Keys, g), rank: i,
				sent: map[string]*sentEntry{}}
			if w.atomic = g.Atomic && g.Node.Within(t.Node); w.atomic {
				atomic[g] = w
			} else if outer := atomic[g.Parent]; outer != nil {
				outer.below = append(outer.below, w)
				continue
			}
			out = append(out, w)
		}
	}
	// Of several paths, too, what is referred to comes first.
	slices.SortStableFunc(out, func(a, b *watch) int { return a.rank - b.rank })
	return out
}

// each yields watches, and those below them.
func each(ws []*watch) iter.Seq[*watch] {
	return func(yield func(*watch) bool) {
		for _, w := range ws {
			for _, w := range append([]*watch{w}, w.below...) {
				if !yield(w) {
					return
				}
			}
		}
	}
}

// tables returns the tables whose changes the on-change feeds need.
func tables(feeds []*feed) []tree.TableID {
	var out []tree.TableID
	seen := map[tree.TableID]bool{}
	for _, f := range feeds {
		if f.sample != 0 {
			continue
		}
		for w := range each(f.watches) {
			for i, r := range w.group.Rows {
				id := tree.TableID{DB: r.DB, Table: r.Table}
				if w.reads(i) && r.Source == "" && !seen[id] {
					seen[id] = true
					out = append(out, id)
				}
			}
		}
	}
	return out
}

// reads reports whether a row determines leaves that are sent, or the existence of the entry.
func (w *watch) reads(row int) bool {
	g := w.group
	return w.Rows[row] || g.Rows[row].Entry || w.State && len(g.Traces) > 0 &&
		(g.Traces[row] || g.Rows[row].DB == swss.ConfigDB)
}

// due returns when a feed must next sample or send its heartbeat.
func (f *feed) due() (time.Time, bool) {
	at := f.next
	if f.beats() && (at.IsZero() || f.nextBeat.Before(at)) {
		at = f.nextBeat
	}
	return at, !at.IsZero() && (len(f.watches) > 0 || f.raw != nil)
}

// beats reports whether the heartbeat has an effect. A feed that sends everything at every sample needs no heartbeat,
// unless the heartbeat interval is shorter than the sample interval.
func (f *feed) beats() bool { return f.beat > 0 && (f.sample == 0 || f.suppress || f.beat < f.sample) }

// start sets the first deadlines.
func (f *feed) start(now time.Time) {
	if f.sample > 0 {
		f.next = now.Add(f.sample)
	}
	if f.beats() {
		f.nextBeat = now.Add(f.beat)
	}
}

// advance moves a deadline past now and returns how many deadlines were missed.
func advance(at *time.Time, every time.Duration, now time.Time) uint32 {
	missed := now.Sub(*at) / every
	*at = at.Add((missed + 1) * every)
	return uint32(missed)
}

// tick sends the sample or heartbeat that is due.
func (f *feed) tick(ctx context.Context, st *stream, now time.Time) error {
	sample := f.sample > 0 && !now.Before(f.next)
	beat := f.beats() && !now.Before(f.nextBeat)
	if !sample && !beat {
		return nil
	}
	how := pass{all: beat || !f.suppress}
	if sample {
		how.duplicates = advance(&f.next, f.sample, now)
	}
	if beat {
		advance(&f.nextBeat, f.beat, now)
	}
	if f.raw != nil {
		return f.sendRaw(ctx, st, how.all, false)
	}
	if err := st.fresh(ctx, []*feed{f}, false); err != nil {
		return err
	}
	for _, w := range f.watches {
		if err := st.pass(ctx, w, w.pattern, how); err != nil {
			return err
		}
	}
	return st.flushEnds(ctx)
}
