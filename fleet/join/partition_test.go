package join

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tamtam/collector/result"
	"tamtam/fleet/event"
	"tamtam/fleet/stream"
	"tamtam/internal/racetest"
	"tamtam/internal/randtest"
)

const second = int64(time.Second)

// A sender is a source of the tests, with the batches that it sends.
type sender struct {
	batches [][]byte
	sent    int      // number of batches sent or lost
	arrived [][]byte // batches sent and not lost
}

type hopKey struct {
	start      int64
	flow, path string
	index      int
}

// A network sends frames from several sources. Its truth is counted from the frames, by other means than the join's.
type network struct {
	names   []string
	senders []*sender
	hops    map[hopKey]result.Distribution
	packets map[hopKey]int64
	windows map[int64]bool
	frames  int
	left    int64 // time at which the last frame left its last switch
}

func newNetwork(t *testing.T, r *rand.Rand, window int64) *network {
	n := &network{hops: map[hopKey]result.Distribution{}, packets: map[hopKey]int64{}, windows: map[int64]bool{}}
	for i := range 1 + r.IntN(4) {
		name := fmt.Sprint("leaf", i)
		w, err := event.NewWriter(result.Stamps, name)
		if err != nil {
			t.Fatal(err)
		}
		s := &sender{}
		at := 1000 * second
		for range 1 + r.IntN(12) {
			for range r.IntN(20) { // some batches contain only a watermark
				f := randomFrame(r, at+r.Int64N(3*second))
				n.inOrder(&f, i)
				w.Stamped(&f)
				n.count(&f, window)
			}
			at += r.Int64N(2 * second)
			s.batches = append(s.batches, slices.Clone(w.Finish(at)))
		}
		s.batches = append(s.batches, slices.Clone(w.Finish(event.Ended)))
		n.names, n.senders = append(n.names, name), append(n.senders, s)
	}
	return n
}

// inOrder moves a frame of a flow of its source after all earlier frames: none is captured twice.
func (n *network) inOrder(f *event.Frame, source int) {
	f.Flow.SourcePort += uint16(100 * source)
	for i := range f.Hops {
		h := &f.Hops[i]
		resident := h.Departure - h.Arrival
		n.left += 1 + n.left%100
		if h.Arrival = n.left; h.Flags&event.NoDeparture == 0 {
			n.left += resident
			h.Departure = n.left
		}
	}
}

func randomFrame(r *rand.Rand, at int64) event.Frame {
	f := event.Frame{Time: at, Flow: event.Flow{Form: event.IPv4, Protocol: 17, SourcePort: uint16(r.IntN(5)),
		DestPort: 80}}
	hops := 1 + r.IntN(3)
	for range hops { // no path is the beginning of another one
		h := event.Hop{Switch: uint32(r.IntN(2)), In: uint16(hops), Out: uint16(r.IntN(2)), Arrival: at,
			Departure: at + r.Int64N(5000)}
		if r.IntN(10) == 0 {
			h.Flags, h.Departure = event.NoDeparture, 0
		}
		f.Hops = append(f.Hops, h)
		at = h.Departure + r.Int64N(100)
	}
	return f
}

func (n *network) count(f *event.Frame, window int64) {
	start := f.Time / window * window
	n.windows[start] = true
	n.frames++
	path := newFramePath(f.Hops).text
	for i, h := range f.Hops {
		key := hopKey{start, f.Flow.String(), path, i}
		d := n.hops[key]
		if h.Flags&event.NoDeparture == 0 {
			v := h.Departure - h.Arrival
			d.Add(result.Distribution{Count: 1, Sum: v, Min: v, Max: v, First: result.Bucket(v), Buckets: []uint32{1}})
		}
		n.hops[key] = d
		n.packets[key]++
	}
}

// deliver appends the batches to the log as a network would: in the order of each source, some of them twice.
func (n *network) deliver(t *testing.T, r *rand.Rand, log stream.Log, lose float64) (appended, lost int) {
	for {
		var ready []*sender
		for _, s := range n.senders {
			if s.sent < len(s.batches) {
				ready = append(ready, s)
			}
		}
		if len(ready) == 0 {
			return appended, lost
		}
		s := ready[r.IntN(len(ready))]
		batch := s.batches[s.sent]
		switch {
		case r.IntN(3) == 0 && len(s.arrived) > 0:
			batch = s.arrived[r.IntN(len(s.arrived))]
		case r.Float64() < lose && s.sent < len(s.batches)-1:
			s.sent++
			lost++
			continue
		default:
			s.sent++
			s.arrived = append(s.arrived, batch)
		}
		if _, err := log.Append(t.Context(), "stamps-0", "", batch); err != nil {
			t.Fatal(err)
		}
		appended++
	}
}

// work joins the messages of the log with two concurrent workers. They end at random, before and after they have stored
// or acknowledged their batches.
func work(t *testing.T, r *rand.Rand, log stream.Log, o Options, messages int) *result.Memory {
	return workAs(t, r, log, func() Options { return o }, messages)
}

