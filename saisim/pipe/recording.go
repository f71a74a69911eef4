package pipe

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A Mark is a bit of a field that a table sets. It sets the bit when it ran, when it hit, or when it hit an entry with
// one of some actions.
type Mark struct {
	Pipe, Table string
	Hit         bool     // false means that the bit is set when it ran
	Of          []string // actions, "" for no action; nil means any action
	Field       string
	Bit         uint8
}

// missed is the suffix of the name of a default action, if the table's entries have the same action and are marked for
// hits.
const missed = "_miss"

// Recording returns a program that does the same as p, and also sets the marks' bits in new fields. A compiler would
// produce the same program. Actions of a marked table get an operation for each field. If the default is an action and
// the mark is for hits, the default becomes a copy of it, NAME_miss. Gates that refer to NAME then refer to NAME_miss
// as well. So a change of the default in a running program must name NAME_miss.
//
// The program is not validated. It may exceed the action slots or the PHV, and two tables of a stage must not write one
// field.
func (p *Program) Recording(fields []Field, marks []Mark) (*Program, error) {
	out, err := p.clone()
	if err != nil {
		return nil, err
	}
	widths := map[string]uint8{}
	for _, f := range fields {
		if slices.ContainsFunc(out.Fields, func(have Field) bool { return have.Name == f.Name }) {
			return nil, fmt.Errorf("program %q has a field %q already", p.Name, f.Name)
		}
		f.Bridged = true
		out.Fields, widths[f.Name] = append(out.Fields, f), f.Width
	}
	for _, m := range marks {
		if m.Bit >= widths[m.Field] {
			return nil, fmt.Errorf("%s.%s: bit %d of field %q, which has %d", m.Pipe, m.Table, m.Bit, m.Field, widths[m.Field])
		}
	}
	for name, pp := range map[string]*Pipe{"ingress": &out.Ingress, "egress": &out.Egress} {
		for i := range pp.Tables {
			t := &pp.Tables[i]
			to := newSetting()
			marks = slices.DeleteFunc(slices.Clone(marks), func(m Mark) bool {
				is := m.Pipe == name && m.Table == t.Name
				switch {
				case is && m.Of != nil:
					to.act(m)
				case is && m.Hit:
					to.hit[m.Field] |= 1 << m.Bit
				case is:
					to.ran[m.Field] |= 1 << m.Bit
				}
				return is
			})
			if err := pp.mark(t, to); err != nil {
				return nil, fmt.Errorf("%s.%s: %w", name, t.Name, err)
			}
		}
	}
	if len(marks) > 0 {
		return nil, fmt.Errorf("program %q has no table %s.%s", p.Name, marks[0].Pipe, marks[0].Table)
	}
	return out, nil
}

func (p *Program) clone() (*Program, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	return Read(strings.NewReader(string(text)))
}

// A setting holds the bits of fields that a table sets when it ran, when it hit, and when it hit an entry with an
// action.
type setting struct {
	ran, hit map[string]uint64
	by       map[string]map[string]uint64 // by action
}

func newSetting() *setting {
	return &setting{map[string]uint64{}, map[string]uint64{}, map[string]map[string]uint64{}}
}

func (s *setting) act(m Mark) {
	for _, a := range m.Of {
		if s.by[a] == nil {
			s.by[a] = map[string]uint64{}
		}
		s.by[a][m.Field] |= 1 << m.Bit
	}
}

// entry returns the bits that an entry with an action sets.
func (s *setting) entry(action string) map[string]uint64 {
	all := map[string]uint64{}
	for _, bits := range []map[string]uint64{s.ran, s.hit, s.by[action]} {
		for f, b := range bits {
			all[f] |= b
		}
	}
	return all
}

// mark makes a table set bits.
func (pp *Pipe) mark(t *Table, to *setting) error {
	if len(to.ran)+len(to.hit)+len(to.by) == 0 {
		return nil
	}
	for a := range to.by {
		if a != "" && !slices.ContainsFunc(t.Actions, func(x Action) bool { return x.Name == a }) {
			return fmt.Errorf("there is no action %q", a)
		}
	}
	miss := t.Default.Action
	i := slices.IndexFunc(t.Actions, func(a Action) bool { return a.Name == miss })
	switch {
	case i < 0:
		miss = ""
	case len(to.hit)+len(to.by) > 0 && t.Match != "always":
		again := t.Actions[i]
		again.Ops, again.Calls = slices.Clone(again.Ops), slices.Clone(again.Calls)
		again.Name += missed
		pp.alsoAsk(t.Name, miss, again.Name)
		t.Actions = append(t.Actions, again)
		miss = again.Name
	}
	if miss == "" && len(to.ran) > 0 {
		miss = "recorded" + missed
		t.Actions = append(t.Actions, Action{Name: miss})
	}
	for j := range t.Actions {
		if a := &t.Actions[j]; a.Name == miss {
			a.set(to.ran)
		} else {
			a.set(to.entry(a.Name))
		}
	}
	t.Default.Action = miss
	return t.markEmpty(to.entry(""))
}

// markEmpty gives entries without an action an action that sets bits.
func (t *Table) markEmpty(bits map[string]uint64) error {
	const name = "recorded"
	if len(bits) == 0 {
		return nil
	}
	for i := range t.Entries {
		if t.Entries[i].Action == "" {
			t.Entries[i].Action = name
		}
	}
	if !slices.ContainsFunc(t.Entries, func(e Entry) bool { return e.Action == name }) {
		return nil
	}
	if slices.ContainsFunc(t.Actions, func(a Action) bool { return a.Name == name }) {
		return fmt.Errorf("there is an action %q already", name)
	}
	a := Action{Name: name}
	a.set(bits)
	t.Actions = append(t.Actions, a)
	return nil
}

// set adds operations that set bits of fields.
func (a *Action) set(bits map[string]uint64) {
	var fields []string
	for f := range bits {
		fields = append(fields, f)
	}
	slices.Sort(fields)
	for _, f := range fields {
		a.Ops = append(a.Ops, Op{Do: "or", To: f, A: Operand{Field: f}, B: Operand{Const: bits[f]}})
	}
}

// alsoAsk extends gates that test whether a table ran an action, so that they also hold for another action. It adds a
// row for each.
func (pp *Pipe) alsoAsk(table, action, also string) {
	for i := range pp.Tables {
		t := &pp.Tables[i]
		for r := 0; r < len(t.Gate); r++ {
			for k, term := range t.Gate[r] {
				if term.Table == table && term.Is == "action" && term.Action == action {
					row := slices.Clone(t.Gate[r])
					row[k].Action = also
					t.Gate = append(t.Gate, row)
				}
			}
		}
	}
}
