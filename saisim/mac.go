package saisim

import (
	"encoding/binary"

	"tamtam/saisim/config"
	"tamtam/saisim/tailstamp"
	"tamtam/saisim/tm"
)

const ethernetHeader = 14

// A port is a front-panel port: two MACs, an egress queue and what SAI sets.
type port struct {
	// What every packet looks at is together.
	id          PortID
	number      uint16 // N of EthernetN; NoPort
	mtu         uint32
	admin, link bool // set by SAI; by SetLink
	// paced says that the scheduler will come back by itself: a classDequeue event
	// is pending, or the port waits for the egress pipe.
	paced  bool
	rate   lineRate
	rxFree instant // earliest timestamp point of the next frame
	rx     tm.Ring[timed]
	in     admission // derived
	class  qosClass
	queues *tm.Port[copyOf]
	txFree instant // earliest preamble of the next frame
	tx     tm.Ring[transmission]
	mirror [2]uint64   // sessions, by stage
	tables [2][]lookup // by stage: ACL tables to look in
	stats  portStats
	totals PortCounters

	name                     config.ID
	mbps                     uint32
	pvid                     uint16
	priority                 uint8
	dropTagged, dropUntagged bool
	acl                      [2]config.ID
	bridgePort               *bridgePort
	rif                      *rif           // that it is
	lag                      *lag           // the LAG it is a member of
	trails                   tm.Ring[Trail] // of what is in tx and watched, in its order
}

// up reports whether frames pass.
func (p *port) up() bool { return p.admin && p.link }

// An admission is what the first stage of the ingress pipe knows of a port: of
// its LAG, if it is in one.
type admission struct {
	lag                      *lag
	source                   *bridgePort
	router                   *rif // it is a router interface
	pvid                     uint16
	priority                 uint8
	dropTagged, dropUntagged bool
	closed                   bool // the LAG does not take frames from it
}

// A copyOf is one copy of a packet on its way to one port.
type copyOf struct {
	pk     *packet
	mirror *mirrorEncap // it is a copy for a mirror session
	head   *heading     // header fields as it leaves; nil: as the packet and its edit have them
	queued Cycle        // when it was
	depth  uint32       // bytes in its queue then, without it
	tag    tagAction
	number uint16 // 1 for the first copy made
	queue  uint8
	raw    bool // leaves as it came in
	ce     bool // to be marked: congestion experienced
}

// copy makes one more copy of a packet.
func (pk *packet) copy(tag tagAction) copyOf {
	pk.refs++
	pk.copies++
	return copyOf{pk: pk, tag: tag, number: pk.copies}
}

// A tagAction says what the egress does to a copy's VLAN tag.
type tagAction struct {
	op  tagOp
	vid uint16
}

type tagOp uint8

const (
	tagKeep  tagOp = iota
	tagStrip       // remove the outer tag
	tagPush        // insert one
	tagSet         // replace the outer tag's VLAN id
)

// A transmission is a copy on its way through the egress pipe.
type transmission struct {
	copyOf
	sfd     instant      // timestamp point
	session *stampAction // nil: none
	result  stampResult  // what the session did
	watched bool         // the port has its trail, for an observer
}

// receive puts a frame on the wire of the ingress MAC.
func (c *engine) receive(p *port, at Cycle, f Frame) {
	c.books.Received++
	pk := c.newPacket(f)
	sfd := instant{cycle: at}
	if sfd.before(p.rxFree) {
		sfd = p.rxFree
	}
	end := p.rate.after(sfd, wireLen(f.Len))
	p.rxFree = p.rate.after(end, gap+preambleSFD)
	pk.in, pk.rx, pk.refs = p.id, sfd.ceil(), 1
	if c.observer != nil {
		c.sawOnWire(c.moment(MomentReceived, pk, 0, p.id), sfd, p.rate)
	}
	p.rx.Push(timed{end.ceil(), pk})
	if p.rx.Len() == 1 {
		c.agenda.push(c.now, event{end.ceil(), eventKey(classReceived, p.id)})
	}
}

