package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tamtam/mgmt/tree"

	"github.com/openconfig/goyang/pkg/yang"
)

// A model is a set of modules with their tree.
type model struct {
	modules *yang.Modules
	root    map[string]*yang.Entry // nodes at the top level, by module and name
	byNS    map[string]*yang.Module
}

// A comparison compares our modules with the published ones.
type comparison struct {
	ours, theirs model
	tree         *tree.Model // which of our nodes a Set can write
	references   []reference
	shared       []string            // our modules that are published
	found        map[string][]string // deviations found, by path with prefixes
	order        []string
	uses         map[string]string // module of each prefix in these paths
}

// searchDirs returns the directories with modules.
func searchDirs(top string) []string {
	dirs := map[string]bool{}
	for _, below := range []string{"release/models", "third_party"} {
		_ = filepath.WalkDir(filepath.Join(top, below), func(path string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".yang") {
				dirs[filepath.Dir(path)] = true
			}
			return nil
		})
	}
	return slices.Sorted(maps.Keys(dirs))
}

// findModule returns the file of a published module.
func findModule(top, name string) (string, error) {
	for _, dir := range searchDirs(top) {
		file := filepath.Join(dir, name+".yang")
		if _, err := os.Stat(file); err == nil {
			return file, nil
		}
	}
	return "", fmt.Errorf("%s.yang: %w below %s", name, fs.ErrNotExist, top)
}

// load reads both sets of modules.
func load(own, public string) (*comparison, error) {
	files, err := filepath.Glob(filepath.Join(own, "*.yang"))
	if err != nil {
		return nil, err
	}
	c := &comparison{found: map[string][]string{}, uses: map[string]string{}}
	var all []string
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".yang")
		if name == deviationsName {
			continue
		}
		all = append(all, name)
		if _, err := findModule(public, name); err == nil {
			c.shared = append(c.shared, name)
		}
	}
	if len(c.shared) == 0 {
		return nil, fmt.Errorf("%s has no module that %s has", own, public)
	}
	if c.ours, err = read([]string{own}, all); err != nil {
		return nil, fmt.Errorf("%s: %w", own, err)
	}
	if c.theirs, err = read(searchDirs(public), c.shared); err != nil {
		return nil, fmt.Errorf("%s: %w", public, err)
	}
	return c, nil
}

func read(dirs, names []string) (model, error) {
	m := model{modules: yang.NewModules(), root: map[string]*yang.Entry{}, byNS: map[string]*yang.Module{}}
	m.modules.AddPath(dirs...)
	for _, n := range names {
		if err := m.modules.Read(n); err != nil {
			return m, err
		}
	}
	if errs := m.modules.Process(); len(errs) > 0 {
		return m, errors.Join(errs...)
	}
	for name, mod := range m.modules.Modules {
		if !strings.Contains(name, "@") {
			m.byNS[mod.Namespace.Name] = mod
		}
	}
	for _, n := range names {
		for _, k := range yang.ToEntry(m.modules.Modules[n]).Dir {
			m.root[n+":"+k.Name] = k
		}
	}
	return m, nil
}

// module returns the module that defines an entry's node.
func (m model) module(e *yang.Entry) *yang.Module { return m.byNS[e.Namespace().Name] }

// compare returns the differences to the published modules that are not deviations.
func (c *comparison) compare() []string {
	var problems []string
	for _, name := range c.shared {
		ours, theirs := header(c.ours.modules.Modules[name]), header(c.theirs.modules.Modules[name])
		if ours != theirs {
			problems = append(problems, fmt.Sprintf("module %s is %s; published is %s", name, ours, theirs))
		}
	}
	c.refer()
	for _, id := range slices.Sorted(maps.Keys(c.theirs.root)) {
		problems = append(problems, c.node(c.ours.root[id], c.theirs.root[id], "", false)...)
	}
	for _, id := range slices.Sorted(maps.Keys(c.ours.root)) {
		name, node, _ := strings.Cut(id, ":")
		if slices.Contains(c.shared, name) && c.theirs.root[id] == nil {
			problems = append(problems, fmt.Sprintf("/%s: %s has no such node", node, name))
		}
	}
	return append(problems, c.identities()...)
}

// header returns a module's metadata: name, namespace, revision and version.
func header(m *yang.Module) string {
	revision, version := "", ""
	for _, r := range m.Revision {
		revision = max(revision, r.Name)
	}
	for _, x := range m.Exts() {
		if strings.HasSuffix(x.Keyword, ":openconfig-version") {
			version = x.Argument
		}
	}
	return fmt.Sprintf("%s, prefix %s, revision %s, version %q", m.Namespace.Name, m.Prefix.Name, revision, version)
}

