package ingest

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"tamtam/collector/result"
	"tamtam/fleet/event"
	"tamtam/fleet/join"
	"tamtam/fleet/stream"
	"tamtam/internal/randtest"
	"tamtam/saisim/drop"
	"tamtam/tam/dropreport"
	"tamtam/tam/ipfix"
)

// A joining is a collector that joins the messages of sources as they send them, by workers that end at random.
type joining struct {
	t     *testing.T
	r     *rand.Rand
	log   *stream.Memory
	store *result.Memory
	parts []*join.Partition
	kind  result.Kind
}

func newJoining(t *testing.T, r *rand.Rand, kind result.Kind, partitions int) *joining {
	return &joining{t: t, r: r, log: stream.NewMemory(1 << 30), store: result.NewMemory(1 << 30),
		parts: make([]*join.Partition, partitions), kind: kind}
}

func (c *joining) step(now time.Time, all bool) {
	for i := range c.parts {
		name := c.kind.Partition(i)
		if c.parts[i] == nil {
			at, err := c.store.Last(c.t.Context(), name)
			if err != nil {
				c.t.Fatal(err)
			}
			c.parts[i] = join.New(name, join.Options{}, at, now)
		}
		p := c.parts[i]
		for (all || c.r.IntN(4) > 0) && feed(c.t, c.log, name, p, 1+c.r.IntN(20), now) {
		}
		b := p.Cut(now, all || c.r.IntN(4) == 0)
		if dies := c.r.IntN(100) == 0 && !all; dies {
			c.parts[i] = nil
		} else if b != nil {
			if _, err := c.store.Put(c.t.Context(), b); err != nil {
				c.t.Fatal(err)
			}
		}
	}
}

type place struct {
	start int64
	what  string
}

// rows returns the packets and the flags of all rows, summed by place.
func (c *joining) rows() (packets map[place]int64, flags map[place]result.Flags) {
	packets, flags = map[place]int64{}, map[place]result.Flags{}
	err := c.store.Each(c.t.Context(), 0, event.MaxTime, func(b *result.Batch) bool {
		for _, h := range b.Hops {
			packets[place{h.Window.Start, h.Flow}] += h.Packets
			flags[place{h.Window.Start, h.Flow}] |= h.Flags
		}
		for _, d := range b.Drops {
			packets[place{d.Window.Start, d.Switch + d.Flow}] += d.Packets
			flags[place{d.Window.Start, d.Switch + d.Flow}] |= d.Flags
		}
		return true
	})
	if err != nil {
		c.t.Fatal(err)
	}
	_ = c.store.Each(c.t.Context(), 0, event.MaxTime, func(b *result.Batch) bool {
		for _, a := range b.Amends { // an amendment applies to one partition
			for x := range flags {
				if b.Partition == c.partition(x) && a.From < x.start+int64(join.DefaultWindow) && a.To >= x.start {
					flags[x] |= a.Flags
				}
			}
		}
		return true
	})
	return packets, flags
}

// uncertain returns the number of partitions in which the window of a place is uncertain or not closed.
func (c *joining) uncertain(x place) int {
	said := map[string]bool{}
	for i := range c.parts {
		name := c.kind.Partition(i)
		if at, err := c.store.Last(c.t.Context(), name); err != nil || at.Closed < x.start+int64(join.DefaultWindow) {
			said[name] = true
		}
	}
	_ = c.store.Each(c.t.Context(), 0, event.MaxTime, func(b *result.Batch) bool {
		for _, a := range b.Amends {
			if a.From < x.start+int64(join.DefaultWindow) && a.To >= x.start {
				said[b.Partition] = true
			}
		}
		return true
	})
	return len(said)
}

// partition returns the partition that has the rows of a place.
func (c *joining) partition(x place) (name string) {
	_ = c.store.Each(c.t.Context(), 0, event.MaxTime, func(b *result.Batch) bool {
		is := slices.ContainsFunc(b.Hops, func(h result.Hop) bool { return h.Flow == x.what }) ||
			slices.ContainsFunc(b.Drops, func(d result.Drop) bool { return d.Switch+d.Flow == x.what })
		if is {
			name = b.Partition
		}
		return !is
	})
	return name
}

// A presence is the interval in which a source ran, with the times of losses in it.
type presence struct {
	from, to time.Time
	lost     []time.Time
}

