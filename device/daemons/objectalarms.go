package daemons

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"tamtam/mgmt/fetch"
	"tamtam/swss"
	"tamtam/swss/schema"
)

const (
	// pendingLimit is how long an object may wait before an alarm is raised.
	pendingLimit = time.Minute
	// startLimit is the time after which objects that are not in force are logged, even if daemons are still starting.
	startLimit = 30 * time.Second
	// maxCauses is the largest number of alarms of a table and kind; the rarest causes share the last.
	maxCauses = 8
	// firstNames is how many objects an alarm or the log names.
	firstNames = 5
)

// badObjects holds the rows of CONFIG_DB that have failed or wait, as reported in STATE_DB.
type badObjects struct {
	state  *swss.DB
	watch  *swss.KeyWatch
	tables map[string]schema.Table // tables of statuses, by name in STATE_DB
	bad    map[string]badObject    // by key of STATE_DB with the table's name
}

// A badObject is a configured object that has failed or waits.
type badObject struct {
	table, name   string // table and name of the row in CONFIG_DB
	class, reason string
	since         time.Time
}

func newBadObjects(l *swss.Listener, r *swss.Redis) *badObjects {
	o := &badObjects{state: r.DB(swss.StateDB), tables: map[string]schema.Table{}}
	o.watch = swss.NewKeyWatch(l, o.state)
	for _, t := range schema.StatusTables() {
		o.tables[t.State] = t
	}
	return o
}

// look reads the status rows that changed. After a failure it reads all again.
func (o *badObjects) look(ctx context.Context, now time.Time) (err error) {
	defer func() {
		if err != nil {
			o.watch.Distrust()
		}
	}()
	if due, err := o.watch.Pops(ctx); err != nil || len(due) == 0 {
		return err
	}
	names, all := o.watch.Drain()
	was := o.bad
	if all {
		if names, err = o.state.AllKeys(ctx); err != nil {
			return err
		}
		o.bad = map[string]badObject{}
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		table, _, _ := o.state.Split(name)
		_, reported := o.tables[table]
		return !reported
	})
	return o.state.ReadRows(ctx, names, func(i int, row swss.FieldValues, _ int64) {
		table, key, _ := o.state.Split(names[i])
		t := o.tables[table]
		class := t.Class(row[t.Status], row[schema.FieldReason])
		if class != schema.Failed && class != schema.Pending {
			delete(o.bad, names[i])
			return
		}
		object := badObject{class: class, reason: row[schema.FieldReason], since: now}
		object.table, object.name, _ = strings.Cut(t.Object(key), "|")
		if old, there := was[names[i]]; there && old.class == class {
			object.since = old.since
		}
		if at, err := time.Parse(time.RFC3339Nano, row[schema.FieldSince]); err == nil {
			// Its age now, since the clock may be set before the next look. A reported time in the future has no age.
			if reported := now.Add(min(0, at.Sub(now))); reported.Before(object.since) {
				object.since = reported
			}
		}
		o.bad[names[i]] = object
	})
}

// A cause is the common reason why objects of a table have failed or wait, without the names and numbers in the
// reasons.
type cause struct{ table, class, text string }

// raise adds an alarm for each table and cause: of objects that have failed, and of objects that wait for too long.
func (o *badObjects) raise(now time.Time, want map[string]swss.FieldValues) {
	found := map[cause][]badObject{}
	for _, b := range o.bad {
		if b.class == schema.Failed || now.Sub(b.since) > pendingLimit {
			c := cause{b.table, b.class, causeOf(b.reason)}
			found[c] = append(found[c], b)
		}
	}
	count := map[cause]int{} // number of alarms by table and class
	for _, c := range slices.SortedFunc(maps.Keys(found), func(a, b cause) int {
		return cmp.Or(len(found[b])-len(found[a]), cmp.Compare(a.table, b.table), cmp.Compare(a.class, b.class),
			cmp.Compare(a.text, b.text))
	}) {
		list, all := found[c], cause{table: c.table, class: c.class}
		if count[all]++; count[all] >= maxCauses {
			if c.text != "" {
				found[all] = append(found[all], list...)
			}
			continue
		}
		raiseObjects(c, list, want)
	}
	for all, n := range count {
		if n >= maxCauses {
			raiseObjects(all, found[all], want)
		}
	}
}

// raiseObjects adds the alarm of a cause.
func raiseObjects(c cause, list []badObject, want map[string]swss.FieldValues) {
	slices.SortFunc(list, func(a, b badObject) int { return schema.CompareNames(a.name, b.name) })
	kind, severity, verb := schema.AlarmObjectsFailed, schema.SeverityMajor, "failed"
	if c.class == schema.Pending {
		kind, severity, verb = schema.AlarmObjectsPending, schema.SeverityWarning, "pending for more than a minute"
	}
	names := make([]string, len(list))
	for i, b := range list {
		names[i] = b.name
	}
	text := fmt.Sprintf("%d %s: %s", len(list), verb, firstOf(names, ", "))
	if reason := list[0].reason; reason != "" {
		text += ": " + reason
	}
	sum := fnv.New32a()
	sum.Write([]byte(c.text))
	raise(want, c.table, kind, severity, text)
	id := alarmID(c.table, kind)
	row := want[id]
	row[schema.AlarmCount] = strconv.Itoa(len(list))
	delete(want, id)
	want[fmt.Sprintf("%s-%08x", id, sum.Sum32())] = row
}

// firstOf joins the first of some texts, and appends the number of further ones.
func firstOf(texts []string, separator string) string {
	if more := len(texts) - firstNames; more > 0 {
		return strings.Join(texts[:firstNames], separator) + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(texts, separator)
}

// causeOf returns a reason without the words that differ between objects: those with digits or quotes.
func causeOf(reason string) string {
	words := strings.Fields(reason)
	for i, w := range words {
		if strings.ContainsFunc(w, func(r rune) bool { return unicode.IsDigit(r) || r == '"' || r == '|' }) {
			words[i] = "*"
		}
	}
	return strings.Join(words, " ")
}

// announce returns the line that is logged once at the start, "" if the whole configuration is in force.
func announce(ctx context.Context, r *swss.Redis) (string, error) {
	list, err := fetch.NotInForce(ctx, r)
	if err != nil {
		return "", err
	}
	var rows []string
	quiet := 0 // number of unapplied parts that SONiC implements and this switch does not
	for _, o := range list {
		var why []string
		if o.Word != "" {
			why = append(why, o.Status+": "+o.Reason)
		}
		for _, text := range o.Unapplied {
			kind, _, _ := strings.Cut(text, ": ")
			if kind == schema.UnappliedNotImplemented || kind == schema.UnappliedNoEffect {
				quiet++
				continue
			}
			why = append(why, text)
		}
		if len(why) > 0 {
			rows = append(rows, o.Name+" ("+strings.Join(why, "; ")+")")
		}
	}
	if len(rows)+quiet == 0 {
		return "", nil
	}
	text := fmt.Sprintf("%d rows are not in force", len(rows))
	switch len(rows) {
	case 0:
	case 1:
		text = "1 row is not in force: " + rows[0]
	default:
		text += ": " + firstOf(rows, ", ")
	}
	if quiet > 0 {
		text += fmt.Sprintf("; %d tables or rows contain what SONiC has and this switch does not implement", quiet)
	}
	return text + "; see show failed, show pending, show unapplied", nil
}
