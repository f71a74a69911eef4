//go:build unix

package join

import (
	"fmt"
	"net/netip"
	"slices"
	"syscall"
	"testing"
	"time"

	"tamtam/collector"
	"tamtam/collector/journey"
	"tamtam/collector/result"
	"tamtam/fleet/event"
	"tamtam/tam/record"
)

// cpuTime returns the CPU time that the process has used so far.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkJourneys joins the records of packets that pass five switches, 2,000 packets a second, to rows. It reports
// records by the CPU time of the whole process, including garbage collection.
func BenchmarkJourneys(b *testing.B) {
	const packets, hops, perBatch = 20_000, 5, 500
	x := &recording{}
	x.wire(hops)
	w, err := event.NewWriter(result.Records, "source")
	if err != nil {
		b.Fatal(err)
	}
	var messages [][]byte
	for i := range packets {
		at := 1000*second + int64(i)*second/2000
		for sw := range hops {
			c := collector.RecordCopy{Key: journey.Key(fmt.Sprintf("a packet with a key of 42 bytes %010d", i)), TTL: 64 - sw,
				IsFlow: true, Flow: collector.Flow{Protocol: 17, Source: netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}),
					Destination: netip.MustParseAddr("10.1.0.1"), SourcePort: 1000, DestPort: 80}}
			c.Record = record.Record{Bits: []byte{1, 2, 3}, Switch: uint32(sw + 1), Plan: 7, InPort: uint16(sw - 1),
				OutPort: uint16(sw + 1), In: timeOf(at + int64(sw)*10_000), At: timeOf(at + int64(sw)*10_000 + 900)}
			if sw == 0 {
				c.InPort = 99
			}
			if sw == hops-1 {
				c.OutPort = 99
			}
			if ok, err := w.AddRecord(at+int64(sw)*10_000, &c); !ok || err != nil {
				b.Fatal(ok, err)
			}
			if w.Events() == perBatch {
				messages = append(messages, slices.Clone(w.Finish(at)))
			}
		}
	}
	messages = append(messages, slices.Clone(w.Finish(event.Ended)))
	now := time.Unix(2000, 0)
	b.ReportAllocs()
	began := cpuTime(b)
	for b.Loop() {
		p, rows := New("record-0", Options{Topology: &x.net}, result.Position{}, now), 0
		for i, m := range messages {
			if err := p.Consume(uint64(i+1), m, now); err != nil {
				b.Fatal(err)
			}
			if i%10 == 0 || i == len(messages)-1 {
				if cut := p.Cut(now, true); cut != nil {
					for _, j := range cut.Journeys {
						rows += len(j.Hops)
					}
				}
			}
		}
		if rows != packets*hops {
			b.Fatalf("%d hops, want %d", rows, packets*hops)
		}
	}
	b.ReportMetric(float64(b.N)*packets*hops/(cpuTime(b)-began).Seconds(), "records/cpu-s")
}
