package recording

import (
	"context"
	"fmt"
	"math/big"
	"strconv"

	"tamtam/tam/record"
	"tamtam/tam/recordplan"
)

// A recoveryCurve holds the results of a greedy plan for 0, 1, 2 ... bits. At its last point all paths are
// distinguished, or more bits add nothing.
type recoveryCurve []recovery

type recovery struct{ rate, entropy float64 }

// complete is the rate from which on every path is distinguished. The difference to 1 allows for rounding.
const complete = 1 - 1e-9

// pathsOf makes the greedy plans of one pipeline. For 1 to 8 bits they use one 8-bit container, for 9 to 16 two, and so
// on. A greedy plan with fewer bits is the beginning of one with more.
func (s *run) pathsOf(ctx context.Context, g *record.Graph, seed uint64) (recoveryCurve, error) {
	m, err := s.model(g, seed)
	if err != nil {
		return nil, err
	}
	curve := recoveryCurve{{rate: m.Recovery(nil)}}
	for phv := (record.Containers{8}); phv.Bits() <= record.MaxBits; phv = append(phv, 8) {
		p, err := s.plan(ctx, m, recordplan.Settings{Containers: phv, Stages: s.stagesFor(g), Algorithm: record.Greedy})
		if err != nil {
			return nil, err
		}
		choices := m.Choices(p.Plan)
		for n := len(curve); n <= len(choices); n++ {
			curve = append(curve, recovery{m.Recovery(choices[:n]), m.Entropy(choices[:n])})
			if curve[n].rate >= complete {
				return curve, nil
			}
		}
		if len(choices) < phv.Bits() { // the record has more bits than useful choices
			return curve, nil
		}
	}
	return curve, nil
}

// beside divides bits between two pipelines with separate containers, so that the entropy is maximal. Paths of one are
// assumed to be independent of those of the other.
func (a recoveryCurve) beside(b recoveryCurve) recoveryCurve {
	both := make(recoveryCurve, len(a)+len(b)-1)
	for n := range both {
		best := recovery{entropy: -1}
		for i := max(0, n-len(b)+1); i <= min(n, len(a)-1); i++ {
			r := recovery{a[i].rate * b[n-i].rate, a[i].entropy + b[n-i].entropy}
			if r.entropy > best.entropy {
				best = r
			}
		}
		both[n] = best
	}
	return both
}

// full returns the smallest number of bits that distinguishes every path, or -1 if there is none.
func (c recoveryCurve) full() int {
	for n, r := range c {
		if r.rate >= complete {
			return n
		}
	}
	return -1
}

// at returns the curve at n bits. Beyond its end more bits change nothing.
func (c recoveryCurve) at(n int) recovery { return c[min(n, len(c)-1)] }

// paths makes figure 8: the path recovery rate against bits.
func (s *run) paths(ctx context.Context) error {
	s.results.Notes = []string{
		"ours: greedy plans, bits in 8-bit containers, recording execution only",
		"Ball-Larus numbers paths: over table sequences, the least that any method can do, and over action walks; it " +
			"says nothing with fewer bits than it needs",
		"one bit for each table that not every packet runs says nothing of a table without its bit; drawn where it has all",
		"a program of two pipelines: each has containers of its own, and paths of one are independent of those of the other",
	}
	for _, name := range s.programNames() {
		p, err := s.load(name)
		if err != nil {
			return err
		}
		// by pipeline, then for all together; the second index is the seed
		curves := make([][]recoveryCurve, len(p.Pipelines)+1)
		for i := range curves {
			curves[i] = make([]recoveryCurve, len(s.Work.Seeds))
		}
		s.expect(len(p.Pipelines))
		err = s.EachSeed(ctx, func(i int, seed uint64) error {
			all := recoveryCurve{{rate: 1}}
			for k, g := range p.Pipelines {
				c, err := s.pathsOf(ctx, g, seed)
				if err != nil {
					return fmt.Errorf("program %s, %s, seed %d: %w", p.Name, g.Pipeline, seed, err)
				}
				curves[k][i], all = c, all.beside(c)
				s.Done(1)
			}
			curves[len(p.Pipelines)][i] = all
			return nil
		})
		if err != nil {
			return err
		}
		var whole coding
		for k, g := range p.Pipelines {
			one, err := s.codingOf(ctx, g, curves[k])
			if err != nil {
				return err
			}
			whole.join(one)
			if len(p.Pipelines) > 1 {
				s.figure8(p.Name+"-"+g.Pipeline, curves[k], one)
			}
		}
		s.figure8(p.Name, curves[len(p.Pipelines)], whole)
	}
	return nil
}

