package recordplan

import (
	"cmp"
	"fmt"
	"slices"

	"tamtam/tam/libm"
	"tamtam/tam/record"
)

// Kinds of faults.
const (
	FaultSkip     = "skip"
	FaultMisplace = "misplace"
)

// A Suspicion is a possible fault of a chip, derived from records. Either the chip never runs a table, or it runs a
// table in the place of another.
type Suspicion struct {
	Do    string `json:"do"`
	Table string `json:"table"`
	Into  string `json:"into,omitempty"`
	// Explains is the number of impossible records that the fault would cause.
	Explains uint64 `json:"explains"`
	// Contradicts is the number of records, impossible or not, that cannot occur with the fault.
	Contradicts uint64 `json:"contradicts"`
	// Expected is the number of packets that should have run the table, for a skipped table that no packet ran. It
	// follows from the plan's probabilities, if they were measured, and the other bits of the records, or from an
	// earlier capture. The probability of no such packet, for unchanged traffic, is [Chance] or less.
	Expected float64 `json:"expected,omitempty"`
	// Or is an alternative explanation, if the fault explains no impossible record.
	Or string `json:"or,omitempty"`
}

// Alternative explanations why packets no longer run a table.
const (
	OrTraffic       = "the traffic is not what the switch counted for the plan"
	OrConfiguration = "the switch is configured otherwise"
)

// String returns the suspicion in words.
func (s Suspicion) String() string {
	what := s.Table + " is skipped"
	if s.Do == FaultMisplace {
		what = fmt.Sprintf("%s runs when %s does", s.Table, s.Into)
	}
	switch {
	case s.Explains > 0:
		what += fmt.Sprintf(": explains %d impossible records", s.Explains)
	default:
		if s.Or != "" {
			what += ", or " + s.Or
		}
		what += fmt.Sprintf(": no packet ran it, about %.0f were expected to", s.Expected)
	}
	if s.Contradicts > 0 {
		what += fmt.Sprintf("; %d records are against it", s.Contradicts)
	}
	return what
}

// CountedRecord is the number of packets with a record and an end.
type CountedRecord struct {
	Bits    []byte
	End     string // end by [record.Graph.End]; "" if unknown
	Packets uint64
}

const (
	// maxSuspects is the number of distinct records that are examined: the records with the most packets. maxOdd limits
	// the impossible records that select suspects. maxSuspicions limits the result.
	maxSuspects   = 256
	maxOdd        = 8
	maxSuspicions = 8
	// leastShare is the minimum expected share of packets with a record, apart from the suspected table. Below it, the
	// record does not count as evidence. Probabilities that a switch counted assign one in a hundred to events that
	// never occurred, so below twice that they are guesses.
	leastShare = 0.02
)

// Chance is the maximum probability that no packet ran a table, with everything unchanged, for the table to be
// suspected.
const Chance = 1e-6

// A seenRecord is an examined record, with its reader.
type seenRecord struct {
	CountedRecord
	*reader
	possible bool // true if at least one path has this record
}

// Suspect returns the faults that explain records which no path has. The first one explains most and contradicts least.
// measured means that the plan's probabilities were measured. Then tables are also suspected if no record shows them
// although many packets should have run them.
func (d *Decoder) Suspect(records []CountedRecord, measured bool) []Suspicion {
	seen := d.heaviest(records)
	if len(seen) == 0 {
		return nil
	}
	var odd []seenRecord // impossible records; the first ones select the suspects
	for i := range seen {
		r := &seen[i]
		if r.possible = r.observe(r.Bits) && r.feasible(); !r.possible && len(odd) < maxOdd {
			odd = append(odd, *r)
		}
	}
	marked := d.markedTables()
	others := slices.Clone(marked) // tables that records show come first, so they win between equal explanations
	for _, t := range d.Tables() {
		if !slices.Contains(marked, t) {
			others = append(others, t)
		}
	}
	var list []Suspicion
	for _, t := range marked {
		if s, chance := d.skipped(t, seen); s.Explains > 0 || measured && chance <= Chance {
			list = append(list, s)
		}
		if len(odd) > 0 {
			list = append(list, d.misplacements(t, others, odd, seen)...)
		}
	}
	return rank(list)
}

// misplacements returns suspicions that a table runs when another one does, if this explains any of the odd records.
func (d *Decoder) misplacements(id string, others []string, odd, seen []seenRecord) (list []Suspicion) {
	if d.fixed(id) {
		return nil
	}
	for _, into := range others {
		if into != id && !d.fixed(into) && misplaced(id, into, odd).Explains > 0 {
			list = append(list, misplaced(id, into, seen))
		}
	}
	return list
}

// fixed reports whether a table is a fixed function of the chip, which no compiler places.
func (d *Decoder) fixed(id string) bool {
	return slices.ContainsFunc(d.plan.Graph.Nodes, func(n record.Node) bool { return n.ID == id && n.Unit != "" })
}

