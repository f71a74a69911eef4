package tam

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

// TamRoot is the path of telemetry and monitoring in the tree.
const TamRoot = "openconfig-tam:tam"

// List is a list of the tree whose entries have a name. Its container is below tam, or below another root, which then
// precedes the container's name.
type List struct{ what, Container, list string }

// NewList returns a list whose entries messages call what. container may begin with a root other than tam, followed by
// "/".
func NewList(what, container, list string) List { return List{what, container, list} }

// in returns the path of the container.
func (l List) in() []any {
	if root, container, other := strings.Cut(l.Container, "/"); other {
		return []any{root, container}
	}
	return []any{TamRoot, l.Container}
}

// listLevels is the number of levels from the container of a list to the leaves in config and state of its entries.
const listLevels = 3

// Lists of the tree. Those of features are defined with the features.
var (
	Collectors = List{"collector", "collectors", "collector"}
	Samplers   = List{"sampler", "samplers", "sampler"}
	FlowGroups = List{"flow group", "flowgroups", "flowgroup"}
)

// Path returns the path of an entry, or of a node below it.
func (l List) Path(name string, below ...any) *gpb.Path {
	return tree.Path(append(append(l.in(), tree.In(l.list, "name", name)), below...)...)
}

// module returns the YANG module of the list.
func (l List) module() string {
	if module, _, ok := strings.Cut(l.Container, ":"); ok {
		return module
	}
	return "openconfig-tam"
}

// Entries returns the entries of the list below its root, sorted by name.
func (l List) Entries(tam tree.Node) []tree.Node {
	container := strings.TrimPrefix(l.Container, l.module()+":")
	return tam.Sorted(container[strings.Index(container, "/")+1:], l.list)
}

// Names returns the kind of a parameter that names an entry.
func (l List) Names() *kit.Kind {
	return &kit.Kind{Label: "<name>", Parse: kit.ParseName,
		Live: kit.LiveNames(append(l.in(), tree.In(l.list, "name", "*"))...)}
}

// missing returns the error for an entry that does not exist.
func (l List) missing(ctx context.Context, s *kit.Session, name string) error {
	return s.Missing(ctx, l.what+" "+name, l.Path(name))
}

// Remove deletes an entry that exists.
func (l List) Remove(ctx context.Context, c *kit.Call) error {
	return c.Session.RemoveEntry(ctx, l.what+" "+c.Args["name"], l.Path(c.Args["name"]))
}

// Object describes the entries of a list. Its leaves define the command, the running configuration and the show command
// of one entry.
type Object struct {
	List
	Table   string     // table of CONFIG_DB with the entries
	Word    string     // keyword of the command
	Help    string     // help of the keyword
	Leaves  []kit.Leaf // in display order
	Replace bool       // whether a command writes the whole entry, so that omitted leaves get their defaults
	tally   string     // label of the number of entries in the summary; empty if it is not shown

	Title string                             // label of the name in the display of one entry
	Width int                                // column of the colon in that display
	head  kit.Column                         // heading of the names in the table of all entries
	more  func(p *kit.Printout, e tree.Node) // writes further state of one entry
}

// form returns the beginning of the command: the elements before it, the keyword and a name.
func (o Object) form(before ...any) kit.Form {
	noun := strings.ReplaceAll(o.Word, "-", " ")
	return kit.Seq(append(slices.Clone(before), kit.Keyword(o.Word, o.Help),
		kit.Arg("name", o.Names(), "Name of the "+noun))...)
}

// Command returns the command that creates, changes and removes an entry.
func (o Object) Command(modes []kit.Mode, before ...any) *kit.Command {
	form, no := o.form(before...), o.form(before...)
	for _, l := range o.Leaves {
		switch {
		case l.Word == "":
		case l.Need:
			form.Fixed = append(form.Fixed, l.Elements()...)
		default:
			form.Options = append(form.Options, l.Elements())
		}
	}
	return &kit.Command{Modes: modes, Form: form, No: &no, Do: o.Set}
}

func (o Object) draft(name string) kit.Draft {
	return kit.Draft{Module: o.module(), Entry: tree.ListEntry(o.module(), map[string]any{"name": name}, nil)}
}

// fill writes the arguments of a command to the entry.
func (o Object) fill(d kit.Draft, args map[string]string) {
	for _, l := range o.Leaves {
		text, named := args[l.Word]
		if text = cmp.Or(text, l.Fill); named || text != "" {
			l.Put(d, text)
		}
	}
}

// Set creates, changes or removes an entry.
func (o Object) Set(ctx context.Context, c *kit.Call) error {
	if c.No {
		return o.Remove(ctx, c)
	}
	d := o.draft(c.Args["name"])
	o.fill(d, c.Args)
	return c.Session.Client.Set(ctx, kit.Change{Path: o.Path(c.Args["name"]), Value: d.Entry, Replace: o.Replace})
}

