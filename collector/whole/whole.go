// Package whole finds numbers in YAML that are not whole and should be: go.yaml.in/yaml takes 1.5 for 1 where a field
// is an integer, and says nothing.
package whole

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Check refuses a first document in which a field of one of these names, wherever it is, has a number that is not
// whole. What is no YAML is left to whoever decodes it.
func Check(text []byte, fields ...string) error {
	var root yaml.Node
	if yaml.Unmarshal(text, &root) != nil {
		return nil
	}
	return check(&root, fields)
}

func check(n *yaml.Node, fields []string) error {
	for i, inner := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 {
			name, v := meant(n.Content[i-1]).Value, meant(inner)
			if slices.Contains(fields, name) && v.Kind == yaml.ScalarNode && v.ShortTag() == "!!float" {
				return fmt.Errorf("line %d: %s: %s: want a whole number", v.Line, name, v.Value)
			}
		}
		if err := check(inner, fields); err != nil {
			return err
		}
	}
	return nil
}

// meant is what stands where an alias does.
func meant(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}
