package acl

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A rule is a row of ACL_RULE_TABLE, and its state in the ASIC.
type rule struct {
	key        schema.ACLRuleKey
	table      *table
	configured bool        // whether there is a row
	fields     []swss.Pair // nil if there is no row

	parsed   schema.ACLRule // result of parsing fields, for parsedAs
	parsedAs schema.ACLTableType
	parseErr error

	spec     *spec               // content of the rule's entry; nil while err is not nil
	atPorts  *spec               // spec restricted to the table's ports, for a table bound to the switch
	err      error               // why the rule cannot be in the ASIC
	uses     assoc[string, *use] // uses of the rule as a flow group, by TAM feature
	entries  assoc[entryKey, *entry]
	failed   assoc[string, error]   // SAI errors by TAM feature; tables without features use the key ""
	mapped   assoc[string, sai.OID] // names in ACL_COUNTER_RULE_MAP
	reported string                 // status that was last reported

	// replace is true if the entry must be recreated, because there was no capacity to change it in place.
	replace bool
	out     bool // whether the rule was removed for the claim of another rule
	// holder is the rule that occupies the capacity that this rule lacks. noted is the holder last written to STATE_DB.
	holder, noted schema.ACLRuleKey
}

// A use is the use of a flow group by one TAM feature.
type use struct {
	variants []Variant // sorted by name; a use without variants has one variant named ""
	off      assoc[string, bool]
	users    orch.SmallSet[string]
}

// A spec is the content of an entry: without the table and the counter.
type spec struct {
	priority uint32
	off      bool // whether ADMIN_STATE is false
	never    bool // whether no packet can match
	ranges   []rangeKey
	sampler  samplerKey
	attrs    []sai.Attr        // matches, then actions, each sorted by id, without sampling
	matches  []schema.ACLMatch // matches of the rule, the source of ranges and attrs
}

// An entryKey identifies an entry of a rule. feature is the TAM feature of its table, or "" in other tables. variant is
// "" if the entry has no variants.
type entryKey struct{ feature, variant string }

func (a entryKey) compare(b entryKey) int {
	return cmp.Or(compareFeatures(a.feature, b.feature), schema.CompareNames(a.variant, b.variant))
}

// An entry is a rule in the ASIC.
type entry struct {
	in      *instance
	rule    *rule
	key     entryKey
	oid     sai.OID
	spec    *spec
	counter *counter
	ranges  []rangeKey
	sampler samplerKey
	fresh   bool   // whether it was made in this pass
	unsure  bool   // whether its attributes may differ from spec, because a change failed and could not be undone
	changed uint64 // number of its last change, unique among all entries
}

type counter struct {
	oid   sai.OID
	label string
}

// examine determines what the ASIC must hold for a rule.
func (x *terms) examine(r *rule) {
	r.spec, r.err = nil, nil
	t := r.table
	switch {
	case !r.configured:
		r.err = orch.Wait("ACL rule", r.key.Config(), "no ACL rule %s", r.key)
	case t.err != nil && !t.configured:
		r.err = t.err
	case t.err != nil:
		r.err = orch.Wait("ACL table", t.name, "ACL table %s: %s", t.name, orch.Explain(t.err))
	case t.keptOut:
	default:
		r.parse(t.typ)
		if r.err = r.parseErr; r.err == nil {
			r.spec, r.err = x.resolve(r.parsed, t.row.Stage)
		}
	}
	if r.err != nil {
		r.spec = nil
	}
	if r.atPorts = r.spec; r.spec != nil && t.tam() {
		r.atPorts = x.within(r.spec, t.row.Ports)
	}
}

// within returns a spec that matches only at the named ports, or s if there are none. No packet matches at a port that
// does not exist.
func (x *terms) within(s *spec, names []string) *spec {
	if len(names) == 0 {
		return s
	}
	here := sai.OIDs{}
	add := func(name string) {
		if oid, _, ok := x.ports.Port(name); ok && !slices.Contains(here, oid) {
			here = append(here, oid)
		}
	}
	for _, name := range names {
		if _, members, ok := x.ports.LAG(name); ok {
			for _, m := range members {
				add(m)
			}
		} else if _, lag, _ := x.ports.Port(name); lag == "" { // packets of a member belong to its PortChannel
			add(name)
		}
	}
	n := *s
	n.attrs = slices.Clone(s.attrs)
	i := slices.IndexFunc(n.attrs, func(a sai.Attr) bool { return a.ID == sai.ACLEntryAttrFieldInPorts })
	if i >= 0 {
		f, _ := n.attrs[i].Value.(sai.Field)
		own, _ := f.Data.(sai.OIDs)
		here = slices.DeleteFunc(slices.Clone(own), func(p sai.OID) bool { return !slices.Contains(here, p) })
	}
	if len(here) == 0 {
		n.never = true
		return &n
	}
	if i < 0 {
		n.attrs, i = append([]sai.Attr{{ID: sai.ACLEntryAttrFieldInPorts}}, n.attrs...), 0
	}
	n.attrs[i].Value = sai.Match(here, nil)
	sortAttrs(n.attrs)
	return &n
}

