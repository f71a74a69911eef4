package engine

import (
	"net/netip"
	"strings"

	"tamtam/saisim/config"
	"tamtam/saisim/drop"
	"tamtam/saisim/profile"
	"tamtam/saisim/tm"
	"tamtam/tam/record"
)

// Stages of ACLs, as indexes.
const (
	stageIngress = int(config.Ingress)
	stageEgress  = int(config.Egress)
)

// A port is a front-panel port: two MACs, an egress queue and the settings of SAI.
type port struct {
	// These fields come first, because every packet needs them.
	id     PortID
	number uint16 // N of EthernetN, or NoPort
	mtu    uint32
	// stampMTU is the MTU of a frame with one more record. It is at most mtu.
	stampMTU uint32
	up       bool // true if SAI's admin state and the link are up, so that frames pass
	// paced is true if the scheduler will run again by itself: a classDequeue event is pending, or the port waits for
	// the egress pipe.
	paced   bool
	rate    lineRate  // its MAC's receiving direction
	txRate  lineRate  // the other direction, which remembers frames of its own
	shaped  bool      // true if the port or one of its queues has a shaper
	queued  bool      // true if no frame may skip the queues: the port is shaped, or bursts of its queues are recorded
	rxFree  instant   // earliest timestamp point of the next frame
	came    Cycle     // arrival of the last frame, ignoring overtaken frames
	own     instant   // valid if behind is true: the value of rxFree if no frame had been late
	behind  bool      // true if own is before rxFree
	in      admission // derived
	class   qosClass
	queues  *tm.Port[*copyOf]
	txFree  instant      // earliest preamble of the next frame
	wakes   Cycle        // cycle of the pending classDequeue event, if shaped
	off     shortcuts    // shortcuts that are closed to packets that arrive or leave here; derived
	sampled [2]*sampling // by stage: the sampler; nil means none; derived
	mirror  [2]uint64    // mirror sessions as bits, by stage; derived from mirrors
	tables  [2][]lookup  // by stage: ACL tables for lookups
	stats   portStats
	totals  PortCounters // totals that stats does not have; see counters

	name                     config.ID
	mbps                     uint32
	pvid                     uint16
	priority                 uint8
	dropTagged, dropUntagged bool
	acl                      [2]config.ID
	mirrors                  [2][]config.ID // mirror sessions, by stage
	sampling                 [2]sampling    // by stage
	bridgePort               *bridgePort
	rif                      *rif            // the port's router interface
	subPorts                 map[uint16]*rif // by the VLAN of their outer tag
	lag                      *lag            // the LAG it is a member of
	contents                 *contents       // what its queues hold; nil if nothing is tracked
	burstsBegun              [tm.MaxQueues]uint64
	tams                     []config.ID
	events                   eventSet // events that report drops of packets arriving here; derived
	flow                     flowControl
	trails                   tm.Ring[Trail] // trails of watched copies that are leaving, in the same order
}

// counters returns the totals of the port. Each complete frame is counted once.
func (p *port) counters() PortCounters {
	t, in := p.totals, p.stats.in.Packets()
	t.Received = in + t.Dropped[drop.PortDown] + t.Dropped[drop.Runt]
	t.ReceivedBytes += p.stats.in.Octets
	t.Entered = in - t.Dropped[drop.Oversize]
	t.Sent, t.SentBytes = p.stats.out.Packets(), p.stats.out.Octets
	return t
}

// An admission is the state of a port for the first stage of the ingress pipe. A member of a LAG has the LAG's state.
type admission struct {
	lag                      *lag
	source                   *bridgePort
	router                   *rif            // set if the port or LAG is a router interface
	subPorts                 map[uint16]*rif // its sub-ports, by the VLAN of their outer tag
	untagged                 *vlan           // VLAN of untagged frames that the port may send; nil requires a closer look
	untaggedRIF              *rif            // router interface that an untagged frame reaches; nil means none
	pvid                     uint16
	priority                 uint8
	dropTagged, dropUntagged bool
	closed                   bool // true if the LAG does not accept frames from the port
}

