package saisim

import (
	"fmt"
	"strings"

	"tamtam/saisim/pipe"
)

// A Graph is what a packet can go through: the fixed functions of both pipes and
// the tables of the program that is loaded.
type Graph struct {
	Chip          string `json:"chip"`
	Program       string `json:"program,omitempty"`
	IngressStages uint32 `json:"ingress_stages"`
	EgressStages  uint32 `json:"egress_stages"`
	// Nodes are in the order in which packets come to them; each pipe begins with
	// its first. A packet of the egress pipe is a copy of one that went through the
	// ingress pipe.
	Nodes []Node `json:"nodes"`
}

// A Node is one step of a pipe.
type Node struct {
	Name  string `json:"name"` // unique in its pipe
	Pipe  string `json:"pipe"` // ingress or egress
	Stage uint32 `json:"stage"`
	// Kind is function (of the chip), table (of the program) or condition.
	Kind    string   `json:"kind"`
	Match   string   `json:"match,omitempty"`
	Key     []string `json:"key,omitempty"`
	Actions []string `json:"actions,omitempty"`
	Default string   `json:"default,omitempty"`
	// Condition, of a condition: rows of terms, as a gate has them.
	Condition [][]pipe.Term `json:"condition,omitempty"`
	// Next names the node that follows, by outcome: pass and drop of a function, true
	// and false of a condition, always of a table. No name: the pipe ends here.
	Next map[string]string `json:"next"`
}

// Describe returns the graph of the chip's pipes as they are now.
func (c *Chip) Describe() Graph {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := Graph{Chip: c.prof.Name, IngressStages: c.prof.IngressStages, EgressStages: c.prof.EgressStages}
	p := &pipe.Program{}
	if c.program != nil {
		p = c.program.Program()
		g.Program = p.Name
	}
	in := grapher{pipe: "ingress"}
	last := max(g.IngressStages, 1) - 1
	for s := range last + 1 {
		if s == 0 {
			in.function("admission", s, true)
		}
		if s == g.IngressStages/2 {
			in.function("acl", s, false) // its drops are carried out by forwarding
			if c.marking.used > 0 {
				in.function("altmark", s, false)
			}
		}
		if s == last {
			in.function("learning", s, false)
			in.function("forwarding", s, true)
		}
		in.stage(&p.Ingress, s)
	}
	out := grapher{pipe: "egress"}
	last = max(g.EgressStages, 1) - 1
	for s := range last + 1 {
		if s == 0 && c.sketch.on {
			out.function("flymon", s, false)
		}
		if s == last {
			out.function("mtu", s, true)
			out.function("acl", s, true)
			out.function("rewrite", s, false)
		}
		out.stage(&p.Egress, s)
	}
	g.Nodes = append(in.end(), out.end()...)
	return g
}

// A grapher strings the nodes of a pipe together: what an outcome leads to is the
// node that comes next, unless it says otherwise.
type grapher struct {
	pipe  string
	nodes []Node
	open  []edge // outcomes that lead to the next node
}

type edge struct {
	node    int
	outcome string
}

// add puts a node behind those before it; outcomes lead on, others end the pipe.
func (g *grapher) add(n Node, outcomes ...string) {
	for _, e := range g.open {
		g.nodes[e.node].Next[e.outcome] = n.Name
	}
	g.open = nil
	n.Pipe, n.Next = g.pipe, map[string]string{}
	g.nodes = append(g.nodes, n)
	for _, o := range outcomes {
		g.open = append(g.open, edge{len(g.nodes) - 1, o})
	}
}

func (g *grapher) function(name string, stage uint32, drops bool) {
	g.add(Node{Name: "chip." + name, Stage: stage, Kind: "function"}, "pass")
	if drops {
		g.nodes[len(g.nodes)-1].Next["drop"] = ""
	}
}

// stage adds the program's tables of a stage, with a condition before each that has
// a gate, and one behind them all if they can drop.
func (g *grapher) stage(p *pipe.Pipe, s uint32) {
	drops := false
	for i := range p.Tables {
		t := &p.Tables[i]
		if uint32(t.Stage) != s {
			continue
		}
		gate := -1
		if len(t.Gate) > 0 {
			g.add(Node{Name: t.Name + ".gate", Stage: s, Kind: "condition", Condition: t.Gate}, "true")
			gate = len(g.nodes) - 1
		}
		n := Node{Name: t.Name, Stage: s, Kind: "table", Match: t.Match, Default: t.Default.Action}
		for _, in := range t.Key {
			n.Key = append(n.Key, in.Field)
		}
		for _, a := range t.Actions {
			n.Actions = append(n.Actions, a.Name)
			drops = drops || writes(&a, "ctl.drop")
		}
		g.add(n, "always")
		if gate >= 0 {
			g.open = append(g.open, edge{gate, "false"})
		}
	}
	if drops {
		g.add(Node{Name: fmt.Sprintf("stage%d.drop", s), Stage: s, Kind: "condition",
			Condition: [][]pipe.Term{{{Field: "ctl.drop", Is: "eq", Value: 1}}}}, "false")
		g.nodes[len(g.nodes)-1].Next["true"] = ""
	}
}

func writes(a *pipe.Action, field string) bool {
	for _, x := range a.Calls {
		if x.To == field {
			return true
		}
	}
	for _, x := range a.Ops {
		if x.To == field {
			return true
		}
	}
	return false
}

func (g *grapher) end() []Node {
	for _, e := range g.open {
		g.nodes[e.node].Next[e.outcome] = ""
	}
	return g.nodes
}

// String prints the graph, a line for each outcome.
func (g Graph) String() string {
	var b strings.Builder
	for _, n := range g.Nodes {
		for _, o := range []string{"pass", "drop", "true", "false", "always"} {
			if to, ok := n.Next[o]; ok {
				if to == "" {
					to = "end"
				}
				fmt.Fprintf(&b, "%s %d %s %s -> %s\n", n.Pipe, n.Stage, n.Name, o, to)
			}
		}
	}
	return b.String()
}
