package saisim

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/saisim/profile"
	"tamtam/saisim/tailstamp"
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

// A Chip is one simulated ASIC: a lock around the objects that SAI has made, and the packet path that
// is compiled from the tables that they say. It implements [sai.API].
type Chip struct {
	mu sync.Mutex
	*store
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
	c := &Chip{store: &store{cfg: cfg, engine: newEngine(cfg)}}
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
		return fmt.Errorf("inject on port %d: frame of %d bytes with length %d, want %d to %d", id, len(f.Data), f.Len,
			ethernetHeader, maxFrame)
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