// node compares a published node with ours, which is nil if it is absent. readOnly is true if a deviation makes the
// enclosing node read-only.
func (c *comparison) node(ours, theirs *yang.Entry, at string, readOnly bool) []string {
	m := c.theirs.module(theirs)
	if !slices.Contains(c.shared, m.Name) {
		return nil // the node is of a module that we do not have at all
	}
	at += "/" + m.Prefix.Name + ":" + theirs.Name
	if ours == nil {
		c.deviate(at, "deviate not-supported;")
		return nil
	}
	if a, b := kind(ours), kind(theirs); a != b {
		return []string{fmt.Sprintf("%s is a %s; published is a %s", at, a, b)}
	}
	if !readOnly && (ours.ReadOnly() || c.unwritable(at)) && !theirs.ReadOnly() {
		readOnly = true
		c.deviate(at, "deviate add { config false; }")
	} else if theirs.ReadOnly() && !ours.ReadOnly() {
		return []string{at + " can be written; the published one is state"}
	}
	if theirs.IsLeaf() || theirs.IsLeafList() {
		return c.leaf(ours, theirs, at)
	}
	return c.children(ours, theirs, at, readOnly)
}

// unwritable reports whether our node at a path with prefixes is configuration that no Set can write, and can be
// declared as such. Configuration must not refer to state (RFC 6020, section 9.9), and its conditions must not depend
// on state (section 6.4.1). The leaves beside a key are in such conditions, and have one value.
func (c *comparison) unwritable(at string) bool {
	n := c.served(at)
	return n != nil && n.Type == nil && n.Config && !n.Writable() && !holdsKey(n) &&
		!slices.ContainsFunc(c.references, func(r reference) bool {
			from := c.served(r.from)
			return within(r.to, at) && !within(r.from, at) && (from == nil || from.Writable())
		})
}

func within(path, top string) bool { return path == top || strings.HasPrefix(path, top+"/") }

// served returns our node at a path with prefixes, or nil if there is none.
func (c *comparison) served(at string) *tree.Node {
	var path strings.Builder
	for step := range strings.SplitSeq(strings.Trim(at, "/"), "/") {
		_, name, _ := strings.Cut(step, ":")
		path.WriteString("/" + name)
	}
	return c.tree.Find(path.String())
}

// A reference is a leafref of a published leaf of configuration: its path and that of its target, with prefixes.
type reference struct{ from, to string }

// refer finds the references of the published modules.
func (c *comparison) refer() {
	paths := map[*yang.Entry]string{}
	var leaves []*yang.Entry
	var walk func(e *yang.Entry, at string)
	walk = func(e *yang.Entry, at string) {
		at += "/" + c.theirs.module(e).Prefix.Name + ":" + e.Name
		paths[e] = at
		if e.Type != nil && !e.ReadOnly() {
			leaves = append(leaves, e)
		}
		for _, k := range e.Dir {
			walk(k, at)
		}
	}
	for _, e := range c.theirs.root {
		walk(e, "")
	}
	var add func(e *yang.Entry, t *yang.YangType)
	add = func(e *yang.Entry, t *yang.YangType) {
		if t.Kind == yang.Yleafref {
			if to, err := target(e, t.Path, c.theirs); err == nil {
				c.references = append(c.references, reference{paths[e], paths[to]})
			}
		}
		for _, u := range t.Type {
			add(e, u)
		}
	}
	for _, e := range leaves {
		add(e, e.Type)
	}
}

// holdsKey reports whether a node is or contains a leaf to which the key of its list refers. The leaf must be
// configuration if the list is.
func holdsKey(n *tree.Node) bool {
	if n.Type != nil {
		return n.KeyIndex >= 0
	}
	return !n.IsList && slices.ContainsFunc(n.Kids, func(k *tree.Node) bool { return k.List == n.List && holdsKey(k) })
}

// children compares the nodes in a container or list.
func (c *comparison) children(ours, theirs *yang.Entry, at string, readOnly bool) []string {
	var problems []string
	for _, name := range slices.Sorted(maps.Keys(theirs.Dir)) {
		k := ours.Dir[name]
		if k != nil && c.ours.module(k).Name != c.theirs.module(theirs.Dir[name]).Name {
			problems = append(problems, fmt.Sprintf("%s/%s is of %s", at, name, c.ours.module(k).Name))
			continue
		}
		problems = append(problems, c.node(k, theirs.Dir[name], at, readOnly)...)
	}
	for _, name := range slices.Sorted(maps.Keys(ours.Dir)) {
		if owner := c.ours.module(ours.Dir[name]).Name; theirs.Dir[name] == nil && slices.Contains(c.shared, owner) {
			problems = append(problems, fmt.Sprintf("%s/%s: %s has no such node", at, name, owner))
		}
	}
	return problems
}

func kind(e *yang.Entry) string {
	switch {
	case e.IsLeafList():
		return "leaf-list"
	case e.IsLeaf():
		return "leaf"
	case e.IsList():
		return "list with key " + strings.Join(strings.Fields(e.Key), " ")
	}
	return "container"
}

