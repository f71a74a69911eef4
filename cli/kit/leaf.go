package kit

import (
	"cmp"
	"context"
	"slices"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"tamtam/cli/tree"
)

// Leaf describes a leaf of the configuration: its words in a command, its path in the tree, and its display. It defines
// the commands that set and remove the leaf, the running configuration, and the show command of one object.
type Leaf struct {
	Word  string // keyword of the command; empty if the leaf is only shown
	Help  string // help of the keyword
	Kind  *Kind  // kind of the value; nil means that the keyword alone stands for true
	Value string // help of the value; empty means the help of the keyword
	Undo  string // help of the keyword after "no"; empty means the help of the keyword

	Name string // name in the tree; empty means the keyword
	From string // module that adds the leaf to the entry's module; empty if it is the entry's own
	Box  string // container of the leaf below the entry; "ip" stands for ipv4 or ipv6
	Mask string // name of the leaf that holds the mask, which follows the value after "/"

	Need    bool   // true if the command requires the leaf
	Default string // default value, which the running configuration omits
	Fill    string // value that a command writes if it omits the leaf
	Alias   bool   // true if this is a second keyword for a leaf that has another one
	Inverse bool   // true if the keyword alone means false, and "no" means true
	Means   string // value of the keyword alone, if that is not true

	Label  string                   // label in show commands; empty if it is not shown
	Show   func(e tree.Node) string // returns the displayed value; nil means the form of the command
	Always bool                     // true if the default is shown too
	Cell   Column                   // column in the table of all entries; none if its heading is empty
}

// wholeMask is the mask of a MAC address in which all bits are significant.
const wholeMask = "ff:ff:ff:ff:ff:ff"

// TreeName returns the leaf's name in the tree.
func (l Leaf) TreeName() string { return cmp.Or(l.Name, l.Word) }

// Elements returns the leaf's words in a command.
func (l Leaf) Elements() []Element {
	out := []Element{Keyword(l.Word, l.Help)}
	if l.Kind != nil {
		out = append(out, Arg(l.Word, l.Kind, cmp.Or(l.Value, l.Help)))
	}
	return out
}

// Places returns the containers below an entry that may hold the leaf's config.
func (l Leaf) Places() [][]string {
	switch l.Box {
	case "":
		return [][]string{{"config"}}
	case "ip":
		return [][]string{{"ipv4", "config"}, {"ipv6", "config"}}
	}
	return [][]string{{l.Box, "config"}}
}

// Text returns the configured value in an entry of the tree, in the form of the command, or "" if there is none.
func (l Leaf) Text(e tree.Node) string {
	for _, place := range l.Places() {
		box := e.At(place...)
		text := box.Text(l.TreeName())
		if text == "" {
			continue
		}
		if l.Mask != "" {
			if mask := box.Text(l.Mask); mask != "" && !strings.EqualFold(mask, wholeMask) {
				text += "/" + mask
			}
		}
		return l.Kind.words(text)
	}
	return ""
}

// Shown returns the leaf's value in show commands: the configured one or, if there is none, the state.
func (l Leaf) Shown(e tree.Node) string {
	if l.Show != nil {
		return l.Show(e)
	}
	if v := l.Text(e); v != "" || l.Box != "" {
		return v
	}
	return l.Kind.words(e.Text("state", l.TreeName()))
}

// Words returns the leaf's words in the running configuration, each preceded by a space. It returns "" if the leaf has
// its default.
func (l Leaf) Words(e tree.Node) string {
	v := l.Text(e)
	switch {
	case l.Word == "" || l.Alias || v == "" || v == l.Default:
		return ""
	case l.Inverse && v == "true":
		return " no " + l.Word
	case l.Kind == nil:
		return " " + l.Word
	}
	return " " + l.Word + " " + Quote(v)
}

// Leaves writes the given leaves of an entry that have something to show.
func (p *Printout) Leaves(width int, e tree.Node, Leaves ...Leaf) {
	for _, l := range Leaves {
		if l.Label == "" {
			continue
		}
		if v := l.Shown(e); l.Need || l.Always || v != "" && v != l.Default {
			p.Field(width, l.Label, v)
		}
	}
}

// Put writes the leaf's value from a command into the entry of a Set.
func (l Leaf) Put(d Draft, text string) {
	config := d.Configured(l.Box)
	if l.Mask != "" {
		addr, mask, masked := strings.Cut(text, "/")
		if !masked {
			mask = wholeMask
		}
		config[l.TreeName()], config[l.Mask] = addr, mask
		return
	}
	if v := l.Kind.JSON(text); v != nil {
		name := l.TreeName()
		if l.From != "" {
			name = l.From + ":" + name
		}
		config[name] = v
	}
}

// Single returns the command of a leaf outside of lists. at returns the path of the leaf's container, or an error if
// there is no such path for the call. before contains the words that precede the leaf's own words.
func (l Leaf) Single(modes []Mode, at func(c *Call) (*gpb.Path, error), before ...Element) *Command {
	form := Form{Fixed: append(slices.Clone(before), Keyword(l.Word, l.Help))}
	no := form
	no.Fixed = append(slices.Clone(before), Keyword(l.Word, cmp.Or(l.Undo, l.Help)))
	if l.Kind != nil {
		form.Fixed = append(form.Fixed, Arg("value", l.Kind, l.Value))
	}
	do := func(ctx context.Context, c *Call) error {
		path, err := at(c)
		if err != nil {
			return err
		}
		ch := Change{Path: tree.Below(path, "config", l.TreeName())}
		switch {
		case l.Inverse:
			ch.Value = c.No
		case !c.No && l.Means != "":
			ch.Value = l.Means
		case !c.No:
			ch.Value = l.Kind.JSON(c.Args["value"])
		}
		return c.Session.Client.Set(ctx, ch)
	}
	return &Command{Modes: modes, Form: form, No: &no, Do: do}
}

// Draft is an entry in the form of a Set.
type Draft struct {
	Module string
	Family string // ipv4 or ipv6, for leaves with the box "ip"
	Entry  map[string]any
}

// Configured returns the node that holds the leaves of a container of the entry.
func (d Draft) Configured(box string) map[string]any {
	switch box {
	case "":
		return d.Entry[d.Module+":config"].(map[string]any)
	case "ip":
		box = d.Family
	}
	box = d.Module + ":" + box
	if d.Entry[box] == nil {
		d.Entry[box] = map[string]any{"config": map[string]any{}}
	}
	return d.Entry[box].(map[string]any)["config"].(map[string]any)
}
