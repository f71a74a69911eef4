package reference_test

import (
	"math/rand/v2"

	"tamtam/sai"
)

// sampledOf returns random numbers for samplers in three cases of eight, otherwise nil. A third of these cases also has
// policers.
func sampledOf(seed uint64) *rand.Rand {
	if seed%4 == 1 || seed%8 == 2 {
		return rand.New(rand.NewPCG(seed, 4))
	}
	return nil
}

// sampled runs do with random numbers for samplers, if there are any.
func (g *gen) sampled(do func()) {
	if g.samplers == nil {
		return
	}
	was := g.Rand
	g.Rand = g.samplers
	do()
	g.Rand = was
}

// furnishSamplers makes some ports sampled. In half of the cases, samples go to the CPU by their own trap.
func (g *gen) furnishSamplers() {
	g.sampled(func() {
		for range 3 {
			g.newSampler()
		}
		for range 6 {
			g.bindSampler()
		}
		for range 3 {
			g.samplingTable()
		}
		if g.chance(50) {
			g.sampleTrap()
		}
	})
}

func (g *gen) newSampler() {
	rate := sai.Uint(pick(g, 1, 1, 2, 3, 5, 1+g.IntN(40), 1<<31))
	with := []any{sai.SamplepacketAttrSampleRate, rate,
		sai.SamplepacketAttrMode, pick(g, sai.SamplepacketModeExclusive, sai.SamplepacketModeExclusive,
			sai.SamplepacketModeShared)}
	if g.chance(30) {
		with = append(with, sai.SamplepacketAttrTruncateEnable, sai.Bool(true), sai.SamplepacketAttrTruncateSize,
			sai.Uint(10+g.IntN(200)))
	}
	g.create(sai.ObjectTypeSamplepacket, with...)
}

func (g *gen) bindSampler() {
	g.set(sai.ObjectTypePort, pick(g, sai.PortAttrIngressSamplepacketEnable, sai.PortAttrEgressSamplepacketEnable),
		pick(g, g.any(sai.ObjectTypeSamplepacket), g.any(sai.ObjectTypeSamplepacket), sai.NullOID))
}

// sampling returns the action of an entry that samples. The chip refuses an action that the entry's table does not
// have.
func (g *gen) sampling() (sai.AttrID, sai.Value) {
	v := sai.Do(g.any(sai.ObjectTypeSamplepacket))
	if g.chance(15) {
		v = sai.Action{}
	}
	return pick(g, sai.ACLEntryAttrActionIngressSamplepacketEnable, sai.ACLEntryAttrActionEgressSamplepacketEnable), v
}

// samplingTable makes and binds a table whose entries sample.
func (g *gen) samplingTable() {
	in := g.chance(50)
	table := g.create(sai.ObjectTypeACLTable, sai.ACLTableAttrACLStage, stage(in), tableField(sai.ACLEntryAttrFieldTTL),
		sai.Bool(true))
	g.counters[table] = append(g.counters[table], g.create(sai.ObjectTypeACLCounter, sai.ACLCounterAttrTableID, table,
		sai.ACLCounterAttrEnablePacketCount, sai.Bool(true), sai.ACLCounterAttrLabel, sai.Text("T|sampled")))
	attr, does := sai.PortAttrIngressACL, sai.ACLEntryAttrActionIngressSamplepacketEnable
	if !in {
		attr, does = sai.PortAttrEgressACL, sai.ACLEntryAttrActionEgressSamplepacketEnable
	}
	for range 2 {
		with := []any{sai.ACLEntryAttrTableID, table, sai.ACLEntryAttrPriority, sai.Uint(1 + g.IntN(5)), does,
			sai.Do(g.any(sai.ObjectTypeSamplepacket)),
			sai.ACLEntryAttrActionCounter, sai.Do(pick(g, g.counters[table]...))}
		if g.chance(50) {
			with = append(with, sai.ACLEntryAttrFieldTTL, g.number(8, 64, 1))
		}
		if g.chance(25) {
			with = append(with, sai.ACLEntryAttrActionPacketAction, sai.Do(sai.PacketActionDrop))
		}
		g.create(sai.ObjectTypeACLEntry, with...)
		g.set(sai.ObjectTypePort, attr, table)
	}
}

// samplingEntry makes an entry that samples, and mostly also counts.
func (g *gen) samplingEntry(table sai.OID) {
	id, v := g.sampling()
	with := []any{sai.ACLEntryAttrTableID, table, sai.ACLEntryAttrPriority, sai.Uint(1 + g.IntN(5)), id, v}
	if g.chance(50) {
		with = g.with(with)
	}
	if l := g.counters[table]; len(l) > 0 && g.chance(70) {
		with = append(with, sai.ACLEntryAttrActionCounter, sai.Do(pick(g, l...)))
	}
	if g.chance(20) {
		with = append(with, sai.ACLEntryAttrActionPacketAction, sai.Do(g.packetAction()))
	}
	g.create(sai.ObjectTypeACLEntry, with...)
}

func (g *gen) sampleTrap() {
	g.create(sai.ObjectTypeHostifTrap, sai.HostifTrapAttrTrapType, sai.HostifTrapTypeSamplepacket,
		sai.HostifTrapAttrPacketAction,
		pick(g, sai.PacketActionTrap, sai.PacketActionCopy), sai.HostifTrapAttrTrapGroup,
		g.any(sai.ObjectTypeHostifTrapGroup))
}

// samplerOp sometimes changes samplers, and which ports use them.
func (g *gen) samplerOp() {
	g.sampled(func() {
		switch g.IntN(16) {
		case 0:
			g.newSampler()
		case 1:
			g.removeAny(sai.ObjectTypeSamplepacket)
		case 2:
			g.set(sai.ObjectTypeSamplepacket, sai.SamplepacketAttrSampleRate, sai.Uint(1+g.IntN(10)))
		case 3:
			g.sampleTrap()
		case 4, 5, 6, 7:
			g.bindSampler()
		case 8:
			g.samplingTable()
		case 9, 10:
			g.samplingEntry(g.any(sai.ObjectTypeACLTable))
		case 11:
			id, v := g.sampling()
			g.set(sai.ObjectTypeACLEntry, id, v)
		}
	})
}

// seeSample records the kind of a sample.
func (p *pair) seeSample(s sent) {
	if s.Sample.Rate == 0 {
		return
	}
	p.saw["samples"]++
	for what, is := range map[string]bool{"egress": s.Sample.Egress, "dropped": s.Sample.Dropped,
		"flooded":     s.Sample.Copies > 1,
		"of an entry": s.Sample.Entry != 0, "of an entry, as it leaves": s.Sample.Entry != 0 && s.Sample.Egress,
		"of a rule": s.Sample.Rule != "", "dropped as it leaves": s.Sample.Egress && s.Sample.Dropped,
		"cut": len(s.bytes) < s.Len, "behind lost ones": s.Sample.Lost > 0,
		"for the CPU alone": s.Sample.Copies == 0 && !s.Sample.Dropped} {
		if is {
			p.saw["samples: "+what]++
		}
	}
}
