package saisim

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/saisim/profile"
	"tamtam/saisim/tailstamp"
	"tamtam/saisim/tm"
	"tamtam/tam/altmark"
)

// Config is what a chip is made from.
type Config struct {
	Profile profile.Profile
	// Start is the time of day at cycle 0; not before 1970.
	Start time.Time
	// Kernel says what the kernel knows of the clock that the chip's follows; nil: it follows none,
	// and whether it is synchronised is what [Chip.SetClockSynchronised] says.
	Kernel func() altmark.KernelClock
	// Notify is called for what the chip tells without being asked, with the
	// chip unlocked and in order; nil: nobody listens.
	Notify func(sai.Notification)
	// Oracle is how many flows of a sketch task and bank the chip counts exactly, beside
	// the sketch, for tests and experiments to compare with; 0: none. No chip has this.
	Oracle int
}

// A Frame is an Ethernet frame without FCS.
type Frame struct {
	Data []byte
	// Len is the frame's length before a capture cut it; at least len(Data), at
	// most 262144, or 0 for len(Data).
	Len int
	// ID is the sender's name for the frame. It is in no byte on the wire: it comes
	// out with every copy, so that a test or the truth oracle knows what became of it.
	ID uint64
}

// maxFrame is the longest frame that Receive takes (longer than any MTU, so
// that such frames still take their time on the wire).
const maxFrame = 1 << 18

// An Out is a frame that leaves the chip.
type Out struct {
	Port PortID // CPUPort: punted
	In   PortID // CPUPort: injected
	// At is the cycle of the timestamp point at the egress MAC; for the CPU
	// port, of leaving the pipe.
	At      Cycle
	Data    []byte      // valid during the call only
	Len     int         // before a capture cut it
	Stamped bool        // a record was appended here
	ID      uint64      // of the frame that it is a copy of
	Trap    config.Trap // why the CPU has it
}

// A Chip is one simulated ASIC. It implements [sai.API].
type Chip struct {
	mu   sync.Mutex
	prof profile.Profile
	tod  atomic.Pointer[timeOfDay]
	cfg  Config

	control
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
	spare   []*packet
	scratch []byte
	wrapped []byte // a mirrored frame
	out     func(Out)
	notes   []sai.Notification
	buffer  *tm.Buffer
	// The egress pipe takes one frame per cycle.
	egressFree Cycle   // the first cycle when it takes one
	waiting    portSet // ports that have one for it
	waitingN   int
	served     PortID // the last port that had its turn
	books      Books
	frames     uint64 // received and injected
	observer   func(Moment)
	recording  recording
}

// A timed packet is due at a cycle.
type timed struct {
	at Cycle
	pk *packet
}

// New returns a chip without a switch object: it has no ports before that is
// created.
func New(cfg Config) (*Chip, error) {
	if err := cfg.Profile.Validate(); err != nil {
		return nil, err
	}
	if cfg.Start.Unix() < 0 {
		return nil, fmt.Errorf("chip: Start is %v, want a time from 1970 on", cfg.Start)
	}
	cfg.Profile.SpeedsMbps, cfg.Profile.Default = slices.Clone(cfg.Profile.SpeedsMbps), slices.Clone(cfg.Profile.Default)
	c := &Chip{
		prof:    cfg.Profile,
		cfg:     cfg,
		out:     func(Out) {},
		scratch: make([]byte, 0, 2*16384), // the longest frame that leaves, and more,
		wrapped: make([]byte, 0, 2*16384),
	}
	c.tod.Store(newTimeOfDay(cfg.Profile.ClockHz, cfg.Start))
	c.reset()
	return c, nil
}

// SetOutput sets the function that takes the frames leaving the chip. It is
// called from within Advance, in the order of time, and must not call the chip.
func (c *Chip) SetOutput(f func(Out)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out = f
}

