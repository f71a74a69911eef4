package objects

import (
	"slices"
	"strconv"
	"strings"

	"tamtam/sai"
	"tamtam/saisim/config"
)

func (as *acls) entryKind() *kind {
	k := &kind{
		attrs: []sai.AttrID{
			sai.ACLEntryAttrTableID, sai.ACLEntryAttrPriority, sai.ACLEntryAttrAdminState,
		},
		enums:  map[sai.AttrID][]sai.Enum{sai.ACLEntryAttrFieldTAMIntType: {sai.TAMIntTypeIfa1Tailstamp}},
		create: as.createEntry,
		set: func(o *object, a sai.Attr) error {
			return as.putEntry(o.with(a), o.self.(*aclEntry))
		},
		gone: func(o *object) {
			e := o.self.(*aclEntry)
			t := e.table
			as.unfollowFlow(e, o.key.OID)
			t.entries--
			as.entriesUsed[t.stage]--
			as.drop(config.ACLEntry{ID: o.id()})
		},
	}
	for id := range as.fields {
		k.attrs = append(k.attrs, id)
	}
	for id := range as.actions {
		k.attrs = append(k.attrs, id)
	}
	slices.Sort(k.attrs)
	return k
}

func (as *acls) createEntry(o *object) error {
	t, _ := self[*aclTable](as.core, o.ref(sai.ACLEntryAttrTableID))
	if as.entriesLeft(t) == 0 {
		return badCreate(sai.ACLEntryAttrTableID, sai.StatusTableFull, "the table has %d of %d entries, its stage %d of %d",
			t.entries, t.size, as.entriesUsed[t.stage], as.prof.ACL.Entries)
	}
	e := &aclEntry{table: t}
	if err := as.putEntry(o, e); err != nil {
		return err
	}
	o.self = e
	t.entries++
	as.entriesUsed[t.stage]++
	return nil
}

// entriesAvailable returns how many more entries fit into a table. Without a table, it returns the entry limit of the
// chip.
func (as *acls) entriesAvailable(attrs []sai.Attr) (uint64, error) {
	v, ok := sai.Find(attrs, sai.ACLEntryAttrTableID)
	if !ok {
		return uint64(as.prof.ACL.Entries), nil
	}
	oid, _ := v.(sai.OID)
	table, ok := self[*aclTable](as.core, oid)
	if !ok {
		return 0, refuse("query", sai.ObjectTypeACLEntry, sai.ACLEntryAttrTableID, sai.StatusInvalidParameter,
			"no such table")
	}
	return uint64(as.entriesLeft(table)), nil
}

// putEntry puts the row that follows from an entry's attributes.
func (as *acls) putEntry(o *object, e *aclEntry) error {
	r, err := as.entryRow(o, e.table)
	if err != nil {
		return err
	}
	as.followFlow(e, o.key.OID, &r)
	as.put(r)
	return nil
}

// entryRow returns the row that follows from an entry's attributes.
func (as *acls) entryRow(o *object, t *aclTable) (config.ACLEntry, error) {
	r := config.ACLEntry{
		ID: o.id(), Table: t.o.id(), Priority: uint32(o.number(sai.ACLEntryAttrPriority)),
		Enabled: o.flag(sai.ACLEntryAttrAdminState),
	}
	if err := as.checkPriority(o, r.Priority); err != nil {
		return r, err
	}
	fields := 0
	for _, a := range o.attrs {
		if _, ok := a.Value.(sai.Field); ok {
			fields++
		}
	}
	r.Matches, r.Actions = make([]config.ACLMatch, 0, fields), make([]config.ACLAction, 0, len(o.attrs)-fields)
	var buf [2][8]string // for speed: control planes make entries by the hundred thousand
	matches, does := buf[0][:0], buf[1][:0]
	for _, a := range o.attrs {
		switch v := a.Value.(type) {
		case sai.Field:
			if !v.Enabled {
				continue
			}
			m, err := as.match(t, a, v)
			if err != nil {
				return r, err
			}
			r.Matches = append(r.Matches, m)
			matches = append(matches, as.text(a, v.Data))
		case sai.Action:
			if !v.Enabled {
				continue
			}
			if err := as.addAction(&r, t, a, v.Param); err != nil {
				return r, err
			}
			does = append(does, as.text(a, v.Param))
		}
	}
	if err := as.telemetryActions(o, &r); err != nil {
		return r, err
	}
	if says := as.matchFlow(&r); says != "" {
		matches = append(matches, says)
	}
	slices.Sort(matches)
	slices.Sort(does)
	r.Content = strings.Join(matches, ";") + "\x00" + strings.Join(does, ";")
	return r, nil
}

// Rematch puts the rows of the entries of an index again. They have been put before, so they are valid.
func (as *acls) Rematch(index uint32) {
	for _, oid := range as.marked.entries[index] {
		o := as.objects[oid]
		if r, err := as.entryRow(o, o.self.(*aclEntry).table); err == nil {
			as.put(r)
		}
	}
}

// checkPriority rejects an explicit priority that is out of range.
func (as *acls) checkPriority(o *object, priority uint32) error {
	a := &as.prof.ACL
	_, given := sai.Find(o.attrs, sai.ACLEntryAttrPriority)
	if given && (priority < a.MinPriority || priority > a.MaxPriority) {
		return badCreate(sai.ACLEntryAttrPriority, sai.StatusInvalidParameter,
			"priority %d, want %d to %d", priority, a.MinPriority, a.MaxPriority)
	}
	return nil
}

// text returns the meaning of an attribute without object ids. It is equal for equal meaning.
func (as *acls) text(a sai.Attr, v sai.Value) string {
	var what string
	switch v := v.(type) {
	case sai.OID:
		what = as.describe(v)
	case sai.OIDs:
		var names []string
		for _, o := range v {
			names = append(names, as.describe(o))
		}
		slices.Sort(names)
		what = strings.Join(names, ",")
	default:
		what, _ = sai.FormatValue(a.ID, a.Value)
	}
	return strconv.FormatUint(uint64(uint32(a.ID)), 16) + "=" + what
}
