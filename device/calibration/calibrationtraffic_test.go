package calibration

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// classes is the number of packet classes: each task measures one of them.
const classes = 4

// flowOf is a UDP flow.
type flowOf struct {
	class    int
	src, dst [4]byte
	ports    [2]uint16
}

// valuesOf returns the key of a flow in the form that queries use.
func valuesOf(f flowOf, key string) string {
	ip := func(a [4]byte) string { return fmt.Sprintf("%d.%d.%d.%d", a[0], a[1], a[2], a[3]) }
	switch key {
	case "src-ip":
		return ip(f.src)
	case "dst-ip":
		return ip(f.dst)
	case "ip-pair":
		return ip(f.src) + "," + ip(f.dst)
	case "5-tuple":
		return fmt.Sprintf("%s,%s,%d,%d,17", ip(f.src), ip(f.dst), f.ports[0], f.ports[1])
	case "src-ip,dst-port":
		return fmt.Sprintf("%s,%d", ip(f.src), f.ports[1])
	case "src-port":
		return fmt.Sprint(f.ports[0])
	case "dst-port":
		return fmt.Sprint(f.ports[1])
	}
	return ""
}

// packetOf is a packet of a flow, with its epoch, 0 or 1, and its time since the start of that epoch.
type packetOf struct {
	flowOf
	epoch, port, size int // size without FCS
	at                time.Duration
}

// frame returns the received frame, with the packet's number in its last bytes.
func (p *packetOf) frame(number uint32) []byte {
	b := make([]byte, p.size)
	copy(b, []byte{2, 0, 0, 0, 0, 0x33, 2, 0, 0, 0, 0, byte(1 + p.port), 8, 0})
	ip := b[14:]
	ip[0], ip[8], ip[9] = 0x45, 9, 17
	binary.BigEndian.PutUint16(ip[2:], uint16(p.size-14))
	copy(ip[12:], p.src[:])
	copy(ip[16:], p.dst[:])
	sum := uint32(0)
	for i := 0; i < 20; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(ip[i:]))
	}
	binary.BigEndian.PutUint16(ip[10:], ^uint16(sum+sum>>16))
	udp := ip[20:]
	binary.BigEndian.PutUint16(udp, p.ports[0])
	binary.BigEndian.PutUint16(udp[2:], p.ports[1])
	binary.BigEndian.PutUint16(udp[4:], uint16(p.size-34))
	binary.BigEndian.PutUint32(b[len(b)-4:], number)
	return b
}

// A mixture is the traffic of two epochs.
type mixture struct {
	classes [classes][]flowOf // flows that may occur in the second epoch
	packets []*packetOf       // sorted by time, separately for each port
	hosts   int
}

// flow draws a flow of a class.
func (m *mixture) flow(r *rand.Rand, class int) flowOf {
	a, b := r.IntN(m.hosts), r.IntN(1+m.hosts/3)
	return flowOf{
		class: class, src: [4]byte{10, byte(class), byte(a >> 8), byte(a)},
		dst:   [4]byte{20, byte(class), byte(b >> 8), byte(b)},
		ports: [2]uint16{uint16(2000 + r.IntN(60000)), uint16(1000*(class+1) + r.IntN(1000))},
	}
}

// newMixture draws flows and packets of each class: their numbers, skew, sizes, the number of flows that the epochs
// have in common, and the burstiness.
func newMixture(r *rand.Rand, epoch time.Duration) *mixture {
	logarithmic := func(least, most float64) int { return int(least * math.Pow(most/least, r.Float64())) }
	m := &mixture{hosts: logarithmic(4, 4000)}
	var epochs [2][]*packetOf
	for class := range classes {
		flows, packets := logarithmic(3, 400), logarithmic(40, 1200)
		skew, common, large := 1.6*r.Float64(), r.Float64(), 64+r.IntN(1200)
		weights := make([]float64, flows)
		total := 0.0
		for i := range weights {
			total += math.Pow(float64(i+1), -skew)
			weights[i] = total
		}
		before := make([]flowOf, flows)
		now := make([]flowOf, flows)
		for i := range flows {
			now[i] = m.flow(r, class)
			if before[i] = now[i]; r.Float64() > common {
				before[i] = m.flow(r, class)
			}
		}
		for e, of := range [2][]flowOf{before, now} {
			for range max(1, int(float64(packets)*(0.3+0.7*r.Float64()))) {
				i, _ := slices.BinarySearch(weights, total*r.Float64())
				epochs[e] = append(epochs[e], &packetOf{flowOf: of[min(i, flows-1)], epoch: e, size: 60 + r.IntN(large)})
			}
		}
		m.classes[class] = now
	}
	for e := range epochs {
		r.Shuffle(len(epochs[e]), func(i, j int) { epochs[e][i], epochs[e][j] = epochs[e][j], epochs[e][i] })
		m.schedule(r, epochs[e], epoch)
	}
	return m
}

// schedule sets the times of packets, with a tenth of the epoch free at both ends. Bursts on two ports queue at their
// common egress port, within the limits of the buffer.
func (m *mixture) schedule(r *rand.Rand, packets []*packetOf, epoch time.Duration) {
	gap := epoch * 8 / 10 / time.Duration(len(packets))
	burst := 1 + r.IntN(20)
	var free [2]time.Duration
	for i, p := range packets {
		at := epoch/10 + time.Duration(i/burst*burst)*gap
		p.port = r.IntN(2)
		p.at = max(at, free[p.port])
		free[p.port] = p.at + time.Duration(p.size+24)*8/10 + 2
	}
	slices.SortStableFunc(packets, func(a, b *packetOf) int { return int(a.at - b.at) })
	m.packets = append(m.packets, packets...)
}
