package sweep

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"

	"tamtam/lab"
)

// A Job is one run.
type Job struct {
	Values []string `json:"values"` // values of the parameters that vary, in order
	Seed   uint64   `json:"seed"`
}

// An Outcome is the result of a job.
type Outcome struct {
	Job
	Results []Number `json:"results"`
	Failed  []string `json:"failed_checks,omitempty"` // names of the failed checks
	// Sum is the checksum of all other fields, in the file. It reveals damage, and changes by hand.
	Sum string `json:"sum,omitempty"`
}

// A Number is a result.
type Number struct {
	Name  string `json:"name"`
	Value int64  `json:"value"`
	Unit  string `json:"unit"` // ps for times
	// Unmeasured is true if the run has no value, such as the delay of a flow without received frames. Value is then
	// meaningless.
	Unmeasured bool `json:"unmeasured,omitempty"`
}

// Jobs returns all runs of a sweep. The seed varies fastest, then the last parameter.
func (f *File) Jobs() []Job {
	jobs := make([]Job, f.count())
	for i := range jobs {
		jobs[i] = f.job(i)
	}
	return jobs
}

// count returns the number of jobs.
func (f *File) count() int {
	n := f.Seeds.Count
	for _, v := range f.Vary {
		n *= len(v.Values)
	}
	return n
}

// job returns the job at an index of [File.Jobs].
func (f *File) job(i int) Job {
	j := Job{Seed: f.Seeds.First + uint64(i%f.Seeds.Count)}
	i /= f.Seeds.Count
	if len(f.Vary) > 0 {
		j.Values = make([]string, len(f.Vary))
	}
	for k := len(f.Vary) - 1; k >= 0; k-- {
		values := f.Vary[k].Values
		j.Values[k] = values[i%len(values)]
		i /= len(values)
	}
	return j
}

// Options configure how to run a sweep.
type Options struct {
	Out     string // the directory of results
	Workers int    // number of parallel runs; zero means one per core
	// Open opens an experiment, or its short form, with settings.
	Open func(name string, set []string, short bool) (*lab.Topology, error)
	// Program identifies the program that runs the sweep. Results of another program are not reused.
	Program string
	// Progress, if not nil, is called after each job.
	Progress func(done, all int)
}

// Run runs all jobs without a result, and returns the outcomes of all, in the order of [File.Jobs]. A job that fails
// does not end the others. The error then has all failures, and outcomes lack those jobs. If ctx ends, finished results
// are kept.
func (f *File) Run(ctx context.Context, o Options) ([]Outcome, error) {
	r, end, err := f.begin(o)
	if err != nil {
		return nil, err
	}
	defer end()
	done := 0
	var mu sync.Mutex
	r.each(ctx, func(i int) {
		r.outcomes[i], r.failures[i] = r.result(ctx, o, r.dir, r.jobs[i])
		mu.Lock()
		defer mu.Unlock()
		if done++; o.Progress != nil {
			o.Progress(done, len(r.jobs))
		}
	})
	return r.gathered(ctx.Err())
}

// running is a sweep with the state of its jobs. Each has an outcome, a failure, or neither yet.
type running struct {
	*File
	Options
	dir      string // directory of the results
	jobs     []Job
	outcomes []*Outcome
	failures []error
}

// begin opens the directory of results and locks it for this sweep. end unlocks it.
func (f *File) begin(o Options) (r *running, end func(), err error) {
	f.named.forget()
	r = &running{File: f, Options: o, dir: filepath.Join(o.Out, "jobs"), jobs: f.Jobs()}
	r.outcomes, r.failures = make([]*Outcome, len(r.jobs)), make([]error, len(r.jobs))
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return nil, nil, err
	}
	end, err = lock(filepath.Join(o.Out, "lock"))
	return r, end, err
}

