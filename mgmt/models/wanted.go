package models

import (
	"tamtam/mgmt/tree"
	"tamtam/swss/schema"
)

// wanted returns a Row.Wanted that parses the row of a table, and converts it with row as the manager does.
func wanted[T any](
	table string, parse func(string, map[string]string) (T, error), row func(T) map[string]string,
) func(tree.Configured) (map[string]string, error) {
	return func(c tree.Configured) (map[string]string, error) {
		t, err := parse(c.Name(), c.Row(table))
		if err != nil {
			return nil, err
		}
		return row(t), nil
	}
}

// wantedRule returns the target state of a flow group's rule, with aliases of ports resolved.
func wantedRule(c tree.Configured) (map[string]string, error) {
	fields := c.Row(schema.CfgACLRule)
	if fields == nil {
		return nil, nil
	}
	tam, _ := schema.BuiltinACLType(schema.ACLTypeTAM)
	rule, err := schema.ParseACLRule(tam, schema.ACLRuleKey{Table: schema.TAMTable, Rule: c.Name()}.Config(), fields)
	if err != nil {
		return nil, err
	}
	for i, m := range rule.Matches {
		for j, name := range m.Ports {
			if port, ok := c.Port(name); ok {
				m.Ports[j] = port
			}
		}
		rule.Matches[i].Ports = m.Ports
	}
	return rule.Fields(), nil
}
