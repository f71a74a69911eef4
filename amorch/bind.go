package amorch

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/schema"
	"tamtam/tam/altmark"
)

// A profile is an object of the chip: what the sessions of one lane have in
// common.
type profile struct {
	lane     int
	settings settings
	oid      sai.OID
	sessions int
}

// settings are those of a session that its lane has; comparable.
type settings struct {
	Lane     int    `json:"lane"`
	Role     string `json:"role"`
	Method   string `json:"method"`
	Interval int8   `json:"interval"`
	Mark     string `json:"mark"`
	Mark2    string `json:"mark2"`
	Clear    bool   `json:"clear"`
	SlotSync bool   `json:"slot-sync"`
	GuardNS  int64  `json:"guard-ns"`
	EarlyNS  int64  `json:"early-ns"`
	Drop     bool   `json:"drop-marked"`
}

func settingsOf(s altmark.Session) settings {
	return settings{
		Role: s.Role.String(), Method: s.Method.String(), Interval: int8(s.Interval), Mark: s.Mark.String(), Mark2: s.Mark2.String(),
		Clear: s.Clear, SlotSync: s.SlotSync, GuardNS: int64(s.Guard()), EarlyNS: int64(s.Early()),
		Drop: s.Foreign == altmark.DropForeign,
	}
}

// indices hands out the numbers of flows.
type indices struct {
	most uint32
	next uint32 // never handed out from here on
	free []uint32
}

func (x *indices) take() (uint32, bool) {
	if n := len(x.free); n > 0 {
		v := x.free[n-1]
		x.free = x.free[:n-1]
		return v, true
	}
	if x.next >= x.most {
		return 0, false
	}
	x.next++
	return x.next - 1, true
}

func (x *indices) give(i uint32) { x.free = append(x.free, i) }

// pass unbinds the sessions that must not be bound as they are, and binds those
// that must, each in one call. If that leaves room, those that had none are looked
// at again in the next.
func (o *Orch) pass(ctx context.Context, sessions []*session) {
	var unbind, bind []*session
	before := o.bound
	for _, s := range sessions {
		if s.on != nil {
			if _, _, ok := o.rules.VariantCounter(s.on.row.Rule, feature, colours[0]); !ok {
				o.leave(s) // the rule's entries are gone
			}
		}
		s.err = o.wanted(s)
		as := s.on != nil && s.on.row == s.row && (s.on.flip == nil || s.err != nil || s.on.flip.base == o.base(s.row.Rule))
		if s.on != nil && (s.err != nil || !as) {
			unbind = append(unbind, s)
		}
		if s.err == nil && !as {
			bind = append(bind, s)
		}
	}
	o.unbind(ctx, unbind)
	o.dropProfiles(ctx)
	if o.bound < before {
		maps.Copy(o.dirty, o.again)
	}
	o.bind(ctx, slices.DeleteFunc(bind, func(s *session) bool { return s.err != nil }))
	o.dropProfiles(ctx)
	for _, s := range sessions {
		o.settle(ctx, s)
	}
}

// leave takes a session whose entries are gone out of the books.
func (o *Orch) leave(s *session) {
	if p := s.on.profile; p != nil {
		p.sessions--
		o.indices.give(s.on.index)
	}
	o.forget(s)
	s.on = nil
	o.bound--
}

// unbind ends the bindings of sessions. One that cannot be ended stays bound.
func (o *Orch) unbind(ctx context.Context, list []*session) {
	if len(list) == 0 {
		return
	}
	rules, users := make([]schema.ACLRuleKey, len(list)), make([]string, len(list))
	for i, s := range list {
		rules[i], users[i] = s.on.row.Rule, s.name
	}
	for i, err := range o.rules.UnbindMany(ctx, feature, rules, users) {
		if err != nil {
			list[i].err = fmt.Errorf("detach from ACL rule %s: %w", rules[i], err)
			o.log.Error("alternate marking session", "session", users[i], "err", list[i].err)
			continue
		}
		o.leave(list[i])
	}
}