// sure reports whether a source received all of a window, and its watermark has had time to pass the window's end. A
// loss is reported after a delay, and then may cover everything received until that.
func sure(runs []presence, start int64, later time.Duration) bool {
	delay := DefaultDisorder + beat + 3*DefaultEvery + later
	from, to := time.Unix(0, start), time.Unix(0, start).Add(join.DefaultWindow)
	return slices.ContainsFunc(runs, func(l presence) bool {
		lossless := !slices.ContainsFunc(l.lost, func(at time.Time) bool {
			return !at.Add(DefaultEvery+tick).Before(from) && at.Before(to.Add(delay))
		})
		return !l.from.After(from) && !l.to.Before(to.Add(delay)) && lossless
	})
}

func leave(t *testing.T, s *Sender) {
	t.Helper()
	if err := s.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
}

const tick = 20 * time.Millisecond

// A live source is killed or stopped at random, and restarted at once or after it counts as silent. It also loses
// events now and then. Each wrong or missing row is flagged, and a window that was received completely has no flag.
func TestKilled(t *testing.T) {
	fixed := randtest.Cases{Seed: 916100001, Count: 30, Short: 6}
	exact, flagged := 0, 0
	run := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 5))
		partitions := 1 + r.IntN(3)
		c := newJoining(t, r, result.Stamps, partitions)
		now := start.Add(time.Duration(r.Int64N(int64(20 * time.Second))))
		truth := map[place]int64{}
		var runs []presence
		var s *Sender
		stopped := false
		frame := func(heard bool) {
			f := event.Frame{Time: now.UnixNano(), Hops: []event.Hop{{Flags: event.NoArrival | event.NoDeparture}}}
			f.Flow = event.Flow{Form: event.IPv4, Protocol: 17, SourcePort: uint16(r.IntN(9)), DestPort: 80}
			at := f.Time - f.Time%int64(join.DefaultWindow)
			truth[place{at, f.Flow.String()}]++
			if !heard {
				return
			}
			if err := s.Frame(t.Context(), &f); err != nil {
				t.Fatal(err)
			}
		}
		for range 1 + r.IntN(4) {
			for down := time.Duration(r.Int64N(int64(100*time.Second))) >> r.IntN(12); down > 0; down -= tick {
				if now = now.Add(tick); r.IntN(20) == 0 {
					frame(false)
				}
				c.step(now, false)
			}
			o := Options{Source: event.Name("host:eth1", now), Partitions: partitions, Live: true, Stamped: true,
				Now: func() time.Time { return now }}
			var err error
			if s, err = NewSender(c.log, result.Stamps, o); err != nil {
				t.Fatal(err)
			}
			if err := s.Begin(t.Context(), now); err != nil {
				t.Fatal(err)
			}
			l := presence{from: now}
			for n, ticks := 0, 1+r.IntN(3000); n < ticks; n++ {
				if now = now.Add(tick); r.IntN(20) == 0 {
					lost := r.IntN(300) == 0
					if frame(!lost); lost {
						l.lost = append(l.lost, now)
						s.Lose(1, now)
					}
				}
				if err := s.Step(t.Context()); err != nil {
					t.Fatal(err)
				}
				l.to = now
				c.step(now, false)
			}
			runs = append(runs, l)
			if stopped = r.IntN(2) == 0; stopped {
				leave(t, s)
			}
		}
		if !stopped {
			leave(t, s)
		}
		c.step(now, true)
		packets, flags := c.rows()
		for x, n := range truth {
			_, ok := packets[x]
			if began := x.start >= runs[0].from.UnixNano(); began && !ok && c.uncertain(x) < partitions {
				t.Errorf("%+v: %d packets without a row, told in %d of %d partitions; lives %v", x, n, c.uncertain(x), partitions,
					runs)
			}
		}
		for x, n := range packets {
			switch f := flags[x]; {
			case f == 0 && n != truth[x]:
				t.Errorf("%+v: %d packets without a flag, want %d; lives %v", x, n, truth[x], runs)
			case f != 0 && sure(runs, x.start, 0):
				t.Errorf("%+v is flagged %v, and was heard: lives %v", x, f, runs)
			case f == 0:
				exact++
			default:
				flagged++
			}
		}
	})
	if (exact == 0 || flagged == 0) && run.Whole(fixed) {
		t.Errorf("%d rows without flags and %d with: want some", exact, flagged)
	}
}

// An exporting switch reports drops by its own clock, with a delay, in messages of which some are lost.
type exporting struct {
	name    string
	at      netip.AddrPort
	offset  time.Duration
	encoder *ipfix.Encoder
	kind    *ipfix.Kind
	waiting []time.Time // times of unreported drops, by the switch's clock
	sent    [][]byte
}

