package kit

import (
	"cmp"
	"context"
	"slices"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"tamtam/cli/tree"
)

// Leaf is a leaf of the configuration, described once: how it is written in a command, where it is
// in the tree, how it is shown. The commands that set and remove it, the running configuration and
// the show command of one object follow from it.
type Leaf struct {
	Word  string // keyword of the command; empty: the leaf is only shown
	Help  string // of the keyword
	Kind  *Kind  // of the value; nil: the keyword alone means true
	Value string // help of the value; empty: the keyword's
	Undo  string // help of the keyword behind "no"; empty: the keyword's

	Name string // in the tree; empty: the keyword
	From string // module that adds it to the entry's; empty: it is one of the entry's own
	Box  string // container that it is in, below the entry; "ip" is ipv4 or ipv6
	Mask string // leaf of the mask that follows its value behind "/"

	Need    bool   // required in the command
	Default string // its default, which the running configuration leaves out
	Fill    string // what a command without it writes
	Alias   bool   // another word for a leaf that has one
	Inverse bool   // the keyword alone means false, and "no" means true
	Means   string // what the keyword alone means, if that is not true

	Label  string                   // in show commands; empty: not shown
	Show   func(e tree.Node) string // how it is shown; nil: as in the command
	Always bool                     // shown with its default too
	Cell   Column                   // in the table of all entries; no head: not there
}

// wholeMask is the mask of a MAC address all of whose bits count.
const wholeMask = "ff:ff:ff:ff:ff:ff"

// TreeName is its name in the tree.
func (l Leaf) TreeName() string { return cmp.Or(l.Name, l.Word) }

// Elements returns the leaf's words in a command.
func (l Leaf) Elements() []Element {
	out := []Element{Keyword(l.Word, l.Help)}
	if l.Kind != nil {
		out = append(out, Arg(l.Word, l.Kind, cmp.Or(l.Value, l.Help)))
	}
	return out
}

// Places are the containers below an entry that may hold the leaf's config.
func (l Leaf) Places() [][]string {
	switch l.Box {
	case "":
		return [][]string{{"config"}}
	case "ip":
		return [][]string{{"ipv4", "config"}, {"ipv6", "config"}}
	}
	return [][]string{{l.Box, "config"}}
}

// Text returns what is configured in an entry of the tree, as the command takes it; empty if
// nothing is.
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

// Shown returns the leaf's value in show commands: as configured or, failing that, the state.
func (l Leaf) Shown(e tree.Node) string {
	if l.Show != nil {
		return l.Show(e)
	}
	if v := l.Text(e); v != "" || l.Box != "" {
		return v
	}
	return l.Kind.words(e.Text("state", l.TreeName()))
}

// Words returns the leaf's words in the running configuration, each with a blank in front; empty if
// it has its default.
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

// Leaves writes those leaves of an entry that have something to show.
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

// Single returns the command of a leaf outside of lists: at returns the path of its container, or
// an error if there is none here. before are the words in front of its own.
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
	Family string // ipv4 or ipv6: where leaves of "ip" go
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
