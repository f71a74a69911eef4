package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/bits"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	minutes := flag.Float64("minutes", 0, "how long")
	seed := flag.Uint64("seed", 0, "first seed of every test; 0: a fresh one")
	only := flag.String("only", "", "a regular expression: targets as in tamtam/tam/altmark.TestAnyMarkedTraffic")
	jobs := flag.Int("jobs", runtime.GOMAXPROCS(0), "targets that run at the same time")
	flag.Parse()
	if flag.NArg() > 0 || *minutes <= 0 || *jobs < 1 {
		fmt.Fprintln(os.Stderr, "soak: want -minutes, more than 0")
		flag.Usage()
		os.Exit(2)
	}
	good, err := soak(time.Duration(*minutes*float64(time.Minute)), *seed, *only, *jobs, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
	}
	if err != nil || !good {
		os.Exit(1)
	}
}

// soak runs the targets of the module in the current folder for the given time, not counting compilation. It reports
// whether nothing failed and most of the targets ran.
func soak(length time.Duration, seed uint64, only string, jobs int, out io.Writer) (bool, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	pattern, err := regexp.Compile(only)
	if err != nil {
		return false, err
	}
	all, err := find(".")
	if err != nil {
		return false, err
	}
	all = slices.DeleteFunc(all, func(t *target) bool { return !pattern.MatchString(t.path + "." + t.name) })
	if len(all) == 0 {
		return false, errors.New("no random test and no fuzz target")
	}
	if seed == 0 {
		seed = fresh()
	}
	corpus, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		return false, fmt.Errorf("go env: %w", err)
	}
	dir, err := os.MkdirTemp("", "soak")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(filepath.Join(dir, "bin"))
	s := plan(all, seed, length, jobs)
	fmt.Fprintf(out, "seed %d, %d random tests, %d fuzz targets, slices of %v; failures in %s\n",
		seed, len(s.tests), len(s.fuzzes), s.length.Round(time.Second/10), dir)
	r := &runner{dir: dir, corpus: filepath.Join(strings.TrimSpace(string(corpus)), "fuzz")}
	start := time.Now()
	binaries := r.compileAll(ctx, all, jobs)
	fmt.Fprintf(out, "%d test binaries compiled in %.1f minutes; the clock starts now\n", binaries,
		time.Since(start).Minutes())
	start = time.Now()
	ctx, cancel := context.WithDeadline(ctx, start.Add(length))
	defer cancel()
	s.work(ctx, r, jobs, out)
	good := report(out, s, time.Since(start))
	if good {
		return true, os.RemoveAll(dir)
	}
	return false, nil
}

// fresh returns a new seed that is short enough to be read aloud.
func fresh() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:]) >> 24
}

// Slices are long enough to justify the cost of starting one. They are short enough that each target gets several if
// there is time.
const (
	shortestSlice = 2 * time.Second
	longestSlice  = time.Minute
)

// plan returns the schedule of a soak. If time is short, not every target gets a slice; the seed decides which comes
// first.
func plan(all []*target, seed uint64, length time.Duration, jobs int) *schedule {
	s := &schedule{}
	rng := mathrand.New(mathrand.NewPCG(seed, bits.Reverse64(seed)))
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, t := range all {
		t.next = seed
		if t.fuzz {
			s.fuzzes = append(s.fuzzes, t)
		} else {
			s.tests = append(s.tests, t)
		}
	}
	share := length * time.Duration(jobs) / time.Duration(len(all))
	s.length = min(max(share/4, shortestSlice), longestSlice)
	return s
}

// work runs slices until the time is up.
func (s *schedule) work(ctx context.Context, r *runner, jobs int, out io.Writer) {
	end, _ := ctx.Deadline()
	var workers sync.WaitGroup
	var mu sync.Mutex // protects out
	for range jobs {
		workers.Go(func() {
			for ctx.Err() == nil {
				job := s.pick(time.Until(end) - time.Second)
				if job == nil {
					return
				}
				o := r.run(ctx, job)
				s.done(job, o)
				if o.failed > 0 {
					mu.Lock()
					fmt.Fprintf(out, "FAIL %s.%s: %s\n", job.t.path, job.t.name, o.log)
					for _, line := range append(o.lines, o.problem) {
						if line != "" {
							fmt.Fprintln(out, "    |", line)
						}
					}
					for _, command := range o.repeat {
						fmt.Fprintln(out, "    ", command)
					}
					mu.Unlock()
				}
			}
		})
	}
	workers.Wait()
}

// mostIdle limits the share of targets that may run nothing in a passing soak: at most one in mostIdle. Some tests need
// root or a program that the machine lacks. A soak that leaves out more has tested too little.
const mostIdle = 10

// report prints a line for each target and the sums. It reports whether nothing failed and enough targets ran.
func report(out io.Writer, s *schedule, took time.Duration) bool {
	var cases, failed, inputs, broken, idle int
	all := slices.Concat(s.tests, s.fuzzes)
	slices.SortFunc(all, func(a, b *target) int { return strings.Compare(a.path+"."+a.name, b.path+"."+b.name) })
	fmt.Fprintln(out)
	for _, t := range all {
		name := t.path + "." + t.name
		switch {
		case len(t.problems) > 0:
			fmt.Fprintf(out, "%-6s %s: could not be run\n", "FAIL", name)
		case t.cases == 0 && t.failed == 0 && t.skips > 0:
			fmt.Fprintf(out, "%-6s %s: no case ran\n", "none", name)
		case t.cases == 0 && t.failed == 0:
			fmt.Fprintf(out, "%-6s %s: no time\n", "none", name)
		case t.fuzz:
			fmt.Fprintf(out, "%-6s %s: %d inputs, %d failed, %.1f s\n", verdict(t), name, t.cases, t.failed, t.spent.Seconds())
		default:
			fmt.Fprintf(out, "%-6s %s: %d cases, %d failed, seeds %d to %d, %.1f s\n",
				verdict(t), name, t.cases, t.failed, t.next-uint64(t.seeds), t.next-1, t.spent.Seconds())
		}
		for _, command := range t.repeat {
			fmt.Fprintln(out, "      ", command)
		}
		if t.cases == 0 && t.failed == 0 {
			idle++
		}
		if t.fuzz {
			inputs, broken = inputs+t.cases, broken+t.failed
		} else {
			cases, failed = cases+t.cases, failed+t.failed
		}
	}
	fmt.Fprintf(out, "%d cases, %d failed; %d inputs of fuzzing, %d failed; %d targets that ran nothing; %.1f minutes\n",
		cases, failed, inputs, broken, idle, took.Minutes())
	if idle*mostIdle > len(all) {
		fmt.Fprintf(out, "FAIL   %d of %d targets ran nothing, at most %d may: give the soak more MINUTES, or name fewer "+
			"targets with ONLY\n", idle, len(all), len(all)/mostIdle)
		return false
	}
	return failed+broken == 0
}

func verdict(t *target) string {
	if t.failed > 0 {
		return "FAIL"
	}
	return "ok"
}
