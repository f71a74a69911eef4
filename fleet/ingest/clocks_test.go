package ingest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/collector/result"
	"tamtam/fleet/join"
	"tamtam/fleet/stream"
	"tamtam/internal/randtest"
	"tamtam/saisim/drop"
	"tamtam/tam/dropreport"
	"tamtam/tam/ipfix"
)

// A clocked is an IPFIX exporter whose clock is ahead of the host's by off, and by jumped from the time jumps on.
type clocked struct {
	at      netip.AddrPort
	off     time.Duration
	jumps   time.Time // time of the jump; zero means that the clock never jumps
	jumped  time.Duration
	starts  time.Time
	delay   time.Duration // maximum transit time of a message
	kind    *ipfix.Kind
	encoder *ipfix.Encoder
	out     []byte
}

func (c *clocked) clock(t time.Time) time.Time {
	if !c.jumps.IsZero() && !t.Before(c.jumps) {
		return t.Add(c.jumped)
	}
	return t.Add(c.off)
}

// A dropped is a packet whose drop is reported: each has its own flow.
type dropped struct {
	of       int       // index of the exporter
	observed time.Time // time of the drop, by the exporter's clock
	true     time.Time
	lost     bool // true if the message was lost
}

// A clocksTest is a host with an accurate clock that receives messages of some exporters.
type clocksTest struct {
	r         *rand.Rand
	window    time.Duration
	exporters []*clocked
	away      time.Time // the host receives nothing around this time, often when a clock is set
	drops     []dropped
	messages  []clockedMessage
	uncertain [][2]time.Time // times near which rows may be flagged
}

type clockedMessage struct {
	at    time.Time
	from  netip.AddrPort
	bytes []byte
}

const clocksFor = 40 * time.Second

// newClocks returns some exporters. Some of their clocks are accurate, within half a second of the host's.
func newClocks(t *testing.T, r *rand.Rand) *clocksTest {
	x := &clocksTest{r: r, window: time.Duration(1+r.IntN(2)*r.IntN(10)) * time.Second}
	for i := range 2 + r.IntN(4) {
		c := &clocked{at: netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(i + 1)}), 5000),
			delay: time.Duration(r.IntN(200)) * time.Millisecond, starts: start}
		if r.IntN(4) == 0 {
			c.starts = start.Add(time.Duration(r.Int64N(int64(clocksFor / 2))))
		}
		c.off = offset(r)
		if r.IntN(3) == 0 {
			c.jumps, c.jumped = start.Add(time.Duration(r.Int64N(int64(clocksFor)))), offset(r)
		}
		c.exports(t, uint32(r.IntN(3)))
		x.exporters = append(x.exporters, c)
		x.addUncertain(c, c.starts)
	}
	lossy := r.IntN(2) == 0
	if x.away = x.exporters[0].jumps; x.away.IsZero() {
		x.away = start.Add(time.Duration(r.Int64N(int64(clocksFor))))
	}
	for i := range x.exporters {
		x.export(t, i, lossy)
	}
	slices.SortStableFunc(x.messages, func(a, b clockedMessage) int { return a.at.Compare(b.at) })
	return x
}

// exports creates the IPFIX encoder of an exporter.
func (c *clocked) exports(t *testing.T, domain uint32) {
	t.Helper()
	c.kind = &ipfix.Kind{Name: "drop"}
	for _, e := range append(dropreport.Always(), append(dropreport.In.Fields(), dropreport.IPv4.Fields()...)...) {
		c.kind.Fields = append(c.kind.Fields, ipfix.Field{Element: e})
	}
	var err error
	c.encoder, err = ipfix.NewEncoder(ipfix.Config{Kinds: []*ipfix.Kind{c.kind}, Size: 1400, Domain: domain,
		Refresh: time.Hour, RefreshMessages: 1}, func(m ipfix.Message) { c.out = slices.Clone(m.Bytes) })
	if err != nil {
		t.Fatal(err)
	}
}

