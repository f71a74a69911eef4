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

// Options configure a sender.
type Options struct {
	// Source is the sender's name in the log. It must change with each restart, since the batch numbers begin again:
	// see [event.Name].
	Source string
	// Partitions is the number of partitions of a kind, equal for all sources; 0 means 1.
	Partitions int
	// Groups limits events of Period to the partitions of these groups: only they receive messages of the source. nil
	// means all partitions.
	Groups []string
	// Disorder is how much earlier an event may be than one that arrived before it; 0 means DefaultDisorder.
	Disorder time.Duration
	// Live means that events come as they happen, so that time advances without events.
	Live bool
	// Stamped means that the times of events are their arrival times by this host's clock, so that the watermark can
	// advance before the first event.
	Stamped bool
	// Every is the maximum time for which an event is buffered; 0 means DefaultEvery.
	Every time.Duration
	// Retry is the pause before a failed append is repeated; 0 means DefaultRetry.
	Retry time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Defaults of Options.
const (
	DefaultDisorder = time.Second
	DefaultEvery    = 50 * time.Millisecond
	DefaultRetry    = 100 * time.Millisecond
)

// beat is the interval at which partitions without events receive the watermark.
const beat = time.Second

// MaxPartitions is the maximum number of partitions of a kind.
const MaxPartitions = 256

// Stats are the counters of a source.
type Stats struct {
	Events  int64
	Batches int64
	Bytes   int64
	Refused int64         // number of invalid events
	Lost    int64         // number of losses, detected by sequence numbers or by the kernel
	Retried int64         // number of failed appends
	Waited  time.Duration // time spent waiting for the log
}

// A Sender sends the events of one source. All methods may be called concurrently; a call that finds the log full
// blocks all others except Stats.
type Sender struct {
	log     stream.Log
	kind    result.Kind
	options Options

	mu       sync.Mutex // guards the following fields
	parts    []part
	high     int64     // latest time of any event
	received time.Time // arrival of the event with time high; zero if none came
	held     bool      // true if the watermark does not advance: see Hold
	asked    time.Time // time up to which losses are known; zero if they are not checked
	reported span      // last span reported by Unheard

	events, batches, bytes, refused, lost, retried, waited atomic.Int64

	waits atomic.Pointer[time.Time] // start of the current wait for the log; nil if it does not wait
}

type part struct {
	topic     string
	writer    *event.Writer // nil if nothing is sent to the partition
	begun     time.Time     // arrival of the first buffered event
	reported  time.Time     // time of the last batch
	watermark int64
	finished  []batch // batches that the log has not confirmed, in the order of their numbers
	missing   []span  // spans to be reported as missing
	losses    int     // number of batch numbers to skip, so that the reader counts lost batches
}

// A batch is a finished message of the log. Its id lets the log keep it once, however often it is appended.
type batch struct {
	id   string
	data []byte
}

// mostMissing is the maximum number of separate missing spans of a partition.
const mostMissing = 16

// miss adds a span to be reported as missing. Adjacent spans are merged, and so are all beyond mostMissing.
func (p *part) miss(x span) {
	for i, y := range p.missing {
		if x.from <= y.to+1 && x.to >= y.from-1 || i == mostMissing-1 {
			p.missing[i] = y.with(x)
			return
		}
	}
	p.missing = append(p.missing, x)
}

// A span is an interval of times, both included; its end is 0 if it is empty.
type span struct{ from, to int64 }

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

// sends reports whether a partition receives messages of the source.
func (o *Options) sends(partition int) bool {
	return o.Groups == nil || slices.ContainsFunc(o.Groups, func(name string) bool {
		return ofTexts(name)%uint64(o.Partitions) == uint64(partition)
	})
}

// Hold stops the watermark while the source cannot be read, and releases it.
func (s *Sender) Hold(held bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = held
}

// Announce announces the source to all partitions before it has events, so that they wait for it. Reports of drops are
// the exception: partitions wait for them from the first one on.
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

// Begin reports to all partitions that the source receives events from a time on, and has none from before. If times
// are by this host's clock, the window of that time is flagged as incomplete. An earlier source of the same name, which
// was killed, is no longer waited for.
func (s *Sender) Begin(ctx context.Context, since time.Time) error {
	if !s.options.Stamped {
		return s.Announce(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := since.UnixNano()
	s.high, s.received = at, since
	return s.miss(ctx, span{at - 1, at - 1}, at)
}

// Unheard reports to all partitions that reports of a switch may have come before a live source listened. from and to
// bound their times, both ends included. It does nothing if the source is not live: a capture is complete, since it is
// not expected to contain earlier events.
func (s *Sender) Unheard(ctx context.Context, from, to int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := span{max(from, 0), min(to, event.MaxTime)}
	if !s.options.Live || x.to <= 0 || x.from > x.to || x.from >= s.reported.from && x.to <= s.reported.to {
		return nil
	}
	if s.reported.to == 0 || x.from > s.reported.to+1 || x.to < s.reported.from-1 {
		s.reported = x
	} else {
		s.reported = s.reported.with(x)
	}
	return s.miss(ctx, x, 0)
}

// SuspectSince reports to all partitions that events received since a time, by this host's clock, may have been
// misinterpreted. It converts that to event time by the delay of the last event between the switch's clock and this
// host's.
func (s *Sender) SuspectSince(ctx context.Context, since time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	late := int64(0)
	if !s.received.IsZero() {
		late = s.received.UnixNano() - s.high
	}
	now := s.options.Now().UnixNano()
	x := span{max(since.UnixNano()-late, 0), min(max(now-late, s.high, 1), event.MaxTime)}
	return s.miss(ctx, span{min(x.from, x.to), x.to}, 0)
}

// miss reports a missing span to all partitions at once, after the buffered events.
func (s *Sender) miss(ctx context.Context, x span, watermark int64) error {
	for i := range s.parts {
		p := &s.parts[i]
		if p.writer == nil {
			continue
		}
		p.miss(x)
		if err := s.send(ctx, p, watermark); err != nil {
			return err
		}
	}
	return nil
}

// Disorder changes Options.Disorder.
func (s *Sender) Disorder(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options.Disorder = d
}

// Kind returns the kind of the sender's events.
func (s *Sender) Kind() result.Kind { return s.kind }

// Frame sends the stamps of a frame. It returns an error only if ctx ended while the log was full.
func (s *Sender) Frame(ctx context.Context, f *event.Frame) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.Time < 0 || f.Time > event.MaxTime || len(f.Hops) == 0 || len(f.Hops) > event.MaxHops {
		s.refuse(f.Time)
		return nil
	}
	p := &s.parts[ofFrame(f)%uint64(len(s.parts))]
	if !p.writer.Stamped(f) {
		if err := s.send(ctx, p, s.watermark()); err != nil {
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

// Drop sends a report of drops. Errors are as for Frame.
func (s *Sender) Drop(ctx context.Context, at int64, d *event.Drop) error {
	return s.Received(ctx, at, at, d)
}

// Received sends a report of drops with another time for the watermark, so that a clock that is ahead does not advance
// it.
func (s *Sender) Received(ctx context.Context, at, by int64, d *event.Drop) error {
	return s.blob(ctx, at, by, ofDrop(d), func(w *event.Writer) (bool, error) { return w.AddDrop(at, d) })
}

// Record sends a copy of a record that was captured at a time. Errors are as for Frame.
func (s *Sender) Record(ctx context.Context, at int64, c *collector.RecordCopy) error {
	return s.blob(ctx, at, at, ofTexts(string(c.Key)), func(w *event.Writer) (bool, error) { return w.AddRecord(at, c) })
}

// Sketch sends an answer of a sketch task. Errors are as for Frame.
func (s *Sender) Sketch(ctx context.Context, at int64, x *event.Sketch) error {
	return s.blob(ctx, at, at, ofSketch(x), func(w *event.Writer) (bool, error) { return w.AddSketch(at, x) })
}

// Period sends a report of a period of alternate marking. Errors are as for Frame.
func (s *Sender) Period(ctx context.Context, x *event.Period) error {
	at, ok := x.Report().Start()
	if !ok {
		s.refused.Add(1)
		return nil
	}
	return s.blob(ctx, at, at, ofTexts(x.Group), func(w *event.Writer) (bool, error) { return w.AddPeriod(x) })
}

func (s *Sender) disorder() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.options.Disorder
}

// blob sends an event, which add adds to a batch.
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
		if err := s.send(ctx, p, s.watermark()); err != nil {
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

// refuse counts an invalid event, and reports it as missing, if it has a valid time.
func (s *Sender) refuse(at int64) {
	if s.refused.Add(1); at >= 0 && at <= event.MaxTime {
		s.lose(at, at, 0)
	}
}

// added accounts for an event that was added to a partition's batch.
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
	if at > s.high || s.received.IsZero() {
		s.high, s.received = at, now
	}
}

// Lose reports that n items never reached the source, and the latest time that they may have. Their partitions are
// unknown, so all partitions are notified.
func (s *Sender) Lose(n int64, upTo time.Time) { s.LoseSince(n, upTo, upTo) }

// LoseSince reports losses like Lose, but with an earliest time, which may be before the watermark. The lost items were
// sent after the last one that came.
func (s *Sender) LoseSince(n int64, since, upTo time.Time) {
	if n <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost.Add(n)
	s.lose(since.UnixNano(), upTo.UnixNano(), 1)
}

// LostBy reports the losses counted until now, possibly none, like Lose. asked is the time at which the counter was
// read. The watermark does not pass it, as later losses are not yet known.
func (s *Sender) LostBy(n int64, asked time.Time) {
	s.Lose(n, s.options.Now())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = asked
}

// suspect works like LoseSince, for losses whose number is counted already, or uncertain.
func (s *Sender) suspect(since, upTo time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lose(since.UnixNano(), upTo.UnixNano(), 0)
}

// lose reports that events between two times may be missing, or from the last watermark on if that is earlier. It skips
// the given number of batch numbers. The batch that reports the loss is buffered.
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
		if p.watermark > 0 {
			from = min(p.watermark, since)
		}
		p.miss(span{from, upTo})
		if p.begun.IsZero() {
			p.begun = now
		}
	}
}

// Step sends the events that were buffered long enough. Call it regularly, at least every Options.Every.
func (s *Sender) Step(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, watermark := s.options.Now(), s.watermark()
	for i := range s.parts {
		p := &s.parts[i]
		if p.writer == nil {
			continue
		}
		waits := !p.begun.IsZero() && now.Sub(p.begun) >= s.options.Every
		if waits || watermark > p.watermark && now.Sub(p.reported) >= beat {
			if err := s.send(ctx, p, watermark); err != nil {
				return err
			}
		}
	}
	return nil
}

// Flush sends the buffered events, and the watermark to the partitions for which it has advanced. Unlike Step it does
// not depend on the clock, so that a source that is read again makes the same batches.
func (s *Sender) Flush(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	watermark := s.watermark()
	for i := range s.parts {
		p := &s.parts[i]
		if p.writer == nil || p.begun.IsZero() && watermark <= p.watermark {
			continue
		}
		if err := s.send(ctx, p, watermark); err != nil {
			return err
		}
	}
	return nil
}

// Leave closes a source that has more events, which are not received any more: stamps, drops and records of the current
// time are flagged as lost. Periods and answers of sketches are sent completely, or not at all.
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

// Close sends the rest, and marks the source as ended.
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

// watermark returns the watermark: the time before which no event arrives any more. It returns 0 if it is unknown.
func (s *Sender) watermark() int64 {
	if s.received.IsZero() || s.held {
		return 0
	}
	at := s.high - int64(s.options.Disorder)
	if s.options.Live {
		at += int64(s.options.Now().Sub(s.received))
	}
	if s.options.Live && !s.asked.IsZero() {
		at = min(at, s.asked.Add(-s.options.Disorder).UnixNano())
	}
	return min(max(at, 0), event.MaxTime)
}

// send appends the buffered events of a partition. Missing spans are sent in their own batches, before the watermark
// advances.
func (s *Sender) send(ctx context.Context, p *part, watermark int64) error {
	if len(p.missing) > 0 && p.writer.Events() > 0 {
		before := p.watermark
		if ahead := s.high - event.MaxAhead/2; before > 0 || p.writer.First() < ahead { // see event.MaxAhead
			before = max(before, min(s.watermark(), ahead))
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
	return s.append(ctx, p, watermark)
}

// append finishes the batch of a partition and appends it to the log, after batches that an earlier call could not
// append. It retries until the log has confirmed all of them or ctx ends. In the latter case they stay in finished, for
// the next call: an ended context, such as that of a capture that was read to its end, loses no batch.
func (s *Sender) append(ctx context.Context, p *part, watermark int64) error {
	p.watermark = max(p.watermark, watermark)
	data := p.writer.Finish(p.watermark)
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
			last.data = slices.Clone(last.data) // the writer reuses its memory
			return fmt.Errorf("source %s: %w", s.options.Source, err)
		}
		s.retried.Add(1)
		select {
		case <-ctx.Done():
		case <-time.After(s.options.Retry):
		}
	}
	p.reported = s.options.Now()
	s.waited.Add(int64(p.reported.Sub(began)))
	return nil
}

// Stats returns the counts so far. Waited includes the current wait.
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
