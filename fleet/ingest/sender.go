package ingest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tamtam/collector"
	"tamtam/collector/result"
	"tamtam/fleet/event"
	"tamtam/fleet/stream"
)

// Options say how a source sends.
type Options struct {
	// Source is its name in the log. It must be another one after a restart, for its numbers begin anew: see [event.Name].
	Source string
	// Partitions is how many the events of a kind are spread over: equal for all sources (0: 1).
	Partitions int
	// Groups are those that events of Period are joined in: only their partitions hear of the source. nil: all do.
	Groups []string
	// Disorder is how much earlier than another an event may be that comes after it (0: DefaultDisorder).
	Disorder time.Duration
	// Live: events come as they happen, so that time goes on when none does.
	Live bool
	// Stamped: the times of events are when they came, by this host's clock, so that promises can be made before any did.
	Stamped bool
	// Every is how long an event waits for others at most (0: DefaultEvery).
	Every time.Duration
	// Retry is how long to wait before the log is tried again (0: DefaultRetry).
	Retry time.Duration
	// Now is the clock (nil: time.Now).
	Now func() time.Time
}

// What holds unless Options say otherwise.
const (
	DefaultDisorder = time.Second
	DefaultEvery    = 50 * time.Millisecond
	DefaultRetry    = 100 * time.Millisecond
)

// beat is how often a partition without events hears how far the source is.
const beat = time.Second

// MaxPartitions is how many partitions of a kind there are at most.
const MaxPartitions = 256

// Stats say how a source fares.
type Stats struct {
	Events  int64
	Batches int64
	Bytes   int64
	Refused int64         // events that are not fit to be told
	Lost    int64         // of what was sent to it, known by the numbers of what came, or by the kernel
	Retried int64         // appends that failed
	Waited  time.Duration // for the log
}

// A Sender sends the events of one source. All methods may be called by several at once; one that finds the log full
// makes all but Stats wait.
type Sender struct {
	log     stream.Log
	kind    result.Kind
	options Options

	mu    sync.Mutex // of what follows
	parts []part
	high  int64     // the latest time of any event
	heard time.Time // when it came; zero: none has
	held  bool      // it promises nothing: see Hold
	asked time.Time // up to when it is known what was lost; zero: nobody is asked
	told  span      // what Unheard told last

	events, batches, bytes, refused, lost, retried, waited atomic.Int64

	waits atomic.Pointer[time.Time] // since when, for the log; nil: it does not
}

type part struct {
	topic    string
	writer   *event.Writer // nil: nothing is sent there
	begun    time.Time     // when the first of the events that wait came
	told     time.Time     // when a batch was sent
	promised int64
	finished []batch // batches that the log has not confirmed, in the order of their numbers
	missing  []span  // what is to be told as missing
	losses   int     // of them, those that are counted
}

// A batch is a finished message of the log. Its id lets the log keep it once, however often it is appended.
type batch struct {
	id   string
	data []byte
}

// mostMissing is how many times that are missing a partition is told of apart.
const mostMissing = 16

// miss notes a time that is to be told as missing. Times that touch are one, and beyond mostMissing all others.
func (p *part) miss(x span) {
	for i, y := range p.missing {
		if x.from <= y.to+1 && x.to >= y.from-1 || i == mostMissing-1 {
			p.missing[i] = y.with(x)
			return
		}
	}
	p.missing = append(p.missing, x)
}

// A span is of times, both included; its end is 0 if it has none.
type span struct{ from, to int64 }

// with is what spans cover, and what is between them.
func (x span) with(y span) span {
	if x.to == 0 {
		return y
	}
	return span{min(x.from, y.from), max(x.to, y.to)}
}

// NewSender returns a source of events of a kind.
func NewSender(log stream.Log, kind result.Kind, o Options) (*Sender, error) {
	o.Partitions = cmp.Or(o.Partitions, 1)
	o.Disorder = cmp.Or(o.Disorder, DefaultDisorder)
	o.Every = cmp.Or(o.Every, DefaultEvery)
	o.Retry = cmp.Or(o.Retry, DefaultRetry)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Partitions < 1 || o.Partitions > MaxPartitions {
		return nil, fmt.Errorf("source %s: %d partitions: want 1 to %d", o.Source, o.Partitions, MaxPartitions)
	}
	if o.Disorder < 0 || o.Every < 0 || o.Retry < 0 {
		return nil, fmt.Errorf("source %s: disorder %v, every %v, retry %v: want none below 0", o.Source, o.Disorder,
			o.Every, o.Retry)
	}
	s := &Sender{log: log, kind: kind, options: o, parts: make([]part, o.Partitions)}
	for i := range s.parts {
		if s.parts[i].topic = kind.Partition(i); !o.sends(i) {
			continue
		}
		w, err := event.NewWriter(kind, o.Source)
		if err != nil {
			return nil, err
		}
		s.parts[i].writer = w
	}
	return s, nil
}

