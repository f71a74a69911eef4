package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tamtam/device"
)

// The tree's topologies are valid for containerlab, and their startup configurations for a switch.
func TestTopologiesOfTheTree(t *testing.T) {
	files, err := filepath.Glob("../../docker/containerlab/*.clab.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("%d topologies, %v", len(files), err)
	}
	for _, name := range files {
		f, err := read(name)
		if err != nil {
			t.Error(err)
			continue
		}
		for node, n := range f.Topology.Nodes {
			if f.interfaces(node) == 0 {
				t.Errorf("%s: %s has no link", name, node)
			}
			for _, b := range n.Binds {
				from, to, _ := strings.Cut(b, ":")
				if to != "/etc/tamtam/startup:ro" {
					t.Errorf("%s: %s: %s is not where a startup configuration is read", name, node, b)
				}
				if _, err := device.ReadStartup(filepath.Join(f.dir, from)); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// Input that containerlab would refuse, or that this command does not support, is an error that names it.
func TestTopologyIsChecked(t *testing.T) {
	const two = "name: x\ntopology:\n  nodes:\n    a: {kind: linux, image: i}\n    b: {kind: linux, image: i}\n"
	tests := []struct{ name, text, want string }{
		{"nothing", "", "name \"\": want small letters"},
		{"a field nobody knows", "name: x\ntopologie: {}\n", "field topologie not found"},
		{"a node without an image", "name: x\ntopology:\n  nodes:\n    a: {kind: linux}\n",
			"node a: want a kind and an image"},
		{"a node that is nothing", "name: x\ntopology:\n  nodes:\n    a:\n", "node a: want a kind and an image"},
		{"a name of a shell", "name: x\ntopology:\n  nodes:\n    a;b: {kind: linux, image: i}\n", `node "a;b": want`},
		{"a file that is not there", "name: x\ntopology:\n  nodes:\n    a: {kind: linux, image: i, binds: [\"no:/x\"]}\n",
			"node a: bind: "},
		{"a link to nobody", two + "  links:\n    - endpoints: [\"a:eth1\", \"c:eth1\"]\n",
			`link end "c:eth1": want NODE:INTERFACE`},
		{"an interface twice",
			two + "  links:\n    - endpoints: [\"a:eth1\", \"b:eth1\"]\n    - endpoints: [\"a:eth1\", \"b:eth2\"]\n",
			`link end "a:eth1" is there twice`},
		{"the management interface", two + "  links:\n    - endpoints: [\"a:eth0\", \"b:eth1\"]\n", `link end "a:eth0"`},
		{"a command that is none", "name: x\ntopology:\n  nodes:\n    a: {kind: linux, image: i, exec: [\"true\", \" \"]}\n",
			`node a: exec: " ": want a command`},
		{"variables",
			"name: ${NOT_SET_ANYWHERE:=x}\ntopology:\n  nodes:\n    a: {kind: linux, image: \"${NOT_SET_ANYWHERE:=i}\"}\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "x.clab.yaml")
			if err := os.WriteFile(name, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := read(name)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// No text makes the reader panic. An accepted topology can be started: every link has two nodes.
func FuzzTopology(f *testing.F) {
	for _, name := range []string{"pair", "clos"} {
		text, err := os.ReadFile("../../docker/containerlab/" + name + ".clab.yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("name: x\ntopology: {nodes: {a: }, links: [{endpoints: [a]}]}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		topology, err := parse(text, ".")
		if err != nil {
			return
		}
		for _, l := range topology.Topology.Links {
			nodes, interfaces := l.ends()
			for i, node := range nodes {
				if topology.Topology.Nodes[node] == nil || interfaces[i] == "" {
					t.Errorf("the link %v has no end %d", l, i)
				}
			}
		}
	})
}
