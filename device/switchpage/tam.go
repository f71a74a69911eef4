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

// marking are the sessions of alternate marking.
func (t *tables) marking() (list []web.MarkingSession) {
	flows, counters := t.dump(swss.ApplDB, schema.AppTAMAltMark), t.dump(swss.CountersDB, schema.CountersAltMark)
	past := t.dump(swss.CountersDB, schema.CountersAltMarkPast)
	names := maps.Clone(flows)
	if names == nil {
		names = map[string]swss.FieldValues{}
	}
	maps.Copy(names, counters)
	for _, name := range sortedKeys(names) {
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

// periods are the last ones of a session, the latest first.
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

// stamping are the sessions of tail-stamping.
func (t *tables) stamping() (list []web.StampingSession) {
	flows, rows := t.dump(swss.ApplDB, schema.AppTAMTailStamp), t.dump(swss.CountersDB, schema.CountersTailStamp)
	names := maps.Clone(flows)
	if names == nil {
		names = map[string]swss.FieldValues{}
	}
	maps.Copy(names, rows)
	for _, name := range sortedKeys(names) {
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

// inWords is what a page calls a counter, by the path of its leaf.
func inWords(f schema.Field) string { return strings.NewReplacer("-", " ", "/", ": ").Replace(f.Leaf) }

// stampedColumns are the counters of tail-stamping.
func stampedColumns() (list []string) {
	for _, f := range schema.CountersIn(schema.CountersTailStamp) {
		list = append(list, inWords(f))
	}
	return list
}

// sketches are the answers of FlyMon's tasks, of their last epoch each. What is missing in them is told as a trouble of
// the switch.
func (t *tables) sketches(s *web.Switch) (list []result.Sketch) {
	results := t.dump(swss.CountersDB, schema.CountersFlyMonResult)
	flows := t.dump(swss.CountersDB, schema.CountersFlyMonFlows)
	changes := t.dump(swss.CountersDB, schema.CountersFlyMonChange)
	trouble := func(task, what string) {
		s.Troubles = append(s.Troubles, "sketch task "+task+": "+what)
	}
	for _, task := range sortedKeys(results) {
		epoch, err := schema.ParseFlyMonResult(task, results[task])
		if err != nil {
			trouble(task, err.Error())
			continue
		}
		for _, name := range sortedKeys(epoch.Metrics) {
			list = append(list, Sketch(s.Name, task, name, epoch.End, epoch.Metrics[name]))
		}
		for _, flow := range sortedKeys(flows[task]) {
			e, err := schema.ParseFlyMonEstimate(flows[task][flow])
			if err != nil {
				trouble(task, "flow "+flow+": "+err.Error())
				continue
			}
			list = append(list, Sketch(s.Name, task, flow, epoch.End, e))
		}
		list = append(list, changesOf(s, task, changes[task], epoch.End)...)
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

// changesOf are the heavy changers of a task's epoch.
func changesOf(s *web.Switch, task string, rows map[string]string, end int64) (list []result.Sketch) {
	for _, flow := range sortedKeys(rows) {
		c, err := schema.ParseFlyMonChange(rows[flow])
		if err != nil {
			s.Troubles = append(s.Troubles, "sketch task "+task+": change of flow "+flow+": "+err.Error())
			continue
		}
		list = append(list, Sketch(s.Name, task, "change of "+flow, end, c.Estimate))
	}
	return list
}

// answers are those to queries.
func (t *tables) answers(s *web.Switch) (list []result.Sketch) {
	rows := t.dump(swss.CountersDB, schema.CountersFlyMonAnswer)
	for _, query := range sortedKeys(rows) {
		row := rows[query]
		e, err := schema.ParseFlyMonEstimate(row["ESTIMATE"])
		end, timeErr := strconv.ParseInt(row["END"], 10, 64)
		if err != nil || timeErr != nil {
			s.Troubles = append(s.Troubles, "the answer to query "+query+" cannot be read")
			continue
		}
		list = append(list, Sketch(s.Name, row["TASK"], row["FLOW"], end, e))
	}
	return list
}

// Sketch is an estimate as a row.
func Sketch(name, task, key string, when int64, e flymon.Estimate) result.Sketch {
	lower, upper := e.Bounds()
	s := result.Sketch{Time: when, Switch: name, Task: task, Key: key, Estimate: e.Value, Low: e.Lower, High: e.Upper,
		Bounded: lower || upper, Flags: e.Flags.String()}
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
