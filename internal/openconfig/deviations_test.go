package main

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tamtam/mgmt/tree"

	"github.com/openconfig/goyang/pkg/yang"
)

// readOnlyPaths returns the paths, without prefixes, that tamtam-deviations makes config false.
func readOnlyPaths(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../../yang/" + deviationsName + ".yang")
	if err != nil {
		t.Fatal(err)
	}
	modules, err := yang.Parse(string(text), deviationsName)
	if err != nil {
		t.Fatal(err)
	}
	paths, prefix := map[string]bool{}, regexp.MustCompile(`[\w-]+:`)
	for _, s := range modules[0].SubStatements() {
		if s.Keyword != "deviation" {
			continue
		}
		for _, how := range s.SubStatements() {
			for _, what := range how.SubStatements() {
				if what.Keyword == "config" && what.Argument == "false" {
					paths[prefix.ReplaceAllString(s.Argument, "")] = true
				}
			}
		}
	}
	return paths
}

// A client that reads the modules knows what no Set can write: the deviations make exactly these nodes config false.
// The only exceptions are keys of lists of which a part can be written, and the leaves beside such keys.
func TestDeviationsHaveAllReadOnlyNodes(t *testing.T) {
	m, err := served()
	if err != nil {
		t.Fatal(err)
	}
	paths := readOnlyPaths(t)
	if len(paths) == 0 {
		t.Fatal("no node is config false")
	}
	found, want := map[string]bool{}, 0
	var walk func(n *tree.Node, deviates bool)
	walk = func(n *tree.Node, deviates bool) {
		for _, k := range n.Kids {
			deviates := deviates || paths[k.Path]
			if paths[k.Path] {
				found[k.Path] = true
			}
			ours := !strings.HasPrefix(k.Module, "openconfig-") || k.Module == "openconfig-tam"
			switch {
			case deviates && k.Writable():
				t.Errorf("%s is config false, and a Set can write it", k.Path)
			case ours || !k.Config || k.Type == nil || k.Writable():
			case deviates:
				want++
			case k.KeyIndex < 0 && !holdsKey(k.Parent):
				t.Errorf("%s is config, and no Set can write it", k.Path)
			}
			walk(k, deviates)
		}
	}
	walk(m.Root, false)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if !found[path] && m.Find(path) == nil {
			t.Errorf("%s is config false, and is not served", path)
		}
	}
	if want == 0 {
		t.Error("no leaf of OpenConfig's configuration is read-only: the test checks nothing")
	}
}
