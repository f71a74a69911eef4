package check

import (
	"errors"
	"fmt"
	"slices"

	"tamtam/tam/record"
)

// Plan returns all faults of a plan that contains its graph. It checks C4 by the graph's dependencies.
func Plan(p *record.Plan) error {
	if p.Graph == nil {
		return errors.New("plan without its graph, want one to check it by")
	}
	if _, err := record.NewIndex(p.Graph); err != nil {
		return fmt.Errorf("plan with a bad graph: %w", err)
	}
	c := &checker{plan: p, nodes: map[string]*record.Node{}, next: map[string][]record.Edge{}}
	for i := range p.Graph.Nodes {
		n := &p.Graph.Nodes[i]
		c.nodes[n.ID] = n
	}
	for _, e := range p.Graph.Edges {
		c.next[e.From] = append(c.next[e.From], e)
	}
	c.explore()
	c.bits()
	c.stages()
	c.writers()
	c.mustRecord()
	c.figures()
	return errors.Join(c.wrong...)
}

type checker struct {
	plan   *record.Plan
	nodes  map[string]*record.Node
	next   map[string][]record.Edge
	behind map[string]map[string]bool // nodes that a packet can reach from each node
	wrong  []error
}

func (c *checker) say(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Errorf(format, args...))
}

// explore computes behind.
func (c *checker) explore() {
	c.behind = map[string]map[string]bool{}
	var visit func(id string) map[string]bool
	visit = func(id string) map[string]bool {
		if set, ok := c.behind[id]; ok {
			return set
		}
		set := map[string]bool{}
		for _, e := range c.next[id] {
			set[e.To] = true
			for far := range visit(e.To) {
				set[far] = true
			}
		}
		c.behind[id] = set
		return set
	}
	visit(c.plan.Graph.Init)
}

// always reports whether every path passes through a node.
func (c *checker) always(id string) bool {
	seen := map[string]bool{id: true}
	var escapes func(at string) bool
	escapes = func(at string) bool {
		if at == record.Exit {
			return true
		}
		if seen[at] {
			return false
		}
		seen[at] = true
		return slices.ContainsFunc(c.next[at], func(e record.Edge) bool { return escapes(e.To) })
	}
	return !escapes(c.plan.Graph.Init)
}

// bits checks C2, C3 and the meaning of bits.
func (c *checker) bits() {
	widths, err := record.ParseContainers(c.plan.PHV)
	if err != nil {
		c.say("%w", err)
		return
	}
	type place struct{ container, bit int }
	used := map[place]string{}
	seen := map[string]bool{}
	for _, r := range c.plan.Recorded {
		n := c.nodes[r.Table]
		switch {
		case n == nil || n.Kind != record.Table:
			c.say("recorded %q is no table of the graph", r.Table)
			continue
		case seen[r.Table]:
			c.say("table %q is recorded twice", r.Table)
		case r.Container < 0 || r.Container >= len(widths):
			c.say("C2: table %q writes container %d, want 0 to %d", r.Table, r.Container, len(widths)-1)
			continue
		}
		seen[r.Table] = true
		count := 0
		list := []*int{r.Ran, r.Hit}
		for i := range r.Actions {
			list = append(list, &r.Actions[i].Bit)
		}
		for _, b := range list {
			if b == nil {
				continue
			}
			count++
			if *b < 0 || *b >= int(widths[r.Container]) {
				c.say("C3: table %q writes bit %d of container %d, which has %d", r.Table, *b, r.Container, widths[r.Container])
			}
			at := place{r.Container, *b}
			if other, ok := used[at]; ok {
				c.say("C3: tables %q and %q write bit %d of container %d", other, r.Table, *b, r.Container)
			}
			used[at] = r.Table
		}
		if count != r.Bits || count == 0 {
			c.say("table %q has %d bits and writes %d", r.Table, r.Bits, count)
		}
		c.meaning(r, n)
		c.actions(r)
	}
}

// meaning checks that a table records only bits that carry information.
func (c *checker) meaning(r record.Recorded, n *record.Node) {
	always := c.always(r.Table)
	switch {
	case r.Hit != nil && c.plan.Mode != record.ModeHit && c.plan.Mode != record.ModeAction:
		c.say("table %q records its hit in mode %s", r.Table, c.plan.Mode)
	case r.Hit != nil && n.Keyless:
		c.say("table %q has no key, and records its hit", r.Table)
	case r.Hit != nil && r.Ran == nil && !always:
		c.say("table %q records its hit and not whether it ran, which not every packet does", r.Table)
	case r.Ran != nil && always:
		c.say("table %q records that it ran, which every packet does", r.Table)
	}
}

// stages checks C1 and C4.
func (c *checker) stages() {
	c.placement()
	for _, r := range c.plan.Recorded {
		if s, ok := c.plan.Placement[r.Table]; ok && s != r.Stage {
			c.say("table %q records in stage %d, and is in stage %d", r.Table, r.Stage, s)
		}
	}
	if !c.plan.Graph.Placed {
		c.dependencies()
	}
}

// placement checks C1, and C4 if the chip has placed the tables.
func (c *checker) placement() {
	p, g := c.plan, c.plan.Graph
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if n.Kind != record.Table {
			continue
		}
		s, ok := p.Placement[n.ID]
		switch {
		case !ok:
			c.say("C1: table %q has no stage", n.ID)
		case s < 0 || s >= p.Stages:
			c.say("C1: table %q is in stage %d, want 0 to %d", n.ID, s, p.Stages-1)
		case g.Placed && s != n.Stage:
			c.say("C4: table %q is in stage %d of the plan, and in stage %d of the chip", n.ID, s, n.Stage)
		}
	}
}

// dependencies checks C4 if the planner has placed the tables.
func (c *checker) dependencies() {
	for _, d := range c.plan.Graph.Deps {
		a, b := c.plan.Placement[d.From], c.plan.Placement[d.To]
		if a > b || a == b && d.Strict() {
			c.say("C4: table %q in stage %d, and %q, which depends on it (%v), in stage %d", d.From, a, d.To, d.Kinds, b)
		}
	}
}

// writers checks C5.
func (c *checker) writers() {
	for i, a := range c.plan.Recorded {
		for _, b := range c.plan.Recorded[:i] {
			na, nb := c.nodes[a.Table], c.nodes[b.Table]
			if na == nil || nb == nil || a.Container != b.Container || a.Stage != b.Stage {
				continue
			}
			oneWriter := na.Unit != "" && na.Unit == nb.Unit
			if !oneWriter && (c.behind[a.Table][b.Table] || c.behind[b.Table][a.Table]) {
				c.say("C5: tables %q and %q both write container %d in stage %d, and a packet can run both",
					b.Table, a.Table, a.Container, a.Stage)
			}
		}
	}
}

func (c *checker) mustRecord() {
	for _, id := range c.plan.MustRecord {
		if !slices.ContainsFunc(c.plan.Recorded, func(r record.Recorded) bool { return r.Table == id }) {
			c.say("table %q must be recorded, and is not", id)
		}
	}
}
