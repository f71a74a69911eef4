package flymonorch

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"tamtam/flymonorch/answer"
	"tamtam/flymonorch/plan"
	"tamtam/orch/feature"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/flymon"
)

// maxFlows is the maximum number of flows in one row of TAM_FLYMON_FLOWS.
const maxFlows = 4096

// An epoch describes a reported epoch, without its registers.
type epoch struct {
	number     uint64
	which      int    // index of the epoch's bank
	start, end uint64 // begin and end in ns since 1970
	flags      flymon.Flags
	bank       flymon.ChipBank
}

// readout holds the data that was read from the chip for a task and an epoch.
type readout struct {
	registers [][]uint32 // registers by unit
	digests   []flymon.Vector
	truth     *truth                   // nil if the chip has no oracle
	exact     map[flymon.Vector]uint64 // the oracle's values of the requested flows
	reading   *answer.Reading
	asked     []flymon.Vector // flows of queries
	flows     []answer.FlowEstimate
	changes   []answer.FlowChange
	heavy     int // number of flows that reach the threshold, including those that do not fit in flows
	from      string
}

// readUnits reads the data of an epoch from the chip: the registers of a layout's units. behind is the number of the
// task's units before these. A bank without packets is not read.
func (rd *reader) readUnits(r *round, t *task, p *plan.Placed, behind int, e *epoch) (*readout, error) {
	got := &readout{registers: make([][]uint32, len(p.Layout.Units))}
	for i := range got.registers {
		size := p.Layout.Units[i].Size
		if !e.bank.Used {
			got.registers[i] = make([]uint32, size)
			continue
		}
		words, err := r.unit(t.Name, behind+i, e.which, size)
		if err != nil {
			return nil, err
		}
		got.registers[i] = words
	}
	if most := min(e.bank.Digests, rd.geo.Digests); most > 0 { // digests of frozen units come first
		keys, err := r.digests(t.Name, e.which, most)
		if err != nil {
			return nil, err
		}
		got.digests = keys
	}
	return got, rd.read(r, t, p, behind == 0, got, e)
}

// read evaluates the registers. It queries the oracle while the bank still has the same content.
func (rd *reader) read(r *round, t *task, p *plan.Placed, exact bool, got *readout, e *epoch) (err error) {
	got.reading, err = answer.New(answer.Dump{
		Geometry: rd.geo, Task: p.Task, Layout: p.Layout, Sketch: p.Sketch, Registers: got.registers,
		Packets: e.bank.Packets, Bytes: e.bank.Bytes, Ran: e.end - min(e.start, e.end),
	})
	if err != nil {
		return err
	}
	flags := []struct {
		is   bool
		flag flymon.Flags
	}{{e.bank.Dirty, flymon.FlagDirty}, {e.bank.Lost > 0, flymon.FlagRecirc}, {e.bank.DigestsLost > 0, flymon.FlagDigests}}
	for _, f := range flags {
		if f.is {
			e.flags |= f.flag
		}
	}
	if e.flags&(flymon.FlagDigests|flymon.FlagLive) == 0 { // digests of a live read may belong to other sweeps
		got.reading.Know(got.digests)
	}
	asked := rd.queries.asked(t, p.Task)
	got.asked = asked
	if !p.Task.Key.IsZero() {
		got.from = sources(got.digests, asked)
		got.flows = got.reading.Heavy(slices.Concat(got.digests, asked), p.Task.Threshold)
		got.heavy = len(got.flows)
		got.flows = got.flows[:min(got.heavy, maxFlows)]
	}
	if exact && p.Task.Share == 0 && rd.oracle(r.ctx) { // for a task with a share, the oracle covers only that share
		flows := allOf(asked, got.flows)
		if last := t.InASIC.last; p.Task.ChangeThreshold > 0 && last != nil {
			flows = allOf(slices.Concat(flows, got.digests, last.digests), nil)
		}
		if !e.bank.Used { // no packet arrived, and the bank's content is older
			got.truth = &truth{Values: make([]uint64, len(flows))}
		} else if got.truth, err = r.truth(t.Name, e.which, p.Task.Threshold, flows); err != nil || got.truth == nil {
			return err
		}
		got.exact = make(map[flymon.Vector]uint64, len(flows))
		for i, v := range flows {
			got.exact[v] = got.truth.Values[i]
		}
	}
	return nil
}

