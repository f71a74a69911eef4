package engine

import (
	"sync/atomic"

	"tamtam/saisim/config"
	"tamtam/saisim/describe"
	"tamtam/saisim/profile"
	"tamtam/saisim/tm"
)

// A core is the state that all stations share: time, the compiled configuration, memory, the counts of all frames, and
// observers.
type core struct {
	// These fields come first, because every packet needs them.
	schedule
	observer func(Moment)           // nil means no observer
	found    func(*packet, Finding) // called with each finding in a table; nil means no observer
	ledger   Ledger                 // nil means no ledger
	keeping
	out    func(*Out)
	frames uint64 // number of frames received, injected and made as reports
	spares spares
	toReport
	frameCounts FrameCounts
	trimTotals  TrimTotals
	compiled

	clock atomic.Pointer[Clock]
	tod   clockReader
	prof  profile.Profile
}

// schedule holds the current cycle and the events due at later ones.
type schedule struct {
	now      Cycle
	stepping bool       // true if events are handled one by one, without shortcuts
	off      shortcuts  // shortcuts that are closed to all packets; derived when [Engine.Advance] begins
	carried  [16]uint64 // packets on each shortcut, by the number of its bit
	agenda   *agenda
	arriving wheel          // frames at ingress MACs
	enter    tm.Ring[timed] // sorted by ready cycle, then by port
	pipe     tm.Ring[timed]
	// ended holds packets that end at the entry of the ingress pipe. They are noted later, in the order of time.
	ended tm.Ring[timed]
	// leaving holds packets that will be mirrored when they leave the egress pipe, in that order.
	leaving tm.Ring[mirroring]
}

// compiled is the compiled configuration that all stations use.
type compiled struct {
	byID                        []*port // by first lane; nil if there is no port
	switchMAC                   uint64
	recorders                   uint64 // bit set of mirror sessions that record, by index
	ingressCycles, egressCycles Cycle
	skips                       describe.Marks // fixed functions that an injected fault skips
	lagHash                     config.Hashing
	tracking                    bool // true while the trails of entering packets are recorded
	// stale is true if lists derived from several rows must be updated: members of LAGs and VLANs, ACL tables of ports.
	stale    bool
	ports    []*port           // in the order of id
	mirrored []*mirrorSession  // by index; nil means free
	ids      map[config.ID]any // compiled rows that others refer to
	doors    doors
	vlans    [4096]*vlan
}

// spares holds memory for reuse.
type spares struct {
	packets []*packet
	copies  pool[copyOf]
	ifa     pool[ifaWork]
	met     pool[egressMet]
	due     pool[sampleDue]
	scratch []byte
}

// A pool holds values that were given back. Their contents are unchanged.
type pool[T any] struct{ spare []*T }

// get returns a value of the pool, or a new one if the pool is empty.
func (p *pool[T]) get() *T {
	n := len(p.spare)
	if n == 0 {
		return new(T)
	}
	x := p.spare[n-1]
	p.spare = p.spare[:n-1]
	return x
}

func (p *pool[T]) give(x *T) { p.spare = append(p.spare, x) }

func newSpares() spares {
	const most = 2 * 16384 // longer than any frame that leaves
	return spares{scratch: make([]byte, 0, most)}
}

// A timed packet is due at a cycle.
type timed struct {
	at Cycle
	pk *packet
}

// A slab is memory for packets. Data that is fetched together lies side by side.
type slab struct {
	packets [32]packet // each has three cache lines
	passing [32]passing
	rooms   [32][64]byte       // data of short frames, because a full buffer holds many short frames
	came    [32][keptHead]byte // memory for met.outerCame, which only a small set of packets needs
}

// free gives a packet back to the pool. In the pool, a packet's passing is empty.
func (c *core) free(pk *packet) {
	if !pk.usual {
		pk.transit = transit{}
	} else if pk.noted != 0 {
		pk.edit, pk.transit.marked = edit{}, marked{}
	}
	c.spares.packets = append(c.spares.packets, pk)
}

// newPacket returns a packet from the pool, for a frame that is n bytes long before it is cut.
func (c *core) newPacket(f *Frame, n int) *packet {
	top := len(c.spares.packets) - 1
	if top < 0 || len(f.Data) > cap(c.spares.packets[top].data) {
		top = c.moreSpares(len(f.Data))
	}
	pk := c.spares.packets[top]
	c.spares.packets = c.spares.packets[:top]
	c.frames++
	pk.data = pk.data[:len(f.Data)]
	copy(pk.data, f.Data)
	// The fields are assigned one by one. A literal would be built elsewhere and copied word by word, and the processor
	// cannot forward such loads from the stores that built it.
	pk.flight = flight{}
	pk.length, pk.id, pk.number = n, f.ID, c.frames
	return pk
}

// moreSpares ensures that the last packet in the pool has capacity for n bytes. It returns the packet's index.
func (c *core) moreSpares(n int) int {
	if len(c.spares.packets) == 0 {
		s := new(slab)
		for i := range s.packets {
			pk := &s.packets[i]
			pk.passing, pk.data = &s.passing[i], s.rooms[i][:0]
			pk.met.outerCame = &s.came[i]
			c.spares.packets = append(c.spares.packets, pk)
		}
	}
	top := len(c.spares.packets) - 1
	if pk := c.spares.packets[top]; n > cap(pk.data) {
		pk.data = make([]byte, 0, (n+63)&^63)
	}
	return top
}

// copy makes another copy of a packet.
func (c *core) copy(pk *packet, tag tagAction) *copyOf {
	pk.refs++
	pk.copies++
	cp := &pk.own
	if pk.copies > 1 {
		cp = c.spares.copies.get()
	}
	*cp = copyOf{pk: pk, tag: tag, number: pk.copies}
	return cp
}

// freeCopy returns an ended copy to the pool.
func (c *core) freeCopy(cp *copyOf) {
	c.freeIFA(cp)
	if cp.met != nil {
		c.spares.met.give(cp.met)
		cp.met = nil
	}
	if cp != &cp.pk.own {
		c.spares.copies.give(cp)
	}
}

// freeIFA returns a copy's IFA work to the pool.
func (c *core) freeIFA(cp *copyOf) {
	if cp.ifa != nil {
		c.spares.ifa.give(cp.ifa)
		cp.ifa = nil
	}
}

// port returns the port with an id, nil if there is none.
func (c *core) port(id PortID) *port {
	if int(id) < len(c.byID) {
		return c.byID[id]
	}
	return nil
}

// at returns the compiled row with an id, or the zero value if there is none or it has another type.
func at[T any](c *core, id config.ID) (x T) {
	x, _ = c.ids[id].(T)
	return x
}

// leave schedules mirroring of the copy that enters the egress pipe now. The mirror copies are made when it leaves that
// pipe.
func (c *core) leave(m mirroring) {
	m.copy.pk.refs++
	m.at = c.now + c.egressCycles
	c.leaving.Push(m)
	if c.leaving.Len() == 1 {
		c.agenda.push(c.now, event{m.at, eventKey(classMirror, 0)})
	}
}

// mirrorSet returns sessions as bits, by index.
func (c *core) mirrorSet(ids []config.ID) (set uint64) {
	for _, id := range ids {
		if m := at[*mirrorSession](c, id); m != nil {
			set |= 1 << m.index
		}
	}
	return set
}
