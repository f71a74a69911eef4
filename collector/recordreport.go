package collector

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"tamtam/tam/record"
	"tamtam/tam/recordplan"
)

// RecordReport is the report of a [Records].
type RecordReport struct {
	File    string `json:"file,omitempty"`
	Frames  int64  `json:"frames"`
	Records int64  `json:"records"`        // number of records of the plans below
	Other   int64  `json:"without_record"` // number of frames without a record
	Cut     int64  `json:"cut"`            // number of truncated frames, whose record at the end is missing
	// Fragments counts fragments that could not be reassembled, so the content of their packets is unknown.
	Fragments int64 `json:"fragments_unjoined,omitempty"`
	Wrong     int64 `json:"wrong,omitempty"`    // number of records whose length differs from their plan's
	LeftOut   int64 `json:"left_out,omitempty"` // number of records of flows that the filter excluded
	// Missed counts frames or datagrams that were lost before they could be read.
	Missed  uint64        `json:"lost_before_read,omitempty"`
	Unknown []UnknownPlan `json:"unknown,omitempty"` // records of plans that were not given
	// Further counts the records of unknown plans that did not fit in Unknown.
	Further int64              `json:"unknown_beyond,omitempty"`
	Memory  int64              `json:"memory_bytes"` // maximum memory of all latencies together in bytes
	Plans   []RecordPlanReport `json:"plans"`
	Error   string             `json:"error,omitempty"` // reason why the file could not be read to its end
}

// UnknownPlan is the plan id of records without a given plan.
type UnknownPlan struct {
	ID      uint32 `json:"id"`
	Records int64  `json:"records"`
}

// RecordPlanReport is the report of one plan's records.
type RecordPlanReport struct {
	ID       uint32 `json:"id"`
	Program  string `json:"program,omitempty"`
	Pipeline string `json:"pipeline"`
	PHV      string `json:"phv"`
	Mode     string `json:"mode"`
	// Packets counts all packets. The next fields count those whose record fits exactly one path, several, or none.
	Packets    int64 `json:"packets"`
	Exact      int64 `json:"exact"`
	Ambiguous  int64 `json:"ambiguous"`
	Impossible int64 `json:"impossible"`
	Beyond     int64 `json:"beyond,omitempty"` // number of packets whose records exceeded the limit

	// BeyondPorts counts ingress ports and fates of packets that exceeded the limit. BeyondKinds counts packets of
	// kinds that [RecordReport.Compare] leaves out. Unranked counts paths with unknown percentiles, for lack of memory.
	BeyondPorts int64 `json:"ports_beyond,omitempty"`
	BeyondKinds int64 `json:"kinds_beyond,omitempty"`
	Unranked    int64 `json:"percentiles_unknown,omitempty"`

	Paths    []PathTotal    `json:"paths"` // by number of packets, the greatest first
	Coverage RecordCoverage `json:"coverage"`
	Tables   []TableTotal   `json:"tables"` // in the order of the pipeline
	Drops    []FlowDrops    `json:"drops,omitempty"`
	// BeyondDrops counts dropped packets of flows that exceeded the limit.
	BeyondDrops int64                             `json:"beyond_drops,omitempty"`
	Suspicions  []recordplan.Suspicion            `json:"suspicions,omitempty"`
	kinds       map[string]map[packetKind]atTable // counts of each kind of packet, by table
}

// PathTotal is the total of the packets of one path, or of one set of possible paths.
type PathTotal struct {
	Path string `json:"path"` // path as text; for a set of paths, the likeliest
	// number of paths that fit the record: 1, the size of the set, or 0 if it is impossible
	Paths   string  `json:"paths"`
	P       float64 `json:"p"` // probability of Path
	Why     string  `json:"why,omitempty"`
	Packets int64   `json:"packets"`
	Share   float64 `json:"share"`
	Latency Summary `json:"latency"` // from arrival to the record
	// Fates counts ports, CPU, and drops with their reasons. Inputs counts ingress ports.
	Fates  map[string]int64 `json:"fates"`
	Inputs map[string]int64 `json:"inputs"`
	// BeyondFates and BeyondInputs count packets whose fate or ingress port exceeded the limit.
	BeyondFates  int64 `json:"fates_beyond,omitempty"`
	BeyondInputs int64 `json:"inputs_beyond,omitempty"`

	key   string
	plain string // key without hits, which is the same for plans with other bits
}

// RecordCoverage is the part of the graph that packets have taken.
type RecordCoverage struct {
	Seen  int      `json:"seen"`  // number of paths that were certainly taken
	All   string   `json:"all"`   // number of paths of the graph, in decimal
	Share float64  `json:"share"` // Seen divided by All
	Never []string `json:"never"` // tables that no recorded packet can have run
	NoHit []string `json:"no_hit"`
}