// Exact reports whether the command in the running configuration restores an entry exactly. Every parameter must read
// back to the value in the tree, and the entry must contain nothing else.
func (o Object) Exact(e tree.Node) bool {
	d := o.draft(e.Name())
	var put []kit.Leaf
	for _, l := range o.Leaves {
		text := l.Text(e)
		if l.Word == "" || l.Alias || text == "" || text == l.Default {
			continue
		}
		if l.Box == "ip" {
			d.Family = "ipv4"
			if e.At("ipv6", "config").Exists() {
				d.Family = "ipv6"
			}
		}
		value := text
		if l.Kind != nil {
			var err error
			if value, err = l.Kind.Read(text); err != nil {
				return false
			}
		}
		l.Put(d, value)
		put = append(put, l)
	}
	back, ok := asTree(d.Entry)
	return ok && !slices.ContainsFunc(put, func(l kit.Leaf) bool { return l.Text(back) != l.Text(e) })
}

// asTree returns the value of a Set in the form in which it is read back.
func asTree(v any) (tree.Node, bool) {
	raw, err := json.Marshal(v)
	if err != nil {
		return tree.Node{}, false
	}
	back, err := tree.DecodeJSON(string(raw))
	return tree.Of(back), err == nil
}

// read returns the entries of a TAM list, or only the entry that the call names, with their current state. data is the
// switch's answer. levels is the number of tree levels that the text of all entries needs; 0 means all.
func (l List) read(ctx context.Context, c *kit.Call, levels uint32) (entries []tree.Node, data map[string]any,
	err error) {
	if name := c.Args["name"]; name != "" {
		found, err := c.Session.Client.All(ctx, l.Path(name))
		if err == nil && !found.Exists() {
			err = l.missing(ctx, c.Session, name)
		}
		return []tree.Node{InForce(found)}, kit.Entry("openconfig-tam:"+l.list, found), err
	}
	if !c.Brief {
		levels = 0
	}
	found, err := c.Session.Client.UpTo(ctx, levels, gpb.GetRequest_ALL, tree.Path(l.in()...))
	return allInForce(found.Sorted(l.list)), kit.One("openconfig-tam:"+l.Container, found), err
}

// readParts returns containers of the list's entries, or only of the entry that the call names. config and state are
// the first containers. Entries are the configured ones, and deleted ones that are still in the ASIC.
func (l List) readParts(ctx context.Context, c *kit.Call, more ...string) ([]tree.Node, map[string]any, error) {
	parts := append([]string{"config", "state"}, more...)
	name := cmp.Or(c.Args["name"], "*")
	paths := make([]*gpb.Path, len(parts))
	for i, part := range parts {
		paths[i] = l.Path(name, part)
	}
	found, err := c.Session.Client.Get(ctx, gpb.GetRequest_ALL, paths...)
	if err != nil {
		return nil, nil, err
	}
	all := withLingering(found[0].Items(), found[1].Items())
	if name != "*" && len(all) == 0 {
		return nil, nil, l.missing(ctx, c.Session, name)
	}
	var entries []tree.Node
	list := []any{}
	for _, m := range all {
		for i, part := range parts[1:] {
			for _, other := range found[i+1].Items() {
				if name != "*" || other.Name() == m["name"] {
					m[part] = other.Value
				}
			}
		}
		entries, list = append(entries, tree.Of(m)), append(list, m)
	}
	if entries, err = withGroups(ctx, c.Session, allInForce(entries)); err != nil {
		return nil, nil, err
	}
	return entries, map[string]any{l.module() + ":" + l.list: list}, nil
}

// Shown shows the table of the entries, or the details of the entry that the call names.
func (o Object) Shown(ctx context.Context, c *kit.Call) (*kit.View, error) {
	read := func(ctx context.Context, c *kit.Call) ([]tree.Node, map[string]any, error) {
		return o.read(ctx, c, listLevels)
	}
	if o.module() != "openconfig-tam" {
		read = func(ctx context.Context, c *kit.Call) ([]tree.Node, map[string]any, error) {
			return o.readParts(ctx, c)
		}
	}
	entries, data, err := read(ctx, c)
	if err != nil {
		return nil, err
	}
	return kit.Framed(data, func(p *kit.Printout) {
		if c.Has("name") {
			writeObject(p, o, entries[0])
		} else {
			writeObjects(p, o, entries)
		}
	}), nil
}

// writeObject writes the details of an entry.
func writeObject(p *kit.Printout, o Object, e tree.Node) {
	p.Field(o.Width, o.Title, e.Name())
	p.Leaves(o.Width, e, o.Leaves...)
	if o.more != nil {
		o.more(p, e)
	}
	p.WhyNot(o.Width, e.At("state"))
}

// writeObjects writes a line for each entry.
func writeObjects(p *kit.Printout, o Object, entries []tree.Node) {
	columns := []kit.Column{o.head}
	rows := make([][]string, len(entries))
	for i, e := range entries {
		rows[i] = []string{e.Name()}
	}
	for _, l := range o.Leaves {
		if l.Cell.Head == "" {
			continue
		}
		columns = append(columns, l.Cell)
		for i, e := range entries {
			v := l.Shown(e)
			if !l.Need && !l.Always {
				v = kit.OrDash(v)
			}
			rows[i] = append(rows[i], v)
		}
	}
	p.Table(columns, rows)
	p.After(kit.WhyNots(entries))
}
