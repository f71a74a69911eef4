package switchpage

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"tamtam/collector/result"
	"tamtam/mgmt/web"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/altmark"
	"tamtam/tam/flymon"
)

// marking returns the sessions of alternate marking.
func (t *tables) marking() (list []web.MarkingSession) {
	flows, counters := t.Dump(swss.ApplDB, schema.AppTAMAltMark), t.Dump(swss.CountersDB, schema.CountersAltMark)
	past := t.Dump(swss.CountersDB, schema.CountersAltMarkPast)
	for _, name := range namesIn(flows, counters) {
		s := web.MarkingSession{Name: name}
		if row, ok := flows[name]; ok {
			if f, err := schema.ParseAltMarkFlow(name, row); err != nil {
				s.Error = err.Error()
			} else {
				s.Role, s.Method = f.Role.String(), f.Method.String()
			}
		}
		if row, ok := counters[name]; ok {
			c, err := schema.ParseAltMarkCounters(name, row)
			if err != nil {
				s.Error = err.Error()
			} else {
				s.Engine, s.Timing, s.Guard = c.Engine, c.Timing, c.Guard
			}
		}
		s.Periods = periods(name, past[name])
		list = append(list, s)
	}
	return list
}

// namesIn returns the names of the rows of two tables.
func namesIn(a, b map[string]swss.FieldValues) []string {
	all := maps.Collect(maps.All(a))
	maps.Copy(all, b)
	return sortedKeys(all)
}

// periods returns the last periods of a session, the latest first.
func periods(session string, row swss.FieldValues) (list []web.MarkingPeriod) {
	for field, text := range row {
		p, err := schema.ParseAltMarkPeriod(session, field, text)
		if err != nil {
			number, bad := strconv.ParseUint(field, 10, 64)
			if bad != nil {
				number = 0
			}
			list = append(list, web.MarkingPeriod{Number: number, Error: err.Error()})
			continue
		}
		list = append(list, periodOf(p))
	}
	slices.SortFunc(list, func(a, b web.MarkingPeriod) int {
		switch {
		case a.Number > b.Number:
			return -1
		case a.Number < b.Number:
			return 1
		}
		return strings.Compare(a.Error, b.Error)
	})
	return list
}

func periodOf(p altmark.Period) web.MarkingPeriod {
	return web.MarkingPeriod{
		Number: p.Number, Colour: p.Colour, Packets: p.Packets, Bytes: p.Bytes, OutOfWindow: p.OutOfWindow,
		Foreign: p.Foreign, Captures: p.Captures, Read: p.ReadAt.String(), Clock: p.Clock.Says, Flags: p.Flags.Words(),
	}
}

// stamping returns the sessions of tail-stamping.
func (t *tables) stamping() (list []web.StampingSession) {
	flows, rows := t.Dump(swss.ApplDB, schema.AppTAMTailStamp), t.Dump(swss.CountersDB, schema.CountersTailStamp)
	for _, name := range namesIn(flows, rows) {
		s := web.StampingSession{Name: name}
		row, ok := rows[name]
		if !ok {
			list = append(list, s)
			continue
		}
		c, err := schema.ParseCounters(schema.CountersTailStamp, name, row)
		if err != nil {
			s.Error = err.Error()
			list = append(list, s)
			continue
		}
		s.Counters = map[string]uint64{}
		for _, f := range schema.CountersIn(schema.CountersTailStamp) {
			if n, known := c.Counts[f.Name]; known {
				s.Counters[inWords(f)] = n
			}
		}
		list = append(list, s)
	}
	return list
}

// inWords returns a counter's name on the page, from the path of its leaf.
func inWords(f schema.Field) string { return strings.NewReplacer("-", " ", "/", ": ").Replace(f.Leaf) }

// stampedColumns returns the names of tail-stamping's counters.
func stampedColumns() (list []string) {
	for _, f := range schema.CountersIn(schema.CountersTailStamp) {
		list = append(list, inWords(f))
	}
	return list
}

