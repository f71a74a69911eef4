package join

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"tamtam/collector"
	"tamtam/collector/journey"
	"tamtam/collector/result"
	"tamtam/collector/topology"
	"tamtam/fleet/dial"
	"tamtam/fleet/event"
	"tamtam/tam/record"
)

// Options say how a partition joins.
type Options struct {
	// Window is how long a window is (0: DefaultWindow).
	Window time.Duration
	// Silence is after how long a source from which nothing comes is left out of the watermark (0: DefaultSilence).
	Silence time.Duration
	// Expect names sources, with or without when they were started (see [event.Name]), without which no window is
	// closed, until they have been silent for Silence from the beginning on. Others hold the watermark from their
	// first message on.
	Expect []string
	// Rows bounds the rows of all windows that are open (0: DefaultRows). What is beyond is left out, and the window's
	// rows are flagged.
	Rows int
	// Paths are the paths and graphs along which alternate marking is joined: those of who reads it.
	Paths dial.File
	// Topology is the network, by which the points of Paths are named (see [dial.File.Named]), and whose switch ids and
	// wires join records. Wherever partitions of the same log are joined it must be equal. nil: it is not known, and
	// points have the names that Paths gives them. Without it, or without the id of some switch, no records are joined.
	Topology *topology.Topology
	// Plans are those by which records are read.
	Plans []*record.Plan
	// Journey says which records may follow each other; its Within is DefaultWithin if it is 0.
	Journey journey.Options
}

// Check returns an error if paths cannot be joined or contradict the topology, or records not be read by the plans.
func (o Options) Check() error {
	f, err := o.Paths.Named(o.Topology)
	if err == nil {
		_, err = f.Clusters()
	}
	if err == nil {
		_, err = collector.NewJourneyReader(o.Plans, nil)
	}
	return err
}

// What holds unless Options say otherwise.
const (
	DefaultWindow  = 10 * time.Second
	DefaultSilence = time.Minute
	DefaultRows    = 1 << 20
)

// maxSources is how many sources a partition knows at most: their names come from outside.
const maxSources = 1 << 12

// A joiner makes rows of the events of one kind.
type joiner interface {
	// take adds the events of a batch, of which windows says where each belongs, all or none of them.
	take(r *event.Reader, w *windows) error
	// close moves the rows of a window into a batch.
	close(w window, flags result.Flags, b *result.Batch)
}

// A wide joiner makes rows of events of one kind that depend on those around them, so that they are of no window.
type wide interface {
	// take is that of a joiner. It has the message held for as long as its events are needed.
	take(r *event.Reader, w *windows) error
	// last is when the last event so far is due.
	last() int64
	// says reports whether something may be said that is due between two times.
	says(from, to int64) bool
	// advance moves rows of what is due by a time, and was not by another one before that, into a batch.
	advance(from, to int64, silent bool, w *windows, b *result.Batch)
}

// A Partition joins the messages of one partition.
type Partition struct {
	name    string
	options Options
	resumed result.Position // what was in batches when it began
	last    uint64          // the last message taken
	cut     uint64          // the last message that is in a batch
	skipped bool            // those before the next one were lost
	closed  int64
	started time.Time

	sources map[sourceKey]*source
	order   []*source // as they came
	pending []pending // messages with events of open windows, in order
	windows windows
	joiners [result.Kinds]joiner
	wide    [result.Kinds]wide
	reader  event.Reader
}

type sourceKey struct {
	name string
	kind result.Kind
}

type source struct {
	row     result.Source // counts, as of the last message
	number  uint64        // of its last batch
	promise int64
	low     uint64 // number and promise as of the message before Low
	lowSays int64
	heard   time.Time // zero: not yet
	over    bool      // another one was started in its place: see follow
	after   int64     // up to where the one in whose place it was started told; 0: it is in nobody's place, or has said so

	// Of its name, if that says so: what it is of, and when it was started.
	of    string
	begun int64
	named bool
}

// pending is a message whose events may be needed again.
type pending struct {
	seq     uint64
	source  *source
	number  uint64 // of the source, after this message
	promise int64
	until   int64 // when the last window of its events ends
}

