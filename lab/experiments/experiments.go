// Package experiments has the experiments that come with tamtam, and all studies that a topology may ask for.
package experiments

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"tamtam/lab"
	"tamtam/lab/study/marking"
	"tamtam/lab/study/recording"
	"tamtam/lab/study/sketching"
)

//go:embed *.yaml
var files embed.FS

// An Experiment is one that comes with tamtam.
type Experiment struct{ Name, Description string }

// List lists them by name.
func List() ([]Experiment, error) {
	var list []Experiment
	for _, name := range names() {
		t, err := Open(name, nil)
		if err != nil {
			return nil, err
		}
		list = append(list, Experiment{name, t.Description})
	}
	return list, nil
}

// ErrUnknown is found in the error of [Open] for an unknown name.
var ErrUnknown = errors.New("no experiment")

// studies are all that a topology may ask for.
func studies() []lab.Study {
	return []lab.Study{new(marking.Study), new(sketching.Study), new(recording.Study)}
}

// Open reads an experiment that comes with tamtam, or, where the name has a "/" or
// a ".", a file; set as in [lab.Load].
func Open(nameOrFile string, set []string) (*lab.Topology, error) {
	if strings.ContainsAny(nameOrFile, "/.") {
		return lab.Load(nameOrFile, set, studies()...)
	}
	text, err := files.ReadFile(nameOrFile + ".yaml")
	if os.IsNotExist(err) {
		return nil, fmt.Errorf("%w %q: want one of %s, or a file (FILE.yaml)", ErrUnknown, nameOrFile,
			strings.Join(names(), ", "))
	}
	if err != nil {
		return nil, err
	}
	return lab.Parse(nameOrFile+".yaml", text, set, studies()...)
}

// OpenShort is Open for the short form of an experiment, which tests run: with the values of its Short,
// if it has any.
func OpenShort(nameOrFile string, set []string) (*lab.Topology, error) {
	t, err := Open(nameOrFile, set)
	if err != nil || len(t.Short) == 0 {
		return t, err
	}
	return Open(nameOrFile, slices.Concat(t.Short, set))
}

func names() (list []string) {
	entries, _ := files.ReadDir(".")
	for _, e := range entries {
		list = append(list, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return list // sorted
}
