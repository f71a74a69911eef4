package lab

import (
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
)

func TestQuartiles(t *testing.T) {
	tests := []struct {
		values []float64
		want   [5]float64 // least, quarter, half, three quarters, most
	}{
		{[]float64{3}, [5]float64{3, 3, 3, 3, 3}},
		{[]float64{2, 1}, [5]float64{1, 1.25, 1.5, 1.75, 2}},
		{[]float64{5, 1, 4, 2, 3}, [5]float64{1, 2, 3, 4, 5}},
	}
	for _, tt := range tests {
		m := newRecordMetric(tt.values)
		if got := [5]float64{m.Min, m.Q1, m.Median, m.Q3, m.Max}; got != tt.want {
			t.Errorf("%v: %v, want %v", tt.values, got, tt.want)
		}
	}
}

// Numbers for n paths: one path needs none.
func TestBitsForPaths(t *testing.T) {
	for n, want := range map[int64]int{1: 0, 2: 1, 3: 2, 4: 2, 5: 3, 2048: 11, 2049: 12, 104976: 17} {
		if got := bitsFor(big.NewInt(n)); got != want {
			t.Errorf("%d paths: %d bits, want %d", n, got, want)
		}
	}
}

// Two pipelines share bits where they say most; a path of both is known when both are.
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

// Containers go where they save stages, which are shared.
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
	r := &TableRecordReport{X: "bits", Plans: 7, Programs: []RecordScale{{Program: "p", Pipeline: "egress", NonCut: 5}}}
	r.add("p", "p", "3", 3, "recovery", 0.25, 0.5)
	for name, want := range map[string]int64{"plans": 7, "p.egress.non_cut_tables": 5, "p.3.recovery.median": 375_000, "p.3.recovery.max": 500_000} {
		if m, ok := r.metric(name); !ok || m.value != want {
			t.Errorf("%s: %v %v, want %d", name, m, ok, want)
		}
	}
	for _, name := range []string{"", "p", "p.3.recovery", "p.4.recovery.min", "q.3.recovery.min", "p.3.recovery.mean", "p.egress.stages", "p.3.x.min"} {
		if m, ok := r.metric(name); ok {
			t.Errorf("%q: %v", name, m)
		}
	}
	if want := "p,p,3,3,recovery,2,0.25,0.3125,0.375,0.4375,0.5\n"; !strings.HasSuffix(string(r.CSV()), want) {
		t.Errorf("%s, want %s", r.CSV(), want)
	}
}

func TestTableRecordRefused(t *testing.T) {
	tests := []struct{ experiment, set, want string }{
		{"record-fig9", "tablerecord.study=paths2", "one of paths, entropy, effort, resources"},
		{"record-fig9", "tablerecord.stages=0", "1 to 256"},
		{"record-fig9", "tablerecord.seeds=1001", "1 to 1000"},
		{"record-fig9", "tablerecord.curves.0.phv=12", "widths of 8, 16 or 32"},
		{"record-fig9", "tablerecord.curves.0.algorithm=magic", "one of greedy"},
		{"record-fig9", "tablerecord.curves.0.bits=[33]", "1 to the 32"},
		{"record-fig9", "tablerecord.compare=[[egress-bnb-32, x]]", "the names of two curves"},
		{"record-fig8", "tablerecord.programs=[]", "1 to 32 programs"},
		{"two-switches", "program=x.json", "none, but in a study"},
	}
	for _, tt := range tests {
		if _, err := Open(tt.experiment, []string{tt.set}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s with %s: %v, want %q", tt.experiment, tt.set, err, tt.want)
		}
	}
	for _, program := range []string{"switch2", "no-such-file.json"} {
		top, err := Open("record-fig8", []string{"program=" + program})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Run(t.Context(), top, Options{}); err == nil || !strings.Contains(err.Error(), program) {
			t.Errorf("program %s: %v", program, err)
		}
	}
}

// A curve of a program that has an answer by hand: two tables of which each packet
// runs one, by a condition, then one that half of the packets run.
func TestSmallProgram(t *testing.T) {
	top, err := Open("record-fig8", []string{"program=testdata/fork.json", "tablerecord.seeds=5"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), top, Options{})
	if err != nil {
		t.Fatal(err)
	}
	full := r.TableRecord.curve("fork-full").Points[0].Metrics
	for name, want := range map[string]float64{"ours": 2, "ball-larus-sequences": 2, "ball-larus-walks": 3, "one-bit-per-table": 3} {
		if m := full[name]; m == nil || m.Min != want || m.Max != want {
			t.Errorf("%s: %+v, want %v", name, m, want)
		}
	}
	last := r.TableRecord.curve("fork").Points
	if m := last[2].Metrics["recovery"]; math.Abs(m.Min-1) > 1e-9 {
		t.Errorf("2 bits recover %v", m.Min)
	}
	if m := last[1].Metrics["recovery"]; m.Max > 0.999 {
		t.Errorf("1 bit recovers %v", m.Max)
	}
}
