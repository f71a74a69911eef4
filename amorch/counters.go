package amorch

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"tamtam/orch/feature"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/altmark"
)

// counters contains the rows of TAM_ALTMARK_COUNTERS and TAM_ALTMARK_HISTORY. Histories are written first, so that a
// reader that sees a new period also finds it in the history.
type counters struct {
	last, past feature.Rows
	periods    map[string][]string // history of each session as fields, the oldest first
}

func newCounters() counters {
	return counters{
		last: feature.Rows{Table: schema.CountersAltMark}, past: feature.Rows{Table: schema.CountersAltMarkPast},
		periods: map[string][]string{},
	}
}

// track starts the rows of a session.
func (b *counters) track(name string, c schema.AltMarkCounters) {
	f := c.Fields()
	if f["TIMESTAMP"] == "" {
		f["TIMESTAMP"], f["DIGEST"] = "", "" // remove the values of the previous period
	}
	if _, ok := f["CLOCK"]; !ok {
		if _, had := b.last.Get(name)["CLOCK"]; had {
			f["CLOCK"], f["KERNEL_CLOCK"], f["KERNEL_CLOCK_OFFSET"], f["KERNEL_CLOCK_ERROR"] = "", "", "", ""
		}
	}
	b.last.Put(name, f)
}

// resume continues the rows of a session that a previous run wrote.
func (b *counters) resume(name string, c schema.AltMarkCounters) {
	row := maps.Clone(b.last.Get(name))
	if _, err := schema.ParseAltMarkCounters(name, row); row == nil || err != nil {
		b.past.Drop(name)
		b.track(name, c)
		return
	}
	maps.Copy(row, c.Fields())
	b.last.Put(name, row)
	past := maps.Clone(b.past.Get(name))
	maps.DeleteFunc(past, func(field, _ string) bool { return !isPeriod(field) })
	periods := slices.SortedFunc(maps.Keys(past), byNumber)
	for len(periods) > schema.AltMarkHistory {
		delete(past, periods[0])
		periods = periods[1:]
	}
	b.periods[name] = periods
	b.past.Put(name, past)
}

func isPeriod(field string) bool {
	n, err := strconv.ParseUint(field, 10, 64)
	return err == nil && strconv.FormatUint(n, 10) == field
}

// byNumber orders decimal numbers without leading zeros.
func byNumber(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

// untrack deletes the rows of a session.
func (b *counters) untrack(name string) {
	b.last.Drop(name)
	b.past.Drop(name)
	delete(b.periods, name)
}

// amend adds a flag to the reported periods of a session for which the chip now reports late packets.
func (b *counters) amend(name string, late altmark.LatePeriods) {
	if late == (altmark.LatePeriods{}) {
		return
	}
	past, changed := maps.Clone(b.past.Get(name)), false
	for _, field := range b.periods[name] {
		if k, err := strconv.ParseUint(field, 10, 64); err != nil || !late.Has(k) {
			continue
		}
		p, err := schema.ParseAltMarkPeriod(name, field, past[field])
		if err != nil || p.Flags&altmark.LateFrames != 0 {
			continue
		}
		p.Flags |= altmark.LateFrames
		_, past[field] = schema.FormatAltMarkPeriod(p)
		changed = true
	}
	if !changed {
		return
	}
	b.past.Put(name, past)
	last := maps.Clone(b.last.Get(name))
	if c, err := schema.ParseAltMarkCounters(name, last); err == nil && c.Has && late.Has(c.Period.Number) {
		last["FLAGS"] = (c.Period.Flags | altmark.LateFrames).String()
		b.last.Put(name, last)
	}
}

// add appends a period to the rows of a session.
func (b *counters) add(name string, c schema.AltMarkCounters) {
	b.track(name, c)
	field, value := schema.FormatAltMarkPeriod(c.Period)
	row := maps.Clone(b.past.Get(name))
	if row == nil {
		row = swss.FieldValues{}
	}
	if _, again := row[field]; !again {
		b.periods[name] = append(b.periods[name], field)
	}
	row[field] = value
	for len(b.periods[name]) > schema.AltMarkHistory {
		delete(row, b.periods[name][0])
		b.periods[name] = b.periods[name][1:]
	}
	b.past.Put(name, row)
}
