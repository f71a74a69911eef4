package join

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/collector/result"
	"tamtam/fleet/event"
)

// in reports whether an amendment with this flag covers a time.
func in(amends []result.Amend, at int64, flag result.Flags) bool {
	for _, a := range amends {
		if a.From <= at && a.To >= at && a.Flags&flag != 0 {
			return true
		}
	}
	return false
}

// Events of a source beyond the limit of sources are missing: their time has the flag overflow.
func TestSourcesOverflow(t *testing.T) {
	x := &reported{t: t, now: time.Unix(100, 0), p: New("stamps-0", Options{}, result.Position{}, time.Unix(100, 0))}
	for i := range maxSources {
		x.message(x.writer(fmt.Sprint("leaf", i)), 100*second, 105*second)
	}
	w := x.writer("one more")
	w.Stamped(&event.Frame{Time: 107 * second, Hops: make([]event.Hop, 1)})
	if err := x.p.Consume(x.p.Next(), w.Finish(100*second), x.now); err == nil {
		t.Error("want an error: there is no room for the source")
	}
	x.now = x.now.Add(DefaultSilence)
	x.p.Busy(-DefaultSilence)
	if got, _ := x.cut(); got[10]&result.Overflow == 0 {
		t.Errorf("flags %v: want that window 10 is not whole", got)
	}
}

