package join

import (
	"cmp"
	"fmt"
	"maps"
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

// Options configure the join of a partition.
type Options struct {
	// Window is the length of a window; 0 means DefaultWindow.
	Window time.Duration
	// Silence is the time without a message after which a source is left out of the watermark; 0 means DefaultSilence.
	Silence time.Duration
	// Expect names sources, with or without their start times (see [event.Name]). No window is closed before each of
	// them has sent a message or has been silent for Silence from the beginning on. Other sources hold the watermark
	// from their first message on.
	Expect []string
	// Rows bounds the rows of all open windows; 0 means DefaultRows. Rows beyond are left out, and the window's rows
	// are flagged.
	Rows int
	// Paths holds the paths and graphs along which alternate marking is joined. It must be the file of the reader of
	// the switches.
	Paths dial.File
	// Topology is the network. It gives the points of Paths their names (see [dial.File.Named]), and its switch ids and
	// wires join records. It must be equal wherever partitions of the same log are joined. nil means that it is
	// unknown: points then have the names in Paths. Without it, or if a switch has no id, no records are joined.
	Topology *topology.Topology
	// Plans are the plans by which records are decoded.
	Plans []*record.Plan
	// Journey defines which records may follow each other; if its Within is 0, DefaultWithin applies.
	Journey journey.Options
}

// Check returns an error if the paths cannot be joined or contradict the topology, or if the plans cannot be used to
// decode records.
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

// Defaults of Options.
const (
	DefaultWindow  = 10 * time.Second
	DefaultSilence = time.Minute
	DefaultRows    = 1 << 20
)

// maxSources is the maximum number of sources of a partition. Their names come from outside, so it must be bounded.
const maxSources = 1 << 12

// A joiner makes rows of the events of one kind.
type joiner interface {
	// addBatch adds all events of a batch or none. windows assigns each event to its window.
	addBatch(r *event.Reader, w *windows) error
	// close moves the rows of a window into a batch.
	close(w window, flags result.Flags, b *result.Batch)
}

// A wide joiner makes rows of events that depend on neighbouring events, so that they belong to no window.
type wide interface {
	// addBatch is as in joiner. It also keeps the message pending for as long as its events are needed.
	addBatch(r *event.Reader, w *windows) error
	// last returns the due time of the last event received so far.
	last() int64
	// says reports whether something may have to be reported that is due between two times.
	says(from, to int64) bool
	// advance moves into a batch the rows that are due by to, and were not due by from.
	advance(from, to int64, silent bool, w *windows, b *result.Batch)
}

// A Partition joins the messages of one partition.
type Partition struct {
	name    string
	options Options
	resumed result.Position // position from which the partition was resumed
	last    uint64          // last message consumed
	cut     uint64          // last message in a batch
	skipped bool            // true if the messages before the next one were lost
	closed  int64
	started time.Time

	sources map[sourceKey]*source
	order   []*source // sources in the order of their first messages
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
	row       result.Source // counts, up to the last message
	number    uint64        // number of its last batch
	watermark int64
	low       uint64 // number and promise before message Low
	lowSays   int64
	received  time.Time // time of its last message; zero if none came
	over      bool      // true if a successor was started: see follow
	after     int64     // time up to which its predecessor reported; 0 if there is none or this source has covered it

	// of is the name of the source without the start time, and begun is the start time. named reports whether the name
	// has both.
	of    string
	begun int64
	named bool
}

// pending is a message whose events may be needed again.
type pending struct {
	seq       uint64
	source    *source
	number    uint64 // number of the source's batch, after this message
	watermark int64
	until     int64 // end of the last window of its events
}

// New returns a partition that resumes at a position.
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
		f, _ := o.Paths.Named(o.Topology) // Options.Check reports the error
		p.wide[result.Periods] = newPeriods(f)
	}
	if j := newJourneys(o); j != nil {
		p.wide[result.Records] = j
	}
	for _, s := range at.Sources {
		for kind := result.Stamps; kind < result.Kinds; kind++ {
			if kind.String() == s.Kind {
				p.add(sourceKey{s.Name, kind}, &source{row: s, number: s.Number, watermark: s.Watermark, low: s.Number,
					lowSays: s.Watermark, received: now})
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

// Next returns the sequence of the message that the partition expects next.
func (p *Partition) Next() uint64 { return p.last + 1 }

// Consume consumes a message. An unreadable message returns an error, and counts as bad for its source if that is
// readable; the partition continues after it.
func (p *Partition) Consume(seq uint64, data []byte, now time.Time) error {
	if seq <= p.last {
		return fmt.Errorf("partition %s: message %d comes after message %d: want them in order", p.name, seq, p.last)
	}
	p.last = seq
	again := seq <= p.resumed.Last // true if the message is counted already
	if err := p.reader.Open(data); err != nil {
		return fmt.Errorf("partition %s, message %d: %w", p.name, seq, err)
	}
	p.windows.begin(p.closed, again)
	h := &p.reader.Header
	p.follows(h)
	s, err := p.source(h)
	if err != nil {
		p.refuse(h, again, result.Overflow)
		return fmt.Errorf("partition %s, message %d: %w", p.name, seq, err)
	}
	if h.Number > s.number && h.Number-s.number > maxLost {
		if p.refuse(h, again, result.Gap); !again {
			s.row.Bad++
		}
		return fmt.Errorf("partition %s, message %d: batch %s comes after batch %d: want at most %d missing ones", p.name,
			seq, h.ID(), s.number, maxLost)
	}
	s.received = now
	if h.Number <= s.number {
		if !again {
			s.row.Twice++
		}
		return nil
	}
	if from := s.reference(h); from != event.Ended && h.High > from+event.MaxAhead {
		err = fmt.Errorf("batch %s has events up to %d, and others can come from %d on: want less than %v between them",
			h.ID(), h.High, from, time.Duration(event.MaxAhead))
	} else if j := p.wide[h.Kind]; j != nil {
		err = j.addBatch(&p.reader, &p.windows)
	} else if j := p.joiners[h.Kind]; j == nil {
		err = fmt.Errorf("batches of %v are not joined here", h.Kind)
	} else {
		err = j.addBatch(&p.reader, &p.windows)
	}
	p.account(s, h, again, err)
	if err != nil {
		err = fmt.Errorf("partition %s, message %d: %w", p.name, seq, err)
	}
	p.pending = append(p.pending, pending{seq, s, s.number, s.watermark, p.windows.until})
	return err
}

// Skip continues at a message: the messages before it are lost. Usually batch numbers reveal a loss, and a source whose
// last messages were lost falls silent. That fails for messages that were in batches before a restart, and for a source
// that is still unknown. So all events are suspect from the closed time up to the latest event of the sources,
// including their next batch.
func (p *Partition) Skip(to uint64) (amend result.Amend) {
	p.last = max(p.last, to-1)
	amend = result.Amend{From: p.closed, To: p.closed, Flags: result.Gap}
	for _, s := range p.order {
		amend.To = max(amend.To, s.row.Latest)
	}
	p.windows.gap(amend.From, amend.To, amend.Flags)
	p.skipped = true
	return amend
}

// follows flags the time up to the first message after a loss as a gap.
func (p *Partition) follows(h *event.Header) {
	if p.skipped {
		p.skipped = false
		p.windows.gap(p.closed, max(p.closed, h.High), result.Gap)
	}
}

// Deaf restarts the silence timers: no source could be received until now, since the log was away.
func (p *Partition) Deaf(now time.Time) {
	p.started = now
	for _, s := range p.order {
		s.received = now
	}
}

// Busy excludes a duration in which no messages were read from the silence of all sources.
func (p *Partition) Busy(d time.Duration) {
	p.started = p.started.Add(d)
	for _, s := range p.order {
		s.received = s.received.Add(d)
	}
}

// account counts a new batch, and applies its number and its watermark.
func (p *Partition) account(s *source, h *event.Header, again bool, bad error) {
	lost := h.Number - s.number - 1
	if (lost > 0 || bad != nil) && !again { // otherwise it is known from the position
		from := s.watermark
		if from == event.Ended { // the source had ended, but sends again
			from = s.row.ReportedUntil
		}
		if from == 0 && h.Missing() { // no watermark yet: the batch has the start
			from = h.From
		}
		p.windows.gap(from, max(h.High, from), result.Gap)
	}
	if h.Missing() {
		from := h.From
		if s.after > 0 {
			from, s.after = min(from, s.after), 0
		}
		if s.row.ReportedUntil = max(s.row.ReportedUntil, h.To); !again {
			p.windows.gap(from, h.To, result.Gap)
		}
	}
	s.number = h.Number
	if h.Watermark != event.Ended {
		s.row.ReportedUntil = max(s.row.ReportedUntil, h.Watermark)
	}
	if h.Watermark > s.watermark {
		s.watermark = h.Watermark
	}
	if again {
		return
	}
	s.row.Batches++
	s.row.Lost += int64(lost)
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

// maxLost is the maximum number of batches that can be missing before a batch of a source. A greater number is invalid:
// with it, all following batches of the source would count as repeated, and their rows would be missing.
const maxLost = 1 << 32

// reference returns the time from which the events of a batch may be ahead by [event.MaxAhead]: the watermark of the
// batch or, if it has none, the last one of the source. Without any it is the time of the batch's first event, except
// for sources of complete answers: these send the answers of a long time before their first watermark. It returns Ended
// if there is no limit.
func (s *source) reference(h *event.Header) int64 {
	if from := cmp.Or(h.Watermark, s.watermark); from != 0 {
		return from
	}
	if h.Events == 0 || s.whole() {
		return event.Ended
	}
	return h.From
}

// refuse flags the time of a batch that is left out as a whole, for example because its source is beyond the limit.
// Earlier losses of the source are unknown.
func (p *Partition) refuse(h *event.Header, again bool, why result.Flags) {
	from := p.closed
	if h.To > 0 {
		from = min(from, h.From)
	}
	if !again {
		p.windows.gap(from, max(p.closed, h.High), why)
	}
}

// evict removes a source that has ended and of which no message is needed. It returns false if there is none.
func (p *Partition) evict() bool {
	needed := map[*source]bool{}
	for i := range p.pending {
		needed[p.pending[i].source] = true
	}
	for i, s := range p.order {
		if (s.over || s.watermark == event.Ended) && !needed[s] {
			p.order = slices.Delete(p.order, i, i+1)
			maps.DeleteFunc(p.sources, func(_ sourceKey, o *source) bool { return o == s })
			return true
		}
	}
	return false
}

// follow ends the predecessors of a source: they were killed or stopped, and are not waited for. h is the first batch
// of the source, by which a live source announces itself. The events between the end of a predecessor and the start of
// the source are missing. If h is nil that is known already, unless the source has reported nothing yet.
func (p *Partition) follow(s *source, h *event.Header) {
	silent := h == nil && s.watermark == 0 && s.row.Latest == 0
	for _, o := range p.order {
		if o.over || !o.before(s) {
			continue
		}
		o.over = true
		if s.whole() {
			continue
		}
		from, killed := o.watermark, o.watermark != event.Ended
		if !killed {
			from = max(o.row.ReportedUntil, o.row.Latest)
		}
		if from == 0 && o.row.Latest == 0 { // that start reported nothing
			continue
		}
		from = cmp.Or(from, p.closed)
		if silent || h != nil && h.Events == 0 {
			s.after = max(s.after, from)
		}
		if killed && h != nil && !h.Missing() { // otherwise h itself reports the gap
			p.windows.gap(from, max(from, o.row.Latest, h.To), result.Gap)
		}
	}
}

// before reports whether o is a later start of the same source.
func (s *source) before(o *source) bool {
	return o.named && s.named && s.begun < o.begun && o.of == s.of && o.row.Kind == s.row.Kind
}

// whole reports whether the source sends complete answers or none, and something for each time.
func (s *source) whole() bool {
	return s.row.Kind == result.Periods.String() || s.row.Kind == result.Sketches.String()
}

// is reports whether the source has this name, with or without its start time.
func (s *source) is(name string) bool {
	return s.row.Name == name || s.named && s.of == name
}

// ended reports whether the partition need not wait for the source. That includes a source of drops before its first
// drop: until then, the delay of the switches' reports is unknown.
func (s *source) ended() bool {
	return s.over || s.watermark == event.Ended || s.watermark == 0 && s.row.Kind == result.Drops.String()
}

// watermark returns the minimum of the watermarks of all sources that are not silent, and whether one is silent.
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
		if now.Sub(s.received) >= p.options.Silence {
			s.row.Silent, silent = true, true
			continue
		}
		heard++
		mark = min(mark, s.watermark)
	}
	if heard == 0 { // all have ended: close what exists, and no more
		for _, j := range p.wide {
			if j != nil {
				latest = max(latest, j.last())
			}
		}
		mark = p.windows.after(latest)
	}
	return mark, silent
}

// Cut returns a batch of everything that is closed by now. It returns nil if no message has come since the last batch.
// It also returns nil while more messages arrive (idle is false), if no window has closed and few messages came.
// A partition whose batch was not kept must be discarded.
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
		row.Number, row.Watermark = s.low, s.lowSays
		b.Sources = append(b.Sources, row)
	}
	p.cut = p.last
	return b
}

