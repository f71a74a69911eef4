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

// A port is a front-panel port: two MACs, an egress queue and what SAI sets.
type port struct {
	// What every packet looks at is together.
	id     PortID
	number uint16 // N of EthernetN; NoPort
	mtu    uint32
	// stampMTU is that of a frame with one more record: at most mtu.
	stampMTU uint32
	up       bool // frames pass: SAI's admin state and the link say so
	// paced says that the scheduler will come back by itself: a classDequeue event
	// is pending, or the port waits for the egress pipe.
	paced   bool
	rate    lineRate
	rxFree  instant   // earliest timestamp point of the next frame
	came    Cycle     // the last frame, but for those that others overtook
	own     instant   // if behind: what rxFree would be had no frame been late
	behind  bool      // own is before rxFree
	in      admission // derived
	class   qosClass
	queues  *tm.Port[*copyOf]
	txFree  instant      // earliest preamble of the next frame
	off     shortcuts    // that are closed to what comes in or leaves here; derived
	sampled [2]*sampling // by stage: what chooses; nil: nothing does; derived
	mirror  [2]uint64    // sessions, by stage; derived from mirrors
	tables  [2][]lookup  // by stage: ACL tables to look in
	stats   portStats
	totals  PortCounters // what stats do not say; see counters

	name                     config.ID
	mbps                     uint32
	pvid                     uint16
	priority                 uint8
	dropTagged, dropUntagged bool
	acl                      [2]config.ID
	mirrors                  [2][]config.ID // sessions, by stage
	sampling                 [2]sampling    // by stage
	bridgePort               *bridgePort
	rif                      *rif   // that it is
	lag                      *lag   // the LAG it is a member of
	fill                     []fill // of each queue, by whom; nil: nobody wants to know
	tams                     []config.ID
	events                   eventSet       // that report drops of what comes in here; derived
	trails                   tm.Ring[Trail] // of what is leaving and watched, in its order
}

// counters are the totals of the port. Of frames that are whole nothing is counted twice.
func (p *port) counters() PortCounters {
	t, in := p.totals, p.stats.in.Packets()
	t.Received = in + t.Dropped[drop.PortDown] + t.Dropped[drop.Runt]
	t.ReceivedBytes += p.stats.in.Octets
	t.Entered = in - t.Dropped[drop.Oversize]
	t.Sent, t.SentBytes = p.stats.out.Packets(), p.stats.out.Octets
	return t
}

// An admission is what the first stage of the ingress pipe knows of a port: of
// its LAG, if it is in one.
type admission struct {
	lag                      *lag
	source                   *bridgePort
	router                   *rif  // it is a router interface
	untagged                 *vlan // that of an untagged frame, which it may send; nil: look closely
	pvid                     uint16
	priority                 uint8
	dropTagged, dropUntagged bool
	closed                   bool // the LAG does not take frames from it
}

// A lag is a link aggregation group.
type lag struct {
	name                     config.ID
	members                  []lagMember // in the order of their ports
	active                   []*port     // that send; derived
	bridgePort               *bridgePort
	rif                      *rif
	pvid                     uint16
	priority                 uint8
	dropTagged, dropUntagged bool
	acl                      [2]config.ID
}

type lagMember struct {
	port                            *port
	ingressDisabled, egressDisabled bool
}

// first is the lowest port of the LAG, above all ports if it has none.
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
	number   uint32 // among all that there have been, from 1
	port     *port  // one of the two; both nil once it is removed
	lag      *lag
	admin    bool
	learning config.Learning
	vlans    [64]memberships // of 64 VLANs each; derived from the VLAN members
}

// memberships are those of a bridge port in 64 VLANs, one bit each.
type memberships struct{ members, untagged, priorityTagged uint64 }

// set says whether and how the bridge port is in a VLAN.
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

// order sorts bridge ports by what they are.
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

