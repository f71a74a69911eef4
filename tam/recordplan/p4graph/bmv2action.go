package p4graph

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tamtam/tam/record"
)

// Names of things that are not fields, in the sets of what nodes read and write.
const (
	valid     = ".$valid$" // behind a header
	whole     = ".*"       // behind a header: all its fields, and whether it is valid
	registers = "reg:"     // before a register array
)

type (
	set map[string]bool
	// A use is what an action reads and writes.
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

// A bmAction is what the graph needs to know of an action.
type bmAction struct {
	name string
	id   int
	use  use
	// Whether it may end the pipeline (exit), and whether it may not. After a jump it may do either.
	mayExit, mayStay bool
}

// label is that of the edge that the action takes. Hit and miss say only how a lookup ended, and are
// not labels of actions.
func (a *bmAction) label() string {
	if a.name == record.Hit || a.name == record.Miss {
		return a.name + "()"
	}
	return a.name
}

// A bmProgram is what all pipelines of a program share.
type bmProgram struct {
	byID   map[int]*bmAction
	byName map[string][]*bmAction
	// groups are the headers of stacks and unions.
	groups map[string][]string
	// inputs are what hashes are calculated over.
	inputs map[string]set
	// meters are the fields that direct meters of tables write.
	meters map[string][]string
	fields int // of all actions
}

func newBMProgram(d *document) (*bmProgram, error) {
	p := &bmProgram{
		byID: map[int]*bmAction{}, byName: map[string][]*bmAction{},
		groups: map[string][]string{}, inputs: map[string]set{}, meters: map[string][]string{},
	}
	if err := p.readGroups(d); err != nil {
		return nil, err
	}
	type calculation struct {
		Name  string            `json:"name"`
		Input []json.RawMessage `json:"input"`
	}
	err := eachAs(d.Calculations, "calculation", maxActions, func(c *calculation) error {
		u := newUse()
		for _, in := range c.Input {
			v, err := decodeValue(in)
			if err != nil {
				return fmt.Errorf("%q: %w", c.Name, err)
			}
			p.read(u, v)
		}
		p.inputs[c.Name] = u.reads
		return p.count(c.Name, u)
	})
	if err != nil {
		return nil, err
	}
	type meter struct {
		Direct  bool     `json:"is_direct"`
		Binding string   `json:"binding"`
		Target  []string `json:"result_target"`
	}
	err = eachAs(d.Meters, "meter array", maxActions, func(m *meter) error {
		if m.Direct && len(m.Target) == 2 {
			p.meters[m.Binding] = append(p.meters[m.Binding], m.Target[0]+"."+m.Target[1])
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return p, eachAs(d.Actions, "action", maxActions, p.action)
}

// count bounds the fields of all actions, since tables repeat them.
func (p *bmProgram) count(name string, u use) error {
	if p.fields += len(u.reads) + len(u.writes); p.fields > maxFields {
		return fmt.Errorf("%q: with it more than %d fields are read and written", name, maxFields)
	}
	return nil
}

// readGroups reads which headers are in which stack and union. What is written to one
// of a group whose index is not known is written to all of it.
func (p *bmProgram) readGroups(d *document) error {
	const most = 65_536 // headers
	type group struct {
		Name    string `json:"name"`
		ID      int    `json:"id"`
		Headers []int  `json:"header_ids"`
		Unions  []int  `json:"header_union_ids"`
	}
	headers, unions := map[int]string{}, map[int]string{}
	err := eachAs(d.Headers, "header", most, func(h *group) error {
		headers[h.ID] = h.Name
		return nil
	})
	members := 0
	join := func(what string, list json.RawMessage, of func(*group) []string) {
		if err != nil {
			return
		}
		err = eachAs(list, what, most, func(g *group) error {
			p.groups[g.Name] = of(g)
			if members += len(p.groups[g.Name]); members > most {
				return fmt.Errorf("%q: with it %d headers, want at most %d in all", g.Name, members, most)
			}
			return nil
		})
	}
	named := func(g *group) (names []string) {
		for _, id := range g.Headers {
			names = append(names, headers[id])
		}
		return names
	}
	join("header stack", d.Stacks, named)
	join("header union", d.Unions, func(g *group) []string {
		unions[g.ID] = g.Name
		return named(g)
	})
	join("header union stack", d.UnionStacks, func(g *group) (names []string) {
		for _, id := range g.Unions {
			names = append(names, p.groups[unions[id]]...)
		}
		return names
	})
	return err
}

// headersOf returns the headers that a name of a header, stack or union stands for.
func (p *bmProgram) headersOf(name string) []string {
	if group, ok := p.groups[name]; ok {
		return group
	}
	return []string{name}
}

type bmPrimitive struct {
	Op         string            `json:"op"`
	Parameters []json.RawMessage `json:"parameters"`
}

func (p *bmProgram) action(raw *struct {
	Name       string        `json:"name"`
	ID         int           `json:"id"`
	Primitives []bmPrimitive `json:"primitives"`
}) error {
	a := &bmAction{name: raw.Name, id: raw.ID, use: newUse()}
	for i, q := range raw.Primitives {
		if err := p.primitive(a.use, q); err != nil {
			return fmt.Errorf("%q: primitive %d: %w", a.name, i, err)
		}
	}
	a.mayExit, a.mayStay = exits(raw.Primitives)
	if other := p.byID[a.id]; other != nil {
		return fmt.Errorf("%q and %q both have id %d", other.name, a.name, a.id)
	}
	p.byID[a.id] = a
	p.byName[a.name] = append(p.byName[a.name], a)
	return p.count(a.name, a.use)
}

// exits reports whether a list of primitives may reach an exit, and whether it may reach its end
// without one. Jumps lead to an index in the list.
func exits(list []bmPrimitive) (may, not bool) {
	// Exit only marks the packet: the action goes on, but the mark stays.
	seen := make([]bool, len(list)+1)
	for ready := []int{0}; len(ready) > 0; {
		i := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		if seen[i] {
			continue
		}
		seen[i] = true
		if i == len(list) {
			not = true
			continue
		}
		switch list[i].Op {
		case "exit":
			may = true
		case "_jump", "_jump_if_zero":
			to, ok := target(list[i], len(list))
			if !ok { // to anywhere
				return slices.ContainsFunc(list, func(q bmPrimitive) bool { return q.Op == "exit" }), true
			}
			ready = append(ready, to)
			if list[i].Op == "_jump_if_zero" {
				ready = append(ready, i+1)
			}
		default:
			ready = append(ready, i+1)
		}
	}
	return may, not || !may // an endless loop does not end the pipeline
}

// target returns where a jump leads: its last parameter, if that is a number.
func target(q bmPrimitive, n int) (int, bool) {
	var v struct {
		Value json.RawMessage `json:"value"`
	}
	if len(q.Parameters) == 0 || json.Unmarshal(q.Parameters[len(q.Parameters)-1], &v) != nil {
		return 0, false
	}
	at, err := strconv.ParseInt(strings.Trim(string(v.Value), `"`), 0, 64)
	return int(min(at, int64(n))), err == nil && at >= 0
}
