package amorch

import (
	"context"
	"fmt"

	"tamtam/orch"
	"tamtam/orch/feature"
	"tamtam/sai"
	"tamtam/swss/schema"
	"tamtam/tam/altmark"
)

// A profile is an object of the chip: the settings that the sessions of one lane share.
type profile struct {
	settings altmark.ChipProfile
	object   feature.Object
	sessions int
}

// Lost reports whether the entries of a session's rule are gone.
func (o *Orch) Lost(s *session) bool {
	_, _, ok := o.rules.VariantCounter(s.RowInASIC.Rule, featureName, colours[0])
	return !ok
}

// Stays reports whether a session can remain in the ASIC unchanged.
func (o *Orch) Stays(_ context.Context, s *session) bool {
	return s.RowInASIC == s.Row && (s.InASIC.flip == nil || s.InASIC.flip.base == o.base(s.Row.Rule))
}

// Left frees the resources of a session after its entries were removed.
func (o *Orch) Left(s *session) {
	if p := s.InASIC.profile; p != nil {
		p.sessions--
		o.leaving = append(o.leaving, want{s.InASIC.want, s.InASIC.index})
		o.places.Drop(s.Name)
	}
	o.matched.marked[s.Name] = s
	o.stopReading(s)
}

// Deploy binds sessions. It allocates a lane and an index for each session, then adds the entries of all sessions in
// one call.
func (o *Orch) Deploy(ctx context.Context, wanted []*session) {
	o.dropWants(ctx)
	o.dropProfiles(ctx)
	defer o.dropProfiles(ctx)
	defer o.dropWants(ctx)
	var ready []*session
	var variants [][]orch.ACLVariant
	for _, s := range wanted {
		if s.InASIC != nil {
			continue
		}
		if s.InASIC, s.Err = o.allocate(ctx, s); s.Err == nil {
			ready, variants = append(ready, s), append(variants, o.variants(s.Row, s.InASIC))
		}
	}
	o.Bind(ctx, ready, func(ctx context.Context, feature string, rules []schema.ACLRuleKey, users []string) []error {
		return o.rules.BindVariants(ctx, featureName, rules, users, variants)
	})
	for _, s := range ready {
		if s.InASIC != nil {
			o.startReading(s)
		}
	}
}

// allocate allocates a lane and an index for a session. If possible, these are the lane and the index of the previous
// run.
func (o *Orch) allocate(ctx context.Context, s *session) (*binding, error) {
	if o.engine == schema.AltMarkByOrchestrator {
		return &binding{flip: &flip{base: o.base(s.Row.Rule)}}, nil
	}
	former, known := o.formerPlace(s.Name)
	if !known {
		former.lane = -1
	}
	p, err := o.profile(ctx, s.Row.Session.ChipProfile(), former.lane)
	if err != nil {
		return nil, err
	}
	index, ok := former.index, known && o.indices.again(former.index)
	if !ok {
		index, ok = o.indices.allocate()
	}
	if !ok {
		return nil, fmt.Errorf("the switch marks %d flows at most: %w", o.indices.most, sai.StatusInsufficientResources)
	}
	b := &binding{profile: p, index: index}
	if err := o.putWant(ctx, b, s.Row.Session); err != nil {
		o.indices.give(index)
		return nil, err
	}
	p.sessions++
	return b, nil
}

// profile returns the profile with these settings. If it does not exist, profile creates it, in lane former if that
// lane is free. Otherwise profile prefers a lane that is not reserved. former is -1 if the former lane is unknown.
func (o *Orch) profile(ctx context.Context, want altmark.ChipProfile, former int) (*profile, error) {
	free := -1
	for lane, p := range o.lanes {
		if p == nil {
			if free < 0 || lane == former || free != former && o.reserved[free] && !o.reserved[lane] {
				free = lane
			}
			continue
		}
		if want.Lane = lane; p.settings == want {
			return p, nil
		}
	}
	if free < 0 {
		return nil, fmt.Errorf("the switch has %d profiles of alternate marking (role, method, interval, mark, guard), "+
			"and all are in use: %w", len(o.lanes), sai.StatusInsufficientResources)
	}
	want.Lane = free
	p := &profile{settings: want, object: feature.Object{
		Name: altmark.ObjectProfile, Attr: altmark.AttrProfile, What: "profile of alternate marking",
	}}
	if err := p.object.Put(ctx, o.SAI, want); err != nil {
		return nil, err
	}
	o.lanes[free] = p
	return p, nil
}

// dropProfiles removes the profiles that no session uses.
func (o *Orch) dropProfiles(ctx context.Context) {
	for lane, p := range o.lanes {
		if p == nil || p.sessions > 0 {
			continue
		}
		if err := p.object.Remove(ctx, o.SAI); err != nil {
			o.Log.Error("a profile of alternate marking stays in the ASIC", "lane", lane, "err", err)
			continue
		}
		o.lanes[lane] = nil
	}
}

// colours contains the names of the two entries of a rule.
var colours = [2]string{"0", "1"}

// variants returns the entries of a binding, one for each colour.
func (o *Orch) variants(row schema.AltMarkFlow, b *binding) []orch.ACLVariant {
	if b.profile == nil {
		return scheduled(row, b.flip.base)
	}
	lane := b.profile.settings.Lane
	list := make([]orch.ACLVariant, len(colours))
	for colour := range list {
		shift := 4 * lane
		list[colour] = orch.ACLVariant{
			Name: colours[colour],
			Match: []sai.Attr{{ID: sai.ACLEntryAttrFieldACLUserMeta, Value: sai.Match(
				sai.Uint(uint32(8|colour)<<shift), sai.Uint(uint32(9)<<shift))}},
			Actions: []sai.Attr{{ID: sai.ACLEntryAttrActionSetACLMetaData, Value: sai.Do(sai.Uint(
				0xA<<28 | uint32(lane)<<24 | uint32(colour)<<23 | b.index))}},
		}
	}
	return list
}

// samples returns example entries for sessions. The rules use them to reserve space for entries.
func (o *Orch) samples() []orch.ACLVariant {
	if o.engine == schema.AltMarkByOrchestrator {
		marks := altmark.Session{Role: altmark.Initiator, Mark: altmark.DSCP0}
		clears := altmark.Session{Role: altmark.Terminator, Mark: altmark.DSCP0, Clear: true}
		return append(scheduled(schema.AltMarkFlow{Session: marks}, 0), scheduled(schema.AltMarkFlow{Session: clears}, 0)...)
	}
	return o.variants(schema.AltMarkFlow{}, &binding{profile: &profile{}})
}
