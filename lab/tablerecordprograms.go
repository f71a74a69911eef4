package lab

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tamtam/tam/record"
	"tamtam/tam/recordplan"
)

//go:embed programs/*.json
var programs embed.FS

// RecordPrograms names the programs that come with tamtam as graphs; programs/README.md
// says where they are from.
func RecordPrograms() []string {
	entries, _ := programs.ReadDir("programs")
	var list []string
	for _, e := range entries {
		name, _, _ := strings.Cut(e.Name(), "-")
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// A recordProgram is a program: its pipelines in the order in which packets meet them.
type recordProgram struct {
	name      string
	pipelines []*record.Graph
}

// loadProgram finds a program by its name, or reads a file, which is a name with "/" or ".".
func loadProgram(name string, t *Topology) (*recordProgram, error) {
	if strings.ContainsAny(name, "/.") {
		path := t.source.resolve(name)
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		base := filepath.Base(path)
		p := &recordProgram{name: strings.Map(metricRune, strings.TrimSuffix(base, filepath.Ext(base)))}
		return p, p.read(path, text)
	}
	p := &recordProgram{name: name}
	for _, pipeline := range []string{"ingress", "egress"} {
		g, err := EmbeddedProgram(name, pipeline)
		if err == nil {
			p.pipelines = append(p.pipelines, g)
		}
	}
	if len(p.pipelines) == 0 {
		return nil, fmt.Errorf("no program %q: want one of %s, or a file (FILE.json)", name, strings.Join(RecordPrograms(), ", "))
	}
	return p, nil
}

// EmbeddedProgram is a pipeline of a program that comes with tamtam.
func EmbeddedProgram(name, pipeline string) (*record.Graph, error) {
	text, err := programs.ReadFile("programs/" + name + "-" + pipeline + ".json")
	if err != nil {
		return nil, fmt.Errorf("program %q has no pipeline %q; programs are %s", name, pipeline, strings.Join(RecordPrograms(), ", "))
	}
	return recordplan.Read(bytes.NewReader(text), "")
}

// read takes ingress and egress of a file that has both, or the one that there is.
func (p *recordProgram) read(path string, text []byte) error {
	first, err := recordplan.Read(bytes.NewReader(text), "")
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	p.pipelines = append(p.pipelines, first)
	if first.Pipeline == "ingress" {
		if second, err := recordplan.Read(bytes.NewReader(text), "egress"); err == nil && second.Pipeline == "egress" {
			p.pipelines = append(p.pipelines, second)
		}
	}
	// An empty pipeline has nothing to record.
	p.pipelines = slices.DeleteFunc(p.pipelines, func(g *record.Graph) bool { return g.Init == record.Exit || g.Init == "" })
	if len(p.pipelines) == 0 {
		return fmt.Errorf("%s: no pipeline has a table", path)
	}
	return nil
}

// pipeline returns the graph of that name; "": the first.
func (p *recordProgram) pipeline(name string) (*record.Graph, error) {
	for _, g := range p.pipelines {
		if name == "" || g.Pipeline == name {
			return g, nil
		}
	}
	return nil, fmt.Errorf("program %s has no pipeline %q", p.name, name)
}

// metricRune makes of a file's name what may stand in the name of a metric.
func metricRune(r rune) rune {
	if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
		return r
	}
	return '-'
}