// received takes the frame that is now whole from the ingress MAC.
func (c *engine) received(p *port) {
	pk := p.rx.First().pk
	p.rx.Pop()
	if p.rx.Len() > 0 {
		c.agenda.push(c.now, event{p.rx.First().at, eventKey(classReceived, p.id)})
	}
	p.totals.Received++
	p.totals.ReceivedBytes += uint64(pk.length + fcsLen)
	switch {
	case !p.up():
		c.drop(p, pk, DropPortDown)
		return
	case !wholeHeader(pk.data):
		c.drop(p, pk, DropRunt)
		return
	}
	p.stats.in.count(pk.data, pk.length+fcsLen)
	if uint32(pk.length)+fcsLen > p.mtu {
		c.drop(p, pk, DropOversize)
		return
	}
	p.totals.Entered++
	if c.entered <= c.now { // the pipe is free: the next thing to do would be this
		c.entered = c.now + 1
		c.ingress(pk)
		return
	}
	c.enter.Push(timed{c.entered, pk})
	c.entered++
}

// wholeHeader reports whether the frame has its Ethernet header, the tag by which
// it is bridged included: without, nobody knows its VLAN.
func wholeHeader(data []byte) bool {
	return len(data) >= ethernetHeader+4 ||
		len(data) >= ethernetHeader && binary.BigEndian.Uint16(data[12:]) != etherVLAN
}

// sent gives the frame whose timestamp point is now to the output.
func (c *engine) sent(p *port) {
	c.transmit(p, p.tx.First())
	p.tx.Pop()
	if p.tx.Len() > 0 {
		c.agenda.push(c.now, event{p.tx.First().sfd.ceil(), eventKey(classSent, p.id)})
	}
}

func (c *engine) transmit(p *port, t *transmission) {
	pk := t.pk
	if !p.up() {
		c.freeHeading(&t.copyOf)
		c.dropSent(p, t, DropEgressDown)
		return
	}
	stamped := t.session != nil && t.result == stampDone
	data, length := c.edited(&t.copyOf, stamped)
	if t.session != nil {
		t.session.count(t.result)
	}
	if stamped {
		data = c.appendRecord(data, t.session, pk, p.number, c.now)
		length = len(data)
	}
	p.totals.Sent++
	p.totals.SentBytes += uint64(length + fcsLen)
	p.stats.out.count(data, length+fcsLen)
	c.books.Sent++
	if c.observer != nil || t.watched {
		c.sawSent(p, t, data, length)
	}
	c.out(Out{Port: p.id, In: pk.in, At: c.now, Data: data, Len: length, Stamped: stamped, ID: pk.id})
	c.freeHeading(&t.copyOf)
	if t.mirror != nil {
		c.freeRecord(t.mirror)
	}
	c.release(pk)
}

// sawSent is told of what leaves while there is, or was, an observer.
func (c *engine) sawSent(p *port, t *transmission, data []byte, length int) {
	m := c.moment(MomentSent, t.pk, t.number, p.id)
	m.Data, m.Len = data, length
	if t.watched {
		m.Trail = p.watched()
	}
	if c.observer != nil {
		c.sawOnWire(m, t.sfd, p.rate)
	}
}

// watched returns the trail of the first watched copy in tx, and forgets it.
func (p *port) watched() Trail {
	trail := *p.trails.First()
	p.trails.Pop()
	return trail
}

// punt hands a copy to the CPU. If a session matched it, it carries the ingress
// stamp.
func (c *engine) punt(cp copyOf) {
	pk := cp.pk
	if pk.graph != nil {
		c.ended(&cp, pk.sofar(), tailstamp.CPUPort, 0)
	}
	data, length, stamped := pk.data, pk.length, false
	if s := pk.stamp; s != nil {
		result := stampable(pk, pk.length, 0)
		s.count(result)
		if stamped = result == stampDone; stamped {
			data = c.appendRecord(append(c.scratch[:0], data...), s, pk, tailstamp.CPUPort, 0)
			length = len(data)
		}
	}
	c.books.ToCPU++
	if c.observer != nil {
		m := c.moment(MomentPunted, pk, cp.number, CPUPort)
		m.Data, m.Len, m.Trail = data, length, c.trailOf(&cp)
		c.observer(m)
	}
	c.out(Out{Port: CPUPort, In: pk.in, At: c.now, Data: data, Len: length, Stamped: stamped, ID: pk.id, Trap: pk.trap})
	c.release(pk)
}
