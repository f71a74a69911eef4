// # FlyMon
//
// Groups of composable measurement units (CMUs), as the FlyMon paper (SIGCOMM
// 2022) has them, sit in the egress pipe. What a unit computes is said in
// [tamtam/flymon], what a group of them does with tasks in [tamtam/saisim/cmu]; here
// is what the chip gives them. Tasks are extension objects, docs/extensions.md.
//
// A packet is measured as a copy of it enters the egress pipe: each copy once, those
// of floods and those that the CPU has injected too, copies for mirror sessions and
// for the CPU not. It is measured whatever becomes of it in the egress pipe, before
// the program, the MTU and the egress ACL. Such copies are numbered from 1 on, whether
// there are tasks or not, since the switch object was created.
//
//   - The candidate key is of the headers as the frame came in: addresses if the IP
//     header is well-formed, the protocol behind IPv6 extension headers, ports if the
//     parser has found them (TCP, UDP, UDP-Lite, SCTP, DCCP, no later fragments).
//   - The time is the chip's time of day at the cycle in which the egress pipe takes
//     the copy, in whole nanoseconds since 1970, mod 2^64.
//   - The size is that of the frame as it leaves, with its VLAN tag and FCS, without a
//     tail-stamp record and without padding.
//   - The queue length is the bytes that its queue held when the copy came to it, without
//     it; the delay the cycles from then on, times 10^9 / ClockHz, rounded down to ns.
//
// All groups are passed at once, in the cycle of entry. Spliced groups (Appendix E)
// lie behind a recirculation port: a copy that a task with units there matches is
// mirrored at the end of the egress pipe. The mirror copy is the whole frame as it
// leaves, without a record, and 16 bytes of metadata: what the key, the time, the size
// and the queue were. With B the exact time of a byte at RecirculationMbps and L the
// frame's length with FCS and metadata, at least 64:
//
//	at the port  a   = entry + EgressStages*StageCycles + Deparser
//	sent         end = max(a, end') + (L+20) B            ': the mirror copy before
//	measured     ceil(end) + Parser + IngressStages*StageCycles + TrafficManager
//
// It is lost if end' is later than a + 32768 B: the port's buffer is full. In one
// cycle what is measured so comes behind frames that waited for the egress pipe, and
// before what leaves the ingress pipe. Mirror
// copies take no turn in the pipes, no room in the shared buffer and no place in the
// books, since nothing of them ever leaves.
//
// What control does takes effect, as everything does, at the cycle that the last
// Advance reached: copies that enter the egress pipe later see it. A mirror copy
// does not count for a task that began, or began anew, after its packet had entered.
// The switch object takes all tasks and mirror copies with it.
package saisim

import (
	"fmt"

	"tamtam/saisim/cmu"
	"tamtam/saisim/config"
	"tamtam/saisim/tm"
	"tamtam/tam/flymon"
)

// What a mirror copy carries beside its frame, and what the recirculation port
// holds, both in bytes.
const (
	recircMetadata = 16
	recircBuffer   = 32768
)

// sketching is the state of FlyMon.
type sketching struct {
	on     bool        // there are tasks
	groups *cmu.Groups // nil: there has been no task
	copies uint64      // that entered the egress pipe
	packet cmu.Packet  // that enters it now
	clock  nanoClock
	again  recirculation
}

// measure shows a copy that enters the egress pipe to the groups of CMUs.
func (c *engine) measure(cp *copyOf) {
	s := &c.sketch
	p, pk := &s.packet, cp.pk
	h := &pk.h
	p.Vector[5] = s.clock.read(c.tod.Load(), c.now)
	h.candidate(&p.Vector)
	p.Ports = h.flags&flagL4 != 0
	length := cp.leavingLen()
	p.Size, p.QueueBytes, p.QueueNS = uint32(length+fcsLen), cp.depth, 0
	if cp.queued != c.now {
		p.QueueNS, _ = mulDiv(uint64(c.now-cp.queued), nanos, c.prof.ClockHz)
	}
	p.Number = s.copies
	if s.groups.Run(p) {
		c.recirculate(length)
	}
}

