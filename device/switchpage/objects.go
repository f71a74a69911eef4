package switchpage

import (
	"fmt"
	"strings"

	"tamtam/mgmt/web"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/words"
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
		if o.Unapplied = schema.UnappliedTexts(parts[o.Name]); o.Unapplied != nil && o.Status == words.Active {
			o.Status = words.InPart
		}
		delete(parts, o.Name)
	}
	for _, name := range sortedKeys(parts) {
		list = append(list, web.Object{Name: name, Status: words.Unapplied, Unapplied: schema.UnappliedTexts(parts[name])})
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
		o := web.Object{Name: t.Object(key), Status: statusOf(t, s), Reason: s.Reason, Since: s.Since}
		if err != nil { // the row is malformed
			o.Status, o.Reason = words.Unknown, err.Error()
		} else if o.Status == words.Unknown && !strings.EqualFold(s.Status, t.Unknown) && o.Reason == "" {
			o.Reason = fmt.Sprintf("status %q has no meaning here", s.Status)
		}
		list = append(list, o)
	}
	return list
}

// statusOf returns the meaning of a status. It ignores case, since SONiC writes the words in upper and lower case. A
// word of another program is unknown.
func statusOf(t schema.Table, s schema.Status) web.Status {
	is := func(word string) bool { return word != "" && strings.EqualFold(s.Status, word) }
	switch {
	case is(t.Off) && s.Reason == "":
		return words.Inactive
	case is(t.Good):
		return words.Active
	case is(t.Waiting) || is(t.Off):
		return words.Pending
	// for ACLs, inactive means rejected
	case is(schema.StatusFailed), t.Good == schema.ACLActive && is(schema.ACLInactive):
		return words.Failed
	}
	return words.Unknown
}
