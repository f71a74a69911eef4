package reference_test

import (
	"context"
	"fmt"

	"tamtam/sai"
	"tamtam/saisim/config"
)

// apart runs do with random numbers for policers, if there are any.
func (g *gen) apart(do func()) {
	if g.policing == nil {
		return
	}
	was := g.Rand
	g.Rand = g.policing
	do()
	g.Rand = was
}

// furnishPolicers sends frames to the CPU by traps of policed groups. In half of the cases, the others use a policer of
// the default group.
func (g *gen) furnishPolicers() { g.apart(g.doFurnishPolicers) }

func (g *gen) doFurnishPolicers() {
	const group = sai.ObjectTypeHostifTrapGroup
	for range 3 {
		g.newPolicer()
		g.create(group, sai.HostifTrapGroupAttrQueue, sai.Uint(g.IntN(config.NumCPUQueues)),
			sai.HostifTrapGroupAttrPolicer, g.any(sai.ObjectTypePolicer))
	}
	types, err := g.chip.EnumCapability(context.Background(), sai.HostifTrapAttrTrapType)
	if err != nil {
		return
	}
	for range 12 {
		g.create(sai.ObjectTypeHostifTrap, sai.HostifTrapAttrTrapType, pick(g, types...),
			sai.HostifTrapAttrPacketAction, pick(g, sai.PacketActionTrap, sai.PacketActionCopy, g.packetAction()),
			sai.HostifTrapAttrTrapGroup, g.any(group), sai.HostifTrapAttrTrapPriority, sai.Uint(g.IntN(3)))
	}
	if got, err := g.chip.Get(context.Background(), sai.Obj(sai.ObjectTypeSwitch, g.sw),
		[]sai.Attr{sai.Want(sai.SwitchAttrDefaultTrapGroup, 0)}); err == nil && g.chance(50) {
		oid := got[0].Value.(sai.OID)
		g.pool[group] = append(g.pool[group], oid)
		g.setOf(group, oid, sai.HostifTrapGroupAttrPolicer, g.any(sai.ObjectTypePolicer))
	}
}

// rate returns a rate that matters at the chip's speed, with frames every few to few thousand cycles.
func (g *gen) rate() sai.Uint {
	if g.chance(10) {
		return pick(g, sai.Uint(0), sai.Uint(1), sai.Uint(1<<63+g.Uint64N(1<<63)))
	}
	return sai.Uint(g.prof.ClockHz / (1 + g.Uint64N(3000)))
}

func (g *gen) burst() sai.Uint {
	return sai.Uint(pick(g, 0, 1, 2, g.Uint64N(10), g.Uint64N(3000), g.Uint64N(1<<20), 1<<40))
}

func (g *gen) newPolicer() {
	pass := func() sai.Enum { return pick(g, sai.PacketActionForward, sai.PacketActionDrop) }
	g.create(sai.ObjectTypePolicer, sai.PolicerAttrMeterType, pick(g, sai.MeterTypePackets, sai.MeterTypeBytes),
		sai.PolicerAttrMode, pick(g, sai.PolicerModeSrTcm, sai.PolicerModeTrTcm, sai.PolicerModeStormControl),
		sai.PolicerAttrCir, g.rate(), sai.PolicerAttrCbs, g.burst(), sai.PolicerAttrPbs, g.burst(),
		sai.PolicerAttrYellowPacketAction, pass(), sai.PolicerAttrRedPacketAction, sai.PacketActionDrop)
	g.set(sai.ObjectTypePolicer, sai.PolicerAttrPir, g.rate())
}

// policerOp sometimes changes policers, and which trap groups use them.
func (g *gen) policerOp() { g.apart(g.doPolicerOp) }

func (g *gen) doPolicerOp() {
	const t, group = sai.ObjectTypePolicer, sai.ObjectTypeHostifTrapGroup
	switch g.IntN(30) {
	case 0:
		g.newPolicer()
	case 1:
		g.removeAny(t)
	case 2:
		g.set(group, sai.HostifTrapGroupAttrPolicer, pick(g, g.any(t), g.any(t), sai.NullOID))
	case 3:
		g.set(group, sai.HostifTrapGroupAttrQueue, sai.Uint(g.IntN(config.NumCPUQueues+1)))
	case 4:
		g.set(group, sai.HostifTrapGroupAttrAdminState, g.bool(80))
	case 5:
		g.set(t, pick(g, sai.PolicerAttrGreenPacketAction, sai.PolicerAttrYellowPacketAction, sai.PolicerAttrRedPacketAction),
			pick(g, sai.PacketActionForward, sai.PacketActionDrop))
	case 6, 7:
		g.set(t, pick(g, sai.PolicerAttrCir, sai.PolicerAttrPir), g.rate())
	case 8, 9:
		if g.keepBursts {
			return
		}
		g.set(t, pick(g, sai.PolicerAttrCbs, sai.PolicerAttrPbs), g.burst())
	}
}

// policersDiffer returns an error if policers have counted differently.
func (p *pair) policersDiffer() error {
	stats := []sai.StatID{
		sai.PolicerStatGreenPackets, sai.PolicerStatGreenBytes, sai.PolicerStatYellowPackets, sai.PolicerStatYellowBytes,
		sai.PolicerStatRedPackets, sai.PolicerStatRedBytes,
	}
	for _, r := range p.chip.Tables().Policers {
		f, err := p.chip.Stats(context.Background(), sai.Obj(sai.ObjectTypePolicer, sai.OID(r.ID)), stats)
		if err != nil {
			return err
		}
		want := p.ref.PolicerCounts(r.ID)
		for i, n := range f {
			if n != want[i/2][i%2] {
				return fmt.Errorf("policer %+v: %s is %d, the reference has %d", r, stats[i], n, want[i/2][i%2])
			}
		}
		for colour, word := range []string{"green", "yellow", "red"} {
			p.saw["policed: "+word] += int(want[colour][0])
			if r.Drop[colour] {
				p.saw["policed: dropped"] += int(want[colour][0])
			}
		}
	}
	return nil
}
