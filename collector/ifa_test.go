package collector

import (
	"testing"
	"time"

	"tamtam/saisim/tailstamp"
	"tamtam/tam/ifa"
)

// Two switches stamp a packet and add their hops of IFA: both collectors say the same of its flow and path.
func TestIFAAndStampsSayTheSame(t *testing.T) {
	at := time.Unix(1_700_000_000, 500).UTC()
	plain := append([]byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0}, []byte{
		0x45, 0, 0, 46, 0, 0, 0, 0, 63, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 3, 232, 7, 208, 0, 26, 0, 0}...)
	plain = append(plain, make([]byte, 18)...)
	stamped, analysed := append([]byte(nil), plain...), append([]byte(nil), plain...)
	for hop, d := range []time.Duration{850, 1240} {
		stamped = tailstamp.V1{}.Append(stamped, tailstamp.Record{
			SwitchID: uint32(hop + 1), Ingress: tailstamp.At(at), Egress: tailstamp.At(at.Add(d)), InPort: 1, OutPort: 4,
		})
		h := ifa.Hop{
			Device: uint32(hop + 1), InPort: 1, OutPort: 4, Seconds: uint32(at.Unix()), Nanoseconds: uint32(at.Nanosecond()), Residence: uint32(d),
		}
		ip := analysed[14:]
		if hop == 0 {
			ip = ifa.Insert(append([]byte(nil), ip...), 20, 8, ifa.Header{GNS: ifa.PerHop, Next: 17, MaxLength: 255}, ifa.Metadata{HopLimit: 5}, &h)
		} else {
			p, err := ifa.Locate(ip)
			if err != nil {
				t.Fatal(err)
			}
			ip = p.Push(append([]byte(nil), ip...), &h)
		}
		analysed = append(analysed[:14:14], ip...)
		at = at.Add(d + 100)
	}
	a, b := NewTailStamp(0, 0, true), NewIFA(0, 0, true)
	captured := at.Add(time.Second)
	a.Add(stamped, captured, len(stamped))
	b.Add(analysed, captured, len(analysed))
	b.Add(plain, captured, len(plain))
	x, y := a.Report().Flows, b.Report().Flows
	if len(x) != 1 || len(y) != 1 || x[0].Flow != y[0].Flow || len(y[0].Paths) != 1 || y[0].SourcePort != 1000 {
		t.Fatalf("%+v\n%+v", x, y)
	}
	p, q := x[0].Paths[0], y[0].Paths[0]
	if p.EndToEnd != q.EndToEnd || len(p.Hops) != 2 || len(q.Hops) != 2 {
		t.Fatalf("%+v\n%+v", p, q)
	}
	for i := range p.Hops {
		if p.Hops[i].SwitchID != q.Hops[i].SwitchID || p.Hops[i].Latency != q.Hops[i].Latency {
			t.Errorf("hop %d: %+v, want %+v", i, q.Hops[i], p.Hops[i])
		}
	}
	if *p.Hops[1].Delay != *q.Hops[1].Delay {
		t.Errorf("delay %+v, want %+v", q.Hops[1].Delay, p.Hops[1].Delay)
	}
}

// A hop in a layout that nobody knows is not vouched for.
func TestOtherLayout(t *testing.T) {
	r := recordOf(&ifa.Hop{LNS: 1, Residence: ifa.Longest}, time.Unix(1_700_000_000, 0))
	if r.Flags != tailstamp.Unsynchronised|tailstamp.NoEgress || !r.Egress.IsZero() {
		t.Errorf("%+v", r)
	}
}

// A report, or what claims to be one, gives a part of the datagram or nothing; hops found in it are those of the frame.
func FuzzReported(f *testing.F) {
	set := append([]byte{0xff, 0, 0, 0}, make([]byte, 8)...)
	set = append(set, 64, 0, 0, 0, 1, 0, 0, 0, 3, 0, 4, 0xff, 0, 4, 1, 2, 3, 4)
	set[3] = byte(len(set))
	message := append([]byte{0, 10, 0, byte(16 + len(set))}, make([]byte, 12)...)
	payload := append(message, set...)
	n := byte(8 + len(payload))
	frame := append([]byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0, 0, 20 + n, 0, 0, 0, 0, 63, 17, 0, 0, 10, 0, 0, 1, 10, 0,
		0, 2, 3, 232, 7, 208, 0, n, 0, 0}, payload...)
	if section, ok := Reported(frame); !ok || len(section) != 4 || section[3] != 4 {
		f.Fatalf("%x of the report, %v", section, ok)
	}
	f.Add(frame)
	f.Add(frame[:len(frame)-1])
	f.Fuzz(func(t *testing.T, frame []byte) {
		section, ok := Reported(frame)
		if !ok && section != nil || len(section) > len(frame) {
			t.Fatalf("%x, %v", section, ok)
		}
		c := NewIFA(0, 0, false)
		records := c.Add(frame, time.Unix(0, 0), len(frame))
		r := c.Report()
		if r.Records != int64(len(records)) || r.Stamped+r.Plain+r.Cut != 1 || r.Mirrored+r.Reported > 1 {
			t.Fatalf("%d records, report %+v", len(records), r)
		}
	})
}
