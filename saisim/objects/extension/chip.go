package extension

import (
	"time"

	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/saisim/engine"
	"tamtam/saisim/profile"
	"tamtam/tam/altmark"
)

// A Chip is the part of a chip that extensions use.
type Chip struct {
	Engine  *engine.Engine
	Profile profile.Profile
	// Start is the time of day at cycle 0.
	Start time.Time
	// Kernel returns the state of the kernel's clock, which the chip's clock follows. It is nil if the chip's clock
	// follows no other clock.
	Kernel func() altmark.KernelClock
	// Oracle enables exact counts of the flows of sketch tasks, which can be read.
	Oracle bool
	// Put and Drop collect the changes of the chip's tables by a call.
	Put, Drop func(config.Row)
}

// ACLs is the part of the chip's ACLs that extensions use.
type ACLs interface {
	// Labelled returns the counters with a label.
	Labelled(label string) []config.ID
	// SetFlow sets the option that packets of a flow's index have, and ForgetFlow removes it. MatchAnew updates the
	// entries.
	SetFlow(f altmark.ChipFlowOf)
	ForgetFlow(index uint32)
	// Rematch updates the matches of the entries that name an index.
	Rematch(index uint32)
}

// An Object is the chip's implementation of a GENERIC_PROGRAMMABLE object. Names and JSON are in
// docs/internals/extensions.md.
type Object interface {
	// Apply applies ENTRY, at creation or later. On error, nothing has changed.
	Apply(entry []byte) error
	// Read returns ENTRY as a get returns it, or nil if that is the value that was set.
	Read() sai.Value
	// Leave undoes Apply.
	Leave()
}
