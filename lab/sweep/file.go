package sweep

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A File is a sweep, as YAML:
//
//	experiment: ampm-link       # by its name, or a file beside this one
//	short: false                # its short form; optional
//	seeds: {first: 1, count: 20}
//	set: [duration=60ms]        # as of `tamtam lab run --set`; optional
//	vary:                       # all combinations of these are run; optional
//	- path: links.between.loss
//	  values: [0.001, 0.01, 0.1]
//	results:                    # what is kept of each run, as in the checks of an experiment
//	- {name: lost, measured: altmark.web.leaf1.spine1.lost}
//	plots:                      # of a result over one of vary; optional
//	- {result: lost, over: links.between.loss, scale: log}
type File struct {
	Experiment string   `yaml:"experiment"`
	Short      bool     `yaml:"short"`
	Seeds      Seeds    `yaml:"seeds"`
	Set        []string `yaml:"set"`
	Vary       []Vary   `yaml:"vary"`
	Results    []Result `yaml:"results"`
	Plots      []Plot   `yaml:"plots"`

	dir string
}

// Seeds are consecutive.
type Seeds struct {
	First uint64 `yaml:"first"`
	Count int    `yaml:"count"`
}

// A Vary is a parameter, and what it is set to.
type Vary struct {
	Path   string   `yaml:"path"`
	Values []string `yaml:"values"`
}

// A Result is a number that each run gives.
type Result struct {
	Name     string `yaml:"name"`
	Measured string `yaml:"measured"` // metrics joined by + and -
}

// A Plot shows a result over a parameter, with a curve for each combination of the others.
type Plot struct {
	Result string `yaml:"result"`
	Over   string `yaml:"over"`
	Scale  string `yaml:"scale"` // of the parameter: linear (default) or log
}

// Bounds of a file, and of a sweep.
const (
	maxFile = 1 << 20
	maxJobs = 1_000_000
)

// Read reads a file strictly; an error names the field, its value and what would be right.
func Read(path string) (*File, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err != nil {
		return nil, err
	}
	f, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f.dir = filepath.Dir(path)
	return f, nil
}

// Parse is [Read] of text; files are looked for in the working directory.
func Parse(text []byte) (*File, error) {
	if len(text) > maxFile {
		return nil, fmt.Errorf("longer than %d MiB, which is the limit", maxFile>>20)
	}
	f := &File{Seeds: Seeds{First: 1, Count: 1}}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(f); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("the file is empty: want experiment, seeds, vary, results")
		}
		return nil, err
	}
	return f, f.check()
}

// topology is the experiment's name, or the path of its file.
func (f *File) topology() string {
	if strings.ContainsAny(f.Experiment, "/.") && !filepath.IsAbs(f.Experiment) {
		return filepath.Join(f.dir, f.Experiment)
	}
	return f.Experiment
}

func (f *File) check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if f.Experiment == "" {
		bad(`experiment: "": want the name of an experiment, or a file`)
	}
	if f.Seeds.Count < 1 || f.Seeds.First == 0 {
		bad("seeds: first %d, count %d: want 1 or more of both", f.Seeds.First, f.Seeds.Count)
	}
	jobs, paths := max(f.Seeds.Count, 1), map[string]bool{}
	for i, v := range f.Vary {
		seen := map[string]bool{}
		for _, value := range v.Values {
			if seen[value] {
				bad("vary[%d]: values: %q is there twice", i, value)
			}
			seen[value] = true
		}
		switch {
		case v.Path == "" || strings.Contains(v.Path, "="):
			bad("vary[%d]: path: %q: want the path of a field, as traffic.web.pps", i, v.Path)
		case paths[v.Path]:
			bad("vary[%d]: path: %q: it is varied already", i, v.Path)
		case len(v.Values) == 0:
			bad("vary[%d]: values: none: want one or more", i)
		case jobs <= maxJobs:
			jobs *= len(v.Values)
		}
		paths[v.Path] = true
	}
	if jobs > maxJobs {
		bad("%d runs and more: want at most %d", jobs, maxJobs)
	}
	results := map[string]bool{}
	for i, r := range f.Results {
		if r.Name == "" || results[r.Name] || strings.ContainsAny(r.Name, "/\n,") {
			bad("results[%d]: name: %q: want a name of its own without / and comma", i, r.Name)
		}
		if r.Measured == "" {
			bad(`results[%d]: measured: "": want metrics, as flow.web.lost`, i)
		}
		results[r.Name] = true
	}
	if len(f.Results) == 0 {
		bad("results: none: want one or more")
	}
	for i, p := range f.Plots {
		if !results[p.Result] {
			bad("plots[%d]: result: %q: want one of %s", i, p.Result, strings.Join(slices.Sorted(maps.Keys(results)), ", "))
		}
		if !paths[p.Over] {
			bad("plots[%d]: over: %q: want one of %s", i, p.Over, strings.Join(slices.Sorted(maps.Keys(paths)), ", "))
		}
		if p.Scale != "" && p.Scale != "linear" && p.Scale != "log" {
			bad("plots[%d]: scale: %q: want linear or log", i, p.Scale)
		}
	}
	return errors.Join(errs...)
}
