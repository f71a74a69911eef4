package mgmt

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"tamtam/mgmt/configfile"
	"tamtam/mgmt/models"
	"tamtam/mgmt/tree"
	"tamtam/swss/swsstest"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// offline is a model alone.
func offline(f testing.TB) *tree.Model {
	f.Helper()
	m, err := tree.New(swsstest.Start(f), models.All())
	if err != nil {
		f.Fatal(err)
	}
	return m
}

// FuzzPath: any path is resolved to nodes whose own path means them again, or
// refused.
func FuzzPath(f *testing.F) {
	for _, s := range []string{
		"", "elem{name:'tam'}", "elem{name:'...'} elem{name:'config'}", "elem{name:'*'} elem{name:'*'}", "elem{}",
		"elem{name:'tam'} elem{name:'samplers'} elem{name:'sampler' key{key:'name' value:'a]/'}}",
		"elem{name:'tam'} elem{name:'flowgroups'} elem{name:'flowgroup'} elem{name:'config'} elem{name:'interfaces' key{key:'.' value:'x'}}",
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

// FuzzUpdate: any value for any path is taken apart or refused.
func FuzzUpdate(f *testing.F) {
	m := offline(f)
	for _, s := range []string{
		`path{elem{name:"tam"}} val{json_ietf_val:"{\"openconfig-tam:samplers\":{\"sampler\":[{\"name\":\"a\",\"config\":{\"sampling-rate\":1}}]}}"}`,
		`path{elem{name:"tam"} elem{name:"switch"} elem{name:"config"} elem{name:"switch-id"}} val{uint_val:1}`,
		`path{elem{name:"tam"} elem{name:"samplers"} elem{name:"sampler"}} val{json_val:"[{},{\"name\":1},null]"}`,
		`path{elem{name:"tam"} elem{name:"flowgroups"} elem{name:"flowgroup" key{key:"name" value:"f"}} elem{name:"config"} elem{name:"interfaces"}} val{leaflist_val{element{string_val:"Ethernet0"}}}`,
		`path{elem{name:"tam"} elem{name:"tablerecord-sessions"} elem{name:"tablerecord-session" key{key:"name" value:"r"}} elem{name:"config"}} val{json_ietf_val:"{\"must-record\":[\"a\",\"a\",\"b,c\"],\"truncate\":63,\"phv\":\"16+\"}"}`,
		`val{ascii_val:"x"}`, `val{}`, ``,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		u := &gpb.Update{}
		if prototext.Unmarshal(data, u) != nil && proto.Unmarshal(data, u) != nil {
			return
		}
		steps, faults := parseSet(t.Context(), m, &gpb.SetRequest{Replace: []*gpb.Update{u}, Update: []*gpb.Update{u}})
		if len(steps) != 2 {
			t.Fatalf("%d steps, want 2", len(steps))
		}
		if err := faults.err(); err != nil {
			wantBounded(t, err)
			if faults.count%2 != 0 || faults.first[0].step != 0 {
				t.Fatalf("%d errors of two times the same, the first of step %d", faults.count, faults.first[0].step)
			}
		}
		for _, a := range steps[0].values {
			if len(a.keys) != len(a.group.Keys) {
				t.Fatalf("%s: %d keys, want %d", a.path(), len(a.keys), len(a.group.Keys))
			}
			if a.leaf == nil {
				continue
			}
			for _, v := range a.value {
				if c, err := a.leaf.Check(v); err != nil || c != v {
					t.Fatalf("%s: %q is not canonical: %v", a.path(), v, err)
				}
			}
		}
	})
}

// FuzzRow: any row is shown as valid JSON, and what is shown can be written
// back.
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
		for _, list := range []string{"/tam/flowgroups/flowgroup", "/tam/flymon-tasks/flymon-task", "/tam/flymon-queries/flymon-query", "/tam/flymon-groups/flymon-group", "/tam/tablerecord-sessions/tablerecord-session"} {
			e := tree.NewEntry(m.Find(list).List, []string{"1"})
			for i := range e.Rows {
				e.Rows[i] = map[string]string{f1: v1, f2: v2}
			}
			checkShown(t, e)
		}
	})
}

// A name that is twice in an object is found, wherever it is; what is in strings is no name.
func FuzzTwice(f *testing.F) {
	f.Add(`{"a":{"b":[{"c":1,"c":2}]}}`)
	f.Add(`{"a\":":"{\"x\":1}","a":":\\"}`)
	f.Add(`{"\ud800":1,"\udfff":2}`)
	f.Fuzz(func(t *testing.T, text string) {
		var v any
		if !utf8.ValidString(text) || json.Unmarshal([]byte(text), &v) != nil {
			return
		}
		twice := configfile.Doubled([]byte(text))
		if _, err := decodeJSON([]byte(text)); (err != nil) != (len(twice) > 0) {
			t.Errorf("%s: %v, and what is twice there is %v", text, err, twice)
		}
	})
}

// decoded is JSON with its numbers as they are written.
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
