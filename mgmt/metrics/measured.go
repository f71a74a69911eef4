package metrics

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// A measure is a family whose values are fields of rows, as package schema declares them.
type measure struct {
	schema.Metric
	labels []string
}

// measures returns the declared families by name, and their names in order.
var measures = sync.OnceValues(func() (map[string]measure, []string) {
	labels := map[string][]string{}
	add := func(of []string, fields []schema.Field) {
		for _, f := range fields {
			if f.Metric != "" {
				labels[f.Metric] = of
			}
		}
	}
	for _, t := range schema.MeasuredTables() {
		add(t.Labels, t.Fields)
	}
	for _, o := range schema.MeasuredObjects() {
		add(o.Labels, o.Fields)
	}
	all, names := map[string]measure{}, []string(nil)
	for _, m := range schema.Metrics() {
		of := slices.Clone(labels[m.Name])
		if m.Label != "" {
			of = append(of, m.Label)
		}
		all[m.Name] = measure{m, of}
		names = append(names, m.Name)
	}
	return all, names
})

// measured adds what features, queues, traps and rules have measured.
func (l *look) measured() {
	all, names := measures()
	families := map[string]*Family{}
	for _, name := range names {
		m := all[name]
		families[name] = l.family(name, m.Unit, m.Words, m.labels...)
	}
	for _, t := range schema.MeasuredTables() {
		for key, row := range some(l, t.Counters, l.dump(swss.CountersDB, t.Counters)) {
			labels, is := labelsOf(key, t.Labels)
			if !is {
				continue
			}
			// A counter that has its own start survives a restart of the chip.
			epoch := cmp.Or(row[schema.FieldSinceAll], l.epochs[key], l.epochs[chip])
			for _, f := range t.Fields {
				l.value(families[f.Metric], all[f.Metric], t.Fields, f, row, epoch, labels)
			}
		}
	}
	for _, o := range schema.MeasuredObjects() {
		l.objects(o, families, all)
	}
}

// labelsOf returns the parts of a row's key. It returns false if the key has too few.
func labelsOf(key string, labels []string) ([]string, bool) {
	parts := strings.SplitN(key, ":", len(labels))
	return parts, len(parts) == len(labels)
}

// objects adds the counters of objects of the chip.
func (l *look) objects(o schema.MeasuredObject, families map[string]*Family, all map[string]measure) {
	if l.redis == nil {
		return
	}
	db := l.redis.DB(swss.CountersDB)
	var names, ids, keys []string
	for name, id := range some(l, o.Map, l.row(swss.CountersDB, o.Map, "")) {
		names, ids = append(names, name), append(ids, id)
		keys = append(keys, schema.CountersTable+db.Separator()+id)
	}
	// A failed read leaves the remaining objects without values.
	_ = db.ReadRows(l.ctx, keys, func(i int, row swss.FieldValues, _ int64) {
		if labels, is := labelsOf(names[i], o.Labels); is {
			for _, f := range o.Fields {
				l.value(families[f.Metric], all[f.Metric], o.Fields, f, row, l.epochs[chip]+ids[i], labels)
			}
		}
	})
}

// value adds what a field of a row has, or nothing if it is invalid.
func (l *look) value(
	to *Family, m measure, declared []schema.Field, f schema.Field, row swss.FieldValues, epoch string, labels []string,
) {
	with := func(label string) []string {
		if m.Label == "" {
			return labels
		}
		return append(slices.Clone(labels), label)
	}
	switch {
	case to == nil:
	case f.Name == schema.AnyName:
		count := 0
		for _, name := range sortedKeys(row) {
			known := slices.ContainsFunc(declared, func(f schema.Field) bool { return f.Name == name })
			if !known && count < mostReasons && utf8.ValidString(name) {
				l.measure(to, m, epoch, row[name], with(name))
				count++
			}
		}
	case m.Label != "" && f.Outcome == "":
		words := []string{row[f.Name]}
		if f.Parts != "" {
			words = strings.Split(row[f.Name], f.Parts)
		}
		slices.Sort(words)
		words = slices.Compact(words)
		for _, word := range words[:min(len(words), mostReasons)] {
			if word != "" && utf8.ValidString(word) {
				l.gauge(to, 1, with(word)...)
			}
		}
	default:
		l.measure(to, m, epoch, row[f.Name], with(f.Outcome))
	}
}

