package saisim

import (
	"fmt"
	"slices"
	"time"

	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/saisim/engine"
	"tamtam/saisim/objects"
	"tamtam/saisim/profile"
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
	// Notify is called for the chip's notifications, with the chip unlocked and in
	// order; nil: nobody listens.
	Notify func(sai.Notification)
	// Wired names host interfaces whose ports have no link until [Chip.SetWire] says that they have: nobody knows
	// before. Other ports have one from the start.
	Wired map[string]bool
	// HostInterfaces is called with the host interfaces of ports, sorted by name, when one has changed, with the chip
	// locked: it must not call the chip or wait. nil: nobody is interested.
	HostInterfaces func([]HostInterface)
	// Oracle is how many flows of a sketch task and bank the chip counts exactly, beside
	// the sketch, for tests and experiments to compare with; 0: none. No chip has this.
	Oracle int
	// Forgetful says that the chip keeps no drops: for comparison.
	Forgetful bool
	// Changed is called with every change of the chip's tables as it takes effect, with the chip locked;
	// it must not keep it. An engine that has compiled them all is configured as the chip's. nil: nobody listens.
	Changed func(config.Change)
}

// KeptDrops is how many drops a chip keeps: the last ones.
const KeptDrops = 65536

// A Chip is one simulated ASIC: a lock around the objects that SAI has made, and the packet path that
// is compiled from the rows that they stand for. It implements [sai.API].
type Chip struct {
	api
	profile profile.Profile
}

// New returns a chip without a switch object: it has no ports until one is
// created.
func New(cfg Config) (*Chip, error) {
	if err := cfg.Profile.Validate(); err != nil {
		return nil, err
	}
	if cfg.Start.Unix() < 0 {
		return nil, fmt.Errorf("chip: Start is %v, want a time from 1970 on", cfg.Start)
	}
	cfg.Profile.SpeedsMbps, cfg.Profile.Default = slices.Clone(cfg.Profile.SpeedsMbps), slices.Clone(cfg.Profile.Default)
	e := engine.New(cfg.Profile, cfg.Start, cfg.Oracle)
	if !cfg.Forgetful {
		e.Keep(KeptDrops)
	}
	o := objects.New(e, objects.Config{
		Profile: cfg.Profile, Start: cfg.Start, Kernel: cfg.Kernel, Oracle: cfg.Oracle > 0, Changed: cfg.Changed,
		Wired: cfg.Wired, HostInterfaces: cfg.HostInterfaces,
	})
	return &Chip{api: api{objects: o, engine: e, notify: cfg.Notify}, profile: cfg.Profile}, nil
}

// Profile returns the chip's profile.
func (c *Chip) Profile() profile.Profile { return c.profile }

// SetOutput sets the function that takes the frames leaving the chip. It is
// called from within Advance, in the order of time, and must not call the chip, or keep what it is given.
func (c *Chip) SetOutput(f func(*Out)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.engine.SetOutput(f)
}

// Now returns the cycle that the last Advance reached.
func (c *Chip) Now() Cycle {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.engine.Now()
}

// Receive puts a frame on the wire of a port's ingress MAC, its timestamp point
// at cycle at, or as soon after as the frames before it allow. The data is
// copied.
func (c *Chip) Receive(id PortID, at Cycle, f Frame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.engine.Receive(id, at, &f)
}

// ReceiveAll is [Chip.Receive] for many frames at once. It returns how many it has
// taken: all, or those before the first that it refuses.
func (c *Chip) ReceiveAll(frames []Arrival) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.engine.ReceiveAll(frames)
}

// IngressFree returns the first cycle, rounded down, at which a frame given to
// Receive need not wait for those before it. It is 0 for a port that is not there.
func (c *Chip) IngressFree(id PortID) Cycle {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.engine.IngressFree(id)
}

// Inject queues a frame at a port's egress, as the CPU does: it goes past the
// ingress pipe, at the current cycle.
func (c *Chip) Inject(id PortID, f Frame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.engine.Inject(id, f)
}

// InjectVLAN has a frame without a tag of its own enter the ingress pipe in a VLAN, as the CPU does at the VLAN's
// router interface: at the next cycle, or as soon after as the pipe is free. It goes where the bridge says, to the port
// of its address or to all, with the tags of each; admission, traps, ACLs, the program and learning are not asked.
func (c *Chip) InjectVLAN(vid uint16, f Frame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.engine.InjectVLAN(vid, f)
}

// Advance handles every event up to and including cycle to.
func (c *Chip) Advance(to Cycle) {
	c.mu.Lock()
	defer c.unlock()
	c.engine.Advance(to)
}

// SetVector sets how many packets pass the ingress pipe together, at most: 1 to 64, at first 64. With 0 all events
// are handled one after another, in the order of time, class and port, whichever part of the chip they belong to: then
// all that an observer is told comes in the order of time, and not of each copy only. Else it makes no difference but
// in speed.
func (c *Chip) SetVector(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.engine.SetVector(n)
}

// NextEvent returns the cycle of the next thing that happens to a frame, false
// if there are no frames in the chip.
func (c *Chip) NextEvent() (Cycle, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.engine.NextEvent()
}