// unseen returns amendments for uncertain times that are closed now: all rows of a window may be missing, so no row
// could be flagged.
func (p *Partition) unseen(closed int64, silent bool) []result.Amend {
	uncertain := p.windows.between(p.closed, closed)
	if silent && closed > p.closed && !slices.ContainsFunc(p.order, (*source).whole) {
		uncertain = append(uncertain, result.Amend{From: p.closed, To: closed - 1, Flags: result.Silent})
	}
	return uncertain
}

// said reports whether a wide joiner has something that is due by closed and was not due before.
func (p *Partition) said(closed int64) bool {
	return slices.ContainsFunc(p.wide[:], func(j wide) bool { return j != nil && j.says(p.closed, closed) })
}

// cutAfter is the number of messages after which a batch is cut though no window has closed, so that the position
// advances.
const cutAfter = 1 << 12

// release drops the messages at the beginning whose windows are all closed.
func (p *Partition) release() {
	n := 0
	for n < len(p.pending) && p.pending[n].until <= p.closed {
		m := &p.pending[n]
		m.source.low, m.source.lowSays = m.number, m.watermark
		n++
	}
	p.pending = slices.Delete(p.pending, 0, n)
}

// low returns the first message that is needed to rebuild the open windows.
func (p *Partition) low() uint64 {
	if len(p.pending) > 0 {
		return p.pending[0].seq
	}
	return p.last + 1
}

// Behind returns the number of messages that are held for open windows.
func (p *Partition) Behind() int { return len(p.pending) }