// measure adds the number in a field, or nothing if it is invalid.
func (l *look) measure(to *Family, m measure, epoch, field string, labels []string) {
	if to.Kind == Counter {
		l.counter(to, epoch, field, labels...)
		return
	}
	v, err := strconv.ParseFloat(field, 64)
	if err == nil && !math.IsInf(v, 0) && !math.IsNaN(v) {
		l.gauge(to, v*cmp.Or(m.Scale, 1), labels...)
	}
}

// estimates adds the estimates of sketches: those of whole epochs, and the answers to configured queries. The estimates
// of single flows have no metrics, because their number has no bound.
func (l *look) estimates() {
	free := l.family("flymon_group_free_buckets", "{bucket}", "Free buckets of a CMU.", "group", "cmu")
	for group, row := range some(l, schema.CountersFlyMonGroup, l.dump(swss.CountersDB, schema.CountersFlyMonGroup)) {
		list := strings.Split(row["FREE_BUCKETS"], ",")
		for i, n := range list[:min(len(list), mostReasons)] {
			l.number(free, n, group, strconv.Itoa(i))
		}
	}
	epoch := l.estimate("flymon_estimate", "the last epoch of a task", "task", "metric")
	for task, row := range some(l, schema.CountersFlyMonResult, l.dump(swss.CountersDB, schema.CountersFlyMonResult)) {
		count := 0
		for _, name := range sortedKeys(row) {
			if name == strings.ToLower(name) && count < mostReasons && utf8.ValidString(name) {
				epoch(row[name], task, name)
				count++
			}
		}
	}
	answer := l.estimate("flymon_answer", "the last answer to a query", "task", "query")
	for query, row := range some(l, schema.CountersFlyMonAnswer, l.dump(swss.CountersDB, schema.CountersFlyMonAnswer)) {
		if utf8.ValidString(row["TASK"]) {
			answer(row["ESTIMATE"], row["TASK"], query)
		}
	}
}

// estimate declares the families of an estimate. It returns the function that adds one, or nothing if it is invalid.
func (l *look) estimate(name, of string, labels ...string) func(text string, labels ...string) {
	value := l.family(name, "", "Estimate of a sketch, in "+of+".", labels...)
	lower := l.family(name+"_lower", "", "Lower bound of it.", labels...)
	upper := l.family(name+"_upper", "", "Upper bound of it; absent if there is none.", labels...)
	confidence := l.family(name+"_confidence_ratio", "1", "Probability that the true value lies within the bounds.",
		labels...)
	saturated := l.family(name+"_saturated", "", "1: the sketch is too full for the estimate to be meaningful.",
		labels...)
	exact := l.family(name+"_exact", "", "The exact value; absent without an oracle.", labels...)
	return func(text string, labels ...string) {
		e, err := schema.ParseFlyMonEstimate(text)
		if err != nil {
			return
		}
		if !math.IsInf(e.Value, 0) && !math.IsNaN(e.Value) {
			l.gauge(value, e.Value, labels...)
		}
		hasLower, hasUpper := e.Bounds()
		if hasLower {
			l.gauge(lower, e.Lower, labels...)
		}
		if hasUpper {
			l.gauge(upper, e.Upper, labels...)
		}
		if e.Confidence > 0 {
			l.gauge(confidence, e.Confidence, labels...)
		}
		l.gauge(saturated, bit(e.Saturated), labels...)
		if e.Exact != nil {
			l.gauge(exact, *e.Exact, labels...)
		}
	}
}
