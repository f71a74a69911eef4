package amorch

import "tamtam/tam/altmark"

// clockState is the state of the switch's clock at a reading of the counters: the clock that it follows, and whether it
// is trusted.
type clockState struct {
	clock   altmark.Clock
	trusted bool
}

// clockStates contains the states at the last three readings, the oldest first.
type clockStates [3]clockState

// add records the state of the clock at a reading. If the chip's clock does not follow a kernel clock, the chip alone
// determines whether it is trusted.
func (v *clockStates) add(s altmark.Session, t altmark.ChipClock) {
	now := clockState{trusted: true}
	switch {
	case t.Kernel != nil:
		now.clock, now.trusted = s.Vouch(*t.Kernel)
	case s.Trust == altmark.DeclaredClock:
		now.clock, now.trusted = s.Vouch(altmark.KernelClock{})
	}
	copy(v[:], v[1:])
	v[len(v)-1] = now
}

// period sets the accuracy of the clock for the period that the last reading completed. The packets of that period
// arrived between the first and the third of the last three readings. So the clock must be trusted at all three
// readings. Methods without delays do not need a trusted clock. A clock that the chip itself does not trust is never
// trusted.
func (v *clockStates) period(p *altmark.Period, s altmark.Session) {
	if !s.Delay() || p.Flags&altmark.Unsynchronised != 0 {
		return
	}
	p.Clock = v[len(v)-1].clock
	for _, at := range v {
		if at == (clockState{}) { // the reading has not taken place yet
			continue
		}
		if !at.trusted {
			p.Flags |= altmark.Unsynchronised
			p.Clock.Says, p.Clock.Error = at.clock.Says, 0
		}
		if at.clock.Kernel != p.Clock.Kernel {
			p.Clock.Kernel = "" // the chip's clock may have followed either kernel's clock
		}
	}
}
