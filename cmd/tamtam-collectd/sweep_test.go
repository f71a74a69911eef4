package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tamtam/fleet/jetstream"
	"tamtam/internal/command"
	"tamtam/internal/randtest"
)

const sweepText = `
experiment: ./pair.yaml
seeds: {first: %d, count: %d}
vary:
- {path: links.far.loss, values: [0, 0.1, 0.5]}
results:
- {name: lost, measured: flow.t.lost}
- {name: delay, measured: flow.t.delay.min}
plots:
- {result: lost, over: links.far.loss}
`

const pairText = `
experiment: pair
duration: %dus
switches:
- {name: s1, profile: small, config: s1.json}
hosts:
- {name: a, ips: [10.0.0.1/24]}
- {name: b, ips: [10.0.0.2/24]}
links:
- {a: a, b: "s1:Ethernet0"}
- {name: far, a: "s1:Ethernet1", b: b, loss: 0.1}
traffic:
- {name: t, from: a, to: b, pps: 400000, start: 10us}
checks:
- {name: few, measured: flow.t.lost, max: 9}
`

// writeSweep writes a sweep, and the files that it needs, and returns its path.
func writeSweep(t *testing.T, first uint64, count, microseconds int) string {
	t.Helper()
	dir := t.TempDir()
	config, err := os.ReadFile("../../lab/sweep/testdata/s1.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"sweep.yaml": fmt.Sprintf(sweepText, first, count),
		"pair.yaml": fmt.Sprintf(pairText, microseconds), "s1.json": string(config)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "sweep.yaml")
}

// A sweep goes through the log to a worker, and its results come back. In the next run all results already exist.
func TestSweep(t *testing.T) {
	address, err := jetstream.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	server, err := jetstream.StartServer(jetstream.ServerOptions{Dir: t.TempDir(), Listen: address, Sync: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	file, out, url := writeSweep(t, 3, 2, 300), t.TempDir(), "--nats=nats://"+address
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	working.Go(func() {
		var said bytes.Buffer
		if code := run(ctx, []string{"sweep", "--work", url}, io.Discard, &said); code != 0 {
			t.Errorf("the worker: exit %d: %s", code, said.String())
		}
	})
	code, table, said := tryRun(t, "sweep", file, url, "--out="+out)
	if code != command.ExitFailed || !strings.Contains(table, "FAILED in 2 runs") ||
		!strings.Contains(said, "0 results already existed\n6 results come from worker ") ||
		!strings.Contains(said, `the check "few" failed in `) {
		t.Errorf("exit %d\n%s%s", code, table, said)
	}
	stop()
	working.Wait()
	again, sameTable, saidAgain := tryRun(t, "sweep", file, url, "--out="+out)
	if again != code || sameTable != table || !strings.Contains(saidAgain, "6 results already existed\n") ||
		strings.Contains(saidAgain, "of worker") {
		t.Errorf("the next time: exit %d\n%s%s", again, sameTable, saidAgain)
	}
}

func TestSweepFlags(t *testing.T) {
	file := writeSweep(t, 1, 1, 300)
	for args, want := range map[string]string{
		"":                                      "0 files: want the FILE of a sweep, or --work",
		"a.yaml b.yaml":                         "2 files: want the FILE",
		"--work a.yaml":                         `--work and "a.yaml": want one of them`,
		"a.yaml":                                "--out is not given",
		"--work --out=d":                        "--out d: a worker stores no results",
		"--work":                                "--nats is not given",
		"--work --nats=a:1":                     `--nats "a:1": want URLs like nats://HOST:PORT`,
		"--work --nats=nats://a:1 --replicas=2": "--replicas 2: want 1, 3 or 5",
		"--work --nats=nats://a:1 --hold=1ms":   "--hold 1ms: want 1s or more",
		"--work --nats=nats://a:1 --workers=-1": "--workers -1: want 1 to 1024",
		"a.yaml --out=d --workers=2 --nats=nats:a": "--workers 2: this process runs no jobs",
	} {
		code, _, errOut := tryRun(t, append([]string{"sweep"}, strings.Fields(args)...)...)
		if code != command.ExitUsage || !strings.Contains(errOut, want) {
			t.Errorf("%s: exit %d, %swant %d and %q", args, code, errOut, command.ExitUsage, want)
		}
	}
	missing := file + ".gone"
	if code, _, errOut := tryRun(t, "sweep", missing, "--nats=nats://a:1", "--out=d"); code != command.ExitFailed ||
		!strings.Contains(errOut, missing) {
		t.Errorf("exit %d, %s: want %d and %s", code, errOut, command.ExitFailed, missing)
	}
}

// A node of the log, three workers and a sweep run as separate processes, and all of them are killed at random. In the
// end the results, the table and the plots equal, to the byte, those of `tamtam lab sweep`.
func TestSweepProcesses(t *testing.T) {
	if os.Getenv("TAMTAM_CLUSTER") == "" {
		t.Skip("TAMTAM_CLUSTER is not set")
	}
	dir := t.TempDir()
	for _, program := range []string{"tamtam", "tamtam-collectd"} {
		if out, err := exec.Command("go", "build", "-o", dir, "../"+program).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 2}, func(t *testing.T, seed uint64) {
		s := newSweepChaos(t, dir, seed)
		out := filepath.Join(t.TempDir(), "lab")
		table, err := exec.Command(filepath.Join(dir, "tamtam"), "lab", "sweep", s.file, "--out="+out).Output()
		if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) { // a failed check gives an ExitError
			t.Fatal(err)
		}
		s.run()
		if got := s.sweep.out.String(); got != string(table) {
			t.Errorf("the table is\n%swant\n%s%s", got, table, s.sweep.err.String())
		}
		compareFiles(t, s.out, out)
		t.Logf("killed: the log %d times, workers %d, the sweep %d", s.kills[0], s.kills[1], s.kills[2])
		if slices.Contains(s.kills[:], 0) {
			t.Error("somebody was not killed")
		}
	})
}

