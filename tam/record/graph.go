package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Exit is the target of edges that end the pipeline.
const Exit = "EXIT"

// Limits of the input. More is refused.
const (
	MaxNodes = 200_000
	MaxEdges = 2_000_000
	MaxJSON  = 256 << 20 // bytes
	MaxID    = 1024      // bytes of a node's name
)

// Kinds of nodes.
const (
	Table     = "table"
	Condition = "cond" // conditions cannot be recorded
)

// Labels of edges for the outcome of a table's lookup. A table branches by its hit if all its edges have one of these
// labels. Any other label is an action's name or a condition's outcome.
const (
	Hit  = "hit"
	Miss = "miss"
)

// A Graph is a pipeline of a program: a directed acyclic graph from Init to [Exit].
type Graph struct {
	Program  string `json:"program,omitempty"`
	Pipeline string `json:"pipeline"` // ingress, egress, or switch for both with the queues between
	Init     string `json:"init"`     // [Exit] if the pipeline is empty
	Nodes    []Node `json:"nodes"`
	Edges    []Edge `json:"edges"`
	// Deps are the dependencies between tables. Nil means that they are not computed yet. They can be computed from the
	// reads and writes of nodes.
	Deps []Dep `json:"deps,omitempty"`
	// Placed means that the graph describes a chip: its tables are fixed in their Stage. Otherwise a planner places
	// them.
	Placed bool `json:"placed,omitempty"`
	Stages int  `json:"stages,omitempty"` // number of stages of the pipeline, if Placed
	// Only lists the edges that are restricted to packets of one class. Nil means that nothing is known.
	Only []Only `json:"only,omitempty"`
	// Version differs between different graphs of one chip.
	Version uint64 `json:"version,omitempty"`
	// Reasons names the drop reasons of records, by number. 0 means no drop.
	Reasons []string `json:"reasons,omitempty"`
	// Ends lists, for edges to [Exit], how the packets that take them end. An unlisted edge may end any packet. Nil
	// means that nothing is known.
	Ends []End `json:"ends,omitempty"`
	// Traps lists the traps by their number in records. 0 means no trap.
	Traps []Trap `json:"traps,omitempty"`
	// Tests lists the conditions that records can evaluate. Nil means that nothing is known.
	Tests []Test `json:"tests,omitempty"`
}

// Ways in which a packet or a copy ends, in addition to the drop Reasons.
const (
	EndSent = "sent" // sent through a front-panel port
	EndCPU  = "cpu"  // handed to the CPU
)

// An End lists the possible ends of packets that take the edge of a label from a node to [Exit]: [EndSent], [EndCPU],
// or drop reasons.
type End struct {
	From  string   `json:"from"`
	Label string   `json:"label,omitempty"`
	How   []string `json:"how"`
}

// A Node is a table or a condition.
type Node struct {
	ID   string `json:"id"` // unique
	Kind string `json:"kind"`
	// Keyless tables always run their default action. Their execution is information, their hit is not.
	Keyless bool `json:"keyless,omitempty"`
	// Stage is the table's stage, from 0, in a graph that is Placed.
	Stage int `json:"stage,omitempty"`
	// Unit names the fixed function of the chip that is the table's writer. Tables of one unit write their bits of a
	// container together, so constraint C5 does not separate them.
	Unit string `json:"unit,omitempty"`

	Actions      []string `json:"actions,omitempty"`
	KeyReads     []string `json:"key_reads,omitempty"`     // fields of the key
	ActionReads  []string `json:"action_reads,omitempty"`  // fields that any action reads
	ActionWrites []string `json:"action_writes,omitempty"` // fields that any action writes
	Reads        []string `json:"reads,omitempty"`         // fields that a condition reads
}

// Acts returns the distinct actions of each table's entries. If all edges of a table except misses are labelled with
// actions, these are its actions. Otherwise the actions that the node lists are added. In the graph of a chip ""
// precedes them, because an entry may have no action. Acts omits tables with fewer than two actions, where a hit
// identifies the action, and those with more than [MaxActs].
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

// distinct returns the nonempty names without duplicates.
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

// MaxActs is the maximum number of a table's actions that can be distinguished.
const MaxActs = 255

// An Edge leads from a node to the next node, or to [Exit].
type Edge struct {
	From, To, Label string
}

// MarshalJSON encodes the edge as [from, to, label].
func (e Edge) MarshalJSON() ([]byte, error) { return json.Marshal([3]string{e.From, e.To, e.Label}) }

// UnmarshalJSON decodes [from, to, label]. to may be null for [Exit].
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

// Kinds of dependencies between two tables, in the order of the program (Jose et al., NSDI 2015). Strict ones require
// the first table in an earlier stage. The others only forbid it in a later stage.
const (
	DepMatch    = "match"          // the first writes a field that the second's key reads; strict
	DepViaCond  = "match_via_cond" // a condition that decides the second reads a field that the first writes; strict
	DepActionRW = "action_rw"      // the first's actions write a field that the second's actions read; strict
	DepWrite    = "action_ww"      // both write the same field; strict
	DepControl  = "control"        // an outcome of the first decides whether the second runs
	DepAnti     = "anti"           // the first reads a field that the second writes
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

// MarshalJSON encodes the dependency as [from, to, [kinds]].
func (d Dep) MarshalJSON() ([]byte, error) {
	kinds := d.Kinds
	if kinds == nil {
		kinds = []string{}
	}
	return json.Marshal([3]any{d.From, d.To, kinds})
}

// UnmarshalJSON decodes [from, to, [kinds]].
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

// Probabilities describe the distribution of packets over edges. Readers of the input compute missing ones.
type Probabilities struct {
	// Edges holds the share of packets at From that go to To, over all edges between the two.
	Edges []EdgeProbability `json:"edges"`
	// Hits holds the share of a table's packets that hit. Tables that branch by their hit do not need it, because their
	// edges contain it.
	Hits map[string]float64 `json:"hits,omitempty"`
}

// An EdgeProbability is the share of an edge among a node's packets.
type EdgeProbability struct {
	From string  `json:"from"`
	To   *string `json:"to"` // null means the end
	P    float64 `json:"p"`
	// Label distinguishes edges between the same two nodes, such as hit and miss of a table that branches by its hit.
	// Empty means all edges between the two nodes.
	Label string `json:"label,omitempty"`
}
