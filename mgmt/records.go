package mgmt

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tamtam/mgmt/fetch"
	"tamtam/mgmt/hftrecords"
	"tamtam/mgmt/models/hft"
	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Records returns the last records of high-frequency telemetry, or nil if the server does not receive them.
func (s *Server) Records() *hftrecords.Store { return s.cfg.Records }

// recordCounts returns the rows of [hft.SourceCounts].
func (s *Server) recordCounts(context.Context, string) (map[string]map[string]string, error) {
	out := map[string]map[string]string{}
	if s.cfg.Records == nil {
		return out, nil
	}
	for _, name := range s.cfg.Records.Groups() {
		n := s.cfg.Records.Counts(name)
		out[strings.Replace(name, "|", ":", 1)] = map[string]string{
			hft.FieldReceived: strconv.FormatUint(n.Received, 10), hft.FieldMissed: strconv.FormatUint(n.Missed, 10)}
	}
	return out, nil
}

// recordValues returns the rows of [hft.SourceValues].
func (s *Server) recordValues(_ context.Context, profile string) (map[string]map[string]string, error) {
	out := map[string]map[string]string{}
	if s.cfg.Records == nil {
		return out, nil
	}
	for _, name := range s.cfg.Records.Groups() {
		of, kind, _ := strings.Cut(name, "|")
		if profile != tree.Wildcard && profile != of {
			continue
		}
		for _, b := range s.cfg.Records.Last(name) {
			for i, c := range b.Columns {
				out[of+":"+kind+":"+c.Statistic+":"+c.Object] = map[string]string{
					hft.FieldValue: strconv.FormatUint(b.Values[i], 10), tree.CollectedField: strconv.FormatInt(b.At[0], 10)}
			}
		}
	}
	return out, nil
}

// A recordFeed is the additional state of a feed that sends records of high-frequency telemetry as they were sampled.
type recordFeed struct {
	watch         *watch     // of the list of values
	value, missed *tree.Node // leaves
	follower      *hftrecords.Follower
	groups        map[string]*recordGroup // that have sent something, by name
	intervals     map[string]time.Duration
}

// A recordGroup is what a feed has sent of a group.
type recordGroup struct {
	keys         []string      // profile and type
	parts, shown []*recordPart // of the last record that was sent, and of the one before
	last         int64         // time of the last record
	next         int64         // time from which on the next one is due
	beat         int64         // time from which on a heartbeat is due
}

// A recordPart is what a feed sends of the records of a layout. Records of many statistics have several parts.
type recordPart struct {
	layout  *hftrecords.Layout
	columns []*tree.Entry // nil for those that are not sent
	values  []uint64      // that were sent last, if unchanged ones are suppressed
}

// splitRecords returns a sampling feed, and one more if it has values of high-frequency telemetry.
func splitRecords(m *tree.Model, f *feed) []*feed {
	value := m.Find(hft.PathValue)
	at := slices.IndexFunc(f.watches, func(w *watch) bool { return w.group == value.List })
	if at < 0 {
		return []*feed{f}
	}
	records := *f
	records.records = &recordFeed{watch: f.watches[at], value: value, missed: m.Find(hft.PathMissed),
		groups: map[string]*recordGroup{}}
	records.watches, f.watches = nil, slices.Delete(f.watches, at, at+1)
	if len(f.watches) == 0 {
		return []*feed{&records}
	}
	return []*feed{f, &records}
}

// paceRecords refuses an interval that a group which is configured now cannot serve. The interval holds for the whole
// stream: of a group that is slower later, each record is sent.
func (f *feed) paceRecords(ctx context.Context, r fetch.Reader) error {
	groups, err := swss.NewTable(r.Redis.DB(swss.ConfigDB), schema.CfgHFTGroup).Keys(ctx)
	if err != nil {
		return tree.Unavailable(err)
	}
	profiles, err := swss.NewTable(r.Redis.DB(swss.ConfigDB), schema.CfgHFTProfile).Dump(ctx)
	if err != nil {
		return tree.Unavailable(err)
	}
	f.records.intervals = map[string]time.Duration{}
	slices.Sort(groups)
	for _, name := range groups {
		profile, kind, _ := strings.Cut(name, "|")
		if !tree.Matches([]string{profile, kind}, f.records.watch.pattern[:2]) {
			continue
		}
		p, err := schema.ParseHFTProfile(profile, profiles[profile])
		if err != nil {
			continue // it does not stream
		}
		interval, why := p.Interval(), fmt.Sprintf("%s|%s has poll_interval %d", schema.CfgHFTProfile, profile, p.Micros)
		if p.Micros == 0 {
			why += fmt.Sprintf(", and %d is the default", interval.Microseconds())
		}
		f.records.intervals[name] = interval
		if f.sample == 0 {
			continue
		}
		if f.sample < interval {
			return tooFast(f.path, f.sample, floor{least: interval, why: why})
		}
		if near := f.sample / interval * interval; near != f.sample {
			return status.Errorf(codes.InvalidArgument, "%s: sample_interval %s is no multiple of %s: %s; want %s or %s",
				f.path, f.sample, interval, why, near, near+interval)
		}
	}
	return nil
}

// follow begins to follow the records, and sends the last one of each group, unless only later ones are requested.
func (f *feed) follow(ctx context.Context, st *stream, only bool) error {
	if st.s.cfg.Records == nil {
		return status.Errorf(codes.FailedPrecondition, "%s: this server receives no records: start mgmtd with --hft", f.path)
	}
	f.records.follower = st.s.cfg.Records.Follow(!only, st.sampled)
	if only {
		return nil
	}
	return f.sendRecords(ctx, st)
}