// workAs works like work, with workers that each have other options.
func workAs(t *testing.T, r *rand.Rand, log stream.Log, o func() Options, messages int) *result.Memory {
	store := result.NewMemory(0)
	now := time.Unix(0, 0)
	workers := make([]*Partition, 2)
	for {
		i := r.IntN(2)
		if workers[i] == nil || r.IntN(20) == 0 {
			at, err := store.Last(t.Context(), "stamps-0")
			if err != nil {
				t.Fatal(err)
			}
			workers[i] = New("stamps-0", o(), at, now)
		}
		p := workers[i]
		if p.Next() > uint64(messages) {
			if b := p.Cut(now, true); b == nil || !put(t, r, log, store, b) {
				workers[i] = nil
			}
			if at, _ := store.Last(t.Context(), "stamps-0"); at.Last == uint64(messages) {
				return store
			}
			continue
		}
		entries, err := log.Read(t.Context(), "stamps-0", p.Next(), 1+r.IntN(5))
		if err != nil {
			workers[i] = nil // the other worker has acknowledged the message at that position
			continue
		}
		for _, e := range entries {
			if err := p.Consume(e.Seq, e.Data, now); err != nil {
				t.Fatal(err)
			}
		}
		if b := p.Cut(now, r.IntN(9) == 0); b != nil && !put(t, r, log, store, b) {
			workers[i] = nil
		}
	}
}

// put keeps a batch as a Worker does. It returns false if the worker was overtaken or ended.
func put(t *testing.T, r *rand.Rand, log stream.Log, store result.Store, b *result.Batch) bool {
	if r.IntN(10) == 0 {
		return false
	}
	kept, err := store.Put(t.Context(), b)
	if err != nil {
		return false // some of its messages are in a batch of the other worker
	}
	if kept && r.IntN(2) == 0 {
		if err := log.Acknowledge(t.Context(), "stamps-0", b.Low-1); err != nil {
			t.Fatal(err)
		}
	}
	return kept
}

// Whatever the order of the sources, the repeated messages and the workers that end: the rows add up to the frames that
// were sent. None is missing, doubled or flagged.
func TestExactlyOnce(t *testing.T) {
	racetest.Stepped(t)
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 150}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 7))
		o := Options{Window: time.Duration(1+r.IntN(3)) * time.Second, Silence: time.Hour}
		n := newNetwork(t, r, int64(o.Window))
		o.Expect = n.names
		log := stream.NewMemory(0)
		messages, _ := n.deliver(t, r, log, 0)
		got, flags := sum(t, work(t, r, log, o, messages))
		for key, want := range n.hops {
			if d := got[key]; !equal(d, want) {
				t.Errorf("%+v: %+v, want %+v", key, d, want)
			}
		}
		if len(got) != len(n.hops) {
			t.Errorf("%d rows, want %d", len(got), len(n.hops))
		}
		for start, f := range flags {
			if f != 0 {
				t.Errorf("window %d is flagged %v", start, f)
			}
		}
	})
}

// When batches are lost, or sources appear that were not expected, a window without a flag is exact all the same.
func TestFlagged(t *testing.T) {
	racetest.Stepped(t)
	exact := 0
	fixed := randtest.Cases{Seed: 1, Count: 150}
	run := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 8))
		o := Options{Window: time.Duration(1+r.IntN(3)) * time.Second, Silence: time.Hour}
		n := newNetwork(t, r, int64(o.Window))
		log := stream.NewMemory(0)
		messages, lost := n.deliver(t, r, log, 0.1)
		store := work(t, r, log, o, messages)
		got, flags := sum(t, store)
		for key, want := range n.hops {
			if f, found := flags[key.start]; found && f == 0 && equal(got[key], want) {
				exact++
			} else if found && f == 0 {
				t.Errorf("%+v: %+v without a flag, want %+v", key, got[key], want)
			}
		}
		at, _ := store.Last(t.Context(), "stamps-0")
		for _, s := range at.Sources {
			lost -= int(s.Lost)
		}
		if lost != 0 {
			t.Errorf("%d batches more were lost than the sources tell", lost)
		}
	})
	if exact == 0 && run.Whole(fixed) {
		t.Error("no window without flags was seen")
	}
}

