package sketching

import (
	"fmt"
	"math"
	"slices"

	"tamtam/lab"
	"tamtam/lab/chance"
	"tamtam/tam/flymon"
	"tamtam/tam/libm"
)

// A Traffic describes the packets of a study: generated ones, or those of a capture.
type Traffic struct {
	// Packets and Flows of an epoch, both exact. The k-th largest flow has a share proportional to 1/k^Zipf, and at
	// least one packet.
	Packets uint64          `yaml:"packets"`
	Flows   int             `yaml:"flows"`
	Zipf    lab.Thousandths `yaml:"zipf"`
	Time    lab.Time        `yaml:"time"` // duration over which the packets are spread
	// Lifetime is the average time during which a flow sends (exponential, cut at Time). Its packets come at random
	// times in it. Zero means all of Time.
	Lifetime lab.Time `yaml:"lifetime"`
	// Destinations of the flows, each of which has its own source. If it is zero, every flow also has its own
	// destination.
	Destinations Shares `yaml:"destinations"`
	Pcap         string `yaml:"pcap"` // a capture instead: its IP packets, with their times
}

// Shares describe things of which the k-th has a share proportional to 1/k^Zipf.
type Shares struct {
	Count int             `yaml:"count"`
	Zipf  lab.Thousandths `yaml:"zipf"`
}

// A sighting is a packet of the traffic.
type sighting struct {
	flow int32  // index of the flow in its traffic
	at   uint64 // ns of the time of day
	size uint32
}

// sightings are packets in the order of their times.
type sightings interface {
	// next returns false at the end, or with an error.
	next(*sighting) (bool, error)
	// keys returns the 5-tuples of the flows seen so far, by index.
	keys() []flymon.Vector
}

// shares divides total among n things, each at least 1, proportional to 1/k^s: the largest first. The first gets the
// remainder of the rounding.
func shares(total uint64, n int, s lab.Thousandths) []uint32 {
	weights := make([]float64, n)
	var sum float64
	for k := range weights {
		weights[k] = libm.Pow(float64(k+1), -float64(s)/1000)
		sum += weights[k]
	}
	// Small shares are raised to 1, which makes the factor of the others smaller. The factor is found by bisection,
	// since the sum increases with it.
	sizes := make([]uint32, n)
	fill := func(factor float64) (got uint64) {
		for k, w := range weights {
			sizes[k] = uint32(max(1, math.Round(factor*w)))
			got += uint64(sizes[k])
		}
		return got
	}
	lo, hi := 0.0, 2*float64(total)/sum
	for range 64 {
		if mid := (lo + hi) / 2; fill(mid) <= total {
			lo = mid
		} else {
			hi = mid
		}
	}
	sizes[0] += uint32(total - fill(lo))
	return sizes
}

// A crowd generates the packets of many flows. It holds flows, not packets: for each flow the number of packets left to
// send, and the time of the next.
type crowd struct {
	vectors []flymon.Vector
	chance  chance.Source
	waiting []flowState // flows sorted by the time of their first packet, descending
	active  []flowState // a heap with the earliest first
}

// A flowState is a flow with packets to send at random times before its end.
type flowState struct {
	at, end uint64 // ns since the start: of the next packet, and the flow's end
	flow    int32
	left    uint32 // number of packets left to send, including the next
}

// newCrowd generates the flows of a traffic. Sizes are the same for each seed. Addresses, ports and times depend on the
// seed and the name.
func newCrowd(t *Traffic, seed uint64, name string) *crowd {
	return newSidedCrowd(t, seed, name, anySide)
}

// anySide allows sources of all addresses; sides 0 and 1 require that first bit.
const anySide = 2

func newSidedCrowd(t *Traffic, seed uint64, name string, side uint32) *crowd {
	sizes := shares(t.Packets, t.Flows, t.Zipf)
	c := &crowd{vectors: makeFlows(t, seed, name, side), chance: chance.New(seed, name+"/times"),
		waiting: make([]flowState, t.Flows)}
	for i, n := range sizes {
		start, end := c.span(t)
		s := &c.waiting[i]
		*s = flowState{at: start, end: end, flow: int32(i), left: n}
		s.advance(&c.chance)
	}
	slices.SortFunc(c.waiting, func(a, b flowState) int {
		if behind(a, b) {
			return -1
		}
		return 1
	})
	return c
}

// span draws when a flow begins and ends.
func (c *crowd) span(t *Traffic) (start, end uint64) {
	whole := uint64(t.Time / lab.Nanosecond)
	if t.Lifetime == 0 {
		return 0, whole
	}
	length := min(whole, c.chance.Exponential(uint64(t.Lifetime/lab.Nanosecond)))
	start = c.chance.Below(whole - length + 1)
	return start, start + length
}

// advance moves the time to that of the next packet: the first of the remaining packets' uniform times between now and
// the end.
func (s *flowState) advance(r *chance.Source) {
	u := (float64(r.Next()>>11) + 0.5) / (1 << 53)
	gap := -libm.Expm1(libm.Log(u) / float64(s.left))
	s.at += uint64(gap * float64(s.end-s.at))
}

func behind(a, b flowState) bool { return a.at > b.at || a.at == b.at && a.flow > b.flow }

func (c *crowd) keys() []flymon.Vector { return c.vectors }

