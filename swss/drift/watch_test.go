package drift

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/swss"
)

// An objectStage is a stage of objects with values: the actual ones and the expected ones.
type objectStage struct {
	is, should map[string]string
	busy, late bool
	looked     []int // number of objects of each look
	stubborn   bool  // true if Heal has no effect
	healed     int
}

func (s *objectStage) stage(after string) Stage {
	return Stage{Name: "SHELF", After: after,
		List: func(context.Context, Keys) (keys []string, err error) {
			for k := range s.should {
				keys = append(keys, k)
			}
			slices.Sort(keys)
			return keys, nil
		},
		Look: func(_ context.Context, keys []string) (found []Finding, err error) {
			s.looked = append(s.looked, len(keys))
			for _, k := range keys {
				if s.is[k] != s.should[k] {
					found = append(found, Finding{Key: k, What: "is " + s.is[k], Sum: SumOf(s.is[k], s.should[k]), Busy: s.busy,
						Late: s.late})
				}
			}
			return found, nil
		},
		Heal: func(_ context.Context, drifted []Finding) error {
			s.healed++
			for _, f := range drifted {
				if !s.stubborn {
					s.is[f.Key] = s.should[f.Key]
				}
			}
			return nil
		},
	}
}

// A bed is a watch of a shelf with the objects a and b, driven by a clock.
type bed struct {
	*testing.T
	*objectStage
	watch *Watch
	now   time.Time
}

func newBed(t *testing.T, after string) *bed {
	b := &bed{T: t, watch: NewWatch(), now: time.Unix(1000, 0), objectStage: &objectStage{
		is: map[string]string{"a": "1", "b": "2"}, should: map[string]string{"a": "1", "b": "2"},
	}}
	b.watch.Add(b.stage(after))
	return b
}

// work lets time pass, and calls Work in every period.
func (b *bed) work(d time.Duration) State {
	b.Helper()
	for range int(d / period) {
		b.now = b.now.Add(period)
		if err := b.watch.Work(b.Context(), b.now); err != nil {
			b.Fatal(err)
		}
	}
	return b.watch.State()
}

func (b *bed) expect(what string, d time.Duration, word string, drift, healed uint64) State {
	b.Helper()
	s := b.work(d)
	if s.Word() != word || s.Drift != drift || s.Healed != healed {
		b.Errorf("%s: %s, drift %d, healed %d (%s); want %s, %d, %d", what, s.Word(), s.Drift, s.Healed, s.Reason, word,
			drift, healed)
	}
	return s
}

// Drift that was seen twice is reported and healed, and ends.
func TestDriftIsHealed(t *testing.T) {
	b := newBed(t, "")
	if s := b.watch.State(); s.Word() != Checking || s.Lacks() == "" {
		t.Errorf("before the first pass: %+v", s)
	}
	b.expect("all is as it should be", 3*time.Second, Consistent, 0, 0)
	b.is["b"] = "9"
	b.expect("seen once", period, Consistent, 0, 0)
	b.stubborn = true
	s := b.expect("seen twice", 4*time.Second, Differs, 1, 0)
	if s.Reason != "SHELF b is 9" || s.Since.IsZero() || s.Open != 1 {
		t.Errorf("told: %+v", s)
	}
	before := b.healed
	if b.expect("it cannot be healed", 64*time.Second, Differs, 1, 0); b.healed > before+5 {
		t.Errorf("tried %d times in a minute: it should be ever more rarely", b.healed-before)
	}
	b.stubborn = false
	b.expect("it can be", 2*time.Minute, Consistent, 1, 1)
}

// A change between two looks, or an object in flight, is not drift. An object that only waits is reported, not
// healed.
func TestInFlightIsNoDrift(t *testing.T) {
	b := newBed(t, "")
	b.work(3 * time.Second)
	for i := range 20 {
		b.is["a"] = fmt.Sprint("new ", i)
		b.expect("a row that changes all the time", time.Second, Consistent, 0, 0)
	}
	b.busy = true
	b.expect("a row in flight", 20*time.Second, Consistent, 0, 0)
	b.busy, b.late = false, true
	b.expect("a row that waits", 20*time.Second, Differs, 0, 0)
	if b.healed > 0 {
		t.Error("what waits was healed")
	}
	b.is["a"] = "1"
	b.expect("it waits no more", 4*time.Second, Consistent, 0, 0)
}

