package join

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tamtam/collector/result"
	"tamtam/fleet/event"
	"tamtam/internal/racetest"
	"tamtam/internal/randtest"
)

type tapped struct {
	event.Frame
	id int // number of the frame
}

// A rowKey is the key of the first row of a flow and path in a window.
type rowKey struct {
	start      int64
	flow, path string
}

// tappedFrames returns frames of flows, each captured in one place or in two: on the same link, or on a later one. The
// captures of each source are in order.
func tappedFrames(r *rand.Rand) (sources [2][]tapped, twice map[string]bool) {
	twice = map[string]bool{}
	at := 1000 * second
	doubled, later := r.IntN(4), r.Int64N(second/2)
	for id := range 20 + r.IntN(200) {
		at += r.Int64N(second / 4)
		n := r.IntN(6)
		f := event.Frame{Time: at + 500, Flow: event.Flow{Form: event.IPv4, Protocol: 17, SourcePort: uint16(n)}}
		for sw := range uint32(2) {
			in := at + int64(sw)*100
			f.Hops = append(f.Hops, event.Hop{Switch: sw + 1, In: 1, Out: 2, Arrival: in, Departure: in + 50})
		}
		first := n % 2
		sources[first] = append(sources[first], tapped{f, id})
		if n < doubled {
			twice[f.Flow.String()] = true
			if f.Time += later; n == 2 { // on a later link
				f.Hops = append(slices.Clone(f.Hops), event.Hop{Switch: 3, In: 1, Out: 2, Arrival: at + 300, Departure: at + 350})
			}
			sources[1-first] = append(sources[1-first], tapped{f, id})
		}
	}
	return sources, twice
}

// joinTapped joins the captures, and returns the rows, and the keys of the rows that count each frame.
func joinTapped(t *testing.T, r *rand.Rand, sources [2][]tapped) (hops []result.Hop, counted map[int][]rowKey) {
	const window = 5 * second
	now := time.Unix(0, 0)
	p := New("tailstamp-0", Options{Window: time.Duration(window)}, result.Position{}, now)
	counted = map[int][]rowKey{}
	add := func(w *event.Writer, watermark int64) {
		if err := p.Consume(p.Next(), slices.Clone(w.Finish(watermark)), now); err != nil {
			t.Fatal(err)
		}
		if cut := p.Cut(now, true); cut != nil {
			hops = append(hops, cut.Hops...)
		}
	}
	var writers [2]*event.Writer
	for i := range writers {
		writers[i], _ = event.NewWriter(result.Stamps, fmt.Sprint("tap", i))
		add(writers[i], second)
	}
	for len(sources[0])+len(sources[1]) > 0 {
		i := r.IntN(2)
		some := sources[i][:min(len(sources[i]), r.IntN(8))]
		sources[i] = sources[i][len(some):]
		watermark := second
		for _, c := range some {
			writers[i].Stamped(&c.Frame)
			watermark = c.Time - second
			key := rowKey{c.Time - c.Time%window, c.Flow.String(), newFramePath(c.Hops).text}
			counted[c.id] = append(counted[c.id], key)
		}
		if len(sources[i]) == 0 {
			watermark = event.Ended
		}
		add(writers[i], watermark)
	}
	return hops, counted
}

// Exactly the rows whose frames were captured twice are flagged. The only exception is the single frame of a flow that
// was captured on its way in one window, and on a later link in the next.
func TestTwice(t *testing.T) {
	racetest.Stepped(t)
	t.Parallel()
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 150}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		sources, twice := tappedFrames(r)
		hops, counted := joinTapped(t, r, sources)
		flagged, packets := map[rowKey]bool{}, int64(0)
		for _, h := range hops {
			flagged[rowKey{h.Window.Start, h.Flow, h.Path}] = h.Flags&result.Twice != 0
			if h.Index == 0 {
				packets += h.Packets
			}
			if h.Flags&result.Twice != 0 && !twice[h.Flow] {
				t.Errorf("%+v: flagged, and its frames were captured once", h)
			}
		}
		for id, rows := range counted {
			packets -= int64(len(rows))
			if len(rows) > 1 && (rows[0].start == rows[1].start || rows[0].path == rows[1].path) &&
				!slices.ContainsFunc(rows, func(k rowKey) bool { return flagged[k] }) {
				t.Errorf("frame %d is counted in rows %+v, of which none is flagged", id, rows)
			}
		}
		if packets != 0 {
			t.Errorf("%d packets more than were captured", packets)
		}
	})
}
