package recording

import (
	"math/big"
	"slices"
	"strings"
	"testing"

	"tamtam/lab/study"
)

// Numbers for n paths: one path needs none.
func TestBitsForPaths(t *testing.T) {
	for n, want := range map[int64]int{1: 0, 2: 1, 3: 2, 4: 2, 5: 3, 2048: 11, 2049: 12, 104976: 17} {
		if got := bitsFor(big.NewInt(n)); got != want {
			t.Errorf("%d paths: %d bits, want %d", n, got, want)
		}
	}
}

// Two pipelines get bits where they say most; a path through both is known when both parts are.
func TestJoinedPipelines(t *testing.T) {
	a := recoveryCurve{{0, 0}, {0.5, 1}, {1, 1.5}}
	b := recoveryCurve{{0.25, 0}, {1, 0.75}}
	all := a.beside(b)
	want := recoveryCurve{{0, 0}, {0.125, 1}, {0.5, 1.75}, {1, 2.25}}
	if !slices.Equal(all, want) || all.full() != 3 || all.at(9) != want[3] {
		t.Errorf("%v, want %v", all, want)
	}
	if n := (recoveryCurve{{0.9, 1}}).full(); n != -1 {
		t.Errorf("a curve that does not end is full at %d", n)
	}
}

// Containers go where they save stages, which the pipelines share.
func TestSharedStages(t *testing.T) {
	a, b := needs{0, 9, 7}, needs{0, 0, 12, 5}
	if got, want := a.together(b), (needs{0, 0, 0, 12, 9, 7}); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := (needs{1}).together(a); !slices.Equal(got, a) {
		t.Errorf("with no pipeline: %v, want %v", got, a)
	}
}

func TestTableRecordMetrics(t *testing.T) {
	r := &Report{Head: study.Head{X: "bits"}, Plans: 7, Programs: []Scale{{Program: "p", Pipeline: "egress", NonCut: 5}}}
	r.add("p", "p", "3", 3, "recovery", 0.25, 0.5)
	for name, want := range map[string]int64{"plans": 7, "p.egress.non_cut_tables": 5, "p.3.recovery.median": 375_000, "p.3.recovery.max": 500_000} {
		if m, ok := r.Metric(name); !ok || m.Value != want {
			t.Errorf("%s: %v %v, want %d", name, m, ok, want)
		}
	}
	for _, name := range []string{"", "p", "p.3.recovery", "p.4.recovery.min", "q.3.recovery.min", "p.3.recovery.mean", "p.egress.stages", "p.3.x.min"} {
		if m, ok := r.Metric(name); ok {
			t.Errorf("%q: %v", name, m)
		}
	}
	if want := "p,p,3,3,recovery,2,0.25,0.3125,0.375,0.4375,0.5\n"; !strings.HasSuffix(string(r.CSV()["tablerecord.csv"]), want) {
		t.Errorf("%s, want %s", r.CSV()["tablerecord.csv"], want)
	}
}
