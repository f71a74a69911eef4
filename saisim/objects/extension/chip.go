package extension

import (
	"time"

	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/saisim/engine"
	"tamtam/saisim/profile"
	"tamtam/tam/altmark"
)

// A Chip is what extensions work on.
type Chip struct {
	Engine  *engine.Engine
	Profile profile.Profile
	// Start is the time of day at cycle 0.
	Start time.Time
	// Kernel returns what the kernel knows of the clock that the chip's follows; nil if it follows none.
	Kernel func() altmark.KernelClock
	// Oracle says that flows of sketch tasks are counted exactly, and can be read.
	Oracle bool
	// Put and Drop collect what the call does to the chip's tables.
	Put, Drop func(config.Row)
}

// ACLs are the ACLs of the chip, as far as extensions need them.
type ACLs interface {
	// Labelled returns the counters with a label.
	Labelled(label string) []config.ID
	// SetFlow sets what packets of a flow's index have, ForgetFlow takes it back. Entries follow with MatchAnew.
	SetFlow(f altmark.ChipFlowOf)
	ForgetFlow(index uint32)
	// MatchAnew has the entries that name an index match what its packets have.
	MatchAnew(index uint32)
}

// An Object is what a GENERIC_PROGRAMMABLE object is to the chip. Names and
// JSON are in docs/internals/extensions.md.
type Object interface {
	// Apply applies ENTRY, at creation or later; on error nothing has changed.
	Apply(entry []byte) error
	// Read returns ENTRY as a get sees it, nil: as it was set.
	Read() sai.Value
	// Leave undoes Apply.
	Leave()
}
