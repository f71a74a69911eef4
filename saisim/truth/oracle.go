package truth

import (
	"slices"
	"strings"
	"sync"

	"tamtam/saisim"
)

// A Group is a flow group whose exact values are kept.
type Group struct {
	Name   string
	Filter Filter
	// Flows divides the group into flows by these fields of a frame, and gives counts and delays for each. Zero means
	// no division.
	Flows FlowKey
	// MaxFlows bounds their number. Frames of further flows count only in the group and in FlowsLeftOut. Zero means
	// 1048576.
	MaxFlows int
	// KeepDelays is the number of deliveries whose time and delay the report lists, beginning with those that left
	// first. Zero means none.
	KeepDelays int
}

// An Oracle observes nodes. Its methods and those of its nodes may be called from any goroutine. The results do not
// depend on the order in which chips of one network run, as long as a frame leaves one chip before it enters the next.
type Oracle struct {
	mu     sync.Mutex
	groups []*group
	nodes  []*Node
	trips  map[uint64][]trip // frames between two nodes, by frame ID
	paths  int
}

// maxPaths bounds the number of paths that are distinguished.
const maxPaths = 1 << 16

// New returns an oracle for some groups.
func New(groups ...Group) *Oracle {
	o := &Oracle{trips: map[uint64][]trip{}}
	for _, g := range groups {
		if g.MaxFlows == 0 {
			g.MaxFlows = 1 << 20
		}
		o.groups = append(o.groups, &group{
			Group: g, lost: map[Loss]uint64{}, paths: map[*hop]uint64{}, flows: map[key]*flow{},
			delay: delays{buckets: make([]uint64, numBuckets)},
		})
	}
	return o
}

// A Node is a chip, or a host.
type Node struct {
	o      *Oracle
	name   string
	hz     uint64
	start  Time
	ports  func(saisim.PortID) string
	native map[saisim.PortID]uint16
	peers  map[saisim.PortID]End
	visits map[uint64]*visit // by the chip's number of the frame
	roots  map[hopKey]*hop
}

// An End is a port of a node. A host has the port 0.
type End struct {
	Node *Node
	Port saisim.PortID
}

// Chip adds a chip whose clock has hz cycles per second. ports returns the names of its ports. It is called from within
// [Node.See] and must not call the chip.
func (o *Oracle) Chip(name string, hz uint64, ports func(saisim.PortID) string) *Node {
	n := &Node{o: o, name: name, hz: hz, ports: ports, native: map[saisim.PortID]uint16{}, peers: map[saisim.PortID]End{},
		visits: map[uint64]*visit{}, roots: map[hopKey]*hop{}}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.nodes = append(o.nodes, n)
	return n
}

// Host adds a host. See [Node.Send] and [Node.Arrive].
func (o *Oracle) Host(name string) *Node {
	return o.Chip(name, 1, func(saisim.PortID) string { return "" })
}

// Connect connects two ends by a link, in both directions. Frames enter and leave the network at ends without a link.
func (o *Oracle) Connect(a, b End) {
	o.mu.Lock()
	defer o.mu.Unlock()
	a.Node.peers[a.Port], b.Node.peers[b.Port] = b, a
}

// Native sets the VLAN of a port's untagged frames, for filters with VLAN_ID.
func (n *Node) Native(port saisim.PortID, vid uint16) {
	n.o.mu.Lock()
	defer n.o.mu.Unlock()
	n.native[port] = vid
}

// Restart replaces the chip with a new one, whose cycle 0 is at start. The frames in the old chip are lost.
func (n *Node) Restart(start Time) {
	n.o.mu.Lock()
	defer n.o.mu.Unlock()
	n.start = start
	for number, v := range n.visits {
		for ; v.open > 0; v.open-- {
			v.f.lost(Loss{n.name, "", "restart"})
		}
		delete(n.visits, number)
	}
}

// A frame is a frame that has entered the network and is in some group.
type frame struct {
	entered Time
	bytes   uint64
	in      []member
}

// A member is a group of the frame, with its flow there.
type member struct {
	g *group
	f *flow
}

// A visit is the state of a frame in a chip.
type visit struct {
	f       *frame
	came    *hop
	in      saisim.PortID
	open    int      // copies that have not ended, including the frame itself, without mirror copies
	begun   uint32   // number of copies so far
	mirrors []uint32 // copies for mirror sessions
	copies  int      // number of other copies
}

// A trip is a copy in transit between two nodes.
type trip struct {
	to   End
	f    *frame
	came *hop
}

// See handles a moment of the chip. It is the function for SetObserver.
func (n *Node) See(m saisim.Moment) {
	n.o.mu.Lock()
	defer n.o.mu.Unlock()
	if m.What == saisim.MomentReceived || m.What == saisim.MomentInjected {
		n.enter(&m)
		return
	}
	v := n.visits[m.Number]
	if v == nil {
		return
	}
	if m.Copy > v.begun {
		v.begun = m.Copy
		if m.What == saisim.MomentMirrored {
			v.mirrors = append(v.mirrors, m.Copy)
		} else {
			v.open++
			v.copies++
		}
	}
	if slices.Contains(v.mirrors, m.Copy) {
		return
	}
	switch m.What {
	case saisim.MomentReplicated:
		v.open--
		for _, g := range v.f.in {
			g.g.copies += int64(v.copies) - 1
			g.g.inFlight += int64(v.copies) - 1
		}
	case saisim.MomentDropped:
		v.open--
		v.f.lost(Loss{n.name, n.ports(m.Port), m.Why.String()})
	case saisim.MomentPunted:
		v.open--
		v.f.punted()
	case saisim.MomentSent:
		v.open--
		n.sent(v, &m)
	}
	if v.open == 0 {
		delete(n.visits, m.Number)
	}
}

