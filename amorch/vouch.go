package amorch

import "tamtam/tam/altmark"

// vouched is what vouches for the switch's clock at a reading.
type vouched struct {
	clock   altmark.Clock
	trusted bool
}

// vouchers are those of the last readings, the latest last.
type vouchers [3]vouched

// ask notes what vouches for the clock now. A clock that follows no kernel's is trusted as far as the
// chip trusts it.
func (v *vouchers) ask(s altmark.Session, t altmark.ChipClock) {
	now := vouched{trusted: true}
	switch {
	case t.Kernel != nil:
		now.clock, now.trusted = s.Vouch(*t.Kernel)
	case s.Trust == altmark.DeclaredClock:
		now.clock, now.trusted = s.Vouch(altmark.KernelClock{})
	}
	copy(v[:], v[1:])
	v[len(v)-1] = now
}

// period says what vouches for the clock of the period that the last reading completed. Its pulse
// came after the last reading but two, and the clock must be trusted at all three. Methods without
// delays need no such clock, and nothing makes up for one that the chip itself does not trust.
func (v *vouchers) period(p *altmark.Period, s altmark.Session) {
	if !s.Method.Delay() || p.Flags&altmark.Unsynchronised != 0 {
		return
	}
	p.Clock = v[len(v)-1].clock
	for _, at := range v {
		if at == (vouched{}) { // there was no such reading yet
			continue
		}
		if !at.trusted {
			p.Flags |= altmark.Unsynchronised
			p.Clock.Says, p.Clock.Error = at.clock.Says, 0
		}
		if at.clock.Kernel != p.Clock.Kernel {
			p.Clock.Kernel = "" // it may have been of either
		}
	}
}