// sources returns the origin of candidates for flows.
func sources(digests, asked []flymon.Vector) string {
	switch {
	case len(digests) > 0 && len(asked) > 0:
		return "digests,queries"
	case len(digests) > 0:
		return "digests"
	case len(asked) > 0:
		return "queries"
	}
	return ""
}

// allOf returns the requested flows and the flows of a list, without duplicates.
func allOf(asked []flymon.Vector, flows []answer.FlowEstimate) []flymon.Vector {
	var list []flymon.Vector
	seen := map[flymon.Vector]bool{}
	add := func(v flymon.Vector) {
		if !seen[v] {
			seen[v] = true
			list = append(list, v)
		}
	}
	for _, v := range asked {
		add(v)
	}
	for _, f := range flows {
		add(f.Flow)
	}
	return list
}

// report writes the rows of an epoch.
func (rd *reader) report(t *task, d *deployment, e epoch, got *readout) {
	row := schema.FlyMonResult{
		Epoch: e.number, Start: int64(e.start), End: int64(e.end), Flags: e.flags, Flows: got.from,
		DigestsLost: e.bank.DigestsLost, FlowsCut: uint64(got.heavy - len(got.flows)), Metrics: got.reading.Metrics(),
	}
	row.Load, row.Full = got.reading.Load()
	if row.Metrics == nil {
		row.Metrics = map[string]flymon.Estimate{}
	}
	d.compare(e, got, &row)
	if _, known := row.Metrics[flymon.MetricHeavy]; !known && d.row.Threshold > 0 && !d.row.Key.IsZero() {
		row.Metrics[flymon.MetricHeavy] = got.reading.Listed(got.heavy)
	}
	if falsely, ok := got.reading.Falsely(got.heavy); ok {
		row.Metrics[flymon.MetricFalse] = falsely
	}
	got.addExact(d.row, row.Metrics)
	for name, m := range row.Metrics {
		m.Flags |= e.flags
		row.Metrics[name] = m
	}
	flows := make(swss.FieldValues, len(got.flows))
	for _, f := range got.flows {
		f.Flags |= e.flags
		flows[d.row.Key.Format(f.Flow)] = schema.FormatFlyMonEstimate(got.withExact(f.Flow, f.Estimate))
	}
	rd.rows.flows.Put(t.Name, flows)
	changes := make(swss.FieldValues, len(got.changes))
	for _, c := range got.changes {
		changes[d.row.Key.Format(c.Flow)] = schema.FormatFlyMonChange(c.Change)
	}
	rd.rows.changes.Put(t.Name, changes)
	rd.rows.sizes.Put(t.Name, sizes(got.reading.Sizes(), e.flags))
	rd.queries.answer(t, d, e, got)
	rd.rows.results.Put(t.Name, row.Fields())
}

// compare adds the difference between this epoch and the previous one, if both are complete. Otherwise a partial set or
// count would look like a difference.
func (d *deployment) compare(e epoch, got *readout, row *schema.FlyMonResult) {
	if d.row.Attribute.Kind != flymon.Similarity && d.row.ChangeThreshold == 0 {
		return
	}
	if !e.flags.Whole() {
		d.last = nil
		return
	}
	if d.last != nil && d.lastEpoch.number+1 == e.number {
		d.similar(got, row.Metrics)
		d.changes(e, got, row)
	}
	d.last, d.lastEpoch = got, e
}

// similar adds the similarity of the sets of this epoch and the previous one.
func (d *deployment) similar(got *readout, metrics map[string]flymon.Estimate) {
	similar := answer.Similarity(d.last.reading, got.reading)
	jaccard, difference, known := got.truth.compare(d.last.truth)
	for name, exact := range map[string]float64{flymon.MetricJaccard: jaccard, flymon.MetricDifference: difference} {
		if m, ok := similar[name]; ok && known {
			m.Exact = &exact
			similar[name] = m
		}
	}
	maps.Copy(metrics, similar)
}

