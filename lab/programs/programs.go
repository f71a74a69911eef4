// Package programs holds real switch programs as graphs of tables, ingress and egress separately, for studies and
// benchmarks of table recording. README.md gives their sources.
package programs

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tamtam/tam/record"
	"tamtam/tam/recordplan/p4graph"
)

//go:embed *.json
var files embed.FS

// Names returns the names of the programs.
func Names() []string {
	entries, _ := files.ReadDir(".")
	var list []string
	for _, e := range entries {
		name, _, _ := strings.Cut(e.Name(), "-")
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// Graph returns a pipeline of a program: ingress or egress.
func Graph(name, pipeline string) (*record.Graph, error) {
	text, err := files.ReadFile(name + "-" + pipeline + ".json")
	if err != nil {
		return nil, fmt.Errorf("program %q has no pipeline %q; programs are %s", name, pipeline, strings.Join(Names(), ", "))
	}
	return p4graph.Read(bytes.NewReader(text), "")
}

// A Program has its pipelines in the order in which packets pass through them.
type Program struct {
	Name      string
	Pipelines []*record.Graph
}

// Open returns a program of this package.
func Open(name string) (*Program, error) {
	p := &Program{Name: name}
	for _, pipeline := range []string{"ingress", "egress"} {
		if g, err := Graph(name, pipeline); err == nil {
			p.Pipelines = append(p.Pipelines, g)
		}
	}
	if len(p.Pipelines) == 0 {
		return nil, fmt.Errorf("no program %q: want one of %s, or a file (FILE.json)", name, strings.Join(Names(), ", "))
	}
	return p, nil
}

// Load reads a program from a file: a graph, or p4c's output for BMv2. The program has ingress and egress, or the one
// pipeline of the file.
func Load(path string) (*Program, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	base := filepath.Base(path)
	p := &Program{Name: strings.Map(metricRune, strings.TrimSuffix(base, filepath.Ext(base)))}
	first, err := p4graph.Read(bytes.NewReader(text), "")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	p.Pipelines = append(p.Pipelines, first)
	if first.Pipeline == "ingress" {
		if second, err := p4graph.Read(bytes.NewReader(text), "egress"); err == nil && second.Pipeline == "egress" {
			p.Pipelines = append(p.Pipelines, second)
		}
	}
	// An empty pipeline has nothing to record.
	p.Pipelines = slices.DeleteFunc(p.Pipelines,
		func(g *record.Graph) bool { return g.Init == record.Exit || g.Init == "" })
	if len(p.Pipelines) == 0 {
		return nil, fmt.Errorf("%s: no pipeline has a table", path)
	}
	return p, nil
}

// Pipeline returns the graph of that name, or the first if name is "".
func (p *Program) Pipeline(name string) (*record.Graph, error) {
	for _, g := range p.Pipelines {
		if name == "" || g.Pipeline == name {
			return g, nil
		}
	}
	return nil, fmt.Errorf("program %s has no pipeline %q", p.Name, name)
}

// metricRune replaces a character that is invalid in the name of a metric.
func metricRune(r rune) rune {
	if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
		return r
	}
	return '-'
}
