package recordplan

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"

	"tamtam/tam/record"
)

// A Simulation is the result of sending packets through a program's graph and decoding their paths from their records.
type Simulation struct {
	Packets uint64 `json:"packets"`
	Seed    uint64 `json:"seed"`
	// Recovered counts the packets whose record belongs to a single path, so that the path is known. Ambiguous counts
	// the packets whose record belongs to several paths.
	Recovered uint64 `json:"recovered"`
	Ambiguous uint64 `json:"ambiguous"`
	// Likeliest counts the ambiguous packets whose path is the likeliest with their record.
	Likeliest uint64 `json:"likeliest"`
	// Wrong counts packets that were decoded to another path, and Impossible those whose record no path has. Both are 0
	// unless the decoder is faulty.
	Wrong      uint64 `json:"wrong"`
	Impossible uint64 `json:"impossible"`
	// Rate is the share of recovered packets, and Planned the plan's path recovery rate.
	Rate    float64 `json:"rate"`
	Planned float64 `json:"planned"`
	Records int     `json:"records"` // number of distinct records
}

// WriteText writes a summary of the simulation in a small number of lines.
func (s *Simulation) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%d packets, seed %d: %d recovered, %d ambiguous (of %d the likeliest path is theirs)\n"+
		"recovery rate %.4f, planned %.4f; %d distinct records\n",
		s.Packets, s.Seed, s.Recovered, s.Ambiguous, s.Likeliest, s.Rate, s.Planned, s.Records)
	if err == nil && s.Wrong+s.Impossible > 0 {
		_, err = fmt.Fprintf(w, "NOT AS IT MUST BE: %d read as another path, %d as none\n", s.Wrong, s.Impossible)
	}
	return err
}

// Simulate sends n packets through the graph of a plan by its probabilities, and recovers their paths from their
// records. The same seed gives the same packets.
func Simulate(ctx context.Context, p *record.Plan, n, seed uint64) (*Simulation, error) {
	d, err := NewDecoder(p)
	if err != nil {
		return nil, err
	}
	s := &Simulation{Packets: n, Seed: seed, Planned: p.Recovery}
	r := rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))
	distinct := map[string]simulated{}
	walk, err := newWalk(d)
	if err != nil {
		return nil, err
	}
	for i := range n {
		if i%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		walk.packet(r)
		known, ok := distinct[string(walk.bits)]
		if !ok {
			known = d.all.simulated(walk.bits)
			if len(distinct) < 1<<20 { // a limited number of results is cached, to save time
				distinct[string(walk.bits)] = known
				s.Records++
			}
		}
		same := known.is(walk.path)
		switch {
		case known.impossible:
			s.Impossible++
		case known.alone && same:
			s.Recovered++
		case known.alone:
			s.Wrong++
		default:
			s.Ambiguous++
			if same {
				s.Likeliest++
			}
		}
	}
	if n > 0 {
		s.Rate = float64(s.Recovered) / float64(n)
	}
	return s, nil
}

// simulated is the result of decoding a record.
type simulated struct {
	alone, impossible bool
	likeliest         []int32 // edges of the likeliest path with the record
}

// is reports whether the likeliest path has these tables.
func (s simulated) is(tables []int32) bool {
	if len(s.likeliest) != len(tables) {
		return false
	}
	for i, t := range tables {
		if s.likeliest[i] != t {
			return false
		}
	}
	return true
}

// simulated decodes a record as far as a simulation requires. A path is unique if no other path that packets take has
// its record. Paths of probability 0 do not count, as in a plan's recovery rate.
func (r *reader) simulated(b []byte) simulated {
	if r.stray(b) >= 0 || !r.observe(b) {
		return simulated{impossible: true}
	}
	paths, costs := r.chain.best(2, func(from int, e *chainEdge) (float64, bool) {
		p, ok := r.w.step(from, e)
		return cost(p), ok
	})
	if len(paths) == 0 {
		return simulated{impossible: true}
	}
	s := simulated{alone: len(paths) == 1 || costs[1] >= improbable}
	from := -1
	for _, i := range paths[0] {
		if from = int(r.chain.edges(from)[i].to); from < len(r.chain.tables) && r.chain.tables[from].id != "" {
			s.likeliest = append(s.likeliest, int32(from))
		}
	}
	return s
}

// A walk sends packets through the graph one after the other. It includes conditions, so it does not depend on their
// elimination.
type walk struct {
	program *program
	ran     [][]int // for each node, the bits that the table sets when it runs
	hit     [][]int
	own     []bool  // true for tables of the program
	path    []int32 // tables of the current packet's path
	bits    []byte
	at      []bitAt
}

// bitAt is the position of a bit in the record's bytes.
type bitAt struct {
	i    int
	mask byte
}

func newWalk(d *Decoder) (*walk, error) {
	coded, _, err := codedGraph(d.plan, d.plan.Graph, d.given)
	if err != nil {
		return nil, err
	}
	p, err := newProgram(coded.graph, coded.p, d.all.chain)
	if err != nil {
		return nil, err
	}
	tables := len(d.all.chain.tables)
	w := &walk{
		program: p, ran: make([][]int, tables), hit: make([][]int, tables), own: make([]bool, tables),
		bits: make([]byte, d.containers.Bytes()),
	}
	for i := range d.all.acts {
		a := &d.all.acts[i]
		for _, c := range a.classes {
			if c.aside < 0 {
				continue
			}
			for j, bit := range a.bits {
				if c.code>>j&1 != 0 {
					w.ran[c.aside] = append(w.ran[c.aside], bit)
				}
			}
		}
	}
	for i := range w.own {
		w.own[i] = d.all.chain.tables[i].id != ""
	}
	for _, m := range d.all.marks {
		switch {
		case m.table < 0:
		case m.Hit:
			w.hit[m.table] = append(w.hit[m.table], m.Bit)
		default:
			w.ran[m.table] = append(w.ran[m.table], m.Bit)
		}
	}
	first := 0
	for _, width := range d.containers {
		n := int(width) / 8
		for bit := range int(width) {
			w.at = append(w.at, bitAt{first + n - 1 - bit/8, 1 << (bit % 8)})
		}
		first += n
	}
	return w, nil
}

// packet sends a packet from the start to the end.
func (w *walk) packet(r *rand.Rand) {
	w.path = w.path[:0]
	clear(w.bits)
	for at := w.program.first; at != w.program.exit; {
		to, hit := w.program.choose(at, r.Float64())
		if t := w.program.table[at]; t >= 0 {
			if w.own[t] {
				w.path = append(w.path, int32(t))
			}
			w.set(w.ran[t])
			if hit {
				w.set(w.hit[t])
			}
		}
		at = to
	}
}

func (w *walk) set(list []int) {
	for _, bit := range list {
		w.bits[w.at[bit].i] |= w.at[bit].mask
	}
}
