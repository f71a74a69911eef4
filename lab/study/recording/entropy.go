package recording

import (
	"context"
	"fmt"
	"strconv"

	"tamtam/lab/bench"
	"tamtam/tam/record"
	"tamtam/tam/recordplan"
)

// measured holds the metrics of a plan: its value, and the effort of finding it.
type measured map[string]float64

// curveOf makes the plans of a curve with the probabilities of a seed, one for each number of bits.
func (s *run) curveOf(ctx context.Context, c *Curve, g *record.Graph, seed uint64) ([]measured, error) {
	m, err := s.model(g, seed)
	if err != nil {
		return nil, err
	}
	phv, err := record.ParseContainers(c.PHV)
	if err != nil {
		return nil, err
	}
	set := recordplan.Settings{Containers: phv, Stages: s.stagesFor(g), Algorithm: c.Algorithm, Hits: c.Hits,
		Paper: c.Paper, Budget: c.Budget}
	list := make([]measured, len(c.bits()))
	for i, n := range c.bits() {
		set.Bits = n
		p, err := s.plan(ctx, m, set)
		if err != nil {
			return nil, fmt.Errorf("%s with %d bits, seed %d: %w", c.Name, n, seed, err)
		}
		list[i] = s.measure(c, p)
		s.Done(1)
	}
	return list, nil
}

func (s *run) measure(c *Curve, p bench.TimedPlan) measured {
	v := measured{"entropy": p.Entropy, "sets": float64(p.Sets), "solves": float64(p.Solves)}
	if s.Study == Effort {
		v["seconds"] = p.Elapsed.Seconds()
	}
	if c.Hits {
		v["equation2"] = p.Equation2
	}
	if c.Algorithm == record.BranchAndBound {
		v["gap"], v["proven"] = max(0, p.Bound-p.Entropy), 0
		if p.Optimal {
			v["gap"], v["proven"] = 0, 1
		}
	}
	return v
}

// curves measures all curves with all seeds.
func (s *run) curves(ctx context.Context) (map[string][][]measured, error) {
	all := map[string][][]measured{} // results by curve; the first index is the seed, the second the number of bits
	for i := range s.Curves {
		c := &s.Curves[i]
		p, err := s.load(c.Program)
		if err != nil {
			return nil, err
		}
		g, err := p.Pipeline(c.Pipeline)
		if err != nil && s.program != "" {
			g, err = p.Pipeline("") // a file may have only one pipeline
		}
		if err != nil {
			return nil, err
		}
		list := make([][]measured, len(s.Work.Seeds))
		s.expect(len(c.bits()))
		err = s.EachSeed(ctx, func(i int, seed uint64) error {
			var err error
			list[i], err = s.curveOf(ctx, c, g, seed)
			return err
		})
		if err != nil {
			return nil, err
		}
		all[c.Name] = list
		for k, n := range c.bits() {
			for name := range list[0][k] {
				values := make([]float64, len(list))
				for seed := range list {
					values[seed] = list[seed][k][name]
				}
				s.results.add(c.Name, c.Figure, strconv.Itoa(n), float64(n), name, values...)
			}
		}
	}
	return all, nil
}

// rounding is the maximum difference of entropies that count as equal.
const rounding = 1e-9

// entropies makes figure 9: entropy against bits, and how pairs of curves compare.
func (s *run) entropies(ctx context.Context) error {
	all, err := s.curves(ctx)
	if err != nil {
		return err
	}
	for _, pair := range s.Compare {
		a, b := all[pair[0]], all[pair[1]]
		bits := s.common(pair)
		var below, equal, points float64
		short := make([]float64, len(s.Work.Seeds)) // largest shortfall in percent, by seed
		for seed := range s.Work.Seeds {
			for _, at := range bits {
				x, y := a[seed][at[0]]["entropy"], b[seed][at[1]]["entropy"]
				points++
				switch {
				case x < y-rounding:
					below++
					short[seed] = max(short[seed], 100*(y-x)/y)
				case x <= y+rounding:
					equal++
				}
			}
		}
		name := pair[0] + "-to-" + pair[1]
		s.results.add(name, "", "all", 0, "points", points)
		s.results.add(name, "", "all", 0, "below", below)
		s.results.add(name, "", "all", 0, "equal", equal)
		s.results.add(name, "", "all", 0, "short-percent", short...)
	}
	return nil
}

// common lists the indices of the bits that both curves of a pair have.
func (s *Settings) common(pair []string) (list [][2]int) {
	var bits [2][]int
	for i := range s.Curves {
		for k := range bits {
			if s.Curves[i].Name == pair[k] {
				bits[k] = s.Curves[i].bits()
			}
		}
	}
	for i, a := range bits[0] {
		for j, b := range bits[1] {
			if a == b {
				list = append(list, [2]int{i, j})
			}
		}
	}
	return list
}

// effort makes figure 10: the time and the number of sets of each algorithm against bits. One plan is made at a time,
// so that others do not affect its time.
func (s *run) effort(ctx context.Context) error {
	s.OneByOne()
	s.results.Notes = []string{
		"seconds: of this machine, and they vary",
		"sets that an algorithm weighed, and how often it asked the solver, are the same on every machine",
	}
	all, err := s.curves(ctx)
	if err != nil {
		return err
	}
	for _, pair := range s.Compare {
		a, b := all[pair[0]], all[pair[1]]
		name := pair[0] + "-over-" + pair[1]
		for _, at := range s.common(pair) {
			n := s.bitsAt(pair[0], at[0])
			for _, metric := range []string{"sets", "seconds"} {
				var times []float64
				for seed := range s.Work.Seeds {
					times = append(times, a[seed][at[0]][metric]/max(1e-9, b[seed][at[1]][metric]))
				}
				s.results.add(name, "", strconv.Itoa(n), float64(n), "times-"+metric, times...)
			}
		}
	}
	return nil
}

func (s *run) bitsAt(curve string, i int) int {
	for k := range s.Curves {
		if s.Curves[k].Name == curve {
			return s.Curves[k].bits()[i]
		}
	}
	return 0
}
