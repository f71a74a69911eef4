package recordplan

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strconv"

	"tamtam/tam/record"
	"tamtam/tam/recordplan/p4graph"
)

// MaxLikely is the maximum number of paths in an [Answer].
const MaxLikely = 8

// maxAnswers is the maximum number of cached answers of a Decoder.
const maxAnswers = 1 << 14

// An Answer is the result of decoding a record.
type Answer struct {
	// Exact means that only one path has this record.
	Exact bool
	// Paths lists at most MaxLikely paths that have this record, the most likely first.
	Paths []Likely
	// Total is the number of all paths that have this record, in decimal.
	Total string
	// Impossible means that no path of the graph has this record. Either the chip does not match the graph, or the
	// record does not belong to this plan.
	Impossible bool
	// Why explains an impossible record: its difference from the closest path, which is the only one in Paths.
	Why string
}

// A Likely is a path that has a record, and its probability among all such paths.
type Likely struct {
	Path []record.Step
	// HitKnown reports for each step whether Hit is known: because the record contains it, or because only one outcome
	// leads along this path.
	HitKnown []bool
	// Actions lists the possible actions of each step that is known to have hit, if its table's actions are recorded.
	// The names are those of [record.Graph.Acts]. A single action is certain. Nil means that nothing is known.
	Actions [][]string
	P       float64
}

// A Decoder derives paths from records.
//
// Each bit shows whether a packet ran a table, or whether it hit. The record itself shows a hit in the table that
// selects packets for recording. The packet's end shows the edges by which its path can end.
//
// A path has a record if it runs all tables that the record requires, and none that it excludes. In a topological order
// of the tables this can be checked step by step. A step must not lead to an excluded table, or skip a required one. So
// the remaining steps of the graph form all possible paths and no others. They are counted, weighed and searched
// without enumeration, in time that grows with the graph, not with its paths. A Decoder is not safe for concurrent use.
type Decoder struct {
	plan       *record.Plan
	given      record.Probabilities
	containers record.Containers
	all        *reader               // reader of packets with an unknown end
	readers    map[Knowledge]*reader // readers of packets with further knowledge
	answers    map[answerKey]Answer
}

// maxReaders is the maximum number of cached readers of a Decoder, one per combination of further knowledge.
const maxReaders = 256

type answerKey struct {
	bits  string
	known Knowledge
}

// A reader decodes records of packets with the same further knowledge.
type reader struct {
	plan       *record.Plan
	containers record.Containers
	end        string // "" for any end
	marks      []tableMark
	chain      *chain
	otherwise  int // index of the table endedOtherwise, or -1 if there is none
	acts       []readActions
	oddActions int // table whose action bits match no action, or -1 if there is none
	heeds      []heeded
	contrary   bool // true if no packet satisfies all of heeds
	w          weigher
}

// A tableMark is a bit of the record, with the index of its table in the chain. table is -1 if no packet can reach the
// table.
type tableMark struct {
	record.Mark
	table int
}

// NewDecoder returns a decoder of records of a plan. An error names the part of the plan that is missing or wrong: its
// graph, its containers, or bits of unknown tables.
func NewDecoder(p *record.Plan) (*Decoder, error) {
	if p.Graph == nil {
		return nil, fmt.Errorf("plan %d has no graph: want the plan as it was written, whole", p.ID)
	}
	d := &Decoder{plan: p, readers: map[Knowledge]*reader{}, answers: map[answerKey]Answer{}}
	var err error
	if d.containers, err = p.Containers(); err != nil {
		return nil, fmt.Errorf("plan %d: %w", p.ID, err)
	}
	if p.Probabilities != nil {
		d.given = *p.Probabilities
	}
	if d.all, err = d.newReader(p.Graph, d.given, ""); err != nil {
		return nil, fmt.Errorf("plan %d: %w", p.ID, err)
	}
	return d, nil
}

func (d *Decoder) newReader(g *record.Graph, p record.Probabilities, end string) (*reader, error) {
	marks, err := d.plan.Marks()
	if err != nil {
		return nil, err
	}
	coded, classes, err := codedGraph(d.plan, g, p)
	if err != nil {
		return nil, err
	}
	m, err := NewModel(coded.graph, coded.p)
	if err != nil {
		return nil, err
	}
	r := &reader{plan: d.plan, containers: d.containers, end: end, chain: newChain(m), otherwise: -1, oddActions: -1}
	r.readActions(g, classes)
	if t, ok := r.chain.index[endedOtherwise]; ok {
		r.chain.tables[t].id = "" // it is not a table of the program
		r.otherwise = t
	}
	known := map[string]bool{}
	for _, n := range g.Nodes {
		known[n.ID] = n.Kind == record.Table
	}
	for _, m := range marks {
		if m.Of != nil {
			continue // handled by readActions
		}
		t, ok := r.chain.index[m.Table]
		if !ok {
			if t = -1; !known[m.Table] {
				return nil, fmt.Errorf("it records %q, which is no table of its graph", m.Table)
			}
		}
		r.marks = append(r.marks, tableMark{m, t})
	}
	return r, nil
}