// offset returns a random clock offset: mostly small, at times years.
func offset(r *rand.Rand) time.Duration {
	sign := time.Duration(1 - 2*r.IntN(2))
	switch r.IntN(8) {
	case 3:
		return 500*time.Millisecond + time.Duration(r.Int64N(int64(500*time.Millisecond)))
	case 0:
		return sign * time.Duration(r.Int64N(int64(4*time.Second)))
	case 1:
		return sign * time.Duration(r.Int64N(int64(time.Minute)))
	case 2:
		return sign * time.Duration(r.Int64N(int64(10*365*24*time.Hour)))
	}
	return sign * time.Duration(r.Int64N(int64(500*time.Millisecond)))
}

// fine reports whether all messages arrive within a second by both clocks. A message covers 700 ms, and is in transit
// for up to 200 ms.
func (c *clocked) fine() bool {
	return c.jumps.IsZero() && c.off >= -100*time.Millisecond && c.off <= 500*time.Millisecond
}

// export makes an exporter observe drops and export them, in messages that may be lost or arrive twice.
func (x *clocksTest) export(t *testing.T, i int, lossy bool) {
	c, came, begun := x.exporters[i], time.Time{}, len(x.drops)
	for at := c.starts; at.Before(start.Add(clocksFor)); {
		first := len(x.drops)
		for range 1 + x.r.IntN(3) {
			at = at.Add(time.Duration(x.r.Int64N(int64(300 * time.Millisecond))))
			x.observe(t, i, at)
		}
		at = at.Add(time.Duration(x.r.Int64N(int64(100 * time.Millisecond))))
		c.encoder.Flush()
		// messages of an exporter arrive in the order in which they were sent
		came = later(came, at.Add(time.Duration(x.r.Int64N(int64(c.delay+1)))))
		lost := lossy && x.r.IntN(40) == 0 || at.Sub(x.away).Abs() < 400*time.Millisecond
		if lost && first > begun && at.Before(start.Add(clocksFor)) { // otherwise the loss cannot be detected
			for k := first; k < len(x.drops); k++ {
				x.drops[k].lost = true
			}
			x.addUncertain(c, at)
			x.uncertain = append(x.uncertain, [2]time.Time{at, at}) // a missing number has no time
			continue
		}
		m := clockedMessage{came, c.at, c.out}
		x.messages = append(x.messages, m)
		if x.r.IntN(20) == 0 {
			m.at = came.Add(time.Duration(x.r.Int64N(int64(time.Second))))
			x.messages = append(x.messages, m)
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (x *clocksTest) observe(t *testing.T, i int, at time.Time) {
	c, r := x.exporters[i], x.exporters[i].kind.NewRecord()
	observed := c.clock(at)
	ntp, ok := ipfix.NTP(uint64(observed.Unix()), uint32(observed.Nanosecond()))
	if !ok {
		t.Fatal(observed)
	}
	observed, _ = ipfix.FromNTP(ntp)
	id := len(x.drops)
	for j, v := range []uint64{ntp, 1, 0, 1, uint64(drop.NoRoute), 1, 0, 5, 17} {
		r.Set(j, ipfix.Uint(v))
	}
	r.Set(9, ipfix.Addr(netip.AddrFrom4([4]byte{10, 0, byte(id >> 8), byte(id)})))
	r.Set(10, ipfix.Addr(netip.MustParseAddr("10.255.0.2")))
	if err := c.encoder.Add(observed, 0, r); err != nil {
		t.Fatal(err)
	}
	x.drops = append(x.drops, dropped{of: i, observed: observed, true: at})
}

// hear feeds all messages to one reader of reports, and joins its events as time advances.
func (x *clocksTest) hear(t *testing.T) (batches []*result.Batch) {
	t.Helper()
	log, now := stream.NewMemory(0), start
	o := options("ipfix", 1, &now)
	o.Live = true
	s, err := NewSender(log, result.Drops, o)
	if err != nil {
		t.Fatal(err)
	}
	r := NewReports(s, nil)
	p := join.New(result.Drops.Partition(0), join.Options{Window: x.window}, result.Position{}, now)
	step := func() {
		for feed(t, log, result.Drops.Partition(0), p, 100, now) {
		}
		if b := p.Cut(now, true); b != nil {
			batches = append(batches, b)
		}
	}
	for _, m := range x.messages {
		for ; now.Before(m.at); now = now.Add(100 * time.Millisecond) {
			if err := s.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
			step()
		}
		now = m.at
		if err := r.IPFIX(t.Context(), m.from, m.bytes, now); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	step()
	return batches
}

// Whatever the clocks of the switches that report to one socket, each drop counts once. It is in the window of its
// switch's time, or has a flag. Everything that arrives when a clock was set back has a flag. A lost report flags the
// window in which it is missing. Reports of switches with accurate clocks have no flag, except when an exporter starts,
// a clock jumps or something is lost.
func TestIPFIXClocks(t *testing.T) {
	fixed := randtest.Cases{Seed: 1, Count: 300, Short: 40}
	flagged, moved, exact := 0, 0, 0
	run := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		x := newClocks(t, rand.New(rand.NewPCG(seed, 20)))
		rows := rowsByFlow(x.hear(t), x.window)
		for id, d := range x.drops {
			n := 0
			row := rows.of[fmt.Sprintf("10.0.%d.%d", id>>8, id&255)]
			for _, r := range row {
				n += int(r.Packets)
			}
			window, truly := rows.start(d.observed), rows.start(d.true)
			c := x.exporters[d.of]
			switch {
			case d.lost && n > 0 || !d.lost && n != 1:
				t.Errorf("%s: counted %d times: %+v", x.text(id), n, row)
			case d.lost && !rows.incomplete(window) && !rows.incomplete(truly):
				t.Errorf("%s is lost, and its window has no flag", x.text(id))
			case d.lost:
			case row[0].Flags == 0 && row[0].Window.Start != window:
				t.Errorf("%s: in the window %v without a flag", x.text(id), time.Unix(0, row[0].Window.Start).UTC())
			case row[0].Flags == 0 && c.setBack(d.true):
				t.Errorf("%s: the clock was set back, and there is no flag", x.text(id))
			case row[0].Flags != 0 && c.fine() && !x.near(d.observed):
				t.Errorf("%s: flags %v, and its clock is fine", x.text(id), row[0].Flags)
			case row[0].Flags == 0:
				exact++
			case row[0].Window.Start != window:
				moved++
			default:
				flagged++
			}
		}
	})
	if (flagged == 0 || moved == 0 || exact == 0) && (testing.Short() || run.Whole(fixed)) {
		t.Errorf("%d exact, %d flagged, %d in another window: want some of each", exact, flagged, moved)
	}
}

func (x *clocksTest) text(id int) string {
	d := x.drops[id]
	c := x.exporters[d.of]
	text := fmt.Sprintf("drop %d of exporter %d (clock %v off", id, d.of, c.off)
	if !c.jumps.IsZero() {
		text += fmt.Sprintf(", from %v on %v", c.jumps.Sub(start), c.jumped)
	}
	return text + fmt.Sprintf("), observed %v, truly after %v", d.observed.UTC(), d.true.Sub(start))
}

// addUncertain notes that a message of an exporter is lost around a time, by its clock as far as that is accepted. If
// its clock is set later, its later messages may be of the same time.
func (x *clocksTest) addUncertain(c *clocked, at time.Time) {
	of := c.bounded
	span := [2]time.Time{of(at), of(at)}
	if d := c.jumps.Sub(at); !c.jumps.IsZero() && d.Abs() < 2*time.Second {
		for _, t := range []time.Time{at.Add(-2 * time.Second), at.Add(2 * time.Second)} {
			span = [2]time.Time{earlier(span[0], of(t)), later(span[1], of(t))}
		}
	} else if d > 0 {
		span[0] = earlier(span[0], of(c.jumps))
	}
	x.uncertain = append(x.uncertain, span)
}

// bounded returns the time of the clock, limited to what the reader accepts.
func (c *clocked) bounded(t time.Time) time.Time {
	if c.clock(t).Before(t.Add(-wrongClock)) {
		return t.Add(DefaultDisorder)
	}
	return earlier(c.clock(t), t.Add(DefaultDisorder))
}

// setBack reports whether the clock was set back by more than the disorder before the message of a time began, and has
// not caught up yet. The message began up to a second earlier. Export times have a resolution of a second, and messages
// are up to a second apart.
func (c *clocked) setBack(t time.Time) bool {
	before := c.jumps.Add(-time.Second)
	return !c.jumps.IsZero() && !before.Before(c.starts) && t.After(c.jumps.Add(time.Second)) &&
		c.bounded(t).Add(4*time.Second).Before(c.bounded(before))
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// near reports whether a time is so close to an uncertain one that a flag is right. The export time has a resolution of
// a second and is that of the message's beginning, up to a second before its end. Up to another second passes before
// the next message ends, and reports may be out of order by a second. A flag is for a whole window.
func (x *clocksTest) near(t time.Time) bool {
	return slices.ContainsFunc(x.uncertain, func(s [2]time.Time) bool {
		return t.After(s[0].Add(-4*time.Second-x.window)) && t.Before(s[1].Add(4*time.Second+x.window))
	})
}

// flowRows holds rows by the source of their flow, and their amendments.
type flowRows struct {
	window int64
	of     map[string][]result.Drop
	amends []result.Amend
	flags  map[int64]result.Flags // flags common to all rows of a window
}

func rowsByFlow(batches []*result.Batch, window time.Duration) *flowRows {
	x := &flowRows{window: int64(window), of: map[string][]result.Drop{}, flags: map[int64]result.Flags{}}
	for _, b := range batches {
		x.amends = append(x.amends, b.Amends...)
	}
	for _, b := range batches {
		for _, r := range b.Drops {
			source, _, _ := strings.Cut(strings.TrimPrefix(r.Flow, "UDP "), ":")
			r.Flags |= x.amended(r.Window.Start)
			x.of[source] = append(x.of[source], r)
			if flags, ok := x.flags[r.Window.Start]; ok {
				r.Flags &= flags
			}
			x.flags[r.Window.Start] = r.Flags
		}
	}
	return x
}

func (x *flowRows) start(t time.Time) int64 { return t.UnixNano() / x.window * x.window }

func (x *flowRows) amended(window int64) (flags result.Flags) {
	for _, a := range x.amends {
		if a.From < window+x.window && a.To >= window {
			flags |= a.Flags
		}
	}
	return flags
}

// incomplete reports whether something may be missing in a window, by its flags.
func (x *flowRows) incomplete(window int64) bool {
	return cmp.Or(x.amended(window), x.flags[window]) != 0
}

// Reports that are lost when a clock is set back may be from the time before that, by the old clock, or from the time
// after it, by the new clock. Both times are flagged.
func TestIPFIXSetBack(t *testing.T) {
	second := func(n float64) time.Time { return start.Add(time.Duration(n * float64(time.Second))) }
	c := &clocked{at: exporterAt, jumps: second(31), jumped: -20 * time.Second}
	c.exports(t, 1)
	x := &clocksTest{window: time.Second, exporters: []*clocked{c}}
	for _, m := range []struct {
		at   float64 // time of the drop, a tenth of a second before its message
		lost bool
	}{{1, false}, {30.2, false}, {30.9, true}, {31.1, true}, {34.5, false}} {
		x.observe(t, 0, second(m.at))
		c.encoder.Flush()
		if !m.lost {
			x.messages = append(x.messages, clockedMessage{second(m.at + 0.1), c.at, c.out})
		}
	}
	rows := rowsByFlow(x.hear(t), x.window)
	for n, want := range map[float64]bool{7: false, 11.1: true, 14.5: true, 30.9: true, 37: false} {
		if got := rows.incomplete(rows.start(second(n))); got != want {
			t.Errorf("the window of second %v has a flag: %v, want %v", n, got, want)
		}
	}
}
