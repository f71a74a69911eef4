package mgmt

import (
	"strings"
	"testing"

	"tamtam/mgmt/models"
	"tamtam/mgmt/tree"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

func TestGetJSON(t *testing.T) {
	b := newBed(t, nil)
	b.rows(someSwitch())
	for _, c := range []struct{ path, want string }{
		{"/tam/tailstamping-sessions/tailstamping-session[name=s1]", `{
			"openconfig-tam:name":"s1",
			"openconfig-tam:config":{"name":"s1","flowgroup":"f1"},
			"openconfig-tam:state":{"name":"s1","flowgroup":"f1",
				"tamtam-status:status":"active","tamtam-status:status-number":1,"tamtam-status:since":"2026-01-02T03:04:05Z",
				"counters":{"matched-packets":"7656","matched-octets":"18446744073709551615","stamped-packets":"7600",
				 "not-stamped":{"cut":"56"}}}}`},
		{"/openconfig-tam:tam/tailstamping-sessions/tailstamping-session[name=s1]/config/flowgroup", `"f1"`},
		{"/tam/tailstamping-sessions/tailstamping-session[name=s1]/state/counters/matched-packets", `"7656"`},
		{"/tam/flowgroups/flowgroup[name=f1]/config",
			`{"openconfig-tam:name":"f1","openconfig-tam:id":7,"openconfig-tam:priority":100,` +
				`"openconfig-tam:interfaces":["Ethernet0"]}`},
		{"/tam/flowgroups/flowgroup[name=f1]/ipv4/state",
			`{"openconfig-tam:source-address":"13.92.96.32","openconfig-tam:destination-address":"7.72.235.82/32"}`},
		{"/tam/flowgroups/flowgroup[name=f1]/state/packets", `"7656"`},
		{"/tam/flowgroups/flowgroup[name=f1]/transport/config/destination-port", `236`},
		{"/tam/switch/state", `{"openconfig-tam:op-switch-id":2020,"openconfig-tam:op-enterprise-id":2020}`},
		{"/tam/features-state/feature[feature-ref=TAILSTAMPING]/state/op-status", `"ACTIVE"`},
		{"/interfaces/interface[name=Ethernet0]/config",
			`{"openconfig-interfaces:name":"Ethernet0","openconfig-interfaces:type":"iana-if-type:ethernetCsmacd",` +
				`"openconfig-interfaces:mtu":9100,"openconfig-interfaces:enabled":true}`},
		{"/interfaces/interface[name=Ethernet4]/config/mtu", `9100`}, // the default
		{"/interfaces/interface[name=Ethernet0]/state/counters",
			`{"openconfig-interfaces:in-octets":"10","openconfig-interfaces:in-pkts":"3",` +
				`"openconfig-interfaces:in-unicast-pkts":"1","openconfig-interfaces:in-multicast-pkts":"2",` +
				`"openconfig-interfaces:in-broadcast-pkts":"0"}`},
		{"/interfaces/interface[name=Ethernet0]/state/tamtam-interfaces:alias", `"Eth1"`},
		{"/acl/tables/table[name=TAM]/rules/rule[rule-name=f1]/state/matched-octets", `"1000"`},
	} {
		got, err := b.get(c.path)
		if c.want == "" {
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
			continue
		}
		t.Run(strings.ReplaceAll(c.path, "/", " "), func(t *testing.T) { sameJSON(t, got, c.want) })
	}
	all, err := b.get("/")
	if err != nil {
		t.Fatal(err)
	}
	t.Log(all)
	_ = gpb.Encoding_JSON
}

// TestGet shows the rules of paths, types, encodings and models.
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
		{"unknown name", req("/tam/colectors"), "InvalidArgument", nil},
		{"unknown key", req("/tam/collectors/collector[id=c]"), "InvalidArgument", nil},
		{"key of a container", req("/tam[name=c]"), "InvalidArgument", nil},
		{"node of another module", req("/openconfig-acl:tam"), "InvalidArgument", nil},
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
			for i := range got { // the text form of messages is not stable in its spaces
				got[i] = strings.ReplaceAll(got[i], ": ", ":")
			}
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// TestGetNotifications: one Notification per path, in order, each with the
// target of the request.
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
		for _, u := range n.GetUpdate() { // the encoding is JSON by default
			if string(u.GetVal().GetJsonVal()) != "2020" {
				t.Error(u)
			}
		}
	}
}

