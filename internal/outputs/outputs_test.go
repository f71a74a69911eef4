package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// clock is an experiment that measures some things by the wall clock.
var clock = clocked{experiment: "x", metrics: []string{"time", "time-p99"}, checks: []string{"p99, ms"}}

// What such an experiment puts out: %[1]s is what the wall clock says, and %[2]s anything else.
var clockedOutputs = map[string]string{
	"report.json": `{"experiment": "x", "checks": [{"name": "p99, ms", "limit": "5", "measured": %[1]s, "most": %[1]s},
		{"name": "rules", "measured": %[2]s, "unit": ""}], "curves": [{"name": "time", "points": [{"at": "1", "metrics": {
		"time": {"values": [%[1]s], "max": %[1]s}, "time-p99": {"max": %[1]s},
		"rules": {"max": 3}}}]}], "none": {}, "of": [],
		"others": [{"name": "p99, ms", "measured": 1}]}`,
	"x.csv":       "curve,\"at, in B\",metric,seeds,max\na,1,time,1,%[1]s\na,1,rules,1,%[2]s\ntime,1,rules,1,4\n",
	"series.csv":  "time_ps,value\n1,%[2]s\n",
	"x-rules.svg": "<svg>%[2]s</svg>",
	"x.pcap":      "time %[2]s",
	"stdout": "Curve  Metric  %[2]s\na  time  %[1]s\na  rules  3\n\nok  rules  3\n" +
		"    p99, ms  %[1]s\nok  p99, ms  5  %[1]s\n",
}

// of is an output, blurred, with what the wall clock said and something else.
func of(t *testing.T, c clocked, name, clock, other string) string {
	t.Helper()
	text := strings.NewReplacer("%[1]s", clock, "%[2]s", other).Replace(clockedOutputs[name])
	if name == "stdout" {
		return c.printed(text)
	}
	out, err := c.blurred("dir/"+name, []byte(text))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return string(out)
}

// What the wall clock says changes nothing, whatever its width, and all else does. Where nothing is
// measured by it, everything counts.
func TestBlurred(t *testing.T) {
	for name, text := range clockedOutputs {
		one := of(t, clock, name, "1.5", "7")
		if other := of(t, clock, name, "12345.678", "7"); other != one {
			t.Errorf("%s depends on the wall clock:\n%s\n%s", name, one, other)
		}
		if of(t, clock, name, "1.5", "8") == one {
			t.Errorf("%s does not show what changed:\n%s", name, one)
		}
		if strings.Contains(text, "%[1]s") && of(t, clocked{}, name, "1.5", "7") == of(t, clocked{}, name, "2.5", "7") {
			t.Errorf("%s of an experiment without wall clock is blurred", name)
		}
	}
}

// It shows what was measured, if not what came of it.
func TestBlurredNamesWhatWasMeasured(t *testing.T) {
	one, err := clock.blurredCSV([]byte("curve,metric,max\na,time,1\n"))
	other, err2 := clock.blurredCSV([]byte("curve,metric,max\na,time-p99,1\n"))
	if err != nil || err2 != nil || bytes.Equal(one, other) {
		t.Errorf("two metrics are both %q: %v, %v", one, err, err2)
	}
	if one, other := clock.printed("a  time  1\n"), clock.printed("a  time-p99  1\n"); one == other {
		t.Errorf("two metrics are both printed %q", one)
	}
}

// Order and names in a report count, and values that are not numbers.
func TestBlurredReportKeepsTheRest(t *testing.T) {
	report := strings.NewReplacer("%[1]s", "9", "%[2]s", "2").Replace(clockedOutputs["report.json"])
	one, err := clock.blurredJSON([]byte(report))
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{
		{`"none": {}, "of": []`, `"of": [], "none": {}`}, {`"measured": 1}`, `"measured": 2}`},
		{`"at": "1"`, `"at": 1`}, {`"limit": "5"`, `"limit": "6"`},
		{`"of": []`, `"of": {}`},
		{`"of": []`, `"of": [[]]`}, {`"of": []`, `"of": null`}, {`"unit": ""`, `"units": ""`}, {`"max": 3`, `"max": 3.0`},
	} {
		text := strings.Replace(report, change[0], change[1], 1)
		if text == report {
			t.Fatalf("the report has no %s", change[0])
		}
		other, err := clock.blurredJSON([]byte(text))
		if err != nil || bytes.Equal(one, other) {
			t.Errorf("%s instead of %s: same output, %v", change[1], change[0], err)
		}
	}
}

