package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Exit is the target of edges that end the pipeline.
const Exit = "EXIT"

// Bounds of what is read: more is refused.
const (
	MaxNodes = 200_000
	MaxEdges = 2_000_000
	MaxJSON  = 256 << 20 // bytes
	MaxID    = 1024      // bytes of the name of a node
)

// Kinds of nodes.
const (
	Table     = "table"
	Condition = "cond" // cannot be recorded
)

// Labels of edges for the outcome of the table's lookup. A table whose edges all have one of these two
// branches by its hit; any other label is an action's name or a condition's outcome.
const (
	Hit  = "hit"
	Miss = "miss"
)

// A Graph is one pipeline of a program: a directed acyclic graph in which a packet
// goes from Init to [Exit].
type Graph struct {
	Program  string `json:"program,omitempty"`
	Pipeline string `json:"pipeline"` // ingress, egress, or switch for both with the queues between
	Init     string `json:"init"`     // [Exit]: the pipeline is empty
	Nodes    []Node `json:"nodes"`
	Edges    []Edge `json:"edges"`
	// Deps are the dependencies between tables. Nil: not known yet; they follow from
	// what nodes read and write.
	Deps []Dep `json:"deps,omitempty"`
	// Placed says that the tables are where Stage says, and stay there: the graph
	// describes a chip. Otherwise a planner places them.
	Placed bool `json:"placed,omitempty"`
	Stages int  `json:"stages,omitempty"` // that the pipeline has, if Placed
	// Only says which edges only packets of a class take; nil: nothing is known.
	Only []Only `json:"only,omitempty"`
	// Version differs between different graphs of one chip.
	Version uint64 `json:"version,omitempty"`
	// Reasons names the drop reasons of records, by their number; 0 is none.
	Reasons []string `json:"reasons,omitempty"`
	// Ends says how packets end that take an edge to [Exit]. An edge that is not listed may end any
	// packet; nil: nothing is known.
	Ends []End `json:"ends,omitempty"`
	// Traps says which traps there are, by their number in records; 0 is none.
	Traps []Trap `json:"traps,omitempty"`
	// Tests says what conditions ask for that a record says; nil: nothing is known.
	Tests []Test `json:"tests,omitempty"`
}

// How a packet, or a copy of it, may end beside being dropped for one of Reasons.
const (
	EndSent = "sent" // by a front-panel port
	EndCPU  = "cpu"  // handed to the CPU
)

// An End says how packets end that leave a node for [Exit] by the edge of a label:
// [EndSent], [EndCPU], or the reasons why they are dropped.
type End struct {
	From  string   `json:"from"`
	Label string   `json:"label,omitempty"`
	How   []string `json:"how"`
}

// A Node is a table or a condition.
type Node struct {
	ID   string `json:"id"` // unique
	Kind string `json:"kind"`
	// Keyless tables always run their default action: that they ran is information, whether they hit is
	// not.
	Keyless bool `json:"keyless,omitempty"`
	// Stage, from 0, of a graph that is Placed.
	Stage int `json:"stage,omitempty"`
	// Unit names a fixed function of the chip that is one writer: its tables write
	// their bits of one container together, so that constraint C5 does not separate them.
	Unit string `json:"unit,omitempty"`

	Actions      []string `json:"actions,omitempty"`
	KeyReads     []string `json:"key_reads,omitempty"`     // fields of the key
	ActionReads  []string `json:"action_reads,omitempty"`  // that any action reads
	ActionWrites []string `json:"action_writes,omitempty"` // that any action writes
	Reads        []string `json:"reads,omitempty"`         // of a condition
}

// Acts are, by table, the actions that an entry of it may have, each once. If all its edges but misses have actions as
// labels they are those, else also those of the node; in the graph of a chip "" is before them, for there an entry need
// have none. Tables are left out of which there are not two, so that a hit says all, and more than [MaxActs].
func (g *Graph) Acts() map[string][]string {
	labels, open := map[string][]string{}, map[string]bool{}
	for _, e := range g.Edges {
		switch e.Label {
		case Miss:
		case Hit, "":
			open[e.From] = true
		default:
			labels[e.From] = append(labels[e.From], e.Label)
		}
	}
	all := map[string][]string{}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if n.Keyless || n.Kind != Table {
			continue
		}
		names := labels[n.ID]
		if open[n.ID] || len(names) == 0 {
			names = append(slices.Clone(n.Actions), names...)
		}
		if list := distinct(names); len(list) >= 2 && len(list) <= MaxActs {
			if g.Placed {
				list = append([]string{""}, list...)
			}
			all[n.ID] = list
		}
	}
	return all
}

