package join

import (
	"math"
	"testing"
	"time"

	"tamtam/collector/result"
	"tamtam/fleet/event"
)

// Exporters may report more dropped packets than a row can count: the row then holds the maximum and a flag.
func TestDropsOverflow(t *testing.T) {
	now := time.Unix(0, 0)
	p := New("drop-0", Options{}, result.Position{}, now)
	w, err := event.NewWriter(result.Drops, "ipfix")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if ok, err := w.AddDrop(1, &event.Drop{Switch: "leaf1", Queue: -1, Reason: "acl", Source: "ipfix",
			Packets: 1 << 62}); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	if err := p.Consume(1, w.Finish(event.Ended), now); err != nil {
		t.Fatal(err)
	}
	rows := p.Cut(now, true).Drops
	if len(rows) != 1 || rows[0].Packets != math.MaxInt64 || rows[0].Flags != result.Overflow {
		t.Errorf("%+v: want one row with the flag overflow", rows)
	}
}

// A report of several packets covers the time from its Since on. Reports that differ only in it share a row.
func TestDropsSince(t *testing.T) {
	now := time.Unix(0, 0)
	p := New("drop-0", Options{}, result.Position{}, now)
	w, err := event.NewWriter(result.Drops, "ipfix")
	if err != nil {
		t.Fatal(err)
	}
	for _, since := range []int64{0, 30, 20} {
		if ok, err := w.AddDrop(50, &event.Drop{Switch: "leaf1", Queue: result.UnknownQueue, Reason: "acl", Source: "ipfix",
			Packets: 4, Since: since}); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	if err := p.Consume(1, w.Finish(event.Ended), now); err != nil {
		t.Fatal(err)
	}
	b := p.Cut(now, true)
	if len(b.Drops) != 1 || b.Drops[0].Packets != 12 || b.Drops[0].First != 20 || b.Drops[0].Last != 50 {
		t.Errorf("%+v: want a row of 12 packets from 20 to 50", b.Drops)
	}
}