// sends reports whether a partition hears of the source.
func (o *Options) sends(partition int) bool {
	return o.Groups == nil || slices.ContainsFunc(o.Groups, func(name string) bool {
		return ofTexts(name)%uint64(o.Partitions) == uint64(partition)
	})
}

// Hold says whether the source cannot be read for now: until it can, nothing is promised.
func (s *Sender) Hold(held bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = held
}

// Announce tells all partitions of the source before it has anything to say: so they wait for it, but for reports of
// drops, for which they wait from the first one on.
func (s *Sender) Announce(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.parts {
		if s.parts[i].writer == nil {
			continue
		}
		if err := s.send(ctx, &s.parts[i], 0); err != nil {
			return err
		}
	}
	return nil
}

// Begin tells all partitions that the source hears from a time on what there is, and nothing of before: so the window
// of that time is not taken for whole, where times are by this host's clock. A source that had its name when it was
// killed is not waited for any more.
func (s *Sender) Begin(ctx context.Context, since time.Time) error {
	if !s.options.Stamped {
		return s.Announce(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := since.UnixNano()
	s.high, s.heard = at, since
	return s.miss(ctx, span{at - 1, at - 1}, at)
}

// Unheard tells all partitions that what a switch said of a time, both ends included, may have come when a live source
// did not hear it yet. What is not live is whole: nobody expects of a capture what was before it.
func (s *Sender) Unheard(ctx context.Context, from, to int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := span{max(from, 0), min(to, event.MaxTime)}
	if !s.options.Live || x.to <= 0 || x.from > x.to || x.from >= s.told.from && x.to <= s.told.to {
		return nil
	}
	if s.told.to == 0 || x.from > s.told.to+1 || x.to < s.told.from-1 {
		s.told = x
	} else {
		s.told = s.told.with(x)
	}
	return s.miss(ctx, x, 0)
}

// DoubtSince tells all partitions that what came since a time, by this host's clock, may mean something else than it
// was taken for. What that is of follows from how late the last event came, by the switch's clock and this host's.
func (s *Sender) DoubtSince(ctx context.Context, since time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	late := int64(0)
	if !s.heard.IsZero() {
		late = s.heard.UnixNano() - s.high
	}
	now := s.options.Now().UnixNano()
	x := span{max(since.UnixNano()-late, 0), min(max(now-late, s.high, 1), event.MaxTime)}
	return s.miss(ctx, span{min(x.from, x.to), x.to}, 0)
}

// miss tells all partitions at once what may be missing, behind what waits for them.
func (s *Sender) miss(ctx context.Context, x span, promise int64) error {
	for i := range s.parts {
		p := &s.parts[i]
		if p.writer == nil {
			continue
		}
		p.miss(x)
		if err := s.send(ctx, p, promise); err != nil {
			return err
		}
	}
	return nil
}

// Disorder is Options.Disorder from now on.
func (s *Sender) Disorder(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options.Disorder = d
}

// Kind is what its events are.
func (s *Sender) Kind() result.Kind { return s.kind }

// Frame sends the stamps of a frame. An error is that of the context, which ended while the log had no room.
func (s *Sender) Frame(ctx context.Context, f *event.Frame) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.Time < 0 || f.Time > event.MaxTime || len(f.Hops) == 0 || len(f.Hops) > event.MaxHops {
		s.refuse(f.Time)
		return nil
	}
	p := &s.parts[ofFrame(f)%uint64(len(s.parts))]
	if !p.writer.Stamped(f) {
		if err := s.send(ctx, p, s.promise()); err != nil {
			return err
		}
		if !p.writer.Stamped(f) {
			s.refuse(f.Time)
			return nil
		}
	}
	s.added(p, f.Time)
	return nil
}

// Drop sends a report of drops. An error is that of the context, as of Frame.
func (s *Sender) Drop(ctx context.Context, at int64, d *event.Drop) error {
	return s.Heard(ctx, at, at, d)
}

// Heard is Drop of a report that came by another time, so that nothing is promised by a clock that is ahead.
func (s *Sender) Heard(ctx context.Context, at, by int64, d *event.Drop) error {
	return s.blob(ctx, at, by, ofDrop(d), func(w *event.Writer) (bool, error) { return w.AddDrop(at, d) })
}

// Record sends a copy of a record that was captured at a time. An error is that of the context, as of Frame.
func (s *Sender) Record(ctx context.Context, at int64, c *collector.RecordCopy) error {
	return s.blob(ctx, at, at, ofTexts(string(c.Key)), func(w *event.Writer) (bool, error) { return w.AddRecord(at, c) })
}

// Sketch sends an answer of a sketch task. An error is that of the context, as of Frame.
func (s *Sender) Sketch(ctx context.Context, at int64, x *event.Sketch) error {
	return s.blob(ctx, at, at, ofSketch(x), func(w *event.Writer) (bool, error) { return w.AddSketch(at, x) })
}

// Period sends a report of a period of alternate marking. An error is that of the context, as of Frame.
func (s *Sender) Period(ctx context.Context, x *event.Period) error {
	at, ok := x.Report().Start()
	if !ok {
		s.refused.Add(1)
		return nil
	}
	return s.blob(ctx, at, at, ofTexts(x.Group), func(w *event.Writer) (bool, error) { return w.AddPeriod(x) })
}

// disorder is what Options.Disorder is now.
func (s *Sender) disorder() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.options.Disorder
}

