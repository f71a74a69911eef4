package main

import (
	"encoding/json"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// A component is a part of the release in CycloneDX.
type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref,omitempty"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl,omitempty"`
	Licenses   []licensed `json:"licenses,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type licensed struct {
	License struct {
		ID string `json:"id"`
	} `json:"license"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// A bom is the list of everything that the programs and images contain, by package URL.
type bom map[string]component

func (b *bom) put(c component) {
	if *b == nil {
		*b = bom{}
	}
	c.Ref = c.PURL
	// What several programs contain has the properties of each once.
	for _, p := range (*b)[c.PURL].Properties {
		if !slices.Contains(c.Properties, p) {
			c.Properties = append(c.Properties, p)
		}
	}
	slices.SortFunc(c.Properties, func(a, b property) int { return strings.Compare(a.Name+a.Value, b.Name+b.Value) })
	(*b)[c.PURL] = c
}

// program adds the modules that a program contains, as the linker recorded them, with Go's library.
func (b *bom) program(p program) {
	in := property{"tamtam:in", p.name}
	version := strings.TrimPrefix(p.info.GoVersion, "go")
	b.put(component{Type: "library", Name: "std", Version: version, PURL: "pkg:golang/std@" + version,
		Properties: []property{in}})
	for _, m := range p.info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		b.put(module(m, in))
	}
}

func module(m *debug.Module, in property) component {
	c := component{Type: "library", Name: m.Path, Version: m.Version, PURL: "pkg:golang/" + m.Path + "@" + m.Version,
		Properties: []property{in}}
	if m.Sum != "" {
		c.Properties = append(c.Properties, property{"go:sum", m.Sum})
	}
	return c
}

// debian adds the Debian packages of an image.
func (b *bom) debian(arch string, of base) {
	for _, p := range of.packages {
		name, version, _ := strings.Cut(p, " ")
		purl := "pkg:deb/debian/" + name + "@" + strings.NewReplacer(":", "%3A", "+", "%2B").Replace(version)
		b.put(component{Type: "library", Name: name, Version: version, PURL: purl + "?arch=" + arch + "&distro=" + suite,
			Properties: []property{{"tamtam:in", "image " + arch}}})
	}
}

// encode returns the list as CycloneDX JSON.
func (b *bom) encode(at head) ([]byte, error) {
	main := component{Type: "application", Ref: "tamtam", Name: "tamtam", Version: at.module,
		Properties: []property{{"vcs:revision", at.commit}}, Licenses: []licensed{{}}}
	main.Licenses[0].License.ID = "Apache-2.0"
	all := []component{}
	for _, purl := range slices.Sorted(maps.Keys(*b)) {
		all = append(all, (*b)[purl])
	}
	text, err := json.MarshalIndent(map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
		"metadata":   map[string]any{"timestamp": at.time.Format(time.RFC3339), "component": main},
		"components": all,
	}, "", "  ")
	return append(text, '\n'), err
}