// TableTotal counts the packets that ran a table, and hit there.
type TableTotal struct {
	Table string `json:"table"`
	Ran   int64  `json:"ran"` // number of packets that certainly ran the table
	Hit   int64  `json:"hit"`
	// RanExpected and HitExpected also include packets whose record leaves this open, weighted with the plan's
	// probability.
	RanExpected float64 `json:"ran_expected"`
	HitExpected float64 `json:"hit_expected"`
	MayRun      int64   `json:"may_have_run"` // number of packets whose record allows that they ran the table
	MayHit      int64   `json:"may_have_hit"`
	// Passed counts packets that reached the table's position, whether they ran it or not: they ran the table or a
	// later one, or left through a port. Other packets give no evidence.
	Passed  int64 `json:"passed"`
	keyless bool
}

// FlowDrops describes the dropped packets of a flow.
type FlowDrops struct {
	Flow    string `json:"flow"` // five-tuple; "" if the packets are not IP
	Reason  string `json:"reason"`
	Trap    string `json:"trap,omitempty"`     // trap of the packets
	OutPort string `json:"out_port,omitempty"` // egress port, if they were dropped there
	By      string `json:"by,omitempty"`       // entries that the packets hit, by their identities
	Packets int64  `json:"packets"`
	// Path is the path of the packets, with Paths and P as in a [PathTotal]. Last is its end, where the packets were
	// dropped.
	Path  string  `json:"path"`
	Paths string  `json:"paths"`
	P     float64 `json:"p"`
	Last  string  `json:"last"`
	sort  Flow
}

// Report summarises the packets added so far.
func (c *Records) Report() RecordReport {
	r := RecordReport{
		Frames: c.frames, Other: c.other, Cut: c.cut, Wrong: c.wrong, LeftOut: c.leftOut, Plans: []RecordPlanReport{},
		Further: c.further, Memory: c.room.memory,
	}
	for _, id := range c.order {
		p := c.plans[id].report()
		r.Records += p.Packets
		r.Plans = append(r.Plans, p)
	}
	for _, id := range slices.Sorted(maps.Keys(c.unknown)) {
		r.Unknown = append(r.Unknown, UnknownPlan{id, c.unknown[id]})
	}
	return r
}

func (c *planRecords) report() RecordPlanReport {
	p := c.decoder.Plan()
	r := RecordPlanReport{ID: p.ID, Program: p.Program, Pipeline: p.Pipeline, PHV: p.PHV, Mode: p.Mode,
		Packets: c.packets, Beyond: c.beyondGroups, BeyondDrops: c.beyondFlows, BeyondKinds: c.beyondKinds}
	groups := c.sorted()
	var counted []recordplan.CountedRecord
	for _, g := range groups {
		counted = append(counted, recordplan.CountedRecord{Bits: g.bits, End: g.reported.End, Packets: uint64(g.packets)})
		switch {
		case g.answer.Impossible:
			r.Impossible += g.packets
		case g.answer.Exact:
			r.Exact += g.packets
		default:
			r.Ambiguous += g.packets
		}
	}
	r.Paths = pathTotals(groups, c.packets)
	for _, t := range r.Paths {
		r.BeyondPorts += t.BeyondFates + t.BeyondInputs
		if t.Latency.Unranked {
			r.Unranked++
		}
	}
	r.Tables = c.tables(groups)
	r.Coverage = c.coverage(groups, r.Tables)
	r.Drops = c.drops()
	r.kinds = c.atTables()
	r.Suspicions = c.decoder.Suspect(counted, measured(p))
	return r
}

// measured reports whether the probabilities of a plan were measured. Only then is it suspicious if packets do not run
// the expected tables.
func measured(p *record.Plan) bool {
	from := p.ProbabilitiesFrom
	return from != "" && from != "uniform" && !strings.HasPrefix(from, "seed")
}

// pathTotals merges the groups of one path: records may differ in hits that a path's text omits.
func pathTotals(groups []*recordGroup, all int64) []PathTotal {
	list := []PathTotal{}
	var of [][]*recordGroup
	at := map[string]int{}
	for _, g := range groups {
		t := pathOf(&g.answer)
		i, ok := at[t.key]
		if !ok {
			i = len(list)
			at[t.key] = i
			t.Fates, t.Inputs = map[string]int64{}, map[string]int64{}
			list, of = append(list, t), append(of, nil)
		}
		of[i] = append(of[i], g)
		list[i].Packets += g.packets
		for fate, n := range g.fates {
			list[i].Fates[fate] += n
		}
		for port, n := range g.inputs {
			list[i].Inputs[portName(port, "none")] += n
		}
		list[i].BeyondFates += g.beyondFates
		list[i].BeyondInputs += g.beyondInputs
	}
	for i := range list {
		list[i].Share = float64(list[i].Packets) / float64(all)
		list[i].Latency = latencyOf(of[i])
	}
	slices.SortStableFunc(list, func(a, b PathTotal) int {
		return cmp.Or(cmp.Compare(b.Packets, a.Packets), cmp.Compare(a.key, b.key))
	})
	return list
}

// latencyOf returns the latency of the packets of all groups. The sum of the distributions is not kept.
func latencyOf(groups []*recordGroup) Summary {
	sum := distribution{exact: groups[0].latency.exact}
	for _, g := range groups {
		sum.merge(&g.latency)
	}
	return sum.summary()
}

