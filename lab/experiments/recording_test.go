package experiments

import (
	"math"
	"strings"
	"testing"

	"tamtam/lab"
	"tamtam/lab/study/recording"
)

func TestTableRecordRefused(t *testing.T) {
	tests := []struct{ experiment, set, want string }{
		{"record-fig9", "tablerecord.study=paths2", "one of paths, entropy, effort, resources, postcards"},
		{"record-fig9", "tablerecord.stages=0", "1 to 256"},
		{"record-fig9", "tablerecord.seeds=1001", "1 to 1000"},
		{"record-fig9", "tablerecord.curves.0.phv=12", "widths of 8, 16 or 32"},
		{"record-fig9", "tablerecord.curves.0.algorithm=magic", "one of greedy"},
		{"record-fig9", "tablerecord.curves.0.bits=[33]", "1 to the 32"},
		{"record-fig9", "tablerecord.compare=[[egress-bnb-32, x]]", "the names of two curves"},
		{"record-fig8", "tablerecord.programs=[]", "1 to 32 programs"},
		{"record-keysight", "tablerecord.postcards.windows=65", "2 to 64"},
		{"record-keysight", "tablerecord.postcards.memory=[0]", "1 to 65536"},
		{"record-keysight", "tablerecord.postcards.keep=1501", "1 to 1500"},
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
		if _, err := lab.Run(t.Context(), top, lab.Options{Workers: 1}); err == nil ||
			!strings.Contains(err.Error(), program) {
			t.Errorf("program %s: %v", program, err)
		}
	}
}

// This curve can be computed by hand: of two tables each packet runs one, by a condition, and half of the packets run a
// third.
func TestSmallProgram(t *testing.T) {
	top, err := Open("record-fig8", []string{"program=../study/recording/testdata/fork.json", "tablerecord.seeds=5"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := lab.Run(t.Context(), top, lab.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	report := r.Reports["tablerecord"].(*recording.Report)
	full := report.Curve("fork-full").Points[0].Metrics
	for name, want := range map[string]float64{"ours": 2, "ball-larus-sequences": 2, "ball-larus-walks": 3,
		"one-bit-per-table": 3} {
		if m := full[name]; m == nil || m.Min != want || m.Max != want {
			t.Errorf("%s: %+v, want %v", name, m, want)
		}
	}
	last := report.Curve("fork").Points
	if m := last[2].Metrics["recovery"]; math.Abs(m.Min-1) > 1e-9 {
		t.Errorf("2 bits recover %v", m.Min)
	}
	if m := last[1].Metrics["recovery"]; m.Max > 0.999 {
		t.Errorf("1 bit recovers %v", m.Max)
	}
}
