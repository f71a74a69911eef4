package schema

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// FieldSinceAll is the field of a row of counters that says since when all of them count.
const FieldSinceAll = "COUNTED_SINCE"

// Counters is a row of COUNTERS_DB of a table whose fields are counters. Its table declares each of them once, see
// [Field]: what orchs write, and what gNMI, shell, pages and reports show, follows from that.
type Counters struct {
	Counts map[string]uint64 // by field; absent: not known
	Since  time.Time         // since when all of them count; zero: not known

	declared []field
}

// counter is a counter of 64 bits. It is not known if the field is absent.
func counter(name, words string) field {
	return field{Field: Field{Name: name, Words: words, kind: numberKind, hi: 1<<64 - 1, none: true}}
}

// sinceAll is the field with the time since when all counters of the row count.
func sinceAll(words string) field { return moment(FieldSinceAll, nil, words) }

// counted completes an entry of [Tables] whose rows are counters.
func counted(t Table, key string, counters ...field) Table {
	like := Counters{declared: counters}
	t = of(t, like)
	t.Key = key
	return t
}

// CountersIn lists the fields of a table of counters, in the order in which they are declared. A counter that the chip
// keeps has the place in it that its number has among those that the chip tells.
func CountersIn(table string) []Field {
	all := tables()
	return all[slices.IndexFunc(all, func(t Table) bool { return t.Counters == table })].Fields
}

// ParseCounters reads a row of a table of counters.
func ParseCounters(table, key string, f map[string]string) (Counters, error) {
	all := tables()
	row, err := all[slices.IndexFunc(all, func(t Table) bool { return t.Counters == table })].Parse(key, f)
	return row.(Counters), err
}

// A countAt is a counter of a row.
type countAt struct {
	row   *Counters
	field *field
}

func (a countAt) take(r *reader) {
	if _, ok := r.fields[a.field.Name]; ok {
		a.row.Counts[a.field.Name] = a.field.number(r)
	}
}

func (a countAt) value() string {
	if n, ok := a.row.Counts[a.field.Name]; ok {
		return utoa(n)
	}
	return ""
}

func (c *Counters) layout() layout {
	l := layout{open: true, key: about(""), fields: slices.Clone(c.declared)}
	c.Counts = map[string]uint64{}
	for i := range l.fields {
		if f := &l.fields[i]; f.Name == FieldSinceAll {
			since := moment(f.Name, &c.Since, f.Words)
			f.read, f.write = since.read, since.write
		} else {
			f.at = countAt{c, f}
		}
	}
	return l
}

// Fields formats the row.
func (c Counters) Fields() map[string]string {
	row := make(map[string]string, len(c.Counts)+1)
	for name, n := range c.Counts {
		row[name] = utoa(n)
	}
	if !c.Since.IsZero() {
		row[FieldSinceAll] = c.Since.UTC().Format(time.RFC3339Nano)
	}
	return row
}

// Equal reports whether two rows say the same.
func (c Counters) Equal(o Counters) bool {
	return maps.Equal(c.Counts, o.Counts) && c.Since.Equal(o.Since)
}

// Of returns a counter; nil if it is not known.
func (c Counters) Of(field string) *uint64 {
	if n, known := c.Counts[field]; known {
		return &n
	}
	return nil
}

// Below returns the counters that are known whose leaves stand in a container, by the rest of their paths with
// underscores.
func (c Counters) Below(container string) map[string]uint64 {
	out := map[string]uint64{}
	for _, f := range c.declared {
		rest, is := strings.CutPrefix(f.leafName(), container+"/")
		if n, known := c.Counts[f.Name]; is && known {
			out[strings.ReplaceAll(rest, "-", "_")] = n
		}
	}
	return out
}

// Resume has the counters, read now, count since the row before them does, and reports true, if they can be those of
// that row, some time later: none of them is less, where both are known. What is not counted up, as the flows that
// there are now, does not matter. Otherwise they count since now.
func (c *Counters) Resume(table, key string, row map[string]string, now time.Time) bool {
	before, err := ParseCounters(table, key, row)
	less := slices.ContainsFunc(before.declared, func(f field) bool {
		was, known := before.Counts[f.Name]
		is, still := c.Counts[f.Name]
		return known && still && !f.gauge && is < was
	})
	if c.Since = now; row == nil || err != nil || before.Since.IsZero() || less {
		return false
	}
	c.Since = before.Since
	_, sent := before.Counts[CountMessages]
	if _, known := before.Counts[CountLost]; sent && !known { // there was a gap, maybe unseen here
		c.Gap()
	}
	return true
}

// Gap notes that nobody counted for a while what became of messages.
func (c *Counters) Gap() {
	delete(c.Counts, CountUnsendable)
	delete(c.Counts, CountLost)
}
