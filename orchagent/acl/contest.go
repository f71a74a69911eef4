package acl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"tamtam/sai"
	"tamtam/swss/schema"
)

// maxTries bounds how often one claim has further rules give way: a second time where the full table and the full stage
// turn out to be different ones.
const maxTries = 2

// maxFailures bounds how often a claim fails while the same rows settle: rules that come back are rules that have come.
const maxFailures = 2

// A claim is the attempt of a rule to enter the ASIC in place of rules that come behind it. Rules of rows compete for
// what the ASIC has too little of: the highest priority comes first, then the smaller name. A rule that the ASIC
// refuses for lack of room has the last of those behind it removed, and is created again.
//
// If all tries fail, the rules that gave way come back, and the rule claims nothing more before it changes, something
// is removed, another claim frees more than it needs, or a rule behind it comes. Flow groups take no part: sessions in
// force are never displaced.
type claim struct {
	gave      []*rule // they are out of the ASIC for it
	tries     int
	refused   *sai.CallError // the last refusal of the rule
	elsewhere bool           // a rule of another table gave way, for the room that the tables of a stage share
	more      bool           // what gave way may have freed more than the rule needs
	over      bool           // it has failed
	until     uint64         // changes of entries when it had failed
	again     bool           // since then another claim has freed more than it needs
	failures  int            // since rows have changed
}

// compareRanks orders rules by which comes first where there is not room for all.
func compareRanks(a, b *rule) int {
	return cmp.Or(cmp.Compare(b.spec.priority, a.spec.priority), compareKeys(a.key, b.key))
}

// competes reports whether a rule is one of a row that should be in the ASIC.
func (r *rule) competes() bool { return r.spec != nil && !r.table.tam() }

// refusal returns the call for the rule that the ASIC refused last; nil: none.
func (r *rule) refusal() (call *sai.CallError) {
	errors.As(r.failed.get(""), &call)
	return call
}

// inForce returns the rules that compete and are in the ASIC, the last one first.
func (o *Orch) inForce() (list []*rule) {
	for _, r := range o.rules {
		if r.competes() && r.entries.has(entryKey{}) {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *rule) int { return compareRanks(b, a) })
	return list
}

// waiting returns the rules that compete and that the ASIC has no room for, the first one first.
func (a *agenda) waiting() (list []*rule) {
	for s := range a.starved {
		if s.rule != nil && s.feature == "" && s.rule.competes() {
			list = append(list, s.rule)
		}
	}
	slices.SortFunc(list, compareRanks)
	return list
}

// contest has rules give way to those that come before them and wait. It is called when nothing is dirty; what follows
// from it is marked dirty. All claims that were made at once are decided before anything else is tried: rules that come
// back and others that wait are then created in their order.
func (o *Orch) contest(ctx context.Context) {
	if len(o.agenda.starved)+len(o.agenda.claims) == 0 {
		return
	}
	for _, c := range o.agenda.claims {
		if c.over && c.until == 0 {
			c.until = o.asic.changes // those of the rules that came back are among them
		}
	}
	a := arena{asic: o.asic, inForce: o.inForce(), full: map[*instance]bool{}}
	if o.prog.goOn(ctx, &a) {
		return
	}
	o.prog.endClaims()
	if len(o.agenda.dirtyRules) > 0 {
		return
	}
	for _, r := range o.agenda.waiting() {
		c := o.agenda.claims[r]
		switch {
		case c == nil:
			c = &claim{}
		case a.renewed(r, c):
			c.over, c.again, c.elsewhere, c.tries, c.until = false, false, false, 0, 0
		}
		gives, shared := a.behind(ctx, r, c)
		if len(gives) == 0 || shared && len(o.agenda.dirtyRules) > 0 {
			continue // or it is the next one's turn
		}
		o.agenda.claims[r] = c
		o.agenda.giveWay(r, c, gives)
		if shared {
			break // what it frees decides what others need
		}
	}
}

// goOn has further rules give way to those whose claims were refused again.
func (p *programmer) goOn(ctx context.Context, at *arena) (some bool) {
	for r, c := range p.agenda.claims {
		if len(c.gave) == 0 || r.failed.get("") == nil {
			continue
		}
		own, other := r.table.instances[""], c.gave[0].table.instances[""]
		if call := r.refusal(); c.elsewhere && call != nil && call.Type == sai.ObjectTypeACLEntry &&
			own != nil && other != nil && !at.isFull(ctx, other) {
			own.most = own.entries // the room that both share is not full
		}
		gives, _ := at.behind(ctx, r, c)
		if c.over = len(gives) == 0 || !p.agenda.starved[starving{rule: r}]; !c.over {
			p.agenda.giveWay(r, c, gives)
			some = true
		}
	}
	return some
}