// TestJSONEncodings: JSON has no module names and plain numbers.
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

// TestRowsOfOthers: rows that SONiC's tools write are understood.
func TestRowsOfOthers(t *testing.T) {
	b := newBed(t, nil)
	b.rows(map[string]string{
		"CONFIG_DB TAM_FLOWGROUP_TABLE|g": "table-name=OTHER",
		"CONFIG_DB ACL_RULE|OTHER|g": "priority=0x10 IP_PROTOCOL=017 ETHER_TYPE=0x86dd SRC_IPV6=::1/128 DSCP=46 " +
			"L4_SRC_PORT_RANGE=1-9 IN_PORTS@=Ethernet0,Ethernet4 TCP_FLAGS=0x12/0x02",
		"CONFIG_DB TAM_FLOWGROUP_TABLE|h": "NULL=NULL",
		"CONFIG_DB ACL_RULE|TAM|h":        "PRIORITY=nonsense TTL=3",
	})
	got, err := b.get("/tam/flowgroups")
	if err != nil {
		t.Fatal(err)
	}
	sameJSON(t, got, `{"openconfig-tam:flowgroup":[
		{"name":"g","config":{"name":"g","priority":16,"interfaces":["Ethernet0","Ethernet4"]},
		 "l2":{"config":{"ethertype":34525}},
		 "ipv4":{"config":{"protocol":15}},"ipv6":{"config":{"source-address":"::1/128","dscp":46}},
		  "transport":{"config":{"source-port":"1..9","tcp-flags":["TCP_SYN"]}},
		 "state":{"name":"g","tamtam-status:not-in-force":["nothing of it is in force yet"]}},
		{"name":"h","config":{"name":"h","priority":100,"other-fields":["PRIORITY=nonsense"]},
		 "ipv4":{"config":{"hop-limit":3}},
		 "state":{"name":"h","tamtam-status:not-in-force":
		  ["it is not valid as it is configured: PRIORITY \"nonsense\": want a number in 1..1024"]}}]}`)
}

