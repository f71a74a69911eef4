package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// An outcome is the result of a slice.
type outcome struct {
	elapsed time.Duration
	cases   int // number of cases that ran, or inputs of a fuzz target
	seeds   int // number of used seeds; a test may create several cases from a seed
	failed  int
	repeat  []string // commands that repeat the failures
	log     string   // file with the output of a failed slice
	lines   []string // the first lines of that output
	problem string   // reason why it could not run
	cut     bool     // true if the end of the soak stopped the slice
}

// A runner compiles test binaries, each once, and runs slices.
type runner struct {
	dir    string // for binaries and logs
	corpus string // directory where go test keeps interesting inputs of fuzzing
	mu     sync.Mutex
	built  map[string]error // result of each compilation, by the file of the binary
	logs   int
}

// binary returns the file of the test binary that runs a target. Fuzzing has a separate one, which counts branches.
func (r *runner) binary(t *target) string {
	file := filepath.Join(r.dir, "bin", strings.ReplaceAll(t.path, "/", "."))
	if t.fuzz {
		file += ".fuzz"
	}
	return file
}

// compileAll compiles the test binaries of all targets, up to jobs at the same time, and returns how many there are.
// The field built stores the error of each compilation. compileAll stops when ctx is done.
func (r *runner) compileAll(ctx context.Context, all []*target, jobs int) int {
	r.built = map[string]error{}
	queue := make(chan *target, len(all))
	for _, t := range all {
		if file := r.binary(t); r.built[file] == nil {
			r.built[file] = errNotCompiled
			queue <- t
		}
	}
	close(queue)
	var workers sync.WaitGroup
	for range jobs {
		workers.Go(func() {
			for t := range queue {
				if ctx.Err() != nil {
					return
				}
				err := r.compile(ctx, t)
				r.mu.Lock()
				r.built[r.binary(t)] = err
				r.mu.Unlock()
			}
		})
	}
	workers.Wait()
	return len(r.built)
}

var errNotCompiled = errors.New("go test -c: not run")

// compile makes the test binary of a target's package.
func (r *runner) compile(ctx context.Context, t *target) error {
	args := []string{"test", "-c", "-o", r.binary(t)}
	if t.fuzz {
		args = append(args, "-fuzz", ".")
	}
	cmd := exec.CommandContext(ctx, "go", append(args, ".")...)
	cmd.Dir = t.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go test -c: %w\n%s", err, out)
	}
	return nil
}

// run runs a slice. A slice that is stopped because ctx ends counts neither as run nor as failed.
func (r *runner) run(ctx context.Context, s *slice) outcome {
	file := r.binary(s.t)
	if err := r.built[file]; err != nil {
		return outcome{failed: 1, problem: err.Error()}
	}
	start := time.Now()
	cmd := exec.CommandContext(ctx, file, r.args(s)...)
	cmd.Dir = s.t.dir
	cmd.Env = append(os.Environ(), fmt.Sprint("TAMTAM_SEED=", s.seed), fmt.Sprint("TAMTAM_CASES=", s.cases))
	// A test may have started child processes, such as redis-server.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	var out output
	read, write := io.Pipe()
	cmd.Stdout, cmd.Stderr = write, write
	var reader sync.WaitGroup
	reader.Go(func() { out.read(read) })
	err := cmd.Run()
	write.Close()
	reader.Wait()
	if ctx.Err() != nil && err != nil {
		return outcome{elapsed: time.Since(start), cut: true}
	}
	o := out.outcome(s, err)
	o.elapsed = time.Since(start)
	if o.failed > 0 {
		o.lines = out.first(12)
		o.log = r.keep(s.t, &out)
	}
	return o
}

func (r *runner) args(s *slice) []string {
	args := []string{"-test.parallel=1", "-test.timeout=" + (10*s.time + 10*time.Minute).String()}
	if s.t.fuzz {
		return append(args, "-test.run=^$", "-test.fuzz=^"+s.t.name+"$", "-test.fuzztime="+s.time.String(),
			"-test.fuzzcachedir="+filepath.Join(r.corpus, s.t.path))
	}
	return append(args, "-test.v", "-test.run=^"+s.t.name+"$")
}

// keep writes the output of a failed slice to a file, and returns the file's name.
func (r *runner) keep(t *target, out *output) string {
	r.mu.Lock()
	r.logs++
	file := filepath.Join(r.dir, fmt.Sprintf("%03d-%s.%s.log", r.logs, filepath.Base(t.path), t.name))
	r.mu.Unlock()
	if err := os.WriteFile(file, []byte(strings.Join(out.kept(), "\n")+"\n"), 0o644); err != nil {
		return err.Error()
	}
	return file
}

// output is the output of a test binary, without the lines of passed tests. If it is too long, the middle is omitted.
type output struct {
	head, tail []string
	dropped    int
	started    int      // number of cases
	running    uint64   // greatest seed of the started cases
	seeds      []uint64 // seeds of the failed cases
	reports    int
	cases      int // number of cases that randtest reports
	inputs     int // number of inputs that fuzzing reports
}

