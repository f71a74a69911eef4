package reference

import (
	"encoding/binary"
	"math/big"
	"math/bits"
	"net/netip"
	"slices"

	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/tam/flymon"
)

// This file implements FlyMon from the text of flymon, saisim/engine/measuring.go and saisim/cmu. It processes one
// packet after another, and addresses each word of a register separately.

// A measured is a copy in the form for groups of CMUs.
type measured struct {
	number   uint64 // number among the copies that entered the egress pipe
	vector   flymon.Vector
	src, dst netip.Addr // not valid if the packet is not IP
	ip       *ipHeader
	l4       *l4Header
	time     uint64 // ns since 1970
	size     uint64
	depth    uint64 // bytes in the queue
	delay    uint64 // in ns
}

// A bucket is the place of a word.
type bucket struct {
	group, cmu int
	address    uint32
}

// A sketch is a task.
type sketch struct {
	flymon.Layout
	status SketchStatus
	since  uint64 // number of the last copy before its units began with zeros
	keys   [2][]flymon.Vector
	frozen [2][]flymon.Vector // keys from the time when the frozen partitions counted
}

// A SketchStatus holds what an [flymon.ObjectStatus] read returns of a task.
type SketchStatus struct {
	Generation uint64        `json:"generation"`
	Banks      [2]SketchBank `json:"banks"`
	Frozen     [2]SketchBank `json:"frozen"`
	FrozenAt   uint64        `json:"frozen-at"`
}

// A SketchBank is the status of one bank of a task.
type SketchBank struct {
	Epoch       uint64 `json:"epoch"`
	Used        bool   `json:"used"`
	Dirty       bool   `json:"dirty"`
	Packets     uint64 `json:"packets"`
	Bytes       uint64 `json:"bytes"`
	Lost        uint64 `json:"lost"`
	Digests     int    `json:"digests"`
	DigestsLost uint64 `json:"digests-lost"`
	First       uint64 `json:"first"`
	Last        uint64 `json:"last"`
}

// sketching holds a chip's state of FlyMon.
type sketching struct {
	sketches map[string]*sketch
	words    map[bucket]uint32
	entered  uint64 // number of copies that entered the egress pipe
	lastTime uint64 // time of the last copy that entered while there were tasks
	zeroings uint64 // number of times that a part of a task began with zeros
	around   *wire  // wire of the recirculation port
	circling []circling
}

// A circling is a mirror copy on its way to spliced groups.
type circling struct {
	at saisim.Cycle
	m  measured
}

func newSketching(p profile.Profile) sketching {
	s := sketching{sketches: map[string]*sketch{}, words: map[bucket]uint32{}, around: newWire(0)}
	if p.FlyMon.RecirculationMbps > 0 {
		s.around.setSpeed(p.ClockHz, p.FlyMon.RecirculationMbps)
	}
	return s
}

// measure runs the groups for a copy that enters the egress pipe.
func (c *Chip) measure(o *outgoing) {
	c.entered++
	if len(c.sketches) == 0 {
		return
	}
	o.ranToo("chip.flymon", false)
	t := c.timeOfDay(c.now)
	m := measured{
		number: c.entered, ip: o.h.ip, l4: o.h.l4,
		time: t.Seconds*1_000_000_000 + uint64(t.Nanoseconds),
		size: uint64(o.lengthOut() + fcs), depth: uint64(o.depth),
	}
	waited := new(big.Int).SetUint64(uint64(c.now-o.queued) * 1_000_000_000)
	m.delay = waited.Quo(waited, new(big.Int).SetUint64(c.prof.ClockHz)).Uint64()
	c.lastTime = m.time
	m.fill()
	again := false
	for _, s := range c.sketches {
		if !s.wants(&m) {
			continue
		}
		if s.Units[0].Group < int(c.prof.FlyMon.Groups) {
			c.countPacket(s, &m)
		} else {
			again = true
		}
	}
	if again {
		c.circle(m, o.lengthOut())
	}
}

// fill sets the candidate key: addresses 16 bytes each, ports 2 each, protocol and version 1 each, 2 zero bytes, and
// the time.
func (m *measured) fill() {
	var b [48]byte
	if ip := m.ip; ip != nil {
		m.src, m.dst = netip.AddrFrom16(ip.src), netip.AddrFrom16(ip.dst)
		if ip.version == 4 {
			m.src, m.dst = netip.AddrFrom4([4]byte(ip.src[12:])), netip.AddrFrom4([4]byte(ip.dst[12:]))
		}
		copy(b[0:], m.src.AsSlice())
		copy(b[16:], m.dst.AsSlice())
		b[36], b[37] = ip.protocol, byte(ip.version)
	}
	if m.l4 != nil {
		binary.BigEndian.PutUint16(b[32:], m.l4.src)
		binary.BigEndian.PutUint16(b[34:], m.l4.dst)
	}
	binary.BigEndian.PutUint64(b[40:], m.time)
	for i := range m.vector {
		m.vector[i] = binary.BigEndian.Uint64(b[8*i:])
	}
}

