package describe

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"tamtam/saisim/pipe"
)

// facts holds the knowledge on a way: the possible outcomes of tables, and the results of comparisons of fields.
// Missing entries are unknown.
type facts map[string]uint8

// These constants are the outcomes of a table, as bits of a fact. Comparisons use 0 and 1.
const (
	factSkipped = iota
	factMissed
	factHit
)

// common returns the facts that hold on all ways that join.
func common(branches []branch) facts {
	if len(branches) == 0 {
		return nil
	}
	all := maps.Clone(branches[0].facts)
	for _, w := range branches[1:] {
		for k := range all {
			if other, ok := w.facts[k]; ok {
				all[k] |= other
			} else {
				delete(all, k)
			}
		}
	}
	return all
}

func (f facts) with(key string, what uint8) facts {
	n := maps.Clone(f)
	if n == nil {
		n = facts{}
	}
	n[key] = what
	return n
}

func (f facts) outcome(table string, what uint8) facts { return f.with("table "+table, what) }

// lastAsks returns, for each fact that gates of a pipe use, the last table that uses it.
func lastAsks(p *pipe.Pipe) map[string]int {
	asks := map[string]int{}
	for i := range p.Tables {
		for _, row := range p.Tables[i].Gate {
			for j := range row {
				name := "table " + row[j].Table
				if row[j].Table == "" {
					name, _ = key(&row[j])
				}
				if last, ok := asks[name]; !ok || p.Tables[last].Stage <= p.Tables[i].Stage {
					asks[name] = i
				}
			}
		}
	}
	return asks
}

// asked removes the facts that no table after the i-th uses.
func (f facts) asked(asks map[string]int, i int) facts {
	n := maps.Clone(f)
	maps.DeleteFunc(n, func(k string, _ uint8) bool {
		last, ok := asks[k]
		return !ok || last == i
	})
	return n
}

// without removes the facts about fields.
func (f facts) without(fields []string) facts {
	n := maps.Clone(f)
	maps.DeleteFunc(n, func(k string, _ uint8) bool {
		return slices.ContainsFunc(fields, func(name string) bool { return fieldOf(k) == name })
	})
	return n
}

// behindFixed removes the facts about fields that fixed functions change.
func (f facts) behindFixed() facts {
	var fields []string
	for _, x := range pipe.Fixed() {
		if x.Access != pipe.ReadOnly {
			fields = append(fields, x.Name)
		}
	}
	return f.without(fields)
}

// key returns the name of a term's comparison, and whether the term is its negation.
func key(x *pipe.Term) (name string, not bool) {
	is := x.Is
	switch is {
	case "ne":
		is, not = "eq", true
	case "ge":
		is, not = "lt", true
	case "gt":
		is, not = "le", true
	}
	return fmt.Sprintf("%s %d %s %d", x.Field, x.Mask, is, x.Value), not
}

// fieldOf returns the field of a key. Names of fields contain no space.
func fieldOf(key string) string {
	var field string
	_, _ = fmt.Sscan(key, &field) // "table" is no field
	return field
}

// asked returns the outcomes that a term on a table accepts. For an action, these are its possible outcomes.
func asked(is string) uint8 {
	switch is {
	case "skipped":
		return 1 << factSkipped
	case "hit":
		return 1 << factHit
	case "miss":
		return 1 << factMissed
	}
	return 1<<factMissed | 1<<factHit
}

// term reports whether a term holds, and whether that is known.
func (f facts) term(x *pipe.Term) (holds, known bool) {
	if x.Table == "" {
		name, not := key(x)
		have, ok := f[name]
		return (have == 2) != not, ok && (have == 1 || have == 2)
	}
	have, ok := f["table "+x.Table]
	want := asked(x.Is)
	switch {
	case !ok:
		return false, false
	case have&want == 0:
		return false, true
	}
	return true, have&^want == 0 && x.Is != "action"
}

// gate reports whether a gate holds, and whether that is known.
func (f facts) gate(rows [][]pipe.Term) (holds, known bool) {
	if len(rows) == 0 {
		return true, true
	}
	known = true
	for _, row := range rows {
		all, any := true, false // all: every term holds; any: one is known not to hold
		for i := range row {
			holds, ok := f.term(&row[i])
			all = all && ok && holds
			any = any || ok && !holds
		}
		if all {
			return true, true
		}
		known = known && any
	}
	return false, known
}

// learn returns the facts after a gate. If the gate holds, so does every term of its only row. If not, the negation of
// its only term holds.
func (f facts) learn(rows [][]pipe.Term, holds bool) facts {
	if len(rows) != 1 || !holds && len(rows[0]) != 1 {
		return f
	}
	for i := range rows[0] {
		x := &rows[0][i]
		if x.Table == "" {
			name, not := key(x)
			what := uint8(1)
			if holds != not {
				what = 2
			}
			f = f.with(name, what)
			continue
		}
		what := asked(x.Is)
		if !holds {
			if x.Is == "action" {
				continue
			}
			what = ^what & 7
		}
		if have, ok := f["table "+x.Table]; ok {
			what &= have
		}
		f = f.with("table "+x.Table, what)
	}
	return f
}

// gateReads returns the fields and tables that a gate uses.
func gateReads(name string, t *pipe.Table) []string {
	var reads []string
	for _, row := range t.Gate {
		for _, x := range row {
			if x.Table != "" {
				reads = append(reads, name+"."+x.Table)
			} else {
				reads = append(reads, x.Field)
			}
		}
	}
	return sorted(reads)
}

func keyReads(t *pipe.Table) []string {
	var reads []string
	for _, in := range t.Key {
		reads = append(reads, in.Field)
	}
	return sorted(reads)
}

// actionReads returns the fields that actions read, directly or by hashes.
func actionReads(p *pipe.Pipe, t *pipe.Table) []string {
	var reads []string
	read := func(operands ...pipe.Operand) {
		for _, o := range operands {
			if o.Field != "" {
				reads = append(reads, o.Field)
			}
			if i := slices.IndexFunc(p.Hashes, func(h pipe.Hash) bool { return o.Hash != "" && h.Name == o.Hash }); i >= 0 {
				for _, in := range p.Hashes[i].Inputs {
					reads = append(reads, in.Field)
				}
			}
		}
	}
	for i := range t.Actions {
		for _, x := range t.Actions[i].Calls {
			read(x.Index, x.X, x.Y)
			reads = append(reads, "register "+x.Register)
		}
		for _, x := range t.Actions[i].Ops {
			read(x.A, x.B, x.If)
		}
	}
	return sorted(reads)
}

func actionWrites(t *pipe.Table) []string {
	var writes []string
	for i := range t.Actions {
		for _, x := range t.Actions[i].Calls {
			if x.To != "" {
				writes = append(writes, x.To)
			}
			writes = append(writes, "register "+x.Register)
		}
		for _, x := range t.Actions[i].Ops {
			writes = append(writes, x.To)
		}
	}
	return sorted(writes)
}

func sorted(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

func number(n uint32) string { return strconv.FormatUint(uint64(n), 10) }
