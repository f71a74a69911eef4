package reference_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"tamtam/internal/randtest"
	"tamtam/sai"
)

// isAdded reports whether the case of a seed has features that cases of older seeds lack: directed broadcasts, shapers,
// counters of traps, colours and fields of flow hashes. No test used seeds between 20,000 and 30,000 before.
func isAdded(seed uint64) bool { return seed >= 20_000 && seed < 30_000 }

// addedCases are cases of the gate with these features. In three of them most packets are routed.
var addedCases = []randtest.Cases{{Seed: 20_000, Count: 14}}

// addedOf returns random numbers for these features, nil if a case has none.
func addedOf(seed uint64) *rand.Rand {
	if isAdded(seed) || seed >= 1_000_000_000 && seed%5 == 2 {
		return rand.New(rand.NewPCG(seed, 7))
	}
	return nil
}

// adding runs do with random numbers for the features, if there are any.
func (g *gen) adding(do func()) {
	if g.extra == nil {
		return
	}
	was := g.Rand
	g.Rand = g.extra
	do()
	g.Rand = was
}

// furnishAdded makes shapers, neighbours with the broadcast address, counters of traps, and colours. The state of
// shapers depends on each change.
func (p *pair) furnishAdded() {
	p.adding(func() {
		for range 5 {
			p.newShaper()
		}
		for range 6 {
			p.useShaper()
			p.configure()
		}
		for range 12 {
			p.broadcastNeighbor()
		}
		for range 3 {
			p.create(sai.ObjectTypeCounter)
		}
		for range 6 {
			p.countTrap()
		}
		for range 8 {
			p.colourOp()
		}
	})
}

// changeAdded changes what furnishAdded makes. The state of shapers depends on each change, so the reference gets the
// configuration before and after it.
func (p *pair) changeAdded() {
	if p.extra == nil {
		return
	}
	p.configure()
	p.adding(func() {
		const t = sai.ObjectTypeScheduler
		switch p.IntN(12) {
		case 0:
			p.newShaper()
		case 1:
			p.set(t, sai.SchedulerAttrMaxBandwidthRate, p.shaperRate())
		case 2:
			p.set(t, sai.SchedulerAttrMaxBandwidthBurstRate, p.gen.burst())
		case 3:
			p.set(t, sai.SchedulerAttrMeterType, pick(&p.gen, sai.MeterTypePackets, sai.MeterTypeBytes))
		case 4, 5:
			p.useShaper()
		case 6:
			p.broadcastNeighbor()
		case 7:
			p.countTrap()
		case 8:
			p.colourOp()
		case 9:
			p.hashOp()
		}
	})
}

// shaperRate returns a rate of about the speed of a port, in bytes or packets, or one that does not limit.
func (g *gen) shaperRate() sai.Uint {
	if g.chance(10) {
		return pick(g, sai.Uint(0), sai.Uint(g.prof.ClockHz/1000+1), sai.Uint(1<<63+g.Uint64N(1<<63)))
	}
	return sai.Uint(g.prof.ClockHz/(1+g.Uint64N(40)) + g.Uint64N(7))
}

func (g *gen) newShaper() {
	meter, rate := sai.MeterTypeBytes, g.shaperRate()
	if g.chance(30) {
		meter, rate = sai.MeterTypePackets, sai.Uint(g.prof.ClockHz/(50+g.Uint64N(3000))+1)
	}
	g.create(sai.ObjectTypeScheduler, sai.SchedulerAttrMeterType, meter, sai.SchedulerAttrMaxBandwidthRate, rate,
		sai.SchedulerAttrMaxBandwidthBurstRate, g.burst(), sai.SchedulerAttrSchedulingType,
		pick(g, sai.SchedulingTypeStrict, sai.SchedulingTypeDwrr, sai.SchedulingTypeWrr),
		sai.SchedulerAttrSchedulingWeight, sai.Uint(1+g.IntN(8)))
}

// useShaper sets the scheduler of a port, or of some of its queues or of their groups.
func (g *gen) useShaper() {
	port, of := g.any(sai.ObjectTypePort), func() sai.OID { return g.any(sai.ObjectTypeScheduler) }
	switch g.IntN(5) {
	case 0:
		g.setOf(sai.ObjectTypePort, port, sai.PortAttrQoSSchedulerProfileID, of())
	case 1:
		g.setOf(sai.ObjectTypePort, port, sai.PortAttrQoSSchedulerProfileID, sai.NullOID)
	case 2:
		for _, group := range g.list(sai.ObjectTypePort, port, sai.PortAttrQoSSchedulerGroupList) {
			if g.chance(50) {
				g.setOf(sai.ObjectTypeSchedulerGroup, group, sai.SchedulerGroupAttrSchedulerProfileID,
					pick(g, sai.NullOID, of(), of()))
			}
		}
	default:
		for _, queue := range g.list(sai.ObjectTypePort, port, sai.PortAttrQoSQueueList) {
			if g.chance(50) {
				g.setOf(sai.ObjectTypeQueue, queue, sai.QueueAttrSchedulerProfileID, pick(g, sai.NullOID, of(), of()))
			}
		}
	}
}

