package reference_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"tamtam/internal/randtest"
	"tamtam/sai"
	"tamtam/saisim"
)

// isTrimming reports whether queues of the chip of a seed trim packets. No test used seeds between 43,000 and 44,000,
// or from 1,007,700,000 to 1,007,740,000, before.
func isTrimming(seed uint64) bool {
	return seed >= 43_000 && seed < 44_000 || seed >= 1_007_700_000 && seed < 1_007_740_000 ||
		seed >= 1_007_740_000 && seed%8 == 5
}

// trimCases are such cases of the gate.
var trimCases = []randtest.Cases{{Seed: 43_000, Count: 16}}

func trimmedOf(seed uint64) *rand.Rand {
	if isTrimming(seed) {
		return rand.New(rand.NewPCG(seed, 13))
	}
	return nil
}

// A trimmer has the random numbers for trimming, nil if there is none, and keeps account of trimmed copies.
type trimmer struct {
	trims *rand.Rand
	open  map[[2]uint64]saisim.PortID // trimmed copies that have not ended, by number of packet and copy
}

// trimming runs do with random numbers for trimming, if there are any.
func (g *gen) trimming(do func()) {
	if g.trims == nil {
		return
	}
	was := g.Rand
	g.Rand = g.trims
	do()
	g.Rand = was
}

// furnishTrim makes small profiles that trim, gives them to most queues, and sets what trimmed packets become.
func (p *pair) furnishTrim() {
	p.trimming(func() {
		for range 2 {
			p.create(sai.ObjectTypeBufferPool, sai.BufferPoolAttrType, sai.BufferPoolTypeEgress,
				sai.BufferPoolAttrSize, p.cellsFrom(20)+sai.Uint(p.prof.Buffer.CellBytes))
		}
		for range 5 {
			p.trimProfile()
		}
		for range 3 {
			p.trimMap()
			p.mapOp()
		}
		for range 12 {
			p.trimAttr()
		}
		for _, port := range p.pool[sai.ObjectTypePort] {
			for _, q := range p.list(sai.ObjectTypePort, port, sai.PortAttrQoSQueueList) {
				if p.chance(85) {
					p.setOf(sai.ObjectTypeQueue, q, sai.QueueAttrBufferProfileID, p.any(sai.ObjectTypeBufferProfile))
				}
			}
		}
	})
}

// trimProfile makes a buffer profile of queues, which mostly trims.
func (g *gen) trimProfile() {
	with := []any{sai.BufferProfileAttrPoolID, g.any(sai.ObjectTypeBufferPool),
		sai.BufferProfileAttrReservedBufferSize, pick(g, 0, 0, g.cellsFrom(4)),
		sai.BufferProfileAttrPacketAdmissionFailAction, g.failAction()}
	if g.chance(70) {
		with = append(with, sai.BufferProfileAttrThresholdMode, sai.BufferProfileThresholdModeStatic,
			sai.BufferProfileAttrSharedStaticTh, g.cellsFrom(pick(g, 4, 8, 16)))
	} else {
		with = append(with, sai.BufferProfileAttrThresholdMode, sai.BufferProfileThresholdModeDynamic,
			sai.BufferProfileAttrSharedDynamicTh, sai.Int(g.IntN(4)-3))
	}
	g.create(sai.ObjectTypeBufferProfile, with...)
}

func (g *gen) failAction() sai.Enum {
	const trim = sai.BufferProfilePacketAdmissionFailActionDropAndTrim
	return pick(g, trim, trim, trim, trim, sai.BufferProfilePacketAdmissionFailActionDrop)
}

// trimMap makes a map from traffic classes, some of them with a colour, to the DSCP of trimmed packets, and binds it to
// ports.
func (g *gen) trimMap() {
	var list sai.QoSMap
	for tc := range uint8(16) {
		if g.chance(80) {
			list = append(list, sai.QoSMapEntry{Key: sai.QoSMapParams{TC: tc, Color: sai.Enum(pick(g, 0, 0, g.IntN(3)))},
				Value: sai.QoSMapParams{DSCP: uint8(g.IntN(64))}})
		}
	}
	m := g.create(sai.ObjectTypeQoSMap, sai.QoSMapAttrType, sai.QoSMapTypeTCAndColorToDSCP,
		sai.QoSMapAttrMapToValueList, list)
	for range 3 {
		g.set(sai.ObjectTypePort, sai.PortAttrQoSTCAndColorToDSCPMap, pick(g, m, m, m, sai.NullOID))
	}
}

