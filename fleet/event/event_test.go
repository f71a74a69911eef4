package event

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/collector/result"
	"tamtam/fleet/stream"
	"tamtam/internal/randtest"
)

func randomFrame(r *rand.Rand) Frame {
	f := Frame{Time: 1_700_000_000_000_000_000 + r.Int64N(1e9)}
	switch r.IntN(3) {
	case 0:
		f.Flow.Form = IPv4
		binary.BigEndian.PutUint32(f.Flow.Source[12:], r.Uint32())
		binary.BigEndian.PutUint32(f.Flow.Destination[12:], r.Uint32())
	case 1:
		f.Flow.Form = IPv6
		binary.BigEndian.PutUint64(f.Flow.Source[:], r.Uint64())
		binary.BigEndian.PutUint64(f.Flow.Destination[8:], r.Uint64())
	}
	f.Flow.Protocol, f.Flow.SourcePort, f.Flow.DestPort = uint8(r.Uint32()), uint16(r.Uint32()), uint16(r.Uint32())
	if f.Flow.Form != 0 && r.IntN(10) == 0 {
		f.Flow.Form |= LaterFragment
	}
	for range r.IntN(9) {
		h := Hop{Switch: r.Uint32() >> r.IntN(32), In: uint16(r.Uint32()), Out: uint16(r.Uint32()),
			Flags: HopFlags(r.IntN(32))}
		if h.Flags&NoArrival == 0 {
			h.Arrival = int64(r.Uint64() >> (2 + r.IntN(62)))
		}
		if h.Flags&NoDeparture == 0 {
			h.Departure = int64(r.Uint64() >> (2 + r.IntN(62)))
		}
		f.Hops = append(f.Hops, h)
	}
	return f
}

// Frames are read from batches as they were written, and batches are full before they are sent.
func TestFrames(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 5}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 2))
		w, err := NewWriter(result.Stamps, "leaf1")
		if err != nil {
			t.Fatal(err)
		}
		var frames []Frame
		for number := uint64(1); number <= 3; {
			f := randomFrame(r)
			if w.Stamped(&f) {
				frames = append(frames, f)
				continue
			}
			wantBatch(t, w.Finish(int64(number)), number, frames)
			frames = nil
			number++
			if !w.Stamped(&f) {
				t.Fatal("a frame does not fit into an empty batch")
			}
			frames = append(frames, f)
		}
	})
}

func wantBatch(t *testing.T, data []byte, number uint64, frames []Frame) {
	t.Helper()
	if len(data) < stream.MaxData-frameMost-9*hopMost || len(data) > stream.MaxData {
		t.Errorf("a batch of %d bytes is sent as full", len(data))
	}
	var r Reader
	if err := r.Open(data); err != nil {
		t.Fatal(err)
	}
	got, err := r.Frames()
	if err != nil || r.Number != number || r.Watermark != int64(number) || r.Source != "leaf1" {
		t.Fatalf("%+v, %v", r.Header, err)
	}
	if !slices.EqualFunc(got, frames, equalFrame) {
		t.Fatal("frames came out other than they went in")
	}
}

func equalFrame(a, b Frame) bool {
	return a.Time == b.Time && a.Flow == b.Flow && slices.Equal(a.Hops, b.Hops)
}

// A batch whose header contradicts its contents is refused, with the reason.
func TestDamaged(t *testing.T) {
	batch := func(change func([]byte) []byte) []byte {
		w, _ := NewWriter(result.Records, "leaf1")
		for _, s := range []string{"one", "two"} {
			if ok, err := w.Add(7, []byte(s)); !ok || err != nil {
				t.Fatal(err)
			}
		}
		b := change(slices.Clone(w.Finish(math.MaxInt64)))
		return b
	}
	sealed := func(change func([]byte)) func([]byte) []byte {
		return func(b []byte) []byte {
			change(b)
			binary.BigEndian.PutUint32(b[len(b)-4:], crc32.Checksum(b[:len(b)-4], castagnoli))
			return b
		}
	}
	for _, tt := range []struct {
		what string
		data []byte
		want string
	}{
		{"short", batch(func(b []byte) []byte { return b[:48] }), "a batch of 48 bytes"},
		{"other version", batch(sealed(func(b []byte) { b[2] = 2 })), "version 1"},
		{"a bit", batch(func(b []byte) []byte { b[60]++; return b }), "checksum"},
		{"kind", batch(sealed(func(b []byte) { b[3] = 9 })), "kind 9"},
		{"number", batch(sealed(func(b []byte) { clear(b[atNumber : atNumber+8]) })), "number 0"},
		{"no name", batch(sealed(func(b []byte) { b[atNameSize] = 0 })), "name of 0 bytes"},
		{"more events", batch(sealed(func(b []byte) { b[atEvents+3] = 3 })), "declares 3 events"},
		{"fewer events", batch(sealed(func(b []byte) { b[atEvents+3] = 1 })), "bytes behind"},
		{"times", batch(sealed(func(b []byte) { b[atTo+7]-- })), "from 7 to 6"},
		{"other times", batch(sealed(func(b []byte) { b[atFrom+7]-- })), "from 7 to 7, and declares 6 to 7"},
	} {
		var r Reader
		err := r.Open(tt.data)
		if err == nil {
			_, err = r.Blobs()
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.what, err, tt.want)
		}
	}
}

