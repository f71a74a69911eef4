package tree

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/goyang/pkg/yang"
)

// An Entry is one entry of a list, with those of its rows that were read.
type Entry struct {
	List     *List
	Keys     []string
	Rows     []map[string]string // by row; nil if it is absent, or was not requested
	Versions []uint64            // by row, its version (of the table if the row is absent); 0 if unknown
	ReadAt   time.Time           // when the newest of its cached rows was read
	elems    []*gpb.PathElem     // elements of the entry's path; nil until needed
	Coded    []byte              // the encoded path; nil until needed
	Ports    map[string]string   // by alias, if a rule names ports by alias
	Left     bool                // true if the entry is deleted, but may still be in force
	Limits   Limits              // which leaves may be read; nil means all
	shaded   map[*Node]bool      // leaves that are hidden because the view hides their data at another path
	Other    bool                // true if its row is an entry of another list

	Polls   map[string]time.Time // when each group of counters was collected; nil if that is not known
	Cleared time.Time            // when its counters were cleared; zero if they were not

	Recalled *Recall // the values of its leaves at an earlier time
	Same     uint64  // bit set of the rows that have not changed since then
}

// Limits restricts what may be read of entries.
type Limits interface {
	// Reads reports whether a leaf of an entry with these keys may be read.
	Reads(leaf *Node, keys []string) bool
}

// NewEntry returns an entry without rows.
func NewEntry(g *List, keys []string) *Entry {
	return NewEntries(g, [][]string{keys})[0]
}

// NewEntries returns an entry without rows for each of the keys.
func NewEntries(g *List, keys [][]string) []*Entry {
	n := len(g.Rows)
	all, recs, vers := make([]Entry, len(keys)), make([]map[string]string, len(keys)*n), make([]uint64, len(keys)*n)
	es := make([]*Entry, len(keys))
	for i, k := range keys {
		all[i] = Entry{List: g, Keys: k, Rows: recs[i*n : (i+1)*n : (i+1)*n], Versions: vers[i*n : (i+1)*n : (i+1)*n]}
		es[i] = &all[i]
	}
	return es
}

// CollectedAt returns the time at which a counter was collected, or cleared since then. It is zero if the leaf is not a
// polled counter or of a row with a time of its own, or if the time is not known.
func (e *Entry) CollectedAt(n *Node) time.Time {
	for _, b := range n.Binds {
		if at, err := strconv.ParseInt(e.Rows[b.Row][CollectedField], 10, 64); err == nil {
			return time.Unix(0, at)
		}
	}
	if e.Polls == nil || !n.Counter() {
		return time.Time{}
	}
	at := e.Polls[n.PolledBy()]
	if !at.IsZero() && e.Cleared.After(at) {
		return e.Cleared
	}
	return at
}

// Exists reports whether one of the rows that make up the entry exists.
func (e *Entry) Exists() bool {
	return e.List.Parent == nil || e.Left || e.Own() != nil
}

// Its reports whether a row that was read belongs to the entry, rather than to another list. If not, it sets e.Other.
func (r *ListRow) Its(e *Entry, fields map[string]string) bool {
	if is := e.List.is; !r.Entry || is == nil || is(fields) {
		return true
	}
	e.Other = true
	return false
}

// Own returns the entry's own row, or nil.
func (e *Entry) Own() map[string]string {
	for i, r := range e.List.Rows {
		if r.Entry && e.Rows[i] != nil {
			return e.Rows[i]
		}
	}
	return nil
}

// Value returns the value of a leaf, or nil if it has none. Values that the leaf's type does not allow are omitted.
func (e *Entry) Value(n *Node) []string {
	if e.Hides(n) {
		return nil
	}
	if e.Recalled != nil && n.follows&^e.Same == 0 {
		return e.Recalled.value(n)
	}
	return e.workOut(n)
}