// pathOf returns a total with the path of an answer.
func pathOf(a *recordplan.Answer) PathTotal {
	t := PathTotal{Paths: a.Total, Why: a.Why}
	if len(a.Paths) > 0 {
		t.Path, t.P = a.Paths[0].String(), a.Paths[0].P
	}
	t.plain = "impossible"
	if !a.Impossible {
		t.plain = tableSequence(&a.Paths[0])
	}
	t.key = t.Paths + " " + t.Path + " " + t.Why
	if !a.Exact && !a.Impossible {
		t.key += " " + strconv.FormatFloat(t.P, 'g', 6, 64) // sets of paths can have the same likeliest path
	}
	return t
}

// tables counts how often each table ran and hit. Packets whose record shows nothing, or is not kept, may have run any.
func (c *planRecords) tables(groups []*recordGroup) []TableTotal {
	ids := c.decoder.Tables()
	keyless := map[string]bool{}
	for _, n := range c.decoder.Plan().Graph.Nodes {
		keyless[n.ID] = n.Keyless
	}
	list := make([]TableTotal, len(ids))
	for i, id := range ids {
		list[i].Table, list[i].keyless = id, keyless[id]
	}
	unknown := func(packets int64) {
		for i := range list {
			list[i].MayRun += packets
			list[i].MayHit += packets
		}
	}
	unknown(c.beyondGroups)
	for _, g := range groups {
		says := c.decoder.TableResults(g.bits, c.asked(g.reported))
		if says == nil {
			unknown(g.packets)
		}
		last := lastRun(says)
		for i, s := range says {
			t := &list[i]
			if i <= last || g.reported.End == record.EndSent {
				t.Passed += g.packets
			}
			t.RanExpected += float64(s.RanP * float64(g.packets))
			t.HitExpected += float64(s.HitP * float64(g.packets))
			count := func(c recordplan.Certainty, sure, may *int64) {
				if c == recordplan.Always {
					*sure += g.packets
				}
				if c != recordplan.Never {
					*may += g.packets
				}
			}
			count(s.Ran, &t.Ran, &t.MayRun)
			count(s.Hit, &t.Hit, &t.MayHit)
		}
	}
	return list
}

func (c *planRecords) coverage(groups []*recordGroup, tables []TableTotal) RecordCoverage {
	r := RecordCoverage{All: c.decoder.AllPaths(), Never: []string{}, NoHit: []string{}}
	seen := map[string]bool{}
	for _, g := range groups {
		if g.answer.Exact {
			seen[tableSequence(&g.answer.Paths[0])] = true
		}
	}
	r.Seen = len(seen)
	if all, err := strconv.ParseFloat(r.All, 64); err == nil && all > 0 && !math.IsInf(all, 0) {
		r.Share = float64(r.Seen) / all
	}
	for _, t := range tables {
		switch {
		case t.MayRun == 0:
			r.Never = append(r.Never, t.Table)
		case t.MayHit == 0 && !t.keyless:
			r.NoHit = append(r.NoHit, t.Table)
		}
	}
	return r
}

func tableSequence(l *recordplan.Likely) string {
	b := []byte{}
	for _, s := range l.Path {
		b = append(append(b, s.Table...), 0)
	}
	return string(b)
}

// drops returns for each flow why and on which path its packets were dropped.
func (c *planRecords) drops() []FlowDrops {
	type whole struct {
		flow         Flow
		isFlow       bool
		reason, trap string
		port, path   string
		by           string
	}
	joined := map[whole]*FlowDrops{}
	for k, n := range c.flows {
		answer, _ := c.decoder.Decode([]byte(k.record.bits), c.asked(k.record.reported)) // decoded before, so no error
		t := pathOf(&answer)
		w := whole{k.flow, k.isFlow, k.record.reported.End, k.trap, "", t.key, k.by}
		if k.port != record.NoPort {
			w.port = portName(k.port, "")
		}
		d := joined[w]
		if d == nil {
			d = &FlowDrops{
				Reason: w.reason, Trap: w.trap, OutPort: w.port, By: w.by, Path: t.Path, Paths: t.Paths, P: t.P,
				sort: k.flow,
			}
			if k.isFlow {
				d.Flow = k.flow.String()
			}
			if len(answer.Paths) > 0 {
				d.Last = lastSteps(answer.Paths[0])
			}
			joined[w] = d
		}
		d.Packets += n
	}
	var list []FlowDrops
	for _, d := range joined {
		list = append(list, *d)
	}
	slices.SortFunc(list, func(a, b FlowDrops) int {
		return cmp.Or(cmp.Compare(b.Packets, a.Packets), a.sort.compare(b.sort), cmp.Compare(a.Flow, b.Flow),
			cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Trap, b.Trap), cmp.Compare(a.OutPort, b.OutPort),
			cmp.Compare(a.Path, b.Path), cmp.Compare(a.Paths, b.Paths), cmp.Compare(a.By, b.By))
	})
	return list
}

// lastSteps returns the last three tables of a path.
func lastSteps(l recordplan.Likely) string {
	from := max(0, len(l.Path)-3)
	return recordplan.Likely{Path: l.Path[from:], HitKnown: l.HitKnown[from:], Actions: l.Actions[from:]}.String()
}
