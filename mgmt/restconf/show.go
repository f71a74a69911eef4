package restconf

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tamtam/mgmt/tree"
)

// show cuts a value of a node to the view.
func (v view) show(n *tree.Node, raw []byte) ([]byte, error) {
	if v.depth == 0 {
		return raw, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, fmt.Errorf("what is stored: %w", err)
	}
	return json.Marshal(cut(n, value, v.depth))
}

// cut removes all levels below the given number of levels. The value itself is the first level.
func cut(n *tree.Node, value any, levels int) any {
	switch value := value.(type) {
	case []any:
		if n.LeafList {
			return value
		}
		for i, entry := range value {
			value[i] = cut(n, entry, levels)
		}
	case map[string]any:
		for name, below := range value {
			k := child(n, name)
			switch {
			case k != nil && slices.Contains(n.Keys(), k.Name): // an entry always has its keys
			case levels <= 1:
				delete(value, name)
			default:
				value[name] = cut(k, below, levels-1)
			}
		}
	}
	return value
}

// child returns the child for a member of an object, or nil if there is none.
func child(n *tree.Node, member string) *tree.Node {
	return n.Kid[member[strings.IndexByte(member, ':')+1:]]
}