// distinct are names, each once.
func distinct(names []string) (list []string) {
	seen := map[string]bool{"": true}
	for _, a := range names {
		if !seen[a] {
			seen[a] = true
			list = append(list, a)
		}
	}
	return list
}

// MaxActs is how many actions a table may have that are told apart.
const MaxActs = 255

// An Edge leads from a node to the next, or to [Exit].
type Edge struct {
	From, To, Label string
}

// MarshalJSON writes [from, to, label].
func (e Edge) MarshalJSON() ([]byte, error) { return json.Marshal([3]string{e.From, e.To, e.Label}) }

// UnmarshalJSON reads [from, to, label]; to may be null for [Exit].
func (e *Edge) UnmarshalJSON(b []byte) error {
	var v []*string
	if err := json.Unmarshal(b, &v); err != nil {
		return fmt.Errorf("edge: %w", err)
	}
	if len(v) < 2 || len(v) > 3 || v[0] == nil {
		return fmt.Errorf("edge %s, want [from, to, label]", clip(b))
	}
	*e = Edge{From: *v[0], To: Exit}
	if v[1] != nil {
		e.To = *v[1]
	}
	if len(v) == 3 && v[2] != nil {
		e.Label = *v[2]
	}
	return nil
}

// Kinds of dependencies of a pair of tables, in the order of the program (Jose et al., NSDI 2015).
// Strict ones require the first in an earlier stage, the others not in a later one.
const (
	DepMatch    = "match"          // the first writes what the second's key reads; strict
	DepViaCond  = "match_via_cond" // or what a condition reads that decides the second; strict
	DepActionRW = "action_rw"      // the first's actions write what the second's read; strict
	DepWrite    = "action_ww"      // both write the same; strict
	DepControl  = "control"        // an outcome of the first decides whether the second runs
	DepAnti     = "anti"           // the first reads what the second writes
)

// A Dep is a dependency of table To on table From.
type Dep struct {
	From, To string
	Kinds    []string
}

// Strict reports whether From must be in an earlier stage than To.
func (d Dep) Strict() bool {
	for _, k := range d.Kinds {
		if k != DepControl && k != DepAnti {
			return true
		}
	}
	return false
}

// MarshalJSON writes [from, to, [kinds]].
func (d Dep) MarshalJSON() ([]byte, error) {
	kinds := d.Kinds
	if kinds == nil {
		kinds = []string{}
	}
	return json.Marshal([3]any{d.From, d.To, kinds})
}

// UnmarshalJSON reads [from, to, [kinds]].
func (d *Dep) UnmarshalJSON(b []byte) error {
	var v []json.RawMessage
	if err := json.Unmarshal(b, &v); err != nil {
		return fmt.Errorf("dependency: %w", err)
	}
	if len(v) != 3 {
		return fmt.Errorf("dependency %s, want [from, to, [kinds]]", clip(b))
	}
	*d = Dep{}
	err := errors.Join(json.Unmarshal(v[0], &d.From), json.Unmarshal(v[1], &d.To), json.Unmarshal(v[2], &d.Kinds))
	if err != nil {
		return fmt.Errorf("dependency %s: %w", clip(b), err)
	}
	return nil
}

func clip(b []byte) string {
	if len(b) > 80 {
		return string(b[:80]) + "..."
	}
	return string(b)
}

// Probabilities say where packets go. Their reader fills what is missing.
type Probabilities struct {
	// Edges: of the packets that are at From, how many go to To (all edges between
	// the two together).
	Edges []EdgeProbability `json:"edges"`
	// Hits: of the packets that run a table, how many hit. For a table that branches by its hit the
	// edges already say it.
	Hits map[string]float64 `json:"hits,omitempty"`
}

// An EdgeProbability is one share of what leaves a node.
type EdgeProbability struct {
	From string  `json:"from"`
	To   *string `json:"to"` // null: the end
	P    float64 `json:"p"`
	// Label distinguishes edges between the same two nodes, where that matters: hit and miss of a table
	// that branches by them. Empty: all of them.
	Label string `json:"label,omitempty"`
}
