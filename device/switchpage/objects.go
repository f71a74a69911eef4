package switchpage

import (
	"strings"

	"tamtam/mgmt/web"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Objects returns the configured objects of a switch with their results from STATE_DB. Objects with a status are first,
// followed by rows and tables with unapplied parts.
func Objects(r *swss.Reading) (list []web.Object) {
	parts := r.Dump(swss.StateDB, schema.StateUnapplied)
	for _, t := range schema.StatusTables() {
		list = append(list, objectsOf(t, r.Dump(swss.StateDB, t.State))...)
	}
	for i := range list {
		o := &list[i]
		if o.Unapplied = schema.UnappliedTexts(parts[o.Name]); o.Unapplied != nil && o.Standing == web.InForce {
			o.Standing = web.InPart
		}
		delete(parts, o.Name)
	}
	for _, name := range sortedKeys(parts) {
		list = append(list, web.Object{Name: name, Standing: web.NotApplied, Unapplied: schema.UnappliedTexts(parts[name])})
	}
	return list
}

// objectsOf returns the objects of one table.
func objectsOf(t schema.Table, rows map[string]swss.FieldValues) (list []web.Object) {
	for _, key := range sortedKeys(rows) {
		s, err := schema.ParseStatus(t.State, key, rows[key])
		if err != nil || s.Status == "" {
			s.Status = rows[key][t.Status]
		}
		if s.Status == "" {
			continue // other programs write their own rows into these tables
		}
		o := web.Object{Name: t.Object(key), Status: s.Status, Reason: s.Reason, Since: s.Since}
		o.Standing = standing(t, s)
		if err != nil { // the row is malformed
			o.Standing, o.Reason = web.NotKnown, err.Error()
		}
		list = append(list, o)
	}
	return list
}

// standing returns the meaning of a status. It ignores case, since SONiC writes the words in upper and lower case.
func standing(t schema.Table, s schema.Status) web.Standing {
	is := func(word string) bool { return word != "" && strings.EqualFold(s.Status, word) }
	switch {
	case is(t.Off) && s.Reason == "":
		return web.Off
	case is(t.Good):
		return web.InForce
	case is(t.Waiting) || is(t.Off):
		return web.Waiting
	case is(t.Unknown):
		return web.Suspect
	// for ACLs, inactive means rejected
	case is(schema.StatusFailed), t.Good == schema.ACLActive && is(schema.ACLInactive):
		return web.Failed
	}
	return web.NotKnown // an unknown word of another program
}