const keptLines = 4000

var (
	runLine    = regexp.MustCompile(`^=== RUN   .*/seed/(\d+)$`)
	noiseLine  = regexp.MustCompile(`^(=== (RUN|PAUSE|CONT|NAME)|\s*--- PASS)`)
	failLine   = regexp.MustCompile(`^\s*--- FAIL: \S*/seed/(\d+) \(`)
	reportLine = regexp.MustCompile(`randtest: seed (\d+), cases (\d+), failed (\d+)$`)
	inputsLine = regexp.MustCompile(`^fuzz: .* execs: (\d+)`)
)

func (o *output) read(from *io.PipeReader) {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			o.line(string(bytes.TrimRight(line, "\n")))
		}
		if err != nil {
			return
		}
	}
}

func (o *output) line(line string) {
	if m := runLine.FindStringSubmatch(line); m != nil {
		o.started++
		seed, _ := strconv.ParseUint(m[1], 10, 64)
		o.running = max(o.running, seed)
	}
	if noiseLine.MatchString(line) {
		return
	}
	if m := failLine.FindStringSubmatch(line); m != nil {
		seed, _ := strconv.ParseUint(m[1], 10, 64)
		o.seeds = append(o.seeds, seed)
	}
	if m := reportLine.FindStringSubmatch(line); m != nil {
		n, _ := strconv.Atoi(m[2])
		o.reports++
		o.cases += n
	}
	if m := inputsLine.FindStringSubmatch(line); m != nil {
		o.inputs, _ = strconv.Atoi(m[1])
	}
	if len(o.head) < keptLines {
		o.head = append(o.head, line)
		return
	}
	if len(o.tail) == keptLines {
		o.tail = o.tail[1:]
		o.dropped++
	}
	o.tail = append(o.tail, line)
}

func (o *output) kept() []string {
	if o.dropped == 0 {
		return append(o.head, o.tail...)
	}
	return append(append(o.head, fmt.Sprintf("... %d lines left out ...", o.dropped)), o.tail...)
}

// first returns the first lines that describe the failure.
func (o *output) first(n int) (lines []string) {
	for _, line := range o.kept() {
		if len(lines) < n && strings.TrimSpace(line) != "" && !reportLine.MatchString(line) && !inputsLine.MatchString(line) {
			lines = append(lines, line[:min(len(line), 200)])
		}
	}
	return lines
}

// outcome judges a slice by its output and how it ended.
func (o *output) outcome(s *slice, err error) outcome {
	if s.t.fuzz {
		return o.fuzzed(s, err)
	}
	res := outcome{cases: o.cases, failed: len(o.seeds)}
	if o.cases > 0 {
		res.seeds = s.cases
	}
	if err == nil {
		return res
	}
	if o.reports == 0 { // the test ended before it reported its result
		res.cases = o.started
		if o.started > 0 {
			res.seeds = int(o.running - s.seed + 1)
		}
		if len(o.seeds) == 0 && o.started > 0 {
			o.seeds = []uint64{o.running}
		}
	}
	for _, seed := range o.seeds[:min(len(o.seeds), mostRepeat)] {
		res.repeat = append(res.repeat, s.command(seed, 1))
	}
	if len(o.seeds) == 0 { // no case is known, or the failure was outside the cases
		res.repeat = []string{s.command(s.seed, s.cases)}
	}
	res.failed = max(len(o.seeds), 1)
	return res
}

// command returns the command that repeats cases of a slice.
func (s *slice) command(seed uint64, cases int) string {
	return fmt.Sprintf("TAMTAM_SEED=%d TAMTAM_CASES=%d go test -count=1 -run '^%s$' %s", seed, cases, s.t.name, s.t.path)
}

var newInput = regexp.MustCompile(`Failing input written to (\S+)`)

// fuzzed judges a slice of fuzzing.
func (o *output) fuzzed(s *slice, err error) outcome {
	res := outcome{cases: o.inputs}
	text := strings.Join(o.kept(), "\n")
	var exit *exec.ExitError
	switch {
	case err == nil:
		return res
	case errors.As(err, &exit) && strings.Contains(text, "\n    context deadline exceeded\n") &&
		!strings.Contains(text, "Failing input") && !strings.Contains(text, "panic") && !strings.Contains(text, "_test.go:"):
		return res // the time was over while a worker still processed an input
	}
	res.failed = 1
	res.repeat = []string{fmt.Sprintf("go test -run '^$' -fuzz '^%s$' %s", s.t.name, s.t.path)}
	if m := newInput.FindStringSubmatch(text); m != nil {
		res.repeat = []string{fmt.Sprintf("go test -run '^%s$/^%s$' %s", s.t.name, filepath.Base(m[1]), s.t.path)}
	}
	return res
}
