package collector

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"tamtam/tam/recordplan"
)

// RecordDifference is the difference between the records of two captures, for example of the same switch earlier or
// with another configuration.
type RecordDifference struct {
	With string `json:"with"` // name of the other capture
	// New lists the paths that the other capture lacks, and Gone the paths that only the other capture has. Changed
	// lists common paths whose shares differ significantly. The largest difference is first.
	New     []PathDifference  `json:"new"`
	Gone    []PathDifference  `json:"gone"`
	Changed []PathDifference  `json:"changed"`
	Tables  []TableDifference `json:"tables"` // tables that ran, or hit, in only one of the two captures
	// Suspicions lists tables that no longer run although many packets ran them before.
	Suspicions []recordplan.Suspicion `json:"suspicions,omitempty"`
}

// PathDifference is a path, or a set of possible paths, in two captures.
type PathDifference struct {
	Path         string  `json:"path"`
	Paths        string  `json:"paths"`
	Why          string  `json:"why,omitempty"`
	Packets      int64   `json:"packets"`
	Share        float64 `json:"share"`
	MeanNs       *int64  `json:"mean_ns"` // of the packets with a known latency; nil if there are none
	OtherPackets int64   `json:"other_packets"`
	OtherShare   float64 `json:"other_share"`
	OtherMeanNs  *int64  `json:"other_mean_ns"`

	timed int64   // number of packets with a known latency
	took  float64 // sum of their latencies
}

// TableDifference is a table in two captures: the shares of packets that ran it and that hit, as far as records show.
type TableDifference struct {
	Table    string  `json:"table"`
	Ran      float64 `json:"ran"`
	OtherRan float64 `json:"other_ran"`
	Hit      float64 `json:"hit"`
	OtherHit float64 `json:"other_hit"`
}

// Compare returns the difference between two reports. Plans may differ: tables are matched by name.
func (r *RecordReport) Compare(with *RecordReport) RecordDifference {
	d := RecordDifference{
		With: with.File, New: []PathDifference{}, Gone: []PathDifference{}, Changed: []PathDifference{},
		Tables: []TableDifference{},
	}
	plain := !samePlans(r, with)
	here, all := sumPaths(r, plain)
	there, otherAll := sumPaths(with, plain)
	for key, p := range here {
		o, ok := there[key]
		p.OtherPackets, p.OtherMeanNs = o.Packets, o.MeanNs
		p.Share, p.OtherShare = share(p.Packets, all), share(o.Packets, otherAll)
		switch {
		case !ok:
			d.New = append(d.New, p)
		case differ(p.Packets, all, o.Packets, otherAll):
			d.Changed = append(d.Changed, p)
		}
	}
	for key, o := range there {
		if _, ok := here[key]; !ok {
			o.OtherPackets, o.OtherShare, o.OtherMeanNs = o.Packets, share(o.Packets, otherAll), o.MeanNs
			o.Packets, o.MeanNs = 0, nil
			d.Gone = append(d.Gone, o)
		}
	}
	for _, list := range [][]PathDifference{d.New, d.Gone, d.Changed} {
		slices.SortFunc(list, func(a, b PathDifference) int {
			by := func(p PathDifference) float64 { return math.Abs(p.Share - p.OtherShare) }
			return cmp.Or(cmp.Compare(by(b), by(a)),
				cmp.Compare(a.Path, b.Path), cmp.Compare(a.Paths, b.Paths), cmp.Compare(a.Why, b.Why))
		})
	}
	d.Tables = compareTables(r, with)
	d.Suspicions = r.missing(with)
	return d
}

// missing returns tables that ran in another capture, while here packets of the same kinds reached the position of
// these tables without running them.
func (r *RecordReport) missing(with *RecordReport) (list []recordplan.Suspicion) {
	totals := sumTables(r)
	now, before := r.atTables(), with.atTables()
	for _, id := range slices.Sorted(maps.Keys(before)) {
		if totals[id].MayRun > 0 {
			continue
		}
		if expected, chance := unlike(now[id], before[id]); chance <= recordplan.Chance {
			list = append(list, recordplan.Suspicion{
				Do: recordplan.FaultSkip, Table: id, Expected: expected, Or: recordplan.OrConfiguration,
			})
		}
	}
	slices.SortStableFunc(list, func(a, b recordplan.Suspicion) int { return cmp.Compare(b.Expected, a.Expected) })
	return list
}