// sketches returns the results of the last epoch of each FlyMon task. Missing results are added to the troubles of the
// switch.
func (t *tables) sketches(s *web.Switch) (list []result.Sketch) {
	results := t.Dump(swss.CountersDB, schema.CountersFlyMonResult)
	flows := t.Dump(swss.CountersDB, schema.CountersFlyMonFlows)
	changes := t.Dump(swss.CountersDB, schema.CountersFlyMonChange)
	trouble := func(task, what string) {
		s.Troubles = append(s.Troubles, "sketch task "+task+": "+what)
	}
	wrong := func(task, of string) func(string, error) {
		return func(flow string, err error) { trouble(task, of+flow+": "+err.Error()) }
	}
	for _, task := range sortedKeys(results) {
		epoch, err := schema.ParseFlyMonResult(task, results[task])
		if err != nil {
			trouble(task, err.Error())
			continue
		}
		list = append(list, Sketches(s.Name, task, epoch.Start, epoch.End, epoch.Metrics,
			parsed(flows[task], schema.ParseFlyMonEstimate, wrong(task, "flow ")),
			parsed(changes[task], schema.ParseFlyMonChange, wrong(task, "change of flow ")))...)
		if n := epoch.ChangesCut; n > 0 {
			trouble(task, strconv.FormatUint(n, 10)+" changes, the smallest, are missing for room")
		}
		if n := epoch.DigestsLost; n > 0 {
			trouble(task, "up to "+strconv.FormatUint(n, 10)+" flows are missing, which the chip had no room to report")
		}
		if n := epoch.FlowsCut; n > 0 {
			trouble(task, strconv.FormatUint(n, 10)+" flows, the smallest, are missing for room")
		}
	}
	return append(list, t.answers(s)...)
}

// parsed parses the fields of a row. It passes fields that cannot be parsed to wrong.
func parsed[E any](
	row swss.FieldValues, parse func(string) (E, error), wrong func(field string, err error),
) map[string]E {
	all := map[string]E{}
	for _, field := range sortedKeys(row) {
		if e, err := parse(row[field]); err != nil {
			wrong(field, err)
		} else {
			all[field] = e
		}
	}
	return all
}

// Sketches returns the estimates of a task for its epoch, its flows and its heavy changers, as rows.
func Sketches(
	name, task string, start, end int64, metrics, flows map[string]flymon.Estimate, changes map[string]flymon.Change,
) (list []result.Sketch) {
	for _, of := range []map[string]flymon.Estimate{metrics, flows} {
		for _, key := range sortedKeys(of) {
			list = append(list, sketch(name, task, key, start, end, of[key]))
		}
	}
	for _, flow := range sortedKeys(changes) {
		list = append(list, sketch(name, task, "change of "+flow, start, end, changes[flow].Estimate))
	}
	return list
}

// answers returns the answers to queries.
func (t *tables) answers(s *web.Switch) (list []result.Sketch) {
	rows := t.Dump(swss.CountersDB, schema.CountersFlyMonAnswer)
	for _, query := range sortedKeys(rows) {
		row := rows[query]
		e, err := schema.ParseFlyMonEstimate(row["ESTIMATE"])
		start, startErr := strconv.ParseInt(row["START"], 10, 64)
		end, endErr := strconv.ParseInt(row["END"], 10, 64)
		if err != nil || startErr != nil || endErr != nil {
			s.Troubles = append(s.Troubles, "the answer to query "+query+" cannot be read")
			continue
		}
		list = append(list, sketch(s.Name, row["TASK"], row["FLOW"], start, end, e))
	}
	return list
}

// sketch returns an estimate as a row.
func sketch(name, task, key string, start, end int64, e flymon.Estimate) result.Sketch {
	lower, upper := e.Bounds()
	s := result.Sketch{Start: start, Time: end, Switch: name, Task: task, Key: key, Estimate: e.Value, Low: e.Lower,
		High: e.Upper, Bounded: lower || upper, Flags: e.Flags.String()}
	if s.Bounded && !lower {
		s.Low = math.Inf(-1)
	}
	if s.Bounded && !upper {
		s.High = math.Inf(1)
	}
	if e.Saturated {
		s.Flags = strings.TrimPrefix(s.Flags+", saturated", ", ")
	}
	if e.Exact != nil {
		s.Truth, s.Known = *e.Exact, true
	}
	return s
}
