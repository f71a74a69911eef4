package mgmt

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"tamtam/mgmt/fetch"
	"tamtam/mgmt/rights"
	"tamtam/mgmt/tree"
	"tamtam/swss"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A rawFeed is a subscription to such a path.
type rawFeed struct {
	*feed
	path  fetch.RawPath
	asked *gpb.Path
	sent  map[string]string // rows as JSON, by key
}

// rawFeeds are the feeds of a list of which a path has the origin; nil: none has.
func (s *Server) rawFeeds(v *rights.View, list *gpb.SubscriptionList) ([]*rawFeed, error) {
	if err := checkEncoding(list.GetEncoding()); err != nil {
		return nil, err
	}
	var feeds []*rawFeed
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
		f := &rawFeed{feed: &feed{}, path: p, asked: sub.GetPath(), sent: map[string]string{}}
		if list.GetMode() == gpb.SubscriptionList_STREAM {
			interval := intervalOf(sub.GetSampleInterval())
			if interval != 0 && interval < minSample {
				return nil, tooFast(tree.PathText(sub.GetPath()), interval, floor{minSample, "rows as they are have no other"})
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

// subscribeRaw serves a Subscribe RPC of such paths.
func (s *Server) subscribeRaw(ctx context.Context, st *stream, feeds []*rawFeed) error {
	var listener *swss.Listener
	var tables []*swss.Subscriber
	if st.list.GetMode() == gpb.SubscriptionList_STREAM {
		listener = swss.NewListener(s.reader.Redis)
		defer listener.Close()
		for _, f := range feeds {
			if f.sample == 0 {
				tables = append(tables, swss.NewSubscriber(listener, f.path.DB, f.path.Table).Brief())
			}
		}
		if err := listener.Sync(ctx); err != nil {
			return tree.Unavailable(err)
		}
	}
	now := s.now()
	err := st.work(ctx, func() error {
		for _, f := range feeds {
			if err := f.send(ctx, st, true, st.list.GetUpdatesOnly()); err != nil {
				return err
			}
			f.start(now)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := st.synced(ctx); err != nil || st.list.GetMode() == gpb.SubscriptionList_ONCE {
		return err
	}
	requests := st.receive(ctx)
	if listener == nil {
		return pollRaw(ctx, st, feeds, requests)
	}
	return s.streamRaw(ctx, st, feeds, requests, listener, tables)
}

// streamRaw sends what changes, and samples, until the client is gone.
func (s *Server) streamRaw(
	ctx context.Context, st *stream, feeds []*rawFeed, requests <-chan request,
	l *swss.Listener, tables []*swss.Subscriber,
) error {
	for {
		var timer <-chan time.Time
		if at := firstSample(feeds); !at.IsZero() {
			timer = s.after(max(0, at.Sub(s.now())))
		}
		var err error
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-st.sent:
			return st.failed
		case r := <-requests:
			if !errors.Is(r.err, io.EOF) {
				return cmp.Or(r.err, status.Error(codes.InvalidArgument, "a STREAM takes one SubscriptionList and no Poll"))
			}
			requests = nil // the client sends no more, but still listens
		case <-l.Ready():
			err = st.work(ctx, func() error { return changedRaw(ctx, st, feeds, l, tables) })
		case <-timer:
			now := s.now()
			err = st.work(ctx, func() error { return sampledRaw(ctx, st, feeds, now) })
		}
		if err != nil {
			return err
		}
	}
}

// sampledRaw sends the samples that are due.
func sampledRaw(ctx context.Context, st *stream, feeds []*rawFeed, now time.Time) error {
	for _, f := range feeds {
		if f.sample == 0 || now.Before(f.next) {
			continue
		}
		advance(&f.next, f.sample, now)
		if err := f.send(ctx, st, !f.suppress, false); err != nil {
			return err
		}
	}
	return nil
}

func firstSample(feeds []*rawFeed) (first time.Time) {
	for _, f := range feeds {
		if f.sample > 0 && (first.IsZero() || f.next.Before(first)) {
			first = f.next
		}
	}
	return first
}

// changedRaw sends what differs of the tables in which something was written. tables has one for each feed on change.
func changedRaw(ctx context.Context, st *stream, feeds []*rawFeed, l *swss.Listener, tables []*swss.Subscriber) error {
	if err := l.Down(); err != nil {
		return tree.Unavailable(err)
	}
	i := 0
	for _, f := range feeds {
		if f.sample > 0 {
			continue
		}
		rows, err := tables[i].Pops(ctx)
		if err != nil {
			return tree.Unavailable(err)
		}
		if i++; len(rows) == 0 {
			continue
		}
		if err := f.send(ctx, st, false, false); err != nil {
			return err
		}
	}
	return nil
}

// send reads the rows of a feed and sends all of them, or those that differ from what was sent; quiet: none, but they
// count as sent.
func (f *rawFeed) send(ctx context.Context, st *stream, all, quiet bool) error {
	rows, p, err := f.read(ctx, st)
	if err != nil {
		return err
	}
	n := &gpb.Notification{Timestamp: st.s.now().UnixNano(), Prefix: replyPrefix(st.list.GetPrefix(), f.asked)}
	gone := f.sent
	f.sent = map[string]string{}
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
		f.sent[key] = string(text)
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

// read returns the rows that a feed's path means, as far as the caller may read them.
func (f *rawFeed) read(ctx context.Context, st *stream) (map[string]map[string]string, fetch.RawPath, error) {
	rows, p, err := st.s.reader.ReadRaw(ctx, f.path)
	if err != nil {
		return nil, p, err
	}
	if p.Hash && f.sample == 0 && st.list.GetMode() == gpb.SubscriptionList_STREAM {
		return nil, p, status.Errorf(codes.InvalidArgument,
			"sonic-db: %s is one hash, whose changes are not heard of: SAMPLE it", p.Table)
	}
	if rows, err = p.Shown(ctx, st.view, st.s.reader.Redis, rows); err != nil && p.Key == "" && !p.Hash {
		return nil, p, nil // others may come
	}
	return rows, p, err
}

// pollRaw answers Polls until the client ends.
func pollRaw(ctx context.Context, st *stream, feeds []*rawFeed, requests <-chan request) error {
	return eachPoll(ctx, requests, func() error {
		err := st.work(ctx, func() error {
			for _, f := range feeds {
				f.sent = map[string]string{} // what is gone is just not there
				if err := f.send(ctx, st, true, false); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		return st.synced(ctx)
	})
}
