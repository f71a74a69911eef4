package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// leaf is a leaf of the configuration, described once: how it is written in a command, where it is
// in the tree, how it is shown. The commands that set and remove it, the running configuration and
// the show command of one object follow from it.
type leaf struct {
	word  string   // keyword of the command; empty: the leaf is only shown
	help  string   // of the keyword
	kind  *argKind // of the value; nil: the keyword alone means true
	value string   // help of the value; empty: the keyword's
	undo  string   // help of the keyword behind "no"; empty: the keyword's

	name string // in the tree; empty: the keyword
	from string // module that adds it to the entry's; empty: it is one of the entry's own
	box  string // container that it is in, below the entry; "ip" is ipv4 or ipv6
	mask string // leaf of the mask that follows its value behind "/"

	need    bool   // required in the command
	def     string // its default, which the running configuration leaves out
	fill    string // what a command without it writes
	alias   bool   // another word for a leaf that has one
	inverse bool   // the keyword alone means false, and "no" means true
	means   string // what the keyword alone means, if that is not true

	label  string              // in show commands; empty: not shown
	show   func(e tree) string // how it is shown; nil: as in the command
	always bool                // shown with its default too
	cell   column              // in the table of all entries; no head: not there
}

// wholeMask is the mask of a MAC address all of whose bits count.
const wholeMask = "ff:ff:ff:ff:ff:ff"

// leafName is its name in the tree.
func (l leaf) leafName() string { return cmp.Or(l.name, l.word) }

// elements returns the leaf's words in a command.
func (l leaf) elements() []element {
	out := []element{kw(l.word, l.help)}
	if l.kind != nil {
		out = append(out, arg(l.word, l.kind, cmp.Or(l.value, l.help)))
	}
	return out
}

// places are the containers below an entry that may hold the leaf's config.
func (l leaf) places() [][]string {
	switch l.box {
	case "":
		return [][]string{{"config"}}
	case "ip":
		return [][]string{{"ipv4", "config"}, {"ipv6", "config"}}
	}
	return [][]string{{l.box, "config"}}
}

// text returns what is configured in an entry of the tree, as the command takes it; empty if
// nothing is.
func (l leaf) text(e tree) string {
	for _, place := range l.places() {
		box := e.at(place...)
		text := box.text(l.leafName())
		if text == "" {
			continue
		}
		if l.mask != "" {
			if mask := box.text(l.mask); mask != "" && !strings.EqualFold(mask, wholeMask) {
				text += "/" + mask
			}
		}
		return l.kind.words(text)
	}
	return ""
}

// shown returns the leaf's value in show commands: as configured or, failing that, the state.
func (l leaf) shown(e tree) string {
	if l.show != nil {
		return l.show(e)
	}
	if v := l.text(e); v != "" || l.box != "" {
		return v
	}
	return l.kind.words(e.text("state", l.leafName()))
}

// words returns the leaf's words in the running configuration, each with a blank in front; empty if
// it has its default.
func (l leaf) words(e tree) string {
	v := l.text(e)
	switch {
	case l.word == "" || l.alias || v == "" || v == l.def:
		return ""
	case l.inverse && v == "true":
		return " no " + l.word
	case l.kind == nil:
		return " " + l.word
	}
	return " " + l.word + " " + quote(v)
}

// leaves writes those leaves of an entry that have something to show.
func (p *printout) leaves(width int, e tree, leaves ...leaf) {
	for _, l := range leaves {
		if l.label == "" {
			continue
		}
		if v := l.shown(e); l.need || l.always || v != "" && v != l.def {
			p.field(width, l.label, v)
		}
	}
}

// put writes the leaf's value from a command into the entry of a Set.
func (l leaf) put(d draft, text string) {
	config := d.config(l.box)
	if l.mask != "" {
		addr, mask, masked := strings.Cut(text, "/")
		if !masked {
			mask = wholeMask
		}
		config[l.leafName()], config[l.mask] = addr, mask
		return
	}
	if v := l.kind.json(text); v != nil {
		name := l.leafName()
		if l.from != "" {
			name = l.from + ":" + name
		}
		config[name] = v
	}
}

// single returns the command of a leaf outside of lists: at returns the path of its container, or
// an error if there is none here. before are the words in front of its own.
func (l leaf) single(modes []mode, at func(c *call) (*gpb.Path, error), before ...element) *command {
	form := form{fixed: append(slices.Clone(before), kw(l.word, l.help))}
	no := form
	no.fixed = append(slices.Clone(before), kw(l.word, cmp.Or(l.undo, l.help)))
	if l.kind != nil {
		form.fixed = append(form.fixed, arg("value", l.kind, l.value))
	}
	do := func(ctx context.Context, c *call) error {
		path, err := at(c)
		if err != nil {
			return err
		}
		ch := change{path: below(path, "config", l.leafName())}
		switch {
		case l.inverse:
			ch.value = c.no
		case !c.no && l.means != "":
			ch.value = l.means
		case !c.no:
			ch.value = l.kind.json(c.args["value"])
		}
		return c.sh.client.set(ctx, ch)
	}
	return &command{modes: modes, form: form, no: &no, do: do}
}
