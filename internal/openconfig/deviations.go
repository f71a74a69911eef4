package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// deviationsName is the module with the differences between our modules and the published ones.
const deviationsName = "tamtam-deviations"

// deviate records that our node at a path differs.
func (c *comparison) deviate(path, how string) {
	if c.found[path] == nil {
		c.order = append(c.order, path)
	}
	c.found[path] = append(c.found[path], how)
	for step := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		prefix, _, _ := strings.Cut(step, ":")
		for _, name := range c.shared {
			if m := c.theirs.modules.Modules[name]; m.Prefix.Name == prefix {
				c.uses[prefix] = name
			}
		}
	}
}

// deviations returns the text of the module.
func (c *comparison) deviations() []byte {
	var b strings.Builder
	b.WriteString(`module tamtam-deviations {
  yang-version "1";
  namespace "urn:tamtam:yang:deviations";
  prefix "tt-dev";

  import openconfig-extensions { prefix oc-ext; }
`)
	for _, prefix := range slices.Sorted(maps.Keys(c.uses)) {
		fmt.Fprintf(&b, "  import %s { prefix %s; }\n", c.uses[prefix], prefix)
	}
	b.WriteString(`
  organization "tamtam";
  description
    "Where the switch does less than the modules that OpenConfig publishes, of
     those that it serves. It is written by internal/openconfig.";

  oc-ext:openconfig-version "0.3.0";

  revision "2026-11-30" {
    description "Configuration that no Set can write is config false.";
  }

  revision "2026-11-26" {
    description "From OpenConfig's whole modules.";
  }
`)
	for _, path := range c.order {
		for _, how := range c.found[path] {
			fmt.Fprintf(&b, "\n  deviation %q {\n    %s\n  }\n", path, how)
		}
	}
	b.WriteString("}\n")
	return []byte(b.String())
}
