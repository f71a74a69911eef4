package plan

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tamtam/tam/flymon"
)

// A Lack is an error for a task that does not fit. With fewer tasks it would.
type Lack struct {
	Task flymon.Task
	What string // in words: the requirement, and why no group meets it
	// Blockers lists tasks without which the refused task would fit. Nil means that they were not searched for, or that
	// the refused task itself is in the way.
	Blockers []string
	// Pinned lists pinned tasks that would have to move for the task. Nil means that this would not help.
	Pinned []string
}

func (l *Lack) Error() string { return l.What }

// LacksRoom marks the error as one that may disappear when something is removed.
func (l *Lack) LacksRoom() {}

// beside adds to a lack that the task keeps its current place until then.
func beside(err error) error {
	var l *Lack
	if errors.As(err, &l) {
		const beside = "; this is beside the place that the task has now, which it keeps until it is read"
		return &Lack{Task: l.Task, What: l.What + beside}
	}
	return err
}

// pinnedHere returns the error of a pinned task that cannot stay at its place with another filter, because of other
// tasks.
func pinnedHere(old *Placed, t flymon.Task, others []string) error {
	return &Lack{Task: t, Blockers: others, Pinned: []string{old.Name}, What: fmt.Sprintf(
		"task %s is pinned to its CMUs in %s, where its new filter meets those of %s",
		old.Name, old.Groups(), taskWords(others))}
}

// pinned returns the lack if pinned tasks would have to move.
func (l *Lack) pinned(tasks []string) error {
	return &Lack{Task: l.Task, Pinned: tasks,
		What: fmt.Sprintf("%s; to make room %s would have to move, but is pinned", l.What, taskWords(tasks))}
}

// A refusal is the reason why a CMU does not accept a row.
type refusal struct {
	what       string
	have, need int
	task       string // task with an overlapping filter; "" if there is only too little free space
}

// why describes what the CMUs of a group lack for the rows. found is the number of rows with a CMU.
func why(found, rows int, refused []refusal) string {
	words := []string{fmt.Sprintf("%d of %d CMUs will do", found, rows)}
	var whats, tasks []string
	have, need := map[string][]string{}, map[string]int{}
	for _, r := range refused {
		if r.task != "" {
			tasks = append(tasks, r.task)
			continue
		}
		if need[r.what] == 0 {
			whats = append(whats, r.what)
		}
		have[r.what], need[r.what] = append(have[r.what], fmt.Sprint(r.have)), r.need
	}
	for _, w := range whats {
		words = append(words, fmt.Sprintf("%s: %d needed, the others have %s", w, need[w], strings.Join(have[w], ", ")))
	}
	if len(tasks) > 0 {
		slices.Sort(tasks)
		words = append(words, fmt.Sprintf("in %d a filter meets this one's: of task %s",
			len(tasks), strings.Join(slices.Compact(tasks), ", ")))
	}
	return strings.Join(words, "; ")
}

// because records why a group is unsuitable.
func (s *search) because(group int, why string) {
	if s.why == nil {
		s.why = map[string][]int{}
	}
	if g := s.why[why]; !slices.Contains(g, group) {
		s.why[why] = append(g, group)
	}
}

// keysInUse describes a shortage of hash units.
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
	return fmt.Sprintf("hash units for %s: the group's make %s",
		strings.Join(slices.Sorted(maps.Keys(want)), " and "), strings.Join(have, ", "))
}

// maxReasons is the maximum number of reasons in a Lack.
const maxReasons = 4

// lack returns the error with the reasons of all groups.
func (s *search) lack() error {
	return &Lack{Task: *s.task, What: fmt.Sprintf("%s needs %s; %s", s.recipe.sketch.Algorithm, s.need(), s.reasons())}
}

// never returns the error of a task that does not fit even without other tasks.
func (s *search) never() error {
	return fmt.Errorf("%s needs %s, more than a chip has that does nothing else; %s",
		s.recipe.sketch.Algorithm, s.need(), s.reasons())
}

// need describes the requirements of a task.
func (s *search) need() string {
	steps := s.recipe.steps
	if len(steps) == 1 {
		return cmus(len(steps[0])) + " of one group"
	}
	return fmt.Sprintf("%d groups at least %d apart with %s each", len(steps), flymon.Apart, cmus(len(steps[0])))
}

func cmus(n int) string {
	if n == 1 {
		return "1 CMU"
	}
	return fmt.Sprintf("%d CMUs", n)
}

// reasons returns the reasons of all groups, ordered by group.
func (s *search) reasons() string {
	type reason struct {
		why    string
		groups []int
	}
	var all []reason
	for why, groups := range s.why {
		slices.Sort(groups)
		all = append(all, reason{why, groups})
	}
	if len(all) == 0 {
		return fmt.Sprintf("there are %d groups", s.view.geo.Groups)
	}
	slices.SortFunc(all, func(a, b reason) int {
		return cmp.Or(slices.Compare(a.groups, b.groups), strings.Compare(a.why, b.why))
	})
	var words []string
	for i, x := range all {
		if i == maxReasons {
			words = append(words, fmt.Sprintf("and %d more", len(all)-i))
			break
		}
		words = append(words, fmt.Sprintf("%s: %s", groupWords(x.groups), x.why))
	}
	return strings.Join(words, "; ")
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