// unfollow ends what follow has begun.
func (f *feed) unfollow() {
	if f.records != nil && f.records.follower != nil {
		f.records.follower.Close()
	}
}

// sampledRecords sends what the chip has sampled.
func (st *stream) sampledRecords(ctx context.Context) error {
	for _, f := range st.feeds {
		if f.records != nil {
			if err := f.sendRecords(ctx, st); err != nil {
				return err
			}
		}
	}
	return nil
}

// sendRecords sends the records that are due.
func (f *feed) sendRecords(ctx context.Context, st *stream) error {
	names := st.s.cfg.Records.Groups()
	for _, name := range slices.Sorted(maps.Keys(f.records.groups)) {
		if !slices.Contains(names, name) {
			st.goneRecords(f.records.groups[name].parts, nil)
			delete(f.records.groups, name)
		}
	}
	for _, name := range names {
		profile, kind, _ := strings.Cut(name, "|")
		keys := []string{profile, kind}
		if !tree.Matches(keys, f.records.watch.pattern[:2]) {
			continue
		}
		for {
			blocks, missed := f.records.follower.Next(name)
			if missed > 0 {
				st.missedRecords(f, name, keys)
			}
			if len(blocks) == 0 {
				break
			}
			g := f.records.groups[name]
			if g == nil {
				g = &recordGroup{keys: keys}
				f.records.groups[name] = g
			}
			for i := range blocks {
				f.sendBlock(ctx, st, g, &blocks[i], f.records.intervals[name])
			}
			if err := st.flush(ctx); err != nil {
				return err
			}
		}
	}
	return st.flush(ctx)
}

// sendBlock queues the records of a block that are due.
func (f *feed) sendBlock(ctx context.Context, st *stream, g *recordGroup, b *hftrecords.Block, interval time.Duration) {
	for i, at := range b.At {
		// The clock of the chip may be adjusted, so that a record may be slightly before its time.
		if at+int64(interval/2) < g.next && at != g.last {
			continue
		}
		p, fresh := f.part(ctx, st, g, b.Layout, at)
		all := !f.suppress || fresh
		if f.beats() && at >= g.beat {
			all, g.beat = true, at+int64(f.beat)
		}
		g.last, g.next = at, at+int64(f.sample)
		n := &notice{st: st, at: time.Unix(0, at)}
		for j, v := range b.Record(i) {
			e := p.columns[j]
			if e == nil || !all && p.values[j] == v {
				continue
			}
			for _, leaf := range f.records.watch.Leaves {
				if leaf == f.records.value {
					text := []string{strconv.FormatUint(v, 10)}
					n.add(e.AppendUpdate(nil, leaf, text, st.list.GetEncoding()), 0)
				} else if fresh { // it is the same for all records of the layout
					n.add(e.AppendUpdate(nil, leaf, e.Value(leaf), st.list.GetEncoding()), 0)
				}
			}
		}
		if f.suppress {
			p.values = append(p.values[:0], b.Record(i)...)
		}
		if len(n.raw) > 0 {
			st.batch = append(st.batch, n.response())
		}
	}
}

// part returns the part of a group with a layout, and whether the feed sends it for the first time. If the record
// before had other parts than the one before that, part queues deletes of what the group has no longer.
func (f *feed) part(
	ctx context.Context, st *stream, g *recordGroup, of *hftrecords.Layout, at int64,
) (p *recordPart, fresh bool) {
	if at != g.last {
		if !slices.Equal(g.parts, g.shown) {
			st.goneRecords(g.shown, g.parts)
		}
		g.shown, g.parts = g.parts, g.shown[:0]
	}
	for _, p := range g.shown {
		if p.layout == of {
			g.parts = append(g.parts, p)
			return p, false
		}
	}
	w := f.records.watch
	p = &recordPart{layout: of, columns: make([]*tree.Entry, len(of.Columns))}
	g.parts = append(g.parts, p)
	r := st.reader.SeenBy(st.view).With(w.Selected)
	for i, c := range of.Columns {
		e := tree.NewEntry(w.group, []string{g.keys[0], g.keys[1], c.Object, c.Statistic})
		e.Rows[0] = map[string]string{}
		if tree.Matches(e.Keys, w.pattern) && r.Shows(ctx, e) {
			p.columns[i] = e
		}
	}
	return p, true
}

// goneRecords queues deletes of the entries that a group has sent, but for those that it has now.
func (st *stream) goneRecords(was, now []*recordPart) {
	there := map[string]bool{}
	for _, p := range now {
		for _, e := range p.columns {
			if e != nil {
				there[tree.KeysText(e.Keys)] = true
			}
		}
	}
	n := &notice{st: st, at: st.s.now()}
	for _, p := range was {
		for _, e := range p.columns {
			if e != nil && !there[tree.KeysText(e.Keys)] {
				n.gone(e.Path(e.List.Node))
			}
		}
	}
	if len(n.raw) > 0 {
		st.batch = append(st.batch, n.response())
	}
}

// missedRecords queues the number of records that subscriptions have missed, after this one has missed some.
func (st *stream) missedRecords(f *feed, name string, keys []string) {
	leaf := f.records.missed
	if st.view != nil && !st.view.Reads(leaf, keys) {
		return
	}
	n, e := &notice{st: st, at: st.s.now()}, tree.NewEntry(leaf.List, keys)
	missed := strconv.FormatUint(st.s.cfg.Records.Counts(name).Missed, 10)
	n.add(e.AppendUpdate(nil, leaf, []string{missed}, st.list.GetEncoding()), 0)
	st.batch = append(st.batch, n.response())
}
