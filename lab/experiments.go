package lab

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

//go:embed experiments/*.yaml
var experiments embed.FS

// An Experiment is one that comes with tamtam.
type Experiment struct{ Name, Description string }

// Experiments lists them by name.
func Experiments() ([]Experiment, error) {
	entries, err := experiments.ReadDir("experiments")
	if err != nil {
		return nil, err
	}
	var list []Experiment
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".yaml")
		t, err := Open(name, nil)
		if err != nil {
			return nil, err
		}
		list = append(list, Experiment{name, t.Description})
	}
	return list, nil
}

// ErrNoExperiment is found in the error of [Open] for an unknown name.
var ErrNoExperiment = errors.New("no experiment")

// Open reads an experiment that comes with tamtam, or, where the name has a "/" or
// a ".", a file; set as [Load] has it.
func Open(nameOrFile string, set []string) (*Topology, error) {
	if strings.ContainsAny(nameOrFile, "/.") {
		return Load(nameOrFile, set)
	}
	text, err := experiments.ReadFile("experiments/" + nameOrFile + ".yaml")
	if os.IsNotExist(err) {
		return nil, fmt.Errorf("%w %q: want one of %s, or a file (FILE.yaml)", ErrNoExperiment, nameOrFile, strings.Join(names(), ", "))
	}
	if err != nil {
		return nil, err
	}
	return Parse(nameOrFile+".yaml", text, set)
}

// OpenShort is Open for the short form of an experiment, which tests run: with what
// stands in its Short. One without is as it is.
func OpenShort(nameOrFile string, set []string) (*Topology, error) {
	t, err := Open(nameOrFile, set)
	if err != nil || len(t.Short) == 0 {
		return t, err
	}
	return Open(nameOrFile, slices.Concat(t.Short, set))
}

func names() []string {
	entries, _ := experiments.ReadDir("experiments")
	var list []string
	for _, e := range entries {
		list = append(list, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	slices.Sort(list)
	return list
}

// Run runs a whole topology and returns what it has shown, its checks too.
func Run(ctx context.Context, t *Topology, opts Options) (*Result, error) {
	if t.FlyMon.Study != "" {
		return runFlyMon(ctx, t, opts)
	}
	if t.TableRecord.Study != "" {
		return runTableRecord(ctx, t, opts)
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

// RunTime is Duration, or its default.
func (t *Topology) RunTime() Time {
	if t.Duration == 0 {
		return 10 * Millisecond
	}
	return t.Duration
}
