package marking

import (
	"cmp"
	"math"
	"path/filepath"
	"testing"

	"tamtam/lab"
)

const forever lab.Time = math.MaxInt64

// A spy is a study that gives access to the observer of the switches.
type spy struct {
	*Study
	seen *marking
}

func (s *spy) Observe(l *lab.Lab) (lab.Observer, error) {
	o, err := s.Study.Observe(l)
	s.seen, _ = o.(*marking)
	return o, err
}

// newLab builds a lab, and also returns the observer of its switches.
func newLab(t *testing.T, top *lab.Topology, opts lab.Options) (*lab.Lab, *marking) {
	t.Helper()
	s := &spy{Study: studyOf(top)}
	watched := *top
	watched.Studies = []lab.Study{s}
	l, err := lab.New(t.Context(), &watched, opts)
	if err != nil {
		t.Fatal(err)
	}
	return l, s.seen
}

// parse reads a topology that may contain the study. Its switches have only the three ports that the tests use, since
// the others of a profile would dominate a switch's start time.
func parse(name, text string) (*lab.Topology, error) {
	top, err := lab.Parse(name, []byte(text), nil, new(Study))
	if err != nil {
		return nil, err
	}
	for i := range top.Switches {
		s := &top.Switches[i]
		s.Profile = filepath.Join("testdata", cmp.Or(s.Profile, "rmt12")+".json")
	}
	return top, nil
}

func studyOf(top *lab.Topology) *Study { return top.Studies[0].(*Study) }

func reportOf(r *lab.Result) Report { return r.Reports["altmark"].(Report) }