// atTables returns the sums over all plans.
func (r *RecordReport) atTables() map[string]map[packetKind]atTable {
	sums := map[string]map[packetKind]atTable{}
	for _, p := range r.Plans {
		for id, kinds := range p.kinds {
			if sums[id] == nil {
				sums[id] = map[packetKind]atTable{}
			}
			for k, n := range kinds {
				a := sums[id][k]
				sums[id][k] = atTable{a.came + n.came, a.ran + n.ran}
			}
		}
	}
	return sums
}

func share(n, all int64) float64 {
	if all == 0 {
		return 0
	}
	return float64(n) / float64(all)
}

// differ reports whether two shares are more than three standard deviations apart.
func differ(n, all, other, otherAll int64) bool {
	if all == 0 || otherAll == 0 {
		return false
	}
	pooled := float64(n+other) / float64(all+otherAll)
	deviation := math.Sqrt(pooled * (1 - pooled) * (1/float64(all) + 1/float64(otherAll)))
	return math.Abs(share(n, all)-share(other, otherAll)) > 3*deviation
}

func samePlans(a, b *RecordReport) bool {
	return slices.EqualFunc(a.Plans, b.Plans, func(p, q RecordPlanReport) bool { return p.ID == q.ID })
}

// sumPaths adds up the paths of all plans. plain merges paths that differ only in hits.
func sumPaths(r *RecordReport, plain bool) (map[string]PathDifference, int64) {
	sums := map[string]PathDifference{}
	var all int64
	for _, plan := range r.Plans {
		for _, p := range plan.Paths {
			key := p.key
			if plain {
				key = p.plain
			}
			s, ok := sums[key]
			if !ok {
				s = PathDifference{Path: p.Path, Paths: p.Paths, Why: p.Why}
			}
			if l := &p.Latency; l.Count > 0 {
				s.timed, s.took = s.timed+l.Count, s.took+float64(float64(l.Avg)*float64(l.Count))
				mean := int64(s.took / float64(s.timed))
				s.MeanNs = &mean
			}
			s.Packets += p.Packets
			sums[key] = s
			all += p.Packets
		}
	}
	return sums, all
}

// compareTables returns the tables that ran, or hit, in only one of the two captures.
func compareTables(r, with *RecordReport) []TableDifference {
	here, there := sumTables(r), sumTables(with)
	list := []TableDifference{}
	var ids []string
	for _, of := range []*RecordReport{r, with} {
		for _, p := range of.Plans {
			for _, t := range p.Tables {
				if !slices.Contains(ids, t.Table) {
					ids = append(ids, t.Table)
				}
			}
		}
	}
	for _, id := range ids {
		a, b := here[id], there[id]
		d := TableDifference{
			Table: id, Ran: a.RanExpected, OtherRan: b.RanExpected, Hit: a.HitExpected, OtherHit: b.HitExpected,
		}
		if (a.MayRun == 0) != (b.MayRun == 0) && a.Ran != b.Ran || (a.MayHit == 0) != (b.MayHit == 0) && a.Hit != b.Hit {
			list = append(list, d)
		}
	}
	return list
}

// sumTables adds up the tables of all plans. Expected values are shares of all packets.
func sumTables(r *RecordReport) map[string]TableTotal {
	sums := map[string]TableTotal{}
	for _, p := range r.Plans {
		for _, t := range p.Tables {
			s := sums[t.Table]
			s.Ran, s.Hit, s.MayRun, s.MayHit = s.Ran+t.Ran, s.Hit+t.Hit, s.MayRun+t.MayRun, s.MayHit+t.MayHit
			s.Passed += t.Passed
			if r.Records > 0 {
				s.RanExpected += t.RanExpected / float64(r.Records)
				s.HitExpected += t.HitExpected / float64(r.Records)
			}
			sums[t.Table] = s
		}
	}
	return sums
}
