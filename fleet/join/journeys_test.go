package join

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"tamtam/collector"
	"tamtam/collector/journey"
	"tamtam/collector/result"
	"tamtam/collector/topology"
	"tamtam/fleet/event"
	"tamtam/internal/racetest"
	"tamtam/internal/randtest"
	"tamtam/tam/record"
)

// A recording is a network whose switches record all packets, with the records.
type recording struct {
	r      *rand.Rand
	net    topology.Topology
	copies []copied // copies in the order of capture
}

// wire connects each of n switches with all others and with a host.
func (x *recording) wire(n int) {
	for i := range n {
		name := fmt.Sprint("s", i)
		x.net.Nodes = append(x.net.Nodes, topology.Node{Name: name, Kind: topology.Switch, ID: uint32(i + 1)},
			topology.Node{Name: "h" + name, Kind: topology.Host})
		x.net.Links = append(x.net.Links, topology.Link{A: topology.End{Node: name, Port: "Ethernet99"},
			B: topology.End{Node: "h" + name}})
		for k := range i {
			x.net.Links = append(x.net.Links, topology.Link{A: topology.End{Node: name, Port: fmt.Sprint("Ethernet", k)},
				B: topology.End{Node: fmt.Sprint("s", k), Port: fmt.Sprint("Ethernet", i)}})
		}
	}
}

func timeOf(at int64) record.Time {
	return record.Time{Seconds: uint64(at / second), Nanoseconds: uint32(at % second)}
}

// visit records a packet at a switch at a time, and forwards it: it may be lost, dropped, or sent to a host.
func (x *recording) visit(key journey.Key, sw int, in uint16, at int64, ttl int) {
	n := len(x.net.Nodes) / 2
	c := copied{RecordCopy: collector.RecordCopy{Key: key, TTL: ttl, IsFlow: true,
		Flow: collector.Flow{Protocol: 17, Source: netip.MustParseAddr("10.0.0.1"),
			Destination: netip.MustParseAddr("10.0.0.2")}}}
	left := at + x.r.Int64N(int64(time.Millisecond))
	c.Record = record.Record{Bits: []byte{1}, Switch: uint32(sw + 1), Plan: 7, In: timeOf(at), At: timeOf(left),
		InPort: in, OutPort: 99}
	c.at = left + x.r.Int64N(second/2)
	next := x.r.IntN(n)
	switch {
	case x.r.IntN(10) == 0:
		c.Why, c.OutPort = uint8(1+x.r.IntN(9)), record.NoPort
	case next != sw && ttl > 60:
		c.OutPort = uint16(next)
		if x.r.IntN(10) > 0 {
			x.visit(key, next, uint16(sw), left+x.r.Int64N(int64(time.Millisecond)), ttl-1)
		}
		if x.r.IntN(10) == 0 { // a copy leaves at another port
			other := c
			other.OutPort = 99
			x.copies = append(x.copies, other)
		}
	}
	x.copies = append(x.copies, c)
}

// packets sends count packets within a time; some have the same key as others.
func (x *recording) packets(count int, within time.Duration) {
	for i := range count {
		key := journey.Key(fmt.Sprint("packet ", i))
		if i > 0 && x.r.IntN(8) == 0 {
			key = journey.Key(fmt.Sprint("packet ", x.r.IntN(i)))
		}
		x.visit(key, x.r.IntN(len(x.net.Nodes)/2), 99, 1000*second+x.r.Int64N(int64(within)), 64)
	}
	slices.SortStableFunc(x.copies, func(a, b copied) int { return cmp.Compare(a.at, b.at) })
}

// messages returns batches of the copies, from one to three sources.
func (x *recording) messages(t *testing.T) (list [][]byte) {
	t.Helper()
	writers := make([]*event.Writer, 1+x.r.IntN(3))
	for i := range writers {
		w, err := event.NewWriter(result.Records, fmt.Sprint("source", i))
		if err != nil {
			t.Fatal(err)
		}
		writers[i] = w
		list = append(list, slices.Clone(w.Finish(0)))
	}
	finish := func(w *event.Writer, watermark int64) {
		m := slices.Clone(w.Finish(watermark))
		list = append(list, m)
		if x.r.IntN(5) == 0 {
			list = append(list, m) // delivered twice
		}
	}
	for _, c := range x.copies {
		w := writers[x.r.IntN(len(writers))]
		if ok, err := w.AddRecord(c.at, &c.RecordCopy); !ok || err != nil {
			t.Fatal(ok, err)
		}
		if x.r.IntN(5) == 0 {
			finish(w, c.at)
		}
	}
	for _, w := range writers {
		finish(w, event.Ended)
	}
	return list
}