// broadcastNeighbor gives a neighbour the broadcast address, if its interface is one of a VLAN.
func (g *gen) broadcastNeighbor() {
	key := sai.NeighborEntry{Switch: g.sw, RIF: g.any(sai.ObjectTypeRouterInterface), IP: g.address()}
	all := sai.Attr{ID: sai.NeighborEntryAttrDstMACAddress, Value: sai.MAC{255, 255, 255, 255, 255, 255}}
	if g.chip.CreateEntry(context.Background(), key, []sai.Attr{all}) != nil {
		_ = g.chip.Set(context.Background(), sai.EntryKey(key), all)
	}
}

// countTrap sets the counter of a trap, which it may have to make.
func (g *gen) countTrap() {
	const t = sai.ObjectTypeHostifTrap
	g.create(t, sai.HostifTrapAttrTrapType, pick(g, sai.HostifTrapTypeArpRequest, sai.HostifTrapTypeTTLError,
		sai.HostifTrapTypeLldp, sai.HostifTrapTypeIp2me), sai.HostifTrapAttrPacketAction, g.packetAction())
	g.set(t, sai.HostifTrapAttrCounterID, pick(g, sai.NullOID, g.any(sai.ObjectTypeCounter),
		g.any(sai.ObjectTypeCounter)))
}

// trapCountersDiffer returns an error if counters of traps differ.
func (p *pair) trapCountersDiffer() error {
	for _, r := range p.chip.Tables().Counters {
		f, err := p.chip.Stats(context.Background(), sai.Obj(sai.ObjectTypeCounter, sai.OID(r.ID)),
			[]sai.StatID{sai.CounterStatPackets, sai.CounterStatBytes})
		if err != nil {
			return err
		}
		if want := p.ref.TrapCount(r.ID); f[0] != want[0] || f[1] != want[1] {
			return fmt.Errorf("counter %v of traps: %d, the reference has %d", r.ID, f, want)
		}
		p.saw["counted by traps"] += int(f[0])
	}
	return nil
}

// colourOp gives ports a map of colours, and the queues of a port thresholds for each colour.
func (g *gen) colourOp() {
	attr, typ := sai.PortAttrQoSDSCPToColorMap, sai.QoSMapTypeDSCPToColor
	var list sai.QoSMap
	if g.chance(40) {
		attr, typ = sai.PortAttrQoSDot1pToColorMap, sai.QoSMapTypeDot1pToColor
	}
	for key := range uint8(64) {
		if typ == sai.QoSMapTypeDot1pToColor && key > 7 {
			break
		}
		list = append(list, sai.QoSMapEntry{Key: sai.QoSMapParams{DSCP: key, Dot1p: key % 8},
			Value: sai.QoSMapParams{Color: sai.Enum(g.IntN(3))}})
	}
	m := g.create(sai.ObjectTypeQoSMap, sai.QoSMapAttrType, typ, sai.QoSMapAttrMapToValueList, list)
	for range 3 {
		if port := g.any(sai.ObjectTypePort); m != sai.NullOID || g.chance(10) {
			g.setOf(sai.ObjectTypePort, port, attr, m)
		}
	}
	low := func() sai.Uint { return sai.Uint(g.IntN(200)) }
	high := func() sai.Uint { return sai.Uint(200 + g.IntN(1500)) }
	w := g.create(sai.ObjectTypeWRED, sai.WREDAttrGreenEnable, g.bool(50), sai.WREDAttrGreenMinThreshold, low(),
		sai.WREDAttrGreenMaxThreshold, high(), sai.WREDAttrYellowEnable, g.bool(70), sai.WREDAttrYellowMinThreshold,
		low(), sai.WREDAttrYellowMaxThreshold, high(), sai.WREDAttrRedEnable, g.bool(70),
		sai.WREDAttrRedMinThreshold, low(), sai.WREDAttrRedMaxThreshold, high(),
		sai.WREDAttrYellowDropProbability, sai.Uint(g.IntN(101)), sai.WREDAttrECNMarkMode, sai.Enum(g.IntN(8)))
	for range 2 {
		if port := g.any(sai.ObjectTypePort); w != sai.NullOID {
			g.setWRED(port, w)
		}
	}
}

// hashOp chooses the fields of a flow hash.
func (g *gen) hashOp() {
	const list = sai.HashAttrNativeHashFieldList
	fields, err := g.chip.EnumCapability(context.Background(), list)
	got, of := g.chip.Get(context.Background(), sai.Obj(sai.ObjectTypeSwitch, g.sw),
		[]sai.Attr{sai.Want(pick(g, sai.SwitchAttrEcmpHash, sai.SwitchAttrLAGHash), 0)})
	if err != nil || of != nil {
		return
	}
	var some sai.Enums
	for _, f := range fields {
		if g.chance(60) {
			some = append(some, f)
		}
	}
	g.setOf(sai.ObjectTypeHash, got[0].Value.(sai.OID), list, some)
}
