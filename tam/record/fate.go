package record

import "fmt"

// A Trap is the reason why the CPU received a packet, or why the packet was not forwarded further.
type Trap struct {
	Name string `json:"name"`
	SAI  string `json:"sai,omitempty"` // name in SAI, or "" if SAI has none
	// Table is a table that every packet of the trap has run, and Outcome its lookup result there, [Hit] or [Miss].
	// Both are "" if unknown.
	Table   string `json:"table,omitempty"`
	Outcome string `json:"outcome,omitempty"`
}

// End returns how the packet of a record ended, in the words of [End]. It describes one copy: other copies of the same
// packet may end differently.
func (g *Graph) End(r *Record) string {
	switch {
	case r.Why != 0 && int(r.Why) < len(g.Reasons) && g.Reasons[r.Why] != "":
		return g.Reasons[r.Why]
	case r.Why != 0:
		return fmt.Sprintf("reason %d", r.Why)
	case r.Old && r.OutPort == NoPort, !r.Old && r.OutLane == NoPort:
		return EndCPU
	}
	return EndSent
}

// Trap returns the trap of a record. It returns false if the record has no trap, or is of version 1, which does not
// contain it. A trap that the graph does not list is named by its number.
func (g *Graph) Trap(r *Record) (Trap, bool) {
	switch {
	case r.Old || r.Trap == 0:
		return Trap{}, false
	case int(r.Trap) < len(g.Traps):
		return g.Traps[r.Trap], true
	}
	return Trap{Name: fmt.Sprintf("trap %d", r.Trap)}, true
}

// A Test is the condition of a node, as far as records can evaluate it. It is true if all terms of one of its rows
// hold. Then the packet takes the edge "true".
type Test struct {
	From string   `json:"from"`
	Rows [][]Term `json:"rows"`
}

// A Term compares a field of a packet. A term without a field depends on something that records do not contain.
type Term struct {
	Field string `json:"field,omitempty"`
	Mask  uint64 `json:"mask,omitempty"`
	Is    string `json:"is,omitempty"` // eq, ne, lt, le, gt or ge, unsigned
	Value uint64 `json:"value,omitempty"`
}

// Fields that records contain.
const (
	FieldIn     = "in.port"    // ingress port, by its first lane
	FieldOut    = "out.port"   // egress port, by its first lane
	FieldQueue  = "q.id"       // queue of the copy
	FieldLength = "pkt.length" // length of the received frame
)

// Outcomes of tests: one of these letters per test, as in "ft?".
const (
	testFalse   = 'f'
	testTrue    = 't'
	testUnknown = '?'
)

// Outcomes evaluates the graph's tests for the packet of a record, and returns a letter for each. It returns "" if no
// outcome is known.
func (g *Graph) Outcomes(r *Record) string {
	if len(g.Tests) == 0 || r.Old {
		return ""
	}
	known := false
	out := make([]byte, len(g.Tests))
	for i := range g.Tests {
		out[i] = g.Tests[i].of(r)
		known = known || out[i] != testUnknown
	}
	if !known {
		return ""
	}
	return string(out)
}

func (t *Test) of(r *Record) byte {
	out := byte(testFalse)
	for _, row := range t.Rows {
		is := byte(testTrue)
		for i := range row {
			switch holds, known := row[i].of(r); {
			case known && !holds:
				is = testFalse
			case !known && is == testTrue:
				is = testUnknown
			}
		}
		if is == testTrue {
			return testTrue
		}
		if is == testUnknown {
			out = testUnknown
		}
	}
	return out
}

func (x *Term) of(r *Record) (holds, known bool) {
	v, known := r.field(x.Field)
	if !known {
		return false, false
	}
	if x.Mask != 0 {
		v &= x.Mask
	}
	switch x.Is {
	case "eq":
		return v == x.Value, true
	case "ne":
		return v != x.Value, true
	case "lt":
		return v < x.Value, true
	case "le":
		return v <= x.Value, true
	case "gt":
		return v > x.Value, true
	case "ge":
		return v >= x.Value, true
	}
	return false, false
}

// field returns the value that a field had when a condition evaluated it. It returns false if the record does not
// contain the value. A packet that reached no port or queue has evaluated no condition on a port or queue.
func (r *Record) field(name string) (v uint64, known bool) {
	switch name {
	case FieldIn:
		return uint64(r.InLane), true
	case FieldOut:
		return uint64(r.OutLane), r.OutLane != NoPort
	case FieldQueue:
		return uint64(r.Queue), r.OutLane != NoPort && r.Queue != NoQueue
	case FieldLength:
		return uint64(r.Length), true
	}
	return 0, false
}