func (c *crowd) next(p *sighting) (bool, error) {
	if n := len(c.waiting); n > 0 && (len(c.active) == 0 || behind(c.active[0], c.waiting[n-1])) {
		s := c.waiting[n-1]
		c.waiting = c.waiting[:n-1]
		c.show(p, s)
		if s.left--; s.left > 0 {
			s.advance(&c.chance)
			c.push(s)
		}
		return true, nil
	}
	if len(c.active) == 0 {
		return false, nil
	}
	s := &c.active[0]
	c.show(p, *s)
	if s.left--; s.left > 0 {
		s.advance(&c.chance)
	} else {
		last := len(c.active) - 1
		c.active[0] = c.active[last]
		c.active = c.active[:last]
	}
	c.sink()
	return true, nil
}

func (c *crowd) show(p *sighting, s flowState) {
	*p = sighting{flow: s.flow, at: uint64(lab.Epoch().UnixNano()) + s.at, size: minFrame}
}

func (c *crowd) push(s flowState) {
	c.active = append(c.active, s)
	for i := len(c.active) - 1; i > 0; {
		up := (i - 1) / 2
		if !behind(c.active[up], c.active[i]) {
			break
		}
		c.active[up], c.active[i] = c.active[i], c.active[up]
		i = up
	}
}

// sink restores the heap after the time of its first flow has increased.
func (c *crowd) sink() {
	for i := 0; ; {
		least := i
		for k := 2*i + 1; k <= 2*i+2 && k < len(c.active); k++ {
			if behind(c.active[least], c.active[k]) {
				least = k
			}
		}
		if least == i {
			return
		}
		c.active[least], c.active[i] = c.active[i], c.active[least]
		i = least
	}
}

// makeFlows generates random IPv4 5-tuples. All sources differ, and without Destinations all destinations too.
func makeFlows(t *Traffic, seed uint64, name string, side uint32) []flymon.Vector {
	r := chance.New(seed, name+"/flows")
	from, to := newScatter(&r), newScatter(&r)
	target := make([]uint32, 0, t.Flows)
	if d := t.Destinations; d.Count > 0 {
		for k, n := range shares(uint64(t.Flows), d.Count, d.Zipf) {
			for range n {
				target = append(target, uint32(k))
			}
		}
		// Shuffled, so that large flows go to any destination.
		for i := len(target) - 1; i > 0; i-- {
			k := r.Below(uint64(i + 1))
			target[i], target[k] = target[k], target[i]
		}
	}
	list := make([]flymon.Vector, t.Flows)
	for i := range list {
		dst := uint32(i)
		if len(target) > 0 {
			dst = target[i]
		}
		src := from.of(uint32(i))
		for side != anySide && src>>31 != side {
			src = from.of(src) // a permutation returns to the side on which it began
		}
		ports := r.Next()
		protocol := uint64(6)
		if ports>>32%8 == 0 {
			protocol = 17
		}
		list[i] = flymon.Vector{0: uint64(src) << 32, 2: uint64(to.of(dst)) << 32, 4: ports<<32 | protocol<<24 | 4<<16}
	}
	return list
}

// A scatter is a random permutation of 32-bit numbers: four rounds of a Feistel network.
type scatter [4]uint64

func newScatter(r *chance.Source) (s scatter) {
	for i := range s {
		s[i] = r.Next()
	}
	return s
}

func (s *scatter) of(x uint32) uint32 {
	a, b := uint16(x>>16), uint16(x)
	for _, k := range s {
		f := chance.At(k ^ uint64(b))
		a, b = b, a^uint16(f.Next()>>40)
	}
	return uint32(a)<<16 | uint32(b)
}

// validate records the errors of the traffic.
func (t *Traffic) validate(v *lab.Validator, p string) {
	if t.Pcap != "" {
		return
	}
	v.Want(t.Flows >= 1 && t.Flows <= 4_000_000, p+".flows", t.Flows, "1 to 4000000, or pcap")
	v.Want(t.Packets >= uint64(max(0, t.Flows)) && t.Packets <= 200_000_000, p+".packets", t.Packets,
		"one for each of %d flows, 200000000 at most", t.Flows)
	v.Want(t.Zipf <= 4000, p+".zipf", t.Zipf, "0 to 4")
	v.Want(t.Time >= lab.Microsecond && t.Time <= 3600*lab.Second, p+".time", t.Time, "1us to 3600s")
	v.Want(t.Lifetime >= 0 && t.Lifetime <= 3600*lab.Second, p+".lifetime", t.Lifetime, "0s to 3600s")
	d := t.Destinations
	v.Want(d.Count >= 0 && d.Count <= max(0, t.Flows), p+".destinations.count", d.Count, "at most one for each flow")
	v.Want(d.Zipf <= 4000, p+".destinations.zipf", d.Zipf, "0 to 4")
}

// String describes the traffic, for reports.
func (t *Traffic) String() string {
	if t.Pcap != "" {
		return "capture " + t.Pcap
	}
	s := fmt.Sprintf("%d packets of %d flows, Zipf %v", t.Packets, t.Flows, t.Zipf)
	if t.Destinations.Count > 0 {
		s += fmt.Sprintf(", %d destinations, Zipf %v", t.Destinations.Count, t.Destinations.Zipf)
	}
	return s + fmt.Sprintf(", over %v", t.Time)
}
