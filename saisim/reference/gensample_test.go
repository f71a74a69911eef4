package reference_test

import (
	"math/rand/v2"

	"tamtam/sai"
)

// sampledOf has one case of four sampled, half of those with policers.
func sampledOf(seed uint64) *rand.Rand {
	if seed%4 == 1 || seed%8 == 2 {
		return rand.New(rand.NewPCG(seed, 4))
	}
	return nil
}

// sampled does something with random numbers for samplers, if there are any.
func (g *gen) sampled(do func()) {
	if g.samplers == nil {
		return
	}
	was := g.Rand
	g.Rand = g.samplers
	do()
	g.Rand = was
}

// furnishSamplers has some ports sampled, and samples go to the CPU by a trap of their own in half of the cases.
func (g *gen) furnishSamplers() {
	g.sampled(func() {
		for range 3 {
			g.newSampler()
		}
		for range 6 {
			g.bindSampler()
		}
		if g.chance(50) {
			g.sampleTrap()
		}
	})
}

func (g *gen) newSampler() {
	rate := sai.Uint(pick(g, 1, 1, 2, 3, 5, 1+g.IntN(40), 1<<31))
	with := []any{sai.SamplepacketAttrSampleRate, rate,
		sai.SamplepacketAttrMode, pick(g, sai.SamplepacketModeExclusive, sai.SamplepacketModeExclusive, sai.SamplepacketModeShared)}
	if g.chance(30) {
		with = append(with, sai.SamplepacketAttrTruncateEnable, sai.Bool(true), sai.SamplepacketAttrTruncateSize, sai.Uint(10+g.IntN(200)))
	}
	g.create(sai.ObjectTypeSamplepacket, with...)
}

func (g *gen) bindSampler() {
	g.set(sai.ObjectTypePort, pick(g, sai.PortAttrIngressSamplepacketEnable, sai.PortAttrEgressSamplepacketEnable),
		pick(g, g.any(sai.ObjectTypeSamplepacket), g.any(sai.ObjectTypeSamplepacket), sai.NullOID))
}

func (g *gen) sampleTrap() {
	g.create(sai.ObjectTypeHostifTrap, sai.HostifTrapAttrTrapType, sai.HostifTrapTypeSamplepacket, sai.HostifTrapAttrPacketAction,
		pick(g, sai.PacketActionTrap, sai.PacketActionCopy), sai.HostifTrapAttrTrapGroup, g.any(sai.ObjectTypeHostifTrapGroup))
}

// samplerOp changes samplers now and then, and which ports have them.
func (g *gen) samplerOp() {
	g.sampled(func() {
		switch g.IntN(12) {
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
		}
	})
}

// seeSample notes what a sample is of.
func (p *pair) seeSample(s sent) {
	if s.Sample.Rate == 0 {
		return
	}
	p.saw["samples"]++
	for what, is := range map[string]bool{"egress": s.Sample.Egress, "dropped": s.Sample.Dropped, "flooded": s.Sample.Copies > 1,
		"cut": len(s.bytes) < s.Len, "behind lost ones": s.Sample.Lost > 0, "for the CPU alone": s.Sample.Copies == 0 && !s.Sample.Dropped} {
		if is {
			p.saw["samples: "+what]++
		}
	}
}