// giveWay has the next pass take rules out, and then create the rule of a claim again.
func (a *agenda) giveWay(r *rule, c *claim, gives []*rule) {
	c.tries++
	c.gave = append(c.gave, gives...)
	for _, v := range gives {
		v.out = true
		a.dirtyRules[v.key] = v
		e := v.entries.get(entryKey{})
		c.more = c.more || len(c.gave) > 1 || len(e.ranges) > 0 || e.sampler.rate > 0
	}
	a.tryAgain(starving{rule: r})
}

// endClaims ends the claims that are decided. Where one rule gave way to one for one entry, it waits. Otherwise more
// may be free, also since a claim was served by what gave way to another: then all that wait are created again.
func (p *programmer) endClaims() {
	more, spare := false, false
	for r, c := range p.agenda.claims {
		for _, v := range c.gave {
			v.out = false
			if c.over || v.entries.has(entryKey{}) { // the ASIC may not have removed it
				p.agenda.tryAgain(starving{rule: v})
				continue
			}
			v.holder = r.key
			v.failed.set("", fmt.Errorf("create the entry of ACL rule %s: %w", v.key, c.refused))
			p.agenda.starve(c.refused, starving{rule: v})
			p.asic.log.Warn("ACL rule gives way to one that comes first", "rule", v.key.Config(), "to", r.key.Config())
		}
		if len(c.gave) > 0 {
			more = more || c.more || c.over
			if c.over {
				c.failures++
			} else {
				spare = spare || c.more
			}
		}
		if c.gave = nil; !c.over {
			delete(p.agenda.claims, r)
		}
	}
	if spare {
		p.agenda.leftover = true
		for _, c := range p.agenda.claims {
			c.again = true
		}
	}
	if more {
		p.agenda.retryStarved(func(s starving) bool { return s.feature == "" })
	}
}

// rowsChanged lets claims fail again.
func (a *agenda) rowsChanged() {
	for _, c := range a.claims {
		c.failures = 0
	}
}

// forgetClaims forgets the claims that have failed, since they may be a success now.
func (a *agenda) forgetClaims() {
	maps.DeleteFunc(a.claims, func(_ *rule, c *claim) bool { return c.over })
}

// renewed reports whether a claim that has failed may be a success now, since another one freed more than it needs, or
// a rule behind it came or changed.
func (a *arena) renewed(r *rule, c *claim) bool {
	if !c.over || c.until == 0 || c.failures >= maxFailures {
		return false
	}
	return c.again || slices.ContainsFunc(a.inForce, func(v *rule) bool {
		return compareRanks(v, r) > 0 && v.entries.get(entryKey{}).changed > c.until
	})
}

// An arena is what rules compete in during one contest.
type arena struct {
	asic    *objects
	inForce []*rule            // the last one first
	full    map[*instance]bool // tables that the ASIC was asked for
}

// behind returns the rules in force that should give way to one which was refused for lack of room: the last ones
// without which the ASIC may have room for it. None: there are none behind it, or its claim is over. shared says that
// they have objects which entries share.
func (a *arena) behind(ctx context.Context, r *rule, c *claim) (gives []*rule, shared bool) {
	call := r.refusal()
	if c.over || c.tries >= maxTries || call == nil || call.Status == sai.StatusObjectInUse {
		return nil, false
	}
	c.refused = call
	var short int
	switch call.Type {
	case sai.ObjectTypeACLRange, sai.ObjectTypeACLCounter, sai.ObjectTypeACLEntry:
		used := func(e *entry) []rangeKey { return e.ranges }
		gives, short = sharers(a, r, a.asic.ranges, a.asic.mostRanges, r.spec.ranges, used)
	case sai.ObjectTypeSamplepacket:
		rate := func(e *entry) []uint32 { return []uint32{e.sampler.rate} }
		gives, short = sharers(a, r, a.asic.samplers, len(a.asic.samplers), []uint32{r.spec.sampler.rate}, rate)
	default:
		return nil, false
	}
	if shared = short > 0; shared && len(gives) == 0 {
		return nil, false
	}
	in := r.table.instances[""]
	needsEntry := call.Type == sai.ObjectTypeACLEntry || in != nil && a.isFull(ctx, in)
	if !needsEntry && (call.Type != sai.ObjectTypeACLCounter || len(gives) > 0) ||
		slices.ContainsFunc(gives, func(v *rule) bool { return a.frees(ctx, v, r, c) }) {
		return gives, shared
	}
	for _, v := range a.inForce {
		if v.out || slices.Contains(gives, v) {
			continue
		}
		if compareRanks(v, r) <= 0 {
			break
		}
		if !needsEntry || a.frees(ctx, v, r, c) {
			c.elsewhere = c.elsewhere || needsEntry && v.table != r.table
			return append(gives, v), shared
		}
	}
	return nil, false
}