// TestMatchesThatLeavesCannotSay: a number with a mask, flags that must not be
// set and the like are shown as they are written, in config and in state, never
// left out and never half; what leaves can say, they say.
func TestMatchesThatLeavesCannotSay(t *testing.T) {
	b := newBed(t, nil)
	const f1 = "/tam/flowgroups/flowgroup[name=f1]"
	for _, c := range []struct{ fields, other, leaf, value string }{
		{"IPV6_FLOW_LABEL=0x12345", "", "/ipv6/config/source-flow-label", "74565"},
		{"IPV6_FLOW_LABEL=0x12300/0xfff00", `["IPV6_FLOW_LABEL=0x12300/0xfff00"]`, "/ipv6/config/source-flow-label", ""},
		{"DSCP=8/0x38", `["DSCP=8/0x38"]`, "/ipv4/config/dscp", ""},
		{"DSCP=8/0x38 SRC_IPV6=2001:db8::/32", `["DSCP=8/0x38"]`, "/ipv6/config/source-address", `"2001:db8::/32"`},
		{"TTL=0/0xf0", `["TTL=0/0xf0"]`, "/ipv4/config/hop-limit", ""},
		{"HOP_LIMIT=9 ICMP_TYPE=8", `["HOP_LIMIT=9","ICMP_TYPE=8"]`, "/ipv4/config/hop-limit", ""},
		{"TCP_FLAGS=0x02/0x12", `["TCP_FLAGS=0x02/0x12"]`, "/transport/config/tcp-flags", ""},
		{"TCP_FLAGS=0x12/0x12", "", "/transport/config/tcp-flags", `["TCP_SYN","TCP_ACK"]`},
		{"SRC_IP=10.1.2.3 SRC_IP_MASK=255.0.255.0", `["SRC_IP=10.1.2.3","SRC_IP_MASK=255.0.255.0"]`,
			"/ipv4/config/source-address", ""},
		{"SRC_IP=10.1.2.3 SRC_IP_MASK=255.255.0.0", "", "/ipv4/config/source-address", `"10.1.0.0/16"`},
		{"L4_SRC_PORT=1 L4_SRC_PORT_RANGE=5-9", `["L4_SRC_PORT_RANGE=5-9"]`, "/transport/config/source-port", "1"},
		{"IP_TYPE=IP", `["IP_TYPE=IP"]`, "/config/ip-version", ""},
	} {
		b.rows(map[string]string{
			"CONFIG_DB TAM_FLOWGROUP_TABLE|f1": "table-name=TAM",
			"CONFIG_DB ACL_RULE|TAM|f1":        "PRIORITY=100 PACKET_ACTION=FORWARD " + c.fields,
			"APPL_DB ACL_RULE_TABLE:TAM:f1":    "PRIORITY=100 " + c.fields,
		})
		for path, want := range map[string]string{
			"/config/other-fields": c.other, "/state/other-fields": c.other, c.leaf: c.value,
			strings.Replace(c.leaf, "config", "state", 1): c.value,
		} {
			got, err := b.get(f1 + path)
			if want == "" && err == nil || want != "" && (err != nil || got != want) {
				t.Errorf("%s: %s is %s, %v; want %q", c.fields, path, got, err, want)
			}
		}
		b.rows(map[string]string{"CONFIG_DB ACL_RULE|TAM|f1": "", "APPL_DB ACL_RULE_TABLE:TAM:f1": ""})
	}
	b.rows(map[string]string{"CONFIG_DB ACL_TABLE|A": "TYPE=L3",
		"CONFIG_DB ACL_RULE|A|r": "PRIORITY=7 DSCP=8/0x38 PACKET_ACTION=DROP"})
	got, err := b.get("/acl/tables/table[name=A]/rules/rule[rule-name=r]/state/fields")
	if err != nil || got != `["DSCP=8/0x38","PACKET_ACTION=DROP"]` {
		t.Error(got, err)
	}
}

// TestSetOtherFields: what other-fields shows can be written back, and a replace
// takes it away.
func TestSetOtherFields(t *testing.T) {
	b := newBed(t, nil)
	const f1, rule = "/tam/flowgroups/flowgroup[name=f1]", "ACL_RULE|TAM|f1"
	set := func(req *gpb.SetRequest, want string) {
		t.Helper()
		if _, err := b.client.Set(b.ctx, req); err != nil {
			t.Error(err)
		}
		if got := b.row(rule); got != want {
			t.Errorf("rule %s, want %s", got, want)
		}
	}
	set(&gpb.SetRequest{
		Update: []*gpb.Update{
			update(f1, `{"name":"f1","config":{"name":"f1","other-fields":["DSCP=8/0x38","ICMP_TYPE=8"]}}`)}},
		"DSCP=8/0x38 ICMP_TYPE=8 PRIORITY=100")
	set(&gpb.SetRequest{Update: []*gpb.Update{update(f1+"/ipv4/config", `{"dscp":46}`)}},
		"DSCP=46 ICMP_TYPE=8 PRIORITY=100")
	_, err := b.client.Set(b.ctx, &gpb.SetRequest{Update: []*gpb.Update{update(f1+"/config/other-fields", `["DSCP=8"]`)}})
	wantErr(t, err, "InvalidArgument", "DSCP has a leaf of its own")
	set(&gpb.SetRequest{
		Replace: []*gpb.Update{update(f1, `{"name":"f1","config":{"name":"f1"},"ipv4":{"config":{"dscp":46}}}`)}},
		"DSCP=46 PRIORITY=100")
}
