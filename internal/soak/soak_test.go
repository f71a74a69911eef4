package main

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/internal/randtest"
)

func TestTargets(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "x_test.go", `package x
import ("testing"; "tamtam/internal/randtest")
func TestRandom(t *testing.T) { randtest.Run(t, randtest.Cases{}, func(*testing.T, uint64) {}) }
func TestInSubtest(t *testing.T) { t.Run("a", func(t *testing.T) { randtest.Run(t, randtest.Cases{}, nil) }) }
func TestFixed(t *testing.T) { other.Run(t) }
func helper(t *testing.T) { randtest.Run(t, randtest.Cases{}, nil) }
func FuzzX(f *testing.F) {}
`, 0)
	if err != nil {
		t.Fatal(err)
	}
	random, fuzz := targets(file)
	if want := []string{"TestRandom", "TestInSubtest"}; !slices.Equal(random, want) ||
		!slices.Equal(fuzz, []string{"FuzzX"}) {
		t.Errorf("random tests %q, want %q; fuzz targets %q, want FuzzX", random, want, fuzz)
	}
}

// The soak finds this test.
func TestFindInTree(t *testing.T) {
	randtest.Run(t, randtest.Cases{}, func(*testing.T, uint64) {})
	all, err := find("../..")
	if err != nil {
		t.Fatal(err)
	}
	fuzz := 0
	found := false
	for _, x := range all {
		found = found || x.path == "tamtam/internal/soak" && x.name == "TestFindInTree" && !x.fuzz
		if x.fuzz {
			fuzz++
		}
	}
	if !found || fuzz < 20 {
		t.Errorf("found itself: %v; fuzz targets: %d", found, fuzz)
	}
}

func TestOutcome(t *testing.T) {
	report := func(seed, cases, failed int) string {
		return "    x_test.go:9: " + fmt.Sprintf(randtest.Report, seed, cases, failed) + "\n"
	}
	random := &slice{t: &target{path: "tamtam/x", name: "TestX"}, seed: 100, cases: 3}
	fuzz := &slice{t: &target{path: "tamtam/x", name: "FuzzX", fuzz: true}}
	exit := errors.New("exit status 2")
	one := func(seed, cases int) string {
		return fmt.Sprintf("TAMTAM_SEED=%d TAMTAM_CASES=%d go test -count=1 -run '^TestX$' tamtam/x", seed, cases)
	}
	for _, tt := range []struct {
		name, output         string
		s                    *slice
		err                  error
		cases, seeds, failed int
		repeat               []string
	}{
		{"passed", "=== RUN   TestX\n" + report(100, 3, 0) + "--- PASS: TestX (0.01s)\nPASS\n", random, nil, 3, 3, 0, nil},
		{"two variants of each case", report(100, 3, 0) + report(100, 3, 0), random, nil, 6, 3, 0, nil},
		{"left out", "--- SKIP: TestX (0.00s)\nPASS\n", random, nil, 0, 0, 0, nil},
		{"a case failed", "--- FAIL: TestX (0.1s)\n" + report(100, 3, 1) + "    --- FAIL: TestX/seed (0.00s)\n" +
			"        --- FAIL: TestX/seed/101 (0.00s)\n            x_test.go:7: lost\n", random, exit, 3, 3, 1,
			[]string{one(101, 1)}},
		{"what all cases have in common", "--- FAIL: TestX (0.1s)\n" + report(100, 3, 0) +
			"    x_test.go:12: nothing stamped\n",
			random, exit, 3, 3, 1, []string{one(100, 3)}},
		{"the process died in a case",
			"=== RUN   TestX/seed/100\n=== RUN   TestX/seed/101\nfatal error: all goroutines are asleep\n",
			random, exit, 2, 2, 1, []string{one(101, 1)}},
		{"the process died at once", "panic: no\n", random, exit, 0, 0, 1, []string{one(100, 3)}},
		{"fuzzing", "fuzz: elapsed: 3s, execs: 810 (270/sec), new interesting: 1 (total: 9)\nPASS\n", fuzz, nil, 810, 0, 0,
			nil},
		{"an input that fails", "--- FAIL: FuzzX (0.1s)\n    Failing input written to testdata/fuzz/FuzzX/5aa1\n", fuzz, exit,
			0, 0, 1,
			[]string{"go test -run '^FuzzX$/^5aa1$' tamtam/x"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out output
			for line := range strings.Lines(tt.output) {
				out.line(strings.TrimSuffix(line, "\n"))
			}
			o := out.outcome(tt.s, tt.err)
			if o.cases != tt.cases || o.seeds != tt.seeds || o.failed != tt.failed || !slices.Equal(o.repeat, tt.repeat) {
				t.Errorf("%d cases of %d seeds, %d failed, %q;\nwant %d of %d, %d, %q",
					o.cases, o.seeds, o.failed, o.repeat, tt.cases, tt.seeds, tt.failed, tt.repeat)
			}
		})
	}
}

