package tree

import (
	"strings"

	"tamtam/swss"
)

// A Module maps the nodes of one YANG module to the databases.
type Module struct {
	Name   string
	Groups []Group
}

// A Group is a YANG list, or with Path "/" all nodes outside of lists. Several modules may add rows to one group.
type Group struct {
	Path string // "/tam/collectors/collector"
	Rows []Row
	// Keys holds the list's own keys that are not part of a row's key. They follow from the fields of the first
	// existing row of the group. Lists below have them too.
	Keys map[string]Codec
	// View means that a Set cannot write the list although the model has it as configuration. It is the reason, shown
	// in errors: the rows are those of another list, which also has their status.
	View string
	// Through writes the view nevertheless, in that other list.
	Through *Through
	// Second means that OpenConfig has the entries elsewhere, in leaves of other entries. A replace around the list does
	// not remove them, unless its value names the list.
	Second bool
	// Refs holds leaves that name an entry of any of several lists, which YANG's leafref cannot express.
	Refs map[string][]string
	// Owns lists entries of other lists that are deleted with an entry of this one.
	Owns []Owned
	// Unique names leaves whose values no two entries may share.
	Unique []string
	// Only returns the name and the value of something of which each enclosing entry can have only one entry of this
	// list. For example, an interface has an IP address with one prefix length.
	Only func(keys []string) (name, value string)
	// Is accepts the fields of a row that makes up an entry. Rows that it rejects belong to another list. nil accepts
	// all.
	Is func(fields map[string]string) bool
	// Finish completes an entry after a Set changed it, and refuses what YANG cannot express. It is not called for an
	// entry that is uncertain because of a failed step.
	Finish func(Change) error
	// Makes returns the entries of a list with one key that Finish may create if all rows are valid. If Finish cannot
	// be called, or fails, these are uncertain.
	Makes func(Change) (path string, keys []string)
}

// An Owned describes the entries of a list that depend on an entry of another. Their first key is Prefix and the key of
// that entry.
type Owned struct {
	Path   string // path of the list
	Prefix string
}

// A Row is one row of a table that an entry of the group has.
type Row struct {
	DB swss.DBName
	// Table is the row's table. AnyTable means rows of all tables: the first part of Key is the table's name, and its
	// last part is all the rest.
	Table string
	// Key is the row's key. For example, in "{name}|{rule-name}", {name} and {rule-name} stand for keys of the list. If
	// two keys have one name, it means the inner key, or the outer one if Each names it. {prefix/host} is a network,
	// whose length is omitted in the row's key if it is a host. {field=default} is a field of the entry's own row.
	//
	// {*} matches any text. Codecs then receive all matching rows as one row, which cannot be written. Its fields are
	// named by the parts that {*} matched. A field's value consists of the values of the fields in Of, separated by
	// bars. Of separates these names by blanks. If Of is empty, the value is arbitrary. If it is AllFields, the value is
	// JSON of all fields.
	//
	// In a row without {*}, Of is a table of APPL_DB and a field, separated by a blank. The row must have the same
	// value in that field as the entry's row of APPL_DB. If the two differ, the row is missing or belongs to an earlier
	// object. Codecs then receive no fields, and [Record.Outdated] is set. They are not called if the row of APPL_DB
	// does not have the field.
	Key string
	Of  string
	// Fold, if not nil, converts a row with {*} or Each to the fields that exist.
	Fold func(map[string]string) map[string]string
	// Map, if not empty, names a hash of the same database. The row's key is then the value of the hash's field Key, as
	// in SONiC's counter maps.
	Map string
	// Only limits the row to entries whose first key has this prefix. Fits limits it to entries whose keys it accepts.
	// Empty and nil mean no limit.
	Only string
	Fits func(keys []string) bool
	// Each names a list key that is not in the row's key, or several separated by blanks. Each field of the row is then
	// an entry of its own. The field's name is the key (or keys, separated by blanks), and its value is JSON of the
	// entry's fields. Such lists are read-only.
	Each string
	// At is the first key of all entries that have such a row; the row's key then has no placeholder for it.
	At string
	// JSON names a field that contains more fields of the row as JSON.
	JSON string
	// Source names the function that makes the rows of the entries, which are in no database (package fetch). It is a
	// table of Config.Host, or the name of data of the server itself.
	Source string
	// Entry rows make up the entry: it exists as long as one of them does.
	Entry bool
	// Fixed entries are neither created nor deleted by clients; the text is the reason. A delete resets them.
	Fixed string
	// Former rows have an earlier form of the key of the row before them, and are read like it. A Set creates none. It
	// moves one that it changes to that row, which precedes if both exist.
	Former bool
	// Elsewhere is the list that has the row, under the same keys. A Set creates and deletes the entry there.
	Elsewhere string
	// Counter rows change with the traffic: they are sampled, never sent on change.
	Counter bool
	// New holds the fields of a new row of CONFIG_DB.
	New map[string]string
	// Wanted returns the target state of a row of APPL_DB once the whole configuration is in force, or nil if there is
	// none. An error means that the configuration is not valid.
	Wanted func(Configured) (map[string]string, error)
	// Behind is the leaf that lists where the row differs from Wanted. For a status row in STATE_DB, which follows that
	// row, it also reports that the row is not active.
	Behind string
	Leaves []Leaf
}

