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

// Config holds the parameters of a new chip.
type Config struct {
	Profile profile.Profile
	// Start is the time of day at cycle 0. It must not be before 1970.
	Start time.Time
	// Kernel returns the kernel's state of the clock that the chip's clock follows. nil means that it follows none, and
	// [Chip.SetClockSynchronised] sets whether it is synchronised.
	Kernel func() altmark.KernelClock
	// Notify is called with the chip's notifications, with the chip unlocked and in order. nil means that there is no
	// receiver.
	Notify func(sai.Notification)
	// Wired names host interfaces whose ports have no link until [Chip.SetWire] reports one. Other ports have a link
	// from the start.
	Wired map[string]bool
	// HostInterfaces is called with the host interfaces of ports, sorted by name, when one has changed. The chip is
	// locked during the call: it must not call the chip or wait. nil means that there is no receiver.
	HostInterfaces func([]HostInterface)
	// Oracle is the number of flows of a sketch task and bank that the chip also counts exactly, so that tests and
	// experiments can compare. Zero means none. Real chips have no such counters.
	Oracle int
	// Forgetful is true if the chip keeps no drops, for comparison.
	Forgetful bool
	// Changed is called with every change of the chip's tables as it takes effect, with the chip locked. It must not
	// keep the change. An engine that has compiled all changes has the chip's configuration. nil means that there is no
	// receiver.
	Changed func(config.Change)
}

// KeptDrops is the number of most recent drops that a chip keeps.
const KeptDrops = 65536

// A Chip is one simulated ASIC: a lock around the SAI objects and the packet path, which is compiled from the rows of
// these objects. It implements [sai.API].
type Chip struct {
	api
	profile profile.Profile
}

// New returns a chip without a switch object. It has no ports until a switch object is created.
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

// SetOutput sets the function that receives the frames leaving the chip. The function is called from within Advance, in
// the order of time. It must not call the chip, or keep its argument.
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

// Receive puts a frame on the wire of a port's ingress MAC. Its timestamp point is at cycle at, or as soon after it as
// earlier frames allow. The data is copied.
func (c *Chip) Receive(id PortID, at Cycle, f Frame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.engine.Receive(id, at, &f)
}

// ReceiveAll does [Chip.Receive] for many frames. It stops at the first frame that it refuses, and returns the number
// of accepted frames.
func (c *Chip) ReceiveAll(frames []Arrival) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.engine.ReceiveAll(frames)
}

// Receiving locks the chip once for many frames: it calls f, which hands them over. f must not call the chip, or keep
// its argument.
func (c *Chip) Receiving(f func(Intake) error) error {
	c.mu.Lock()
	defer c.unlock()
	return f(Intake{c.engine})
}

// An Intake is a locked chip as [Chip.Receiving] lends it.
type Intake struct{ engine *engine.Engine }

// Approach does [engine.Engine.Approach].
func (i Intake) Approach(at Cycle) { i.engine.Approach(at) }

// Receive does [Chip.Receive].
func (i Intake) Receive(id PortID, at Cycle, f *Frame) error { return i.engine.Receive(id, at, f) }

// ReceiveWaiting does [engine.Engine.ReceiveWaiting].
func (i Intake) ReceiveWaiting(id PortID, at Cycle, f *Frame) error {
	return i.engine.ReceiveWaiting(id, at, f)
}

// Free returns the first cycle, rounded down, at which a frame given to Receive need not wait for earlier frames. It
// returns 0 if the port does not exist.
func (i Intake) Free(id PortID) Cycle { return i.engine.IngressFree(id) }

// Inject queues a frame at a port's egress, as the CPU does. The frame bypasses the ingress pipe and is queued at the
// current cycle.
func (c *Chip) Inject(id PortID, f Frame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.engine.Inject(id, f)
}

// InjectVLAN makes a frame without a tag of its own enter the ingress pipe in a VLAN, as the CPU does at the VLAN's
// router interface. It enters at the next cycle, or as soon after as the pipe is free. The bridge sends it to the port
// of its address or to all ports, with the tags of each. Admission, traps, ACLs, the program and learning do not apply.
func (c *Chip) InjectVLAN(vid uint16, f Frame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.engine.InjectVLAN(vid, f)
}

// Advance handles all events up to and including cycle to.
func (c *Chip) Advance(to Cycle) {
	c.mu.Lock()
	defer c.unlock()
	c.engine.Advance(to)
}

// SetVector sets the maximum number of packets that pass the ingress pipe together, 1 to 64. The default is 64. With 0,
// all events are handled one after another in the order of time, class and port, even if they belong to different parts
// of the chip. An observer then gets all moments in the order of time, not only the moments of each copy. Otherwise
// only the speed differs.
func (c *Chip) SetVector(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.engine.SetVector(n)
}

// NextEvent returns the cycle of the next event of a frame, and false if the chip holds no frames.
func (c *Chip) NextEvent() (Cycle, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.engine.NextEvent()
}