// standing returns the state of the rule that users of the flow group depend on. It is "" before the first examination,
// the reason if the rule is unusable, or the place of its table.
func (r *rule) standing() string {
	switch {
	case r.err != nil:
		return orch.Explain(r.err)
	case r.spec == nil:
		return ""
	}
	return "in a table of type " + r.table.typ.Name
}

// parse parses the row for a table type, unless that result already exists.
func (r *rule) parse(t schema.ACLTableType) {
	as := r.parsedAs
	if r.fields == nil || as.Name == t.Name && as.Matches == t.Matches && as.Actions == t.Actions {
		return
	}
	r.parsed, r.parseErr = schema.ParseACLRule(t, r.key.Config(), swss.ToFieldValues(r.fields))
	r.parsedAs = t
}

// resolve translates a rule to SAI. Ports that a rule names must exist. A PortChannel among IN_PORTS or OUT_PORTS
// stands for its members.
func (x *terms) resolve(r schema.ACLRule, stage string) (*spec, error) {
	s := &spec{priority: r.Priority, matches: r.Matches}
	if lo, hi := x.priorities.Min, x.priorities.Max; uint64(r.Priority) < lo || uint64(r.Priority) > hi {
		want := fmt.Sprintf("%d..%d, the priorities of this switch", lo, hi)
		if r.Priority == 0 {
			want += " (a rule that gives none has 0)"
		}
		return nil, &schema.FieldError{
			Object: schema.CfgACLRule + "|" + r.Key.Config(), Field: "PRIORITY", Value: fmt.Sprint(r.Priority), Want: want,
		}
	}
	for _, m := range r.Matches {
		if t, ok := rangeTypes[m.Field]; ok {
			s.ranges = append(s.ranges, rangeKey{t, m.Min, m.Max})
			continue
		}
		f, err := x.match(m)
		if err != nil {
			return nil, err
		}
		s.attrs = append(s.attrs, sai.Attr{ID: fieldIDs[m.Field].entry, Value: f})
	}
	slices.SortFunc(s.ranges, rangeKey.compare)
	sortAttrs(s.attrs)
	var actions []sai.Attr
	for _, a := range r.Actions {
		if a.Field.Samples() {
			if err := x.capable(a.Field, stage); err != nil {
				return nil, err
			}
			s.sampler = samplerKey{actionIDs[a.Field], a.Number}
			continue
		}
		v, err := x.action(a)
		if err == nil {
			err = x.capable(a.Field, stage)
		}
		if err != nil {
			return nil, err
		}
		actions = append(actions, sai.Attr{ID: actionIDs[a.Field], Value: sai.Do(v)})
	}
	sortAttrs(actions)
	s.attrs = append(s.attrs, actions...)
	return s, nil
}

func (x *terms) match(m schema.ACLMatch) (sai.Field, error) {
	switch m.Field {
	case schema.MatchInPorts, schema.MatchOutPorts:
		ports, err := x.physical(m.Field, m.Ports)
		return sai.Match(ports, nil), err
	case schema.MatchOutPort:
		oid, err := x.portOrLAG(m.Ports[0])
		return sai.Match(oid, nil), err
	case schema.MatchIPType:
		return sai.Match(ipTypes[schema.IPType(m.Value)], sai.Enum(-1)), nil
	case schema.MatchTunnelTerm:
		return sai.Match(sai.Bool(m.Value == 1), nil), nil
	case schema.MatchSrcMAC, schema.MatchDstMAC, schema.MatchInnerSrcMAC, schema.MatchInnerDstMAC:
		return sai.Match(sai.MAC(m.MAC), sai.MAC(m.MACMask)), nil
	}
	if m.Addr.IsValid() {
		return sai.Match(sai.IP{Addr: m.Addr}, sai.IP{Addr: m.AddrMask}), nil
	}
	return sai.Match(sai.Uint(m.Value), sai.Uint(m.Mask)), nil
}

