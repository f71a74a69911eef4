package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
)

// Containers are the PHV containers that take a record, by their widths: 8, 16 or
// 32 bits each.
type Containers []uint8

// ContainerWords says what ParseContainers takes.
const ContainerWords = "widths of 8, 16 or 32 joined by +, as in 16+16, 1024 bits at most"

// MaxBits bounds the containers of one plan, in bits. A chip has fewer.
const MaxBits = 1024

// ParseContainers reads the form "16+16"; [ContainerWords] says which widths are allowed, and so does
// an error.
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

// String returns the form that ParseContainers reads.
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

// Offset returns where container i begins, counted from the record's bit 0.
func (c Containers) Offset(i int) int { return c[:i].Bits() }

// Bytes returns how many bytes a record takes on the wire.
func (c Containers) Bytes() int { return c.Bits() / 8 }

// Modes of recording.
const (
	ModeExecution = "exec"     // which tables ran
	ModeHit       = "exec+hit" // and which of them hit (section V)
	// ModeAction: and which action the entry has that a packet hit (section III: "which action is matched and executed").
	ModeAction = "exec+action"
)

// Algorithms of the planner. The last is for tests: it tries every set.
const (
	BranchAndBound = "bnb"
	Greedy         = "greedy"
	GreedyRestarts = "greedy-restarts"
	BruteForce     = "brute"
)

// A Plan says which tables write which bits of the record.
type Plan struct {
	ID        uint32 `json:"id"` // names the plan in records; see [Plan.Seal]
	Program   string `json:"program,omitempty"`
	Pipeline  string `json:"pipeline"`
	PHV       string `json:"phv"`
	Mode      string `json:"mode"`
	Algorithm string `json:"algorithm"`
	Stages    int    `json:"stages"`
	// StagesWhy says where the number of stages comes from.
	StagesWhy string `json:"stages_why,omitempty"`
	// MustRecord lists the tables that must be recorded.
	MustRecord []string   `json:"must_record,omitempty"`
	Recorded   []Recorded `json:"recorded"`
	// Placement has a stage for every table, from 0, that satisfies all constraints.
	Placement map[string]int `json:"placement,omitempty"`

	// Entropy is the exact joint entropy in bits of all that is recorded.
	Entropy float64 `json:"entropy"`
	// Equation2 is what equation 2 of the paper gives, which counts the hit of a table
	// that branches by it twice.
	Equation2 float64 `json:"entropy_equation2"`
	// Bound: no plan under these constraints has a greater entropy; Optimal: this one
	// is proven to reach it.
	Bound   float64 `json:"bound"`
	Optimal bool    `json:"optimal"`
	// Full is the entropy of recording everything: if Entropy equals it, every path has its own record.
	Full float64 `json:"entropy_full"`
	// Recovery is the path recovery rate (section VI-A): how likely a packet's path
	// follows from its record.
	Recovery float64 `json:"recovery"`
	Effort

	Graph *Graph `json:"graph,omitempty"`
	Chances
}

// Effort is the work of finding a plan.
type Effort struct {
	// Sets, Solves: how many sets were evaluated, and checked against the constraints.
	Sets    uint64  `json:"sets"`
	Solves  uint64  `json:"solves"`
	Seconds float64 `json:"seconds"`
}

// Chances are the probabilities that entropies are computed with.
type Chances struct {
	Probabilities *Probabilities `json:"probabilities,omitempty"`
	// ProbabilitiesFrom says where they come from: uniform, counted, seed N, or a file.
	ProbabilitiesFrom string `json:"probabilities_from,omitempty"`
}

// Recorded is a table that writes into the record.
type Recorded struct {
	Table     string `json:"table"`
	Bits      int    `json:"bits"`      // how many it writes
	Container int    `json:"container"` // from 0
	Stage     int    `json:"stage"`     // from 0
	// Ran and Hit are the bits, from 0 of the container, that the table sets when it
	// ran and when it hit; absent: it does not. The one bit of a table that every
	// packet runs is Hit.
	Ran *int `json:"ran,omitempty"`
	Hit *int `json:"hit,omitempty"`
	// Actions are further bits, each of which the table sets when it hit an entry that has one of some actions.
	Actions []ActionBit `json:"actions,omitempty"`
}

// An ActionBit is a bit, from 0 of the container, that says that a packet hit an entry with one of some actions, as
// [Graph.Acts] names them.
type ActionBit struct {
	Bit int      `json:"bit"`
	Of  []string `json:"of"`
}

// Containers are those of PHV; an error says what ParseContainers does not take.
func (p *Plan) Containers() (Containers, error) { return ParseContainers(p.PHV) }

// Seal gives the plan its ID: a checksum of what a reader of records must know, which bits mean what on
// which graph, so that records of another plan are recognised. It is never 0.
func (p *Plan) Seal() {
	key := struct {
		PHV, Mode string
		Recorded  []Recorded
		Graph     *Graph
	}{p.PHV, p.Mode, p.Recorded, p.Graph}
	text, err := json.Marshal(key)
	if err != nil { // strings and numbers only
		panic(err)
	}
	p.ID = max(crc32.ChecksumIEEE(text), 1)
}

// A Mark is one bit of a record: the table that sets it, and when.
type Mark struct {
	Table string
	Hit   bool // false: when it ran
	Bit   int  // of the whole record: container 0 begins at 0
	// Of are actions: the table sets the bit when it hit an entry that has one of them. nil: of whatever action. Only
	// a mark of a hit has them.
	Of []string
}

// Marks are the bits of the plan in the order of Recorded, of a table the one that says that it ran
// first. An error names a table whose bit is outside of its container, or another's, or of no action, or of one twice.
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

// actions says what is wrong with those of a mark.
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

// marks are those of a table, their bits counted from that of its container.
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
