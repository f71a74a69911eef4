package sketching

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tamtam/lab"
	"tamtam/lab/study"
	"tamtam/tam/flymon"
)

// If all flows are members there can be no false positive, and if none is, none can be missed. Then these rates are
// absent, not 0.
func TestMembershipOfNothing(t *testing.T) {
	truth := &flyTruth{vectors: make([]flymon.Vector, 4)}
	has := func(flymon.Vector) bool { return true }
	for members, want := range map[int]map[string]float64{0: {"fp": 1}, 1: {"fp": 1, "missed": 0}, 4: {"missed": 0},
		9: {"missed": 0}} {
		got := membership(&Settings{Members: members}, truth, has)
		fp, some := got["fp"]
		wantFP, wantSome := want["fp"]
		_, missed := got["missed"]
		_, wantMissed := want["missed"]
		if fp != wantFP || some != wantSome || missed != wantMissed {
			t.Errorf("%d members of 4: %v, want %v", members, got, want)
		}
	}
}

// The ratio of errors covers only the seeds whose divisor is not 0.
func TestRatioOfErrors(t *testing.T) {
	one := []study.Prediction{{Expected: 2, Lower: 0, Upper: 4}}
	exact := &epochRun{are: [2][]float64{{0}, {3}}, predicted: [2][]study.Prediction{one, one}}
	other := &epochRun{are: [2][]float64{{2}, {3}}, predicted: [2][]study.Prediction{one, one}}
	if m := ratio([]*epochRun{exact}, 0); m != nil {
		t.Errorf("%+v: want none", m)
	}
	m := ratio([]*epochRun{exact, other}, 0)
	if m == nil || len(m.Values) != 1 || m.Median != 1.5 || *m.Theory != 1 || *m.Lower != 0 || m.Upper != nil {
		t.Errorf("%+v: want 1.5, and no upper bound where theory has 0 below the line", m)
	}
	if m != nil && math.IsNaN(m.Max) {
		t.Errorf("%+v", m)
	}
}

// A capture without IP packets is an error, since every estimate of nothing would be exact.
func TestNothingInTheCapture(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.pcap")
	header := "\xd4\xc3\xb2\xa1\x02\x00\x04\x00" + strings.Repeat("\x00", 8) + "\xff\xff\x00\x00\x01\x00\x00\x00"
	if err := os.WriteFile(path, []byte(header), 0o644); err != nil {
		t.Fatal(err)
	}
	top, err := lab.Parse(filepath.Join(t.TempDir(), "x.yaml"), []byte(`experiment: x
duration: 1s
flymon:
  study: cardinality
  traffic: {pcap: `+path+`}
  memory: [32KiB]
  curves: [{name: hll, algorithm: hll}]
`), nil, new(Study))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lab.Run(t.Context(), top, lab.Options{Seed: 1, Workers: 1}); err == nil ||
		!strings.Contains(err.Error(), "has no packets of IP: want some") {
		t.Errorf("%v", err)
	}
}
