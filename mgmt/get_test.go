package mgmt

import (
	"strings"
	"testing"

	"tamtam/mgmt/models"
	"tamtam/mgmt/tree"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// Get follows the rules of paths, types, encodings and models.
func TestGet(t *testing.T) {
	b := newBed(t, nil)
	b.rows(someSwitch())
	b.rows(map[string]string{`CONFIG_DB TAM_SAMPLINGRATE_TABLE|a/b]c[=d\`: "sampling-rate=9"})
	req := func(p string) *gpb.GetRequest {
		return &gpb.GetRequest{Path: []*gpb.Path{path(p)}, Encoding: gpb.Encoding_PROTO}
	}
	edit := func(r *gpb.GetRequest, f func(*gpb.GetRequest)) *gpb.GetRequest { f(r); return r }
	const session = "/tam/tailstamping-sessions/tailstamping-session[name=s1]"
	for _, c := range []struct {
		name string
		req  *gpb.GetRequest
		code string
		want []string // path and value of each update
	}{
		{"prefix and path", edit(req("/config/flowgroup"), func(r *gpb.GetRequest) { r.Prefix = path(session) }), "OK",
			[]string{session + `/config/flowgroup string_val:"f1"`}},
		{"module names", req("/openconfig-tam:tam/openconfig-tam:switch/state/op-switch-id"), "OK",
			[]string{"/tam/switch/state/op-switch-id uint_val:2020"}},
		{"key with special characters", req(`/tam/samplers/sampler[name=a/b\]c[=d\\]/config/sampling-rate`), "OK",
			[]string{`/tam/samplers/sampler[name=a/b\]c[=d\\]/config/sampling-rate uint_val:9`}},
		{"wildcard key", req("/interfaces/interface[name=*]/config/mtu"), "OK",
			[]string{"/interfaces/interface[name=Ethernet0]/config/mtu uint_val:9100",
				"/interfaces/interface[name=Ethernet4]/config/mtu uint_val:9100"}},
		{"missing key", req("/interfaces/interface/config/mtu"), "OK",
			[]string{"/interfaces/interface[name=Ethernet0]/config/mtu uint_val:9100",
				"/interfaces/interface[name=Ethernet4]/config/mtu uint_val:9100"}},
		{"wildcard name", req("/tam/switch/*/op-switch-id"), "OK", []string{"/tam/switch/state/op-switch-id uint_val:2020"}},
		{"any depth twice", req("/tam/.../.../op-switch-id"), "OK", []string{"/tam/switch/state/op-switch-id uint_val:2020"}},
		{"wildcards without end", req(strings.Repeat("/.../*", 40) + "/name"), "InvalidArgument", nil},
		{"any depth", req("/tam/.../op-switch-id"), "OK", []string{"/tam/switch/state/op-switch-id uint_val:2020"}},
		{"wildcard without a match", req("/tam/collectors/collector[name=*]"), "OK", nil},
		{"not there", req("/tam/collectors/collector[name=c]"), "NotFound", nil},
		{"empty container", req("/tam/collectors"), "NotFound", nil},
		{"unknown name", req("/tam/colectors"), "Unimplemented", nil},
		{"unknown key", req("/tam/collectors/collector[id=c]"), "InvalidArgument", nil},
		{"key of a container", req("/tam[name=c]"), "InvalidArgument", nil},
		{"node of another module", req("/openconfig-acl:tam"), "Unimplemented", nil},
		{"both forms of elements", edit(req("/tam/switch/state/op-switch-id"),
			func(r *gpb.GetRequest) { r.Path[0].Element = []string{"x"} }), "OK",
			[]string{"/tam/switch/state/op-switch-id uint_val:2020"}},
		{"deprecated elements", &gpb.GetRequest{Path: []*gpb.Path{{Element: []string{"tam"}}}}, "InvalidArgument", nil},
		{"origin", edit(req(session+"/config/flowgroup"), func(r *gpb.GetRequest) { r.Path[0].Origin = "openconfig" }), "OK",
			[]string{session + `/config/flowgroup string_val:"f1"`}},
		{"unknown origin", edit(req("/tam"), func(r *gpb.GetRequest) { r.Path[0].Origin = "cli" }), "Unimplemented", nil},
		{"two origins", edit(req("/tam"), func(r *gpb.GetRequest) {
			r.Path[0].Origin, r.Prefix = "cli", &gpb.Path{Origin: "openconfig"}
		}), "InvalidArgument", nil},
		{"no path", &gpb.GetRequest{}, "OK", nil},
		{"a prefix alone", &gpb.GetRequest{Prefix: path("/tam/switch/state/op-switch-id"), Encoding: gpb.Encoding_PROTO},
			"OK",
			[]string{"/tam/switch/state/op-switch-id uint_val:2020"}},
		{"target of SONiC's server in the path", edit(req("/tam"), func(r *gpb.GetRequest) { r.Path[0].Target = "STATE_DB" }),
			"InvalidArgument", nil},
		{"config", edit(req(session), func(r *gpb.GetRequest) { r.Type = gpb.GetRequest_CONFIG }), "OK",
			[]string{session + `/name string_val:"s1"`, session + `/config/flowgroup string_val:"f1"`,
				session + `/config/name string_val:"s1"`}},
		{"operational", edit(req(session), func(r *gpb.GetRequest) { r.Type = gpb.GetRequest_OPERATIONAL }), "OK", []string{
			session + `/state/counters/matched-octets uint_val:18446744073709551615`,
			session + `/state/counters/matched-packets uint_val:7656`,
			session + `/state/counters/not-stamped/cut uint_val:56`, session + `/state/counters/stamped-packets uint_val:7600`,
			session + `/state/since string_val:"2026-01-02T03:04:05Z"`, session + `/state/status string_val:"active"`,
			session + `/state/status-number uint_val:1`,
		}},
		{"state", edit(req("/tam/flowgroups/flowgroup[name=f1]/ipv4"),
			func(r *gpb.GetRequest) { r.Type = gpb.GetRequest_STATE }), "OK", []string{
			`/tam/flowgroups/flowgroup[name=f1]/ipv4/state/destination-address string_val:"7.72.235.82/32"`,
			`/tam/flowgroups/flowgroup[name=f1]/ipv4/state/source-address string_val:"13.92.96.32"`,
		}},
		{"model without augments", edit(req(session+"/state"), func(r *gpb.GetRequest) {
			r.UseModels, r.Type = []*gpb.ModelData{{Name: "tamtam-status", Version: "0.1.0"}}, gpb.GetRequest_STATE
		}), "OK", []string{session + `/state/since string_val:"2026-01-02T03:04:05Z"`,
			session + `/state/status string_val:"active"`, session + `/state/status-number uint_val:1`}},
		{"unknown model", edit(req(session), func(r *gpb.GetRequest) { r.UseModels = []*gpb.ModelData{{Name: "x"}} }),
			"InvalidArgument", nil},
		{"unknown version of a model", edit(req(session), func(r *gpb.GetRequest) {
			r.UseModels = []*gpb.ModelData{{Name: "openconfig-tam", Version: "9"}}
		}), "InvalidArgument", nil},
		{"bytes", edit(req(session), func(r *gpb.GetRequest) { r.Encoding = gpb.Encoding_BYTES }), "Unimplemented", nil},
		{"ascii", edit(req(session), func(r *gpb.GetRequest) { r.Encoding = gpb.Encoding_ASCII }), "Unimplemented", nil},
		{"leaf-list", req("/tam/flowgroups/flowgroup[name=f1]/config/interfaces"), "OK",
			[]string{`/tam/flowgroups/flowgroup[name=f1]/config/interfaces leaflist_val:{element:{string_val:"Ethernet0"}}`}},
		{"boolean", req("/interfaces/interface[name=Ethernet0]/config/enabled"), "OK",
			[]string{"/interfaces/interface[name=Ethernet0]/config/enabled bool_val:true"}},
		{"access list", req("/acl/tables/table[name=TAM]/rules/rule[rule-name=f1]/state/matched-packets"), "OK",
			[]string{"/acl/tables/table[name=TAM]/rules/rule[rule-name=f1]/state/matched-packets uint_val:7656"}},
		{"access list that OpenConfig has no word for", req("/acl/acl-sets/acl-set[name=TAM][type=ACL_IPV4]"), "NotFound",
			nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			resp, err := b.client.Get(b.ctx, c.req)
			wantErr(t, err, c.code)
			var got []string
			for _, n := range resp.GetNotification() {
				if n.GetTimestamp() <= 0 || n.GetPrefix().GetTarget() != "" {
					t.Errorf("timestamp or prefix: %v", n)
				}
				for _, u := range n.GetUpdate() {
					got = append(got, tree.PathText(u.GetPath())+" "+strings.Join(strings.Fields(u.GetVal().String()), " "))
				}
			}
			for i := range got { // spaces in the text form of messages are not stable
				got[i] = strings.ReplaceAll(got[i], ": ", ":")
			}
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// A Get returns one Notification per path, in order, each with the target of the request.
func TestGetNotifications(t *testing.T) {
	b := newBed(t, nil)
	b.rows(someSwitch())
	resp, err := b.client.Get(b.ctx, &gpb.GetRequest{
		Prefix: &gpb.Path{Target: "sw1"},
		Path: []*gpb.Path{path("/tam/switch/state/op-switch-id"), path("/tam/collectors/collector[name=*]"),
			path("/tam/switch/state/op-switch-id")},
	})
	if err != nil || len(resp.GetNotification()) != 3 {
		t.Fatal(resp, err)
	}
	for i, n := range resp.GetNotification() {
		if n.GetPrefix().GetTarget() != "sw1" || len(n.GetUpdate()) != []int{1, 0, 1}[i] {
			t.Errorf("%d: %v", i, n)
		}
		for _, u := range n.GetUpdate() { // JSON is the default encoding
			if string(u.GetVal().GetJsonVal()) != "2020" {
				t.Error(u)
			}
		}
	}
}

// JSON has no module names and plain numbers.
func TestJSONEncodings(t *testing.T) {
	b := newBed(t, nil)
	b.rows(someSwitch())
	resp, err := b.client.Get(b.ctx, &gpb.GetRequest{Path: []*gpb.Path{
		path("/tam/tailstamping-sessions/tailstamping-session[name=s1]/state")}})
	if err != nil {
		t.Fatal(err)
	}
	got := string(resp.GetNotification()[0].GetUpdate()[0].GetVal().GetJsonVal())
	if !strings.Contains(got, `"matched-octets":18446744073709551615`) || strings.Contains(got, "tamtam-status:") {
		t.Error(got)
	}
	empty := newBed(t, nil)
	if got, err := empty.get("/"); err != nil || got != "{}" {
		t.Errorf("an empty tree is %s (%v)", got, err)
	}
}

func TestCapabilities(t *testing.T) {
	b := newBed(t, nil)
	c, err := b.client.Capabilities(b.ctx, &gpb.CapabilityRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if c.GetGNMIVersion() != "0.10.0" || len(c.GetSupportedEncodings()) != 3 {
		t.Error(c)
	}
	names := map[string]bool{}
	for _, m := range c.GetSupportedModels() {
		names[m.GetName()] = true
		if m.GetVersion() == "" || m.GetOrganization() == "" {
			t.Error(m)
		}
	}
	for _, m := range models.All() {
		if !names[m.Name] {
			t.Errorf("%s is not in the models", m.Name)
		}
	}
}
