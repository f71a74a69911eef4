package recordplan

import (
	"cmp"
	"fmt"
	"slices"

	"tamtam/record"
)

// Kinds of faults.
const (
	FaultSkip     = "skip"
	FaultMisplace = "misplace"
)

// A Suspicion is a fault that a chip may have, as records tell it: that it never runs
// a table, or that it runs one where another is.
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
	// or by an earlier capture. Of a skipped table only.
	Expected float64 `json:"expected,omitempty"`
}

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
		what += fmt.Sprintf(": no packet ran it, about %.0f were expected to", s.Expected)
	}
	if s.Contradicts > 0 {
		what += fmt.Sprintf("; %d records are against it", s.Contradicts)
	}
	return what
}

// CountedRecord is how many packets had a record.
type CountedRecord struct {
	Bits    []byte
	Packets uint64
}

const (
	// maxSuspects is how many distinct records are looked at, those of most packets, and
	// how many suspicions are given.
	maxSuspects    = 256
	maxOdd         = 8
	maxSuspicions  = 8
	enoughExpected = 10
)

// Suspect finds the faults that explain records which no path has. The first explains
// most and contradicts least. measured says that the plan's probabilities are more than a
// guess: then tables are suspected too that no record shows though many should.
func (d *Decoder) Suspect(records []CountedRecord, measured bool) []Suspicion {
	records = d.heaviest(records)
	if len(records) == 0 {
		return nil
	}
	possible := make([]bool, len(records))
	var odd []CountedRecord // of those that no path has, the first few tell whom to suspect
	for i, r := range records {
		if possible[i] = d.observe(r.Bits) && d.feasible(); !possible[i] && len(odd) < maxOdd {
			odd = append(odd, r)
		}
	}
	marked := d.markedTables()
	others := slices.Clone(marked) // of tables that explain alike, one that records show
	for t := range d.chain.tables {
		if d.chain.tables[t].id != "" && !slices.Contains(marked, t) {
			others = append(others, t)
		}
	}
	var list []Suspicion
	for _, t := range marked {
		if s := d.skipped(t, records, possible); s.Explains > 0 || measured && s.Expected >= enoughExpected {
			list = append(list, s)
		}
		for _, into := range others {
			if into == t || len(odd) == 0 || d.fixed(t) || d.fixed(into) {
				continue
			}
			if d.misplaced(t, into, odd, nil).Explains > 0 {
				list = append(list, d.misplaced(t, into, records, possible))
			}
		}
	}
	return rank(list)
}

// fixed says that a table is a fixed function of the chip, which no compiler places.
func (d *Decoder) fixed(t int) bool {
	id := d.chain.tables[t].id
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
		return s.Explains > 0 && s.Contradicts >= s.Explains || clean && s.Contradicts > 0 || s.Do == FaultMisplace && skipped[s.Table] >= s.Explains
	})
	slices.SortStableFunc(list, func(a, b Suspicion) int {
		net := func(s Suspicion) int64 { return int64(s.Explains) - int64(s.Contradicts) }
		return cmp.Or(cmp.Compare(net(b), net(a)), cmp.Compare(a.Contradicts, b.Contradicts),
			-cmp.Compare(a.Do, b.Do), cmp.Compare(b.Expected, a.Expected))
	})
	return list[:min(len(list), maxSuspicions)]
}

// heaviest keeps the records of most packets, without those of a wrong length.
func (d *Decoder) heaviest(records []CountedRecord) []CountedRecord {
	records = slices.DeleteFunc(slices.Clone(records), func(r CountedRecord) bool { return d.check(r.Bits) != nil || d.stray(r.Bits) >= 0 })
	slices.SortFunc(records, func(a, b CountedRecord) int {
		return cmp.Or(cmp.Compare(b.Packets, a.Packets), slices.Compare(a.Bits, b.Bits))
	})
	return records[:min(len(records), maxSuspects)]
}

func (d *Decoder) markedTables() []int {
	var list []int
	for _, m := range d.marks {
		if m.table >= 0 && !slices.Contains(list, m.table) {
			list = append(list, m.table)
		}
	}
	return list
}

// feasible says whether any path has what was observed.
func (d *Decoder) feasible() bool {
	d.w.index()
	d.w.count(d.chain)
	return d.w.some
}

// skipped weighs that a table is never run: the record never shows it, and the packet
// goes on as if it had found nothing there.
func (d *Decoder) skipped(t int, records []CountedRecord, possible []bool) Suspicion {
	s := Suspicion{Do: FaultSkip, Table: d.chain.tables[t].id}
	var expected float64
	for i, r := range records {
		d.observe(r.Bits)
		says := &d.w.says[t]
		ok := says.ran != yes && says.hit != yes
		*says = said{hit: no}
		switch ok = ok && d.feasible(); {
		case ok && !possible[i]:
			s.Explains += r.Packets
		case !ok:
			s.Contradicts += r.Packets
		}
		if ok {
			d.w.says[t] = said{} // it might have run
			if tell := d.retell(); tell != nil {
				expected += tell[t].RanP * float64(r.Packets)
			}
		}
	}
	if s.Contradicts == 0 && d.ranMarked(t) {
		s.Expected = expected
	}
	return s
}

func (d *Decoder) retell() []TableSays {
	d.w.index()
	return d.tell()
}

func (d *Decoder) ranMarked(t int) bool {
	return slices.ContainsFunc(d.marks, func(m tableMark) bool { return m.table == t && !m.Hit })
}

// misplaced weighs that a table runs when another does, and at no other time. A nil
// possible: none of the records is.
func (d *Decoder) misplaced(t, into int, records []CountedRecord, possible []bool) Suspicion {
	s := Suspicion{Do: FaultMisplace, Table: d.chain.tables[t].id, Into: d.chain.tables[into].id}
	for i, r := range records {
		d.observe(r.Bits)
		own, other := &d.w.says[t], &d.w.says[into]
		ran := own.ran
		*own = said{}
		ok := ran != notSaid && (other.ran == notSaid || other.ran == ran)
		if ok {
			other.ran = ran
			ok = d.feasible()
		}
		switch {
		case ok && (possible == nil || !possible[i]):
			s.Explains += r.Packets
		case !ok:
			s.Contradicts += r.Packets
		}
	}
	return s
}