// blob sends an event that add adds to a batch.
func (s *Sender) blob(ctx context.Context, at, by int64, place uint64, add func(*event.Writer) (bool, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at < 0 || at > event.MaxTime {
		s.refused.Add(1)
		return nil
	}
	p := &s.parts[place%uint64(len(s.parts))]
	if p.writer == nil {
		s.refused.Add(1)
		return nil
	}
	ok, err := add(p.writer)
	if err == nil && !ok {
		if err := s.send(ctx, p, s.promise()); err != nil {
			return err
		}
		ok, err = add(p.writer)
	}
	if err != nil || !ok {
		s.refuse(at)
		return nil
	}
	s.added(p, min(at, by))
	return nil
}

// refuse counts an event that is not fit to be told, and says that it is missing, if it has a time.
func (s *Sender) refuse(at int64) {
	if s.refused.Add(1); at >= 0 && at <= event.MaxTime {
		s.lose(at, at, 0)
	}
}

// added notes an event that a partition's batch has.
func (s *Sender) added(p *part, at int64) {
	s.events.Add(1)
	first := p.begun.IsZero()
	if !first && at <= s.high {
		return
	}
	now := s.options.Now()
	if first {
		p.begun = now
	}
	if at > s.high || s.heard.IsZero() {
		s.high, s.heard = at, now
	}
}

// Lose says that so many of what was sent to the source never came to it, and up to which time they may be of. It is
// not known which partitions they would have gone to, so all hear of it.
func (s *Sender) Lose(n int64, upTo time.Time) { s.LoseSince(n, upTo, upTo) }

// LoseSince is Lose of what may be from an earlier time on, though more was promised since then: so it is of what was
// sent since the last that came.
func (s *Sender) LoseSince(n int64, since, upTo time.Time) {
	if n <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost.Add(n)
	s.lose(since.UnixNano(), upTo.UnixNano(), 1)
}

// LostBy is Lose of what was lost by now, which may be nothing, by who was asked for that at a time: what is lost from
// then on is still to be promised.
func (s *Sender) LostBy(n int64, asked time.Time) {
	s.Lose(n, s.options.Now())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = asked
}

// doubt is LoseSince of what was counted already, or may be missing or not.
func (s *Sender) doubt(since, upTo time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lose(since.UnixNano(), upTo.UnixNano(), 0)
}

// lose says that events from a time on, or from what was promised if that is earlier, up to another may be missing, and
// leaves so many numbers out. The batch that says so waits for others.
func (s *Sender) lose(since, upTo int64, numbers int) {
	upTo = min(max(upTo, 1), event.MaxTime)
	since = min(max(since, 0), upTo)
	now := s.options.Now()
	for i := range s.parts {
		p := &s.parts[i]
		if p.writer == nil {
			continue
		}
		p.losses += numbers
		from := since
		if p.promised > 0 {
			from = min(p.promised, since)
		}
		p.miss(span{from, upTo})
		if p.begun.IsZero() {
			p.begun = now
		}
	}
}

// Step sends what has waited long enough. It is to be called every now and then, at least every Options.Every.
func (s *Sender) Step(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, promise := s.options.Now(), s.promise()
	for i := range s.parts {
		p := &s.parts[i]
		if p.writer == nil {
			continue
		}
		waits := !p.begun.IsZero() && now.Sub(p.begun) >= s.options.Every
		if waits || promise > p.promised && now.Sub(p.told) >= beat {
			if err := s.send(ctx, p, promise); err != nil {
				return err
			}
		}
	}
	return nil
}

// Flush sends what waits, and a promise to the partitions for which there is a later one. Unlike Step it does not
// depend on the clock, so that a source that is read again makes the same batches.
func (s *Sender) Flush(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	promise := s.promise()
	for i := range s.parts {
		p := &s.parts[i]
		if p.writer == nil || p.begun.IsZero() && promise <= p.promised {
			continue
		}
		if err := s.send(ctx, p, promise); err != nil {
			return err
		}
	}
	return nil
}

// Leave is Close of a source that had more to say, which nobody hears: stamps, drops and records of the time that was
// on are lost. Periods and answers of sketches are told whole, or not at all.
func (s *Sender) Leave(ctx context.Context) error {
	s.mu.Lock()
	if s.kind != result.Periods && s.kind != result.Sketches {
		upTo := s.high
		if s.options.Live {
			upTo = max(upTo, s.options.Now().UnixNano())
		}
		s.lose(upTo, upTo, 1)
	}
	s.mu.Unlock()
	return s.Close(ctx)
}

// Close sends the rest, and says that no more comes.
func (s *Sender) Close(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.parts {
		if s.parts[i].writer == nil {
			continue
		}
		if err := s.send(ctx, &s.parts[i], event.Ended); err != nil {
			return err
		}
	}
	return nil
}

// promise is the time before which no event comes any more; 0: there was none yet, and nothing is known.
func (s *Sender) promise() int64 {
	if s.heard.IsZero() || s.held {
		return 0
	}
	at := s.high - int64(s.options.Disorder)
	if s.options.Live {
		at += int64(s.options.Now().Sub(s.heard))
	}
	if s.options.Live && !s.asked.IsZero() {
		at = min(at, s.asked.Add(-s.options.Disorder).UnixNano())
	}
	return min(max(at, 0), event.MaxTime)
}

// send appends what waits for a partition. What is missing is told in batches of their own, before more is promised.
func (s *Sender) send(ctx context.Context, p *part, promise int64) error {
	if len(p.missing) > 0 && p.writer.Events() > 0 {
		before := p.promised
		if before > 0 { // what is so far ahead of it is refused: see event.MaxAhead
			before = max(before, min(s.promise(), s.high-event.MaxAhead/2))
		}
		if err := s.append(ctx, p, before); err != nil {
			return err
		}
	}
	for len(p.missing) > 0 {
		for range p.losses {
			p.writer.Lose()
		}
		p.writer.Miss(p.missing[0].from, p.missing[0].to)
		p.losses = 0
		p.missing = slices.Delete(p.missing, 0, 1)
		if len(p.missing) > 0 {
			if err := s.append(ctx, p, 0); err != nil {
				return err
			}
		}
	}
	return s.append(ctx, p, promise)
}

// append finishes the batch of a partition and appends it to the log, behind those that an earlier call could not
// append. It tries until the log has confirmed all of them or ctx ends. In the latter case they stay in finished, for
// the next call: an ended context, such as that of a capture that was read to its end, loses no batch.
func (s *Sender) append(ctx context.Context, p *part, promise int64) error {
	p.promised = max(p.promised, promise)
	data := p.writer.Finish(p.promised)
	p.finished = append(p.finished, batch{p.writer.ID(), data})
	p.begun = time.Time{}
	began := s.options.Now()
	s.waits.Store(&began)
	defer s.waits.Store(nil)
	for len(p.finished) > 0 {
		b := p.finished[0]
		_, err := s.log.Append(ctx, p.topic, b.id, b.data)
		if err == nil {
			s.batches.Add(1)
			s.bytes.Add(int64(len(b.data)))
			p.finished = slices.Delete(p.finished, 0, 1)
			continue
		}
		if ctx.Err() != nil {
			last := &p.finished[len(p.finished)-1]
			last.data = slices.Clone(last.data) // the writer uses its memory again
			return fmt.Errorf("source %s: %w", s.options.Source, err)
		}
		s.retried.Add(1)
		select {
		case <-ctx.Done():
		case <-time.After(s.options.Retry):
		}
	}
	p.told = s.options.Now()
	s.waited.Add(int64(p.told.Sub(began)))
	return nil
}

// Stats returns the counts so far. Waited has the time that it waits now, too.
func (s *Sender) Stats() Stats {
	waited := time.Duration(s.waited.Load())
	if since := s.waits.Load(); since != nil {
		waited += s.options.Now().Sub(*since)
	}
	return Stats{
		Events: s.events.Load(), Batches: s.batches.Load(), Bytes: s.bytes.Load(), Refused: s.refused.Load(),
		Lost: s.lost.Load(), Retried: s.retried.Load(), Waited: waited,
	}
}