// leaf compares types, defaults and mandatory statements.
func (c *comparison) leaf(ours, theirs *yang.Entry, at string) []string {
	var problems []string
	a, b := signature(ours.Type, ours, c.ours), signature(theirs.Type, theirs, c.theirs)
	if a != b {
		problems = append(problems, fmt.Sprintf("%s is %s; published is %s", at, a, b))
	} else if err := c.detach(ours, theirs, at); err != nil {
		problems = append(problems, err.Error())
	}
	have, want := ours.DefaultValues(), theirs.DefaultValues()
	switch {
	case slices.Equal(have, want):
	case len(have) == 0:
		c.deviate(at, fmt.Sprintf("deviate delete { default %q; }", strings.Join(want, " ")))
	default:
		problems = append(problems, fmt.Sprintf("%s has the default %s; published is %s", at, have, want))
	}
	switch {
	case ours.Mandatory == theirs.Mandatory:
	case theirs.Mandatory == yang.TSTrue && theirs.ReadOnly():
		c.deviate(at, "deviate replace { mandatory false; }")
	default:
		problems = append(problems, fmt.Sprintf("%s: mandatory is %s; published is %s", at, ours.Mandatory, theirs.Mandatory))
	}
	return problems
}

// detach declares the type of a published reference to a leaf that we do not have. A reference must have its target,
// which a deviation removes.
func (c *comparison) detach(ours, theirs *yang.Entry, at string) error {
	if theirs.Type.Kind != yang.Yleafref || ours.Type.Kind == yang.Yleafref {
		return nil
	}
	if _, err := target(ours, theirs.Type.Path, c.ours); err == nil {
		return nil
	}
	if len(ours.Type.Range) == 0 {
		return fmt.Errorf("%s refers to %s, which is absent: want that leaf, because only numbers can replace references",
			at, theirs.Type.Path)
	}
	c.deviate(at, fmt.Sprintf("deviate replace { type %s { range %q; } }", ours.Type.Kind, ours.Type.Range))
	return nil
}

// signature returns a type as it affects values: without names of typedefs, and with the types that leafrefs refer to.
func signature(t *yang.YangType, e *yang.Entry, m model) string {
	switch t.Kind {
	case yang.Yleafref:
		to, err := target(e, t.Path, m)
		if err != nil {
			return err.Error()
		}
		return signature(to.Type, to, m)
	case yang.Yunion:
		var parts []string
		for _, u := range t.Type {
			parts = append(parts, signature(u, e, m))
		}
		return "union of " + strings.Join(parts, " | ")
	case yang.Yidentityref:
		return "identity of " + yang.RootNode(t.IdentityBase).Name + ":" + t.IdentityBase.Name
	case yang.Yenum:
		return "enumeration " + strings.Join(t.Enum.Names(), " ")
	}
	text := fmt.Sprintf("%s %v", t.Kind, t.Range)
	if len(t.Length) > 0 || len(t.Pattern) > 0 || len(t.POSIXPattern) > 0 {
		text += fmt.Sprintf(" length %v patterns %q %q", t.Length, t.Pattern, t.POSIXPattern)
	}
	if t.Kind == yang.Ydecimal64 {
		text += fmt.Sprintf(" digits %d", t.FractionDigits)
	}
	return text
}

// target follows the path of a leafref.
func target(e *yang.Entry, path string, m model) (*yang.Entry, error) {
	var plain strings.Builder
	depth := 0
	for _, r := range path {
		switch {
		case r == '[':
			depth++
		case r == ']':
			depth--
		case depth == 0:
			plain.WriteRune(r)
		}
	}
	at, steps := e, strings.Split(strings.Trim(plain.String(), "/"), "/")
	if strings.HasPrefix(path, "/") {
		at = &yang.Entry{Dir: map[string]*yang.Entry{}}
		for id, k := range m.root {
			module, name, _ := strings.Cut(id, ":")
			at.Dir[name] = k
			at.Dir[m.modules.Modules[module].Prefix.Name+":"+name] = k // two modules may have nodes of one name
		}
	}
	for _, step := range steps {
		_, local, ok := strings.Cut(step, ":")
		switch {
		case step == "..":
			at = at.Parent
		case ok && at.Dir[step] == nil:
			at = at.Dir[local]
		default:
			at = at.Dir[step]
		}
		if at == nil {
			return nil, fmt.Errorf("a reference to %s, which leads nowhere", path)
		}
	}
	return at, nil
}

// identities returns our identities that are not published, or are published with other bases.
func (c *comparison) identities() []string {
	var problems []string
	for _, name := range c.shared {
		theirs := map[string]string{}
		for _, id := range c.theirs.modules.Modules[name].Identity {
			theirs[id.Name] = bases(id)
		}
		for _, id := range c.ours.modules.Modules[name].Identity {
			if b, ok := theirs[id.Name]; !ok || b != bases(id) {
				problems = append(problems, fmt.Sprintf("%s: identity %s of %s; published is %s", name, id.Name, bases(id), b))
			}
		}
	}
	return problems
}

func bases(id *yang.Identity) string {
	var names []string
	for _, b := range id.Base {
		_, local, ok := strings.Cut(b.Name, ":")
		if !ok {
			local = b.Name
		}
		names = append(names, local)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}