// physical returns the ports of a list in the order of their names, with PortChannels replaced by their members.
func (x *terms) physical(f schema.MatchField, names []string) (sai.OIDs, error) {
	var ports []string
	for _, n := range names {
		if _, members, ok := x.ports.LAG(n); ok {
			ports = append(ports, members...)
			continue
		}
		ports = append(ports, n)
	}
	slices.SortFunc(ports, schema.CompareNames)
	ports = slices.Compact(ports)
	if len(ports) == 0 {
		return nil, orch.Wait("PortChannel", names[0], "%s: %s has no members", f, strings.Join(names, ","))
	}
	oids := make(sai.OIDs, len(ports))
	for i, n := range ports {
		oid, _, ok := x.ports.Port(n)
		if !ok {
			return nil, orch.Wait("port", n, "%s: no port or PortChannel %s", f, n)
		}
		oids[i] = oid
	}
	return oids, nil
}

func (x *terms) portOrLAG(name string) (sai.OID, error) {
	if oid, _, ok := x.ports.Port(name); ok {
		return oid, nil
	}
	if oid, _, ok := x.ports.LAG(name); ok {
		return oid, nil
	}
	return 0, orch.Wait("port", name, "no port or PortChannel %s", name)
}

// action returns the parameter of an action. Actions that need objects which tamtam lacks are an error.
func (x *terms) action(a schema.ACLAction) (sai.Value, error) {
	switch a.Field {
	case schema.ActionPacket:
		return packetActions[a.Word], nil
	case schema.ActionRedirect:
		return x.redirect(a.Redirect)
	case schema.ActionDoNotNAT, schema.ActionDisableTrim:
		return sai.Bool(true), nil
	case schema.ActionMetaData, schema.ActionDSCP:
		return sai.Uint(a.Number), nil
	case schema.ActionMirrorIngress, schema.ActionMirrorEgress:
		if x.sessions != nil {
			if oid, ok := x.sessions.Session(a.Name); ok {
				return sai.OIDs{oid}, nil
			}
		}
		return nil, orch.Wait("mirror session", a.Name, "mirror session %s is not active", a.Name)
	case schema.ActionPolicer:
		return nil, fmt.Errorf("%s %s: there are no policers", a.Field, a.Name)
	}
	return nil, fmt.Errorf("%s: DTel is not supported, use TAM", a.Field)
}

// redirect returns the object that packets are redirected to.
func (x *terms) redirect(to schema.Redirect) (sai.Value, error) {
	switch {
	case len(to.NextHops) > 1:
		return nil, fmt.Errorf("redirect to %s: only redirection to one next hop can be done", to)
	case len(to.NextHops) == 1:
		h := to.NextHops[0]
		if x.nextHops != nil {
			if oid, ok := x.nextHops.NextHop(h.Interface, h.Addr); ok {
				return oid, nil
			}
		}
		return nil, orch.Wait("next hop", to.String(), "no next hop %s", to)
	case schema.IsPortName(to.Name) == schema.IsPortChannelName(to.Name):
		return nil, fmt.Errorf("redirect to %s: only redirection to a port, PortChannel or next hop can be done", to)
	}
	return x.portOrLAG(to.Name)
}

// capable returns an error if the switch lacks an action at a stage. If the switch does not list its actions, capable
// returns nil, and only the creation of the entry can fail.
func (x *terms) capable(a schema.ActionField, stage string) error {
	has := x.capability[stage].Actions
	e, ok := actionType(actionIDs[a])
	if !ok || len(has) == 0 || slices.Contains(has, e) {
		return nil
	}
	return fmt.Errorf("%s: the switch does not have this action at %s; it has %s",
		a, strings.ToLower(stage), actionList(x.capability[stage]))
}

// names reports whether the row names a port or LAG in a match or an action.
func (r *rule) names(name string) bool {
	for _, m := range r.parsed.Matches {
		if slices.Contains(m.Ports, name) {
			return true
		}
	}
	return slices.ContainsFunc(r.parsed.Actions, func(a schema.ACLAction) bool { return a.Redirect.Name == name })
}

