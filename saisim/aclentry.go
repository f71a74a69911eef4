package saisim

import (
	"fmt"
	"slices"
	"strings"

	"tamtam/sai"
	"tamtam/saisim/config"
)

// An aclEntry is an ACL entry as lookups see it.
type aclEntry struct {
	aclRule
	table    *aclTable
	enabled  bool
	counter  *aclCounter
	act      actions
	noLearn  bool
	redirect verdict
	stamp    *stampAction
	hop      *adjacency // or one of these
	group    *hopGroup
	mirrors  uint64 // sessions, by index
	setTC    bool
	tc       uint8
	setDSCP  bool
	dscp     uint8
	setMeta  bool
	mark     uint32 // of alternate marking: instead of metadata; 0: none
	metadata uint32
}

func (x *aclCounter) label() string { return x.Label }

// relabel notes a counter under a label; "" is no label.
func (c *store) relabel(x *aclCounter, was, is string) {
	c.labelled[was] = slices.DeleteFunc(c.labelled[was], func(y *aclCounter) bool { return x == y })
	if len(c.labelled[was]) == 0 {
		delete(c.labelled, was)
	}
	if is != "" {
		c.labelled[is] = append(c.labelled[is], x)
	}
}

// entryActions are the entry's action attributes with their action types.
func entryActions() map[sai.AttrID]sai.Enum {
	return map[sai.AttrID]sai.Enum{
		sai.ACLEntryAttrActionPacketAction:   sai.ACLActionTypePacketAction,
		sai.ACLEntryAttrActionCounter:        sai.ACLActionTypeCounter,
		sai.ACLEntryAttrActionRedirect:       sai.ACLActionTypeRedirect,
		sai.ACLEntryAttrActionMirrorIngress:  sai.ACLActionTypeMirrorIngress,
		sai.ACLEntryAttrActionMirrorEgress:   sai.ACLActionTypeMirrorEgress,
		sai.ACLEntryAttrActionSetTC:          sai.ACLActionTypeSetTC,
		sai.ACLEntryAttrActionSetDSCP:        sai.ACLActionTypeSetDSCP,
		sai.ACLEntryAttrActionSetACLMetaData: sai.ACLActionTypeSetACLMetaData,
		sai.ACLEntryAttrActionSetDoNotLearn:  sai.ACLActionTypeSetDoNotLearn,
		sai.ACLEntryAttrActionIntInsert:      sai.ACLActionTypeIntInsert,
		sai.ACLEntryAttrActionTAMIntObject:   sai.ACLActionTypeTAMIntObject,
	}
}

// aclActions are the actions of a stage.
func aclActions(stage int) (actions []sai.Enum) {
	for _, a := range entryActions() {
		switch a {
		case sai.ACLActionTypeRedirect, sai.ACLActionTypeSetACLMetaData, sai.ACLActionTypeSetDoNotLearn,
			sai.ACLActionTypeMirrorIngress, sai.ACLActionTypeSetTC, sai.ACLActionTypeSetDSCP:
			if stage == stageEgress {
				continue
			}
		case sai.ACLActionTypeMirrorEgress:
			if stage == stageIngress {
				continue
			}
		}
		actions = append(actions, a)
	}
	slices.Sort(actions)
	return actions
}

func aclCapability(stage int) sai.ACLCapability {
	return sai.ACLCapability{Actions: aclActions(stage)}
}

func (c *store) aclEntryKind() *kind {
	k := &kind{
		attrs: []sai.AttrID{
			sai.ACLEntryAttrTableID, sai.ACLEntryAttrPriority, sai.ACLEntryAttrAdminState, sai.ACLEntryAttrFieldACLRangeType,
		},
		enums:  map[sai.AttrID][]sai.Enum{sai.ACLEntryAttrFieldTAMIntType: {sai.TAMIntTypeIfa1Tailstamp}},
		create: c.createEntry,
		set: func(o *object, a sai.Attr) error {
			old := o.self.(*aclEntry)
			next := &object{key: o.key, attrs: slices.Clone(o.attrs)}
			next.put(a)
			e, err := c.compileEntry(next, old.table)
			if err != nil {
				return err
			}
			c.marking.enterFlow(e, c.prof.AltMark.Flows)
			old.withdraw()
			e.install()
			c.marking.leaveFlow(old)
			o.self = e
			return nil
		},
		remove: func(o *object) error {
			e := o.self.(*aclEntry)
			e.withdraw()
			c.marking.leaveFlow(e)
			e.table.entries--
			c.entriesUsed[e.table.stage]--
			return nil
		},
	}
	c.actionKinds = entryActions()
	c.fields = map[sai.AttrID]aclField{sai.ACLEntryAttrFieldACLRangeType: {}}
	for _, f := range aclFields() {
		c.fields[f.id] = f
		k.attrs = append(k.attrs, f.id)
	}
	for id := range entryActions() {
		k.attrs = append(k.attrs, id)
	}
	slices.Sort(k.attrs)
	return k
}

