package mgmt

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

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
	// Source names what makes the rows of the entries, which are in no database (see [reader.from]): a table of
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

// anyTable stands for every table of CONFIG_DB.
const anyTable = "*"

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

// A Change is one entry during a Set, as a Group.Finish sees it.
type Change interface {
	// Keys are the keys of the entry.
	Keys() []string
	// Created reports whether the Set creates the entry.
	Created() bool
	// Fields returns the entry's row of a table of CONFIG_DB as it will be; changes to it are written.
	// nil: there will be none.
	Fields(table string) map[string]string
	// Changed reports whether the Set changes a leaf, its path relative to the entry.
	Changed(path string) bool
	// Read returns a row of any database; nil: there is none.
	Read(db swss.DBName, table, key string) (map[string]string, error)
	// Entries returns the rows of a table of CONFIG_DB that the entries of a list with one key have, as
	// they will be, by that key. Some may be [Change.InDoubt].
	Entries(path, table string) (map[string]map[string]string, error)
	// Sees reports whether whoever asks for the Set may see something of an entry of a list with one key, so that an error
	// may name it.
	Sees(path, key string) bool
	// Entry returns the row of a table of CONFIG_DB that one entry of a list with one key has, as it
	// will be; nil: there will be none, or it is in doubt.
	Entry(path, key, table string) (map[string]string, error)
	// InDoubt reports whether a failed part of the Set was to change an entry of a list with one key:
	// then nothing that follows from the entry is an error.
	InDoubt(path, key string) bool
	// PutEntry gives an entry of a list with one key a row of CONFIG_DB. It is an error if the entry
	// exists, unless it may.
	PutEntry(path, key, table string, fields map[string]string, mayExist bool) error
	// RemoveEntry removes an entry of a list with one key.
	RemoveEntry(path, key string) error
}

// A Through writes one list of OpenConfig's, or one leaf, in the list where it is configured.
type Through struct {
	// Put gives a leaf a value; leaf "": the entry is to exist.
	Put func(ctx context.Context, s Setting, keys []string, leaf string, v []string) error
	// Remove removes the entries that a pattern of keys means; not whole: what they have at or below a node, which a
	// value may follow.
	Remove func(ctx context.Context, s Setting, pattern []string, n *node, whole bool) error
}

// A Setting is a Set, as a Through sees it. Lists are named by their paths.
type Setting interface {
	// Match returns the keys of the entries of a list that fit a pattern, as they are so far.
	Match(ctx context.Context, list string, pattern ...string) ([][]string, error)
	// Make makes an entry exist.
	Make(ctx context.Context, list string, keys ...string) error
	// Erase removes an entry, and what is below it.
	Erase(ctx context.Context, list string, keys ...string) error
	// Write writes into an entry's row of a table of CONFIG_DB what no leaf of the list has.
	Write(ctx context.Context, list string, keys []string, table string, c Codec, v []string) error
	// Needs notes that an entry of a list is to have a leaf when the Set is done: that there finds something then.
	Needs(list, leaf string, keys []string, there Finder)
	// Forgo takes back what Needs has noted of an entry.
	Forgo(list string, keys []string)
}

// A Finder finds the keys of those of our entries that an entry of OpenConfig's is.
type Finder func(ctx context.Context, s Setting, keys []string) ([][]string, error)

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

// A template is a compiled Row.Key.
type template struct {
	parts  []part
	re     *regexp.Regexp // finds the keys in a row's key; group i+1 is placeholder i
	keys   []int          // placeholder -> index of the list key, -1: a field, or anything
	gather int            // which placeholder is {*}; -1: none

	simple  bool   // a text, or none, and a key behind it, which need no expression
	before  string // the text then
	without string // what the key has none of then; empty: it may be anything
}

type part struct {
	text  string // literal, or name of the field
	key   int    // index of the list key, or one of the following
	value string // default of a field
	host  bool   // a network, in the row's key without length if it is a host
}

const (
	partText  = -1
	partField = -2
	partAny   = -3
)