// rowsOf returns the rows of messages, joined by workers that end at random.
func rowsOf(t *testing.T, r *rand.Rand, o Options, messages [][]byte) (all []result.Journey, drops int64) {
	t.Helper()
	now, store := time.Unix(2000, 0), result.NewMemory(1<<30)
	p := New("record-0", o, result.Position{}, now)
	for p.Next() <= uint64(len(messages)) {
		if err := p.Consume(p.Next(), messages[p.Next()-1], now); err != nil {
			t.Fatal(err)
		}
		if r.IntN(3) > 0 {
			continue
		}
		if b := p.Cut(now, r.IntN(4) == 0); b != nil && r.IntN(3) > 0 {
			if kept, err := store.Put(t.Context(), b); !kept || err != nil {
				t.Fatal(kept, err)
			}
		} else if b != nil || r.IntN(20) == 0 { // the worker ends, and its batch is lost
			at, err := store.Last(t.Context(), "record-0")
			if err != nil {
				t.Fatal(err)
			}
			p = New("record-0", o, at, now)
		}
	}
	if b := p.Cut(now, true); b != nil {
		if _, err := store.Put(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	err := store.Each(t.Context(), 0, event.MaxTime, func(b *result.Batch) bool {
		all = append(all, b.Journeys...)
		for _, d := range b.Drops {
			drops += d.Packets
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	sortRows(all)
	return all, drops
}

func sortRows(all []result.Journey) {
	slices.SortStableFunc(all, func(a, b result.Journey) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Key, b.Key), cmp.Compare(a.From, b.From))
	})
}

// The paths of packets over random networks equal those that `tamtam path` finds in the same records. Each is reported
// once, without an additional flag, though sources repeat messages and workers end.
func TestJourneys(t *testing.T) {
	racetest.Stepped(t)
	randtest.Run(t, randtest.Cases{Seed: 914000001, Count: 60}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		x := &recording{r: r}
		x.wire(2 + r.IntN(4))
		if err := x.net.Check(); err != nil {
			t.Fatal(err)
		}
		x.packets(1+r.IntN(200), time.Duration(1+r.IntN(60))*time.Second)
		o := Options{Topology: &x.net, Window: time.Duration(1+r.IntN(12)) * time.Second}
		j := newJourneys(o)
		of := map[journey.Key][]journey.Record{}
		for i := range x.copies {
			c := &x.copies[i].RecordCopy
			of[c.Key] = append(of[c.Key], j.reader.Record(c))
		}
		var want []result.Journey
		var dropped int64
		for key, records := range of {
			for _, trip := range journey.Join(records, j.wiring, journey.Options{Within: DefaultWithin}) {
				want = append(want, rowOf(key, trip))
				for _, h := range want[len(want)-1].Hops {
					if h.Dropped != "" {
						dropped++
					}
				}
			}
		}
		sortRows(want)
		got, drops := rowsOf(t, r, o, x.messages(t))
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if drops != dropped {
			t.Errorf("%d drops, want %d", drops, dropped)
		}
	})
}

// A record that arrives after its window was closed makes a row with a flag, and amends the earlier rows. A record of
// an unknown switch is counted.
func TestJourneyLate(t *testing.T) {
	x := recording{}
	x.wire(2)
	if err := x.net.Check(); err != nil {
		t.Fatal(err)
	}
	now, o := time.Unix(2000, 0), Options{Topology: &x.net}
	p := New("record-0", o, result.Position{}, now)
	w, err := event.NewWriter(result.Records, "leaf1")
	if err != nil {
		t.Fatal(err)
	}
	seq := uint64(0)
	add := func(sw uint32, in, out uint16, at, watermark int64) *result.Batch {
		t.Helper()
		c := collector.RecordCopy{Key: "k", TTL: 65 - min(int(sw), 2),
			Record: record.Record{Bits: []byte{1}, Switch: sw, In: timeOf(at), At: timeOf(at + 5),
				InPort: in, OutPort: out}}
		if ok, err := w.AddRecord(at, &c); !ok || err != nil {
			t.Fatal(ok, err)
		}
		seq++
		if err := p.Consume(seq, w.Finish(watermark), now); err != nil {
			t.Fatal(err)
		}
		return p.Cut(now, true)
	}
	b := add(1, 99, 1, 1000*second, 1100*second)
	if b == nil || len(b.Journeys) != 1 || b.Journeys[0].Flags != result.Missing || b.Journeys[0].From != "hs0" ||
		b.Journeys[0].End != "not seen at s1:Ethernet0: lost on the wire, or not recorded there" {
		t.Fatalf("%+v: want a packet that was not seen at s1", b)
	}
	b = add(2, 0, 99, 1000*second+50, 1101*second)
	if b == nil || len(b.Journeys) != 1 || b.Journeys[0].Flags&result.Late == 0 || b.Sources[0].Late != 1 ||
		len(b.Amends) != 1 ||
		b.Amends[0].From > 1000*second || b.Amends[0].To < 1000*second || b.Amends[0].Flags != result.Late {
		t.Fatalf("%+v: want a row that is late, and an amendment", b)
	}
	b = add(77, 0, 99, 1101*second, 1200*second)
	if b == nil || len(b.Journeys) != 0 || b.Sources[0].LeftOut != 1 {
		t.Fatalf("%+v: want that an event was left out", b)
	}
	b = add(1, 99, 1, 1201*second, 1300*second)
	if b == nil || len(b.Journeys) != 1 || b.Journeys[0].Flags != result.Missing {
		t.Fatalf("%+v: want a packet that is not late", b)
	}
}

// The row of a packet that loops until the edge of what is joined is flagged. A lost batch flags all packets of its
// time.
func TestJourneyEdge(t *testing.T) {
	x := recording{}
	x.wire(2)
	if err := x.net.Check(); err != nil {
		t.Fatal(err)
	}
	now := time.Unix(2000, 0)
	p := New("record-0", Options{Topology: &x.net}, result.Position{}, now)
	w, err := event.NewWriter(result.Records, "leaf1")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		at := 1009*second + int64(i)*second/2
		sw, port := uint32(i%2), uint16(1-i%2)
		if i == 0 {
			port = 99
		}
		c := collector.RecordCopy{Key: "k", TTL: 64 - i, Record: record.Record{Bits: []byte{1}, Switch: sw + 1,
			In: timeOf(at), At: timeOf(at + 5),
			InPort: port, OutPort: uint16(1 - i%2)}}
		if ok, err := w.AddRecord(at, &c); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	if err := p.Consume(1, w.Finish(1100*second), now); err != nil {
		t.Fatal(err)
	}
	b := p.Cut(now, false)
	if b == nil || len(b.Journeys) != 1 || b.Journeys[0].Flags&result.Edge == 0 || len(b.Journeys[0].Hops) >= 60 {
		t.Fatalf("%+v: want one way that is cut, and says so", b)
	}
	w.Lose()
	c := collector.RecordCopy{Key: "m", TTL: 64, Record: record.Record{Bits: []byte{1}, Switch: 1,
		In: timeOf(1101 * second), At: timeOf(1101 * second), InPort: 99, OutPort: 99}}
	if ok, err := w.AddRecord(1101*second, &c); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := p.Consume(2, w.Finish(1200*second), now); err != nil {
		t.Fatal(err)
	}
	if b = p.Cut(now, false); b == nil || len(b.Journeys) != 1 || b.Journeys[0].Flags != result.Gap ||
		b.Journeys[0].End != "to hs0" {
		t.Fatalf("%+v: want a packet to the host, of a time of which a batch was lost", b)
	}
}

// The row of a packet that was dropped by a switch with an unsynchronised clock is flagged.
func TestDropUnsynchronised(t *testing.T) {
	for _, uncertain := range []bool{true, false} {
		var x recording
		x.wire(1)
		c := collector.RecordCopy{Key: "packet", TTL: 64, Record: record.Record{Bits: []byte{1}, Switch: 1, Plan: 7,
			In: timeOf(1000 * second), At: timeOf(1000*second + 5), InPort: 99, OutPort: record.NoPort, Why: 3,
			Unsynchronised: uncertain}}
		p := New("record-0", Options{Topology: &x.net}, result.Position{}, time.Unix(0, 0))
		w, _ := event.NewWriter(result.Records, "source")
		if ok, err := w.AddRecord(1000*second, &c); !ok || err != nil {
			t.Fatal(ok, err)
		}
		if err := p.Consume(1, w.Finish(event.Ended), time.Unix(0, 0)); err != nil {
			t.Fatal(err)
		}
		rows := p.Cut(time.Unix(0, 0), true).Drops
		if len(rows) != 1 || rows[0].Packets != 1 || (rows[0].Flags == result.Unsynchronised) != uncertain {
			t.Errorf("clock in doubt %v: %+v", uncertain, rows)
		}
	}
}
