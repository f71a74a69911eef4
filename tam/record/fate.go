package record

import "fmt"

// A Trap is why the CPU has a packet, or why it goes no further.
type Trap struct {
	Name string `json:"name"`
	SAI  string `json:"sai,omitempty"` // what SAI calls it; "": it has no word for it
	// Table is a table that every packet which the trap takes has run, and Outcome, [Hit] or [Miss], what it found there;
	// "": nothing is known.
	Table   string `json:"table,omitempty"`
	Outcome string `json:"outcome,omitempty"`
}

// End returns how the packet of a record ended, in the words of [End]. It is about one copy: of one
// packet some copies may be sent, and another dropped.
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

// Trap returns the trap of a record, by name, false if there is none or it is not known.
func (g *Graph) Trap(r *Record) (Trap, bool) {
	switch {
	case r.Old || r.Trap == 0:
		return Trap{}, false
	case int(r.Trap) < len(g.Traps):
		return g.Traps[r.Trap], true
	}
	return Trap{Name: fmt.Sprintf("trap %d", r.Trap)}, true
}

// A Test is what a condition asks for, as far as records say it: it is true, and a packet takes its edge "true", if all
// terms of one of its rows hold.
type Test struct {
	From string   `json:"from"`
	Rows [][]Term `json:"rows"`
}

// A Term compares a field of a packet. Without a field it asks for something of which records do not tell.
type Term struct {
	Field string `json:"field,omitempty"`
	Mask  uint64 `json:"mask,omitempty"`
	Is    string `json:"is,omitempty"` // eq, ne, lt, le, gt or ge, unsigned
	Value uint64 `json:"value,omitempty"`
}

// Fields of which records tell.
const (
	FieldIn     = "in.port"    // the ingress port, by its first lane
	FieldOut    = "out.port"   // the egress port, likewise
	FieldQueue  = "q.id"       // the queue that a copy was in
	FieldLength = "pkt.length" // of the frame as it came in
)

// Outcomes of tests: one of these letters for each, as in "ft?".
const (
	testFalse   = 'f'
	testTrue    = 't'
	testUnknown = '?'
)

// Outcomes says which of the tests of the graph are true, and which are not, for the packet of a record: a letter for
// each test. "": no test has an outcome.
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

// field is what a field of a packet has been wherever a condition has asked for it, false if the record does not tell:
// what came to no port or to no queue has not come to one that asks for these.
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
