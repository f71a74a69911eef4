package objects

import (
	"tamtam/sai"
	"tamtam/saisim/config"
)

// Limits of SAMPLEPACKET objects.
const (
	maxSamplers = 1024
	maxRate     = 1 << 31
)

// samplerKind returns the kind of samplers for ports and ACL entries. Their samples are sent to the CPU by the trap
// SAMPLEPACKET. They also set the sampling rate of IFA initiators.
func (ms *monitors) samplerKind() *kind {
	return &kind{
		max: maxSamplers,
		attrs: []sai.AttrID{
			sai.SamplepacketAttrSampleRate, sai.SamplepacketAttrType, sai.SamplepacketAttrMode,
			sai.SamplepacketAttrTruncateEnable, sai.SamplepacketAttrTruncateSize,
		},
		enums: map[sai.AttrID][]sai.Enum{sai.SamplepacketAttrType: {sai.SamplepacketTypeSlowPath}},
		check: checkSampler,
		row:   samplerRow,
		set:   ms.putInts,
	}
}

func checkSampler(o *object) error {
	rate := o.number(sai.SamplepacketAttrSampleRate)
	if rate < 1 || rate > maxRate {
		return badValue(sai.SamplepacketAttrSampleRate, sai.StatusInvalidParameter, "one in %d, want 1 to %d", rate, maxRate)
	}
	if !o.flag(sai.SamplepacketAttrTruncateEnable) {
		return nil
	}
	return o.within(bound{id: sai.SamplepacketAttrTruncateSize, least: ethernetHeader, most: 1 << 16})
}

func samplerRow(o *object) (config.Row, error) {
	r := config.Sampler{
		ID: o.id(), Rate: uint32(o.number(sai.SamplepacketAttrSampleRate)),
		Shared: o.enum(sai.SamplepacketAttrMode) == sai.SamplepacketModeShared,
	}
	if o.flag(sai.SamplepacketAttrTruncateEnable) {
		r.Truncate = int(o.number(sai.SamplepacketAttrTruncateSize))
	}
	return r, nil
}
