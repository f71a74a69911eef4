package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// tamList is one of the lists below tam, or below another root in front of the container's name, whose entries have a
// name.
type tamList struct{ what, container, list string }

// in is the path of the container.
func (l tamList) in() []any {
	if root, container, other := strings.Cut(l.container, "/"); other {
		return []any{root, container}
	}
	return []any{tamRoot, l.container}
}

// listLevels are those from the container of a list to the leaves in config and state of its entries.
const listLevels = 3

// Lists of the tree; those of features stand with them.
var (
	collectors = tamList{"collector", "collectors", "collector"}
	samplers   = tamList{"sampler", "samplers", "sampler"}
	flowGroups = tamList{"flow group", "flowgroups", "flowgroup"}
)

// path returns the path of an entry, or of something below it.
func (l tamList) path(name string, below ...any) *gpb.Path {
	return gpath(append(append(l.in(), keyed{l.list, "name", name}), below...)...)
}

// module is the YANG module that the list is from.
func (l tamList) module() string {
	if module, _, ok := strings.Cut(l.container, ":"); ok {
		return module
	}
	return "openconfig-tam"
}

// entries are those of the list below its root, by name.
func (l tamList) entries(tam tree) []tree {
	container := strings.TrimPrefix(l.container, l.module()+":")
	return tam.sorted(container[strings.Index(container, "/")+1:], l.list)
}

// names is the kind of parameter that names an entry.
func (l tamList) names() *argKind {
	return &argKind{label: "<name>", parse: parseName, live: liveNames(append(l.in(), keyed{l.list, "name", "*"})...)}
}

// missing is the error that there is no such entry.
func (l tamList) missing(name string) error { return fmt.Errorf("%s %s does not exist", l.what, name) }

// remove deletes an entry that exists.
func (l tamList) remove(ctx context.Context, c *call) error {
	return c.sh.removeEntry(ctx, l.what+" "+c.args["name"], l.path(c.args["name"]))
}

// object describes the entries of a list: their command, the running configuration and what is
// shown of one follow from its leaves.
type object struct {
	tamList
	table   string // of CONFIG_DB, with the entries
	word    string // keyword of the command
	help    string // of the keyword
	leaves  []leaf // in the order in which they are shown
	replace bool   // a command writes the whole entry: leaves that it omits get their defaults
	tally   string // label of their number in the summary; empty: not shown

	title string                    // label of the name when one is shown
	width int                       // column of the colon then
	head  column                    // of the names, in the table of all
	more  func(p *printout, e tree) // writes what else is known of one
}

// form is how the command begins: behind what is before it the keyword and a name.
func (o object) form(before ...any) form {
	noun := strings.ReplaceAll(o.word, "-", " ")
	return seq(append(slices.Clone(before), kw(o.word, o.help), arg("name", o.names(), "Name of the "+noun))...)
}

// command returns the command that creates, changes and removes an entry.
func (o object) command(modes []mode, before ...any) *command {
	form, no := o.form(before...), o.form(before...)
	for _, l := range o.leaves {
		switch {
		case l.word == "":
		case l.need:
			form.fixed = append(form.fixed, l.elements()...)
		default:
			form.options = append(form.options, l.elements())
		}
	}
	return &command{modes: modes, form: form, no: &no, do: o.set}
}

// draft is an entry in the form of a Set.
type draft struct {
	module string
	family string // ipv4 or ipv6: where leaves of "ip" go
	entry  map[string]any
}

func (o object) draft(name string) draft {
	return draft{module: o.module(), entry: listed(o.module(), map[string]any{"name": name}, nil)}
}

// config returns the node that holds the leaves of a container of the entry.
func (d draft) config(box string) map[string]any {
	switch box {
	case "":
		return d.entry[d.module+":config"].(map[string]any)
	case "ip":
		box = d.family
	}
	box = d.module + ":" + box
	if d.entry[box] == nil {
		d.entry[box] = map[string]any{"config": map[string]any{}}
	}
	return d.entry[box].(map[string]any)["config"].(map[string]any)
}

// fill writes the arguments of a command into the entry.
func (o object) fill(d draft, args map[string]string) {
	for _, l := range o.leaves {
		text, named := args[l.word]
		if text = cmp.Or(text, l.fill); named || text != "" {
			l.put(d, text)
		}
	}
}

func (o object) set(ctx context.Context, c *call) error {
	if c.no {
		return o.remove(ctx, c)
	}
	d := o.draft(c.args["name"])
	o.fill(d, c.args)
	return c.sh.client.set(ctx, change{path: o.path(c.args["name"]), value: d.entry, replace: o.replace})
}

