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
	observer func(Moment) // nil: nobody
	ledger   Ledger       // nil: nobody
	out      func(Out)
	frames   uint64 // received and injected
	spares
	books Books
	compiled

	clock  atomic.Pointer[Clock]
	tod    clockReader
	oracle int // how many flows of a sketch task and bank are counted exactly
	// addressChanged is told what becomes of addresses of its own accord.
	addressChanged func(FDBEvent, FDBRow)
	prof           profile.Profile
}

// schedule is what happens when.
type schedule struct {
	now      Cycle
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
	ports    []*port          // in the order of id
	mirrored []*mirrorSession // by index; nil: free
	lags     []*lag
	ids      map[config.ID]any // what is compiled of rows that others refer to
	vlans    [4096]*vlan
}

// spares is memory that is used again.
type spares struct {
	spare       []*packet
	spareCopies []*copyOf
	scratch     []byte
	wrapped     []byte // a mirrored frame
}

func newSpares() spares {
	const most = 2 * 16384 // the longest frame that leaves, and more
	return spares{scratch: make([]byte, 0, most), wrapped: make([]byte, 0, most)}
}

// A timed packet is due at a cycle.
type timed struct {
	at Cycle
	pk *packet
}

// newPacket takes a packet from the pool.
func (c *core) newPacket(f Frame) *packet {
	c.frames++
	var pk *packet
	if n := len(c.spare); n > 0 {
		pk = c.spare[n-1]
		c.spare = c.spare[:n-1]
	} else {
		// A full buffer of small frames is many: a short frame has its room with the packet.
		x := new(struct {
			packet
			room [64]byte
		})
		pk = &x.packet
		if pk.data = x.room[:0]; len(f.Data) > len(x.room) {
			pk.data = make([]byte, 0, (len(f.Data)+63)&^63)
		}
	}
	data := append(pk.data[:0], f.Data...)
	*pk = packet{}
	pk.data, pk.length, pk.id, pk.number = data, f.Len, f.ID, c.frames
	return pk
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