// enter begins a visit of a frame that arrives over a link, or of a new one.
func (n *Node) enter(m *saisim.Moment) {
	at := End{n, m.In}
	var f *frame
	var came *hop
	if _, linked := n.peers[m.In]; linked {
		t, ok := n.o.endTrip(m.ID, at)
		if !ok {
			return // the frame is in no group
		}
		f, came = t.f, t.came
	} else if f = n.o.admit(n, m.In, m.Data, m.Len, n.time(m)); f == nil {
		return
	}
	n.visits[m.Number] = &visit{f: f, came: came, in: m.In, open: 1}
}

// sent ends a copy's visit: it is delivered, or on a link.
func (n *Node) sent(v *visit, m *saisim.Moment) {
	way := n.hop(v.came, v.in, m.Port)
	if to, linked := n.peers[m.Port]; linked {
		n.o.trips[m.ID] = append(n.o.trips[m.ID], trip{to, v.f, way})
		return
	}
	v.f.delivered(n.time(m), m.ID, m.Len, way)
}

func (n *Node) time(m *saisim.Moment) Time {
	return n.start.Add(At(uint64(m.At), m.Early, m.Byte.Den, n.hz))
}

// admit counts a frame that enters the network. It returns nil if the frame is in no group.
func (o *Oracle) admit(n *Node, port saisim.PortID, data []byte, length int, at Time) *frame {
	var x fields
	x.parse(data, length, n.native[port])
	var f *frame
	name := n.ports(port)
	for _, g := range o.groups {
		if !g.Filter.match(&x, name) {
			continue
		}
		if f == nil {
			f = &frame{entered: at, bytes: uint64(max(length, 60) + 4)}
		}
		f.in = append(f.in, g.admit(&x, name, f.bytes))
	}
	return f
}

// endTrip ends the trip of a frame to an end.
func (o *Oracle) endTrip(id uint64, at End) (trip, bool) {
	list := o.trips[id]
	i := slices.IndexFunc(list, func(t trip) bool { return t.to == at })
	if i < 0 {
		return trip{}, false
	}
	t := list[i]
	if len(list) == 1 {
		delete(o.trips, id)
	} else {
		o.trips[id] = slices.Delete(list, i, i+1)
	}
	return t, true
}

// Send reports that a host puts a frame on its link, with its timestamp point at that time. The frame enters the
// network here.
func (n *Node) Send(id uint64, at Time, data []byte, length int) {
	n.o.mu.Lock()
	defer n.o.mu.Unlock()
	if f := n.o.admit(n, 0, data, length, at); f != nil {
		n.o.trips[id] = append(n.o.trips[id], trip{n.peers[0], f, nil})
	}
}

// Arrive reports that a frame arrives at a host from its link, with its timestamp point at that time. It is delivered.
func (n *Node) Arrive(id uint64, at Time, length int) {
	n.o.mu.Lock()
	defer n.o.mu.Unlock()
	if t, ok := n.o.endTrip(id, End{n, 0}); ok {
		t.f.delivered(at, id, length, t.came)
	}
}

// LinkLost reports that a link lost a frame in the direction of an end, and why.
func (o *Oracle) LinkLost(id uint64, to End, why string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if t, ok := o.endTrip(id, to); ok {
		t.f.lost(Loss{to.Node.name, to.Node.ports(to.Port), why})
	}
}

// LinkDoubled reports that a link duplicated a frame in the direction of an end.
func (o *Oracle) LinkDoubled(id uint64, to End) {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.IndexFunc(o.trips[id], func(t trip) bool { return t.to == to })
	if i < 0 {
		return
	}
	t := o.trips[id][i]
	o.trips[id] = append(o.trips[id], t)
	for _, m := range t.f.in {
		m.g.copies++
		m.g.inFlight++
	}
}

// A hop is a path through a chip, with the hop before it.
type hop struct {
	before *hop
	text   string
	next   map[hopKey]*hop
}

type hopKey struct {
	n       *Node
	in, out saisim.PortID
}

// hop returns the hop that continues another through the chip.
func (n *Node) hop(before *hop, in, out saisim.PortID) *hop {
	next := n.roots
	if before != nil {
		if before.next == nil {
			before.next = map[hopKey]*hop{}
		}
		next = before.next
	}
	k := hopKey{n, in, out}
	h := next[k]
	if h == nil {
		if n.o.paths >= maxPaths {
			return &hop{text: "others"}
		}
		n.o.paths++
		h = &hop{before: before, text: n.name + ":" + n.ports(in) + ">" + n.ports(out)}
		next[k] = h
	}
	return h
}

// String returns the path in the form for reports.
func (h *hop) String() string {
	var parts []string
	for ; h != nil; h = h.before {
		parts = append(parts, h.text)
	}
	slices.Reverse(parts)
	return strings.Join(parts, " ")
}
