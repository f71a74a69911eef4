package mgmt

import (
	"bytes"
	"encoding/json"
	"testing"

	"tamtam/mgmt/models"
	"tamtam/mgmt/tree"
	"tamtam/swss/swsstest"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/prototext"
)

// offline returns a model without a server.
func offline(f testing.TB) *tree.Model {
	f.Helper()
	m, err := tree.New(swsstest.Start(f), models.All())
	if err != nil {
		f.Fatal(err)
	}
	return m
}

// Any path is either refused, or resolved to nodes. The path of such a node resolves to the same node.
func FuzzPath(f *testing.F) {
	for _, s := range []string{
		"", "elem{name:'tam'}", "elem{name:'...'} elem{name:'config'}", "elem{name:'*'} elem{name:'*'}", "elem{}",
		"elem{name:'tam'} elem{name:'samplers'} elem{name:'sampler' key{key:'name' value:'a]/'}}",
		"elem{name:'tam'} elem{name:'flowgroups'} elem{name:'flowgroup'} elem{name:'config'} elem{name:'interfaces' " +
			"key{key:'.' value:'x'}}",
		"origin:'cli'", "element:'tam'",
	} {
		f.Add(s)
	}
	m := offline(f)
	f.Fuzz(func(t *testing.T, text string) {
		p := &gpb.Path{}
		if prototext.Unmarshal([]byte(text), p) != nil {
			return
		}
		ts, err := m.Resolve(nil, p, codes.InvalidArgument)
		if err != nil {
			return
		}
		for _, x := range ts {
			again, err := m.Resolve(nil, tree.PathTo(x.Node, x.Keys), codes.InvalidArgument)
			if err != nil || len(again) != 1 || again[0].Node != x.Node || tree.CompareKeys(again[0].Keys, x.Keys) != 0 {
				t.Fatalf("%s: %v %v", x.Text(), again, err)
			}
		}
	})
}

// Any row is shown as valid JSON, and the shown values can be written back.
func FuzzRow(f *testing.F) {
	f.Add("SRC_IP", "1.2.3.4/32", "TCP_FLAGS", "0x12/0x3f")
	f.Add("L4_SRC_PORT_RANGE", "5-6", "DSCP", "010")
	f.Add("IN_PORTS@", "Ethernet0, Ethernet4,,", "SRC_MAC", "/00:00:00:00:00:00")
	f.Add("PRIORITY", "99999999999999999999", "IP_TYPE", "\x00\"")
	f.Add("estimate", "-0.00001", "KEYS", ";0=free;;")
	f.Add("confidence", "1e-300", "upper", "9.99999e14")
	f.Add("TABLES", ",chip.acl,,a\xffb", "PLAN", "{\"id\":1,\x00")
	f.Add("must-record", "a, b,,a", "BOUND", "+Inf")
	m := offline(f)
	f.Fuzz(func(t *testing.T, f1, v1, f2, v2 string) {
		for _, list := range []string{"/tam/flowgroups/flowgroup", "/tam/flymon-tasks/flymon-task",
			"/tam/flymon-queries/flymon-query", "/tam/flymon-groups/flymon-group",
			"/tam/tablerecord-sessions/tablerecord-session"} {
			e := tree.NewEntry(m.Find(list).List, []string{"1"})
			for i := range e.Rows {
				e.Rows[i] = map[string]string{f1: v1, f2: v2}
			}
			checkShown(t, e)
		}
	})
}

// decoded returns decoded JSON that keeps its numbers as they are written.
func decoded(t *testing.T, text []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// checkShown writes the values of an entry and reads them back.
func checkShown(t *testing.T, e *tree.Entry) {
	t.Helper()
	for _, n := range e.List.Leaves {
		v := e.Value(n)
		if len(v) == 0 {
			continue
		}
		raw := n.Typed(v, gpb.Encoding_JSON_IETF).GetJsonIetfVal()
		if back, err := n.FromJSON(decoded(t, raw)); err != nil || tree.First(back) != v[0] {
			t.Fatalf("%s: %q is read back as %q: %v", n.Path, v, back, err)
		}
		n.Typed(v, gpb.Encoding_PROTO)
	}
}
