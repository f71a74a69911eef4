package tailstamp_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/saisim/tailstamp"
)

// anyRecord returns a record as written by a switch of this century, with any switch, ports and flags.
func anyRecord(r *rand.Rand) tailstamp.Record {
	in := tailstamp.Timestamp{Seconds: 1 + r.Uint64N(1<<32-1), Nanoseconds: r.Uint32N(1e9)}
	out := tailstamp.Timestamp{Seconds: in.Seconds, Nanoseconds: r.Uint32N(1e9)}
	rec := tailstamp.Record{
		SwitchID: r.Uint32() >> r.IntN(32), InPort: uint16(r.Uint32()), OutPort: uint16(r.Uint32()), Ingress: in, Egress: out,
	}
	if r.IntN(4) == 0 {
		rec.Egress, rec.Flags = tailstamp.Timestamp{}, tailstamp.NoEgress
	}
	if r.IntN(4) == 0 {
		rec.Flags |= tailstamp.Unsynchronised
	}
	return rec
}

func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// anyDatagram returns a frame with an IP datagram after up to two VLAN tags, padded to the minimum. Its payload may
// look like records. end is the end of the datagram, and padded the maximum end of its padding.
func anyDatagram(r *rand.Rand) (frame []byte, end, padded int) {
	b := randomBytes(r, 12)
	tags := r.IntN(3)
	for range tags {
		b = append(b, 0x81, 0, byte(r.Uint32()), byte(r.Uint32()))
	}
	payload := randomBytes(r, r.IntN(80))
	for range r.IntN(3) {
		payload = tailstamp.V1{}.Append(payload, anyRecord(r))
	}
	payload = append(payload, randomBytes(r, r.IntN(3))...)
	if n := len(payload); r.IntN(2) == 0 {
		b = append(b, 8, 0, 0x45, 0, byte((n+20)>>8), byte(n+20), 0, 0, 0, 0, 64, 17)
		b = append(b, randomBytes(r, 10)...)
	} else {
		b = append(b, 0x86, 0xdd, 0x60, 0, 0, 0, byte(n>>8), byte(n), 59, 64)
		b = append(b, randomBytes(r, 32)...)
	}
	b = append(b, payload...)
	return append(b, make([]byte, max(0, 60-len(b)))...), len(b), 60 + 4*tags
}

// overlapped reports whether other bytes after the datagram, which ends at end, can be read as a record that overlaps
// the one at at.
func overlapped(frame []byte, end, at int) bool {
	for p := max(end, at-tailstamp.Size+1); p < at+tailstamp.Size && p+tailstamp.Size <= len(frame); p++ {
		if _, ok := (tailstamp.V1{}).Decode(frame[p:][:tailstamp.Size]); ok && p != at {
			return true
		}
	}
	return false
}

// Any bytes before, between or after records hide no record and move no hop, and they are counted. A record has a flag
// if it is not in its place, or if it overlaps bytes that can be read as another record. Other records have no flag.
func TestAnyBytesBetweenRecords(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 93_000_000, Count: 4}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 30))
		for range 5000 {
			frame, datagram, padded := anyDatagram(r)
			begin := len(frame)
			var want []tailstamp.Record
			var at []int
			skipped := 0
			strange := func() {
				if r.IntN(3) == 0 {
					b := randomBytes(r, 1+r.IntN(64))
					frame, skipped = append(frame, b...), skipped+len(b)
				}
			}
			records := r.IntN(5)
			if records > 0 {
				strange()
				skipped -= max(0, min(skipped, padded-begin)) // skipped bytes that could be padding
			}
			for i := range records {
				want, at = append(want, anyRecord(r)), append(at, len(frame))
				frame = tailstamp.V1{}.Append(frame, want[i])
				strange()
			}
			if end := len(frame); skipped > 0 {
				for i := records - 1; i >= 0; i-- {
					adjoins := at[i]+tailstamp.Size == end
					if adjoins {
						end = at[i]
					}
					if !adjoins || overlapped(frame, datagram, at[i]) {
						want[i].Flags |= tailstamp.Searched
					}
				}
			}
			got := tailstamp.ReadTail(frame)
			if len(at) > 0 {
				begin = at[0]
			}
			if !slices.Equal(got.Records, want) || got.Begin != begin {
				t.Fatalf("%x:\n got %+v\nwant %+v from %d", frame, got, want, begin)
			}
			if got.Skipped != skipped {
				t.Fatalf("%x: %d bytes skipped, want %d", frame, got.Skipped, skipped)
			}
		}
	})
}

// If bytes after a record look like the end of a record, there are two readings. The one that begins at the end of the
// padding is chosen, and flagged.
func TestOverlappingCandidates(t *testing.T) {
	for _, tt := range []struct {
		name, tail string
		switches   []uint32
		skipped    int
	}{
		{"behind one", rec1 + "00005a10", []uint32{1}, 4},
		{"behind two", rec1 + rec2 + "00005a10", []uint32{1, 2}, 4},
		{"behind the first of two", rec1 + "00005a10" + rec2, []uint32{1, 2}, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := tailstamp.ReadTail(unhex(t, macs+udp4+pad+tt.tail))
			var ids []uint32
			for _, r := range got.Records {
				ids = append(ids, r.SwitchID)
			}
			if !slices.Equal(ids, tt.switches) || got.Skipped != tt.skipped || got.Begin != 60 {
				t.Errorf("switches %v, %+v; want %v, %d bytes skipped", ids, got, tt.switches, tt.skipped)
			}
			if got.Records[0].Flags&tailstamp.Searched == 0 {
				t.Errorf("%+v: the first has no flag", got)
			}
		})
	}
}

// The probability that 32 random bytes are read as a record is the product over all fields, since the fields are
// independent.
func TestChance(t *testing.T) {
	good := tailstamp.V1{}.Append(nil, tailstamp.Record{SwitchID: 1})
	accepted := func(at int) (n int) {
		for v := range 256 {
			b := bytes.Clone(good)
			b[at] = byte(v)
			if _, ok := (tailstamp.V1{}).Decode(b); ok {
				n++
			}
		}
		return n
	}
	chance := 1.0
	for at := range tailstamp.Size {
		switch {
		case at >= 10 && at < 14 || at >= 20 && at < 24:
		default:
			chance *= float64(accepted(at)) / 256
		}
	}
	// Nanoseconds are below 10^9. TestNotARecord tests the limits.
	chance *= math.Pow(1e9/(1<<32), 2)
	if math.Abs(chance/tailstamp.Chance-1) > 1e-12 || tailstamp.Chance > 2.1e-10 {
		t.Errorf("%g, but the constant is %g", chance, tailstamp.Chance)
	}
	// docs/tailstamping.md states this for 10,000 frames with 64 random bytes.
	if p := 10_000 * (64 - tailstamp.Size + 1) * chance; p >= 1e-4 {
		t.Errorf("a false record in 10,000 frames with probability %g, want less than 1e-4", p)
	}
}