// Now returns the cycle that the last Advance reached.
func (c *Chip) Now() Cycle {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Profile returns the chip's profile.
func (c *Chip) Profile() profile.Profile { return c.prof }

// Receive puts a frame on the wire of a port's ingress MAC, its timestamp point
// at cycle at, or as soon after as the frames before it allow. The data is
// copied.
func (c *Chip) Receive(id PortID, at Cycle, f Frame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.arrive(id, at, f)
}

// An Arrival is a frame on its way to a port's ingress MAC, as [Chip.Receive]
// takes it.
type Arrival struct {
	Port PortID
	At   Cycle
	Frame
}

// ReceiveAll is [Chip.Receive] for many frames at once. It returns how many it has
// taken: all, or those before the first that it refuses.
func (c *Chip) ReceiveAll(frames []Arrival) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range frames {
		if err := c.arrive(frames[i].Port, frames[i].At, frames[i].Frame); err != nil {
			return i, err
		}
	}
	return len(frames), nil
}

func (c *Chip) arrive(id PortID, at Cycle, f Frame) error {
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
		return fmt.Errorf("receive on port %d: %d bytes of a frame of %d, want a frame of at most %d", id, len(f.Data), f.Len, maxFrame)
	}
	c.receive(p, at, f)
	return nil
}

// IngressFree returns the first cycle, rounded down, at which a frame given to
// Receive need not wait for those before it. It is 0 for a port that is not there.
func (c *Chip) IngressFree(id PortID) Cycle {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.port(id); p != nil {
		return p.rxFree.cycle
	}
	return 0
}

// Inject queues a frame at a port's egress, as the CPU does: it goes past the
// ingress pipe, at the current cycle.
func (c *Chip) Inject(id PortID, f Frame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.port(id)
	if f.Len == 0 {
		f.Len = len(f.Data)
	}
	switch {
	case p == nil:
		return fmt.Errorf("inject: no port %d", id)
	case len(f.Data) < ethernetHeader || f.Len < len(f.Data) || f.Len > maxFrame:
		return fmt.Errorf("inject on port %d: frame of %d bytes with length %d, want %d to %d", id, len(f.Data), f.Len, ethernetHeader, maxFrame)
	}
	pk := c.newPacket(f)
	pk.in, pk.inN, pk.rx, pk.refs = CPUPort, tailstamp.NoPort, c.now, 1
	pk.h.parse(pk.data, pk.length)
	if c.program != nil {
		c.board(pk)
	}
	if c.tracking {
		pk.graph = c.described()
	}
	c.books.Injected++
	if c.observer != nil {
		c.saw(MomentInjected, pk, 0, p.id)
	}
	cp := pk.copy(tagAction{})
	c.enqueue(p, &cp)
	if c.observer != nil {
		c.sawReplicated(pk)
	}
	c.release(pk)
	return nil
}

// Advance handles every event up to and including cycle to.
func (c *Chip) Advance(to Cycle) {
	c.mu.Lock()
	for {
		e, ok := c.next(true)
		if !ok || e.at > to {
			break
		}
		c.now = e.at
		c.handle(e)
	}
	c.now = max(c.now, to)
	c.unlock()
}

// NextEvent returns the cycle of the next thing that happens to a frame, false
// if there are no frames in the chip.
func (c *Chip) NextEvent() (Cycle, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.next(false)
	return e.at, ok
}

func (c *Chip) next(ageing bool) (event, bool) {
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

func (c *Chip) handle(e event) {
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

// unlock releases the chip and then delivers what it has to tell.
func (c *Chip) unlock() {
	notes, done := c.notes, c.done
	c.notes, c.done = nil, nil
	c.mu.Unlock()
	for _, f := range done {
		f()
	}
	if c.cfg.Notify != nil {
		for _, n := range notes {
			c.cfg.Notify(n)
		}
	}
}

func (c *Chip) notify(n sai.Notification) { c.notes = append(c.notes, n) }

// newPacket takes a packet from the pool.
func (c *Chip) newPacket(f Frame) *packet {
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
func (c *Chip) release(pk *packet) {
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
