package synthetic

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"time"

	"tamtam/fleet/event"
)

// A Shape is the size of a fleet, and its traffic.
type Shape struct {
	Leaves, Spines int
	Flows          int           // number of flows in total
	Alive          time.Duration // duration of a flow
	Stamps         int64         // number of stamps: three for each frame, from leaf, spine and leaf
	Time           time.Duration // total duration, in event time
	Every          time.Duration // interval at which a source sends its batches
	Partitions     int
	Seed           uint64
	Pace           int64 // maximum number of stamps per second of wall-clock time; 0 means no limit
}

// Check returns an error that explains why a shape is invalid.
func (s Shape) Check() error {
	switch {
	case s.Leaves < 2 || s.Spines < 1 || s.Leaves+s.Spines > 4096:
		return fmt.Errorf("%d leaves and %d spines: want 2 and 1 or more, 4096 together at most", s.Leaves, s.Spines)
	case s.Flows < 1 || s.Flows > 1<<31:
		return fmt.Errorf("%d flows: want 1 to %d", s.Flows, 1<<31)
	case s.Stamps < stampsOfFrame:
		return fmt.Errorf("%d stamps: want %d or more", s.Stamps, stampsOfFrame)
	case s.Time <= 0 || s.Every <= 0 || s.Alive <= 0 || s.Every > s.Time:
		return errors.New("the time of the whole, of a flow and between two messages must be above 0, the last the least")
	case s.Pace < 0:
		return fmt.Errorf("%d stamps each second: want 0 or more", s.Pace)
	case s.Partitions < 1 || s.Partitions > 1024:
		return fmt.Errorf("%d partitions: want 1 to 1024", s.Partitions)
	}
	return nil
}

const stampsOfFrame = 3

// began is the start of the event time of a fleet: in 2023.
const began = int64(1_700_000_000 * time.Second)

// A Total is the traffic of one switch.
type Total struct {
	Packets  int64
	Resident int64 // sum over all packets, in nanoseconds
}

type sent struct {
	frames int64
	totals []Total // totals by switch
}

// mix returns a random number from a seed and a number (splitmix64's finish).
func mix(seed, n uint64) uint64 {
	x := seed ^ n*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// upTo maps a random number to one below n.
func upTo(random uint64, n int) int {
	high, _ := bits.Mul64(random, uint64(n))
	return int(high)
}

// flow is the route of a flow. It is computed from the number of the flow, so that none needs to be stored.
type flow struct {
	from, spine, to int
	key             event.Flow
	partition       int
}

func (s *Shape) flow(number int) flow {
	r := mix(s.Seed, uint64(number))
	f := flow{from: upTo(r, s.Leaves), spine: upTo(mix(r, 1), s.Spines)}
	f.to = (f.from + 1 + upTo(mix(r, 2), s.Leaves-1)) % s.Leaves
	f.partition = upTo(mix(r, 3), s.Partitions)
	f.key = event.Flow{Form: event.IPv4, Protocol: 17, SourcePort: uint16(number), DestPort: 4791}
	binary.BigEndian.PutUint32(f.key.Source[12:], 10<<24|uint32(f.from)<<12|uint32(number>>16)&0xfff)
	binary.BigEndian.PutUint32(f.key.Destination[12:], 10<<24|uint32(f.to)<<12|uint32(number>>28))
	return f
}

// frame fills f with the n-th frame of the fleet, which has 3 hops.
func (s *Shape) frame(n, frames int64, f *event.Frame, total []Total) flow {
	at := began + int64(float64(s.Time)*(float64(n)/float64(frames)))
	r := mix(s.Seed+1, uint64(n))
	// Flows begin one after the other. The active ones are the last that have begun.
	alive := max(int(float64(s.Flows)*float64(s.Alive)/float64(s.Time)), 1)
	newest := int(float64(s.Flows+alive-1) * (float64(n) / float64(frames)))
	number := min(max(newest-upTo(r, alive), 0), s.Flows-1)
	path := s.flow(number)
	f.Flow = path.key
	ids := [stampsOfFrame]int{path.from, s.Leaves + path.spine, path.to}
	for i, id := range ids {
		r = mix(r, uint64(i))
		resident := 600 + int64(r>>56)*int64(r>>56)/64 // most are near 600 ns, some wait
		f.Hops[i] = event.Hop{Switch: uint32(id + 1), In: uint16(i), Out: uint16(path.to),
			Arrival: at, Departure: at + resident}
		total[id].Packets++
		total[id].Resident += resident
		at += resident + 250 // a cable of some 50 m
	}
	f.Time = f.Hops[stampsOfFrame-1].Departure
	return path
}