// candidate fills the vector with what does not depend on time.
func (h *headers) candidate(v *flymon.Vector) {
	ports := uint64(h.l4src)<<48 | uint64(h.l4dst)<<32 | uint64(h.proto)<<24
	switch {
	case h.flags&flagIPv4 != 0:
		v[0], v[1], v[2], v[3], v[4] = h.src[1]<<32, 0, h.dst[1]<<32, 0, ports|4<<16
	case h.flags&flagIPv6 != 0:
		v[0], v[1], v[2], v[3], v[4] = h.src[0], h.src[1], h.dst[0], h.dst[1], ports|6<<16
	default:
		v[0], v[1], v[2], v[3], v[4] = 0, 0, 0, 0, 0
	}
}

// A nanoClock tells the time of day in nanoseconds at cycles that do not go back. It
// goes on from its last reading, which takes one short division.
type nanoClock struct {
	of   *timeOfDay
	at   Cycle
	ns   uint64
	rest uint64 // of a nanosecond, in units of 1/hz
}

func (k *nanoClock) read(t *timeOfDay, now Cycle) uint64 {
	s := &t.segments[len(t.segments)-1]
	if d := uint64(now - k.at); k.of == t && d < 1<<32 {
		r := k.rest + d*s.speed // below 8e9 + 2^32 * 1.2e9
		k.ns, k.rest = k.ns+r/t.hz, r%t.hz
	} else {
		seconds, rest := s.advance(t.hz, now)
		k.of, k.ns, k.rest = t, seconds*nanos+rest/t.hz, rest%t.hz
	}
	k.at = now
	return k.ns
}

// A recirculation is the port that leads to spliced groups.
type recirculation struct {
	rate lineRate
	free instant // when the port has sent all that it holds
	ring tm.Ring[secondPass]
}

// A secondPass is a mirror copy on its way.
type secondPass struct {
	at     Cycle
	packet cmu.Packet
}

// recirculate mirrors the copy that enters the egress pipe, which is length bytes
// long as it leaves.
func (c *engine) recirculate(length int) {
	s := &c.sketch
	r := &s.again
	a := instant{cycle: c.now + c.egressCycles}
	if r.rate.after(a, recircBuffer).before(r.free) {
		s.groups.LostAgain(&s.packet)
		return
	}
	if a.before(r.free) {
		a = r.free
	}
	r.free = r.rate.after(a, wireLen(length+recircMetadata)+preambleSFD+gap)
	r.ring.Push(secondPass{r.free.ceil() + c.ingressCycles, s.packet})
	if r.ring.Len() == 1 {
		c.agenda.push(c.now, event{r.ring.First().at, eventKey(classRecirculated, 0)})
	}
}

// recirculated shows the mirror copies that are due to the spliced groups.
func (c *engine) recirculated() {
	r := &c.sketch.again
	for r.ring.Len() > 0 && r.ring.First().at <= c.now {
		c.sketch.groups.RunAgain(&r.ring.First().packet)
		r.ring.Pop()
	}
	if r.ring.Len() > 0 {
		c.agenda.push(c.now, event{r.ring.First().at, eventKey(classRecirculated, 0)})
	}
}

// applySketch gives the groups a task, or takes it away.
func (c *engine) applySketch(r config.Sketch, gone bool) {
	g, err := c.sketchGroups()
	switch {
	case err != nil:
	case gone:
		g.Remove(r.Task)
	default:
		err = g.Apply(r.Layout)
	}
	if err != nil {
		panic(err) // rows are checked before
	}
	c.sketch.on = g.Busy()
}

// sketchGroups returns the groups of CMUs, which are made for the first task.
func (c *engine) sketchGroups() (*cmu.Groups, error) {
	s := &c.sketch
	if s.groups != nil {
		return s.groups, nil
	}
	g, err := cmu.New(c.prof.FlyMon.Geometry())
	if err != nil {
		return nil, fmt.Errorf("profile %q: %w", c.prof.Name, err)
	}
	g.SetOracle(c.cfg.Oracle)
	s.groups = g
	if c.prof.FlyMon.RecirculationMbps > 0 {
		s.again.rate = newLineRate(c.prof.ClockHz, c.prof.FlyMon.RecirculationMbps)
	}
	return g, nil
}