// Workers whose window length differs from the previous worker's double nothing and lose nothing, and a window without
// a flag is complete.
func TestOtherWindows(t *testing.T) {
	racetest.Stepped(t)
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 150}, func(t *testing.T, seed uint64) {
		var networks [3]*network // the same network, counted in windows of 1 to 3 seconds
		for i := range networks {
			networks[i] = newNetwork(t, rand.New(rand.NewPCG(seed, 9)), int64(i+1)*second)
		}
		r := rand.New(rand.NewPCG(seed, 10))
		log := stream.NewMemory(0)
		messages, _ := networks[0].deliver(t, r, log, 0)
		store := workAs(t, r, log, func() Options {
			return Options{Window: time.Duration(1+r.IntN(3)) * time.Second, Silence: time.Hour}
		}, messages)
		rows := map[result.Window]map[hopKey]int64{}
		flagged := map[result.Window]bool{}
		all := 0
		err := store.Each(t.Context(), 0, event.MaxTime, func(b *result.Batch) bool {
			for _, h := range b.Hops {
				if rows[h.Window] == nil {
					rows[h.Window] = map[hopKey]int64{}
				}
				rows[h.Window][hopKey{h.Window.Start, h.Flow, h.Path, h.Index}] += h.Packets
				flagged[h.Window] = flagged[h.Window] || h.Flags != 0
				if h.Index == 0 {
					all += int(h.Packets)
				}
			}
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		if all != networks[0].frames {
			t.Errorf("%d frames in the rows, want %d", all, networks[0].frames)
		}
		uncertain := func(w result.Window) bool { // late events may be in a window of another length
			return slices.ContainsFunc(slices.Collect(maps.Keys(flagged)), func(f result.Window) bool {
				return flagged[f] && f.Start < w.Start+w.Length && f.Start+f.Length > w.Start
			})
		}
		for window, hops := range rows {
			for key, packets := range hops {
				want := networks[window.Length/second-1].packets[key]
				if packets != want && !uncertain(window) {
					t.Errorf("%+v, %+v: %d packets without a flag, want %d", window, key, packets, want)
				}
			}
		}
	})
}

// Lost messages may have held a whole window, and so may the messages of a silent source: where no row can be flagged,
// amendments report it.
func TestUncertainWithoutRows(t *testing.T) {
	send := func(w *event.Writer, watermark int64, times ...int64) []byte {
		for _, at := range times {
			w.Stamped(&event.Frame{Time: at * second, Hops: []event.Hop{{Switch: 1}}})
		}
		if watermark != event.Ended {
			watermark *= second
		}
		return slices.Clone(w.Finish(watermark))
	}
	for _, silent := range []bool{false, true} {
		p := New("stamps-0", Options{}, result.Position{Closed: 1000 * second}, time.Unix(0, 0))
		leaf1, _ := event.NewWriter(result.Stamps, "leaf1")
		leaf2, _ := event.NewWriter(result.Stamps, "leaf2")
		messages := [][]byte{send(leaf1, 1000, 1000), send(leaf2, 1000, 1000)}
		want, now := result.Gap, time.Unix(1, 0)
		if send(leaf1, 1040, 1010, 1020); silent {
			want, now = result.Silent, time.Unix(100, 0)
		} else {
			messages = append(messages, send(leaf1, 1050, 1050))
		}
		messages = append(messages, send(leaf2, 1050))
		for i, m := range messages {
			at := time.Unix(1, 0)
			if i == len(messages)-1 {
				at = now
			}
			if err := p.Consume(uint64(i+1), m, at); err != nil {
				t.Fatal(err)
			}
		}
		b := p.Cut(now, true)
		if len(b.Hops) != 1 || b.Hops[0].Flags != want || b.Closed != 1050*second {
			t.Errorf("%+v, closed %d: want one window with rows, with the flag %d", b.Hops, b.Closed, want)
		}
		whole := result.Amend{From: 1000 * second, To: 1050*second - 1, Flags: want}
		if !slices.Equal(b.Amends, []result.Amend{whole}) {
			t.Errorf("%+v: want %+v for the windows without rows", b.Amends, whole)
		}
	}
}

// sum adds up the rows of a store, and the flags of each window.
func sum(t *testing.T, store *result.Memory) (map[hopKey]result.Distribution, map[int64]result.Flags) {
	hops, flags := map[hopKey]result.Distribution{}, map[int64]result.Flags{}
	var amends []result.Amend
	var length int64
	err := store.Each(context.Background(), 0, event.MaxTime, func(b *result.Batch) bool {
		for _, h := range b.Hops {
			key := hopKey{h.Window.Start, h.Flow, h.Path, h.Index}
			d := hops[key]
			d.Add(h.Resident)
			hops[key] = d
			flags[h.Window.Start] |= h.Flags
			length = h.Window.Length
			if h.Resident.Count+h.Unknown != h.Packets {
				t.Errorf("%+v: %d residences known and %d not, of %d packets", key, h.Resident.Count, h.Unknown, h.Packets)
			}
		}
		amends = append(amends, b.Amends...)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	for start := range flags {
		for _, a := range amends {
			if a.From < start+length && a.To >= start {
				flags[start] |= a.Flags
			}
		}
	}
	return hops, flags
}

func equal(a, b result.Distribution) bool {
	return a.Count == b.Count && a.Sum == b.Sum && a.Min == b.Min && a.Max == b.Max && a.First == b.First &&
		slices.Equal(a.Buckets, b.Buckets)
}
