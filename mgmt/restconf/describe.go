package restconf

import (
	"encoding/json"
	"io/fs"
	"strings"
	"sync"

	"tamtam/mgmt/tree"
	"tamtam/yang"

	goyang "github.com/openconfig/goyang/pkg/yang"
)

// deviations is the module that describes the differences from the published modules. It cannot be applied to the
// served modules.
const deviations = "tamtam-deviations.yang"

// descriptions returns the YANG description of each node, in one line, by the node's path without keys.
var descriptions = sync.OnceValues(func() (map[string]string, error) {
	files, err := fs.Glob(yang.Modules, "*.yang")
	if err != nil {
		return nil, err
	}
	set := goyang.NewModules()
	for _, file := range files {
		if file == deviations {
			continue
		}
		raw, err := fs.ReadFile(yang.Modules, file)
		if err != nil {
			return nil, err
		}
		if err := set.Parse(string(raw), file); err != nil {
			return nil, err
		}
	}
	if errs := set.Process(); len(errs) > 0 {
		return nil, errs[0]
	}
	all := map[string]string{}
	for name, m := range set.Modules {
		if strings.Contains(name, "@") { // the same module with its revision
			continue
		}
		for _, e := range goyang.ToEntry(m).Dir {
			collect(e, "", all)
		}
	}
	return all, nil
})

// collect adds the descriptions of an entry and of all below it.
func collect(e *goyang.Entry, at string, all map[string]string) {
	if e.RPC != nil || e.Kind == goyang.NotificationEntry {
		return
	}
	at += "/" + e.Name
	if text := strings.Join(strings.Fields(e.Description), " "); text != "" {
		all[at] = text
	}
	for _, kid := range e.Dir {
		collect(kid, at, all)
	}
}

// sampleTexts are values of restricted strings. The example of a leaf is the first of them that the leaf's type
// accepts.
var sampleTexts = []any{
	"example", "192.0.2.1", "192.0.2.0/24", "2001:db8::1", "02:00:00:00:00:01", "Ethernet0", "Vlan10", "PortChannel1", "1",
	"1.5", "2026-01-01T00:00:00Z",
}

// exampleOf returns an example of a container or of a list entry. It has the leaves of the node and of its container
// config. If only is set, it has only leaves that a client may write. It is nil if no leaf has an example, or if a
// mandatory leaf has none.
func exampleOf(n *tree.Node, only bool) object {
	out := object{}
	for _, k := range n.Kids {
		name := k.Name
		if k.Module != n.Module || n.Parent == nil {
			name = k.Module + ":" + name
		}
		switch {
		case k.Type == nil && !k.IsList && k.Name == "config":
			if below := exampleOf(k, only); below != nil {
				out[name] = below
			}
		case k.Type != nil && (!only || k.IsListKey() || k.Writable()):
			if v := leafExample(k); v != nil {
				out[name] = v
			} else if k.Mandatory {
				return nil
			}
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// leafExample returns a value that the leaf's type accepts: its default if it has one, otherwise a sample. It returns
// nil if there is none. It also returns nil for a string without a pattern that is no key, because the type does not
// describe the form of its values.
func leafExample(n *tree.Node) any {
	var samples []any
	for _, text := range n.Default {
		samples = append(samples, text, json.Number(text), text == "true")
	}
	for _, word := range n.Words() {
		samples = append(samples, word)
	}
	free := n.Type.Kind == goyang.Ystring && len(n.Type.Pattern) == 0
	if len(n.Type.Range) > 0 { // numbers of 64 bits are strings in JSON (RFC 7951, section 6.1)
		least := n.Type.Range[0].Min.String()
		samples = append(samples, "1", least, json.Number("1"), json.Number(least))
	}
	samples = append(samples, true)
	if !free || n.KeyIndex >= 0 {
		samples = append(samples, sampleTexts...)
	}
	for _, v := range samples {
		if n.LeafList {
			v = []any{v}
		}
		if _, err := n.FromJSON(v); err == nil {
			return v
		}
	}
	return nil
}