var fourHops = Frame{
	Time: 1e18, Flow: Flow{Form: IPv4, Protocol: 17, SourcePort: 1234, DestPort: 80},
	Hops: slices.Repeat([]Hop{{Switch: 7, In: 3, Out: 4, Arrival: 1e18, Departure: 1e18 + 900}}, 4),
}

// Writing and reading of frames allocate nothing once buffers are large enough.
func TestAllocates(t *testing.T) {
	f := fourHops
	w, _ := NewWriter(result.Stamps, "leaf1")
	var r Reader
	n := testing.AllocsPerRun(10, func() {
		for w.Stamped(&f) {
		}
		if err := r.Open(w.Finish(0)); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Frames(); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations a batch, want 0", n)
	}
}

// Whatever is accepted as a batch is written back as the same events.
func FuzzOpen(f *testing.F) {
	for _, kind := range []result.Kind{result.Stamps, result.Drops} {
		w, _ := NewWriter(kind, "s")
		for range 3 {
			frame := fourHops
			w.Stamped(&frame)
			w.Add(1, []byte("drop"))
		}
		f.Add(slices.Clone(w.Finish(5)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) >= 4 { // with a valid checksum the rest of the batch is tested
			data = slices.Clone(data)
			binary.BigEndian.PutUint32(data[len(data)-4:], crc32.Checksum(data[:len(data)-4], castagnoli))
		}
		var r Reader
		if r.Open(data) != nil {
			return
		}
		w, err := NewWriter(r.Kind, r.Source)
		if err != nil {
			t.Fatal(err)
		}
		frames, blobs, err := events(&r)
		if err != nil {
			return
		}
		frames, blobs = slices.Clone(frames), slices.Clone(blobs)
		for i := range frames {
			frames[i].Hops = slices.Clone(frames[i].Hops)
			if !w.Stamped(&frames[i]) {
				return // its varints were longer than necessary
			}
		}
		for _, b := range blobs {
			if ok, err := w.Add(b.Time, b.Data); !ok || err != nil {
				return
			}
		}
		var again Reader
		if err := again.Open(w.Finish(r.Watermark)); err != nil {
			t.Fatal(err)
		}
		frames2, blobs2, err := events(&again)
		if err != nil || !slices.EqualFunc(frames, frames2, equalFrame) || len(blobs) != len(blobs2) {
			t.Fatalf("%v: other events the second time", err)
		}
	})
}

func events(r *Reader) ([]Frame, []Blob, error) {
	if r.Kind == result.Stamps {
		frames, err := r.Frames()
		return frames, nil, err
	}
	blobs, err := r.Blobs()
	return nil, blobs, err
}

func BenchmarkFrames(b *testing.B) {
	f := fourHops
	w, _ := NewWriter(result.Stamps, "leaf1")
	var r Reader
	stamps := 0
	for b.Loop() {
		for w.Stamped(&f) {
			stamps += len(f.Hops)
		}
		if err := r.Open(w.Finish(0)); err != nil {
			b.Fatal(err)
		}
		if _, err := r.Frames(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(stamps)/b.Elapsed().Seconds(), "stamps/s")
}

// A batch without events may contain the times of missing events; one with events does not.
func TestMiss(t *testing.T) {
	w, err := NewWriter(result.Drops, "leaf1")
	if err != nil {
		t.Fatal(err)
	}
	w.Miss(100, 200)
	var r Reader
	if err := r.Open(w.Finish(50)); err != nil || !r.Missing() || r.From != 100 || r.To != 200 || r.High != 0 {
		t.Errorf("%+v, %v: want 100 to 200 to be missing, and no event so far", r.Header, err)
	}
	if blobs, err := r.Blobs(); err != nil || len(blobs) != 0 {
		t.Errorf("%d events, %v: want none", len(blobs), err)
	}
	if err := r.Open(w.Finish(60)); err != nil || r.Missing() {
		t.Errorf("%+v, %v: want that nothing is missing", r.Header, err)
	}
	if _, err := w.AddDrop(70, &Drop{Switch: "leaf1", Reason: "acl", Packets: 1, Source: "ipfix"}); err != nil {
		t.Fatal(err)
	}
	if err := r.Open(w.Finish(70)); err != nil || r.Missing() || r.From != 70 || r.High != 70 {
		t.Errorf("%+v, %v: want one event, at 70", r.Header, err)
	}
}

// The name of a source contains its origin and its start time; other names do not.
func TestName(t *testing.T) {
	at := time.Unix(1_700_000_000, 5)
	if source, got, ok := Started(Name("host:a@b", at)); source != "host:a@b" || got != at.UnixNano() || !ok {
		t.Errorf("%q, %d, %v: want what went in", source, got, ok)
	}
	for _, name := range []string{"leaf1", "eth1@1-2", "@", "eth1@"} {
		if source, _, ok := Started(name); ok {
			t.Errorf("%q is taken for %q that was started: want none", name, source)
		}
	}
}
