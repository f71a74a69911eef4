package objects

import (
	"tamtam/sai"
	"tamtam/saisim/config"
)

// Of SAMPLEPACKET objects.
const (
	maxSamplers = 1024
	maxRate     = 1 << 31
)

// samplerKind makes the samplers that ports and ACL entries name, whose samples go to the CPU, by the trap
// SAMPLEPACKET, and those that say how much an initiator of IFA takes.
func (ms *monitors) samplerKind() *kind {
	return &kind{
		max: maxSamplers,
		attrs: []sai.AttrID{
			sai.SamplepacketAttrSampleRate, sai.SamplepacketAttrType, sai.SamplepacketAttrMode,
			sai.SamplepacketAttrTruncateEnable, sai.SamplepacketAttrTruncateSize,
		},
		enums: map[sai.AttrID][]sai.Enum{sai.SamplepacketAttrType: {sai.SamplepacketTypeSlowPath}},
		row:   samplerRow,
		set: func(o *object, a sai.Attr) error {
			if _, err := samplerRow(o.with(a)); err != nil {
				return err
			}
			return ms.putInts(o, a)
		},
	}
}

func samplerRow(o *object) (config.Row, error) {
	r := config.Sampler{
		ID: o.id(), Rate: uint32(o.number(sai.SamplepacketAttrSampleRate)),
		Shared: o.enum(sai.SamplepacketAttrMode) == sai.SamplepacketModeShared,
	}
	if r.Rate < 1 || r.Rate > maxRate {
		return nil, badValue(sai.Attr{ID: sai.SamplepacketAttrSampleRate}, sai.StatusInvalidParameter,
			"one in %d, want 1 to %d", r.Rate, maxRate)
	}
	if !o.flag(sai.SamplepacketAttrTruncateEnable) {
		return r, nil
	}
	n := o.number(sai.SamplepacketAttrTruncateSize)
	if n < ethernetHeader || n > 1<<16 {
		return nil, badValue(sai.Attr{ID: sai.SamplepacketAttrTruncateSize}, sai.StatusInvalidParameter,
			"%d, want %d to %d", n, ethernetHeader, 1<<16)
	}
	r.Truncate = int(n)
	return r, nil
}