// reader returns the reader for packets with the further knowledge in known.
func (d *Decoder) reader(known Knowledge) (*reader, error) {
	if r := d.readers[known]; r != nil {
		return r, nil
	}
	r := d.all
	p, err := p4graph.Complete(d.plan.Graph, d.given)
	if err != nil {
		return nil, err
	}
	g, p := d.plan.Graph.Without(known.Not, known.Outcomes, p)
	cut, p := endings(g, p, known.End)
	if cut == nil {
		cut = g
	}
	if cut != d.plan.Graph || known.Trap != 0 || known.Met != "" {
		if r, err = d.newReader(cut, p, known.End); err != nil {
			return nil, err
		}
		r.trap(d.plan.Graph, known.Trap)
		r.met(known.Met)
	}
	if len(d.readers) >= maxReaders {
		clear(d.readers)
	}
	d.readers[known] = r
	return r, nil
}

// Plan returns the plan of the decoder.
func (d *Decoder) Plan() *record.Plan { return d.plan }

// Tables returns all tables that packets can run, in topological order.
func (d *Decoder) Tables() []string { return d.all.tables() }

func (r *reader) tables() []string {
	var ids []string
	for _, t := range r.chain.tables {
		if t.id != "" {
			ids = append(ids, t.id)
		}
	}
	return ids
}

// AllPaths returns the number of the graph's paths that a packet can take, in decimal.
func (d *Decoder) AllPaths() string {
	r := d.all
	r.unknown()
	r.w.index()
	r.w.count(r.chain)
	return r.w.total(r.chain)
}

// check checks the length of a record.
func (d *Decoder) check(b []byte) error {
	if len(b) != d.containers.Bytes() {
		return fmt.Errorf("a record of %d bytes, want the %d of plan %d (%s)",
			len(b), d.containers.Bytes(), d.plan.ID, d.plan.PHV)
	}
	return nil
}

// Decode returns the paths that have a record. b holds the bytes of its containers, and known the other knowledge about
// the packet.
func (d *Decoder) Decode(b []byte, known Knowledge) (Answer, error) {
	if err := d.check(b); err != nil {
		return Answer{}, err
	}
	key := answerKey{string(b), known}
	if a, ok := d.answers[key]; ok {
		return a, nil
	}
	r, err := d.reader(known)
	if err != nil {
		return Answer{}, fmt.Errorf("plan %d, of packets that ended so: %s: %w", d.plan.ID, known.End, err)
	}
	a := r.decode(b)
	if len(d.answers) >= maxAnswers {
		clear(d.answers)
	}
	d.answers[key] = a
	return a, nil
}

func (r *reader) decode(b []byte) Answer {
	if stray := r.stray(b); stray >= 0 {
		return Answer{Impossible: true, Total: "0", Why: fmt.Sprintf("bit %d is set, which no table of the plan sets", stray)}
	}
	if !r.observe(b) {
		return r.impossible(b)
	}
	r.w.count(r.chain)
	if !r.w.some {
		return r.impossible(b)
	}
	a := Answer{Total: r.w.total(r.chain)}
	a.Exact = a.Total == "1"
	a.Paths = r.likely()
	return a
}

// stray returns a set bit without a table in the plan, or with an unreachable one. It returns -1 if there is none.
func (r *reader) stray(b []byte) int {
	own := make([]bool, r.containers.Bits())
	for _, m := range r.marks {
		own[m.Bit] = m.table >= 0
	}
	for i := range r.acts {
		for _, bit := range r.acts[i].bits {
			own[bit] = r.acts[i].table >= 0
		}
	}
	for i, o := range own {
		if !o && r.containers.Bit(b, i) {
			return i
		}
	}
	return -1
}

// A fact states whether a record shows that a table ran, or that it hit.
type fact uint8

const (
	unsaid fact = iota
	no
	yes
)

