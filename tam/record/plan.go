package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
)

// Containers lists the widths of the PHV containers for a record: 8, 16 or 32 bits each.
type Containers []uint8

// ContainerWords describes the syntax of ParseContainers.
const ContainerWords = "widths of 8, 16 or 32 joined by +, as in 16+16, 1024 bits at most"

// MaxBits is the maximum total width of a plan's containers, in bits. Chips have less.
const MaxBits = 1024

// ParseContainers parses the form "16+16". [ContainerWords], which errors repeat, lists the valid widths.
func ParseContainers(s string) (Containers, error) {
	var c Containers
	for _, w := range strings.Split(s, "+") {
		switch w {
		case "8", "16", "32":
			n, _ := strconv.Atoi(w)
			c = append(c, uint8(n))
		default:
			return nil, fmt.Errorf("containers %q, want %s", s, ContainerWords)
		}
		if c.Bits() > MaxBits {
			return nil, fmt.Errorf("containers of more than %d bits, want %s", MaxBits, ContainerWords)
		}
	}
	return c, nil
}

// String returns the syntax of ParseContainers.
func (c Containers) String() string {
	var b strings.Builder
	for i, w := range c {
		if i > 0 {
			b.WriteByte('+')
		}
		b.WriteString(strconv.Itoa(int(w)))
	}
	return b.String()
}

// Bits returns the sum of the widths.
func (c Containers) Bits() int {
	n := 0
	for _, w := range c {
		n += int(w)
	}
	return n
}

// Offset returns the first bit of container i, counted from the record's bit 0.
func (c Containers) Offset(i int) int { return c[:i].Bits() }

// Bytes returns the size of the containers in a record, in bytes.
func (c Containers) Bytes() int { return c.Bits() / 8 }

// Modes of recording.
const (
	ModeExecution = "exec"     // the tables that ran
	ModeHit       = "exec+hit" // also the tables that hit (section V)
	// ModeAction also records the action of the entry that a packet hit (section III: "which action is matched and
	// executed").
	ModeAction = "exec+action"
)

// Algorithms of the planner. BruteForce is for tests: it tries every set.
const (
	BranchAndBound = "bnb"
	Greedy         = "greedy"
	GreedyRestarts = "greedy-restarts"
	BruteForce     = "brute"
)

// A Plan assigns the record's bits to tables.
type Plan struct {
	ID        uint32 `json:"id"` // identifies the plan in records; see [Plan.Seal]
	Program   string `json:"program,omitempty"`
	Pipeline  string `json:"pipeline"`
	PHV       string `json:"phv"`
	Mode      string `json:"mode"`
	Algorithm string `json:"algorithm"`
	Stages    int    `json:"stages"`
	// StagesWhy describes the source of the number of stages.
	StagesWhy string `json:"stages_why,omitempty"`
	// MustRecord lists the tables that must be recorded.
	MustRecord []string   `json:"must_record,omitempty"`
	Recorded   []Recorded `json:"recorded"`
	// Placement assigns a stage, from 0, to every table, and satisfies all constraints.
	Placement map[string]int `json:"placement,omitempty"`

	// Entropy is the exact joint entropy, in bits, of all recorded bits.
	Entropy float64 `json:"entropy"`
	// Equation2 is the result of the paper's equation 2. It counts the hit twice for a table that branches by its hit.
	Equation2 float64 `json:"entropy_equation2"`
	// Bound is an upper bound of the entropy under these constraints. Optimal means that this plan provably reaches the
	// maximum.
	Bound   float64 `json:"bound"`
	Optimal bool    `json:"optimal"`
	// Full is the entropy of a complete record. If Entropy equals it, every path has its own record.
	Full float64 `json:"entropy_full"`
	// Recovery is the path recovery rate (section VI-A): the probability that a packet's path follows from its record.
	Recovery float64 `json:"recovery"`
	Effort

	Graph *Graph `json:"graph,omitempty"`
	Chances
}

// Effort is the work of the search for a plan.
type Effort struct {
	// Sets counts the evaluated sets, and Solves counts the sets that were checked against the constraints.
	Sets    uint64  `json:"sets"`
	Solves  uint64  `json:"solves"`
	Seconds float64 `json:"seconds"`
}

// Chances are the probabilities that entropies are computed with.
type Chances struct {
	Probabilities *Probabilities `json:"probabilities,omitempty"`
	// ProbabilitiesFrom describes their source: uniform, counted, seed N, or a file.
	ProbabilitiesFrom string `json:"probabilities_from,omitempty"`
}

