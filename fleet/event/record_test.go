package event

import (
	"encoding/hex"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"tamtam/collector"
	"tamtam/collector/journey"
	"tamtam/collector/result"
	"tamtam/internal/randtest"
	"tamtam/tam/record"
)

func randomCopy(r *rand.Rand) collector.RecordCopy {
	bytes := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	c := collector.RecordCopy{Key: journey.Key(bytes(1 + r.IntN(MaxKey))), TTL: r.IntN(257) - 1,
		Not: record.Classes(r.Uint32())}
	c.Record = record.Record{
		Bits: bytes(1 + r.IntN(record.MaxBits/8)), Switch: r.Uint32(), Plan: r.Uint32(), InPort: uint16(r.Uint32()),
		OutPort: uint16(r.Uint32()),
		In:      record.Time{Seconds: r.Uint64N(1 << 48), Nanoseconds: r.Uint32N(1e9)},
		At:      record.Time{Seconds: r.Uint64N(1 << 48), Nanoseconds: r.Uint32N(1e9)},
		Length:  r.Uint32(), Why: uint8(r.Uint32()), Unsynchronised: r.IntN(2) == 0, Old: r.IntN(4) == 0,
		ClockSet: r.IntN(2) == 0,
	}
	if !c.Old {
		c.Trap, c.Queue, c.NoRoom = uint8(r.Uint32()), uint8(r.Uint32()), r.IntN(2) == 0
		c.InLane, c.OutLane = uint16(r.Uint32()), uint16(r.Uint32())
		if n := r.IntN(60); n > 0 {
			c.Identities = bytes(n)
		}
	}
	if c.IsFlow = r.IntN(3) > 0; c.IsFlow {
		n := []int{4, 16}[r.IntN(2)]
		from, _ := netip.AddrFromSlice(bytes(n))
		to, _ := netip.AddrFromSlice(bytes(n))
		c.Flow = collector.Flow{Protocol: uint8(r.Uint32()), Source: from, Destination: to, SourcePort: uint16(r.Uint32()),
			DestPort: uint16(r.Uint32()), LaterFragment: r.IntN(5) == 0}
	}
	return c
}

// Copies of records are read from batches as they were written.
func TestRecords(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 914000000, Count: 200, Short: 50}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 7))
		w, err := NewWriter(result.Records, "leaf1")
		if err != nil {
			t.Fatal(err)
		}
		want := make([]collector.RecordCopy, 1+r.IntN(20))
		for i := range want {
			want[i] = randomCopy(r)
			if ok, err := w.AddRecord(int64(i), &want[i]); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		var read Reader
		if err := read.Open(w.Finish(1)); err != nil {
			t.Fatal(err)
		}
		blobs, err := read.Blobs()
		if err != nil || len(blobs) != len(want) {
			t.Fatalf("%d events, %v: want %d", len(blobs), err, len(want))
		}
		for i, b := range blobs {
			if got, err := ReadRecord(b); err != nil || b.Time != int64(i) || !reflect.DeepEqual(got, want[i]) {
				t.Errorf("%+v, %v: want %+v", got, err, want[i])
			}
		}
	})
}

// Impossible copies of records are refused, with the reason.
func TestRecordRefused(t *testing.T) {
	one := netip.MustParseAddr("10.0.0.1")
	for want, c := range map[string]collector.RecordCopy{
		"key of 0 bytes":     {},
		"key of 300 bytes":   {Key: journey.Key(strings.Repeat("k", 300))},
		"TTL 256":            {Key: "k", TTL: 256},
		"no flow, with flow": {Key: "k", Flow: collector.Flow{Protocol: 6}},
		"10.0.0.1 to ::1: want addresses": {Key: "k", IsFlow: true,
			Flow: collector.Flow{Source: one, Destination: netip.IPv6Loopback()}},
		"from invalid IP to invalid IP: w": {Key: "k", IsFlow: true},
	} {
		w, err := NewWriter(result.Records, "leaf1")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.AddRecord(1, &c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", c, err, want)
		}
	}
	tail := (&record.Record{Bits: []byte{1}}).Append(nil)
	for want, data := range map[string][]byte{
		"begins with":           {8, 0, 0, 0, 0},
		"addresses of 5 bytes":  {1, 0, 0, 5, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5},
		"ends before the key":   {0, 0, 0, 0, 0},
		"2 bytes before the re": append([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 'k', 1, 2}, tail...),
		"want at least the 40":  {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 'k'},
	} {
		if _, err := ReadRecord(Blob{Data: data}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%x: %v, want %q", data, err, want)
		}
	}
}

// Whatever is read as a record is written back as the same.
func FuzzReadRecord(f *testing.F) {
	for _, text := range []string{
		"05400004" + "0a0000010a000002" + "1103e80007" + "02" + "6b6b",
		"02000010" + strings.Repeat("20", 32) + "0600000000" + "01" + "6b", "00000000" + "0000000000" + "01" + "6b",
	} {
		b, err := hex.DecodeString(text)
		if err != nil {
			f.Fatal(err)
		}
		f.Add((&record.Record{Bits: []byte{1, 2}, Identities: []byte{3}, Switch: 7}).Append(b))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ReadRecord(Blob{Time: 1, Data: data})
		if err != nil {
			return
		}
		w, _ := NewWriter(result.Records, "leaf1")
		if ok, err := w.AddRecord(1, &c); err != nil || !ok {
			t.Fatal(ok, err)
		}
		var again Reader
		if err := again.Open(w.Finish(1)); err != nil {
			t.Fatal(err)
		}
		blobs, err := again.Blobs()
		if err != nil {
			t.Fatal(err)
		}
		if same, err := ReadRecord(blobs[0]); err != nil || !reflect.DeepEqual(same, c) {
			t.Errorf("%+v, %v: want %+v", same, err, c)
		}
	})
}
