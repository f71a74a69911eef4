package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A report contains the target of a figure, and the source if it was not measured here.
func TestBenchReport(t *testing.T) {
	r := Report{Bench: "asic", Machine: Machine{CPU: "a CPU", Cores: 2, Go: "go1"}, Results: []Result{
		{Name: "forwarding", Value: 15.25, Unit: "Mpps", Aim: 15}, {Name: "part", Value: 2, Unit: "ns"},
		{Name: "elsewhere", Value: 0.08, Unit: "Mpps", Source: "their page"},
	}}
	for asJSON, want := range map[bool]string{
		false: "a CPU, 2 cores, go1\nforwarding  15.250 Mpps  aim 15\npart        2.000 ns\n" +
			"elsewhere   0.080 Mpps  their page\n",
		true: `"aim":15`,
	} {
		var out bytes.Buffer
		err := r.WriteText(&out)
		if asJSON {
			err = json.NewEncoder(&out).Encode(r)
		}
		if err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("as JSON %v: %v\n%s\nwant\n%s", asJSON, err, out.String(), want)
		}
	}
}

// A profile is written of the called function, and its error is returned.
func TestProfiled(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cpu")
	called, failure := 0, errors.New("no")
	f := func() error { called++; return failure }
	for _, name := range []string{"", file} {
		if err := Profiled(name, f); !errors.Is(err, failure) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if text, _ := os.ReadFile(file); called != 2 || !bytes.HasPrefix(text, []byte{0x1f, 0x8b}) { // gzip
		t.Errorf("%d calls, a profile of %d bytes", called, len(text))
	}
	if err := Profiled(filepath.Join(file, "none"), f); err == nil || called != 2 {
		t.Errorf("%v after %d calls, want an error before", err, called)
	}
}
