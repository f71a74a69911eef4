package schema

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// FieldSinceAll is the field with the time since which all counters of a row count.
const FieldSinceAll = "COUNTED_SINCE"

// Counters is a row of a table of counters in COUNTERS_DB. The table declares each counter once, see [Field]. All
// writers and readers (orchs, gNMI, shell, pages, reports) use this declaration.
type Counters struct {
	Counts map[string]uint64 // value of each counter, by field; unknown counters are absent
	Since  time.Time         // time since which all counters count; zero if unknown

	declared []field
}

// counter returns the field of a 64-bit counter, which is unknown if the field is absent.
func counter(name, words string) field {
	return field{Field: Field{Name: name, Words: words, kind: numberKind, hi: 1<<64 - 1, none: true}}
}

// sinceAll returns the field with the time since which all counters of the row count.
func sinceAll(words string) field { return moment(FieldSinceAll, nil, words) }

// counted completes an entry of [Tables] whose rows are counters.
func counted(t Table, key string, counters ...field) Table {
	like := Counters{declared: counters}
	t = of(t, like)
	t.Key = key
	return t
}

// CountersIn returns the fields of a table of counters, in the order of their declaration. The index of a chip's
// counter is its index among the numbers that the chip reports.
func CountersIn(table string) []Field {
	all := tables()
	return all[slices.IndexFunc(all, func(t Table) bool { return t.Counters == table })].Fields
}

// ParseCounters parses a row of a table of counters.
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

func (a countAt) parse(r *reader) {
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

// Equal reports whether two rows are equal.
func (c Counters) Equal(o Counters) bool {
	return maps.Equal(c.Counts, o.Counts) && c.Since.Equal(o.Since)
}

// Of returns a counter, or nil if it is unknown.
func (c Counters) Of(field string) *uint64 {
	if n, known := c.Counts[field]; known {
		return &n
	}
	return nil
}

// Below returns the known counters whose leaves are in a container. The key of a counter is the part of its leaf's path
// below the container, with underscores.
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

// Resume compares the counters, which were read now, with those of an earlier row. If no counter known in both has
// decreased, they continue the earlier row, and Resume returns true. Gauges, such as the current number of flows, may
// decrease. Otherwise the counters count since now.
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
	if _, known := before.Counts[CountLost]; sent && !known { // there was a gap that this process may have missed
		c.Gap()
	}
	return true
}

// Gap records that for a while no process counted the fate of messages.
func (c *Counters) Gap() {
	delete(c.Counts, CountUnsendable)
	delete(c.Counts, CountLost)
}
