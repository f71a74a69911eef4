package experiments

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"tamtam/collector/topology"
)

// maxNetwork is above the size of any topology file, in bytes.
const maxNetwork = 4 << 20

// Network reads the topology of an experiment that comes with tamtam. If the name contains a "/" or a ".", it reads a
// file in one of three formats: topology's own, containerlab's, or the lab's. The variables of a containerlab file are
// those of this process' environment.
func Network(nameOrFile string, clab topology.Containerlab) (*topology.Topology, error) {
	if strings.ContainsAny(nameOrFile, "/.") {
		in, err := os.Open(nameOrFile)
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(io.LimitReader(in, maxNetwork+1))
		if err := errors.Join(err, in.Close()); err != nil {
			return nil, err
		}
		clab.Env = os.LookupEnv
		t, err := topology.Parse(text, clab)
		if !errors.Is(err, topology.ErrLab) {
			if err != nil {
				err = fmt.Errorf("%s: %w", nameOrFile, err)
			}
			return t, err
		}
		if filepath.Base(nameOrFile) == nameOrFile {
			nameOrFile = "./" + nameOrFile
		}
	}
	t, err := Open(nameOrFile, nil)
	if err != nil {
		return nil, err
	}
	return t.Network()
}