// numbered returns a batch with another number.
func numbered(batch []byte, number uint64) []byte {
	const at, sum = 4, 4
	b := slices.Clone(batch)
	binary.BigEndian.PutUint64(b[at:], number)
	body := b[:len(b)-sum]
	binary.BigEndian.PutUint32(b[len(body):], crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
	return b
}

// A batch with an impossible number is left out, and its time is flagged. The following batches of its source are not
// repetitions: they are joined.
func TestImpossibleNumber(t *testing.T) {
	x := &reported{t: t, now: time.Unix(100, 0), p: New("stamps-0", Options{}, result.Position{}, time.Unix(100, 0))}
	w := x.writer("leaf1")
	x.message(w, 100*second, 101*second)
	for _, number := range []uint64{math.MaxUint64 - 1, 1<<32 + 2} {
		forged := x.writer("leaf1")
		forged.Stamped(&event.Frame{Time: 112 * second, Hops: make([]event.Hop, 1)})
		if err := x.p.Consume(x.p.Next(), numbered(forged.Finish(event.Ended), number), x.now); err == nil {
			t.Errorf("batch %d after 1: want an error", number)
		}
	}
	x.message(w, 130*second, 131*second)
	x.message(w, event.Ended)
	b := x.p.Cut(x.now, true)
	if s := b.Sources; len(b.Hops) != 2 || len(s) != 1 || s[0].Twice != 0 || s[0].Bad != 2 || s[0].Lost != 0 {
		t.Errorf("%+v, %+v: want two rows, and two bad batches", b.Hops, b.Sources)
	}
	if !in(b.Amends, 112*second, result.Gap) || in(b.Amends, 125*second, result.Gap) {
		t.Errorf("%+v: want a gap at 112 s", b.Amends)
	}
}

// Before the first watermark of a source, its events may be as far ahead of each other as of a watermark later.
func TestAheadWithoutWatermark(t *testing.T) {
	const far = event.MaxAhead + 1
	for _, test := range []struct {
		name      string
		watermark []int64
		refused   bool
	}{
		{"without a watermark", []int64{0}, true}, {"before the first one", []int64{0, 100 * second}, true},
		{"behind an earlier one", []int64{100 * second, 0}, true}, {"with a late one", []int64{101 * second}, false},
		{"in the last batch", []int64{event.Ended}, false},
	} {
		x := &reported{t: t, now: time.Unix(100, 0), p: New("stamps-0", Options{}, result.Position{}, time.Unix(100, 0))}
		w, refused := x.writer("leaf1"), false
		for i, mark := range test.watermark {
			times := []int64{100 * second}
			if mark == 0 || len(test.watermark) == 1 {
				times = append(times, 100*second+far)
			}
			for _, at := range times {
				w.Stamped(&event.Frame{Time: at, Hops: make([]event.Hop, 1)})
			}
			err := x.p.Consume(x.p.Next(), w.Finish(mark), x.now)
			if refused = refused || err != nil; err != nil && !strings.Contains(err.Error(), "want less than 1h0m0s") {
				t.Errorf("%s, batch %d: %v", test.name, i, err)
			}
		}
		if refused != test.refused {
			t.Errorf("%s: refused %v, want %v", test.name, refused, test.refused)
		}
	}
}

// A window whose events were all left out for lack of capacity has no row, and an amendment reports the overflow.
func TestOverflowWithoutRows(t *testing.T) {
	x := &reported{
		t:   t,
		now: time.Unix(100, 0),
		p:   New("stamps-0", Options{Rows: 1}, result.Position{}, time.Unix(100, 0)),
	}
	w := x.writer("leaf1")
	x.message(w, 100*second, 105*second, 115*second)
	x.message(w, event.Ended)
	got, amends := x.cut()
	if got[10] != 0 || !in(amends, 115*second, result.Overflow) || in(amends, 105*second, math.MaxUint16) {
		t.Errorf("flags %v, amended %v: want the overflow of window 11", got, amends)
	}
}

// Events at ever other times open no more windows than there may be rows, though none of their rows fits.
func TestWindowsBounded(t *testing.T) {
	w := &windows{length: 10, most: 3, open: map[window]*openWindow{}}
	w.begin(0, false)
	for at := int64(5); at < 100; at += 10 {
		if o := w.of(at); o != nil {
			w.room(o, w.most+1)
		}
	}
	if len(w.open) != 3 || w.leftOut != 10 || w.gapFlags(95, 95) != result.Overflow || w.gapFlags(0, 29) != 0 {
		t.Errorf("%d windows, %d left out, flags %v and %v: want 3, 10 and the flag overflow behind them", len(w.open),
			w.leftOut, w.gapFlags(95, 95), w.gapFlags(0, 29))
	}
}

// Paths that no window uses any more free capacity for others, also while windows are open.
func TestPathsMakeRoom(t *testing.T) {
	x := &reported{t: t, now: time.Unix(100, 0), p: New("stamps-0", Options{}, result.Position{}, time.Unix(100, 0))}
	w, number := x.writer("leaf1"), uint32(0)
	frames := func(at int64, n int) {
		for range n {
			f := event.Frame{Time: at, Hops: []event.Hop{{Switch: number, Flags: event.NoArrival | event.NoDeparture}}}
			if number++; !w.Stamped(&f) {
				x.message(w, 100*second)
				w.Stamped(&f)
			}
		}
	}
	frames(105*second, 5)
	frames(115*second, 1)
	x.message(w, 110*second)
	x.p.joiners[result.Stamps].(*stamps).places = maxPlaces // as if the paths of the first window were that many
	if got, _ := x.cut(); got[10] != 0 {
		t.Errorf("flags %v: want none: all ways have room", got)
	}
	frames(116*second, 3)
	number -= 4 // the paths of earlier frames are known
	frames(117*second, 4)
	x.message(w, event.Ended)
	b := x.p.Cut(x.now, true)
	packets := map[int64]int{}
	for _, h := range b.Hops {
		packets[h.Packets]++
		if h.Flags&result.Overflow != 0 {
			t.Errorf("%+v: want no overflow", h)
		}
	}
	if len(b.Hops) != 4 || packets[2] != 4 {
		t.Errorf("%+v: want four ways of two packets each", b.Hops)
	}
}

// Paths of maximum length are bounded by the memory that they use.
func TestLongPaths(t *testing.T) {
	s := newStamps(&windows{})
	s.places = maxPlaces - 5*event.MaxHops - 1 // as if other paths used these places
	hops := make([]event.Hop, event.MaxHops)
	for n := 0; ; n++ {
		hops[0].Switch = uint32(n)
		if _, ok := s.pathID(hops); !ok {
			break
		}
	}
	if s.places > maxPlaces || s.places < maxPlaces-event.MaxHops {
		t.Errorf("%d places on all ways: want %d at most", s.places, maxPlaces)
	}
}

// A row whose packet count is at its maximum has a flag that there may be more.
func TestDropsFull(t *testing.T) {
	now := time.Unix(0, 0)
	p := New("drop-0", Options{}, result.Position{}, now)
	w, _ := event.NewWriter(result.Drops, "ipfix")
	d := event.Drop{Switch: "leaf1", Queue: -1, Reason: "acl", Source: "ipfix", Packets: math.MaxInt64}
	if ok, err := w.AddDrop(1, &d); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := p.Consume(1, w.Finish(event.Ended), now); err != nil {
		t.Fatal(err)
	}
	if rows := p.Cut(now, true).Drops; len(rows) != 1 || rows[0].Flags != result.Overflow {
		t.Errorf("%+v: want one row with the flag overflow", rows)
	}
}

// Messages lost from a source that had announced its end are a gap from that end on.
func TestLostBehindTheEnd(t *testing.T) {
	x := &reported{t: t, now: time.Unix(100, 0), p: New("stamps-0", Options{}, result.Position{}, time.Unix(100, 0))}
	other, w := x.writer("leaf2"), x.writer("leaf1")
	x.message(other, 100*second)
	x.message(w, 105*second, 105*second)
	x.message(w, event.Ended)
	w.Lose()
	x.message(w, event.Ended, 117*second)
	x.message(other, event.Ended)
	if got, _ := x.cut(); got[11] != result.Gap {
		t.Errorf("flags %v: want a gap in window 11", got)
	}
}

// If the clock was set between the arrival and departure times of a hop, no time of that hop counts: neither its
// residence time nor the links on both sides. The packet is counted as one with unknown residence time.
func TestClockSet(t *testing.T) {
	x := &reported{t: t, now: time.Unix(100, 0), p: New("stamps-0", Options{}, result.Position{}, time.Unix(100, 0))}
	w := x.writer("leaf1")
	for _, flags := range []event.HopFlags{0, event.ClockSet} {
		var hops []event.Hop
		for n := range 3 {
			hops = append(hops, event.Hop{Switch: uint32(n), Arrival: 100 * second, Departure: 100*second + 7})
		}
		hops[1].Flags, hops[1].Departure = flags, 90*second
		if flags == 0 {
			hops[1].Departure = 100*second + 7
		}
		w.Stamped(&event.Frame{Time: 105 * second, Hops: hops})
	}
	x.message(w, event.Ended)
	for i, h := range x.p.Cut(x.now, true).Hops {
		resident, link, unknown := int64(2), int64(1), int64(0)
		if i == 1 {
			resident, unknown = 1, 1
		}
		if i == 0 {
			link = 0
		}
		if h.Packets != 2 || h.Resident.Count != resident || h.Link.Count != link || h.Unknown != unknown ||
			h.Resident.Min != 7 || h.Resident.Max != 7 {
			t.Errorf("hop %d: %+v, want %d of 2 with a residence of 7 ns, %d over the link, %d unknown", i, h, resident, link,
				unknown)
		}
	}
}

// The row of a link is flagged if the clock of either end is not synchronised.
func TestLinkUnsynchronised(t *testing.T) {
	x := &reported{t: t, now: time.Unix(100, 0), p: New("stamps-0", Options{}, result.Position{}, time.Unix(100, 0))}
	w := x.writer("leaf1")
	var hops []event.Hop
	for n, flags := range []event.HopFlags{0, event.Unsynchronised, 0, 0} {
		hops = append(hops, event.Hop{Switch: uint32(n), Flags: flags, Arrival: 100 * second, Departure: 100 * second})
	}
	w.Stamped(&event.Frame{Time: 105 * second, Hops: hops})
	x.message(w, event.Ended)
	for i, h := range x.p.Cut(x.now, true).Hops {
		if got, want := h.Flags, result.Unsynchronised; (got == want) != (i == 1 || i == 2) {
			t.Errorf("hop %d has the flags %d: want %d of the second and third", i, got, want)
		}
	}
}
