package acl

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"tamtam/sai"
)

// A samplerKey is how an entry samples: the action, and the rate of its sampler, one packet in so many; 0: it does not.
type samplerKey struct {
	action sai.AttrID
	rate   uint32
}

// acquireSampler returns the sampler of an entry, creating it for the first of its rate; none: it does not sample.
// Entries share the object, and each samples by itself.
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

// releaseSampler releases the sampler of an entry; those that nobody uses are removed. One that cannot be removed stays
// until a rule needs it again, or until the next is released.
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

// labelSampling labels the counter of an entry that is recreated and samples from now on, by which samples name the
// rule. Without a label they are those of an unknown rule.
func (b *objects) labelSampling(ctx context.Context, c *change) {
	if b.labels || c.spec.sampler.rate == 0 || c.have.spec.sampler.rate > 0 {
		return
	}
	label := sai.Attr{ID: sai.ACLCounterAttrLabel, Value: sai.Text(c.rule.key.Label())}
	if err := b.api.Set(ctx, sai.Obj(sai.ObjectTypeACLCounter, c.have.counter.oid), label); err != nil {
		b.log.Error("samples of an ACL rule are of an unknown one", "rule", c.rule.key.Config(), "err", err)
	}
}
