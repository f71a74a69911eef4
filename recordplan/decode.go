package recordplan

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strconv"

	"tamtam/record"
)

// MaxLikely is how many paths an [Answer] names at most.
const MaxLikely = 8

// maxAnswers is how many answers a Decoder remembers.
const maxAnswers = 1 << 14

// An Answer is what a record says of its packet.
type Answer struct {
	// Exact: one path only has this record.
	Exact bool
	// Paths that have it, most likely first, at most MaxLikely.
	Paths []Likely
	// Total is how many have it: a number of any size.
	Total string
	// Impossible: no path of the graph has it. The chip does not do what the graph
	// says, or the record is none of this plan.
	Impossible bool
	// Why an impossible record is impossible: in what it differs from the path that
	// comes closest, which is the only one in Paths.
	Why string
}

// A Likely is a path that has a record, and how likely it is among all that have it.
type Likely struct {
	Path []record.Step
	// HitKnown says of which steps Hit is known: where the record says it, or only one
	// of both leads on this path.
	HitKnown []bool
	P        float64
}

// A Decoder turns the bits of records into paths.
//
// Each bit says of one table that a packet ran it or did not, or that it hit. A path
// has a record if it runs all tables that the record says, and none of those that it
// denies; in a topological order of the tables that holds of each step alone: it must
// lead to a table that is not denied, and pass over none that is said. So the steps
// that are left in the graph make all possible paths and no others, and they are
// counted, weighed and searched without being listed, in a time that grows with the
// graph and not with its paths. A Decoder is not safe for concurrent use.
type Decoder struct {
	plan       *record.Plan
	containers record.Containers
	marks      []tableMark
	chain      *chain
	answers    map[string]Answer
	w          weigher
}

// A tableMark is a bit of the record, of a table of the chain; table is -1 if no
// packet can reach it.
type tableMark struct {
	record.Mark
	table int
}

// NewDecoder makes ready to read records of a plan, which has its graph.
func NewDecoder(p *record.Plan) (*Decoder, error) {
	if p.Graph == nil {
		return nil, fmt.Errorf("plan %d has no graph: want the plan as it was written, whole", p.ID)
	}
	d := &Decoder{plan: p, answers: map[string]Answer{}}
	var err error
	if d.containers, err = p.Containers(); err != nil {
		return nil, fmt.Errorf("plan %d: %w", p.ID, err)
	}
	marks, err := p.Marks()
	if err != nil {
		return nil, fmt.Errorf("plan %d: %w", p.ID, err)
	}
	var probabilities record.Probabilities
	if p.Probabilities != nil {
		probabilities = *p.Probabilities
	}
	m, err := NewModel(p.Graph, probabilities)
	if err != nil {
		return nil, fmt.Errorf("plan %d: %w", p.ID, err)
	}
	d.chain = newChain(m)
	known := map[string]bool{}
	for _, n := range p.Graph.Nodes {
		known[n.ID] = n.Kind == record.Table
	}
	for _, m := range marks {
		t, ok := d.chain.index[m.Table]
		if !ok {
			if t = -1; !known[m.Table] {
				return nil, fmt.Errorf("plan %d: it records %q, which is no table of its graph", p.ID, m.Table)
			}
		}
		d.marks = append(d.marks, tableMark{m, t})
	}
	return d, nil
}

// Plan is what the decoder was made of.
func (d *Decoder) Plan() *record.Plan { return d.plan }

// Tables are all tables that packets can run, in a topological order.
func (d *Decoder) Tables() []string {
	var ids []string
	for _, t := range d.chain.tables {
		if t.id != "" {
			ids = append(ids, t.id)
		}
	}
	return ids
}

// AllPaths is how many paths the graph has.
func (d *Decoder) AllPaths() string {
	d.w.unknown(d.chain)
	d.w.count(d.chain)
	return d.w.total(d.chain)
}

// check says what is wrong with the length of a record.
func (d *Decoder) check(b []byte) error {
	if len(b) != d.containers.Bytes() {
		return fmt.Errorf("a record of %d bytes, want the %d of plan %d (%s)", len(b), d.containers.Bytes(), d.plan.ID, d.plan.PHV)
	}
	return nil
}

