package mgmt

import (
	"context"
	"encoding/json"

	"tamtam/mgmt/fetch"
	"tamtam/mgmt/rights"
	"tamtam/mgmt/tree"
	"tamtam/swss"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A rawFeed is the additional state of a feed for tables of origin sonic-db.
type rawFeed struct {
	path   fetch.RawPath
	asked  *gpb.Path
	sent   map[string]string // rows as JSON, by key
	source *swss.Subscriber  // notifies of changes; nil if the feed samples, or the RPC is no STREAM
}

// rawFeeds returns the feeds of a list with paths of origin sonic-db, or nil if there is no such path. A list that
// mixes origins is refused.
func (s *Server) rawFeeds(v *rights.View, list *gpb.SubscriptionList) ([]*feed, error) {
	if err := checkEncoding(list.GetEncoding()); err != nil {
		return nil, err
	}
	var feeds []*feed
	for _, sub := range list.GetSubscription() {
		if !isRaw(list.GetPrefix(), sub.GetPath()) {
			continue
		}
		p, err := s.reader.ParseRaw(list.GetPrefix(), sub.GetPath())
		if err != nil {
			return nil, err
		}
		if err := v.Table(p.DB.Name(), p.Table); err != nil {
			return nil, err
		}
		f := &feed{raw: &rawFeed{path: p, asked: sub.GetPath(), sent: map[string]string{}}}
		if list.GetMode() == gpb.SubscriptionList_STREAM {
			interval := intervalOf(sub.GetSampleInterval())
			if interval != 0 && interval < minSample {
				return nil, tooFast(tree.PathText(sub.GetPath()), interval,
					floor{least: minSample, why: "rows as they are have no other"})
			}
			if sub.GetMode() == gpb.SubscriptionMode_SAMPLE {
				f.sample, f.suppress = max(interval, minSample), sub.GetSuppressRedundant()
			}
			if sub.GetHeartbeatInterval() != 0 {
				return nil, status.Error(codes.InvalidArgument, "sonic-db: heartbeat_interval is not served")
			}
		}
		feeds = append(feeds, f)
	}
	if n := len(list.GetSubscription()); len(feeds) > 0 && (len(feeds) != n || n > maxSubscribing) {
		return nil, status.Errorf(codes.InvalidArgument, "sonic-db: a list has 1 to %d subscriptions of one origin",
			maxSubscribing)
	}
	return feeds, nil
}

// listen subscribes the stream to changes of the tables of its raw feeds. The result is nil if there are none. The
// caller closes the listener.
func (st *stream) listen(ctx context.Context) (*swss.Listener, error) {
	if st.feeds[0].raw == nil {
		return nil, nil
	}
	l := swss.NewListener(st.s.reader.Redis)
	for _, f := range st.feeds {
		if f.sample == 0 {
			f.raw.source = swss.NewSubscriber(l, f.raw.path.DB, f.raw.path.Table).Brief()
		}
	}
	if err := l.Sync(ctx); err != nil {
		l.Close()
		return nil, tree.Unavailable(err)
	}
	return l, nil
}

// changedRaw sends the differences of the tables in which something was written.
func (st *stream) changedRaw(ctx context.Context, l *swss.Listener) error {
	if err := l.Down(); err != nil {
		return tree.Unavailable(err)
	}
	for _, f := range st.feeds {
		if f.raw.source == nil {
			continue
		}
		rows, err := f.raw.source.Pops(ctx)
		if err != nil {
			return tree.Unavailable(err)
		}
		if len(rows) == 0 {
			continue
		}
		if err := f.sendRaw(ctx, st, false, false); err != nil {
			return err
		}
	}
	return nil
}

// sendRaw reads the rows of a raw feed, and sends all of them, or only those that have changed since they were sent. If
// quiet, it sends none, but records them as sent.
func (f *feed) sendRaw(ctx context.Context, st *stream, all, quiet bool) error {
	rows, p, err := f.readRaw(ctx, st)
	if err != nil {
		return err
	}
	n := &gpb.Notification{Timestamp: st.s.now().UnixNano(), Prefix: replyPrefix(st.list.GetPrefix(), f.raw.asked)}
	gone := f.raw.sent
	f.raw.sent = map[string]string{}
	for _, key := range tree.SortedKeys(rows) {
		var v any = rows[key]
		if p.Field != "" {
			text, ok := rows[key][p.Field]
			if !ok {
				continue
			}
			v = text
		}
		val, err := fetch.RawTyped(v, st.list.GetEncoding())
		if err != nil {
			return err
		}
		text, err := json.Marshal(v)
		if err != nil {
			return err
		}
		was, there := gone[key]
		delete(gone, key)
		f.raw.sent[key] = string(text)
		if all || !there || was != string(text) {
			n.Update = append(n.Update, &gpb.Update{Path: p.Row(key), Val: val})
		}
	}
	for _, key := range tree.SortedKeys(gone) {
		n.Delete = append(n.Delete, p.Row(key))
	}
	if quiet || len(n.Update)+len(n.Delete) == 0 {
		return nil
	}
	return st.send(ctx, &gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_Update{Update: n}})
}

// readRaw returns the rows of a feed's path that the caller may read.
func (f *feed) readRaw(ctx context.Context, st *stream) (map[string]map[string]string, fetch.RawPath, error) {
	rows, p, err := st.s.reader.ReadRaw(ctx, f.raw.path)
	if err != nil {
		return nil, p, err
	}
	if p.Hash && f.sample == 0 && st.list.GetMode() == gpb.SubscriptionList_STREAM {
		return nil, p, status.Errorf(codes.InvalidArgument,
			"sonic-db: %s is one hash, whose changes are not heard of: SAMPLE it", p.Table)
	}
	if rows, err = p.Shown(ctx, st.view, st.s.reader.Redis, rows); err != nil && p.Key == "" && !p.Hash {
		return nil, p, nil // readable rows may be added later
	}
	return rows, p, err
}