type sweepChaos struct {
	*chaos
	file, out     string
	log, sweep    *process
	helpers       [3]*process
	logArgs, args []string
	kills         [3]int // kills of the log, of workers, and of the sweep
}

func newSweepChaos(t *testing.T, dir string, seed uint64) *sweepChaos {
	address, err := jetstream.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(seed, 1))
	s := &sweepChaos{chaos: &chaos{t: t, r: r, program: filepath.Join(dir, "tamtam-collectd"), urls: "nats://" + address}}
	s.file, s.out = writeSweep(t, 1+r.Uint64N(1e6), 40, 20000), filepath.Join(t.TempDir(), "out")
	s.logArgs = []string{"run", "--role=log", "--http=none", "--log=" + t.TempDir(), "--listen=" + address}
	s.args = []string{"sweep", s.file, "--out=" + s.out, "--nats=" + s.urls, "--hold=2s"}
	return s
}

// run kills processes, and starts them again, until the sweep has ended.
func (s *sweepChaos) run() {
	work := []string{"sweep", "--work", "--nats=" + s.urls, "--hold=2s", "--workers=1"}
	s.log, s.sweep = s.start(s.logArgs...), s.start(s.args...)
	for i := range s.helpers {
		s.helpers[i] = s.start(work...)
	}
	for round := 0; ; round++ {
		select {
		case <-s.sweep.ended:
			return
		case <-time.After(time.Duration(s.r.Int64N(int64(time.Second)))):
		}
		whom := round // first each process once, then a random process
		if round > 2 {
			whom = s.r.IntN(6)
		}
		switch whom {
		case 0:
			s.again(&s.log, s.logArgs)
			s.kills[0]++
		case 1:
			_ = s.sweep.cmd.Process.Kill() // the sweep may have ended already
			if <-s.sweep.ended; s.sweep.cmd.ProcessState.Exited() {
				return
			}
			s.sweep = s.start(s.args...)
			s.kills[2]++
		default:
			s.again(&s.helpers[s.r.IntN(len(s.helpers))], work)
			s.kills[1]++
		}
	}
}

// compareFiles compares two directories of results. Names of results depend on the program too, so these are matched by
// content.
func compareFiles(t *testing.T, a, b string) {
	one, other := filesIn(t, a), filesIn(t, b)
	if len(one) < 120 || len(one) != len(other) {
		t.Errorf("%d files, want %d", len(one), len(other))
	}
	for name, text := range other {
		if one[name] != text {
			t.Errorf("%.200s is %.400q, want %.400q", name, one[name], text)
		}
	}
}

func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			return err
		}
		text, err := os.ReadFile(path)
		name := e.Name()
		if filepath.Base(filepath.Dir(path)) == "jobs" {
			name = string(text)
		}
		all[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
