package engine

import "tamtam/saisim/config"

// applyACL compiles the rows that the ACL stages use.
func (c *acl) applyACL(row config.Row, gone bool) {
	switch r := row.(type) {
	case config.ACLRange:
		c.applyRange(r, gone)
	case config.ACLCounter:
		c.applyCounter(r, gone)
	case config.ACLTable:
		c.applyTable(r, gone)
	case config.ACLGroup:
		c.applyGroup(r, gone)
	case config.ACLEntry:
		c.applyEntry(&r, gone)
	}
}

func (c *acl) applyTable(r config.ACLTable, gone bool) {
	c.stale = true
	if gone {
		delete(c.ids, r.ID)
	} else if at[*aclTable](c.core, r.ID) == nil {
		c.ids[r.ID] = &aclTable{id: r.ID}
	}
}

func (c *acl) applyGroup(r config.ACLGroup, gone bool) {
	c.stale = true
	if gone {
		delete(c.ids, r.ID)
		return
	}
	c.ids[r.ID] = &aclGroup{sequential: r.Sequential, members: r.Members}
}

// applyEntry replaces an entry. The new entry joins its alternate-marking flow before the old entry leaves, because a
// flow without entries loses its state. Packets that have already hit the entry keep the old one.
func (c *acl) applyEntry(r *config.ACLEntry, gone bool) {
	old := at[*aclEntry](c.core, r.ID)
	var e *aclEntry
	if !gone {
		e = c.compileEntry(r)
		c.marking.enterFlow(e, c.prof.AltMark.Flows)
		e.keepSampling(old)
	}
	if old != nil {
		old.withdraw()
		c.marking.leaveFlow(old)
	}
	if gone {
		delete(c.ids, r.ID)
		return
	}
	e.install()
	c.ids[r.ID] = e
}

func (e *aclEntry) install() {
	if e.enabled {
		e.table.space.insert(e)
	}
}

func (e *aclEntry) withdraw() {
	if e.enabled {
		e.table.space.remove(e)
	}
}

// compileEntry compiles a row to an entry. It changes nothing else.
func (c *acl) compileEntry(r *config.ACLEntry) *aclEntry {
	e := &aclEntry{table: at[*aclTable](c.core, r.Table), priority: r.Priority, content: r.Content, id: r.ID}
	var rule aclRule
	for i := range r.Matches {
		c.addMatch(&rule, &r.Matches[i])
	}
	e.match(&rule)
	for i := range r.Actions {
		c.addAction(e, &r.Actions[i])
	}
	e.enabled = r.Enabled && !rule.never
	if e.does&doesMeta != 0 && e.metadata>>28 == markEntry && c.prof.AltMark.Flows > 0 {
		e.does, e.mark = e.does&^doesMeta|doesMark, e.metadata
	}
	if e.stamp != nil {
		e.stamp.counter = e.counter
	}
	if e.ifa != nil {
		e.bindIFA()
	}
	return e
}

// addAction adds an action of the row to the entry.
func (c *acl) addAction(e *aclEntry, a *config.ACLAction) {
	switch a.Kind {
	case config.ActPacket:
		e.act = actionsOf(config.PacketAction(a.Number))
	case config.ActCounter:
		e.counter = at[*aclCounter](c.core, a.Of[0])
	case config.ActRedirect:
		c.redirect(e, a.Of[0])
	case config.ActMirrorIngress, config.ActMirrorEgress:
		if e.mirrors = c.mirrorSet(a.Of); e.mirrors != 0 {
			e.does |= doesMirror
		}
	case config.ActSetTC:
		e.does, e.tc = e.does|doesTC, uint8(a.Number)
	case config.ActSetDSCP:
		e.does, e.dscp = e.does|doesDSCP, uint8(a.Number)
	case config.ActSetMeta:
		e.does, e.metadata = e.does|doesMeta, uint32(a.Number)
	case config.ActNoLearning:
		e.noLearn = true
	case config.ActTAM:
		if e.tam = at[*tamSet](c.core, a.Of[0]); e.tam != nil {
			e.does |= doesTAM
		}
	case config.ActStamp:
		e.does, e.stamp = e.does|doesStamp, &stampAction{switchID: at[*tamInt](c.core, a.Of[0]).switchID}
	case config.ActNoTrim:
		e.does |= doesNoTrim
	case config.ActSample:
		e.sample(at[*sampler](c.core, a.Of[0]))
	case config.ActIFA, config.ActIFAEnd:
		e.does, e.ifa = e.does|doesIFA, &ifaAction{of: at[*ifaInt](c.core, a.Of[0]), ends: a.Kind == config.ActIFAEnd}
	}
}

// redirect makes the entry redirect packets. It does nothing if the target does not exist.
func (c *acl) redirect(e *aclEntry, to config.ID) {
	switch x := c.ids[to].(type) {
	case *port:
		e.redirect = verdict{kind: toPort, port: x}
	case *lag:
		e.redirect = verdict{kind: toLAG, lag: x}
	case *bridgePort:
		e.redirect = verdict{kind: toBridgePort, to: x}
	case *nextHop:
		e.hop = x.adj
	case *hopGroup:
		e.group = x
	}
	if e.redirect.kind != noDestination || e.hop != nil || e.group != nil {
		e.does |= doesRedirect
	}
}

// lookups appends the tables that the bind points lead to, each once. A bind point whose object does not exist leads
// nowhere.
func (c *acl) lookups(dst []lookup, points []config.ID) []lookup {
	add := func(t *aclTable, priority uint32, group uint16) {
		for i := range dst {
			if dst[i].table == t {
				return
			}
		}
		dst = append(dst, lookup{t, priority, group})
	}
	for i, id := range points {
		switch x := c.ids[id].(type) {
		case *aclTable:
			add(x, 0, 0)
		case *aclGroup:
			group := uint16(0)
			if x.sequential {
				group = uint16(i + 1)
			}
			for _, m := range x.members {
				if t := at[*aclTable](c.core, m.Table); t != nil {
					add(t, m.Priority, group)
				}
			}
		}
	}
	return dst
}

// applyRange assigns a checker to a range.
func (c *acl) applyRange(r config.ACLRange, gone bool) {
	if gone {
		c.ranges.used &^= 1 << at[config.ACLRange](c.core, r.ID).Index
		delete(c.ids, r.ID)
		return
	}
	c.ids[r.ID] = r
	c.ranges.list[r.Index] = rangeChecker{r.Of, r.Min, r.Max}
	c.ranges.used |= 1 << r.Index
}

// applyCounter compiles a counter. An existing counter keeps its counts.
func (c *acl) applyCounter(r config.ACLCounter, gone bool) {
	if gone {
		delete(c.ids, r.ID)
	} else if x := at[*aclCounter](c.core, r.ID); x != nil {
		x.ACLCounter = r
	} else {
		c.ids[r.ID] = &aclCounter{ACLCounter: r}
	}
}