// A plot of times is nothing but these.
func TestPlotsOfTimesAreLeftOut(t *testing.T) {
	for name, left := range map[string]bool{
		"a/x-time.png": true, "x-time-p99.svg": true, "x-rules.png": false, "time.png": false, "x-time.pcap": false,
	} {
		if text, err := clock.blurred(name, []byte("it")); err != nil || left != (text == nil) {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

// A name in blur.go that the report does not have is an error, and so is what is no report.
func TestBlurNamesWhatThereIs(t *testing.T) {
	report := strings.NewReplacer("%[1]s", "1", "%[2]s", "2").Replace(clockedOutputs["report.json"])
	for _, c := range []clocked{
		{experiment: "x", metrics: []string{"seconds"}}, {experiment: "x", checks: []string{"limit"}},
		{experiment: "x", metrics: []string{"points"}},
	} {
		if _, err := c.blurred("report.json", []byte(report)); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
	for _, text := range []string{"", "{", `{"a": }`, `{"checks": [{"name"]}`, "[1,"} {
		if _, err := clock.blurred("report.json", []byte(text)); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

// fake stands in for tamtam: three experiments, of which one has no short form, one fails a
// check and one does not run.
const fake = `#!/bin/sh
case "$*" in
"lab list") printf 'one  The first\ntwo  The second\nbad  Does not run\n' ;;
"lab run one --workers 3 --short --out out")
	mkdir -p out/sub; printf a >out/sub/b.csv; printf c >out/report.json; echo one ;;
"lab run one --workers 3 --out out") mkdir out; printf whole >out/report.json; echo whole ;;
"lab run two"*--short*) echo "tamtam: --short: two has no short form" >&2; exit 2 ;;
"lab run two --workers 3 --out out") mkdir out; : >out/empty; echo two; echo "not all checks passed" >&2; exit 1 ;;
"demo --out out") mkdir out; printf d >out/d.pcap; printf '' ;;
*) echo "what is $*" >&2; exit 2 ;;
esac
`

func TestCollect(t *testing.T) {
	hash := func(text, what string) string { return fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(text)), what) }
	demo := hash("", "demo/stdout") + hash("d", "demo/d.pcap")
	one := hash("one\n", "lab/one/short/stdout") +
		hash("c", "lab/one/short/report.json") + hash("a", "lab/one/short/sub/b.csv")
	whole := hash("whole\n", "lab/one/whole/stdout") + hash("whole", "lab/one/whole/report.json")
	two := hash("two\n", "lab/two/whole/stdout") + hash("", "lab/two/whole/empty")
	for _, tt := range []struct {
		only      string
		long      bool
		want      string
		err, told string
	}{
		{only: "demo|one|two", want: demo + one + two, told: "lab/two/whole: exit status 1: not all checks passed"},
		{only: "", want: demo + one + two, err: "lab/bad/short: exit status 2\nwhat is lab run bad", told: "lab/two/whole"},
		{only: "^lab/one$", want: one},
		{only: "one", long: true, want: whole},
	} {
		dir := t.TempDir()
		var out, errs strings.Builder
		c := collector{dir: dir, tool: filepath.Join(dir, "tool"), workers: 3, long: tt.long, out: &out, errs: &errs}
		c.only = regexp.MustCompile(tt.only)
		if err := os.WriteFile(c.tool, []byte(fake), 0o755); err != nil {
			t.Fatal(err)
		}
		err := c.all(t.Context())
		if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%q: error %v, want %q", tt.only, err, tt.err)
		}
		if out.String() != tt.want || !strings.Contains(errs.String(), tt.told) || tt.told == "" && errs.Len() > 0 {
			t.Errorf("%q:\n%s%s\nwant\n%s%s", tt.only, &out, &errs, tt.want, tt.told)
		}
	}
}

// The lines of the differential test are all read; less cases than asked for are an error.
func TestEngineLines(t *testing.T) {
	a, b := strings.Repeat("0a", 32), strings.Repeat("1b", 32)
	text := "=== RUN\n    x_test.go:1: outputs of seed 7: fast " + a + ", reference " + b + "\nok\n"
	for _, cases := range []int{1, 2} {
		var out strings.Builder
		c := collector{cases: cases, out: &out}
		err := c.engineLines(text)
		if (err == nil) != (cases == 1) || out.String() != a+"  engines/7/fast\n"+b+"  engines/7/reference\n" {
			t.Errorf("%d cases: %v\n%s", cases, err, &out)
		}
	}
}

// Each experiment that is blurred says why.
func TestClockedSayWhy(t *testing.T) {
	for _, c := range allClocked {
		if c.reason == "" || clockedOf(c.experiment).reason != c.reason || len(c.metrics) == 0 {
			t.Errorf("%+v: want a reason, metrics, and the experiment once", c)
		}
	}
	if c := clockedOf("two-switches"); !c.none() {
		t.Errorf("two-switches: %+v", c)
	}
}
