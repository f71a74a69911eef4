package programs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tamtam/lab/programs"
)

func ExampleOpen() {
	p, err := programs.Open("netcache")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, g := range p.Pipelines {
		fmt.Println(p.Name, g.Pipeline, len(g.Nodes) > 10)
	}
	_, err = programs.Open("netcash")
	fmt.Println(err)
	// Output:
	// netcache ingress true
	// netcache egress true
	// no program "netcash": want one of fabric, netcache, ontas, switch, or a file (FILE.json)
}

// Every pipeline is found by its name, and unknown names are refused.
func TestPipelines(t *testing.T) {
	for _, name := range programs.Names() {
		p, err := programs.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range p.Pipelines {
			if got, err := p.Pipeline(g.Pipeline); err != nil || got != g || g.Program != name {
				t.Errorf("%s %s: %v of %s, %v", name, g.Pipeline, got, g.Program, err)
			}
		}
		if first, err := p.Pipeline(""); err != nil || first != p.Pipelines[0] {
			t.Errorf("%s: the first is %v, %v", name, first, err)
		}
		if _, err := p.Pipeline("postgress"); err == nil {
			t.Errorf("%s has a third pipeline", name)
		}
	}
	if _, err := programs.Graph("ontas", "egress"); err == nil || !strings.Contains(err.Error(), "no pipeline") {
		t.Errorf("ontas: %v", err)
	}
}

func TestLoad(t *testing.T) {
	p, err := programs.Load("switch-egress.json")
	if err != nil || len(p.Pipelines) != 1 || p.Name != "switch-egress" {
		t.Errorf("%+v, %v", p, err)
	}
	p, err = programs.Load("../../tam/recordplan/p4graph/testdata/bmv2/fields.json")
	if err != nil || len(p.Pipelines) == 0 {
		t.Errorf("%+v, %v", p, err)
	}
	path := filepath.Join(t.TempDir(), "a b.json")
	for text, want := range map[string]string{
		"{}": "a b.json",
		`{"program": "x", "pipeline": "ingress", "init": "EXIT", "nodes": [], "edges": [], "deps": []}`: "a b.json",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := programs.Load(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := programs.Load("none.json"); !os.IsNotExist(err) {
		t.Errorf("no file: %v", err)
	}
}