// AllFields stands for all fields of the rows that {*} matches.
const AllFields = "*"

// ClearedField is the field that a row of counters has after they were cleared: the time of that, as in RFC 3339.
const ClearedField = "cleared-at"

// CollectedField is the field that a row of a Source has if its values are of one earlier time: that time, in
// nanoseconds since 1970.
const CollectedField = "collected-at"

// AnyTable stands for every table of CONFIG_DB.
const AnyTable = "*"

// A Leaf is a leaf or leaf-list, its path relative to the group's, and how it is stored in the row.
type Leaf struct {
	Path  string
	Codec Codec
}

// A Codec converts between the value of a leaf and the fields of a row. Values are in YANG's canonical text, one for a
// leaf, any number for a leaf-list.
type Codec struct {
	Get func(Record) []string        // returns nil if the row has no value
	Put func(Record, []string) error // nil values remove it; a nil Put means that it cannot be written
	// Kept means that a Set which replaces or deletes a container of the leaf keeps its value, unless it names the
	// leaf.
	Kept bool
	// Group is the group of counters that the leaf is polled with, if that is not the group of its row.
	Group string
	// Shared means that the leaf's fields hold values of other leaves, too.
	Shared bool
	// Default is what a Set writes where it removes the leaf. It is nil if a row without fields has the leaf's default.
	Default []string
	// Through writes a leaf in the list that holds the configuration.
	Through *Through
}

// A Record is a row with the keys of its entry, and the entry's own row.
type Record struct {
	Keys   []string
	Fields map[string]string
	Own    map[string]string
	// Outdated means that there is no row of the present object: see [Row.Key].
	Outdated bool
	entry    *Entry
}

// Beside returns another row of the same entry: that of a table which is combined of all rows that {*} matches, without
// Each. It is nil if there is none. A leaf with a codec that calls it must be bound to that row, too.
func (r Record) Beside(table string) map[string]string {
	if r.entry == nil {
		return nil
	}
	for i, of := range r.entry.List.Rows {
		if of.Table == table && of.Template.Gather >= 0 && of.Each == "" {
			return r.entry.Rows[i]
		}
	}
	return nil
}

// Field returns a field. The case of its name does not matter, and a list field of CONFIG_DB ("ports@") is found
// without its sign. If several match, the first in order is returned.
func (r Record) Field(name string) string {
	if v, ok := r.Fields[name]; ok {
		return v
	}
	found := ""
	for f := range r.Fields {
		if sameField(f, name) && (found == "" || f < found) {
			found = f
		}
	}
	if found == "" {
		return ""
	}
	return r.Fields[found]
}

func sameField(f, name string) bool {
	return (len(f) == len(name) || len(f) == len(name)+1 && f[len(name)] == '@') && strings.EqualFold(f[:len(name)], name)
}

// Set writes a field; an empty value removes it.
func (r Record) Set(name, value string) {
	for f := range r.Fields {
		if f != name && sameField(f, name) {
			delete(r.Fields, f)
		}
	}
	if value == "" {
		delete(r.Fields, name)
		return
	}
	r.Fields[name] = value
}
