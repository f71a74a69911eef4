package tree

import (
	"strings"

	"tamtam/swss"
)

// A Module says what the nodes of one YANG module are in the databases.
type Module struct {
	Name   string
	Groups []Group
}

// A Group is a YANG list, or with Path "/" all nodes outside of lists. Several
// modules may add rows to one group.
type Group struct {
	Path string // "/tam/collectors/collector"
	Rows []Row
	// Keys holds the list's own keys that are not part of a row's key but follow from the fields of
	// the first existing row of the group. Lists below have them too.
	Keys map[string]Codec
	// View says that a Set cannot write the list, and why, though the model has it as configuration: its
	// rows are those of another list, which has their status too.
	View string
	// Through writes it nevertheless: in that other list.
	Through *Through
	// Refs are leaves that name an entry of any of several lists, which YANG's leafref cannot say.
	Refs map[string][]string
	// Owns are entries of other lists that go with an entry of this one.
	Owns []Owned
	// Unique names leaves whose values no two entries may share.
	Unique []string
	// Is accepts the fields of a row that makes up an entry: one that it does not accept is of another list. nil: any.
	Is func(fields map[string]string) bool
	// Finish completes an entry after a Set changed it, and refuses what
	// YANG cannot say. It is not called for an entry that is in doubt.
	Finish func(Change) error
	// Makes says which entries of a list with one key Finish may create if all rows are valid. If
	// Finish cannot be called, or fails, these are in doubt.
	Makes func(Change) (path string, keys []string)
}

// Owned are the entries of a list that are nothing without an entry of another: their first key, behind Prefix of that
// entry's, names it.
type Owned struct {
	Path   string // of the list
	Prefix string
}

// A Row is one row of a table that an entry of the group has.
type Row struct {
	DB swss.DBName
	// Table is the row's; anyTable means rows of all tables: the table's name is the first part of Key, whose last part
	// is all the rest.
	Table string
	// Key is the row's key: "TAM|{name}", {name} standing for the list key; of two of that name it is the
	// inner one, or the outer one if Each names it. {prefix/host} is a network that the row's key has without length
	// where it is a host.
	// {field=default} is a field of the entry's own row.
	//
	// {*} stands for anything: what a codec gets is then not a row but all rows that fit, as one. Its
	// fields are what {*} stands for in each of them, with the values of the fields Of (names with blanks
	// between), a bar between them; Of "": with any. Such rows cannot be written.
	//
	// Of a row without {*} Of is a table of APPL_DB and a field, a blank between, that the row repeats of the entry's
	// row there: where the two differ the row is of something that was there before, or missing. Its codecs then get no
	// fields, and [Record.Outdated]; or are not asked, if the row of APPL_DB does not have the field.
	Key string
	Of  string
	// Fold, if not nil, makes of a row with {*} or Each the fields that there are.
	Fold func(map[string]string) map[string]string
	// Map names a hash of the same database: the row's key is then the value
	// of the hash's field Key, as in SONiC's counter maps.
	Map string
	// Only limits the row to entries whose first key has this prefix, Fits to those whose keys it
	// accepts.
	Only string
	Fits func(keys []string) bool
	// Each names a list key that is not in the row's key, or several with blanks between: each field of
	// the row is an entry of its own, with its name as key (keys, with blanks between) and JSON of the
	// entry's fields as value. Such lists are read-only.
	Each string
	// At is the first key of the one entry that has the row, which has no keys of its own in its key.
	At string
	// JSON names a field that is JSON of more fields of the row.
	JSON string
	// Source names what makes the rows of the entries, which are in no database (package fetch): a table of
	// Config.Host, or what the server itself knows.
	Source string
	// Entry rows make up the entry: it exists as long as one of them does.
	Entry bool
	// Fixed entries are neither created nor deleted by clients; the text says
	// why.
	Fixed string
	// Elsewhere is the list that makes Fixed entries, under the same keys: a Set may name one that it
	// makes there.
	Elsewhere string
	// Counter rows change with the traffic: they are sampled, never sent on
	// change.
	Counter bool
	// New holds the fields of a new row of CONFIG_DB.
	New map[string]string
	// Wanted returns what a row of APPL_DB will be once the whole configuration is in force; nil:
	// none. An error means that the configuration is not valid.
	Wanted func(Configured) (map[string]string, error)
	// Behind is the leaf that says where the row differs from Wanted. For a status row in STATE_DB,
	// which follows that row, it also says that the row is not active.
	Behind string
	Leaves []Leaf
}

// AnyTable stands for every table of CONFIG_DB.
const AnyTable = "*"

// A Leaf is a leaf or leaf-list, its path relative to the group's, and how it is stored in the row.
type Leaf struct {
	Path  string
	Codec Codec
}

// A Codec says how the value of a leaf is stored in the fields of a row. Values are in YANG's
// canonical text, one for a leaf, any number for a leaf-list.
type Codec struct {
	Get func(Record) []string        // nil: the row does not say
	Put func(Record, []string) error // nil values: remove; a nil Put: cannot be written
	// Kept says that a Set which replaces or deletes what contains the leaf leaves it as it is, unless it names it.
	Kept bool
	// Through writes a leaf, which is kept then, in the list where it is configured.
	Through *Through
}

// A Record is a row with the keys of its entry, and the entry's own row.
type Record struct {
	Keys   []string
	Fields map[string]string
	Own    map[string]string
	// Outdated says that there is no row of what is there now: see [Row.Key].
	Outdated bool
}

// Field returns a field. The case of its name does not matter, and a list
// field of CONFIG_DB ("ports@") is found without its sign. Of several the first in order counts.
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