// wanted returns the contents of the entries that the rule should have.
func (r *rule) wanted(early map[string]bool) map[entryKey]*spec {
	if r.spec == nil || r.out {
		return nil
	}
	if !r.table.tam() {
		return map[entryKey]*spec{{}: r.spec}
	}
	want := map[entryKey]*spec{}
	for _, x := range r.uses {
		f, u, s := x.key, x.value, r.spec
		if early[f] {
			s = r.atPorts
		}
		for _, v := range u.variants {
			want[entryKey{f, v.Name}] = s.as(v, u.off.get(v.Name))
		}
	}
	return want
}

// as returns the content of a rule's entry for a variant. The variant's matches replace the rule's matches of the same
// field.
func (s *spec) as(v Variant, off bool) *spec {
	n := &spec{priority: s.priority + v.Raise, off: off || s.never, ranges: s.ranges, matches: s.matches}
	for _, a := range s.attrs {
		if _, ok := sai.Find(v.Match, a.ID); !ok {
			n.attrs = append(n.attrs, a)
		}
	}
	n.attrs = append(n.attrs, v.Match...)
	if len(v.Match) > 0 {
		sortAttrs(n.attrs)
	}
	n.attrs = append(n.attrs, v.Actions...)
	return n
}

// entryKeys returns the keys of the rule's entries, sorted.
func (r *rule) entryKeys() []entryKey {
	keys := make([]entryKey, len(r.entries))
	for i, x := range r.entries {
		keys[i] = x.key
	}
	slices.SortFunc(keys, entryKey.compare)
	return keys
}

// has reports whether the rule has an entry for a feature.
func (r *rule) has(feature string) bool {
	for _, x := range r.entries {
		if x.key.feature == feature {
			return true
		}
	}
	return false
}

// entryAttrs returns the attributes for the creation of an entry, in SONiC's order.
func entryAttrs(in *instance, s *spec, c *counter, ranges sai.OIDs, sampler sai.OID) []sai.Attr {
	attrs := append(make([]sai.Attr, 0, len(s.attrs)+6),
		sai.Attr{ID: sai.ACLEntryAttrTableID, Value: in.oid},
		sai.Attr{ID: sai.ACLEntryAttrPriority, Value: sai.Uint(s.priority)},
		sai.Attr{ID: sai.ACLEntryAttrAdminState, Value: sai.Bool(!s.off)},
		sai.Attr{ID: sai.ACLEntryAttrActionCounter, Value: sai.Do(c.oid)})
	if len(ranges) > 0 {
		attrs = append(attrs, sai.Attr{ID: sai.ACLEntryAttrFieldACLRangeType, Value: sai.Match(ranges, nil)})
	}
	attrs = append(attrs, s.attrs...)
	if sampler != sai.NullOID {
		attrs = append(attrs, sai.Attr{ID: s.sampler.action, Value: sai.Do(sampler)})
	}
	return attrs
}

// diff returns the attributes to set to turn s into n, except ranges. ok is false if a part of s must be removed or the
// sampling differs. Then the entry is recreated. The result is the same as if it had been created with n.
func (s *spec) diff(n *spec) (sets []sai.Attr, ok bool) {
	if s.priority != n.priority {
		sets = append(sets, sai.Attr{ID: sai.ACLEntryAttrPriority, Value: sai.Uint(n.priority)})
	}
	if s.off != n.off {
		sets = append(sets, sai.Attr{ID: sai.ACLEntryAttrAdminState, Value: sai.Bool(!n.off)})
	}
	if len(s.ranges) > 0 && len(n.ranges) == 0 || s.sampler != n.sampler {
		return nil, false
	}
	for _, a := range s.attrs {
		if _, ok := sai.Find(n.attrs, a.ID); !ok {
			return nil, false
		}
	}
	for _, a := range n.attrs {
		if v, ok := sai.Find(s.attrs, a.ID); !ok || !reflect.DeepEqual(v, a.Value) {
			sets = append(sets, a)
		}
	}
	return sets, true
}

// inOrder orders entries for their creation. Recreated entries are first, because their capacity is reserved, and
// entries of sessions are last. All other entries are ordered by priority, the highest first, as in SONiC.
func inOrder(a, b *change) int {
	group := func(c *change) int {
		switch {
		case c.have != nil:
			return 0
		case c.key.feature == "":
			return 1
		}
		return 2
	}
	return cmp.Or(group(a)-group(b), cmp.Compare(b.spec.priority, a.spec.priority),
		compareKeys(a.rule.key, b.rule.key), a.key.compare(b.key))
}

func compareKeys(a, b schema.ACLRuleKey) int {
	return cmp.Or(schema.CompareNames(a.Table, b.Table), schema.CompareNames(a.Rule, b.Rule))
}
