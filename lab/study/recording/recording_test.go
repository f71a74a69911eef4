package recording

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"tamtam/lab"
	"tamtam/lab/study"
)

// bitsFor returns the number of bits that distinguish n paths. One path needs none.
func TestBitsForPaths(t *testing.T) {
	for n, want := range map[int64]int{1: 0, 2: 1, 3: 2, 4: 2, 5: 3, 2048: 11, 2049: 12, 104976: 17} {
		if got := bitsFor(big.NewInt(n)); got != want {
			t.Errorf("%d paths: %d bits, want %d", n, got, want)
		}
	}
}

// Two pipelines get bits where they add the most entropy. A path through both is known when both parts are.
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
	for name, want := range map[string]int64{"plans": 7, "p.egress.non_cut_tables": 5, "p.3.recovery.median": 375_000,
		"p.3.recovery.max": 500_000} {
		if m, ok := r.Metric(name); !ok || m.Value != want {
			t.Errorf("%s: %v %v, want %d", name, m, ok, want)
		}
	}
	for _, name := range []string{"", "p", "p.3.recovery", "p.4.recovery.min", "q.3.recovery.min", "p.3.recovery.mean",
		"p.egress.stages", "p.3.x.min"} {
		if m, ok := r.Metric(name); ok {
			t.Errorf("%q: %v", name, m)
		}
	}
	if want := "p,p,3,3,recovery,2,0.25,0.3125,0.375,0.4375,0.5\n"; !strings.HasSuffix(string(r.CSV()["tablerecord.csv"]),
		want) {
		t.Errorf("%s, want %s", r.CSV()["tablerecord.csv"], want)
	}
}

// A program with one path needs no bits by any method. The report then has numbers only.
func TestProgramOfOnePath(t *testing.T) {
	s := &run{results: &Report{}}
	s.figure8("p", []recoveryCurve{{{rate: 1}}}, coding{sequences: big.NewInt(1), walks: big.NewInt(1), proven: true})
	if text, err := json.Marshal(s.results); err != nil {
		t.Errorf("%s, %v", text, err)
	}
	if m, ok := s.results.Metric("p-full.bits.fewer-percent.median"); ok {
		t.Errorf("%v percent fewer than none", m)
	}
	if m, ok := s.results.Metric("p-full.bits.ours.max"); !ok || m.Value != 0 {
		t.Errorf("%v %v bits, want 0", m, ok)
	}
}

// Curves without a common number of bits cannot be compared, and are rejected. Filters that would need too much memory
// here are rejected as well; the limit depends on their windows.
func TestSettingsRefused(t *testing.T) {
	const text = `experiment: x
duration: 1s
tablerecord:
  study: %s
  stages: 12
  programs: [ontas]
  curves:
  - {name: a, program: ontas, pipeline: ingress, phv: "8", algorithm: greedy, bits: [%s]}
  - {name: b, program: ontas, pipeline: ingress, phv: "8", algorithm: greedy, bits: [3, 4]}
  compare: [[a, b]]
  postcards: {packets: 1, flows: 1, window: 1, windows: %d, arrays: 1, memory: [65536, 65536], frame: 64, keep: 1}
`
	for _, c := range []struct {
		study, bits string
		windows     int
		want        string
	}{
		{"entropy", "1, 2", 2, `compare[0]: "[a b]": want curves that have plans of equally many bits`},
		{"entropy", "1, 3", 2, ""},
		{"postcards", "3", 2,
			`"[65536 65536]": want sizes that take at most 1048576 KiB here, or more windows: these take 8388608`},
		{"postcards", "3", 64, ""},
	} {
		_, err := lab.Parse("x.yaml", fmt.Appendf(nil, text, c.study, c.bits, c.windows), nil, new(Study))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