// Decode tells the paths that have a record: the bytes of its containers.
func (d *Decoder) Decode(b []byte) (Answer, error) {
	if err := d.check(b); err != nil {
		return Answer{}, err
	}
	if a, ok := d.answers[string(b)]; ok {
		return a, nil
	}
	a := d.decode(b)
	if len(d.answers) >= maxAnswers {
		clear(d.answers)
	}
	d.answers[string(b)] = a
	return a, nil
}

func (d *Decoder) decode(b []byte) Answer {
	if stray := d.stray(b); stray >= 0 {
		return Answer{Impossible: true, Total: "0", Why: fmt.Sprintf("bit %d is set, which no table of the plan sets", stray)}
	}
	if !d.observe(b) {
		return d.impossible(b)
	}
	d.w.count(d.chain)
	if !d.w.some {
		return d.impossible(b)
	}
	a := Answer{Total: d.w.total(d.chain)}
	a.Exact = a.Total == "1"
	a.Paths = d.likely()
	return a
}

// stray finds a bit that is set though the plan has no table there, or none that
// packets reach; -1: there is none.
func (d *Decoder) stray(b []byte) int {
	own := make([]bool, d.containers.Bits())
	for _, m := range d.marks {
		own[m.Bit] = m.table >= 0
	}
	for i, o := range own {
		if !o && d.containers.Bit(b, i) {
			return i
		}
	}
	return -1
}

// What a record says of a table.
type seen uint8

const (
	notSaid seen = iota
	no
	yes
)

// observe notes what a record says of each table. It is false if it says of one that
// it hit and did not run.
func (d *Decoder) observe(b []byte) bool {
	d.w.unknown(d.chain)
	fine := true
	for _, m := range d.marks {
		if m.table < 0 {
			continue
		}
		t, set := &d.w.says[m.table], d.containers.Bit(b, m.Bit)
		switch {
		case m.Hit && set:
			t.hit = yes
			if t.ran != no {
				t.ran = yes
			} else {
				fine = false
			}
		case m.Hit:
			t.hit = no
		case set:
			t.ran = yes
		default:
			t.ran = no
			fine = fine && t.hit != yes
		}
	}
	d.w.index()
	return fine
}

// A weigher counts and weighs the paths that have a record.
type weigher struct {
	says []said
	// must counts the tables before each place that the record says were run.
	must []int32

	// Of the paths from each table on, which is at its place, and from the start, which
	// is the last.
	paths []uint64
	sums  []float64
	some  bool // there is one
	over  bool // paths is too small for the number
}

type said struct{ ran, hit seen }

func (w *weigher) unknown(c *chain) {
	n := len(c.tables)
	if w.says == nil {
		w.says, w.must, w.paths, w.sums = make([]said, n), make([]int32, n+1), make([]uint64, n+2), make([]float64, n+2)
	}
	clear(w.says)
	clear(w.must)
}

func (w *weigher) index() {
	for i, s := range w.says {
		w.must[i+1] = w.must[i]
		if s.ran == yes {
			w.must[i+1]++
		}
	}
}

// step says whether a path with this record can take an edge from a table, -1 for the
// start, and how likely it is.
func (w *weigher) step(from int, e *chainEdge) (float64, bool) {
	to := int(e.to)
	if w.must[to] != w.must[from+1] || to < len(w.says) && w.says[to].ran == no {
		return 0, false
	}
	if from >= 0 {
		switch w.says[from].hit {
		case yes:
			return e.hit, e.canHit
		case no:
			return e.miss, e.canMiss
		}
	}
	return e.hit + e.miss, true
}

// edges are those from a table, -1 for the start.
func (c *chain) edges(from int) []chainEdge {
	if from < 0 {
		return c.start
	}
	return c.tables[from].next
}

// place is where the figures of a table are, -1 for the start.
func (w *weigher) place(from int) int {
	if from < 0 {
		return len(w.paths) - 1
	}
	return from
}

// count finds how many paths have the record, and how likely they are together.
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
			p += share * w.sums[edges[i].to]
		}
		w.paths[w.place(from)], w.sums[w.place(from)] = n, p
	}
	w.some = w.paths[end+1] > 0
}

// total is the number of paths after a count.
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