// wants reports whether the task's filter matches, and the coin of some unit.
func (s *sketch) wants(m *measured) bool {
	f := &s.Filter
	in := func(p netip.Prefix, a netip.Addr) bool { return !p.IsValid() || p.Contains(a) }
	port := func(p flymon.Ports, of func(*l4Header) uint16) bool {
		return !p.Has || m.l4 != nil && of(m.l4) >= p.Lo && of(m.l4) <= p.Hi
	}
	switch {
	case f.Version != 0 && (m.ip == nil || m.ip.version != int(f.Version)),
		f.HasProtocol && (m.ip == nil || m.ip.protocol != f.Protocol),
		!in(f.SrcIP, m.src), !in(f.DstIP, m.dst),
		!port(f.SrcPort, func(l *l4Header) uint16 { return l.src }),
		!port(f.DstPort, func(l *l4Header) uint16 { return l.dst }):
		return false
	}
	return slices.ContainsFunc(s.Units, func(u flymon.Unit) bool { return runs(u, m.coin()) })
}

// coin returns 0 to 255, a hash of the copy's number: the finalizer of SplitMix64.
func (m *measured) coin() uint16 {
	x := m.number * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return uint16((x ^ x>>31) >> 56)
}

func runs(u flymon.Unit, coin uint16) bool {
	return u.From == 0 && u.To == 0 || u.From <= coin && coin < u.To
}

// countPacket counts a packet in a task.
func (c *Chip) countPacket(s *sketch, m *measured) {
	b := s.bank(m.time)
	s.status.Banks[b].Packets++
	s.status.Banks[b].Bytes += m.size
	s.status.Banks[b].Last = m.time
	c.Sketching("counted")
	results := make([]uint32, len(s.Units))
	for i, u := range s.Units {
		if runs(u, m.coin()) {
			p1, left, result := c.operate(s, u, b, results, m)
			results[i] = result
			if u.Op == flymon.Max {
				left = p1
			}
			if d := s.Digest; d != nil && d.Unit == i && left >= d.Threshold {
				c.digest(s, b, m)
			}
		} else {
			c.Sketching("a coin that is not the unit's")
		}
	}
}

// bank returns the bank of a time, which from now on counts its epoch.
func (s *sketch) bank(time uint64) int {
	epoch := uint64(0)
	if s.Epoch > 0 {
		epoch = time / s.Epoch
	}
	b := &s.status.Banks[epoch%2]
	switch {
	case !b.Used:
		b.Used, b.First, b.Last = true, time, time
	case b.Epoch != epoch:
		b.Dirty = true
	}
	b.Epoch = epoch
	return int(epoch % 2)
}

// operate runs a unit. It returns its first parameter, the new value of the bucket, and its result.
func (c *Chip) operate(s *sketch, u flymon.Unit, bank int, results []uint32, m *measured) (p1, left, result uint32) {
	wide := uint32(1)<<c.prof.FlyMon.Width - 1
	raw := c.compressed(s, u.Group, u.Key, m) % c.prof.FlyMon.Depth
	at := raw % u.Size
	if u.Shifted {
		at = raw / (c.prof.FlyMon.Depth / u.Size)
		c.Sketching("shifted")
	}
	at += u.Base + uint32(bank)*u.Size
	p1 = c.param(s, u, u.P1, results, m)
	if len(u.Map) > 0 {
		c.Sketching("map")
		p1 = mapped(u.Map, p1)
	}
	p1 &= wide
	p2 := c.param(s, u, u.P2, results, m) & wide
	word := bucket{u.Group, u.CMU, at}
	old := c.words[word]
	c.Sketching("op " + string(u.Op))
	left, result = operation(u.Op, old, p1, p2, wide)
	if u.Op == flymon.CondAdd && old >= p2 {
		c.Sketching("op cond-add, not")
	}
	c.words[word] = left
	return p1, left, result
}

// operation returns the new value of a bucket, and the result.
func operation(op flymon.Op, old, p1, p2, wide uint32) (left, result uint32) {
	switch {
	case op == flymon.CondAdd && old < p2:
		sum := (old + p1) & wide
		return sum, sum
	case op == flymon.Max && old < p1:
		return p1, p1
	case op == flymon.CondAdd, op == flymon.Max:
		return old, 0
	case op == flymon.AndOr && p2 == 0:
		return old & p1, old & p1
	case op == flymon.AndOr:
		return old | p1, (old | p1) - old // bits that are set now and were not before
	case p2 == 0:
		return old ^ p1, old
	}
	return p1, old
}

