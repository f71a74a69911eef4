package fault

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// Table is the table of STATE_DB in which daemons report their faults. It has a row for each daemon, with one field for
// each fault. The field's name is the fault's id.
const Table = "TAMTAM_FAULT"

// Fields of a report, in addition to those of the fault.
const (
	fieldFrom  = "from"
	fieldUntil = "until"
	fieldHits  = "hits"
	fieldOver  = "over"
)

func (n Injected) row() swss.FieldValues {
	row := n.Fault.Row()
	row[fieldFrom] = n.From.UTC().Format(time.RFC3339Nano)
	row[fieldUntil] = n.Until.UTC().Format(time.RFC3339Nano)
	row[fieldHits] = strconv.Itoa(n.Hits)
	row[fieldOver] = n.Over
	return row
}

// parseInjected parses the report of a fault.
func parseInjected(daemon, id, text string) (n Injected, err error) {
	const longest = 4096
	where := fmt.Sprintf("%s|%s %.40q", Table, daemon, id)
	if len(text) > longest {
		return n, fmt.Errorf("%s: %d bytes, want at most %d", where, len(text), longest)
	}
	pairs, err := swss.DecodeFields(text)
	if err != nil {
		return n, fmt.Errorf("%s: %w", where, err)
	}
	n.At, n.ID = daemon, id
	row := swss.FieldValues{}
	for _, p := range pairs {
		ok := true
		switch p.Field {
		case fieldFrom:
			n.From, err = time.Parse(time.RFC3339Nano, p.Value)
		case fieldUntil:
			n.Until, err = time.Parse(time.RFC3339Nano, p.Value)
		case fieldHits:
			n.Hits, err = strconv.Atoi(p.Value)
			ok = n.Hits >= 0
		case fieldOver:
			n.Over = p.Value
		default:
			row[p.Field] = p.Value
		}
		if err != nil || !ok {
			return Injected{}, fmt.Errorf("%s: %s %.40q, want %s", where, p.Field, p.Value, wanted[p.Field])
		}
	}
	if n.From.IsZero() || n.Until.IsZero() {
		return Injected{}, fmt.Errorf("%s: want %s and %s", where, fieldFrom, fieldUntil)
	}
	if n.Fault, err = Parse(row); err != nil {
		return Injected{}, fmt.Errorf("%s: %w", where, err)
	}
	return n, nil
}

var wanted = map[string]string{fieldFrom: "a time", fieldUntil: "a time", fieldHits: "a number"}

// Reported returns the reported faults, by daemon and in the order in which they were injected. unread contains the
// fields that cannot be parsed.
func Reported(ctx context.Context, r *swss.Redis) (all []Injected, unread []error, err error) {
	rows, err := swss.NewTable(r.DB(swss.StateDB), Table).Dump(ctx)
	if err != nil {
		return nil, nil, err
	}
	all, unread = ParseRows(rows)
	return all, unread, nil
}

// ParseRows does the same as Reported, for the rows of [Table].
func ParseRows(rows map[string]swss.FieldValues) (all []Injected, unread []error) {
	for _, daemon := range Daemons() {
		row := rows[daemon]
		var some []Injected
		for _, id := range slices.Sorted(maps.Keys(row)) {
			n, err := parseInjected(daemon, id, row[id])
			if err != nil {
				unread = append(unread, err)
				continue
			}
			some = append(some, n)
		}
		slices.SortStableFunc(some, func(a, b Injected) int { return a.From.Compare(b.From) })
		all = append(all, some...)
	}
	return all, unread
}

// InWords returns a text about the faults in force as reported, "" if there are none or Redis cannot be read.
func InWords(ctx context.Context, r *swss.Redis) string {
	all, _, _ := Reported(ctx, r)
	return Words(all)
}

// Words returns a text about the faults in force, "" if there are none.
func Words(all []Injected) string {
	text, _ := words(all)
	return text
}

func of(daemon string, all []Injected) (some []Injected) {
	for _, n := range all {
		if n.At == daemon {
			some = append(some, n)
		}
	}
	return some
}

// Alarms returns the alarms of faults as rows, by id, one for each daemon. An alarm stays for a while after the fault
// has ended.
func Alarms(all []Injected) map[string]swss.FieldValues {
	alarms := map[string]swss.FieldValues{}
	for _, n := range all {
		id := n.At + "-fault-injected"
		if alarms[id] != nil {
			continue
		}
		text, _ := words(of(n.At, all))
		if text == "" {
			text = fmt.Sprintf("faults were injected on purpose, the last: %s, from %s", n.Fault, clock(n.From))
		}
		alarms[id] = swss.FieldValues{
			schema.AlarmResource: n.At, schema.AlarmType: schema.AlarmFault, schema.AlarmSeverity: schema.SeverityMajor,
			schema.AlarmText: text,
		}
	}
	return alarms
}
