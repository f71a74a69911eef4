package amorch

import "tamtam/tam/altmark"

// clockState is what the switch's clock was worth at a reading: which clock it follows, and whether
// that is trusted.
type clockState struct {
	clock   altmark.Clock
	trusted bool
}

// clockStates are those of the last readings, the latest last.
type clockStates [3]clockState

// add records the state of the clock at a reading. A clock that follows no kernel's is trusted as far
// as the chip trusts it.
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

// period fills in what the clock of the period is worth that the last reading completed. Its packets
// came after the last reading but two, so the clock must be trusted at all three. Methods without
// delays need no such clock, and nothing makes up for one that the chip itself does not trust.
func (v *clockStates) period(p *altmark.Period, s altmark.Session) {
	if !s.Delay() || p.Flags&altmark.Unsynchronised != 0 {
		return
	}
	p.Clock = v[len(v)-1].clock
	for _, at := range v {
		if at == (clockState{}) { // there was no such reading yet
			continue
		}
		if !at.trusted {
			p.Flags |= altmark.Unsynchronised
			p.Clock.Says, p.Clock.Error = at.clock.Says, 0
		}
		if at.clock.Kernel != p.Clock.Kernel {
			p.Clock.Kernel = "" // it may have followed either
		}
	}
}
