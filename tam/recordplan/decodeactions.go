package recordplan

import (
	"strconv"
	"strings"

	"tamtam/tam/record"
)

// readActions holds the action bits of a table for a reader.
type readActions struct {
	table   int   // index of the table in the chain, or -1 if it is unreachable
	bits    []int // indices of the bits in the record
	classes []readClass
}

// A readClass holds the actions for which the table sets the same bits: code, in the order of readActions.bits.
type readClass struct {
	codeClass
	aside int // index of the code's aside in the chain; -1 if it is unreachable, or if the code is 0, without aside
}

// An asideTable is the table and the actions of an aside.
type asideTable struct {
	table   string
	actions []string
}

// readActions finds the action bits, and the asides of the chain. classes holds the classes of each node of the graph.
func (r *reader) readActions(g *record.Graph, classes map[int][]codeClass) {
	for i := range r.plan.Recorded {
		t := &r.plan.Recorded[i]
		if len(t.Actions) == 0 {
			continue
		}
		a := readActions{table: -1}
		for _, b := range t.Actions {
			a.bits = append(a.bits, r.containers.Offset(t.Container)+b.Bit)
		}
		if at, ok := r.chain.index[t.Table]; ok {
			a.table = at
		}
		for node, list := range classes {
			if g.Nodes[node].ID != t.Table {
				continue
			}
			for n, c := range list {
				x := readClass{codeClass: c, aside: -1}
				if at, ok := r.chain.index[asideID(node, n)]; ok {
					x.aside = at
					r.chain.tables[at].id = "" // it is not a table of the program
					r.chain.tables[at].aside = &asideTable{t.Table, c.actions}
				}
				a.classes = append(a.classes, x)
			}
		}
		r.acts = append(r.acts, a)
	}
}

// observeActions applies the action bits of a record. It returns false if no packet can set this combination of bits.
func (r *reader) observeActions(b []byte) bool {
	fine := true
	r.oddActions = -1
	for i := range r.acts {
		a := &r.acts[i]
		code := uint64(0)
		for j, bit := range a.bits {
			if r.containers.Bit(b, bit) {
				code |= 1 << j
			}
		}
		found := code == 0
		for _, c := range a.classes {
			if c.aside < 0 {
				continue
			}
			says := &r.w.evidence[c.aside]
			if says.ran = no; c.code == code {
				says.ran, found = yes, true
			}
		}
		if a.table < 0 || code == 0 {
			continue // stray reports bits of unreachable tables
		}
		t := &r.w.evidence[a.table]
		fine = fine && found && t.ran != no && t.hit != no
		t.ran, t.hit = yes, yes
		if !found {
			r.oddActions = a.table
		}
	}
	return fine
}

// silent returns the actions of a table that set none of its bits, or nil if it records no actions.
func (r *reader) silent(table int) []string {
	for i := range r.acts {
		if r.acts[i].table != table {
			continue
		}
		for _, c := range r.acts[i].classes {
			if c.code == 0 {
				return c.actions
			}
		}
	}
	return nil
}

// act sets the action of the last step, or clears it if the action is not certain.
func (l *Likely) act(actions []string) {
	if s := &l.Path[len(l.Path)-1]; len(actions) == 1 {
		s.Action = actions[0]
	} else {
		s.Action = ""
	}
}

// maxActionWords is the maximum number of alternative actions that are named.
const maxActionWords = 4

// actionWords returns a text that names alternative actions.
func actionWords(actions []string) string {
	if len(actions) > maxActionWords {
		return "one of " + strconv.Itoa(len(actions)) + " actions"
	}
	var list []string
	for _, a := range actions {
		if a == "" {
			a = "no action"
		}
		list = append(list, a)
	}
	return strings.Join(list, " or ")
}
