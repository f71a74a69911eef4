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

// maxNetwork is more than any topology file may have, in bytes.
const maxNetwork = 4 << 20

// Network reads the topology of an experiment that comes with tamtam or, where the name has a "/" or a ".", of a file:
// topology's own, containerlab's, whose variables are those of this process' environment, or the lab's.
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