// compileTemplate parses a Row.Key for a group with the given keys. Whole: its last part is all the rest of the
// row's key.
func compileTemplate(text, separator string, keys []string, whole bool) (template, error) {
	t := template{gather: -1}
	expr := "^"
	for text != "" {
		lit, rest, found := strings.Cut(text, "{")
		if lit != "" {
			t.parts = append(t.parts, part{text: lit, key: partText})
			expr += regexp.QuoteMeta(lit)
		}
		if !found {
			break
		}
		name, after, ok := strings.Cut(rest, "}")
		if !ok {
			return t, fmt.Errorf("key %q: } is missing", text)
		}
		text = after
		p := part{key: partField}
		name, p.host = strings.CutSuffix(name, "/host")
		p.text, p.value, _ = strings.Cut(name, "=")
		for i, k := range keys {
			if k == name {
				p.key = i
			}
		}
		switch {
		case name == "*" && t.gather >= 0:
			return t, fmt.Errorf("{*} is there twice")
		case name == "*":
			p.key, t.gather = partAny, len(t.keys)
		case p.key == partField && p.value == "":
			return t, fmt.Errorf("{%s} is neither a key of the list nor a field with a default", name)
		}
		t.parts = append(t.parts, p)
		t.keys = append(t.keys, p.key)
		if whole && text == "" {
			expr += "(.+)"
		} else {
			expr += placeholder(text, separator)
		}
	}
	if !whole {
		t.simplify(separator)
	}
	re, err := regexp.Compile("(?s)" + expr + "$")
	t.re = re
	return t, err
}

// simplify notes that no expression is needed, where that is so.
func (t *template) simplify(separator string) {
	n := len(t.parts)
	if t.simple = n > 0 && n <= 2 && t.parts[n-1].key >= 0; !t.simple {
		return
	}
	if n == 2 {
		t.before, t.simple = t.parts[0].text, t.parts[0].key == partText
	}
	if separator == "|" { // see placeholder
		t.without = separator
	}
}

// inRow is a key as the row's key has it.
func (p part) inRow(key string) string {
	if !p.host {
		return key
	}
	if prefix, err := netip.ParsePrefix(key); err == nil && prefix.IsSingleIP() {
		return prefix.Addr().String()
	}
	return key
}

// withLength is an address as the network that it is alone in.
func withLength(text string) string {
	if a, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(a, a.BitLen()).String()
	}
	return text
}

// placeholder is the expression of a placeholder with some text behind it.
func placeholder(behind, separator string) string {
	switch {
	case behind == "" && separator == "|":
		return "([^|]+)" // a row with more parts belongs to another list
	case behind == "":
		return "(.+)" // the colons of an IPv6 address
	case strings.HasPrefix(behind, separator) || behind[0] == '{':
		return "([^" + regexp.QuoteMeta(separator) + "]+?)"
	}
	return "([^" + regexp.QuoteMeta(behind[:1]) + "]+)" // an address in front of its length
}

// expand returns the row's key for an entry; own is the entry's own row.
func (t template) expand(keys []string, own map[string]string) string {
	var b strings.Builder
	for _, p := range t.parts {
		switch {
		case p.key >= 0:
			b.WriteString(p.inRow(keys[p.key]))
		case p.key == partText:
			b.WriteString(p.text)
		case p.key == partAny:
			b.WriteString(wildcard)
		case own[p.text] != "":
			b.WriteString(own[p.text])
		default:
			b.WriteString(p.value)
		}
	}
	return b.String()
}

// complete reports whether the pattern fixes all keys of the template.
func (t template) complete(pattern []string) bool {
	for _, k := range t.keys {
		if k < 0 || pattern[k] == wildcard {
			return false
		}
	}
	return true
}

// match finds the list keys in a row's key; those that are not in it are wildcards. What gNMI
// cannot name, because it is not UTF-8, does not match.
func (t template) match(rowKey string, n int) ([]string, bool) {
	keys, _, ok := t.parse(rowKey, n)
	return keys, ok
}

// find returns a row's key and what its placeholders stand for in it; nil: it does not fit.
func (t template) find(rowKey string) []string {
	if !t.simple {
		return t.re.FindStringSubmatch(rowKey)
	}
	rest, ok := strings.CutPrefix(rowKey, t.before)
	if !ok || rest == "" || t.without != "" && strings.Contains(rest, t.without) {
		return nil
	}
	return []string{rowKey, rest}
}

// parse is match with what {*} stands for.
func (t template) parse(rowKey string, n int) (keys []string, part string, ok bool) {
	m := t.find(rowKey)
	if m == nil || !utf8.ValidString(rowKey) || slices.Contains(m[1:], wildcard) {
		return nil, "", false
	}
	keys = make([]string, n)
	for i := range keys {
		keys[i] = wildcard
	}
	for i, k := range t.keys {
		if k >= 0 {
			keys[k] = m[i+1]
		}
	}
	for _, p := range t.parts {
		if p.host {
			keys[p.key] = withLength(keys[p.key])
		}
	}
	if t.gather >= 0 {
		part = m[t.gather+1]
	}
	return keys, part, true
}

// A refusal is an error about the state of the switch, not about the request.
type refusal struct{ error }

// Refused makes an error one about the state of the switch: the same request
// may succeed later.
func Refused(err error) error { return refusal{err} }

func (r refusal) Unwrap() error { return r.error }

func isRefusal(err error) bool {
	var r refusal
	return errors.As(err, &r)
}