func mapped(rules []flymon.MapRule, p uint32) uint32 {
	for _, r := range rules {
		if p&r.Mask == r.Value&r.Mask {
			return r.Out
		}
	}
	return 0
}

// compressed returns a compressed key, rotated right. The key is that of one unit, or the XOR of the keys of two units.
func (c *Chip) compressed(s *sketch, group int, r flymon.Ref, m *measured) uint32 {
	of := func(unit int) uint32 {
		for _, rule := range s.Masks {
			if rule.Group == group && rule.Unit == unit {
				return flymon.Compress(flymon.Poly(group, unit), m.vector.And(rule.Key))
			}
		}
		return 0
	}
	key := of(r.A)
	if r.B > 0 {
		key ^= of(r.B - 1)
	}
	return bits.RotateLeft32(key, -int(r.Shift))
}

// param returns a parameter before it is mapped and cut.
func (c *Chip) param(s *sketch, u flymon.Unit, p flymon.Param, results []uint32, m *measured) uint32 {
	wide := uint64(1)<<c.prof.FlyMon.Width - 1
	c.Sketching("parameter " + string(p.From))
	stamp := m.time >> p.Scale & wide
	if stamp == 0 {
		stamp = 1
	}
	switch p.From {
	case flymon.Const:
		return p.Value
	case flymon.Size:
		return uint32(min(m.size, wide))
	case flymon.Timestamp:
		return uint32(stamp)
	case flymon.QueueLength:
		return uint32(min(m.depth>>p.Scale, wide))
	case flymon.QueueDelay:
		return uint32(min(m.delay>>p.Scale, wide))
	case flymon.Compressed:
		key := uint64(c.compressed(s, u.Group, p.Key, m))
		if p.Bits > 0 {
			key %= 1 << p.Bits
		}
		return uint32(key)
	case flymon.Result:
		return results[p.Of[0]]
	case flymon.Least:
		least := uint32(1<<32 - 1)
		if p.Value > 0 {
			least = p.Value
		}
		for _, i := range p.Of {
			if results[i] > 0 {
				least = min(least, results[i])
			}
		}
		return least
	default: // since
		if results[p.Of[0]] == 0 {
			c.Sketching("since nothing")
			return 0
		}
		if results[p.Of[1]] != 0 {
			return 0
		}
		return (uint32(stamp) - results[p.Of[0]]) & uint32(wide)
	}
}

// digest keeps the packet's key if it is new and the limit allows it.
func (c *Chip) digest(s *sketch, bank int, m *measured) {
	key := m.vector.And(s.Digest.Key)
	switch b := &s.status.Banks[bank]; {
	case slices.Contains(s.keys[bank], key):
	case b.Digests == int(c.prof.FlyMon.Digests):
		b.DigestsLost++
		c.Sketching("a digest lost")
	default:
		s.keys[bank] = append(s.keys[bank], key)
		b.Digests++
		c.Sketching("a digest")
	}
}

// Metadata that a mirror copy carries besides its frame, and the buffer of the recirculation port, in bytes.
const (
	circlingMetadata = 16
	circlingBuffer   = 32768
)

// circle sends a mirror copy of a frame to the recirculation port.
func (c *Chip) circle(m measured, length int) {
	at := cycle(c.now + saisim.Cycle(egressCycles(c.prof)))
	if c.around.free.Cmp(c.around.later(at, circlingBuffer)) > 0 {
		c.Sketching("lost")
		c.again(&m, func(s *sketch) { s.status.Banks[s.bank(m.time)].Lost++ })
		return
	}
	c.around.put(at, length+circlingMetadata)
	c.circling = append(c.circling, circling{ceil(c.around.free) + saisim.Cycle(len(c.ingress.slots)), m})
}

// arriveAgain runs the spliced groups for mirror copies that have passed both pipes.
func (c *Chip) arriveAgain() {
	for len(c.circling) > 0 && c.circling[0].at == c.now {
		m := c.circling[0].m
		c.circling = c.circling[1:]
		c.again(&m, func(s *sketch) {
			c.Sketching("counted behind the recirculation port")
			c.countPacket(s, &m)
		})
	}
}

// again calls do for each task with units in spliced groups that matches a packet.
func (c *Chip) again(m *measured, do func(*sketch)) {
	for _, s := range c.sketches {
		if s.Units[0].Group < int(c.prof.FlyMon.Groups) || !s.wants(m) {
			continue
		}
		if m.number <= s.since {
			c.Sketching("on its way as the task began")
			continue
		}
		do(s)
	}
}