// unknown resets the evidence to the facts that hold for all packets of the reader.
func (r *reader) unknown() {
	r.w.unknown(r.chain)
	if r.otherwise >= 0 {
		r.w.evidence[r.otherwise] = evidence{no, no}
	}
	for _, h := range r.heeds {
		r.w.evidence[h.table] = evidence{yes, h.hit}
	}
}

// observe applies a record to the evidence. It returns false if a table hit without having run, or if the record
// contradicts heeds.
func (r *reader) observe(b []byte) bool {
	r.unknown()
	fine := !r.contrary
	for _, m := range r.marks {
		if m.table < 0 {
			continue
		}
		t, set := &r.w.evidence[m.table], r.containers.Bit(b, m.Bit)
		switch {
		case m.Hit && set:
			fine = fine && t.ran != no && t.hit != no
			t.hit = yes
			if t.ran == unsaid {
				t.ran = yes
			}
		case m.Hit:
			fine = fine && t.hit != yes
			t.hit = no
		case set:
			t.ran = yes
		default:
			fine = fine && t.ran != yes && t.hit != yes
			t.ran = no
		}
	}
	fine = r.observeActions(b) && fine
	r.w.index()
	return fine
}

// A weigher counts and weighs the paths that have a record.
type weigher struct {
	evidence []evidence
	// must[i] is the number of tables before i that must have run according to the record.
	must []int32

	// paths and sums hold the number and the probability of the paths from each table on. The last index is the start.
	paths []uint64
	sums  []float64
	some  bool // true if at least one path exists
	over  bool // true if the number of paths overflows an element of paths
}

// evidence holds the facts about a table that follow from a record.
type evidence struct{ ran, hit fact }

func (w *weigher) unknown(c *chain) {
	n := len(c.tables)
	if w.evidence == nil {
		w.evidence, w.must = make([]evidence, n), make([]int32, n+1)
		w.paths, w.sums = make([]uint64, n+2), make([]float64, n+2)
	}
	clear(w.evidence)
	clear(w.must)
}

func (w *weigher) index() {
	for i, s := range w.evidence {
		w.must[i+1] = w.must[i]
		if s.ran == yes {
			w.must[i+1]++
		}
	}
}

// step returns the probability of an edge from a table, and whether a path with this record can take it. from is -1 for
// the start.
func (w *weigher) step(from int, e *chainEdge) (float64, bool) {
	to := int(e.to)
	if w.must[to] != w.must[from+1] || to < len(w.evidence) && w.evidence[to].ran == no {
		return 0, false
	}
	if from >= 0 {
		switch w.evidence[from].hit {
		case yes:
			return e.hit, e.canHit
		case no:
			return e.miss, e.canMiss
		}
	}
	return e.hit + e.miss, true
}

// edges returns the edges from a table, or from the start if from is -1.
func (c *chain) edges(from int) []chainEdge {
	if from < 0 {
		return c.start
	}
	return c.tables[from].next
}

// place returns the index in paths and sums of a table, or of the start if from is -1.
func (w *weigher) place(from int) int {
	if from < 0 {
		return len(w.paths) - 1
	}
	return from
}

// count computes the number of paths with the record, and their total probability.
func (w *weigher) count(c *chain) {
	end := len(c.tables)
	w.paths[end], w.sums[end], w.over = 1, 1, false
	for from := end - 1; from >= -1; from-- {
		var n uint64
		var p float64
		edges := c.edges(from)
		for i := range edges {
			share, ok := w.step(from, &edges[i])
			if !ok {
				continue
			}
			var carry uint64
			if n, carry = bits.Add64(n, w.paths[edges[i].to], 0); carry > 0 {
				n, w.over = math.MaxUint64, true
			}
			p += float64(share * w.sums[edges[i].to])
		}
		w.paths[w.place(from)], w.sums[w.place(from)] = n, p
	}
	w.some = w.paths[end+1] > 0
}

// total returns the number of paths after a count, in decimal.
func (w *weigher) total(c *chain) string {
	if !w.over {
		return strconv.FormatUint(w.paths[len(w.paths)-1], 10)
	}
	paths := make([]*big.Int, len(w.paths))
	paths[len(c.tables)] = big.NewInt(1)
	for from := len(c.tables) - 1; from >= -1; from-- {
		n := new(big.Int)
		edges := c.edges(from)
		for i := range edges {
			if _, ok := w.step(from, &edges[i]); ok {
				n.Add(n, paths[edges[i].to])
			}
		}
		paths[w.place(from)] = n
	}
	return paths[len(paths)-1].String()
}
