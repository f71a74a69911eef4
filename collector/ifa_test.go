package collector

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tamtam/saisim/tailstamp"
	"tamtam/tam/ifa"
)

// A packet with IFA has the same flow as without it, even if a capture includes only its ports. Its tail-stamp records
// belong to that flow.
func TestFlowThroughIFA(t *testing.T) {
	for _, plain := range [][]byte{web, cat(macs, ipv6(17, tcp)), video} {
		want, _ := ParseFlow(plain)
		l3, _ := networkOf(plain)
		at, size := 20, 8
		if plain[l3]>>4 == 6 {
			at = 40
		}
		if want.Protocol == protocolTCP {
			size = 20
		}
		with := cat(plain, make([]byte, 20)) // space for the transport header
		length := len(with) - l3
		if at == 20 {
			with[l3+2], with[l3+3] = byte(length>>8), byte(length)
		} else {
			with[l3+4], with[l3+5] = byte((length-40)>>8), byte(length-40)
		}
		with[l3+at+12] = 5 << 4
		ip := ifa.Insert(with[l3:], at, size, ifa.Header{GNS: ifa.PerHop, Next: want.Protocol, MaxLength: 255},
			ifa.Metadata{HopLimit: 5}, &ifa.Hop{})
		with = cat(with[:l3], ip)
		for _, n := range []int{len(with), l3 + at + ifa.HeaderSize + 4} {
			if got, ok := ParseFlow(with[:n]); !ok || got != want {
				t.Errorf("%d bytes of %x: %v, want %v", n, with, got, want)
			}
		}
		c := NewTailStamp(0, 0, false)
		frame := stamped(with, hop(1, 0, 4, 1, 2, 0))
		c.Add(frame, time.Unix(1000, 0), len(frame))
		if flows := c.Report().Flows; len(flows) != 1 || flows[0].Flow != want {
			t.Errorf("stamps of %+v, want %v", flows, want)
		}
	}
}

// Two switches stamp a packet and add IFA hops. Both collectors report the same flow and path.
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
			Device: uint32(hop + 1), InPort: 1, OutPort: 4, Seconds: uint32(at.Unix()), Nanoseconds: uint32(at.Nanosecond()),
			Residence: uint32(d),
		}
		ip := analysed[14:]
		if hop == 0 {
			ip = ifa.Insert(append([]byte(nil), ip...), 20, 8, ifa.Header{GNS: ifa.PerHop, Next: 17, MaxLength: 255},
				ifa.Metadata{HopLimit: 5}, &h)
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

// The report names the queues of hops, and their depths if the layout contains them. Stamps contain neither.
func TestIFAQueues(t *testing.T) {
	plain := append([]byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0}, []byte{
		0x45, 0, 0, 28, 0, 0, 0, 0, 63, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 3, 232, 7, 208, 0, 8, 0, 0}...)
	of := func(queue uint8, bytes uint32, other bool) []byte {
		h := ifa.Hop{Device: 7, InPort: 1, OutPort: 4, Seconds: 5, Residence: 9, Queue: queue, QueueBytes: bytes}
		ip := ifa.Insert(append([]byte(nil), plain[14:]...), 20, 8, ifa.Header{GNS: ifa.PerHop, Next: 17, MaxLength: 255},
			ifa.Metadata{}, &h)
		if at := len(ip) - ifa.HopSize; other {
			ip[at] = ip[at]&15 | 1<<4
		}
		return append(append([]byte(nil), plain[:14]...), ip...)
	}
	for _, c := range []struct {
		what   string
		frames [][]byte
		want   string
		json   string
	}{
		{"one", [][]byte{of(3, 0, false), of(3, 3000, false)}, "hop 1: queue 3, 0 to 3000 bytes in it, 1500 on average\n",
			`"queues":[3],"queue_bytes":{"frames":2,"min":0,"avg":1500,"max":3000}`},
		{"several", [][]byte{of(63, 10, false), of(0, 20, false)},
			"hop 1: queues 0, 63, 10 to 20 bytes in it, 15 on average\n",
			`"queues":[0,63],"queue_bytes":{"frames":2,"min":10,"avg":15,"max":20}`},
		{"another layout", [][]byte{of(1, 10, true)}, "hop 1: queue 1, what was in it is not known\n", `"queues":[1]}`},
		{"both", [][]byte{of(1, 10, true), of(1, 6, false)},
			"hop 1: queue 1, 6 to 6 bytes in it, 6 on average; not reported by 1 frame\n",
			`"queue_bytes":{"frames":1,"min":6,"avg":6,"max":6}`},
	} {
		s := NewIFA(0, 0, true)
		for _, f := range c.frames {
			s.Add(f, time.Unix(5, 0), len(f))
		}
		var text, line strings.Builder
		r := s.Report()
		if err := errors.Join(r.WriteText(&text), r.writeLine(&line)); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text.String(), c.want) || !strings.Contains(line.String(), c.json) {
			t.Errorf("%s:\n%s%s\nwant %s%s", c.what, text.String(), line.String(), c.want, c.json)
		}
	}
}

// The times of a hop in an unknown layout are not trusted.
func TestOtherLayout(t *testing.T) {
	r := recordOf(&ifa.Hop{LNS: 1, Residence: ifa.Longest}, time.Unix(1_700_000_000, 0))
	if r.Flags != tailstamp.Unsynchronised|tailstamp.NoEgress || !r.Egress.IsZero() {
		t.Errorf("%+v", r)
	}
}

// A report, or a datagram that resembles one, is read as a part of the datagram or not at all. The hops found in it are
// those of the frame.
func FuzzReported(f *testing.F) {
	set := append([]byte{0xff, 0, 0, 0}, make([]byte, 8)...)
	set = append(set, 64, 0, 0, 0, 1, 0, 0, 0, 3, 0, 4, 0xff, 0, 4, 1, 2, 3, 4)
	set[3] = byte(len(set))
	message := append([]byte{0, 10, 0, byte(16 + len(set))}, make([]byte, 12)...)
	payload := append(message, set...)
	n := byte(8 + len(payload))
	frame := append([]byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0, 0, 20 + n, 0, 0, 0, 0, 63, 17, 0, 0, 10, 0,
		0, 1, 10, 0,
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
		if r.Records != int64(len(records)) || r.Stamped+r.Plain+r.Cut+r.Unread+r.NoLength != 1 || r.Mirrored+r.Reported > 1 {
			t.Fatalf("%d records, report %+v", len(records), r)
		}
	})
}
