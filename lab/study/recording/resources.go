package recording

import (
	"context"
	"fmt"
	"strconv"

	"tamtam/lab/programs"
	"tamtam/tam/record"
	"tamtam/tam/recordplan"
	"tamtam/tam/recordplan/p4graph"
)

// needs holds the number of stages with which a greedy plan distinguishes all paths, by the number of 8-bit containers.
// It is 0 where that number of containers is too small.
type needs []int

// maxContainers is the limit of table II. moreStages is the limit of stages beyond those of the program.
const maxContainers, moreStages = 16, 24

// needsOf finds the needs of one pipeline. It ends with the first number of containers that needs no additional stage.
func (s *run) needsOf(ctx context.Context, g *record.Graph, seed uint64) (needs, error) {
	m, err := s.model(g, seed)
	if err != nil {
		return nil, err
	}
	least, _ := p4graph.MinStages(g)
	if m.Recovery(nil) >= complete {
		return needs{least}, nil
	}
	n := needs{0}
	most := least + moreStages // the stages that fewer containers needed; more containers never need more stages
	for phv := (record.Containers{8}); len(phv) <= maxContainers; phv = append(phv, 8) {
		stages := 0
		for st := most; st >= least; st-- {
			p, err := s.plan(ctx, m, recordplan.Settings{Containers: phv, Stages: st, Algorithm: record.Greedy})
			if err != nil {
				return nil, err
			}
			if p.Recovery < complete {
				break
			}
			stages = st
			if used := m.StagesFor(p.Plan); used > 0 && used < stages {
				stages, st = used, used
			}
		}
		n = append(n, stages)
		if stages > 0 {
			most = stages
		}
		if stages == least {
			break
		}
	}
	return n, nil
}

// at returns the stages for a number of containers. Beyond the last, the number of stages remains the same.
func (n needs) at(containers int) int { return n[min(containers, len(n)-1)] }

// together distributes containers over two pipelines, which share stages.
func (n needs) together(o needs) needs {
	all := make(needs, len(n)+len(o)-1)
	for k := range all {
		for i := max(0, k-len(o)+1); i <= min(k, len(n)-1); i++ {
			if a, b := n[i], o[k-i]; a > 0 && b > 0 && (all[k] == 0 || max(a, b) < all[k]) {
				all[k] = max(a, b)
			}
		}
	}
	return all
}

// resources makes table II: the 8-bit containers and stages that are added by plans that distinguish all paths.
func (s *run) resources(ctx context.Context) error {
	s.results.X = "containers"
	s.results.Notes = []string{
		"stages: the longest chain of dependencies, without limits of memory; the pipelines of a program share them",
		"a container more is one of 8 bits",
	}
	for _, name := range s.programNames() {
		p, err := s.load(name)
		if err != nil {
			return err
		}
		list := make([]needs, len(s.Work.Seeds))
		s.expect(1)
		err = s.EachSeed(ctx, func(i int, seed uint64) error {
			list[i] = needs{1} // the needs of a program without pipelines
			for _, g := range p.Pipelines {
				n, err := s.needsOf(ctx, g, seed)
				if err != nil {
					return fmt.Errorf("program %s, %s, seed %d: %w", p.Name, g.Pipeline, seed, err)
				}
				list[i] = list[i].together(n)
			}
			s.Done(1)
			return nil
		})
		if err != nil {
			return err
		}
		s.tableII(p, list)
	}
	return nil
}

// tableII adds a program to the report: the needs of the smallest number of containers, and the stages that more
// containers save.
func (s *run) tableII(p *programs.Program, list []needs) {
	before := 1
	for _, g := range p.Pipelines {
		least, _ := p4graph.MinStages(g)
		before = max(before, least)
	}
	s.results.add(p.Name, "", "0", 0, "stages", float64(before))
	most := 0
	for _, n := range list {
		most = max(most, len(n)-1)
	}
	for k := 1; k <= most; k++ {
		var stages, added []float64
		for _, n := range list {
			if v := n.at(k); v > 0 {
				stages, added = append(stages, float64(v)), append(added, float64(v-before))
			}
		}
		if len(stages) == 0 {
			continue
		}
		at := strconv.Itoa(k)
		s.results.add(p.Name, "", at, float64(k), "seeds", float64(len(stages)))
		s.results.add(p.Name, "", at, float64(k), "stages", stages...)
		s.results.add(p.Name, "", at, float64(k), "stages-added", added...)
	}
	var fewest, at []float64
	var free []float64
	for _, n := range list {
		for k := range n {
			if n[k] > 0 {
				fewest, at = append(fewest, float64(k)), append(at, float64(n[k]-before))
				break
			}
		}
		for k := range n {
			if n[k] == before {
				free = append(free, float64(k))
				break
			}
		}
	}
	for _, x := range []struct {
		name   string
		values []float64
	}{{"containers-added", fewest}, {"stages-added", at}, {"containers-for-no-stage", free}} {
		if len(x.values) > 0 {
			s.results.add(p.Name+"-path", "", "fewest", 0, x.name, x.values...)
		}
	}
}