// workOut computes the value of a leaf from the rows.
func (e *Entry) workOut(n *Node) []string {
	if n.KeyIndex >= 0 && len(n.Binds) == 0 {
		if n.Config && !n.IsListKey() && len(e.List.Traces) > 0 && e.Own() == nil {
			return nil // there is only state
		}
		return e.Keys[n.KeyIndex : n.KeyIndex+1]
	}
	if n.behind {
		return n.allowed(e.behind(n))
	}
	there := false
	for _, b := range n.Binds {
		rec, ok := e.record(b.Row)
		if !ok {
			continue
		}
		there = true
		said := b.Codec.Get(rec)
		if v := n.allowed(said); len(v) > 0 {
			return v
		}
		there = there && len(said) == 0 // a row's invalid value is not replaced by the default
	}
	if there && n.Config && len(n.Default) > 0 {
		return n.Default
	}
	return nil
}

// record returns what codecs receive for a row. ok is false if they must not be called.
func (e *Entry) record(i int) (Record, bool) {
	rec, r := Record{Keys: e.Keys, Fields: e.Rows[i], Own: e.Own(), entry: e}, e.List.Rows[i]
	if r.repeats == "" {
		return rec, rec.Fields != nil
	}
	if is := e.Rows[r.repeated][r.repeats]; is != rec.Fields[r.repeats] {
		rec.Fields, rec.Outdated = nil, true
		return rec, is != ""
	}
	return rec, rec.Fields != nil
}

// Hides reports whether the caller may not read a leaf of the entry.
func (e *Entry) Hides(n *Node) bool {
	return e.shaded[n] || e.Limits != nil && !e.Limits.Reads(n, e.Keys)
}

// allowed returns those values that the leaf's type allows, in canonical form. In the configuration a number may be
// hexadecimal.
func (n *Node) allowed(v []string) []string {
	if len(v) == 0 {
		return nil
	}
	out := make([]string, 0, len(v))
	for _, text := range v {
		c, err := n.Check(text)
		if err != nil && n.Config && n.unsigned() && len(text) > 2 && strings.EqualFold(text[:2], "0x") {
			if number, bad := strconv.ParseUint(text[2:], 16, 64); bad == nil {
				c, err = n.Check(strconv.FormatUint(number, 10))
			}
		}
		if err == nil {
			out = append(out, c)
		}
	}
	return out
}

// unsigned reports whether the leaf's type is a number without a sign.
func (n *Node) unsigned() bool {
	return n.Type.Kind == yang.Yuint8 || n.Type.Kind == yang.Yuint16 || n.Type.Kind == yang.Yuint32 ||
		n.Type.Kind == yang.Yuint64
}

// Derive fills in the keys that follow from fields. It returns false if they cannot be derived.
func (e *Entry) Derive() bool {
	known, own := slices.Clone(e.Keys), e.Own()
	for _, i := range slices.Sorted(maps.Keys(e.List.Derive)) {
		e.Keys[i] = Wildcard
		for j := range e.List.Rows {
			if e.Rows[j] == nil {
				continue
			}
			if v := e.List.Derive[i].Get(Record{Keys: known, Fields: e.Rows[j], Own: own, entry: e}); len(v) > 0 {
				e.Keys[i] = v[0]
				break
			}
		}
		if known[i] = e.Keys[i]; e.Keys[i] == Wildcard {
			return false
		}
	}
	return true
}

// Absent is the version of a row that does not exist.
const Absent = 1

// One returns text as the value of a leaf, or nil if text is empty.
func One(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

// First returns the text of a leaf's value, or "" if it is removed.
func First(v []string) string {
	if len(v) == 0 {
		return ""
	}
	return v[0]
}

// Known records the version of a row of the entry, and when the row was read.
func (e *Entry) Known(r *ListRow, version uint64, at time.Time) {
	if at.After(e.ReadAt) {
		e.ReadAt = at
	}
	e.Versions[r.Index] = version
}

// Decoded returns what codecs receive for a cached row. Callers must not change it.
func (r *ListRow) Decoded(fields map[string]string, keys []string) map[string]string {
	if len(r.EachKeys) > 0 {
		return JSONFields(r.Folded(fields)[r.EachField(keys)])
	}
	if inner := fields[r.JSON]; r.JSON != "" && inner != "" {
		fields = maps.Clone(fields)
		maps.Copy(fields, JSONFields(inner))
	}
	if len(fields) == 0 {
		return nil
	}
	return fields
}
