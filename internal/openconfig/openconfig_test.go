package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// published is a module as OpenConfig publishes it.
const published = `module openconfig-x {
  yang-version "1"; namespace "http://openconfig.net/yang/x"; prefix "oc-x";
  import openconfig-extensions { prefix oc-ext; }
  oc-ext:openconfig-version "1.2.3";
  revision "2026-01-02"; revision "2025-01-02";
  identity KIND; identity RED { base KIND; } identity BLUE { base KIND; }
  typedef small { type uint8 { range "1..9"; } }
  container xs {
    list x {
      key "name";
      leaf name { type leafref { path "../config/name"; } }
      container config {
        leaf name { type string; }
        leaf size { type small; default "5"; }
        leaf kind { type identityref { base KIND; } }
        leaf word { type enumeration { enum A; enum B; } mandatory true; }
        leaf other { type leafref { path "/xs/x/config/size"; } }
      }
      container state { config false; leaf name { type string; } leaf seen { type uint64; } }
    }
  }
}`

const extensions = `module openconfig-extensions {
  yang-version "1"; namespace "http://openconfig.net/yang/openconfig-ext"; prefix "oc-ext";
  revision "2025-01-02";
  extension openconfig-version { argument "semver"; }
}`

// own is a shortened form of the published module, without errors.
const own = `module openconfig-x {
  yang-version "1"; namespace "http://openconfig.net/yang/x"; prefix "oc-x";
  import openconfig-extensions { prefix oc-ext; }
  oc-ext:openconfig-version "1.2.3";
  revision "2026-01-02";
  identity KIND; identity RED { base KIND; }
  container xs {
    list x {
      key "name";
      leaf name { type leafref { path "../config/name"; } }
      container config {
        leaf name { type string; }
        leaf size { type uint8 { range "1..9"; } default 5; }
        leaf kind { type identityref { base KIND; } }
        leaf word { type enumeration { enum A; enum B; } mandatory true; }
        leaf other { type uint8 { range "1..9"; } }
      }
      container state { config false; leaf name { type string; } leaf seen { type uint64; } }
    }
  }
}`

// compared runs the program on one of our modules.
func compared(t *testing.T, module string, args ...string) (out, deviations string, err error) {
	t.Helper()
	public, mine := t.TempDir(), t.TempDir()
	write := func(text string, path ...string) {
		file := filepath.Join(path...)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(published, public, "release/models/x/openconfig-x.yang")
	write(extensions, public, "release/models/openconfig-extensions.yang")
	write(extensions, mine, "openconfig-extensions.yang")
	write(module, mine, "openconfig-x.yang")
	var said bytes.Buffer
	err = run(append([]string{"-public", public, "-yang", mine}, args...), &said)
	text, _ := os.ReadFile(filepath.Join(mine, "tamtam-deviations.yang"))
	return said.String(), string(text), err
}

// A missing part is a deviation. A different part is an error that names the node.
func TestCompare(t *testing.T) {
	const at = "/oc-x:xs/oc-x:x/oc-x:config/"
	for _, c := range []struct {
		name, old, new  string
		deviation, said string
	}{
		{"a leaf is absent", "leaf kind { type identityref { base KIND; } }", "",
			at + `oc-x:kind" {` + "\n    deviate not-supported;", ""},
		{"read-only", "container xs {", "container xs { config false;",
			`"/oc-x:xs" {` + "\n    deviate add { config false; }", ""},
		{"no default", " default 5;", "", at + `oc-x:size" {` + "\n    deviate delete { default \"5\"; }", ""},
		{"no target", "leaf size { type uint8 { range \"1..9\"; } default 5; }", "",
			at + `oc-x:other" {` + "\n    deviate replace { type uint8 { range \"1..9\"; } }", ""},
		{"another default", "default 5;", "default 6;", "", at + "oc-x:size has the default [6]"},
		{"another range", `1..9"; } default`, `1..8"; } default`, "", at + "oc-x:size is uint8 1..8"},
		{"another type", "leaf name { type string; }\n        leaf size", "leaf name { type uint8; }\n        leaf size", "",
			at + "oc-x:name is uint8"},
		{"another enumeration", "enum B; ", "", "", at + "oc-x:word is enumeration A; published is enumeration A B"},
		{"a node of ours", "leaf kind", "leaf ours { type string; } leaf kind", "",
			at + "ours: openconfig-x has no such node"},
		{"a container of ours", "container xs", "container ys; container xs", "", "/ys: openconfig-x has no such node"},
		{"an identity of ours", "identity RED", "identity GREEN { base KIND; } identity RED", "", "identity GREEN of KIND"},
		{"a key of ours", `key "name"`, `key "name kind"; leaf kind { type string; } description "`, "",
			"list with key name kind"},
		{"another revision", "2026-01-02", "2025-01-02", "",
			"published is http://openconfig.net/yang/x, prefix oc-x, revision 2026-01-02"},
		{"another version", "1.2.3", "1.2.4", "", `published is`},
		{"another namespace", "yang/x", "yang/y", "", "published is"},
		{"state that is config", "container state { config false;", "container state {", "", "oc-x:state can be written"},
		{"not mandatory", " mandatory true;", "", "", "oc-x:word: mandatory"},
	} {
		module := strings.Replace(own, c.old, c.new, 1)
		if strings.Contains(c.new, `description "`) {
			module = strings.Replace(module, `description ";`, `description "";`, 1)
		}
		if module == own {
			t.Fatalf("%s: nothing is replaced", c.name)
		}
		out, deviations, err := compared(t, module, "-update")
		switch {
		case c.said != "" && (err == nil || !strings.Contains(out, c.said)):
			t.Errorf("%s: %v\n%s\nwant %s", c.name, err, out, c.said)
		case c.said == "" && (err != nil || !strings.Contains(deviations, c.deviation)):
			t.Errorf("%s: %v\n%s%s\nwant %s", c.name, err, out, deviations, c.deviation)
		}
	}
	if out, deviations, err := compared(t, own, "-update"); err != nil || strings.Contains(deviations, "  deviation") {
		t.Errorf("nothing is wrong: %v\n%s%s", err, out, deviations)
	}
	if _, _, err := compared(t, own); err == nil {
		t.Error("the deviations are missing, and nobody says so")
	}
}