// A lag is a link aggregation group.
type lag struct {
	name                     config.ID
	members                  []lagMember // in the order of their ports
	active                   []*port     // ports of members that send; derived
	bridgePort               *bridgePort
	rif                      *rif
	subPorts                 map[uint16]*rif // by the VLAN of their outer tag
	pvid                     uint16
	priority                 uint8
	dropTagged, dropUntagged bool
	acl                      [2]config.ID
}

type lagMember struct {
	port                            *port
	ingressDisabled, egressDisabled bool
}

// first returns the lowest port of the LAG. If the LAG has no ports, the result is higher than any port.
func (l *lag) first() PortID {
	if len(l.members) == 0 {
		return CPUPort
	}
	return l.members[0].port.id
}

// A vlan is an 802.1Q VLAN.
type vlan struct {
	name    config.ID
	id      uint16
	members []vlanMember
	noLearn bool
	noFlood config.Flood
	rif     *rif
	acl     [2]config.ID

	// derived
	flood                               []*bridgePort // in the order of ports
	noUnknown, noMulticast, noBroadcast bool
	tables                              [2][]lookup
}

type vlanMember struct {
	bp      *bridgePort
	tagging config.Tagging
}

// A bridgePort is a port or LAG as the 802.1Q bridge sees it.
type bridgePort struct {
	name     config.ID
	number   uint32 // number among all bridge ports ever made, from 1
	port     *port  // either port or lag is set; both are nil after removal
	lag      *lag
	admin    bool
	learning config.Learning
	vlans    [64]memberships // of 64 VLANs each; derived from the VLAN members
}

// memberships holds a bridge port's memberships in 64 VLANs, one bit each.
type memberships struct{ members, untagged, priorityTagged uint64 }

// set sets whether and how the bridge port is in a VLAN.
func (b *memberships) set(vid uint16, member bool, t config.Tagging) {
	bit := uint64(1) << (vid % 64)
	b.members, b.untagged, b.priorityTagged = b.members&^bit, b.untagged&^bit, b.priorityTagged&^bit
	if !member {
		return
	}
	b.members |= bit
	switch t {
	case config.Untagged:
		b.untagged |= bit
	case config.PriorityTagged:
		b.priorityTagged |= bit
	}
}

// order returns a sort key of the bridge port: ports come before LAGs.
func (bp *bridgePort) order() int {
	if bp.lag != nil {
		return profile.MaxLanes + int(bp.lag.first())
	}
	if bp.port != nil {
		return int(bp.port.id)
	}
	return int(CPUPort) * 2
}

// member reports whether the bridge port is in the VLAN.
func (bp *bridgePort) member(vid uint16) bool { return bp.vlans[vid/64&63].members>>(vid%64)&1 != 0 }

// A rif is a router interface. It is on a port, a LAG or a VLAN. A loopback is on none of them. A sub-port has the
// frames of its port or LAG with its VLAN in their outer tag.
type rif struct {
	vr       *virtualRouter
	port     *port
	lag      *lag
	vlan     *vlan
	outer    uint16 // VLAN of the outer tag of a sub-port; zero means no sub-port
	mac      uint64
	mtu      uint32 // maximum length of the IP packet
	up4, up6 bool
	loopback bool    // true if packets that arrived here may leave here
	missed   actions // actions for packets to an address without a neighbour
	counts   rifCounts
}

// rifCounts holds the counters of a router interface, in the order of SAI's statistics. Bytes are those of frames as
// received, with FCS.
type rifCounts [NumInterfaceCounts]uint64

const (
	rifIn = 2 * iota
	rifOut
	rifInError
	rifOutError
	// NumInterfaceCounts is the number of counters of a router interface.
	NumInterfaceCounts
)

func (r *rif) count(what, bytes int) {
	r.counts[what] += uint64(bytes)
	r.counts[what+1]++
}

