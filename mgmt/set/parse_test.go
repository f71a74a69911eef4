package set

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"tamtam/mgmt/configfile"
	"tamtam/mgmt/models"
	"tamtam/mgmt/tree"
	"tamtam/swss/swsstest"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// offline returns a tree without a server.
func offline(t testing.TB) *tree.Model {
	t.Helper()
	m, err := tree.New(swsstest.Start(t), models.All())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// named returns a path of names.
func named(names ...string) *gpb.Path {
	p := &gpb.Path{}
	for _, name := range names {
		p.Elem = append(p.Elem, &gpb.PathElem{Name: name})
	}
	return p
}

// Paths with wildcards cost a Set a bounded amount of work in total. Paths without wildcards are resolved even beyond
// this bound.
func TestWildcardsOfASet(t *testing.T) {
	p := &setParser{model: offline(t), faults: &Faults{}, wildcards: tree.MaxSteps + tree.MaxSteps/2}
	for i, want := range []int{tree.MaxSteps / 2, 0, 0} {
		p.deletion(named("...", "*", "...", "*", "...", "*", "...", "x"))
		if p.wildcards != want || p.faults.count != i+1 {
			t.Errorf("after %d paths %d steps are left, want %d; %d errors", i+1, p.wildcards, want, p.faults.count)
		}
	}
	ts, values := p.update(gpb.UpdateResult_UPDATE, &gpb.Update{
		Path: &gpb.Path{Elem: []*gpb.PathElem{
			{Name: "tam"}, {Name: "samplers"}, {Name: "sampler", Key: map[string]string{"name": "x"}}, {Name: "config"},
			{Name: "sampling-rate"},
		}},
		Val: &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: []byte(`1`)}},
	})
	if len(ts) != 1 || len(values) != 2 || p.faults.count != 3 {
		t.Errorf("a path without wildcards: %d nodes, %d assignments; %v", len(ts), len(values), p.faults.err())
	}
}

// Any value for any path is split or refused.
func FuzzUpdate(f *testing.F) {
	m := offline(f)
	for _, s := range []string{
		`path{elem{name:"tam"}} ` +
			`val{json_ietf_val:"{\"openconfig-tam:samplers\":{\"sampler\":[{\"name\":\"a\",` +
			`\"config\":{\"sampling-rate\":1}}]}}"}`,
		`path{elem{name:"tam"} elem{name:"switch"} elem{name:"config"} elem{name:"switch-id"}} val{uint_val:1}`,
		`path{elem{name:"tam"} elem{name:"samplers"} elem{name:"sampler"}} val{json_val:"[{},{\"name\":1},null]"}`,
		`path{elem{name:"tam"} elem{name:"flowgroups"} elem{name:"flowgroup" key{key:"name" value:"f"}} ` +
			`elem{name:"config"} elem{name:"interfaces"}} val{leaflist_val{element{string_val:"Ethernet0"}}}`,
		`path{elem{name:"tam"} elem{name:"tablerecord-sessions"} elem{name:"tablerecord-session" key{key:"name" ` +
			`value:"r"}} elem{name:"config"}} ` +
			`val{json_ietf_val:"{\"must-record\":[\"a\",\"a\",\"b,c\"],\"truncate\":63,\"phv\":\"16+\"}"}`,
		`val{ascii_val:"x"}`, `val{}`, ``,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		u := &gpb.Update{}
		if prototext.Unmarshal(data, u) != nil && proto.Unmarshal(data, u) != nil {
			return
		}
		steps, faults := Parse(t.Context(), m, &gpb.SetRequest{Replace: []*gpb.Update{u}, Update: []*gpb.Update{u}})
		if len(steps) != 2 {
			t.Fatalf("%d steps, want 2", len(steps))
		}
		if err := faults.err(); err != nil {
			text := status.Convert(err).Message()
			if n := travels(text); n > 8000 || strings.Count(text, "\n") > maxErrors {
				t.Errorf("the error is %d bytes on the way, and %d lines", n, strings.Count(text, "\n")+1)
			}
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

// A name that an object has twice is found at any depth. The text of a string is not mistaken for a name.
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