// A coding holds the numbers of bits for other methods, and the best that recording can achieve.
type coding struct {
	sequences, walks *big.Int
	tables           int
	// least is the smallest number of bits that branch-and-bound needs. If proven is true, no set of tables needs
	// fewer, however it is placed.
	least  int
	proven bool
}

func (s *run) codingOf(ctx context.Context, g *record.Graph, curves []recoveryCurve) (coding, error) {
	m, err := s.model(g, s.Work.Seeds[0])
	if err != nil {
		return coding{}, err
	}
	c := coding{sequences: m.Paths(), walks: m.Walks(), tables: m.OneBitPerTable()}
	if c.least = curves[0].full(); c.least < 1 {
		c.least, c.proven = max(0, c.least), c.least == 0
		return c, nil
	}
	phv := make(record.Containers, min(c.tables, record.MaxBits/8)) // one for each table
	for i := range phv {
		phv[i] = 8
	}
	for ; c.least > 1; c.least-- {
		p, err := s.plan(ctx, m, recordplan.Settings{Containers: phv, Bits: c.least - 1, Stages: s.stagesFor(g),
			Algorithm: record.BranchAndBound})
		if err != nil {
			return c, err
		}
		if p.Recovery < complete {
			c.proven = p.Bound < p.Full-rounding
			return c, nil
		}
	}
	c.proven = c.least == 1
	return c, nil
}

func (c *coding) join(o coding) {
	if c.sequences == nil {
		*c = o
		return
	}
	c.sequences, c.walks = new(big.Int).Mul(c.sequences, o.sequences), new(big.Int).Mul(c.walks, o.walks)
	c.tables += o.tables
	c.least += o.least
	c.proven = c.proven && o.proven
}

// bitsFor returns the width of numbers for n things, in bits.
func bitsFor(n *big.Int) int { return new(big.Int).Sub(n, big.NewInt(1)).BitLen() }

// figure8 puts a program's curves into the report.
func (s *run) figure8(name string, curves []recoveryCurve, c coding) {
	floor, walks := bitsFor(c.sequences), bitsFor(c.walks)
	last := max(walks, c.tables) + 1
	for n := range last + 1 {
		rate, entropy := make([]float64, len(curves)), make([]float64, len(curves))
		for i, curve := range curves {
			r := curve.at(n)
			rate[i], entropy[i] = r.rate, r.entropy
		}
		at := strconv.Itoa(n)
		s.results.add(name, name, at, float64(n), "recovery", rate...)
		s.results.add(name, name, at, float64(n), "entropy", entropy...)
	}
	for _, other := range []struct {
		name string
		bits int
	}{{"ball-larus-sequences", floor}, {"ball-larus-walks", walks}, {"one-bit-per-table", c.tables}} {
		for _, x := range []struct {
			bits int
			rate float64
		}{{0, 0}, {max(0, other.bits-1), 0}, {other.bits, 1}, {last, 1}} {
			s.results.add(name+"-"+other.name, name, strconv.Itoa(x.bits), float64(x.bits), "recovery", x.rate)
		}
	}
	var full, least, more, fewer []float64
	complete := 0
	for _, curve := range curves {
		n := curve.full()
		if n < 0 {
			continue
		}
		complete++
		full, more = append(full, float64(n)), append(more, float64(n-walks))
		least = append(least, float64(n-floor))
		if walks > 0 { // one path needs no bits, by any method
			fewer = append(fewer, 100*(1-float64(n)/float64(walks)))
		}
	}
	sum := name + "-full"
	put := func(metric string, values ...float64) {
		if len(values) > 0 {
			s.results.add(sum, "", "bits", 0, metric, values...)
		}
	}
	put("seeds", float64(complete))
	put("ours", full...)
	put("ball-larus-sequences", float64(floor))
	put("ball-larus-walks", float64(walks))
	put("one-bit-per-table", float64(c.tables))
	put("least", float64(c.least))
	proven := 0.0
	if c.proven {
		proven = 1
	}
	put("least-proven", proven)
	put("over-ball-larus-walks", more...)
	put("over-the-floor", least...)
	put("fewer-percent", fewer...)
}