// A rif is a router interface. It is on a port, a LAG or a VLAN; a loopback is
// on none of them.
type rif struct {
	port     *port
	lag      *lag
	vlan     *vlan
	mac      uint64
	mtu      uint32 // of the IP packet
	up4, up6 bool
	loopback bool    // what came in here may leave here
	missed   actions // with packets to who is no neighbour here
	counts   rifCounts
}

// rifCounts are the counters of a router interface, in the order of SAI's statistics: bytes
// are frames with FCS, as they came in.
type rifCounts [NumInterfaceCounts]uint64

const (
	rifIn = 2 * iota
	rifOut
	rifInError
	rifOutError
	// NumInterfaceCounts is how many there are.
	NumInterfaceCounts
)

func (r *rif) count(what, bytes int) {
	r.counts[what] += uint64(bytes)
	r.counts[what+1]++
}

// order sorts router interfaces by what they are on.
func (r *rif) order() int {
	switch {
	case r.port != nil:
		return int(r.port.id)
	case r.lag != nil:
		return profile.MaxLanes + int(r.lag.first())
	case r.vlan != nil:
		return 2*int(CPUPort) + int(r.vlan.id)
	}
	return 3 * int(CPUPort)
}

func (r *rif) up(v4 bool) bool { return v4 && r.up4 || !v4 && r.up6 }

// An adjacency is somebody behind a router interface, by address: a neighbour
// and the next hops that lead to it share one. It outlives the neighbour while
// there are next hops.
type adjacency struct {
	rif   *rif
	ip    netip.Addr
	known bool // it is a neighbour, with a MAC address
	mac   uint64
	act   actions
	hops  int
}

type adjacencyKey struct {
	rif *rif
	ip  netip.Addr
}

// A nextHop leads to somebody behind a router interface.
type nextHop struct{ adj *adjacency }

// A hopGroup spreads flows over next hops (ECMP), by weight.
type hopGroup struct {
	members []hopMember
	total   uint64 // of the weights
}

type hopMember struct {
	adj    *adjacency
	weight uint32
	upTo   uint64 // sum of the weights so far, its own included
}

// choose returns the next hop of a flow, nil if the group is empty: the first
// member with hash mod (sum of all weights) < the sum of weights up to its own.
func (g *hopGroup) choose(hash uint32) *adjacency {
	if g.total == 0 {
		return nil
	}
	x := uint64(hash) % g.total
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

// A dest is what a prefix leads to: where its route says, or, without one,
// to the neighbour with this address.
type dest struct {
	prefix netip.Prefix
	route  *config.Route // nil: none
	hosts  []*adjacency  // neighbours with a host route, the first one counts

	// derived
	kind  destKind
	act   actions
	hop   *adjacency // destHop
	group *hopGroup  // destGroup
	rif   *rif       // destSubnet
}

type destKind uint8

const (
	destNone   destKind = iota // no next hop: dropped
	destHop                    // a next hop or a neighbour
	destGroup                  // ECMP
	destSubnet                 // directly connected, nobody there is known by this address
	destCPU                    // the switch itself
)

// A lookup is one table that a packet is looked up in.
type lookup struct {
	table    *aclTable
	priority uint32 // of the member in its group
	// group numbers sequential groups: once a table of one has hit, the rest of
	// it is left out. 0: none.
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

// A tamInt says what a tail-stamping session writes.
type tamInt struct{ switchID uint32 }

// watched returns the trail of the first watched copy that is leaving, and forgets it.
func (p *port) watched() Trail {
	trail := *p.trails.First()
	p.trails.Pop()
	return trail
}

// doors are the names of bridge ports by their numbers, the last ones. A packet that keeps a number is long gone when
// so many bridge ports have been made.
type doors struct {
	n     uint32
	names [numDoors]door
}

const numDoors = 256

type door struct {
	number uint32
	name   config.ID
}

// of returns the name of a bridge port, false if it is not known any more.
func (d *doors) of(number uint32) (config.ID, bool) {
	x := &d.names[number%numDoors]
	return x.name, x.number == number && number != 0
}
