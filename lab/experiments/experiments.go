// Package experiments holds the experiments that come with tamtam, and opens topologies with all existing studies.
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

// An Experiment is an experiment that comes with tamtam.
type Experiment struct{ Name, Description string }

// List returns the experiments, sorted by name.
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

// ErrUnknown is in the error of [Open] for an unknown name.
var ErrUnknown = errors.New("no experiment")

// studies returns all studies that a topology may contain.
func studies() []lab.Study {
	return []lab.Study{new(marking.Study), new(sketching.Study), new(recording.Study)}
}

// Open reads an experiment that comes with tamtam. If the name contains a "/" or a ".", it reads a file. set has the
// same meaning as in [lab.Load].
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

// OpenShort does the same as Open for the short form of an experiment, which tests run. It applies the settings in the
// topology's Short.
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