// New returns the partition that goes on at a position.
func New(name string, o Options, at result.Position, now time.Time) *Partition {
	o.Window = cmp.Or(o.Window, DefaultWindow)
	o.Silence = cmp.Or(o.Silence, DefaultSilence)
	o.Rows = cmp.Or(o.Rows, DefaultRows)
	p := &Partition{
		name: name, options: o, resumed: at, last: max(at.Low, 1) - 1, cut: at.Last, closed: at.Closed, started: now,
		sources: map[sourceKey]*source{},
		windows: windows{length: int64(o.Window), most: o.Rows, open: map[window]*openWindow{},
			gaps: slices.Clone(at.Gaps)},
	}
	p.joiners[result.Stamps] = newStamps(&p.windows)
	p.joiners[result.Drops] = newDrops(&p.windows)
	p.joiners[result.Sketches] = newSketches()
	if len(o.Paths.Paths)+len(o.Paths.Graphs) > 0 {
		f, _ := o.Paths.Named(o.Topology) // see Options.Check
		p.wide[result.Periods] = newPeriods(f)
	}
	if j := newJourneys(o); j != nil {
		p.wide[result.Records] = j
	}
	for _, s := range at.Sources {
		for kind := result.Stamps; kind < result.Kinds; kind++ {
			if kind.String() == s.Kind {
				p.add(sourceKey{s.Name, kind}, &source{row: s, number: s.Number, promise: s.Promise, low: s.Number,
					lowSays: s.Promise, heard: now})
			}
		}
	}
	for _, s := range p.order {
		p.follow(s, nil)
	}
	return p
}

func (p *Partition) add(key sourceKey, s *source) *source {
	s.of, s.begun, s.named = event.Started(key.name)
	p.sources[key] = s
	p.order = append(p.order, s)
	return s
}

// Next is the message that the partition takes next.
func (p *Partition) Next() uint64 { return p.last + 1 }

// Take takes a message. One that cannot be read counts against its source, if it says who that is, and is told as an
// error; the partition goes on behind it.
func (p *Partition) Take(seq uint64, data []byte, now time.Time) error {
	if seq <= p.last {
		return fmt.Errorf("partition %s: message %d comes after message %d: want them in order", p.name, seq, p.last)
	}
	p.last = seq
	again := seq <= p.resumed.Last // it is counted already
	if err := p.reader.Open(data); err != nil {
		return fmt.Errorf("partition %s, message %d: %w", p.name, seq, err)
	}
	p.windows.begin(p.closed, again)
	h := &p.reader.Header
	p.follows(h)
	s, err := p.source(h)
	if err != nil {
		p.beyond(h, again)
		return fmt.Errorf("partition %s, message %d: %w", p.name, seq, err)
	}
	s.heard = now
	if h.Number <= s.number {
		if !again {
			s.row.Twice++
		}
		return nil
	}
	if h.Promise != 0 && h.Promise != event.Ended && h.High > h.Promise+event.MaxAhead {
		err = fmt.Errorf("batch %s has events up to %d, and promises %d: want less than %v between them", h.ID(), h.High,
			h.Promise, time.Duration(event.MaxAhead))
	} else if j := p.wide[h.Kind]; j != nil {
		err = j.take(&p.reader, &p.windows)
	} else if j := p.joiners[h.Kind]; j == nil {
		err = fmt.Errorf("batches of %v are not joined here", h.Kind)
	} else {
		err = j.take(&p.reader, &p.windows)
	}
	p.account(s, h, again, err)
	if err != nil {
		err = fmt.Errorf("partition %s, message %d: %w", p.name, seq, err)
	}
	p.pending = append(p.pending, pending{seq, s, s.number, s.promise, p.windows.until})
	return err
}

// Skip goes on at a message: those before it are lost. The numbers of the sources tell what that was, and a source of
// which the last were lost falls silent; but not so of messages that were in batches before a restart, and of a source
// that nobody knows yet. So all is in doubt from what is closed up to what the sources told, and tell next.
func (p *Partition) Skip(to uint64) (doubt result.Amend) {
	p.last = max(p.last, to-1)
	doubt = result.Amend{From: p.closed, To: p.closed, Flags: result.Gap}
	for _, s := range p.order {
		doubt.To = max(doubt.To, s.row.Latest)
	}
	p.windows.gap(doubt.From, doubt.To, doubt.Flags)
	p.skipped = true
	return doubt
}

// follows notes what is in doubt up to the first message behind some that were lost.
func (p *Partition) follows(h *event.Header) {
	if p.skipped {
		p.skipped = false
		p.windows.gap(p.closed, max(p.closed, h.High), result.Gap)
	}
}

// Deaf says that no source could be heard until now, since the log was away: none of them is silent for that.
func (p *Partition) Deaf(now time.Time) {
	p.started = now
	for _, s := range p.order {
		s.heard = now
	}
}