func (c *store) createEntry(o *object) error {
	t, _ := self[*aclTable](c, o.ref(sai.ACLEntryAttrTableID))
	if c.entriesLeft(t) == 0 {
		return refuse("create", sai.ObjectTypeACLEntry, sai.ACLEntryAttrTableID, sai.StatusTableFull,
			"the table has %d of %d entries, its stage %d of %d", t.entries, t.size, c.entriesUsed[t.stage], c.prof.ACL.Entries)
	}
	e, err := c.compileEntry(o, t)
	if err != nil {
		return err
	}
	e.install()
	c.marking.enterFlow(e, c.prof.AltMark.Flows)
	o.self = e
	t.entries++
	c.entriesUsed[t.stage]++
	return nil
}

// entriesLeft is the number of entries that a table still takes.
func (c *store) entriesLeft(t *aclTable) uint32 {
	return min(t.size-t.entries, c.prof.ACL.Entries-c.entriesUsed[t.stage])
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

// compileEntry makes an entry from its attributes. It changes nothing else.
func (c *store) compileEntry(o *object, t *aclTable) (*aclEntry, error) {
	e := &aclEntry{table: t, enabled: o.flag(sai.ACLEntryAttrAdminState)}
	e.priority = uint32(o.number(sai.ACLEntryAttrPriority))
	if err := c.checkPriority(o, e.priority); err != nil {
		return nil, err
	}
	var insert bool
	var matches, does []string
	for _, a := range o.attrs {
		if v, ok := a.Value.(sai.Field); ok && v.Enabled {
			if err := c.matchField(e, a, v); err != nil {
				return nil, err
			}
			matches = append(matches, c.text(a, v.Data))
		}
		if v, ok := a.Value.(sai.Action); ok && v.Enabled {
			if err := c.action(e, a, v.Param); err != nil {
				return nil, err
			}
			if a.ID == sai.ACLEntryAttrActionIntInsert {
				insert = bool(v.Param.(sai.Bool))
			}
			does = append(does, c.text(a, v.Param))
		}
	}
	e.enabled = e.enabled && !e.never
	if e.setMeta && e.metadata>>28 == markEntry && c.prof.AltMark.Flows > 0 {
		e.setMeta, e.mark = false, e.metadata
	}
	if !insert {
		e.stamp = nil
	}
	if e.stamp != nil {
		e.stamp.counter = e.counter
	}
	slices.Sort(matches)
	slices.Sort(does)
	e.content = strings.Join(matches, ";") + "\x00" + strings.Join(does, ";")
	return e, nil
}

// checkPriority refuses a priority that was given and is out of range.
func (c *store) checkPriority(o *object, priority uint32) error {
	a := &c.prof.ACL
	_, given := sai.Find(o.attrs, sai.ACLEntryAttrPriority)
	if given && (priority < a.MinPriority || priority > a.MaxPriority) {
		return refuse("create", sai.ObjectTypeACLEntry, sai.ACLEntryAttrPriority, sai.StatusInvalidParameter,
			"priority %d, want %d to %d", priority, a.MinPriority, a.MaxPriority)
	}
	return nil
}

// matchField adds one match to the entry.
func (c *store) matchField(e *aclEntry, a sai.Attr, f sai.Field) error {
	if err := e.table.allowsField(c, a, f); err != nil {
		return err
	}
	return c.match(&e.aclRule, c.fields, a, f)
}

// action adds one action to the entry.
func (c *store) action(e *aclEntry, a sai.Attr, param sai.Value) error {
	if err := e.table.allowsAction(c.actionKinds, a); err != nil {
		return err
	}
	switch v := param.(type) {
	case sai.Enum: // packet action
		e.act = packetAction(v)
		if e.table.stage == stageEgress && e.act&actCopy != 0 {
			return badValue(a, sai.StatusNotSupported, "egress entries do not copy to the CPU")
		}
	case sai.Uint:
		return e.actionNumber(a, uint64(v))
	case sai.OIDs:
		e.mirrors = c.mirrorSet(configIDs(v))
	case sai.OID:
		switch a.ID {
		case sai.ACLEntryAttrActionCounter:
			e.counter, _ = self[*aclCounter](c, v)
			if e.counter == nil || e.counter.Table != e.table.o.id() {
				return badValue(a, sai.StatusInvalidParameter, "the counter is one of another table")
			}
		case sai.ACLEntryAttrActionTAMIntObject:
			if t, ok := self[*tamInt](c, v); ok {
				e.stamp = &stampAction{switchID: t.switchID}
			}
		case sai.ACLEntryAttrActionRedirect:
			return c.redirect(e, a, v)
		}
	}
	return nil
}

// actionNumber adds an action whose parameter is a number.
func (e *aclEntry) actionNumber(a sai.Attr, v uint64) error {
	switch a.ID {
	case sai.ACLEntryAttrActionSetACLMetaData:
		e.setMeta, e.metadata = true, uint32(v)
	case sai.ACLEntryAttrActionSetTC:
		if v > 15 {
			return badValue(a, sai.StatusInvalidParameter, "traffic class %d, want 0 to 15", v)
		}
		e.setTC, e.tc = true, uint8(v)
	case sai.ACLEntryAttrActionSetDSCP:
		if v > 63 {
			return badValue(a, sai.StatusInvalidParameter, "DSCP %d, want 0 to 63", v)
		}
		e.setDSCP, e.dscp = true, uint8(v)
	default:
		e.noLearn = true
	}
	return nil
}

func (c *store) redirect(e *aclEntry, a sai.Attr, to sai.OID) error {
	if p, ok := self[*port](c, to); ok {
		e.redirect = verdict{kind: toPort, port: p}
	} else if l, ok := self[*lag](c, to); ok {
		e.redirect = verdict{kind: toLAG, lag: l}
	} else if bp, ok := self[*bridgePort](c, to); ok {
		e.redirect = verdict{kind: toBridgePort, to: bp}
	} else if h, ok := self[*nextHop](c, to); ok {
		e.hop = h.adj
	} else if g, ok := self[*hopGroup](c, to); ok {
		e.group = g
	} else {
		return badValue(a, sai.StatusNotSupported,
			"the chip redirects to ports, LAGs, bridge ports, next hops and their groups")
	}
	return nil
}

// text is what an attribute says, without object ids: equal for equal meaning.
func (c *store) text(a sai.Attr, v sai.Value) string {
	var names []string
	switch v := v.(type) {
	case sai.OID:
		names = []string{c.describe(v)}
	case sai.OIDs:
		for _, o := range v {
			names = append(names, c.describe(o))
		}
		slices.Sort(names)
	default:
		s, _ := sai.FormatValue(a.ID, a.Value)
		names = []string{s}
	}
	return fmt.Sprintf("%x=%s", uint32(a.ID), strings.Join(names, ","))
}

// describe says what an object is without its id.
func (c *store) describe(oid sai.OID) string {
	o := c.objects[oid]
	if o == nil {
		return ""
	}
	compiled := c.engine.ids[o.id()]
	if _, known := o.self.(config.ACLRange); known || compiled == nil {
		compiled = o.self
	}
	switch x := compiled.(type) {
	case *port:
		return fmt.Sprintf("port %04d", x.id)
	case *lag:
		label, _ := o.attr(sai.LAGAttrLabel).(sai.Text)
		return fmt.Sprintf("lag %s %04d", string(label), x.first())
	case *bridgePort:
		return fmt.Sprintf("bridge port %05d", x.order())
	case config.ACLRange:
		return fmt.Sprintf("range %d %05d-%05d", x.Of, x.Min, x.Max)
	case *aclCounter:
		return "counter " + x.label()
	case *nextHop:
		return fmt.Sprintf("next hop %s %05d", x.adj.ip, x.adj.rif.order())
	case *hopGroup:
		s := "next hops"
		for _, m := range x.members {
			s += fmt.Sprintf(" %s %05d %d", m.adj.ip, m.adj.rif.order(), m.weight)
		}
		return s
	case *mirrorSession:
		return fmt.Sprintf("mirror %02d", x.index)
	case *tamInt:
		return fmt.Sprintf("tam int %d", x.switchID)
	}
	return ""
}

func (c *store) aclCounterKind() *kind {
	return &kind{
		max: c.prof.ACL.Counters,
		attrs: []sai.AttrID{
			sai.ACLCounterAttrTableID, sai.ACLCounterAttrEnablePacketCount, sai.ACLCounterAttrEnableByteCount,
			sai.ACLCounterAttrPackets, sai.ACLCounterAttrBytes, sai.ACLCounterAttrLabel,
		},
		row: func(o *object) (config.Row, error) {
			return config.ACLCounter{
				ID: o.id(), Table: o.refID(sai.ACLCounterAttrTableID), Label: o.text(sai.ACLCounterAttrLabel),
				CountPackets: o.flag(sai.ACLCounterAttrEnablePacketCount), CountBytes: o.flag(sai.ACLCounterAttrEnableByteCount),
			}, nil
		},
		made: func(o *object) {
			x := at[*aclCounter](c.engine, o.id())
			x.packets, x.bytes = o.number(sai.ACLCounterAttrPackets), o.number(sai.ACLCounterAttrBytes)
			o.self = x
			c.relabel(x, "", x.label())
		},
		remove: func(o *object) error {
			x := o.self.(*aclCounter)
			c.relabel(x, x.label(), "")
			return nil
		},
		set: func(o *object, a sai.Attr) error {
			x := o.self.(*aclCounter)
			switch a.ID {
			case sai.ACLCounterAttrPackets:
				x.packets = uint64(a.Value.(sai.Uint))
			case sai.ACLCounterAttrBytes:
				x.bytes = uint64(a.Value.(sai.Uint))
			case sai.ACLCounterAttrLabel:
				c.relabel(x, x.label(), string(a.Value.(sai.Text)))
			}
			return nil
		},
		get: func(o *object, id sai.AttrID) sai.Value {
			x := o.self.(*aclCounter)
			switch id {
			case sai.ACLCounterAttrPackets:
				return sai.Uint(x.packets)
			case sai.ACLCounterAttrBytes:
				return sai.Uint(x.bytes)
			}
			return nil
		},
	}
}
