package saisim

// A DropReason says why a frame, or a copy of it, went no further.
type DropReason uint8

// The reasons, in the order of the pipeline. The first group is counted at the
// ingress port, the second at the egress port (DropNoLAGMember at the ingress
// port: there is no other).
const (
	DropPortDown      DropReason = iota // ingress port is down
	DropRunt                            // no whole Ethernet header, VLAN tag included
	DropOversize                        // longer, with FCS, than the ingress port's MTU
	DropTagFilter                       // the port drops tagged, or untagged, frames
	DropNoVLAN                          // the VLAN does not exist, or the port is in no bridge
	DropNotMember                       // the ingress port is no member of the VLAN
	DropSourceAddress                   // the source address is a group address
	DropLearning                        // unknown source address where learning mode is drop
	DropACL                             // an ingress ACL entry says so
	DropTrap                            // a link-local or trapped frame that is not for forwarding
	DropFDB                             // an FDB entry says so
	DropMiss                            // unknown destination and the VLAN or switch does not flood it
	DropSamePort                        // the destination is where it came from
	DropNoDestination                   // flooded to nobody
	DropNoLAGMember                     // the LAG has no member that is up
	DropNotRouter                       // at a router port, but not to the router's address
	DropRouterDown                      // the router, or the router interface in or out, is down for IPv4 or IPv6
	DropIPHeader                        // to be routed, but its IP header is not fit for that
	DropNoRoute                         // no route to the destination
	DropRoute                           // the route or the neighbour says so
	DropNoNextHop                       // the route leads to no next hop
	DropTTL                             // the time to live or hop limit ends here
	DropNoNeighbor                      // the next hop's MAC address is not known
	DropL3MTU                           // longer than the MTU of the router interface that it leaves by
	DropProgram                         // a program in the ingress pipe says so

	DropBuffer        // no room in the shared buffer
	DropQueueLimit    // the queue is as long as it may be
	DropWRED          // dropped early, by WRED
	DropEgressDown    // egress port is down
	DropEgressMTU     // longer, with FCS, than the egress port's MTU
	DropEgressACL     // an egress ACL entry says so
	DropEgressProgram // a program in the egress pipe says so
	DropPortRemoved   // its port was removed while it was in the chip
	NumDropReasons
)

var dropNames = [NumDropReasons]string{
	"port-down", "runt", "oversize", "vlan-tag-filter", "no-vlan", "not-vlan-member", "source-address",
	"learning", "acl", "trap", "fdb", "unknown-destination", "same-port", "no-destination", "no-lag-member",
	"not-router", "router-down", "ip-header", "no-route", "route", "no-next-hop", "ttl", "no-neighbor", "l3-mtu",
	"program",
	"buffer", "queue-limit", "wred", "egress-port-down", "egress-mtu", "egress-acl", "egress-program", "port-removed",
}

// String returns the reason in the words of reports.
func (r DropReason) String() string {
	if r < NumDropReasons {
		return dropNames[r]
	}
	return "unknown"
}

// Books account for every frame:
//
//	Received + Injected + Copies = Sent + ToCPU + sum(Dropped) + InFlight
//
// at every instant. They start when the chip is made and are never cleared.
type Books struct {
	Received, Injected uint64
	Copies             uint64 // made of a frame beyond the first
	Sent, ToCPU        uint64
	Dropped            [NumDropReasons]uint64
	InFlight           uint64 // on ingress MACs, in the pipe, queued, on the way to egress MACs
	Queued             uint64 // of those, in queues
	QueuedBytes        uint64
}

// Balanced reports whether the books balance.
func (b *Books) Balanced() bool {
	sum := b.Sent + b.ToCPU + b.InFlight
	for _, n := range b.Dropped {
		sum += n
	}
	return b.Received+b.Injected+b.Copies == sum
}

// Books returns the chip's books at this instant. InFlight is counted in the
// chip, not derived from the rest.
func (c *Chip) Books() Books {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.books
	b.InFlight = uint64(c.enter.Len() + c.pipe.Len())
	for _, p := range c.ports {
		b.InFlight += uint64(p.rx.Len() + p.queues.Len() + p.tx.Len())
		b.Queued += uint64(p.queues.Len())
		b.QueuedBytes += p.queues.Bytes()
	}
	return b
}

// PortCounters are the totals of a port since it was created. Bytes are frame
// lengths with FCS. Of the frames that the ingress MAC has received whole,
//
//	Received = Entered + Dropped[DropPortDown] + Dropped[DropRunt] + Dropped[DropOversize]
type PortCounters struct {
	Received, ReceivedBytes uint64
	Entered                 uint64 // the ingress pipe, or waiting to
	Sent, SentBytes         uint64
	Dropped                 [NumDropReasons]uint64
}

// PortCounters returns a port's counters, false if there is no such port. They
// are not cleared by ClearStats.
func (c *Chip) PortCounters(id PortID) (PortCounters, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.port(id)
	if p == nil {
		return PortCounters{}, false
	}
	return p.totals, true
}

// drop ends a packet of which there are no copies, counted at port p (nil: only
// in the books).
func (c *engine) drop(p *port, pk *packet, why DropReason) { c.dropCopy(p, copyOf{pk: pk}, why) }

// dropCopy ends one copy of a packet.
func (c *engine) dropCopy(p *port, cp copyOf, why DropReason) {
	trail := Trail{}
	if c.observer != nil {
		trail = c.trailOf(&cp)
	}
	c.dropWith(p, &cp, why, trail)
}

// dropSent ends a copy behind the egress pipe.
func (c *engine) dropSent(p *port, t *transmission, why DropReason) {
	trail := Trail{}
	if t.watched {
		trail = p.watched()
	}
	c.dropWith(p, &t.copyOf, why, trail)
}

// dropWith ends a copy whose trail is known.
func (c *engine) dropWith(p *port, cp *copyOf, why DropReason, trail Trail) {
	pk := cp.pk
	if c.observer != nil {
		c.sawDrop(p, cp, why, trail)
	}
	if cp.mirror != nil {
		c.loseRecord(cp.mirror)
	}
	c.books.Dropped[why]++
	if p != nil {
		p.totals.Dropped[why]++
	}
	c.release(pk)
}