// trimAttr sets an attribute of the switch.
func (g *gen) trimAttr() {
	set := func(id sai.AttrID, v sai.Value) { g.setOf(sai.ObjectTypeSwitch, g.sw, id, v) }
	switch g.IntN(6) {
	case 0:
		set(sai.SwitchAttrPacketTrimSize, sai.Uint(pick(g, 86, 86+g.IntN(60), 86+g.IntN(200), 128, 1000, 9412)))
	case 1:
		set(sai.SwitchAttrPacketTrimDSCPResolutionMode,
			pick(g, sai.PacketTrimDSCPResolutionModeDSCPValue, sai.PacketTrimDSCPResolutionModeFromTC))
	case 2:
		set(sai.SwitchAttrPacketTrimDSCPValue, sai.Uint(g.IntN(64)))
	case 3:
		set(sai.SwitchAttrPacketTrimTCValue, sai.Uint(g.IntN(16)))
	case 4:
		set(sai.SwitchAttrPacketTrimQueueResolutionMode,
			pick(g, sai.PacketTrimQueueResolutionModeStatic, sai.PacketTrimQueueResolutionModeDynamic))
	default:
		set(sai.SwitchAttrPacketTrimQueueIndex, sai.Uint(g.IntN(int(g.prof.Queues))))
	}
}

// changeTrim changes what furnishTrim makes, and forbids trimming to the packets of some ACL entries.
func (p *pair) changeTrim() {
	if p.trims == nil {
		return
	}
	p.configure()
	p.trimming(func() {
		switch p.IntN(10) {
		case 0:
			p.trimProfile()
		case 1:
			p.trimMap()
		case 2, 3, 4:
			p.trimAttr()
		case 5:
			p.set(sai.ObjectTypeBufferProfile, sai.BufferProfileAttrPacketAdmissionFailAction, p.failAction())
		case 6, 7:
			p.set(sai.ObjectTypeACLEntry, sai.ACLEntryAttrActionPacketTrimDisable, sai.Do(p.bool(80)))
		case 8:
			p.set(sai.ObjectTypePort, sai.PortAttrQoSDefaultTC, sai.Uint(p.IntN(16)))
		default:
			port := p.any(sai.ObjectTypePort)
			for _, q := range p.list(sai.ObjectTypePort, port, sai.PortAttrQoSQueueList) {
				if p.chance(40) {
					p.setOf(sai.ObjectTypeQueue, q, sai.QueueAttrBufferProfileID,
						pick(&p.gen, sai.NullOID, p.any(sai.ObjectTypeBufferProfile), p.any(sai.ObjectTypeBufferProfile)))
				}
			}
		}
	})
}

// seeTrim keeps account of trimmed copies by the history of frames.
func (t *trimmer) seeTrim(m *saisim.Moment) {
	key := [2]uint64{m.Number, uint64(m.Copy)}
	switch m.What {
	case saisim.MomentTrimmed:
		if t.open == nil {
			t.open = map[[2]uint64]saisim.PortID{}
		}
		t.open[key] = m.Port
	case saisim.MomentSent, saisim.MomentDropped:
		delete(t.open, key)
	}
}

// trimDiffers compares the counts of trimmed packets, and checks them: on each port, as many trimmed packets as were
// neither sent nor dropped are in the chip.
func (p *pair) trimDiffers() error {
	if p.trims == nil {
		return nil
	}
	open := map[saisim.PortID]uint64{}
	for _, port := range p.open {
		open[port]++
	}
	for _, id := range p.chip.Ports() {
		held := uint64(0)
		for i := range int(p.prof.Queues) {
			f, _ := p.chip.QueueState(id, i)
			r, _ := p.ref.QueueState(id, i)
			if f != r {
				return fmt.Errorf("queue %d of port %d:\n     fast %+v\nreference %+v", i, id, f, r)
			}
			if f.Trimmed > f.DroppedFull+f.DroppedTail || f.TrimSent+f.TrimDropped > f.Trimmed {
				return fmt.Errorf("queue %d of port %d does not balance: %+v", i, id, f)
			}
			held += f.Trimmed - f.TrimSent - f.TrimDropped
		}
		if held != open[id] && !p.blind {
			return fmt.Errorf("port %d holds %d trimmed packets by its counts, %d by their history", id, held, open[id])
		}
	}
	got, err := p.chip.Stats(context.Background(), sai.Obj(sai.ObjectTypeSwitch, p.sw),
		[]sai.StatID{sai.SwitchStatTxTrimPackets, sai.SwitchStatDroppedTrimPackets})
	if r := p.ref.TrimTotals(); err != nil || r.Sent != got[0] || r.Dropped != got[1] {
		return fmt.Errorf("trimmed packets of the switch: fast %d (%v), reference %+v", got, err, r)
	}
	return nil
}
