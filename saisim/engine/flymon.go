package engine

import (
	"encoding/binary"
	"fmt"

	"tamtam/saisim/cmu"
	"tamtam/saisim/config"
	"tamtam/saisim/describe"
	"tamtam/saisim/tm"
	"tamtam/tam/flymon"
)

// Metadata that a mirror copy carries besides its frame, and the buffer of the recirculation port, both in bytes.
const (
	recircMetadata = 16
	recircBuffer   = 32768
)

// sketching is the state of FlyMon.
type sketching struct {
	*core
	on     bool        // true while there are tasks
	groups *cmu.Groups // nil if there has been no task
	copies uint64      // number of copies that entered the egress pipe
	packet cmu.Packet  // packet that enters the groups now
	again  recirculation
	lanes  int // maximum number of packets that run together in the groups
	oracle int // number of flows of a task and bank that are counted exactly
}

func (c *sketching) reset() { *c = sketching{core: c.core, lanes: c.lanes, oracle: c.oracle} }

// setLanes sets the maximum number of packets that run together in the groups.
func (c *sketching) setLanes(n int) {
	c.lanes = n
	if c.groups != nil {
		c.groups.SetLanes(n)
	}
}

// count counts a copy in the sketches, if there are tasks, and returns the mark that they ran.
func (c *sketching) count(cp *copyOf) describe.Marks {
	c.copies++
	if !c.on {
		return 0
	}
	c.measure(cp)
	return describe.FlyMon.Ran()
}

// measure runs the groups of CMUs for a copy that enters the egress pipe.
func (c *sketching) measure(cp *copyOf) {
	p, pk := &c.packet, cp.pk
	t, _ := c.timeOfDay(c.now)
	p.Vector[5] = t.Seconds*nanos + uint64(t.Nanoseconds)
	if h := &pk.h; pk.usual {
		usualCandidate(pk.data, &p.Vector)
		p.Ports = true
	} else {
		h.candidate(&p.Vector)
		p.Ports = h.flags&flagL4 != 0
	}
	length := cp.leavingLen()
	p.Size, p.QueueBytes, p.QueueNS = uint32(length+fcsLen), cp.depth, 0
	if cp.queued != c.now {
		p.QueueNS, _ = mulDiv(uint64(c.now-cp.queued), nanos, c.prof.ClockHz)
	}
	p.Number = c.copies
	if c.groups.Run(p) {
		c.recirculate(length)
	}
}

// candidate fills in the words of the vector that do not depend on time.
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

// usualCandidate does candidate for a frame that usualIPv4 accepted, without its parsed headers.
func usualCandidate(data []byte, v *flymon.Vector) {
	ip := data[ethernetHeader:]
	_ = ip[23]
	ports := uint64(binary.BigEndian.Uint32(ip[20:]))<<32 | uint64(ip[9])<<24
	v[0], v[1] = uint64(binary.BigEndian.Uint32(ip[12:]))<<32, 0
	v[2], v[3], v[4] = uint64(binary.BigEndian.Uint32(ip[16:]))<<32, 0, ports|4<<16
}

// A recirculation is the port that leads to spliced groups.
type recirculation struct {
	rate lineRate
	free instant // time at which the port has sent everything that it holds
	ring tm.Ring[secondPass]
}

// A secondPass is a mirror copy that has not reached the spliced groups yet.
type secondPass struct {
	at     Cycle
	packet cmu.Packet
}

// recirculate mirrors the copy that enters the egress pipe. length is its length in bytes as it leaves.
func (c *sketching) recirculate(length int) {
	r := &c.again
	a := instant{cycle: c.now + c.egressCycles}
	if r.rate.after(a, r.rate.span(recircBuffer)).before(r.free) {
		c.groups.LostAgain(&c.packet)
		return
	}
	if a.before(r.free) {
		a = r.free
	}
	r.free = r.rate.after(a, r.rate.span(WireLen(length+recircMetadata)+PreambleSFD+gap))
	r.ring.Push(secondPass{r.free.ceil() + c.ingressCycles, c.packet})
	if r.ring.Len() == 1 {
		c.agenda.push(c.now, event{r.ring.First().at, eventKey(classRecirculated, 0)})
	}
}

// recirculated runs the spliced groups for the mirror copies that are due.
func (c *sketching) recirculated() {
	r := &c.again
	for r.ring.Len() > 0 && r.ring.First().at <= c.now {
		c.groups.RunAgain(&r.ring.First().packet)
		r.ring.Pop()
	}
	if r.ring.Len() > 0 {
		c.agenda.push(c.now, event{r.ring.First().at, eventKey(classRecirculated, 0)})
	}
}

// apply adds a task to the groups, or removes it.
func (s *sketching) apply(r config.Sketch, gone bool) {
	g, err := s.make()
	switch {
	case err != nil:
	case gone:
		g.Remove(r.Task)
	default:
		err = g.Apply(r.Layout)
	}
	if err != nil {
		panic(err) // cannot happen: rows are checked before
	}
	s.on = g.Busy()
}

// make returns the groups of CMUs, which are created with the first task.
func (s *sketching) make() (*cmu.Groups, error) {
	if s.groups != nil {
		return s.groups, nil
	}
	g, err := cmu.New(s.prof.FlyMon.Geometry())
	if err != nil {
		return nil, fmt.Errorf("profile %q: %w", s.prof.Name, err)
	}
	g.SetOracle(s.oracle)
	g.SetLanes(s.lanes)
	s.groups = g
	if s.prof.FlyMon.RecirculationMbps > 0 {
		s.again.rate = newLineRate(s.prof.ClockHz, s.prof.FlyMon.RecirculationMbps)
	}
	return g, nil
}

// check returns an error if the groups cannot add a task in their current state.
func (s *sketching) check(l *flymon.Layout) error {
	g, err := s.make()
	if err != nil {
		return err
	}
	return g.Check(l)
}

// status returns the status of a task, and false if no task has that name.
func (s *sketching) status(task string) (flymon.ChipStatus, bool) {
	if s.groups == nil {
		return flymon.ChipStatus{}, false
	}
	return s.groups.Status(task)
}
