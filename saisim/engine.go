package saisim

import (
	"fmt"
	"sync/atomic"

	"tamtam/saisim/profile"
	"tamtam/saisim/tm"
)

// An engine is the packet path: what it knows of the configuration is compiled from
// rows of tables.
type engine struct {
	prof profile.Profile
	cfg  Config
	tod  atomic.Pointer[timeOfDay]

	forwarding
	programs
	sketch sketching

	now       Cycle
	recorders uint64     // mirror sessions that record, by index
	skips     fixedMarks // fixed functions that are skipped: faults
	tracking  bool       // trails of packets that enter are kept

	agenda  *agenda
	enter   tm.Ring[timed] // in the order of (ready, port)
	leaving tm.Ring[mirroring]
	pipe    tm.Ring[timed]
	entered Cycle // first cycle at which the pipe is free
	spares
	out    func(Out)
	buffer *tm.Buffer
	turns
	books     Books
	frames    uint64 // received and injected
	observer  func(Moment)
	recording recording

	compile func() // makes what is stale; not reset
	// fdbChanged is told what becomes of addresses that nobody has asked for.
	fdbChanged func(fdbEvent, *fdbEntry)
}

// turns says which port has the egress pipe, which takes one frame per cycle.
type turns struct {
	egressFree Cycle   // the first cycle when it takes one
	waiting    portSet // ports that have one for it
	waitingN   int
	served     PortID // the last port that had its turn
}

// spares is memory that is used again.
type spares struct {
	spare   []*packet
	scratch []byte
	wrapped []byte // a mirrored frame
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

func newEngine(cfg Config) *engine {
	c := &engine{
		prof:   cfg.Profile,
		cfg:    cfg,
		out:    func(Out) {},
		spares: newSpares(),
	}
	c.tod.Store(newTimeOfDay(cfg.Profile.ClockHz, cfg.Start))
	return c
}

func (c *engine) arrive(id PortID, at Cycle, f Frame) error {
	if f.Len == 0 {
		f.Len = len(f.Data)
	}
	p := c.port(id)
	switch {
	case p == nil:
		return fmt.Errorf("receive: no port %d", id)
	case at < c.now:
		return fmt.Errorf("receive on port %d: cycle %d is past, the chip is at %d", id, at, c.now)
	case f.Len < len(f.Data) || f.Len > maxFrame:
		return fmt.Errorf("receive on port %d: %d bytes of a frame of %d, want a frame of at most %d", id, len(f.Data),
			f.Len, maxFrame)
	}
	c.receive(p, at, f)
	return nil
}

func (c *engine) next(ageing bool) (event, bool) {
	e, ok := c.agenda.first(c.now)
	if !ok {
		e = event{never, eventKey(numClasses, 0)}
	}
	if c.waitingN > 0 {
		if f := (event{max(c.now, c.egressFree), eventKey(classServe, 0)}); f.before(e) {
			e = f
		}
	}
	if c.pipe.Len() > 0 {
		if f := (event{c.pipe.First().at, eventKey(classQueue, 0)}); f.before(e) {
			e = f
		}
	}
	if c.enter.Len() > 0 {
		if f := (event{c.enter.First().at, eventKey(classEnter, 0)}); f.before(e) {
			e = f
		}
	}
	if ageing && c.fdb.sweepAt < e.at {
		e = event{c.fdb.sweepAt, eventKey(classAge, 0)}
	}
	if ageing && c.batches.Len() > 0 && c.batches.First().at <= e.at {
		e = event{c.batches.First().at, eventKey(classControl, 0)}
	}
	return e, e.at != never
}

func (c *engine) handle(e event) {
	switch e.class() {
	case classSent:
		c.agenda.pop(e)
		c.sent(c.byID[e.port()])
	case classDequeue:
		c.agenda.pop(e)
		c.due(c.byID[e.port()])
	case classServe:
		c.serve()
	case classMirror:
		c.agenda.pop(e)
		c.mirrorLeaving()
	case classRecirculated:
		c.agenda.pop(e)
		c.recirculated()
	case classQueue:
		pk := c.pipe.First().pk
		c.pipe.Pop()
		c.replicate(pk)
	case classEnter:
		pk := c.enter.First().pk
		c.enter.Pop()
		c.ingress(pk)
	case classReceived:
		c.agenda.pop(e)
		c.received(c.byID[e.port()])
	case classAge:
		c.ageFDB()
	case classControl:
		c.takeEffect(*c.batches.First())
		c.batches.Pop()
	}
}

// newPacket takes a packet from the pool.
func (c *engine) newPacket(f Frame) *packet {
	c.frames++
	var pk *packet
	if n := len(c.spare); n > 0 {
		pk = c.spare[n-1]
		c.spare = c.spare[:n-1]
	} else {
		pk = &packet{data: make([]byte, 0, (len(f.Data)+63)&^63)} // a full buffer of small frames is many
	}
	data := append(pk.data[:0], f.Data...)
	*pk = packet{}
	pk.data, pk.length, pk.id, pk.number = data, f.Len, f.ID, c.frames
	return pk
}

// release gives up one use of the packet.
func (c *engine) release(pk *packet) {
	if pk.refs--; pk.refs <= 0 {
		if pk.run != nil {
			c.alight(pk)
		}
		if pk.graph != nil && pk.record != nil {
			c.recording.spareChoices = append(c.recording.spareChoices, pk.record)
			pk.record = nil
		}
		c.spare = append(c.spare, pk)
	}
}
