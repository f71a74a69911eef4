package recordplan

import (
	"slices"
	"strings"

	"tamtam/tam/record"
)

// A Told is what is known of a packet beside the bits of its record. Zero: nothing.
type Told struct {
	End      string         // how it ended, see [record.Graph.End]; "": it is not known
	Not      record.Classes // those that it is none of, see [record.NotOf]
	Trap     uint8          // by its number in the graph; 0: none, or it is not known
	Outcomes string         // of the graph's tests, see [record.Graph.Outcomes]; "": nothing is known
	// Met are tables that it has run, by its identities, each as "TABLE OUTCOME;": "hit", or "" where either may be.
	Met string
}

// Tell is what a record tells of its packet beside its bits, but for [Told.Not], which its frame tells.
func Tell(g *record.Graph, r *record.Record) Told {
	told := Told{End: g.End(r), Outcomes: g.Outcomes(r)}
	if t, ok := g.Trap(r); ok && t.Table != "" {
		told.Trap = r.Trap
	}
	told.Met = metBy(g, r)
	return told
}

// metBy is what the identities of a record say of tables of the graph. Nothing, if they are not as they ought to be.
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

// A heeded is a table that a packet has run by what else its record says than bits, and whether it hit.
type heeded struct {
	table int
	hit   fact
}

// trap has a reader heed what the trap says that took a packet.
func (r *reader) trap(g *record.Graph, number uint8) {
	if number == 0 || int(number) >= len(g.Traps) || g.Traps[number].Table == "" {
		return
	}
	r.heed(g.Traps[number].Table, g.Traps[number].Outcome)
}

// heed has a reader heed that packets have run a table, and what they found there.
func (r *reader) heed(table, outcome string) {
	t, ok := r.chain.index[table]
	if !ok {
		r.contrary = true // no packet that ends so comes there
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

// met has a reader heed what identities say.
func (r *reader) met(says string) {
	for s := range strings.SplitSeq(says, ";") {
		if table, outcome, ok := strings.Cut(s, " "); ok {
			r.heed(table, outcome)
		}
	}
}