// each calls do for every job, in as many goroutines as there are workers, until ctx ends.
func (r *running) each(ctx context.Context, do func(i int)) {
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(cmp.Or(r.Workers, runtime.GOMAXPROCS(0)), len(r.jobs)) {
		workers.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := 0; i < len(r.jobs) && ctx.Err() == nil; i++ {
		next <- i
	}
	close(next)
	workers.Wait()
}

// gathered returns the outcomes so far. The error has the failures, or the reason why not all are there.
func (r *running) gathered(ended error) ([]Outcome, error) {
	var all []Outcome
	for _, out := range r.outcomes {
		if out != nil {
			all = append(all, *out)
		}
	}
	if ended != nil {
		return all, fmt.Errorf("%d of %d runs have their results, the others are left for the next time: %w", len(all),
			len(r.jobs), ended)
	}
	return all, errors.Join(r.failures...)
}

// lock locks a directory, so that no other sweep works in it.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: another sweep works in this directory: %w", path, err)
	}
	return func() { f.Close() }, nil
}

// settings returns the settings of the experiment for a job.
func (f *File) settings(j Job) []string {
	set := append([]string{}, f.Set...)
	for i, v := range f.Vary {
		set = append(set, v.Path+"="+j.Values[i])
	}
	return set
}

// result returns the existing result of a job, or runs the job and stores its result.
func (f *File) result(ctx context.Context, o Options, dir string, j Job) (*Outcome, error) {
	p, err := f.prepare(o, j)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, p.name)
	if out, err := f.read(path, j); out != nil || err != nil {
		return out, err
	}
	out, err := f.run(ctx, p)
	if err != nil {
		return nil, err
	}
	text, err := out.text()
	if err != nil {
		return nil, err
	}
	return out, replace(path, text)
}

// prepared is a job whose experiment has been opened.
type prepared struct {
	Job
	topology *lab.Topology
	what     string       // description of the job for messages
	name     string       // name of its result
	same     func() error // fails if the inputs that determine the name have changed since
}

func (f *File) prepare(o Options, j Job) (*prepared, error) {
	set := f.settings(j)
	p := &prepared{Job: j, what: fmt.Sprintf("%s, seed %d, %v", f.Experiment, j.Seed, set)}
	var err error
	if p.name, err = f.nameOf(o, set, j); err != nil {
		return nil, fmt.Errorf("%s: %w", p.what, err)
	}
	p.same = func() error {
		_, err := f.nameOf(o, set, j)
		return err
	}
	if p.topology, err = o.Open(f.topology(), set, f.Short); err != nil {
		return nil, fmt.Errorf("%s: %w", p.what, err)
	}
	if a, b, both := p.topology.Overlap(len(f.Vary)); both {
		return nil, fmt.Errorf("%s: vary: %q sets what %q sets: want one of both", p.what, b, a)
	}
	return p, nil
}

func (f *File) run(ctx context.Context, p *prepared) (*Outcome, error) {
	r, err := lab.Run(ctx, p.topology, lab.Options{Seed: p.Seed, Workers: 1})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.what, err)
	}
	if err := p.same(); err != nil { // the run has read the files after their checksums were computed
		return nil, fmt.Errorf("%s: %w", p.what, err)
	}
	out := &Outcome{Job: p.Job}
	for _, x := range f.Results {
		m, err := r.Value(x.Measured)
		if err != nil {
			return nil, fmt.Errorf("%s: result %s: %w", p.what, x.Name, err)
		}
		number := Number{Name: x.Name, Unit: m.Unit, Unmeasured: !m.Known()}
		if m.Known() {
			number.Value = m.Value
		}
		out.Results = append(out.Results, number)
	}
	for i := range r.Checks {
		if r.Checks[i].Failed() {
			out.Failed = append(out.Failed, r.Checks[i].Name)
		}
	}
	return out, nil
}

// The name of a result is nameBytes of a checksum in hexadecimal, followed by resultEnd.
const (
	nameBytes = 12
	resultEnd = ".json"
)

// nameOf returns the name of a job's result, from everything that it depends on.
func (f *File) nameOf(o Options, set []string, j Job) (string, error) {
	var text []byte // empty for an experiment that comes with tamtam, since it is part of the program
	if f.isFile() {
		var err error
		if text, err = f.text(); err != nil {
			return "", err
		}
		if _, err := f.named.sum(f.topology()); err != nil {
			return "", err
		}
	}
	files, err := f.named.of(filepath.Dir(f.topology()), text, set)
	if err != nil {
		return "", err
	}
	what, err := json.Marshal([]any{o.Program, f.Experiment, f.Short, string(text), files, set, j.Seed, f.Results})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(what)
	return hex.EncodeToString(sum[:nameBytes]) + resultEnd, nil
}
