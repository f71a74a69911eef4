package lab

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"

	"tamtam/lab/figure"
)

// A Study is a part of a topology's file that a package above the lab understands. It is studied in addition to the
// traffic, or instead of it. Fields of the study with a yaml tag are fields of the file. [Parse] receives the existing
// studies.
type Study interface {
	// Name returns the name of its report, which is also the first word of its metrics.
	Name() string
	// Asked reports whether the topology contains the study.
	Asked() bool
	// Validate records the errors of the study.
	Validate(*Validator)
}

// An Observing study watches running switches.
type Observing interface {
	Study
	// Observe starts the observation of a lab that has not run yet.
	Observe(*Lab) (Observer, error)
}

// An Observer accompanies a run.
type Observer interface {
	// Every returns the interval between calls of Gather. Windows end at these times. Gather is also called at the end
	// of the run.
	Every() Time
	Gather()
	// Follow is called at the end of each window, now.
	Follow(now Time)
	Report() Report
}

// A Lone study uses no switches, and no other study runs beside it.
type Lone interface {
	Study
	// Run performs the study. Only the seed and the number of workers in opts are set.
	Run(ctx context.Context, t *Topology, opts Options) (Report, error)
	// Judged reports whether the topology's checks apply to this run.
	Judged() bool
}

// A Report is the result of a study: its part of report.json.
type Report interface {
	// Metric returns a number by its name, without the study's name in front.
	Metric(name string) (Metric, bool)
	// Metrics returns a text that lists the metrics.
	Metrics() string
	// Notices returns remarks on the whole study.
	Notices() []string
	// CSV returns the study's files, by name.
	CSV() map[string][]byte
	// Figures returns the study's plots.
	Figures(title string) []*figure.Figure
	// WriteTable prints the study's table.
	WriteTable(io.Writer) error
}

// An observation is an Observer during a run.
type observation struct {
	Observer
	name string
	next Time // time of the next Gather
}

func (l *Lab) makeObservers(context.Context) error {
	for _, s := range l.t.Studies {
		if o, ok := s.(Observing); ok && s.Asked() {
			observer, err := o.Observe(l)
			if err != nil {
				return err
			}
			l.observers = append(l.observers, &observation{observer, s.Name(), observer.Every()})
		}
	}
	return nil
}

// studied reports whether a study watches the switches.
func (t *Topology) studied() bool { return slices.ContainsFunc(t.Studies, Study.Asked) }

// lone returns the study that runs alone, or nil if there are switches.
func (t *Topology) lone() Lone {
	for _, s := range t.Studies {
		if s, ok := s.(Lone); ok && s.Asked() {
			return s
		}
	}
	return nil
}

func (v *Validator) studies() {
	lone := v.t.lone()
	for _, s := range v.t.Studies {
		s.Validate(v)
		if l, ok := s.(Lone); ok && s.Asked() {
			n := len(v.t.Switches) + len(v.t.Hosts) + len(v.t.Traffic)
			v.Want(n == 0, s.Name(), n, "no switches, hosts or traffic beside a study")
			v.Want(l == lone, s.Name(), s.Name(), "no other study beside %s", lone.Name())
		}
	}
}

// Run runs a whole topology and returns its result, including checks.
func Run(ctx context.Context, t *Topology, opts Options) (*Result, error) {
	if s := t.lone(); s != nil {
		return runLone(ctx, t, s, opts)
	}
	l, err := New(ctx, t, opts)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	if err := l.Run(ctx, t.RunTime()); err != nil {
		return nil, err
	}
	return l.Result(ctx)
}

func runLone(ctx context.Context, t *Topology, s Lone, opts Options) (*Result, error) {
	if err := t.Validate(); err != nil {
		return nil, err
	}
	opts = opts.of(t)
	report, err := s.Run(ctx, t, opts)
	if err != nil {
		return nil, fmt.Errorf("%s%w", t.Where(s.Name()), err)
	}
	r := newResult(t, opts.Seed, t.RunTime())
	r.Reports[s.Name()] = report
	if !s.Judged() {
		return r, nil
	}
	return r, r.checkAll(t)
}

// of fills in defaults.
func (o Options) of(t *Topology) Options {
	o.Seed = cmp.Or(o.Seed, t.Seed)
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	return o
}

// RunTime returns Duration, or its default.
func (t *Topology) RunTime() Time { return cmp.Or(t.Duration, 10*Millisecond) }

// reports returns the names of the studies with a report, sorted.
func (r *Result) reports() []string { return slices.Sorted(maps.Keys(r.Reports)) }