// frees reports whether a rule may have room in its table where another is removed: one of the same table, or of a
// table that shares its room and is as full.
func (a *arena) frees(ctx context.Context, v, r *rule, c *claim) bool {
	if v.table == r.table {
		return true
	}
	own, in := r.table.instances[""], v.entries.get(entryKey{}).in
	// Its table may be full whatever others have.
	alone := c.elsewhere || own == nil || own.most > 0 && own.entries >= own.most
	return !alone && in.def.stage == own.def.stage && a.isFull(ctx, in)
}

// isFull asks the ASIC whether a table has no room for an entry. One that does not answer may be full.
func (a *arena) isFull(ctx context.Context, in *instance) bool {
	full, asked := a.full[in]
	if !asked {
		k := sai.Obj(sai.ObjectTypeACLTable, in.oid)
		left, known := a.asic.crm.get(ctx, k, sai.Want(sai.ACLTableAttrAvailableACLEntry, 0))
		full = !known || left == sai.Uint(0)
		a.full[in] = full
	}
	return full
}

// sharers returns the rules behind a rule without which it has room for its own of the objects that entries share. most
// is how many there may be, 0 if that is not known, and short how many there would be too many. All users of an object
// give way together, beginning with those of which the first comes last. None: too few objects are only of rules behind
// it.
func sharers[K comparable](
	a *arena, r *rule, objects map[K]*shared, most int, own []K, keys func(*entry) []K,
) (gives []*rule, short int) {
	missing := map[K]bool{}
	for _, k := range own {
		if objects[k] == nil {
			missing[k] = true
		}
	}
	if short = len(objects) + len(missing) - most; short <= 0 || most == 0 {
		return nil, 0
	}
	users := map[K][]*rule{} // the last one first
	var order []K            // by when all users have been seen
	for _, v := range a.inForce {
		if compareRanks(v, r) <= 0 {
			break
		}
		for _, k := range keys(v.entries.get(entryKey{})) {
			users[k] = append(users[k], v)
			if len(users[k]) == objects[k].refs && !slices.Contains(own, k) {
				order = append(order, k)
			}
		}
	}
	if len(order) < short {
		return nil, short
	}
	for _, k := range order[:short] {
		for _, v := range users[k] {
			if !slices.Contains(gives, v) {
				gives = append(gives, v)
			}
		}
	}
	return gives, short
}

// findHolder finds which rule has the room that a waiting rule lacks: the one that displaced it, or whoever displaced
// that one; else the last of those that come first.
func (o *Orch) findHolder(r *rule, inForce []*rule) {
	if r.holder == (schema.ACLRuleKey{}) { // not known yet by this process
		r.holder, _ = schema.ParseACLRuleKey(o.asic.counters.holders.Former(r.key.Config()))
	}
	h := o.rules[r.holder]
	for range o.rules {
		if h == nil || h.competes() && h.entries.has(entryKey{}) {
			break
		}
		h = o.rules[h.holder]
	}
	if h == nil || compareRanks(h, r) >= 0 {
		h = nil
		at, _ := slices.BinarySearchFunc(inForce, r, func(v, r *rule) int { return compareRanks(r, v) })
		for _, v := range inForce[at:] {
			if v == r { // it is in force as it was before it changed
				continue
			}
			if v.table == r.table || h == nil && v.table.row.Stage == r.table.row.Stage {
				h = v
			}
			if v.table == r.table {
				break
			}
		}
	}
	var key schema.ACLRuleKey
	if h != nil {
		key = h.key
	}
	o.asic.setHolder(r, key)
}

// setHolder records which rule has the room that a rule lacks; none: it does not wait for room.
func (b *objects) setHolder(r *rule, key schema.ACLRuleKey) {
	none := schema.ACLRuleKey{}
	switch r.holder = key; {
	case key == none && r.noted != none:
		b.counters.holders.Remove(r.key.Config())
	case key != r.noted:
		b.counters.holders.Put(r.key.Config(), key.Config())
	}
	r.noted = key
}

// reportWaiting reports for the rules that wait for room which others have it.
func (o *Orch) reportWaiting(ctx context.Context) {
	waiting := o.agenda.waiting()
	if len(waiting) == 0 {
		return
	}
	inForce := o.inForce()
	for _, r := range waiting {
		o.findHolder(r, inForce)
		o.reportRule(ctx, r)
	}
}