func newExporting(t *testing.T, i int, offset time.Duration) *exporting {
	x := &exporting{kind: &ipfix.Kind{Name: "drop"}, name: fmt.Sprintf("192.0.2.%d", i+1), offset: offset}
	x.at = netip.AddrPortFrom(netip.MustParseAddr(x.name), 5000)
	for _, e := range append(dropreport.Always(), append(dropreport.In.Fields(), dropreport.IPv4.Fields()...)...) {
		x.kind.Fields = append(x.kind.Fields, ipfix.Field{Element: e})
	}
	var err error
	x.encoder, err = ipfix.NewEncoder(ipfix.Config{Kinds: []*ipfix.Kind{x.kind}, Size: 1400, Domain: 1,
		Refresh: 3 * time.Second, RefreshMessages: 1000},
		func(m ipfix.Message) { x.sent = append(x.sent, slices.Clone(m.Bytes)) })
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// export reports the waiting drops.
func (x *exporting) export(t *testing.T, now time.Time) (messages [][]byte) {
	for _, at := range x.waiting {
		rec := x.kind.NewRecord()
		ntp, _ := ipfix.NTP(uint64(at.Unix()), uint32(at.Nanosecond()))
		for j, v := range []uint64{ntp, 1, 0, 1, uint64(drop.NoRoute), 1, 0, 5, 17} {
			rec.Set(j, ipfix.Uint(v))
		}
		rec.Set(9, ipfix.Addr(netip.MustParseAddr("10.0.0.1")))
		rec.Set(10, ipfix.Addr(netip.MustParseAddr("10.0.0.2")))
		if err := x.encoder.Add(now.Add(x.offset), 0, rec); err != nil {
			t.Fatal(err)
		}
	}
	x.encoder.Flush()
	x.waiting, messages, x.sent = x.waiting[:0], x.sent, nil
	return messages
}

// An IPFIX listener is killed at random and started again, and messages are lost in transit and for lack of a template.
// Each wrong row is flagged, and rows of received reports have no flag where nothing was lost. The clocks of the
// switches agree within a part of the disorder, and differ from the collector's.
func TestKilledIPFIX(t *testing.T) {
	fixed := randtest.Cases{Seed: 916110001, Count: 30, Short: 6}
	exact, flagged := 0, 0
	run := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 6))
		partitions := 1 + r.IntN(3)
		c := newJoining(t, r, result.Drops, partitions)
		now := start.Add(time.Duration(r.Int64N(int64(20 * time.Second))))
		truth := map[place]int64{}
		var switches []*exporting
		// otherwise rows have the host's time
		offset := -time.Duration(r.Int64N(int64(10*time.Second))) - 300*time.Millisecond
		for i := range 1 + r.IntN(3) {
			apart := time.Duration(r.Int64N(int64(300 * time.Millisecond)))
			switches = append(switches, newExporting(t, i, offset+apart))
		}
		lossless := r.IntN(2) == 0
		var reports *Reports
		var s *Sender
		heard := func(l *presence) {
			now = now.Add(tick)
			for _, x := range switches {
				if r.IntN(10) == 0 {
					at := now.Add(x.offset)
					x.waiting = append(x.waiting, at)
					truth[place{at.UnixNano() - at.UnixNano()%int64(join.DefaultWindow), x.name}]++
				}
				if len(x.waiting) == 0 || r.IntN(12) > 0 && now.Add(x.offset).Sub(x.waiting[0]) < 300*time.Millisecond {
					continue
				}
				for _, m := range x.export(t, now) {
					if l == nil || !lossless && r.IntN(200) == 0 {
						continue
					}
					if err := reports.IPFIX(t.Context(), x.at, m, now); err != nil {
						t.Fatal(err)
					}
				}
			}
			if l != nil {
				if err := s.Step(t.Context()); err != nil {
					t.Fatal(err)
				}
				l.to = now
			}
			c.step(now, false)
		}
		var runs []presence
		stopped := false
		// windows in which the listener was stopped, by the collector's clock, since it has no other
		atStop := map[int64]bool{}
		for range 1 + r.IntN(4) {
			for down := time.Duration(r.Int64N(int64(100*time.Second))) >> r.IntN(12); down > 0; down -= tick {
				heard(nil)
			}
			var err error
			if s, err = NewSender(c.log, result.Drops, Options{Source: event.Name("host:ipfix", now), Partitions: partitions,
				Live: true, Now: func() time.Time { return now }}); err != nil {
				t.Fatal(err)
			}
			reports = NewReports(s, nil)
			if err := s.Begin(t.Context(), now); err != nil {
				t.Fatal(err)
			}
			l := presence{from: now}
			for n, ticks := 0, 1+r.IntN(3000); n < ticks; n++ {
				heard(&l)
			}
			// 6 s later, templates have arrived, and the second in which a later listener started has ended.
			l.from = l.from.Add(6 * time.Second)
			runs = append(runs, l)
			if stopped = r.IntN(2) == 0; stopped {
				atStop[now.UnixNano()-now.UnixNano()%int64(join.DefaultWindow)] = true
				leave(t, s)
			}
		}
		if !stopped {
			leave(t, s)
		}
		c.step(now, true)
		packets, flags := c.rows()
		for x, n := range packets {
			name := x.what[:len("192.0.2.1")]
			switch f, want := flags[x], truth[place{x.start, name}]; {
			case f == 0 && n != want:
				t.Errorf("%+v: %d packets without a flag, want %d; lives %v", x, n, want, runs)
			case f != 0 && lossless && !atStop[x.start] && sure(runs, x.start-int64(offset), time.Second):
				t.Errorf("%+v is flagged %v, and was heard: lives %v", x, f, runs)
			case f == 0:
				exact++
			default:
				flagged++
			}
		}
	})
	if (exact == 0 || flagged == 0) && run.Whole(fixed) {
		t.Errorf("%d rows without flags and %d with: want some", exact, flagged)
	}
}

