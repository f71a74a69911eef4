package recordplan

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"tamtam/tam/record"
)

// Kinds of faults.
const (
	FaultSkip     = "skip"
	FaultMisplace = "misplace"
)

// A Suspicion is a fault that a chip may have, judging by records: that it never runs a table, or that
// it runs one in the place of another.
type Suspicion struct {
	Do    string `json:"do"`
	Table string `json:"table"`
	Into  string `json:"into,omitempty"`
	// Explains: how many of the impossible records are what the fault would make.
	Explains uint64 `json:"explains"`
	// Contradicts: how many records, impossible or not, cannot be with the fault.
	Contradicts uint64 `json:"contradicts"`
	// Expected: that many packets should have run the table, and none did: by the plan's
	// probabilities and the rest of their records if the probabilities were measured,
	// or by an earlier capture. Of a skipped table only. That none did is as unlikely as
	// [Chance], or less, if packets are what they were.
	Expected float64 `json:"expected,omitempty"`
	// Or is what else it may be, if the fault explains no impossible record.
	Or string `json:"or,omitempty"`
}

// What else than a fault it may be that packets do not run a table any more.
const (
	OrTraffic       = "the traffic is not what the switch counted for the plan"
	OrConfiguration = "the switch is configured otherwise"
)

// String says it in words.
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

// CountedRecord is how many packets had a record, and ended in one way.
type CountedRecord struct {
	Bits    []byte
	End     string // see [record.Graph.End]; "": it is not known
	Packets uint64
}

const (
	// maxSuspects is how many distinct records are looked at, those of most packets, and
	// how many suspicions are given.
	maxSuspects   = 256
	maxOdd        = 8
	maxSuspicions = 8
	// leastShare is the share of packets that must be expected to have a record, but for the
	// table in doubt, before it tells anything that none ran the table. Probabilities that a
	// switch counted leave one in a hundred to what has not happened: below twice that
	// they are guesses.
	leastShare = 0.02
)

// Chance is how unlikely it must be that none of the packets ran a table, were everything
// as before, for the table to be suspected.
const Chance = 1e-6

// A seenRecord is one whose packets are looked at, with the reader for it.
type seenRecord struct {
	CountedRecord
	*reader
	possible bool // some path has it
}

// Suspect finds the faults that explain records which no path has. The first explains
// most and contradicts least. measured says that the plan's probabilities are more than a
// guess: then tables are suspected too that no record shows though many should.
func (d *Decoder) Suspect(records []CountedRecord, measured bool) []Suspicion {
	seen := d.heaviest(records)
	if len(seen) == 0 {
		return nil
	}
	var odd []seenRecord // of those that no path has, the first few tell whom to suspect
	for i := range seen {
		r := &seen[i]
		if r.possible = r.observe(r.Bits) && r.feasible(); !r.possible && len(odd) < maxOdd {
			odd = append(odd, *r)
		}
	}
	marked := d.markedTables()
	others := slices.Clone(marked) // of tables that explain alike, one that records show
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

// misplacements weigh that a table runs when one of others does, as far as that explains any of the odd
// records.
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

// rank puts the best first. It leaves out what contradicts more than it explains, what
// contradicts anything where something explains without, and what says of a table that
// it runs where nothing does when it may be said that it is skipped.
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

// heaviest keeps the records of most packets, without those of a wrong length.
func (d *Decoder) heaviest(records []CountedRecord) []seenRecord {
	records = slices.DeleteFunc(slices.Clone(records), func(r CountedRecord) bool {
		return d.check(r.Bits) != nil || d.all.stray(r.Bits) >= 0
	})
	slices.SortFunc(records, func(a, b CountedRecord) int {
		return cmp.Or(cmp.Compare(b.Packets, a.Packets), slices.Compare(a.Bits, b.Bits), cmp.Compare(a.End, b.End))
	})
	var list []seenRecord
	for _, c := range records[:min(len(records), maxSuspects)] {
		if r, err := d.reader(Told{End: c.End}); err == nil {
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

// feasible reports whether any path has what was observed.
func (r *reader) feasible() bool {
	r.w.index()
	r.w.count(r.chain)
	return r.w.some
}

// skipped weighs that a table is never run: the record never shows it, and the packet
// goes on as if it had found nothing there. It also tells how likely it is that none of
// the packets ran it, by the plan's probabilities.
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
			r.w.evidence[t] = evidence{} // it might have run
			r.w.index()
			if tell := r.tell(); tell != nil && r.w.sums[len(r.w.sums)-1] >= leastShare {
				expected += tell[t].RanP * float64(r.Packets)
				log += math.Log1p(-min(tell[t].RanP, 1-1e-9)) * float64(r.Packets)
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
	return s, math.Exp(log)
}

func (d *Decoder) ranMarked(id string) bool {
	return slices.ContainsFunc(d.all.marks, func(m tableMark) bool { return m.Table == id && !m.Hit })
}

// misplaced weighs that a table runs when another does, and at no other time.
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