// exact reports whether the command that the running configuration has for an entry makes the entry as it is: what a
// parameter reads is what the tree says, and the tree says nothing else.
func (o object) exact(e tree) bool {
	d := o.draft(e.name())
	var put []leaf
	for _, l := range o.leaves {
		text := l.text(e)
		if l.word == "" || l.alias || text == "" || text == l.def {
			continue
		}
		if l.box == "ip" {
			d.family = "ipv4"
			if e.at("ipv6", "config").exists() {
				d.family = "ipv6"
			}
		}
		value := text
		if l.kind != nil {
			var err error
			if value, err = l.kind.read(text); err != nil {
				return false
			}
		}
		l.put(d, value)
		put = append(put, l)
	}
	back, ok := asTree(d.entry)
	return ok && !slices.ContainsFunc(put, func(l leaf) bool { return l.text(back) != l.text(e) })
}

// asTree returns what is to be set in the form in which it is read.
func asTree(v any) (tree, bool) {
	raw, err := json.Marshal(v)
	if err != nil {
		return tree{}, false
	}
	back, err := decodeJSON(string(raw))
	return tree{back}, err == nil
}

// read gets the entries of a TAM list, or the one that the call names, with what
// is in force; data is what the switch says. A text of all needs so many levels of it; 0: all.
func (l tamList) read(ctx context.Context, c *call, levels uint32) (entries []tree, data map[string]any, err error) {
	if name := c.args["name"]; name != "" {
		found, err := c.sh.client.all(ctx, l.path(name))
		if err == nil && !found.exists() {
			err = l.missing(name)
		}
		return []tree{inForce(found)}, entry("openconfig-tam:"+l.list, found), err
	}
	if !c.brief {
		levels = 0
	}
	found, err := c.sh.client.upTo(ctx, levels, gpb.GetRequest_ALL, gpath(l.in()...))
	return allInForce(found.sorted(l.list)), one("openconfig-tam:"+l.container, found), err
}

// readParts gets containers of the list's entries, or of the one that the call names: config and
// state first. Entries are those that are configured, and deleted ones that are still in the
// switch.
func (l tamList) readParts(ctx context.Context, c *call, more ...string) ([]tree, map[string]any, error) {
	parts := append([]string{"config", "state"}, more...)
	name := cmp.Or(c.args["name"], "*")
	paths := make([]*gpb.Path, len(parts))
	for i, part := range parts {
		paths[i] = l.path(name, part)
	}
	found, err := c.sh.client.get(ctx, gpb.GetRequest_ALL, paths...)
	if err != nil {
		return nil, nil, err
	}
	all := withLingering(found[0].items(), found[1].items())
	if name != "*" && len(all) == 0 {
		return nil, nil, l.missing(name)
	}
	var entries []tree
	list := []any{}
	for _, m := range all {
		for i, part := range parts[1:] {
			for _, other := range found[i+1].items() {
				if name != "*" || other.name() == m["name"] {
					m[part] = other.v
				}
			}
		}
		entries, list = append(entries, tree{m}), append(list, m)
	}
	if entries, err = c.sh.withGroups(ctx, allInForce(entries)); err != nil {
		return nil, nil, err
	}
	return entries, map[string]any{l.module() + ":" + l.list: list}, nil
}

// shown shows the table of the entries, or all of the one that the call names.
func (o object) shown(ctx context.Context, c *call) (*view, error) {
	read := func(ctx context.Context, c *call) ([]tree, map[string]any, error) { return o.read(ctx, c, listLevels) }
	if o.module() != "openconfig-tam" {
		read = func(ctx context.Context, c *call) ([]tree, map[string]any, error) { return o.readParts(ctx, c) }
	}
	entries, data, err := read(ctx, c)
	if err != nil {
		return nil, err
	}
	return framed(data, func(p *printout) {
		if c.has("name") {
			p.object(o, entries[0])
		} else {
			p.objects(o, entries)
		}
	}), nil
}

// object writes all of an entry.
func (p *printout) object(o object, e tree) {
	p.field(o.width, o.title, e.name())
	p.leaves(o.width, e, o.leaves...)
	if o.more != nil {
		o.more(p, e)
	}
	p.whyNot(o.width, e.at("state"))
}

// objects writes a line for each entry.
func (p *printout) objects(o object, entries []tree) {
	columns := []column{o.head}
	rows := make([][]string, len(entries))
	for i, e := range entries {
		rows[i] = []string{e.name()}
	}
	for _, l := range o.leaves {
		if l.cell.head == "" {
			continue
		}
		columns = append(columns, l.cell)
		for i, e := range entries {
			v := l.shown(e)
			if !l.need && !l.always {
				v = orDash(v)
			}
			rows[i] = append(rows[i], v)
		}
	}
	p.table(columns, rows)
	p.after(whyNots(entries))
}