func flagsOf(batches []*result.Batch) (list []result.Flags) {
	var hops []result.Hop
	for _, b := range batches {
		hops = append(hops, b.Hops...)
	}
	slices.SortFunc(hops, func(a, b result.Hop) int { return cmp.Compare(a.Window.Start, b.Window.Start) })
	for _, h := range hops {
		list = append(list, h.Flags)
	}
	return list
}

// The window in which a source starts has a flag, and later ones have none. No window has a flag if the source starts
// with the window, or if it is a capture, which is complete.
func TestBegin(t *testing.T) {
	for _, c := range []struct {
		name  string
		into  time.Duration // offset in the window
		live  bool
		flags []result.Flags
	}{
		{"in a window", time.Second, true, []result.Flags{result.Gap, 0, 0}},
		{"with a window", 0, true, []result.Flags{0, 0, 0}},
		{"a capture", time.Second, false, []result.Flags{0, 0, 0}},
	} {
		log, now := stream.NewMemory(0), start.Add(c.into)
		o := options("eth1", 1, &now)
		o.Live, o.Stamped = c.live, c.live
		s, err := NewSender(log, result.Stamps, o)
		if err != nil {
			t.Fatal(err)
		}
		if c.live {
			err = s.Begin(t.Context(), now)
		}
		for range 3 {
			f := event.Frame{Time: now.UnixNano(), Hops: make([]event.Hop, 1)}
			err = errors.Join(err, s.Frame(t.Context(), &f), s.Step(t.Context()))
			now = now.Add(join.DefaultWindow)
		}
		if err = errors.Join(err, s.Close(t.Context())); err != nil {
			t.Fatal(err)
		}
		if got := flagsOf(joined(t, log, result.Stamps, 1)); !slices.Equal(got, c.flags) {
			t.Errorf("%s: flags %v, want %v", c.name, got, c.flags)
		}
	}
}

// A loss in a partition without recent events flags the window in which it happened.
func TestLostInQuiet(t *testing.T) {
	log, now := stream.NewMemory(0), start
	o := options("eth1", 1, &now)
	o.Live, o.Stamped = true, true
	s, err := NewSender(log, result.Stamps, o)
	if err != nil {
		t.Fatal(err)
	}
	err = s.Begin(t.Context(), now)
	for n := range 250 { // 25 s, ten frames a second
		now = start.Add(time.Duration(n) * 100 * time.Millisecond)
		switch n {
		case 5, 120, 220:
			f := event.Frame{Time: now.UnixNano(), Hops: make([]event.Hop, 1)}
			err = errors.Join(err, s.Frame(t.Context(), &f))
		case 105:
			s.Lose(1, now)
		}
		err = errors.Join(err, s.Step(t.Context()))
	}
	if err = errors.Join(err, s.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	if got, want := flagsOf(joined(t, log, result.Stamps, 1)),
		[]result.Flags{result.Gap, result.Gap, 0}; !slices.Equal(got, want) {
		t.Errorf("flags %v, want %v: of what was lost 500 ms into the second window", got, want)
	}
}
