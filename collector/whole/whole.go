// Package whole finds numbers in YAML that should be integers but are not. go.yaml.in/yaml silently truncates 1.5 to 1
// if a field is an integer.
package whole

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Check returns an error if, anywhere in the first document, a field with one of these names has a number that is not
// an integer. Invalid YAML is not an error here, because the decoder reports it.
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

// meant returns the target of an alias, or n itself.
func meant(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}