// Recorded is a table that writes into the record.
type Recorded struct {
	Table     string `json:"table"`
	Bits      int    `json:"bits"`      // number of bits that it writes
	Container int    `json:"container"` // from 0
	Stage     int    `json:"stage"`     // from 0
	// Ran and Hit are the bits, from 0 in the container, that the table sets when it ran and when it hit. Nil means
	// that it sets none. A table that every packet runs has only Hit.
	Ran *int `json:"ran,omitempty"`
	Hit *int `json:"hit,omitempty"`
	// Actions are further bits. The table sets such a bit when it hits an entry with one of the bit's actions.
	Actions []ActionBit `json:"actions,omitempty"`
}

// An ActionBit is a bit that the table sets when it hit an entry with one of some actions. Bits count from 0 in the
// container. Actions have the names of [Graph.Acts].
type ActionBit struct {
	Bit int      `json:"bit"`
	Of  []string `json:"of"`
}

// Containers parses PHV. Its error is that of ParseContainers.
func (p *Plan) Containers() (Containers, error) { return ParseContainers(p.PHV) }

// Seal sets the plan's ID, so that readers can recognise records of another plan. The ID is a checksum of what readers
// of records need: the meaning of the bits, and the graph. It is never 0.
func (p *Plan) Seal() {
	key := struct {
		PHV, Mode string
		Recorded  []Recorded
		Graph     *Graph
	}{p.PHV, p.Mode, p.Recorded, p.Graph}
	text, err := json.Marshal(key)
	if err != nil { // strings and numbers cannot fail
		panic(err)
	}
	p.ID = max(crc32.ChecksumIEEE(text), 1)
}

// A Mark is one bit of a record: its table, and the condition on which the table sets it.
type Mark struct {
	Table string
	Hit   bool // if false, the table sets the bit when it runs
	Bit   int  // bit in the whole record, where container 0 begins at 0
	// Of lists actions. The table sets the bit only if it hit an entry with one of these actions. Nil means any action.
	// Only a mark of a hit has actions.
	Of []string
}

// Marks returns the bits of the plan in the order of Recorded, with the bit for a table's execution first. It returns
// an error for a table with an invalid bit: outside its container, used twice, or with no or duplicate actions.
func (p *Plan) Marks() ([]Mark, error) {
	c, err := p.Containers()
	if err != nil {
		return nil, err
	}
	used := map[int]string{}
	var marks []Mark
	for _, r := range p.Recorded {
		if r.Container < 0 || r.Container >= len(c) {
			return nil, fmt.Errorf("table %q is in container %d, want 0 to %d", r.Table, r.Container, len(c)-1)
		}
		for _, m := range r.marks() {
			if m.Bit < 0 || m.Bit >= int(c[r.Container]) {
				return nil, fmt.Errorf("table %q writes bit %d of container %d, which has %d",
					r.Table, m.Bit, r.Container, c[r.Container])
			}
			if err := m.actions(); err != nil {
				return nil, fmt.Errorf("table %q: bit %d of container %d %w", r.Table, m.Bit, r.Container, err)
			}
			at := m.Bit
			m.Bit += c.Offset(r.Container)
			if other, ok := used[m.Bit]; ok {
				return nil, fmt.Errorf("tables %q and %q both write bit %d of container %d", other, r.Table, at, r.Container)
			}
			used[m.Bit] = r.Table
			marks = append(marks, m)
		}
	}
	return marks, nil
}

// actions returns an error if the actions of a mark are invalid.
func (m *Mark) actions() error {
	if m.Of != nil && len(m.Of) == 0 {
		return errors.New("is of no action, want some of the table's")
	}
	seen := map[string]bool{}
	for _, a := range m.Of {
		if seen[a] {
			return fmt.Errorf("is of action %q twice, want each once", a)
		}
		seen[a] = true
	}
	return nil
}

// marks returns the marks of a table, with bits relative to its container.
func (r *Recorded) marks() (list []Mark) {
	if r.Ran != nil {
		list = append(list, Mark{Table: r.Table, Bit: *r.Ran})
	}
	if r.Hit != nil {
		list = append(list, Mark{Table: r.Table, Hit: true, Bit: *r.Hit})
	}
	for _, a := range r.Actions {
		list = append(list, Mark{Table: r.Table, Hit: true, Bit: a.Bit, Of: append([]string{}, a.Of...)})
	}
	return list
}
