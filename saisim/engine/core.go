package engine

import (
	"sync/atomic"

	"tamtam/saisim/config"
	"tamtam/saisim/describe"
	"tamtam/saisim/profile"
	"tamtam/saisim/tm"
)

// A core is what all stations share: time, what is compiled of the configuration, memory, the books, and those who
// watch.
type core struct {
	// What every packet needs is together.
	schedule
	observer func(Moment)           // nil: nobody
	found    func(*packet, Finding) // in tables; nil: nobody wants to know
	ledger   Ledger                 // nil: nobody
	keeping
	out    func(*Out)
	frames uint64 // received and injected, and reports
	spares spares
	toReport
	books Books
	compiled

	clock atomic.Pointer[Clock]
	tod   clockReader
	prof  profile.Profile
}

// schedule is what happens when.
type schedule struct {
	now      Cycle
	stepping bool      // event by event, and no packet takes a shortcut
	off      shortcuts // that are closed to all packets; derived as [Engine.Advance] begins
	agenda   *agenda
	arriving wheel          // at ingress MACs
	enter    tm.Ring[timed] // in the order of (ready, port)
	pipe     tm.Ring[timed]
	// ended are packets that end at the ingress pipe's entry, and are to be noted in the order of time.
	ended tm.Ring[timed]
	// leaving is what is copied when it is through the egress pipe, in order.
	leaving tm.Ring[mirroring]
}

// compiled is what all stations know of the configuration.
type compiled struct {
	byID                        []*port // by first lane; nil: none
	switchMAC                   uint64
	recorders                   uint64 // mirror sessions that record, by index
	ingressCycles, egressCycles Cycle
	skips                       describe.Marks // fixed functions that are skipped: faults
	lagSeed                     uint32         // of the flow hash
	tracking                    bool           // trails of packets that enter are kept
	// stale says that the lists which follow from several rows (members of
	// LAGs and VLANs, ACL tables of ports) must be made anew.
	stale    bool
	ports    []*port           // in the order of id
	mirrored []*mirrorSession  // by index; nil: free
	ids      map[config.ID]any // what is compiled of rows that others refer to
	doors    doors
	vlans    [4096]*vlan
}

// spares is memory that is used again.
type spares struct {
	packets []*packet
	copies  pool[copyOf]
	ifa     pool[ifaWork]
	met     pool[egressMet]
	due     pool[sampleDue]
	scratch []byte
}

// A pool is values that were taken back, as they are.
type pool[T any] struct{ spare []*T }

// take returns one of those, or a new one.
func (p *pool[T]) take() *T {
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
	const most = 2 * 16384 // the longest frame that leaves, and more
	return spares{scratch: make([]byte, 0, most)}
}

// A timed packet is due at a cycle.
type timed struct {
	at Cycle
	pk *packet
}

// A slab is memory for packets: what is fetched again at each place lies side by side.
type slab struct {
	packets [32]packet // each three cache lines
	passing [32]passing
	rooms   [32][64]byte       // for the data of short frames: a full buffer of them is many
	came    [32][keptHead]byte // their met.outerCame, which few have
}

// free gives a packet back to the pool. What is in passing of those there is empty.
func (c *core) free(pk *packet) {
	if !pk.usual {
		pk.transit = transit{}
	}
	c.spares.packets = append(c.spares.packets, pk)
}

// newPacket takes a packet from the pool, for a frame that is n bytes long before it is cut.
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
	// Field by field: a literal would be made elsewhere and copied in words that the processor cannot
	// forward from the stores that made it.
	pk.flight = flight{}
	pk.length, pk.id, pk.number = n, f.ID, c.frames
	return pk
}

// moreSpares sees to it that there is a packet in the pool, the last, with room for n bytes. It returns its index.
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

// copy makes one more copy of a packet.
func (c *core) copy(pk *packet, tag tagAction) *copyOf {
	pk.refs++
	pk.copies++
	cp := &pk.own
	if pk.copies > 1 {
		cp = c.spares.copies.take()
	}
	*cp = copyOf{pk: pk, tag: tag, number: pk.copies}
	return cp
}

// freeCopy takes back a copy that has ended.
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

// freeIFA takes back what was to be done to a copy.
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

// at returns what is compiled of the row with an id, nil if there is none or it is something else.
func at[T any](c *core, id config.ID) (x T) {
	x, _ = c.ids[id].(T)
	return x
}

// leave has copies made of what enters the egress pipe now, when it is through.
func (c *core) leave(m mirroring) {
	m.copy.pk.refs++
	m.at = c.now + c.egressCycles
	c.leaving.Push(m)
	if c.leaving.Len() == 1 {
		c.agenda.push(c.now, event{m.at, eventKey(classMirror, 0)})
	}
}

// mirrorSet returns sessions as bits.
func (c *core) mirrorSet(ids []config.ID) (set uint64) {
	for _, id := range ids {
		if m := at[*mirrorSession](c, id); m != nil {
			set |= 1 << m.index
		}
	}
	return set
}
