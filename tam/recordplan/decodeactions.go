package recordplan

import (
	"strconv"
	"strings"

	"tamtam/tam/record"
)

// readActions are a table's bits for actions, as a reader needs them.
type readActions struct {
	table   int   // of the chain; -1: no packet comes to it
	bits    []int // of the record
	classes []readClass
}

// A readClass are the actions for which the table sets the same bits: code, in the order of readActions.bits.
type readClass struct {
	codeClass
	aside int // table of the chain that stands for them; -1: no packet comes to it, or it is code 0, which has none
}

// An asideTable is what an aside of the chain stands for.
type asideTable struct {
	table   string
	actions []string
}

// readActions finds the bits for actions, and the asides of the chain; classes are by node of the graph.
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
					r.chain.tables[at].id = "" // it is none of the program
					r.chain.tables[at].aside = &asideTable{t.Table, c.actions}
				}
				a.classes = append(a.classes, x)
			}
		}
		r.acts = append(r.acts, a)
	}
}

// observeActions takes in what a record says of actions. It returns false if it says what no packet does.
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
			continue // what no packet comes to is found astray
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

// silent are the actions of a table that set none of its bits, nil if it records none.
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

// act says which action the last step ran, if that is certain.
func (l *Likely) act(actions []string) {
	if s := &l.Path[len(l.Path)-1]; len(actions) == 1 {
		s.Action = actions[0]
	} else {
		s.Action = ""
	}
}

// maxActionWords is how many actions are named where one of several is meant.
const maxActionWords = 4

// actionWords names one of some actions.
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