// rank sorts suspicions, the best first. It removes three kinds: suspicions that contradict at least as much as they
// explain, those with contradictions if another suspicion explains records without any, and those of a misplaced table
// if a skip of the same table explains as much.
func rank(list []Suspicion) []Suspicion {
	clean := slices.ContainsFunc(list, func(s Suspicion) bool { return s.Explains > 0 && s.Contradicts == 0 })
	skipped := map[string]uint64{}
	for _, s := range list {
		if s.Do == FaultSkip {
			skipped[s.Table] = s.Explains
		}
	}
	list = slices.DeleteFunc(list, func(s Suspicion) bool {
		return s.Explains > 0 && s.Contradicts >= s.Explains || clean && s.Contradicts > 0 ||
			s.Do == FaultMisplace && skipped[s.Table] >= s.Explains
	})
	slices.SortStableFunc(list, func(a, b Suspicion) int {
		net := func(s Suspicion) int64 { return int64(s.Explains) - int64(s.Contradicts) }
		return cmp.Or(cmp.Compare(net(b), net(a)), cmp.Compare(a.Contradicts, b.Contradicts),
			-cmp.Compare(a.Do, b.Do), cmp.Compare(b.Expected, a.Expected))
	})
	return list[:min(len(list), maxSuspicions)]
}

// heaviest returns the records with the most packets, without records of a wrong length.
func (d *Decoder) heaviest(records []CountedRecord) []seenRecord {
	records = slices.DeleteFunc(slices.Clone(records), func(r CountedRecord) bool {
		return d.check(r.Bits) != nil || d.all.stray(r.Bits) >= 0
	})
	slices.SortFunc(records, func(a, b CountedRecord) int {
		return cmp.Or(cmp.Compare(b.Packets, a.Packets), slices.Compare(a.Bits, b.Bits), cmp.Compare(a.End, b.End))
	})
	var list []seenRecord
	for _, c := range records[:min(len(records), maxSuspects)] {
		if r, err := d.reader(Knowledge{End: c.End}); err == nil {
			list = append(list, seenRecord{CountedRecord: c, reader: r})
		}
	}
	return list
}

func (d *Decoder) markedTables() (ids []string) {
	for _, m := range d.all.marks {
		if m.table >= 0 && !slices.Contains(ids, m.Table) {
			ids = append(ids, m.Table)
		}
	}
	return ids
}

// feasible reports whether any path satisfies the evidence.
func (r *reader) feasible() bool {
	r.w.index()
	r.w.count(r.chain)
	return r.w.some
}

// skipped evaluates the suspicion that a table is never run: the record never shows it, and the packet continues as
// after a miss. It also returns the probability that none of the packets ran the table, by the plan's probabilities.
func (d *Decoder) skipped(id string, records []seenRecord) (s Suspicion, chance float64) {
	s = Suspicion{Do: FaultSkip, Table: id}
	var expected, log float64
	for i := range records {
		r := &records[i]
		t := r.chain.index[id]
		r.observe(r.Bits)
		own := &r.w.evidence[t]
		ok := own.ran != yes && own.hit != yes
		*own = evidence{hit: no}
		switch ok = ok && r.feasible(); {
		case ok && !r.possible:
			s.Explains += r.Packets
		case !ok:
			s.Contradicts += r.Packets
		}
		if ok {
			r.w.evidence[t] = evidence{} // the table might have run
			r.w.index()
			if results := r.tableResults(); results != nil && r.w.sums[len(r.w.sums)-1] >= leastShare {
				expected += float64(results[t].RanP * float64(r.Packets))
				log += float64(libm.Log1p(-min(results[t].RanP, 1-1e-9)) * float64(r.Packets))
			}
		}
	}
	if s.Contradicts > 0 || !d.ranMarked(id) {
		return s, 1
	}
	s.Expected = expected
	if s.Explains == 0 {
		s.Or = OrTraffic
	}
	return s, libm.Exp(log)
}

func (d *Decoder) ranMarked(id string) bool {
	return slices.ContainsFunc(d.all.marks, func(m tableMark) bool { return m.Table == id && !m.Hit })
}

// misplaced evaluates the suspicion that a table runs exactly when another one does.
func misplaced(id, into string, records []seenRecord) Suspicion {
	s := Suspicion{Do: FaultMisplace, Table: id, Into: into}
	for i := range records {
		r := &records[i]
		r.observe(r.Bits)
		own, other := &r.w.evidence[r.chain.index[id]], &r.w.evidence[r.chain.index[into]]
		ran := own.ran
		*own = evidence{}
		ok := ran != unsaid && (other.ran == unsaid || other.ran == ran)
		if ok {
			other.ran = ran
			ok = r.feasible()
		}
		switch {
		case ok && !r.possible:
			s.Explains += r.Packets
		case !ok:
			s.Contradicts += r.Packets
		}
	}
	return s
}
