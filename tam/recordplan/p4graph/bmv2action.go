package p4graph

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"tamtam/tam/record"
)

// Suffixes and prefixes of names that are not fields, in the sets of reads and writes.
const (
	valid     = ".$valid$" // suffix of a header
	whole     = ".*"       // suffix of a header, for all its fields and its validity
	registers = "reg:"     // prefix of a register array
)

type (
	set map[string]bool
	// A use holds the reads and writes of an action.
	use struct{ reads, writes set }
)

func newUse() use { return use{set{}, set{}} }

func (u use) add(o use) {
	maps.Copy(u.reads, o.reads)
	maps.Copy(u.writes, o.writes)
}

func (s set) put(names ...string) {
	for _, n := range names {
		s[n] = true
	}
}

func (s set) list() []string { return slices.Sorted(maps.Keys(s)) }

// A bmAction holds what the graph needs about an action.
type bmAction struct {
	name string
	id   int
	use  use
	// mayExit is true if the action may end the pipeline (exit), mayStay if it may end without an exit. After a jump
	// both are possible.
	mayExit, mayStay bool
}

// label returns the label of the action's edge. Hit and miss describe a lookup, so they are not labels of actions.
func (a *bmAction) label() string {
	if a.name == record.Hit || a.name == record.Miss {
		return a.name + "()"
	}
	return a.name
}

// A bmProgram holds what all pipelines of a program share.
type bmProgram struct {
	byID map[int]*bmAction
	// groups holds the headers of stacks and unions. A write to a member with an unknown index counts as a write to all
	// members.
	groups map[string][]string
	// inputs holds the inputs of hash calculations.
	inputs map[string]set
	// meters holds the fields that direct meters of tables write.
	meters map[string][]string
}

type (
	bmPrimitives struct {
		Name       string        `json:"name"`
		ID         int           `json:"id"`
		Primitives []bmPrimitive `json:"primitives"`
	}
	bmPrimitive struct {
		Op         string            `json:"op"`
		Parameters []json.RawMessage `json:"parameters"`
	}
	bmCalculation struct {
		Name  string            `json:"name"`
		Input []json.RawMessage `json:"input"`
	}
	bmMeter struct {
		Direct  bool     `json:"is_direct"`
		Binding string   `json:"binding"`
		Target  []string `json:"result_target"`
	}
	// A bmHeaders is a header, or a stack or union of headers.
	bmHeaders struct {
		Name    string `json:"name"`
		ID      int    `json:"id"`
		Headers []int  `json:"header_ids"`
		Unions  []int  `json:"header_union_ids"`
	}
)

func newBMProgram(d *bmDocument) (*bmProgram, error) {
	p := &bmProgram{
		byID: map[int]*bmAction{}, groups: groupsOf(d), inputs: map[string]set{}, meters: map[string][]string{},
	}
	for i := range d.Calculations {
		c := &d.Calculations[i]
		use, err := p.inputsOf(c)
		if err != nil {
			return nil, fmt.Errorf("calculation %q: %w", c.Name, err)
		}
		p.inputs[c.Name] = use.reads
	}
	for _, m := range d.Meters {
		if m.Direct && len(m.Target) == 2 {
			p.meters[m.Binding] = append(p.meters[m.Binding], m.Target[0]+"."+m.Target[1])
		}
	}
	for i := range d.Actions {
		if err := p.action(&d.Actions[i]); err != nil {
			return nil, fmt.Errorf("action %q: %w", d.Actions[i].Name, err)
		}
	}
	return p, nil
}

// inputsOf returns the inputs of a hash calculation, as reads.
func (p *bmProgram) inputsOf(c *bmCalculation) (use, error) {
	u := newUse()
	for _, in := range c.Input {
		v, err := decodeValue(in)
		if err != nil {
			return u, err
		}
		p.read(u, v)
	}
	return u, nil
}

// groupsOf returns the headers of each stack and union.
func groupsOf(d *bmDocument) map[string][]string {
	groups, headers, unions := map[string][]string{}, map[int]string{}, map[int]string{}
	for _, h := range d.Headers {
		headers[h.ID] = h.Name
	}
	for _, g := range d.Unions {
		unions[g.ID] = g.Name
	}
	for _, g := range slices.Concat(d.Stacks, d.Unions, d.UnionStacks) {
		var all []string
		for _, id := range g.Headers {
			all = append(all, headers[id])
		}
		for _, id := range g.Unions {
			all = append(all, groups[unions[id]]...)
		}
		groups[g.Name] = all
	}
	return groups
}

// headersOf returns the headers of a header, stack or union.
func (p *bmProgram) headersOf(name string) []string {
	if group, ok := p.groups[name]; ok {
		return group
	}
	return []string{name}
}

func (p *bmProgram) action(raw *bmPrimitives) error {
	a := &bmAction{name: raw.Name, id: raw.ID, use: newUse()}
	for i, q := range raw.Primitives {
		if err := p.primitive(a.use, q); err != nil {
			return fmt.Errorf("primitive %d: %w", i, err)
		}
	}
	a.mayExit, a.mayStay = exits(raw.Primitives)
	if other := p.byID[a.id]; other != nil {
		return fmt.Errorf("it has id %d, as %q has", a.id, other.name)
	}
	p.byID[a.id] = a
	return nil
}

// exits reports whether a list of primitives may reach an exit, and whether it may reach its end without one. After a
// jump both are possible. Exit only marks the packet: the action continues, but the mark stays.
func exits(list []bmPrimitive) (may, not bool) {
	jumped := false
	not = true
	for _, q := range list {
		switch q.Op {
		case "exit":
			may, not = true, not && jumped
		case "_jump", "_jump_if_zero":
			jumped = true
		}
	}
	return may, not
}
