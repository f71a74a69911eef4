package sweep

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"tamtam/collector/whole"
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
//	results:                    # measurements that are kept of each run, as in the checks of an experiment
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

	dir   string
	at    string // path of the experiment's file after unpacking; empty if it is at its original place
	named namedFiles
}

// Seeds are consecutive seeds.
type Seeds struct {
	First uint64 `yaml:"first"`
	Count int    `yaml:"count"`
}

// A Vary is a parameter with its values.
type Vary struct {
	Path   string   `yaml:"path"`
	Values []string `yaml:"values"`
}

// A Result is a number that each run returns.
type Result struct {
	Name     string `yaml:"name"`
	Measured string `yaml:"measured"` // metrics joined by + and -
}

// A Plot shows a result over a parameter, with a curve for each combination of the others.
type Plot struct {
	Result string `yaml:"result"`
	Over   string `yaml:"over"`
	Scale  string `yaml:"scale"` // scale of the parameter: linear (default) or log
}

// place returns the position of a value on the axis of a plot, and false if it has none.
func (p Plot) place(value string) (float64, bool) {
	x, err := strconv.ParseFloat(value, 64)
	return x, err == nil && !math.IsNaN(x) && !math.IsInf(x, 0) && (p.Scale != "log" || x > 0)
}

// Bounds of a file, and of a sweep.
const (
	maxFile = 1 << 20
	maxJobs = 1_000_000
)

// Read reads a file strictly. An error contains the field, its value and what would be valid.
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

// Parse does the same as [Read] for text. Files are relative to the working directory.
func Parse(text []byte) (*File, error) {
	if len(text) > maxFile {
		return nil, fmt.Errorf("longer than %d MiB, which is the limit", maxFile>>20)
	}
	if err := whole.Check(text, "first", "count"); err != nil {
		return nil, err
	}
	f := &File{Seeds: Seeds{First: 1, Count: 1}, dir: "."}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(f); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("the file is empty: want experiment, seeds, vary, results")
		}
		return nil, err
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is a second document (---): want one sweep in a file")
	}
	return f, f.check()
}

// topology returns the experiment's name, or the path of its file.
func (f *File) topology() string {
	if f.at != "" {
		return f.at
	}
	if f.isFile() && !filepath.IsAbs(f.Experiment) {
		return f.dir + string(filepath.Separator) + f.Experiment // without a separator it would be a name
	}
	return f.Experiment
}

// isFile reports whether the experiment is a file, and not one that comes with tamtam.
func (f *File) isFile() bool { return strings.ContainsAny(f.Experiment, "/.") }

// maxExperiment is above the limit of a lab file, in bytes.
const maxExperiment = 4<<20 + 1

// text returns the content of the experiment's file. It must be a regular file, since others may be endless or change
// with each read.
func (f *File) text() ([]byte, error) {
	path := f.topology()
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxExperiment {
		return nil, fmt.Errorf("experiment: %q: %s of %d bytes: want a file of at most %d", path, info.Mode().Type(),
			info.Size(), maxExperiment)
	}
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return io.ReadAll(io.LimitReader(in, maxExperiment))
}

// A checker collects errors.
type checker struct{ errs []error }

func (c *checker) want(ok bool, format string, args ...any) {
	if !ok {
		c.errs = append(c.errs, fmt.Errorf(format, args...))
	}
}

func (f *File) check() error {
	var c checker
	c.want(f.Experiment != "", `experiment: "": want the name of an experiment, or a file`)
	c.want(f.Seeds.Count >= 1 && f.Seeds.First > 0, "seeds: first %d, count %d: want 1 or more of both", f.Seeds.First,
		f.Seeds.Count)
	c.want(f.Seeds.First <= math.MaxUint64-uint64(max(f.Seeds.Count, 0)), "seeds: first %d: want %d seeds below 2^64",
		f.Seeds.First, f.Seeds.Count)
	paths := f.checkVary(&c)
	for i, setting := range f.Set {
		path, _, _ := strings.Cut(setting, "=")
		path = strings.TrimSpace(path)
		c.want(path != seedPath, "set[%d]: %q: want seeds of the sweep", i, setting)
		c.want(!paths[path], "set[%d]: %q: it is varied: want one of both", i, setting)
	}
	results := map[string]bool{}
	for i, r := range f.Results {
		c.want(r.Name != "" && !results[r.Name] && !strings.ContainsAny(r.Name, "/\n,"),
			"results[%d]: name: %q: want a name of its own without / and comma", i, r.Name)
		c.want(r.Measured != "", `results[%d]: measured: "": want metrics, as flow.web.lost`, i)
		results[r.Name] = true
	}
	c.want(len(f.Results) > 0, "results: none: want one or more")
	for i, p := range f.Plots {
		c.want(results[p.Result], "plots[%d]: result: %q: want one of %s", i, p.Result, list(results))
		c.want(paths[p.Over], "plots[%d]: over: %q: want one of %s", i, p.Over, list(paths))
		for _, v := range f.Vary {
			for _, value := range v.Values {
				_, ok := p.place(value)
				c.want(v.Path != p.Over || ok, "plots[%d]: over: %s has %q: want numbers%s", i, p.Over, value,
					map[bool]string{true: " above 0", false: ""}[p.Scale == "log"])
			}
		}
		c.want(p.Scale == "" || p.Scale == "linear" || p.Scale == "log", "plots[%d]: scale: %q: want linear or log", i,
			p.Scale)
	}
	return errors.Join(c.errs...)
}

// seedPath is the field of an experiment that a sweep sets from its seeds.
const seedPath = "seed"

// checkVary checks the parameters that vary, and returns their paths.
func (f *File) checkVary(c *checker) map[string]bool {
	jobs, paths := max(f.Seeds.Count, 1), map[string]bool{}
	for i, v := range f.Vary {
		c.want(v.Path != "" && !strings.Contains(v.Path, "="),
			"vary[%d]: path: %q: want the path of a field, as traffic.web.pps", i, v.Path)
		c.want(!paths[v.Path], "vary[%d]: path: %q: it is varied already", i, v.Path)
		c.want(v.Path != seedPath, "vary[%d]: path: %q: want seeds of the sweep", i, v.Path)
		c.want(len(v.Values) > 0, "vary[%d]: values: none: want one or more", i)
		paths[v.Path] = true
		seen := map[string]bool{}
		for _, value := range v.Values {
			c.want(!seen[value], "vary[%d]: values: %q is there twice", i, value)
			seen[value] = true
		}
		if jobs <= maxJobs {
			jobs *= max(len(v.Values), 1)
		}
	}
	c.want(jobs <= maxJobs, "%d runs and more: want at most %d", jobs, maxJobs)
	return paths
}

func list(names map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(names)), ", ") }
