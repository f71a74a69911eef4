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

// maxTries bounds how often one claim displaces further rules. The second try is for a claim that fails first because
// the table is full and then because the stage is full, or the reverse.
const maxTries = 2

// maxFailures bounds how often a claim fails until rows change: displaced rules that return look like new rules.
const maxFailures = 2

// A claim is the attempt of a rule to enter the ASIC in place of rules of lower rank. Rules of rows compete for ASIC
// resources by rank: the highest priority is first, and among equal priorities the smaller name. If the ASIC refuses a
// rule for lack of capacity, rules of the lowest rank below it are removed, and the rule is created again.
//
// If all tries fail, the displaced rules return, and the rule makes no further claim for the time being. It may claim
// again when it changes, something is removed, another claim frees more than it needs, or a rule of lower rank arrives.
// Flow groups do not compete: sessions in force are never displaced.
type claim struct {
	gave    []*rule // rules that this claim removed from the ASIC
	tries   int
	refused *sai.CallError // call with which the ASIC last refused the rule
	// elsewhere is true if the claim displaced a rule of another table, because the tables of a stage share capacity.
	elsewhere bool
	more      bool   // whether the displaced rules may have freed more capacity than the rule needs
	over      bool   // whether the claim has failed
	until     uint64 // value of objects.changes when the claim failed
	again     bool   // whether, since the failure, another claim freed more capacity than it needed
	failures  int    // number of failures since rows changed
}

// compareRanks orders rules by rank. The rule that is served first when capacity is short is the smallest.
func compareRanks(a, b *rule) int {
	return cmp.Or(cmp.Compare(b.spec.priority, a.spec.priority), compareKeys(a.key, b.key))
}

// competes reports whether the rule belongs to a row that should be in the ASIC and is not a flow group.
func (r *rule) competes() bool { return r.spec != nil && !r.table.tam() }

// refusal returns the last call for the rule that the ASIC refused, or nil if there is none.
func (r *rule) refusal() (call *sai.CallError) {
	errors.As(r.failed.get(""), &call)
	return call
}

// inForce returns the competing rules that are in the ASIC, sorted from the lowest rank to the highest.
func (o *Orch) inForce() (list []*rule) {
	for _, r := range o.rules {
		if r.competes() && r.entries.has(entryKey{}) {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *rule) int { return compareRanks(b, a) })
	return list
}

// waiting returns the competing rules for which the ASIC lacks capacity, sorted from the highest rank to the lowest.
func (a *agenda) waiting() (list []*rule) {
	for s := range a.starved {
		if s.rule != nil && s.feature == "" && s.rule.competes() {
			list = append(list, s.rule)
		}
	}
	slices.SortFunc(list, compareRanks)
	return list
}

// contest displaces rules in favour of waiting rules of higher rank. It is called when nothing is dirty, and marks
// dirty what must change. All claims of one round are decided before anything else is tried. After that, returning
// rules and other waiting rules are created in rank order.
func (o *Orch) contest(ctx context.Context) {
	if len(o.agenda.starved)+len(o.agenda.claims) == 0 {
		return
	}
	for _, c := range o.agenda.claims {
		if c.over && c.until == 0 {
			c.until = o.asic.changes // counts the changes of the rules that returned
		}
	}
	a := contestState{asic: o.asic, inForce: o.inForce(), full: map[*instance]bool{}}
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
			continue // nothing is displaced for r in this round
		}
		o.agenda.claims[r] = c
		o.agenda.displace(r, c, gives)
		if shared {
			break // the needs of other rules depend on the objects freed here
		}
	}
}

// goOn displaces further rules for claims that were refused again. It reports whether it displaced any.
func (p *programmer) goOn(ctx context.Context, at *contestState) (some bool) {
	for r, c := range p.agenda.claims {
		if len(c.gave) == 0 || r.failed.get("") == nil {
			continue
		}
		own, other := r.table.instances[""], c.gave[0].table.instances[""]
		if call := r.refusal(); c.elsewhere && call != nil && call.Type == sai.ObjectTypeACLEntry &&
			own != nil && other != nil && !at.isFull(ctx, other) {
			own.most = own.entries // the capacity shared by both tables is not exhausted
		}
		gives, _ := at.behind(ctx, r, c)
		if c.over = len(gives) == 0 || !p.agenda.starved[starving{rule: r}]; !c.over {
			p.agenda.displace(r, c, gives)
			some = true
		}
	}
	return some
}