// changes adds the heavy changers. Candidates are the requested flows, and the flows that the chip reported in either
// epoch. The chip reports all flows that reached the threshold, unless digests were lost.
func (d *deployment) changes(e epoch, got *readout, row *schema.FlyMonResult) {
	if d.row.ChangeThreshold == 0 {
		return
	}
	flags := d.lastEpoch.flags | e.flags
	all := answer.Change(d.last.reading, got.reading, slices.Concat(d.last.digests, got.digests, got.asked),
		d.row.ChangeThreshold)
	for i := range all.List {
		c := &all.List[i]
		c.Flags = flags
		before, known := d.last.exact[c.Flow]
		if after, too := got.exact[c.Flow]; known && too {
			x := math.Abs(float64(after) - float64(before))
			c.Exact = &x
		}
	}
	got.changes = all.List[:min(len(all.List), maxFlows)]
	row.ChangesCut = uint64(len(all.List) - len(got.changes))
	row.Metrics[flymon.MetricChangers] = flymon.Estimate{
		Value: float64(len(all.List)), Flags: flags, Saturated: all.Full,
		Bound: fmt.Sprintf("no bound is known; by the bounds of each flow %d are sure, and %d are possible",
			all.Sure, all.Possible),
	}
}

// compare returns the exact similarity of the sets of two consecutive epochs, or false if the oracle does not have it.
func (tr *truth) compare(last *truth) (jaccard, difference float64, known bool) {
	if tr == nil || last == nil || tr.Elements > 0 && tr.Before != last.Elements {
		return 0, 0, false
	}
	union := tr.Elements + last.Elements - tr.Shared
	if union == 0 {
		return 1, 0, true
	}
	return float64(tr.Shared) / float64(union), float64(union - tr.Shared), true
}

// withExact adds the oracle's value to an estimate.
func (g *readout) withExact(v flymon.Vector, e flymon.Estimate) flymon.Estimate {
	if n, ok := g.exact[v]; ok {
		x := float64(n)
		e.Exact = &x
	}
	return e
}

// addExact adds the oracle's values to the metrics.
func (g *readout) addExact(row flymon.Task, metrics map[string]flymon.Estimate) {
	tr := g.truth
	if tr == nil {
		return
	}
	put := func(name string, v float64) {
		if m, ok := metrics[name]; ok {
			m.Exact = &v
			metrics[name] = m
		}
	}
	put(flymon.MetricPackets, float64(tr.Packets))
	put(flymon.MetricEntropy, tr.Entropy)
	if row.Key.IsZero() && tr.Flows > 0 {
		put(flymon.MetricMaximum, float64(tr.Largest)) // the maximum of the only flow
	}
	put(flymon.MetricMembers, float64(tr.Elements))
	if row.Key.IsZero() {
		put(flymon.MetricCardinality, float64(tr.Elements))
	} else {
		put(flymon.MetricCardinality, float64(tr.Flows))
	}
	put(flymon.MetricHeavy, float64(tr.Reaching))
	if len(g.flows) == g.heavy {
		falsely := 0.0
		for _, f := range g.flows {
			if g.exact[f.Flow] < row.Threshold {
				falsely++
			}
		}
		put(flymon.MetricFalse, falsely)
	}
}

// sizes returns the row of TAM_FLYMON_DISTRIBUTION of an epoch with these flags.
func sizes(classes map[uint64]flymon.Estimate, flags flymon.Flags) swss.FieldValues {
	row := make(swss.FieldValues, len(classes))
	for least, e := range classes {
		e.Flags |= flags
		row[strconv.FormatUint(least, 10)] = schema.FormatFlyMonEstimate(e)
	}
	return row
}

// oracle reports whether the chip has an active oracle.
func (rd *reader) oracle(ctx context.Context) bool {
	n, err := feature.Room(ctx, rd.api, flymon.ObjectTruth)
	return err == nil && n > 0
}
