package lab

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Bounds of a topology file, so that a hostile file exhausts neither memory nor stack.
const (
	maxFile  = 4 << 20
	maxNodes = 200_000 // after aliases are expanded
	maxDepth = 32
)

// A document is the YAML file of a topology. It holds the line of each object.
type document struct {
	name  string // the file's name, for messages
	dir   string // directory to which paths in the file are relative
	root  *yaml.Node
	lines map[string]int // line numbers by path: links[a-b].delay
	sets  []setting      // settings in the order of assignment
}

// A setting is one assignment. at holds the path as indexes into the content of each node.
type setting struct {
	path string
	at   []int
}

// Load reads a topology from a YAML file. Each item of set is PATH=VALUE and replaces a value of the file, such as
// traffic.web.rate=5Gbps or links.0.delay=2us. The file may also have the fields of studies, which Load fills in.
func Load(path string, set []string, studies ...Study) (*Topology, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return Parse(path, text, set, studies...)
}

// Parse does the same as [Load] for text in memory. Messages use name as the file's name.
func Parse(name string, text []byte, set []string, studies ...Study) (*Topology, error) {
	doc := &document{name: name, dir: filepath.Dir(name), lines: map[string]int{}}
	if len(text) > maxFile {
		return nil, fmt.Errorf("%s: longer than %d MiB, which is the limit", name, maxFile>>20)
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(root.Content) != 1 || root.Content[0].Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s: want a mapping with experiment, switches, hosts, links, traffic, ...", name)
	}
	doc.root = root.Content[0]
	for _, s := range set {
		if err := doc.set(s); err != nil {
			return nil, err
		}
	}
	t := &Topology{source: doc, Studies: studies}
	d := decoder{doc: doc}
	d.decodeRoot(t)
	if len(d.errs) > 0 {
		return nil, errors.Join(d.errs...)
	}
	return t, t.Validate()
}

// set changes a topology that was read, like the set of [Load].
func (d *document) set(assignment string) error {
	path, value, ok := strings.Cut(assignment, "=")
	if !ok || path == "" {
		return fmt.Errorf("set %q: want PATH=VALUE, as in traffic.web.rate=5Gbps", assignment)
	}
	var node yaml.Node
	if err := yaml.Unmarshal([]byte(value), &node); err != nil || len(node.Content) != 1 {
		return fmt.Errorf("set %q: the value: want YAML, such as 5Gbps or [1, 2]", assignment)
	}
	at := d.root
	parts := strings.Split(path, ".")
	shared := strings.HasPrefix(parts[0], "x-") // below x-, anchors are changed for all users
	done := setting{path: path}
	for _, part := range parts {
		i, err := child(at, part)
		if err != nil {
			return fmt.Errorf("set %q: %w", assignment, err)
		}
		done.at = append(done.at, i)
		next := &at.Content[i]
		if (*next).Kind == yaml.AliasNode || (*next).Anchor != "" && !shared {
			*next = copyOf(*next)
		}
		at = *next
	}
	d.sets = append(d.sets, done)
	line := at.Line
	*at = *node.Content[0]
	at.Line = line
	return nil
}

// Overlap searches the last n settings of a topology. It returns two settings, one of which sets the same value as the
// other, or a part of that value. both is false if there are none.
func (t *Topology) Overlap(n int) (first, second string, both bool) {
	if t.source == nil {
		return "", "", false
	}
	last := t.source.sets[max(0, len(t.source.sets)-n):]
	for i, b := range last {
		for _, a := range last[:i] {
			if k := min(len(a.at), len(b.at)); slices.Equal(a.at[:k], b.at[:k]) {
				return a.path, b.path, true
			}
		}
	}
	return "", "", false
}

// copyOf returns a separate copy of the node, or of the node that an alias refers to. Other users of the alias or merge
// keep their value.
func copyOf(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	c := *n
	c.Anchor, c.Content = "", slices.Clone(n.Content)
	for i, inner := range c.Content {
		if inner.Kind != yaml.AliasNode {
			c.Content[i] = copyOf(inner)
		}
	}
	return &c
}

// child returns the index in the content for one part of a path. The part is a field of a mapping, or an item of a list
// by its name or number. A missing field is created. A merged field is first copied into the mapping.
func child(n *yaml.Node, part string) (int, error) {
	switch n.Kind {
	case yaml.MappingNode:
		i := fieldOf(n, part)
		if i < 0 {
			budget := maxNodes
			value := merged(n, part, &budget)
			if value == nil {
				value = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: n.Line}
			}
			key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: part, Line: n.Line}
			n.Content, i = append(n.Content, key, copyOf(value)), len(n.Content)
		}
		return i + 1, nil
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(part); err == nil && i >= 0 && i < len(n.Content) {
			return i, nil
		}
		for i, item := range n.Content {
			if item.Kind == yaml.AliasNode {
				item = item.Alias
			}
			if itemName(item, i) == part {
				return i, nil
			}
		}
		return 0, fmt.Errorf("%q: want the name of an item or a number below %d", part, len(n.Content))
	}
	return 0, fmt.Errorf("%q: what stands before it is a plain value at line %d", part, n.Line)
}

// fieldOf returns the index of a field's name in a mapping, or -1 if the mapping itself does not have it.
func fieldOf(n *yaml.Node, name string) int {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return i
		}
	}
	return -1
}

// merged returns the value of a field that a mapping has by a merge (<<), or nil. The last of several merges counts; in
// a list the first. It visits at most budget nodes.
func merged(n *yaml.Node, name string, budget *int) *yaml.Node {
	for i := len(n.Content) - 2; i >= 0; i -= 2 {
		if n.Content[i].Tag == "!!merge" {
			if v := mergedFrom(n.Content[i+1], name, budget); v != nil {
				return v
			}
		}
	}
	return nil
}

func mergedFrom(n *yaml.Node, name string, budget *int) *yaml.Node {
	if *budget--; *budget < 0 {
		return nil
	}
	switch n.Kind {
	case yaml.AliasNode:
		return mergedFrom(n.Alias, name, budget)
	case yaml.SequenceNode:
		for _, item := range n.Content {
			if v := mergedFrom(item, name, budget); v != nil {
				return v
			}
		}
	case yaml.MappingNode:
		if i := fieldOf(n, name); i >= 0 {
			return n.Content[i+1]
		}
		return merged(n, name, budget)
	}
	return nil
}

// itemName returns the name of a list item in messages and paths: its name field, or else its index.
func itemName(n *yaml.Node, i int) string {
	if n.Kind == yaml.MappingNode {
		for k := 0; k+1 < len(n.Content); k += 2 {
			if n.Content[k].Value == "name" && n.Content[k+1].Kind == yaml.ScalarNode {
				return n.Content[k+1].Value
			}
		}
	}
	return strconv.Itoa(i)
}

// where returns the place of a path in the file, "" for a topology from Go.
func (d *document) where(path string) string {
	if d == nil {
		return ""
	}
	for p := path; p != ""; {
		if line, ok := d.lines[p]; ok {
			return fmt.Sprintf("%s:%d: ", d.name, line)
		}
		i := strings.LastIndexAny(p, ".[")
		p = p[:max(i, 0)]
	}
	return d.name + ": "
}

// resolve returns the path of a file named in the topology.
func (d *document) resolve(path string) string {
	if d == nil || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(d.dir, path)
}

func fieldList(names []string) string {
	slices.Sort(names)
	return strings.Join(names, ", ")
}
