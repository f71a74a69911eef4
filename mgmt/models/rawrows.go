package models

import (
	"maps"

	"tamtam/mgmt/tree"
)

// setList writes a list field of SONiC, whose name in CONFIG_DB ends in @.
func setList(r tree.Record, field, value string) {
	r.Set(field, "")
	if value != "" {
		r.Fields[field+"@"] = value
	}
}

// with returns a copy of a record with another value of a field.
func with(r tree.Record, field, value string) tree.Record {
	r.Fields = maps.Clone(r.Fields)
	r.Set(field, value)
	return r
}