// bind binds sessions: a lane and an index each, then the entries of all at once.
func (o *Orch) bind(ctx context.Context, list []*session) {
	var rules []schema.ACLRuleKey
	var users []string
	var variants [][]orch.ACLVariant
	var ready []*session
	for _, s := range list {
		if s.err = o.seat(ctx, s); s.err != nil {
			continue
		}
		ready = append(ready, s)
		rules, users = append(rules, s.row.Rule), append(users, s.name)
		variants = append(variants, o.variants(s.on))
	}
	if len(ready) == 0 {
		return
	}
	for i, err := range o.rules.BindVariants(ctx, feature, rules, users, variants) {
		s := ready[i]
		if err != nil {
			o.log.Error("alternate marking session", "session", s.name, "err", err)
			o.leave(s)
			s.err = err
			continue
		}
		o.meet(s)
	}
}

// seat gives a session its lane and index.
func (o *Orch) seat(ctx context.Context, s *session) error {
	b := &binding{row: s.row}
	if o.engine == schema.AltMarkByOrchestrator {
		b.flip = &flip{base: o.base(s.row.Rule)}
		s.on = b
		o.bound++
		return nil
	}
	p, err := o.profile(ctx, settingsOf(s.row.Session))
	if err != nil {
		return err
	}
	index, ok := o.indices.take()
	if !ok {
		return fmt.Errorf("the switch marks %d flows at most: %w", o.indices.most, sai.StatusInsufficientResources)
	}
	p.sessions++
	b.profile, b.index = p, index
	s.on = b
	o.bound++
	return nil
}

// profile returns the profile with the settings, made now if there is none.
func (o *Orch) profile(ctx context.Context, want settings) (*profile, error) {
	free := -1
	for lane, p := range o.lanes {
		if p == nil {
			if free < 0 {
				free = lane
			}
			continue
		}
		if want.Lane = lane; p.settings == want {
			return p, nil
		}
	}
	if free < 0 {
		return nil, fmt.Errorf("the switch has %d profiles of alternate marking (role, method, interval, mark, guard), and all are in use: %w",
			len(o.lanes), sai.StatusInsufficientResources)
	}
	want.Lane = free
	entry, err := orch.ExtensionEntry("profile", want)
	if err != nil {
		return nil, err
	}
	oid, err := orch.CreateExtension(ctx, o.api, Profile, entry)
	if err != nil {
		return nil, fmt.Errorf("create the profile of alternate marking: %w", err)
	}
	o.lanes[free] = &profile{lane: free, settings: want, oid: oid}
	return o.lanes[free], nil
}

// dropProfiles removes the profiles that no session has.
func (o *Orch) dropProfiles(ctx context.Context) {
	for lane, p := range o.lanes {
		if p == nil || p.sessions > 0 {
			continue
		}
		if err := o.api.Remove(ctx, sai.Obj(sai.ObjectTypeGenericProgrammable, p.oid)); err != nil && orch.Classify(err) != orch.Benign {
			o.log.Error("a profile of alternate marking stays in the ASIC", "lane", lane, "err", err)
			continue
		}
		o.lanes[lane] = nil
	}
}

// colours are the names of the two entries of a rule.
var colours = [2]string{"0", "1"}

// variants are the entries of a binding, one for each colour.
func (o *Orch) variants(b *binding) []orch.ACLVariant {
	if b.profile == nil {
		return scheduled(b.row, b.flip.base)
	}
	list := make([]orch.ACLVariant, len(colours))
	for colour := range list {
		shift := 4 * b.profile.lane
		list[colour] = orch.ACLVariant{
			Name: colours[colour],
			Match: []sai.Attr{{ID: sai.ACLEntryAttrFieldACLUserMeta, Value: sai.Match(
				sai.Uint(uint32(8|colour)<<shift), sai.Uint(uint32(9)<<shift))}},
			Actions: []sai.Attr{{ID: sai.ACLEntryAttrActionSetACLMetaData, Value: sai.Do(sai.Uint(
				0xA<<28 | uint32(b.profile.lane)<<24 | uint32(colour)<<23 | b.index))}},
		}
	}
	return list
}

// samples are entries like those that sessions will have.
func (o *Orch) samples() []orch.ACLVariant {
	if o.engine == schema.AltMarkByOrchestrator {
		return append(scheduled(schema.AltMarkFlow{Session: altmark.Session{Role: altmark.Initiator, Mark: altmark.DSCP0}}, 0),
			scheduled(schema.AltMarkFlow{Session: altmark.Session{Role: altmark.Terminator, Mark: altmark.DSCP0, Clear: true}}, 0)...)
	}
	return o.variants(&binding{profile: &profile{}})
}
