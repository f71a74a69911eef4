package acl

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"tamtam/sai"
)

// A samplerKey is the sampling of an entry: the action, and the rate of its sampler. The sampler chooses one packet in
// rate. A rate of 0 means that it does not sample.
type samplerKey struct {
	action sai.AttrID
	rate   uint32
}

// acquireSampler returns the sampler of an entry, creating it if it is the first of its rate. It returns the null
// object id if the entry does not sample. Entries share the object, but each samples independently.
func (b *objects) acquireSampler(ctx context.Context, k samplerKey) (sai.OID, error) {
	if k.rate == 0 {
		return sai.NullOID, nil
	}
	s := b.samplers[k.rate]
	if s == nil {
		oid, err := b.api.Create(ctx, sai.ObjectTypeSamplepacket, []sai.Attr{
			{ID: sai.SamplepacketAttrSampleRate, Value: sai.Uint(k.rate)},
			{ID: sai.SamplepacketAttrType, Value: sai.SamplepacketTypeSlowPath},
			{ID: sai.SamplepacketAttrMode, Value: sai.SamplepacketModeExclusive},
		})
		if err != nil {
			return sai.NullOID, fmt.Errorf("create the sampler of one in %d packets: %w", k.rate, err)
		}
		s = &shared{oid: oid}
		b.samplers[k.rate] = s
	}
	s.refs++
	return s.oid, nil
}

// releaseSampler releases the sampler of an entry, and removes samplers that are not in use. A sampler that cannot be
// removed stays until a rule needs it again, or until the next release.
func (b *objects) releaseSampler(ctx context.Context, k samplerKey) {
	if k.rate == 0 {
		return
	}
	b.samplers[k.rate].refs--
	for _, rate := range slices.Sorted(maps.Keys(b.samplers)) {
		s := b.samplers[rate]
		if s.refs > 0 {
			continue
		}
		if err := b.api.Remove(ctx, sai.Obj(sai.ObjectTypeSamplepacket, s.oid)); err != nil {
			b.log.Error("a sampler of ACL rules stays in the ASIC", "rate", rate, "err", err)
			continue
		}
		delete(b.samplers, rate)
	}
}

// labelSampling sets the label of the counter of a recreated entry that begins to sample. Samples identify the rule by
// this label. Without it, they belong to an unknown rule.
func (b *objects) labelSampling(ctx context.Context, c *change) {
	if b.labels || c.spec.sampler.rate == 0 || c.have.spec.sampler.rate > 0 {
		return
	}
	label := sai.Attr{ID: sai.ACLCounterAttrLabel, Value: sai.Text(c.rule.key.Label())}
	if err := b.api.Set(ctx, sai.Obj(sai.ObjectTypeACLCounter, c.have.counter.oid), label); err != nil {
		b.log.Error("samples of an ACL rule are of an unknown one", "rule", c.rule.key.Config(), "err", err)
	}
}