// Busy says that for some time nobody looked at what sources say: it counts as silence of none.
func (p *Partition) Busy(d time.Duration) {
	p.started = p.started.Add(d)
	for _, s := range p.order {
		s.heard = s.heard.Add(d)
	}
}

// account counts a batch that is new, and notes what its number and its promise say.
func (p *Partition) account(s *source, h *event.Header, again bool, bad error) {
	lost := h.Number - s.number - 1
	if (lost > 0 || bad != nil) && !again { // else it is known from the position
		from := s.promise
		if from == event.Ended { // and it says more
			from = s.row.Told
		}
		if from == 0 && h.Missing() { // it promised nothing yet, and knows better
			from = h.From
		}
		p.windows.gap(from, max(h.High, from), result.Gap)
	}
	if h.Missing() {
		from := h.From
		if s.after > 0 {
			from, s.after = min(from, s.after), 0
		}
		if s.row.Told = max(s.row.Told, h.To); !again {
			p.windows.gap(from, h.To, result.Gap)
		}
	}
	s.number = h.Number
	if h.Promise != event.Ended {
		s.row.Told = max(s.row.Told, h.Promise)
	}
	if h.Promise > s.promise {
		s.promise = h.Promise
	}
	if again {
		return
	}
	s.row.Batches++
	s.row.Lost += int64(min(lost, math.MaxInt64>>1))
	s.row.Late += p.windows.late
	s.row.LeftOut += p.windows.leftOut
	if bad != nil {
		s.row.Bad++
		return
	}
	s.row.Events += int64(h.Events)
	if h.Events > 0 {
		s.row.Latest = max(s.row.Latest, h.To)
	}
}

func (p *Partition) source(h *event.Header) (*source, error) {
	key := sourceKey{h.Source, h.Kind}
	if s := p.sources[key]; s != nil {
		return s, nil
	}
	if len(p.sources) == maxSources && !p.evict() {
		return nil, fmt.Errorf("source %q is one more than the %d that a partition knows", h.Source, maxSources)
	}
	key.name = strings.Clone(key.name)
	s := p.add(key, &source{row: result.Source{Name: key.name, Kind: h.Kind.String()}})
	p.follow(s, h)
	return s, nil
}

// beyond notes what is in doubt by a batch of a source that there is no room for: its events are left out, and it is
// not known what was lost before it.
func (p *Partition) beyond(h *event.Header, again bool) {
	from := p.closed
	if h.To > 0 {
		from = min(from, h.From)
	}
	if !again {
		p.windows.gap(from, max(p.closed, h.High), result.Overflow)
	}
}

// evict forgets a source that says no more, and of which no message is needed; false: there is none.
func (p *Partition) evict() bool {
	needed := map[*source]bool{}
	for i := range p.pending {
		needed[p.pending[i].source] = true
	}
	for i, s := range p.order {
		if (s.over || s.promise == event.Ended) && !needed[s] {
			p.order = slices.Delete(p.order, i, i+1)
			maps.DeleteFunc(p.sources, func(_ sourceKey, o *source) bool { return o == s })
			return true
		}
	}
	return false
}

// follow ends the sources in whose place another one was started: they were killed, or stopped, and are not waited for.
// h is its first batch, by which a live one announces itself: what others would have told until it hears is missing.
// nil: that is known, but for one that has said nothing yet.
func (p *Partition) follow(s *source, h *event.Header) {
	silent := h == nil && s.promise == 0 && s.row.Latest == 0
	for _, o := range p.order {
		if o.over || !o.before(s) {
			continue
		}
		o.over = true
		if s.whole() {
			continue
		}
		from, killed := o.promise, o.promise != event.Ended
		if !killed {
			from = max(o.row.Told, o.row.Latest)
		}
		if from == 0 && o.row.Latest == 0 { // it told nothing
			continue
		}
		from = cmp.Or(from, p.closed)
		if silent || h != nil && h.Events == 0 {
			s.after = max(s.after, from)
		}
		if killed && h != nil && !h.Missing() { // else that says so
			p.windows.gap(from, max(from, o.row.Latest, h.To), result.Gap)
		}
	}
}

// before reports whether another one is of the same, and was started later.
func (s *source) before(o *source) bool {
	return o.named && s.named && s.begun < o.begun && o.of == s.of && o.row.Kind == s.row.Kind
}

// whole reports whether it tells whole answers, or none: of each time something is said.
func (s *source) whole() bool {
	return s.row.Kind == result.Periods.String() || s.row.Kind == result.Sketches.String()
}