// In an hour with one worker, a case of test i costs 2^i ms. Each test gets the same time whatever its cases cost, and
// fuzzing gets a quarter.
func TestTimeIsSharedFairly(t *testing.T) {
	const length = time.Hour
	var all []*target
	for i := range 12 {
		all = append(all, &target{name: fmt.Sprint("Test", i), each: 0}, &target{name: fmt.Sprint("Fuzz", i), fuzz: true})
	}
	s := plan(all, 77, length, 1)
	cost := func(t *target) time.Duration {
		var i int
		fmt.Sscanf(t.name, "Test%d", &i)
		return time.Millisecond << i
	}
	left := length
	for {
		job := s.pick(left)
		if job == nil {
			break
		}
		o := outcome{elapsed: job.time, cases: job.cases, seeds: job.cases}
		if !job.t.fuzz {
			o.elapsed = 20*time.Millisecond + cost(job.t)*time.Duration(job.cases) // starting a process costs time too
		} else {
			o.cases = 1000
		}
		left -= o.elapsed
		s.done(job, o)
	}
	if left < -time.Second || left > s.length {
		t.Errorf("%v left at the end", left)
	}
	if share := spent(s.fuzzes).Seconds() / length.Seconds(); share < 0.24 || share > 0.26 {
		t.Errorf("fuzzing had %.3f of the time, want a quarter", share)
	}
	for _, group := range [][]*target{s.tests, s.fuzzes} {
		fair := spent(group) / time.Duration(len(group))
		for _, x := range group {
			if x.spent < fair-2*s.length || x.spent > fair+2*s.length {
				t.Errorf("%s had %v, want about %v", x.name, x.spent, fair)
			}
			if want := uint64(77 + x.cases); !x.fuzz && x.next != want {
				t.Errorf("%s: next seed %d, want %d: no case twice", x.name, x.next, want)
			}
		}
	}
}

// A test that fails in slice after slice gets no more time, and leaves it to other targets. So does a test that cannot
// run on this machine.
func TestNoTimeForWhatIsKnown(t *testing.T) {
	broken, idle, good := &target{name: "TestA"}, &target{name: "TestB"}, &target{name: "TestC"}
	s := plan([]*target{broken, idle, good}, 1, time.Hour, 1)
	for range 100 {
		job := s.pick(time.Hour)
		switch job.t {
		case broken:
			s.done(job, outcome{elapsed: time.Second, cases: job.cases, seeds: job.cases, failed: 1, repeat: []string{"again"}})
		case idle:
			s.done(job, outcome{elapsed: time.Second})
		default:
			s.done(job, outcome{elapsed: time.Second, cases: job.cases, seeds: job.cases})
		}
	}
	if broken.bad != maxBad || idle.skips != 1 || good.spent < 90*time.Second {
		t.Errorf("slices: %d that failed, %d that ran nothing, %v for the rest", broken.bad, idle.skips, good.spent)
	}
	var out strings.Builder
	if report(&out, s, time.Hour) || !strings.Contains(out.String(), "FAIL") {
		t.Errorf("a soak with failures is reported as good:\n%s", &out)
	}
}

// A soak that left out more than a tenth of its targets has tested too little to pass.
func TestSoakWithoutTimeFails(t *testing.T) {
	for _, tt := range []struct {
		ran  int
		good bool
	}{{20, true}, {18, true}, {17, false}, {0, false}} {
		s := &schedule{}
		for i := range 20 {
			x := &target{name: fmt.Sprint("Test", i)}
			if i < tt.ran {
				x.cases, x.seeds = 1, 1
			}
			s.tests = append(s.tests, x)
		}
		var out strings.Builder
		if good := report(&out, s, time.Minute); good != tt.good || strings.Contains(out.String(), "FAIL") == tt.good {
			t.Errorf("%d of 20 targets ran: passed %v, want %v:\n%s", tt.ran, good, tt.good, &out)
		}
	}
}

// The clock starts after the compilation: with only seconds of time and nothing compiled, targets still run.
func TestCompilationCostsNoTime(t *testing.T) {
	r := &runner{dir: t.TempDir()}
	good := &target{path: "tamtam/internal/randtest", dir: "../randtest", name: "TestA"}
	bad := &target{path: "x", dir: t.TempDir(), name: "TestB"}
	if n := r.compileAll(t.Context(), []*target{good, good, bad}, 2); n != 2 || r.built[r.binary(good)] != nil {
		t.Errorf("%d binaries, %v, want 2", n, r.built)
	}
	if o := r.run(t.Context(), &slice{t: bad}); o.failed != 1 || !strings.Contains(o.problem, "go test -c") {
		t.Errorf("a package that does not compile: %+v", o)
	}
}
