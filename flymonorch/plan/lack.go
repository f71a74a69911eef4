package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tamtam/flymon"
)

// A Lack says what a chip has too little of for a task: with fewer tasks it could be
// done.
type Lack struct {
	Task flymon.Task
	What string // in words: what is needed, and why no group has it
}

func (l *Lack) Error() string { return l.What }

// because notes why a group will not do.
func (s *search) because(group int, why string) {
	if s.why == nil {
		s.why = map[string][]int{}
	}
	if g := s.why[why]; !slices.Contains(g, group) {
		s.why[why] = append(g, group)
	}
}

// keysInUse says that hash units are short.
func (s *search) keysInUse(g int, parts []part) string {
	want := map[string]bool{}
	for i := range parts {
		want[parts[i].key.String()] = true
		if !parts[i].element.IsZero() {
			want[parts[i].element.String()] = true
		}
	}
	var have []string
	for _, h := range s.view.groups[g].hash {
		if h.used {
			have = append(have, h.key.String())
		} else {
			have = append(have, "free")
		}
	}
	return fmt.Sprintf("hash units for %s: the group's make %s", strings.Join(slices.Sorted(maps.Keys(want)), " and "), strings.Join(have, ", "))
}

// maxReasons bounds how many reasons a Lack tells.
const maxReasons = 4

// lack puts the reasons of all groups into one sentence.
func (s *search) lack() error {
	r := s.recipe
	need := fmt.Sprintf("%d CMUs of one group", len(r.steps[0]))
	if len(r.steps) > 1 {
		need = fmt.Sprintf("%d groups at least %d apart, with %d CMUs each", len(r.steps), flymon.Apart, len(r.steps[0]))
		if have := s.view.geo.Groups; have <= flymon.Apart*(len(r.steps)-1) {
			return fmt.Errorf("%s needs %s, and the chip has %d groups: want another algorithm", r.sketch.Algorithm, need, have)
		}
	}
	type reason struct {
		why    string
		groups []int
	}
	var all []reason
	for why, groups := range s.why {
		slices.Sort(groups)
		all = append(all, reason{why, groups})
	}
	slices.SortFunc(all, func(a, b reason) int { return slices.Compare(a.groups, b.groups) })
	var words []string
	for i, x := range all {
		if i == maxReasons {
			words = append(words, fmt.Sprintf("and %d more", len(all)-i))
			break
		}
		words = append(words, fmt.Sprintf("%s: %s", groupWords(x.groups), x.why))
	}
	return &Lack{Task: *s.task, What: fmt.Sprintf("%s needs %s; %s", r.sketch.Algorithm, need, strings.Join(words, "; "))}
}

// groupWords writes 0,1,2,5 as groups 0-2, 5.
func groupWords(groups []int) string {
	var words []string
	for i := 0; i < len(groups); {
		j := i
		for j+1 < len(groups) && groups[j+1] == groups[j]+1 {
			j++
		}
		if i == j {
			words = append(words, fmt.Sprint(groups[i]))
		} else {
			words = append(words, fmt.Sprintf("%d-%d", groups[i], groups[j]))
		}
		i = j + 1
	}
	if len(groups) == 1 {
		return "group " + words[0]
	}
	return "groups " + strings.Join(words, ", ")
}

// expected says what error to expect, by the algorithm's theory.
func expected(p *Placed) string {
	w := p.Layout.Units[0].Size
	d := len(p.Sketch.Rows)
	switch p.Sketch.Algorithm {
	case flymon.CMS, flymon.SuMaxSum:
		return fmt.Sprintf("never too low; of N in all, too high by more than 2N/%d with probability 2^-%d", w, d)
	case flymon.Tower, flymon.CounterBraids:
		return fmt.Sprintf("never too low; %d rows of %d counters", d, w)
	case flymon.MRAC:
		return fmt.Sprintf("distribution by EM over %d counters: best with fewer flows than counters", w)
	case flymon.HyperLogLog:
		return fmt.Sprintf("standard error 1.04/sqrt(%d)", w)
	case flymon.LinearCounting:
		return fmt.Sprintf("linear counting over %d bits", int(w)*bitsOf(p))
	case flymon.Bloom:
		return fmt.Sprintf("no member is missed; with n members false positives are (1-exp(-n/%d))^%d", int(w)*bitsOf(p), d)
	case flymon.BeauCoup:
		return fmt.Sprintf("%d coupons, each drawn with probability 2^-%d", p.Sketch.Coupons, p.Sketch.CouponShift)
	case flymon.OddSketch:
		return fmt.Sprintf("odd sketch of %d bits", int(w)*bitsOf(p))
	case flymon.MaxInterArr:
		return fmt.Sprintf("in units of %d ns; flows that share buckets in all %d instances disturb each other", uint64(1)<<p.Sketch.Scale, d)
	}
	return fmt.Sprintf("never too low; the least of %d rows of %d buckets", d, w)
}

// bitsOf is how many bits of a bucket are chosen from.
func bitsOf(p *Placed) int { return len(p.Layout.Units[0].Map) }