// is reports whether it has a name, with or without when it was started.
func (s *source) is(name string) bool {
	return s.row.Name == name || s.named && s.of == name
}

// ended reports whether nothing is to be waited for: of drops that is also so until there was one, since before that
// nothing is known of the time by which switches tell of them.
func (s *source) ended() bool {
	return s.over || s.promise == event.Ended || s.promise == 0 && s.row.Kind == result.Drops.String()
}

// watermark is what all sources that are not silent have promised, and whether one is silent.
func (p *Partition) watermark(now time.Time) (mark int64, silent bool) {
	mark = event.Ended
	heard := 0
	for _, name := range p.options.Expect {
		if slices.ContainsFunc(p.order, func(s *source) bool { return s.is(name) }) {
			continue
		}
		if now.Sub(p.started) < p.options.Silence {
			return 0, false
		}
		silent = true
	}
	var latest int64
	for _, s := range p.order {
		latest = max(latest, s.row.Latest)
		if s.row.Silent = false; s.ended() {
			continue
		}
		if now.Sub(s.heard) >= p.options.Silence {
			s.row.Silent, silent = true, true
			continue
		}
		heard++
		mark = min(mark, s.promise)
	}
	if heard == 0 { // nobody says more: what there is is closed, and no more
		for _, j := range p.wide {
			if j != nil {
				latest = max(latest, j.last())
			}
		}
		mark = p.windows.after(latest)
	}
	return mark, silent
}

// Cut returns a batch of what is closed by now, or nil if there is nothing new to say: no message has come since the
// last; or no window has closed, few have come, and more come at once (idle is false). A partition whose batch was not
// kept is of no more use.
func (p *Partition) Cut(now time.Time, idle bool) *result.Batch {
	if p.last <= p.cut {
		return nil
	}
	mark, silent := p.watermark(now)
	closed := max(p.closed, p.windows.start(mark))
	due := p.windows.due(closed)
	if len(due) == 0 && len(p.windows.amends) == 0 && !idle && p.last-p.cut < cutAfter && !p.said(closed) {
		return nil
	}
	b := &result.Batch{Partition: p.name, First: p.cut + 1, Position: result.Position{Last: p.last, Closed: closed}}
	for _, w := range due {
		flags := w.flags
		if silent && !w.late {
			flags |= result.Silent
		}
		for _, j := range p.joiners {
			if j != nil {
				j.close(w.window, flags, b)
			}
		}
		p.windows.remove(w)
	}
	for _, j := range p.wide {
		if j != nil {
			j.advance(p.closed, closed, silent, &p.windows, b)
		}
	}
	b.Amends, p.windows.amends = append(p.windows.amends, p.unseen(closed, silent)...), nil
	p.closed = closed
	p.windows.forget(closed)
	p.release()
	b.Low, b.Gaps = p.low(), slices.Clone(p.windows.gaps)
	for _, s := range p.order {
		row := s.row
		row.Number, row.Promise = s.low, s.lowSays
		b.Sources = append(b.Sources, row)
	}
	p.cut = p.last
	return b
}

// unseen says what is in doubt of the time that is closed now, where no row may say it: all of a window may be missing.
func (p *Partition) unseen(closed int64, silent bool) []result.Amend {
	doubts := p.windows.between(p.closed, closed)
	if silent && closed > p.closed && !slices.ContainsFunc(p.order, (*source).whole) {
		doubts = append(doubts, result.Amend{From: p.closed, To: closed - 1, Flags: result.Silent})
	}
	return doubts
}

// said reports whether something is due by a time that was not before, and is of no window.
func (p *Partition) said(closed int64) bool {
	return slices.ContainsFunc(p.wide[:], func(j wide) bool { return j != nil && j.says(p.closed, closed) })
}

// cutAfter is after how many messages there is a batch though no window has closed, so that the position moves on.
const cutAfter = 1 << 12

// release lets go of the messages at the beginning whose windows are all closed.
func (p *Partition) release() {
	n := 0
	for n < len(p.pending) && p.pending[n].until <= p.closed {
		m := &p.pending[n]
		m.source.low, m.source.lowSays = m.number, m.promise
		n++
	}
	p.pending = slices.Delete(p.pending, 0, n)
}

// low is the first message that is needed to make the open windows again.
func (p *Partition) low() uint64 {
	if len(p.pending) > 0 {
		return p.pending[0].seq
	}
	return p.last + 1
}

// Behind is how many messages are held for windows that are open.
func (p *Partition) Behind() int { return len(p.pending) }