// order returns a sort key of the router interface, by the kind of object that it is on, and then by its outer VLAN.
func (r *rif) order() int {
	on := 3 * int(CPUPort)
	switch {
	case r.port != nil:
		on = int(r.port.id)
	case r.lag != nil:
		on = profile.MaxLanes + int(r.lag.first())
	case r.vlan != nil:
		on = 2*int(CPUPort) + int(r.vlan.id)
	}
	return on<<12 | int(r.outer)
}

func (r *rif) up(v4 bool) bool { return v4 && r.up4 || !v4 && r.up6 }

// An adjacency is an address that is reached through a router interface. A neighbour and the next hops that lead to it
// share one adjacency. It exists until the neighbour and all next hops are gone.
type adjacency struct {
	rif   *rif
	ip    netip.Addr
	known bool // true if there is a neighbour, with a MAC address
	mac   uint64
	act   actions
	hops  int
}

type adjacencyKey struct {
	rif *rif
	ip  netip.Addr
}

// A nextHop leads to an address that is reached through a router interface.
type nextHop struct{ adj *adjacency }

// A hopGroup spreads flows over next hops (ECMP), by weight.
type hopGroup struct {
	members []hopMember
	total   uint64 // sum of the weights
}

type hopMember struct {
	adj    *adjacency
	weight uint32
	upTo   uint64 // sum of the weights up to this one
}

// choose returns the next hop of a flow, nil if the group is empty. It is the first member with hash mod (sum of all
// weights) < the sum of weights up to its own.
func (g *hopGroup) choose(hash uint32) *adjacency {
	if g.total == 0 {
		return nil
	}
	x := uint64(hash) % g.total
	if g.total == uint64(len(g.members)) { // all weights are 1
		return g.members[x].adj
	}
	lo, hi := 0, len(g.members)-1
	for lo < hi {
		if mid := (lo + hi) / 2; x < g.members[mid].upTo {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return g.members[lo].adj
}

// A dest is the destination of a prefix in a virtual router: the destination of its route or, without a route, the
// neighbour with this address.
type dest struct {
	vr     *virtualRouter
	prefix netip.Prefix
	route  *config.Route // row of the route; nil if there is none
	hosts  []*adjacency  // neighbours with a host route; the first one counts

	// derived
	kind  destKind
	act   actions
	hop   *adjacency // set for destHop
	group *hopGroup  // set for destGroup
	rif   *rif       // set for destSubnet
}

type destKind uint8

const (
	destNone   destKind = iota // no next hop: the packet is dropped
	destHop                    // a next hop or a neighbour
	destGroup                  // ECMP
	destSubnet                 // directly connected, without a neighbour for this address
	destCPU                    // the switch itself
)

// A lookup is one table that a packet is looked up in.
type lookup struct {
	table    *aclTable
	priority uint32 // priority of the member in its group
	// group is the number of a sequential group. After a hit in one of its tables, its other tables are skipped. Zero
	// means no sequential group.
	group uint16
}

// A mirrorSession is a mirror session.
type mirrorSession struct {
	index int // its bit in the sets of sessions; the lowest that was free
	port  *port
	lag   *lag
	encap *mirrorEncap
	seq   uint32 // GRE sequence number of the next copy that leaves
	label string
}

// records reports whether the session is for record copies.
func (m *mirrorSession) records() bool { return strings.HasPrefix(m.label, record.LabelPrefix) }

// A tamInt holds the switch id that a tail-stamping session writes.
type tamInt struct{ switchID uint32 }

// watched removes and returns the trail of the first watched copy that is leaving.
func (p *port) watched() Trail {
	trail := *p.trails.First()
	p.trails.Pop()
	return trail
}

// doors holds the names of the last bridge ports by their numbers. A packet that holds a number leaves the chip long
// before its name here is overwritten.
type doors struct {
	n     uint32
	names [numDoors]door
}

const numDoors = 256

type door struct {
	number uint32
	name   config.ID
}

// of returns the name of a bridge port, and false if it is no longer known.
func (d *doors) of(number uint32) (config.ID, bool) {
	x := &d.names[number%numDoors]
	return x.name, x.number == number && number != 0
}
