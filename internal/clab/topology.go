package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A file is a topology file of containerlab, with the fields that this tree uses. Other fields are errors.
type file struct {
	Name     string `yaml:"name"`
	Topology struct {
		Kinds map[string]node  `yaml:"kinds"`
		Nodes map[string]*node `yaml:"nodes"`
		Links []link           `yaml:"links"`
	} `yaml:"topology"`

	dir string // folder of the file, to which binds are relative
}

// A node is a container.
type node struct {
	Kind  string            `yaml:"kind"`
	Image string            `yaml:"image"`
	Cmd   string            `yaml:"cmd"`
	Binds []string          `yaml:"binds"` // FILE:PATH[:ro]
	Env   map[string]string `yaml:"env"`
	Exec  []string          `yaml:"exec"`

	// These fields of a kind set capabilities. They have no effect here, since all containers get the same ones.
	Privileged *bool    `yaml:"privileged"`
	CapAdd     []string `yaml:"cap-add"`
}

// A link joins two interfaces, each NODE:INTERFACE.
type link struct {
	Endpoints [2]string `yaml:"endpoints"`
}

// ends returns the nodes and their interfaces.
func (l link) ends() (nodes, interfaces [2]string) {
	for i, e := range l.Endpoints {
		nodes[i], interfaces[i], _ = strings.Cut(e, ":")
	}
	return nodes, interfaces
}

// variable finds ${NAME:=DEFAULT}.
var variable = regexp.MustCompile(`\$\{(\w+):=([^}]*)\}`)

// read reads a topology file.
func read(name string) (*file, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	f, err := parse(text, filepath.Dir(name))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

// parse parses the text of a file in dir. Variables are replaced by those of the environment, as in containerlab.
func parse(text []byte, dir string) (*file, error) {
	text = variable.ReplaceAllFunc(text, func(found []byte) []byte {
		parts := variable.FindSubmatch(found)
		if v := os.Getenv(string(parts[1])); v != "" {
			return []byte(v)
		}
		return parts[2]
	})
	f := &file{dir: dir}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(f); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return f, f.check()
}

// check completes nodes by their kinds, and reports what containerlab would refuse.
func (f *file) check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	plain := regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)
	if !plain.MatchString(f.Name) {
		bad("name %q: want small letters, digits and dashes", f.Name)
	}
	for name, n := range f.Topology.Nodes {
		if !plain.MatchString(name) {
			bad("node %q: want small letters, digits and dashes", name)
		}
		if n == nil {
			bad("node %s: want a kind and an image", name)
			continue
		}
		kind := f.Topology.Kinds[n.Kind]
		if n.Image == "" {
			n.Image = kind.Image
		}
		if n.Kind == "" || n.Image == "" {
			bad("node %s: want a kind and an image", name)
		}
		for _, line := range n.Exec {
			if strings.TrimSpace(line) == "" {
				bad("node %s: exec: %q: want a command", name, line) // without a command, a shell would wait for input
			}
		}
		for _, b := range n.Binds {
			from, to, ok := strings.Cut(b, ":")
			if !ok || !strings.HasPrefix(to, "/") {
				bad("node %s: bind %q: want FILE:PATH", name, b)
			} else if _, err := os.Stat(filepath.Join(f.dir, from)); err != nil {
				bad("node %s: bind: %w", name, err)
			}
		}
	}
	used := map[string]bool{}
	for _, l := range f.Topology.Links {
		nodes, interfaces := l.ends()
		for i, e := range l.Endpoints {
			if f.Topology.Nodes[nodes[i]] == nil || interfaces[i] == "" || interfaces[i] == "eth0" {
				bad("link end %q: want NODE:INTERFACE of a node that there is, and not eth0", e)
			}
			if used[e] {
				bad("link end %q is there twice", e)
			}
			used[e] = true
		}
	}
	return errors.Join(errs...)
}

// names returns the names of the nodes, sorted.
func (f *file) names() []string {
	var names []string
	for name := range f.Topology.Nodes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
