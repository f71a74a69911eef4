package recordplan

import (
	"slices"
	"strings"

	"tamtam/tam/record"
)

// A Knowledge is the knowledge about a packet in addition to the bits of its record. The zero value means that nothing
// more is known.
type Knowledge struct {
	End      string         // end by [record.Graph.End]; "" if unknown
	Not      record.Classes // classes that the packet does not have, see [record.NotOf]
	Trap     uint8          // number of the packet's trap in the graph; zero if there is none or it is unknown
	Outcomes string         // outcomes of the graph's tests, see [record.Graph.Outcomes]; "" if none is known
	// Met lists the tables that the packet has run, according to its identities, each as "TABLE OUTCOME;". The outcome
	// is "hit", or "" if it is unknown.
	Met string
}

// KnowledgeOf returns the knowledge that a record contains in addition to its bits. [Knowledge.Not] is not set, because
// it follows from the frame.
func KnowledgeOf(g *record.Graph, r *record.Record) Knowledge {
	known := Knowledge{End: g.End(r), Outcomes: g.Outcomes(r)}
	if t, ok := g.Trap(r); ok && t.Table != "" {
		known.Trap = r.Trap
	}
	known.Met = metBy(g, r)
	return known
}

// metBy returns the tables of the graph that the identities of a record imply. It returns "" if the identities are
// invalid.
func metBy(g *record.Graph, r *record.Record) string {
	if len(r.Identities) == 0 {
		return ""
	}
	list, err := r.Known()
	if err != nil {
		return ""
	}
	var says []string
	for _, x := range list {
		table, outcome := x.Says()
		is := func(n record.Node) bool { return n.ID == table && n.Kind == record.Table }
		if s := table + " " + outcome + ";"; table != "" && !slices.Contains(says, s) && slices.ContainsFunc(g.Nodes, is) {
			says = append(says, s)
		}
	}
	slices.Sort(says)
	return strings.Join(says, "")
}

// A heeded is a table that a packet must have run, with the result of its lookup. This follows from parts of the record
// other than its bits.
type heeded struct {
	table int
	hit   fact
}

// trap makes a reader require the table of a packet's trap.
func (r *reader) trap(g *record.Graph, number uint8) {
	if number == 0 || int(number) >= len(g.Traps) || g.Traps[number].Table == "" {
		return
	}
	r.heed(g.Traps[number].Table, g.Traps[number].Outcome)
}

// heed makes a reader require that packets have run a table, with this outcome.
func (r *reader) heed(table, outcome string) {
	t, ok := r.chain.index[table]
	if !ok {
		r.contrary = true // no packet with this end reaches the table
		return
	}
	hit := unsaid
	switch outcome {
	case record.Hit:
		hit = yes
	case record.Miss:
		hit = no
	}
	for i := range r.heeds {
		h := &r.heeds[i]
		if h.table == t {
			r.contrary = r.contrary || h.hit != unsaid && hit != unsaid && h.hit != hit
			h.hit = max(h.hit, hit)
			return
		}
	}
	r.heeds = append(r.heeds, heeded{t, hit})
}

// met makes a reader require the tables that identities imply.
func (r *reader) met(says string) {
	for s := range strings.SplitSeq(says, ";") {
		if table, outcome, ok := strings.Cut(s, " "); ok {
			r.heed(table, outcome)
		}
	}
}