// displace makes the next pass remove the given rules and then create the rule of the claim again.
func (a *agenda) displace(r *rule, c *claim, gives []*rule) {
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

// endClaims ends the claims that are decided. If a claim displaced one rule for one entry, the displaced rule waits.
// Otherwise more capacity may be free, for example if a rule displaced by another claim freed enough for this one. Then
// all waiting rules are tried again.
func (p *programmer) endClaims() {
	more, spare := false, false
	for r, c := range p.agenda.claims {
		for _, v := range c.gave {
			v.out = false
			if c.over || v.entries.has(entryKey{}) { // the ASIC may not have removed the displaced rule
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

// rowsChanged resets the failure counts of the claims.
func (a *agenda) rowsChanged() {
	for _, c := range a.claims {
		c.failures = 0
	}
}

// forgetClaims deletes the failed claims, since they may succeed now.
func (a *agenda) forgetClaims() {
	maps.DeleteFunc(a.claims, func(_ *rule, c *claim) bool { return c.over })
}

// renewed reports whether a failed claim may succeed now. The cause is another claim that freed more than it needed, or
// a rule of lower rank that arrived or changed.
func (a *contestState) renewed(r *rule, c *claim) bool {
	if !c.over || c.until == 0 || c.failures >= maxFailures {
		return false
	}
	return c.again || slices.ContainsFunc(a.inForce, func(v *rule) bool {
		return compareRanks(v, r) > 0 && v.entries.get(entryKey{}).changed > c.until
	})
}

// A contestState is the state of the ASIC in which rules compete during one contest.
type contestState struct {
	asic    *objects
	inForce []*rule            // the lowest rank first
	full    map[*instance]bool // cached answers of the ASIC, by table
}

// behind returns the rules in force to displace for r, which was refused for lack of capacity. These are the rules of
// lowest rank whose removal may make r fit. It returns no rules if none ranks below r or the claim has failed. shared
// reports whether the rules to displace hold objects that entries share.
func (a *contestState) behind(ctx context.Context, r *rule, c *claim) (gives []*rule, shared bool) {
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

// frees reports whether removing rule v may make rule r fit in its table. This holds if both rules have the same table.
// It also holds if v's table is full and shares its capacity with r's table.
func (a *contestState) frees(ctx context.Context, v, r *rule, c *claim) bool {
	if v.table == r.table {
		return true
	}
	own, in := r.table.instances[""], v.entries.get(entryKey{}).in
	// The rule's own table may be full, independent of other tables.
	alone := c.elsewhere || own == nil || own.most > 0 && own.entries >= own.most
	return !alone && in.def.stage == own.def.stage && a.isFull(ctx, in)
}

// isFull asks the ASIC whether a table has no capacity for another entry. If the ASIC does not answer, the table counts
// as full.
func (a *contestState) isFull(ctx context.Context, in *instance) bool {
	full, asked := a.full[in]
	if !asked {
		k := sai.Obj(sai.ObjectTypeACLTable, in.oid)
		left, known := a.asic.crm.get(ctx, k, sai.Want(sai.ACLTableAttrAvailableACLEntry, 0))
		full = !known || left == sai.Uint(0)
		a.full[in] = full
	}
	return full
}

// sharers returns the lower-ranked rules whose removal frees enough shared objects for the rule's own keys. most is the
// maximum number of objects, or 0 if it is unknown. short is the number of objects in excess. All users of an object
// are displaced together. The objects whose highest-ranked user has the lowest rank are first. It returns no rules if
// fewer than short objects are used only by lower-ranked rules.
func sharers[K comparable](
	a *contestState, r *rule, objects map[K]*shared, most int, own []K, keys func(*entry) []K,
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
	users := map[K][]*rule{} // the lowest rank first
	var order []K            // objects by the position of their last user in inForce
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

// findHolder determines which rule occupies the capacity that a waiting rule lacks. This is the rule that displaced it,
// or the one that displaced that rule in turn. If no rule displaced it, the holder is the last of the higher-ranked
// rules.
func (o *Orch) findHolder(r *rule, inForce []*rule) {
	if r.holder == (schema.ACLRuleKey{}) { // not yet known to this process
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
			if v == r { // the rule is in force with its old content
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

// setHolder records the rule that occupies the capacity that r lacks. The zero key means that r does not wait for
// capacity.
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

// reportWaiting reports, for each rule that waits for capacity, which rule occupies it.
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