// If another daemon is the author of the expected state, drift is healed only after that author has checked all its
// objects.
func TestAuthorHealsFirst(t *testing.T) {
	b := newBed(t, "author")
	passes, well := 7, true
	b.watch.Author = func(_ context.Context, daemon string) (int, bool) {
		if daemon != "author" {
			t.Errorf("%s is asked", daemon)
		}
		return passes, well
	}
	b.work(3 * time.Second)
	b.is["a"] = "9"
	for _, tt := range []struct {
		name   string
		passes int
		well   bool
	}{
		{"the author has not looked", 7, true},
		{"only the pass that was under way has ended", 8, true},
		{"the author sees something wrong", 9, false},
		{"the author has begun anew", 0, true},
		{"only the pass that was under way has ended", 1, true},
		{"nothing is heard of the author", -1, false},
		{"the author is heard of again", 1, true},
		{"only the pass that was under way has ended", 2, true},
	} {
		passes, well = tt.passes, tt.well
		if b.expect(tt.name, time.Minute, Differs, 1, 0); b.healed > 0 {
			t.Fatalf("%s: healed", tt.name)
		}
	}
	passes = 3
	b.expect("the author has looked and left it", 5*time.Second, Consistent, 1, 1)
	b.is["b"] = "9"
	b.work(10 * time.Second)
	b.is["b"] = "2"
	b.expect("the author has healed it", 5*time.Second, Consistent, 2, 1)
}

// One look covers a bounded number of objects, and the remembered and reported differences are bounded.
func TestWorkIsBounded(t *testing.T) {
	b := newBed(t, "")
	for i := range 5_000 {
		b.should[fmt.Sprint("o", i)], b.is[fmt.Sprint("o", i)] = "1", "1"
	}
	b.work(5 * time.Second)
	if s := b.watch.State(); s.Objects != 5_002 {
		t.Errorf("the first pass has seen %d objects", s.Objects)
	}
	if most := slices.Max(b.looked); most > hurried {
		t.Errorf("a look at %d objects", most)
	}
	b.looked = nil
	b.work(10 * time.Second)
	if n := len(b.looked); n > 40 || slices.Max(b.looked) > usual {
		t.Errorf("10 s took %d looks, the largest at %d objects", n, slices.Max(b.looked))
	}
	clear(b.is)
	b.stubborn = true
	s := b.work(30 * time.Second)
	if s.Open != mostOpen || !strings.Contains(s.Reason, "and 4093 more") || len(s.Reason) > 200 {
		t.Errorf("%d are remembered, told: %s", s.Open, s.Reason)
	}
}

// Drift that one run has begun to heal counts as healed when the next run finds no difference.
func TestCountsOfRuns(t *testing.T) {
	earlier := State{Drift: 3, Healed: 1, Due: 2, Reason: "SHELF b is 9"}
	for _, tt := range []struct {
		name string
		now  State
		want State
	}{
		{"no pass yet", State{}, State{Drift: 3, Healed: 1, Due: 2}},
		{"nothing differs", State{Passes: 1}, State{Passes: 1, Drift: 3, Healed: 3}},
		{"something differs", State{Passes: 1, Reason: "r", Drift: 1, Due: 1},
			State{Passes: 1, Reason: "r", Drift: 4, Healed: 1, Due: 3}},
	} {
		if got := tt.now.After(earlier); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// Different rows have different digests, and so do no row and an empty one. The order of fields does not matter.
func TestSum(t *testing.T) {
	rows := []swss.FieldValues{nil, {}, {"a": "b"}, {"a": "c"}, {"ab": ""}, {"": "ab"}, {"a": "b", "c": "d"},
		{"a": "d", "c": "b"}}
	for i, a := range rows {
		for j, b := range rows {
			if (Sum(a) == Sum(b)) != (i == j) {
				t.Errorf("%v and %v: %x, %x", a, b, Sum(a), Sum(b))
			}
		}
	}
}
