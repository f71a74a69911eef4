package mgmt

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"tamtam/mgmt/tree"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

const (
	collectors = "/tam/collectors"
	c1         = "/tam/collectors/collector[name=c1]"
	flowgroups = "/tam/flowgroups"
	sessions   = "/tam/tailstamping-sessions"
)

// TestSet shows what a Set writes.
func TestSet(t *testing.T) {
	if testing.Short() {
		t.Skip("one request after the other: nothing for the race detector")
	}
	for _, c := range []struct {
		name string
		have map[string]string
		req  *gpb.SetRequest
		want map[string]string // rows of CONFIG_DB after it; empty: gone
	}{
		{name: "create with parents", req: &gpb.SetRequest{Update: []*gpb.Update{
			update(c1, `{"config":{"name":"c1","ip":"10.0.0.1","port":4739}}`)}},
			want: map[string]string{"TAM_COLLECTORS_TABLE|c1": "ipaddress=10.0.0.1 ipaddress-type=ipv4 port=4739 protocol=UDP"}},
		{name: "prefixed names, IPv6, TCP", req: &gpb.SetRequest{Update: []*gpb.Update{update("/openconfig-tam:tam",
			`{"openconfig-tam:collectors":{"collector":[{"name":"c1","openconfig-tam:config":{"ip":"2001:db8::1","port":1,`+
				`"protocol":"TCP"}}]}}`)}},
			want: map[string]string{"TAM_COLLECTORS_TABLE|c1": "ipaddress=2001:db8::1 ipaddress-type=ipv6 port=1 protocol=TCP"}},
		{name: "leaf by leaf", req: &gpb.SetRequest{Update: []*gpb.Update{
			{Path: path(c1 + "/config/ip"), Val: &gpb.TypedValue{Value: &gpb.TypedValue_StringVal{StringVal: "10.0.0.1"}}},
			{Path: path(c1 + "/config/port"), Val: &gpb.TypedValue{Value: &gpb.TypedValue_UintVal{UintVal: 9}}},
		}}, want: map[string]string{"TAM_COLLECTORS_TABLE|c1": "ipaddress=10.0.0.1 ipaddress-type=ipv4 port=9 protocol=UDP"}},
		{name: "delete, replace, update in this order", have: map[string]string{
			"CONFIG_DB TAM_SAMPLINGRATE_TABLE|x": "sampling-rate=1"},
			req: &gpb.SetRequest{
				Update:  []*gpb.Update{update("/tam/samplers/sampler[name=x]/config/sampling-rate", "3")},
				Replace: []*gpb.Update{update("/tam/samplers/sampler[name=x]/config/sampling-rate", "2")},
				Delete:  []*gpb.Path{path("/tam/samplers/sampler[name=x]")},
			}, want: map[string]string{"TAM_SAMPLINGRATE_TABLE|x": "sampling-rate=3"}},
		{name: "the last of two updates counts", req: &gpb.SetRequest{Update: []*gpb.Update{
			update("/tam/samplers/sampler[name=x]/config/sampling-rate", "1"),
			update("/tam/samplers/sampler[name=x]/config/sampling-rate", "2"),
		}}, want: map[string]string{"TAM_SAMPLINGRATE_TABLE|x": "sampling-rate=2"}},
		{name: "replace drops what it does not name", have: map[string]string{
			"CONFIG_DB TAM_COLLECTORS_TABLE|c1":  "ipaddress=10.0.0.1 ipaddress-type=ipv4 port=1 protocol=TCP",
			"CONFIG_DB TAM_SAMPLINGRATE_TABLE|x": "sampling-rate=1"},
			req: &gpb.SetRequest{Replace: []*gpb.Update{update(c1+"/config", `{"ip":"10.0.0.2","port":2}`)}},
			want: map[string]string{"TAM_COLLECTORS_TABLE|c1": "ipaddress=10.0.0.2 ipaddress-type=ipv4 port=2 protocol=UDP",
				"TAM_SAMPLINGRATE_TABLE|x": "sampling-rate=1"}},
		{name: "update leaves alone what it does not name", have: map[string]string{
			"CONFIG_DB TAM_COLLECTORS_TABLE|c1": "ipaddress=10.0.0.1 port=1 protocol=TCP"},
			req:  &gpb.SetRequest{Update: []*gpb.Update{update(c1+"/config", `{"port":2}`)}},
			want: map[string]string{"TAM_COLLECTORS_TABLE|c1": "ipaddress=10.0.0.1 port=2 protocol=TCP"}},
		{name: "replace of a list: exactly what it names", have: map[string]string{
			"CONFIG_DB TAM_SAMPLINGRATE_TABLE|b": "sampling-rate=1", "CONFIG_DB TAM_SAMPLINGRATE_TABLE|c": "sampling-rate=1"},
			req: &gpb.SetRequest{Replace: []*gpb.Update{update("/tam/samplers/sampler",
				`[{"name":"a","config":{"sampling-rate":2}},{"name":"b","config":{"sampling-rate":2}}]`)}},
			want: map[string]string{"TAM_SAMPLINGRATE_TABLE|a": "sampling-rate=2", "TAM_SAMPLINGRATE_TABLE|b": "sampling-rate=2",
				"TAM_SAMPLINGRATE_TABLE|c": ""}},
		{name: "update of a list adds", have: map[string]string{"CONFIG_DB TAM_SAMPLINGRATE_TABLE|b": "sampling-rate=1",
			"CONFIG_DB TAM_SAMPLINGRATE_TABLE|c": "sampling-rate=1"},
			req: &gpb.SetRequest{Update: []*gpb.Update{update("/tam/samplers",
				`{"sampler":[{"name":"a","config":{"sampling-rate":2}}]}`)}},
			want: map[string]string{"TAM_SAMPLINGRATE_TABLE|a": "sampling-rate=2", "TAM_SAMPLINGRATE_TABLE|b": "sampling-rate=1",
				"TAM_SAMPLINGRATE_TABLE|c": "sampling-rate=1"}},
		{name: "delete with a wildcard", have: map[string]string{"CONFIG_DB TAM_SAMPLINGRATE_TABLE|b": "sampling-rate=1",
			"CONFIG_DB TAM_SAMPLINGRATE_TABLE|c": "sampling-rate=1"},
			req:  &gpb.SetRequest{Delete: []*gpb.Path{path("/tam/samplers/sampler[name=*]")}},
			want: map[string]string{"TAM_SAMPLINGRATE_TABLE|b": "", "TAM_SAMPLINGRATE_TABLE|c": ""}},
		{name: "delete of what is not there", req: &gpb.SetRequest{Delete: []*gpb.Path{path("/tam/samplers/sampler[name=x]"),
			path("/tam/switch/config/switch-id")}}},
		{name: "empty", req: &gpb.SetRequest{}},
		{name: "switch-id, and its default again", have: map[string]string{
			"CONFIG_DB TAM_SWITCH_TABLE|global": "switch-id=5 enterprise-id=6"},
			req: &gpb.SetRequest{Delete: []*gpb.Path{path("/tam/switch/config/enterprise-id")},
				Update: []*gpb.Update{update("/tam/switch/config", `{"switch-id":7}`)}},
			want: map[string]string{"TAM_SWITCH_TABLE|global": "switch-id=7"}},
		{name: "a flow group is two rows", req: &gpb.SetRequest{Update: []*gpb.Update{update(flowgroups+"/flowgroup[name=f2]",
			`{"config":{"name":"f2","id":3},"ipv4":{"config":{"source-address":"10.0.0.0/8","protocol":6}},`+
				`"transport":{"config":{"destination-port":"80..90","tcp-flags":["TCP_SYN"]}},"l2":{"config":{"ethertype":2048,`+
				`"source-mac":"00:11:22:33:44:55","source-mac-mask":"FF:FF:00:00:00:00"}}}`)}},
			want: map[string]string{
				"TAM_FLOWGROUP_TABLE|f2": "id=3 table-name=TAM",
				"ACL_RULE|TAM|f2": "ETHER_TYPE=0x0800 IP_PROTOCOL=6 L4_DST_PORT_RANGE=80-90 PRIORITY=100 " +
					"SRC_IP=10.0.0.0/8 SRC_MAC=00:11:22:33:44:55/ff:ff:00:00:00:00 TCP_FLAGS=0x02/0x02",
			}},
		{name: "dscp of IPv6 alone", req: &gpb.SetRequest{Update: []*gpb.Update{
			update(flowgroups+"/flowgroup[name=f2]/ipv6/config", `{"dscp":46}`)}},
			want: map[string]string{"ACL_RULE|TAM|f2": "DSCP=46 IP_TYPE=IPV6ANY PRIORITY=100"}},
		{name: "dscp of IPv6 with an address", req: &gpb.SetRequest{
			Update: []*gpb.Update{update(flowgroups+"/flowgroup[name=f2]/ipv6/config", `{"dscp":46,"source-address":"::1"}`)}},
			want: map[string]string{"ACL_RULE|TAM|f2": "DSCP=46 PRIORITY=100 SRC_IPV6=::1"}},
		{name: "range becomes a port", have: map[string]string{"CONFIG_DB TAM_FLOWGROUP_TABLE|f2": "id=1",
			"CONFIG_DB ACL_RULE|TAM|f2": "PRIORITY=5 L4_SRC_PORT_RANGE=1-2"},
			req: &gpb.SetRequest{Update: []*gpb.Update{update(flowgroups+"/flowgroup[name=f2]/transport/config/source-port",
				`7`)}},
			want: map[string]string{"ACL_RULE|TAM|f2": "L4_SRC_PORT=7 PRIORITY=5", "TAM_FLOWGROUP_TABLE|f2": "id=1"}},
		{name: "deleting a flow group deletes both rows", have: map[string]string{
			"CONFIG_DB TAM_FLOWGROUP_TABLE|f2": "NULL=NULL", "CONFIG_DB ACL_RULE|TAM|f2": "PRIORITY=5"},
			req:  &gpb.SetRequest{Delete: []*gpb.Path{path(flowgroups + "/flowgroup[name=f2]")}},
			want: map[string]string{"TAM_FLOWGROUP_TABLE|f2": "", "ACL_RULE|TAM|f2": ""}},
		{name: "attach: update of a leaf-list adds", have: someSwitch(),
			req: &gpb.SetRequest{Update: []*gpb.Update{update(flowgroups+"/flowgroup[name=f1]/config/interfaces",
				`["Ethernet4"]`)}},
			want: map[string]string{
				"ACL_RULE|TAM|f1": "DST_IP=7.72.235.82/32 IN_PORTS=Ethernet0,Ethernet4 L4_DST_PORT=236 PRIORITY=100 " +
					"SRC_IP=13.92.96.32"}},
		{name: "replace of a leaf-list sets", have: someSwitch(), req: &gpb.SetRequest{
			Replace: []*gpb.Update{update(flowgroups+"/flowgroup[name=f1]/config/interfaces", `["Ethernet4"]`)}},
			want: map[string]string{
				"ACL_RULE|TAM|f1": "DST_IP=7.72.235.82/32 IN_PORTS=Ethernet4 L4_DST_PORT=236 PRIORITY=100 SRC_IP=13.92.96.32"}},
		{name: "detach one", have: someSwitch(), req: &gpb.SetRequest{
			Delete: []*gpb.Path{path(flowgroups + "/flowgroup[name=f1]/config/interfaces[.=Ethernet0]")}},
			want: map[string]string{"ACL_RULE|TAM|f1": "DST_IP=7.72.235.82/32 L4_DST_PORT=236 PRIORITY=100 SRC_IP=13.92.96.32"}},
		{name: "flow group and session in one", req: &gpb.SetRequest{Update: []*gpb.Update{
			update(sessions+"/tailstamping-session[name=s2]/config/flowgroup", `"f2"`),
			update(flowgroups+"/flowgroup[name=f2]/config", `{"name":"f2"}`),
		}}, want: map[string]string{"TAM_TAILSTAMPING_TABLE|s2": "flowgroup=f2", "TAM_FLOWGROUP_TABLE|f2": "table-name=TAM"}},
		{name: "both away in one", have: someSwitch(), req: &gpb.SetRequest{
			Delete: []*gpb.Path{path(flowgroups), path(sessions)}},
			want: map[string]string{"TAM_TAILSTAMPING_TABLE|s1": "", "TAM_FLOWGROUP_TABLE|f1": "", "ACL_RULE|TAM|f1": ""}},
		{name: "a port's settings", have: someSwitch(), req: &gpb.SetRequest{
			Update: []*gpb.Update{update("/interfaces/interface[name=Ethernet4]/config",
				`{"enabled":true,"mtu":1500,"type":"iana-if-type:ethernetCsmacd"}`)}},
			want: map[string]string{"PORT|Ethernet4": "admin_status=up alias=Eth2 index=2 lanes=4,5,6,7 mtu=1500 speed=100000"}},
		{name: "replace keeps what YANG does not know", have: someSwitch(),
			req: &gpb.SetRequest{Replace: []*gpb.Update{update("/interfaces/interface[name=Ethernet0]/config",
				`{"mtu":1500}`)}},
			want: map[string]string{"PORT|Ethernet0": "alias=Eth1 index=1 lanes=0,1,2,3 mtu=1500 speed=100000"}},
		{name: "an alias that was there stays", have: map[string]string{"CONFIG_DB TAM_FLOWGROUP_TABLE|f2": "id=1",
			"CONFIG_DB ACL_RULE|TAM|f2": "PRIORITY=5 IN_PORTS=Eth1/1"},
			req:  &gpb.SetRequest{Update: []*gpb.Update{update(flowgroups+"/flowgroup[name=f2]/config/priority", `7`)}},
			want: map[string]string{"ACL_RULE|TAM|f2": "IN_PORTS=Eth1/1 PRIORITY=7"}},
		{name: "port channel with a member, VLAN with one", have: someSwitch(), req: &gpb.SetRequest{Update: []*gpb.Update{
			update("/interfaces/interface[name=PortChannel1]/aggregation/members/member[interface=Ethernet4]", `{}`),
			update("/vlans/vlan[vlan-id=10]/members/member[interface=PortChannel1]/config", `{"tagging-mode":"UNTAGGED"}`),
		}}, want: map[string]string{
			"PORTCHANNEL|PortChannel1": "admin_status=up mtu=9100", "PORTCHANNEL_MEMBER|PortChannel1|Ethernet4": "NULL=NULL",
			"VLAN|Vlan10": "vlanid=10", "VLAN_MEMBER|Vlan10|PortChannel1": "tagging_mode=untagged",
		}},
		{name: "a routed VLAN, routes and a neighbour", have: someSwitch(), req: &gpb.SetRequest{Update: []*gpb.Update{
			update("/routing/interfaces/interface[name=Vlan10]/addresses/address[prefix=10.0.0.1/24]", `{}`),
			update("/routing/interfaces/interface[name=Ethernet4]/config", `{"mtu":1500}`),
			update("/routing/static-routes/route[prefix=10.9.0.0/16]/config", `{"next-hop":["10.0.0.2","10.0.0.3@Vlan10#5"]}`),
			update("/routing/static-routes/route[prefix=::/0]/config", `{"next-hop":["blackhole"]}`),
			update("/routing/neighbors/neighbor[interface=Vlan10][address=2001:db8::2]/config",
				`{"mac-address":"02:00:00:00:00:02"}`),
			update("/fdb",
				`{"config":{"aging-time":30},"static-entries":{"entry":[{"vlan-id":10,"mac-address":"02:00:00:00:00:03",`+
					`"config":{"port":"Ethernet4"}}]}}`),
		}}, want: map[string]string{
			"VLAN_INTERFACE|Vlan10": "NULL=NULL", "VLAN_INTERFACE|Vlan10|10.0.0.1/24": "NULL=NULL",
			"INTERFACE|Ethernet4":      "mtu=1500",
			"STATIC_ROUTE|10.9.0.0/16": "distance=0,5 ifname=,Vlan10 nexthop=10.0.0.2,10.0.0.3",
			"STATIC_ROUTE|::/0":        "blackhole=true",
			"NEIGH|Vlan10|2001:db8::2": "family=IPv6 neigh=02:00:00:00:00:02", "FDB|Vlan10|02:00:00:00:00:03": "port=Ethernet4",
			"SWITCH|switch": "fdb_aging_time=30",
		}},
		{name: "one way of a route less",
			have: map[string]string{
				"CONFIG_DB STATIC_ROUTE|10.9.0.0/16": "nexthop=10.0.0.2,10.0.0.3,0.0.0.0 ifname=,Vlan10,Vlan20 distance=1,1,9"},
			req: &gpb.SetRequest{
				Delete: []*gpb.Path{path("/routing/static-routes/route[prefix=10.9.0.0/16]/config/next-hop[.=10.0.0.2#1]")}},
			want: map[string]string{"STATIC_ROUTE|10.9.0.0/16": "distance=1,9 ifname=Vlan10,Vlan20 nexthop=10.0.0.3,"}},
		{name: "a routed interface goes with its addresses", have: map[string]string{
			"CONFIG_DB VLAN_INTERFACE|Vlan10": "NULL=NULL", "CONFIG_DB VLAN_INTERFACE|Vlan10|10.0.0.1/24": "NULL=NULL"},
			req:  &gpb.SetRequest{Delete: []*gpb.Path{path("/routing/interfaces/interface[name=Vlan10]")}},
			want: map[string]string{"VLAN_INTERFACE|Vlan10": "", "VLAN_INTERFACE|Vlan10|10.0.0.1/24": ""}},
		{name: "breakout", have: someSwitch(), req: &gpb.SetRequest{Update: []*gpb.Update{
			update("/interfaces/interface[name=Ethernet4]/breakout-mode/groups/group[index=1]/config",
				`{"num-breakouts":2,"breakout-speed":"SPEED_50GB"}`),
		}}, want: map[string]string{
			"PORT|Ethernet4":         "alias=Eth2/1 index=2 lanes=4,5 speed=50000",
			"PORT|Ethernet6":         "alias=Eth2/2 index=2 lanes=6,7 speed=50000",
			"BREAKOUT_CFG|Ethernet4": "brkout_mode=2x50G", "PORT|Ethernet5": "",
		}},
		{name: "breakout of what is broken out", have: brokenOut(), req: &gpb.SetRequest{Update: []*gpb.Update{
			update("/interfaces/interface[name=Ethernet4]/breakout-mode/groups/group[index=1]/config",
				`{"num-breakouts":4,"breakout-speed":"SPEED_25GB"}`),
		}}, want: map[string]string{
			"PORT|Ethernet4": "alias=Eth2/1 index=2 lanes=4 speed=25000",
			"PORT|Ethernet5": "alias=Eth2/2 index=2 lanes=5 speed=25000",
			"PORT|Ethernet6": "alias=Eth2/3 index=2 lanes=6 speed=25000",
			"PORT|Ethernet7": "alias=Eth2/4 index=2 lanes=7 speed=25000",
		}},
		{name: "no breakout: one port again", have: brokenOut(), req: &gpb.SetRequest{
			Delete: []*gpb.Path{path("/interfaces/interface[name=Ethernet4]/breakout-mode")}},
			want: map[string]string{"PORT|Ethernet4": "alias=Eth2 index=2 lanes=4,5,6,7 speed=100000", "PORT|Ethernet6": "",
				"BREAKOUT_CFG|Ethernet4": ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBed(t, nil)
			b.rows(c.have)
			resp := b.mustSet(c.req)
			for _, key := range tree.SortedKeys(c.want) {
				if got := b.row(key); got != c.want[key] {
					t.Errorf("%s: %q, want %q", key, got, c.want[key])
				}
			}
			var ops []string
			for _, r := range resp.GetResponse() {
				ops = append(ops, r.GetOp().String()+" "+tree.PathText(r.GetPath()))
			}
			var want []string
			for _, p := range c.req.GetDelete() {
				want = append(want, "DELETE "+tree.PathText(p))
			}
			for _, u := range c.req.GetReplace() {
				want = append(want, "REPLACE "+tree.PathText(u.GetPath()))
			}
			for _, u := range c.req.GetUpdate() {
				want = append(want, "UPDATE "+tree.PathText(u.GetPath()))
			}
			if fmt.Sprint(ops) != fmt.Sprint(want) || resp.GetTimestamp() <= 0 {
				t.Errorf("results %v at %d, want %v", ops, resp.GetTimestamp(), want)
			}
		})
	}
}

func brokenOut() map[string]string {
	rows := someSwitch()
	rows["CONFIG_DB PORT|Ethernet4"] = "lanes=4,5 speed=50000 alias=Eth2/1 index=2"
	rows["CONFIG_DB PORT|Ethernet6"] = "lanes=6,7 speed=50000 alias=Eth2/2 index=2"
	rows["CONFIG_DB BREAKOUT_CFG|Ethernet4"] = "brkout_mode=2x50G"
	return rows
}

// TestSetRefused shows what a Set refuses, and that it then changes nothing.
func TestSetRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("one request after the other: nothing for the race detector")
	}
	up := func(p, v string) *gpb.SetRequest {
		return &gpb.SetRequest{Update: []*gpb.Update{update(p, v)}}
	}
	val := func(p string, v *gpb.TypedValue) *gpb.SetRequest {
		return &gpb.SetRequest{Update: []*gpb.Update{{Path: path(p), Val: v}}}
	}
	del := func(p string) *gpb.SetRequest { return &gpb.SetRequest{Delete: []*gpb.Path{path(p)}} }
	for _, c := range []struct {
		name  string
		req   *gpb.SetRequest
		code  string
		words []string
	}{
		{"the last of three is bad", &gpb.SetRequest{
			Delete: []*gpb.Path{path(sessions)},
			Update: []*gpb.Update{update("/tam/samplers/sampler[name=a]/config/sampling-rate", "1"),
				update(c1+"/config/port", "0")},
		}, "InvalidArgument", []string{"/tam/collectors/collector[name=c1]/config/port", "1..65535"}},
		{"range", up(c1+"/config/port", "70000"), "InvalidArgument", []string{c1 + "/config/port", "70000"}},
		{"wrong JSON type", up(c1+"/config/port", `"4739"`), "InvalidArgument", []string{"uint16"}},
		{"wrong scalar", val(c1+"/config/port", &gpb.TypedValue{Value: &gpb.TypedValue_StringVal{StringVal: "1"}}),
			"InvalidArgument", []string{"uint16"}},
		{"enumeration", up(c1+"/config/protocol", `"SCTP"`), "InvalidArgument", []string{"SCTP", "TCP, UDP"}},
		{"pattern", up(c1+"/config/ip", `"10.0.0.256"`), "InvalidArgument", []string{"10.0.0.256"}},
		{"name", up("/tam/samplers/sampler[name=a|b]/config/sampling-rate", "1"), "InvalidArgument", []string{"key name"}},
		{"key without name in a list", up("/tam/samplers", `{"sampler":[{"config":{"sampling-rate":1}}]}`), "InvalidArgument",
			[]string{"key name: is missing"}},
		{"mandatory", up("/tam/samplers/sampler[name=a]", `{}`), "InvalidArgument", []string{"sampling-rate: is missing"}},
		{"all that is wrong at once",
			up("/tam/collectors", `{"collector":[{"name":"a","config":{"port":0}},{"name":"b","config":{"ip":"x"}}]}`),
			"InvalidArgument", []string{"[name=a]/config/port", "[name=b]/config/ip"}},
		{"unknown path", up("/tam/colectors", `{}`), "NotFound", []string{`no node "colectors"`, "collectors"}},
		{"unknown member", up("/tam", `{"colectors":{}}`), "InvalidArgument", []string{`no member "colectors"`}},
		{"member of another module", up("/tam", `{"openconfig-acl:collectors":{}}`), "InvalidArgument",
			[]string{"no member"}},
		{"element without a name", &gpb.SetRequest{Delete: []*gpb.Path{{Elem: []*gpb.PathElem{{Name: "tam"}, {}}}}},
			"InvalidArgument", []string{"has no name"}},
		{"some of the keys", up("/tam/samplers/sampler/config/sampling-rate", "1"), "InvalidArgument", []string{"every key"}},
		{"key that contradicts", up("/tam/samplers/sampler[name=a]", `{"name":"b","config":{"sampling-rate":1}}`),
			"InvalidArgument", []string{`"b" is not the key "a"`}},
		{"list where one entry is meant", up("/tam/samplers/sampler[name=a]", `[]`), "InvalidArgument",
			[]string{"no JSON object"}},
		{"bad JSON", up(c1, `{"config":`), "InvalidArgument", []string{"bad JSON"}},
		{"no UTF-8", up("/interfaces/interface[name=Ethernet0]/config/description", "\"\xff\""), "InvalidArgument",
			[]string{"not UTF-8"}},
		{"more than one JSON value", up(c1, `{} {}`), "InvalidArgument", []string{"more than one"}},
		{"ascii", val(c1+"/config/ip", &gpb.TypedValue{Value: &gpb.TypedValue_AsciiVal{AsciiVal: "x"}}), "Unimplemented",
			nil},
		{"ascii for a container", val(c1, &gpb.TypedValue{Value: &gpb.TypedValue_AsciiVal{AsciiVal: "x"}}), "Unimplemented",
			nil},
		{"any", val(c1+"/config/ip", &gpb.TypedValue{Value: &gpb.TypedValue_AnyVal{}}), "Unimplemented", nil},
		{"scalar for a container", val(c1, &gpb.TypedValue{Value: &gpb.TypedValue_StringVal{StringVal: "x"}}),
			"InvalidArgument", []string{"container"}},
		{"no value", val(c1, nil), "InvalidArgument", []string{"missing"}},
		{"state", up("/tam/switch/state/op-switch-id", "1"), "InvalidArgument", []string{"read-only"}},
		{"state in a value", up("/tam/switch", `{"state":{"op-switch-id":1}}`), "InvalidArgument", []string{"read-only"}},
		{"delete of state", del("/tam/switch/state"), "InvalidArgument", []string{"read-only"}},
		{"delete of a key", del("/tam/flowgroups/flowgroup[name=f1]/config/name"), "InvalidArgument", []string{"key"}},
		{"access lists", up("/acl/acl-sets/acl-set[name=T][type=ACL_IPV4]/config/description", `"x"`), "InvalidArgument",
			[]string{"read-only"}},
		{"unknown origin", &gpb.SetRequest{Prefix: &gpb.Path{Origin: "cli"}, Update: []*gpb.Update{update("/tam", "{}")}},
			"Unimplemented", []string{"origin"}},
		{"reference to nothing", up(sessions+"/tailstamping-session[name=s2]/config/flowgroup", `"nope"`), "InvalidArgument",
			[]string{"[name=s2]/config/flowgroup", "there is no flowgroup nope"}},
		{"in use", del("/tam/flowgroups/flowgroup[name=f1]"), "FailedPrecondition",
			[]string{"[name=f1]", "in use by tailstamping-session s1"}},
		{"in use, by replace", &gpb.SetRequest{Replace: []*gpb.Update{update(flowgroups, `{}`)}}, "FailedPrecondition",
			[]string{"in use by tailstamping-session s1"}},
		{"two flow groups of one id", up("/tam/flowgroups/flowgroup[name=f2]/config/id", "7"), "InvalidArgument",
			[]string{"7 is that of flowgroup"}},
		{"both families", up("/tam/flowgroups/flowgroup[name=f1]/ipv6/config/source-address", `"::1"`), "InvalidArgument",
			[]string{"[name=f1]", "exclude each other"}},
		{"mask without address", up("/tam/flowgroups/flowgroup[name=f2]/l2/config/source-mac-mask", `"ff:ff:ff:ff:ff:ff"`),
			"InvalidArgument", []string{"needs its address"}},
		{"backward range", up("/tam/flowgroups/flowgroup[name=f1]/transport/config/source-port", `"9..8"`), "InvalidArgument",
			[]string{"9..8"}},
		{"prefix that is none", up("/tam/flowgroups/flowgroup[name=f1]/ipv6/config/source-address", `":::::"`),
			"InvalidArgument", []string{":::::"}},
		{"interface that is not there", up("/tam/flowgroups/flowgroup[name=f1]/config/interfaces", `["Ethernet8"]`),
			"InvalidArgument", []string{"there is no interface Ethernet8"}},
		{"port out of nothing", up("/interfaces/interface[name=Ethernet8]/config/mtu", "1500"), "InvalidArgument",
			[]string{"cannot be created", "breakout"}},
		{"port into nothing", del("/interfaces/interface[name=Ethernet0]"), "InvalidArgument",
			[]string{"cannot be deleted", "breakout"}},
		{"another type of interface", up("/interfaces/interface[name=Ethernet0]/config/type", `"ieee8023adLag"`),
			"InvalidArgument", []string{"ethernetCsmacd"}},
		{"breakout of a port in use", up("/interfaces/interface[name=Ethernet0]/breakout-mode/groups/group[index=1]/config",
			`{"num-breakouts":8,"breakout-speed":"SPEED_10GB"}`), "InvalidArgument", []string{"4 lanes", "8 ports"}},
		{"unsupported feature", up("/tam/features/feature[feature-ref=FLYMON]/config/status", `"ACTIVE"`),
			"FailedPrecondition", []string{"FLYMON", "UNSUPPORTED", "no sketches"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBed(t, nil)
			b.rows(someSwitch())
			b.rows(map[string]string{
				"APPL_DB SWITCH_TABLE:switch": "tam-tailstamping-capable=true tam-flymon-capable=false " +
					"tam-flymon-reason=no_sketches"})
			before := b.config()
			_, err := b.client.Set(b.ctx, c.req)
			wantErr(t, err, c.code, c.words...)
			if after := b.config(); after != before {
				t.Errorf("CONFIG_DB changed from\n%s\nto\n%s", before, after)
			}
		})
	}
}

// TestInUsePorts: breakout cannot take away a port that something refers to.
func TestInUsePorts(t *testing.T) {
	b := newBed(t, nil)
	b.rows(brokenOut())
	b.rows(map[string]string{
		"CONFIG_DB ACL_RULE|TAM|f1":                           "PRIORITY=100 IN_PORTS=Ethernet0,Ethernet6",
		"CONFIG_DB PORTCHANNEL|PortChannel1":                  "admin_status=up",
		"CONFIG_DB PORTCHANNEL_MEMBER|PortChannel1|Ethernet6": "NULL=NULL",
	})
	_, err := b.client.Set(b.ctx, &gpb.SetRequest{Delete: []*gpb.Path{
		path("/interfaces/interface[name=Ethernet4]/breakout-mode")}})
	wantErr(t, err, "FailedPrecondition", "interface[name=Ethernet6]", "flowgroup f1",
		"interface PortChannel1 member Ethernet6")
}

// TestConcurrentSets: Sets on the same entry are one after the other.
func TestConcurrentSets(t *testing.T) {
	b := newBed(t, nil)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 5 {
				p := fmt.Sprintf(`{"ip":"10.0.0.%d","port":%d}`, i+1, i+1)
				if _, err := b.client.Set(b.ctx, &gpb.SetRequest{Replace: []*gpb.Update{update(c1+"/config", p)}}); err != nil {
					t.Error(err)
				}
				got, err := b.get(c1 + "/config")
				var x, y int
				for _, f := range strings.Split(got, ",") {
					fmt.Sscanf(f, `"openconfig-tam:port":%d`, &x)
					fmt.Sscanf(f, `{"openconfig-tam:ip":"10.0.0.%d"`, &y)
					fmt.Sscanf(f, `"openconfig-tam:ip":"10.0.0.%d"`, &y)
				}
				if err != nil || x != y {
					t.Errorf("half a Set is seen: %s (%v)", got, err)
				}
			}
		})
	}
	wg.Wait()
}

// TestForeignWriter: a Set keeps what somebody else writes meanwhile.
func TestForeignWriter(t *testing.T) {
	b := newBed(t, nil)
	b.rows(someSwitch())
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 200 {
			b.rows(map[string]string{"CONFIG_DB TAM_SWITCH_TABLE|global": fmt.Sprintf("enterprise-id=%d", i+1)})
		}
	})
	for i := range 50 {
		_, err := b.client.Set(b.ctx, &gpb.SetRequest{Update: []*gpb.Update{
			update("/tam/switch/config/switch-id", fmt.Sprint(i+1))}})
		if err != nil && !strings.Contains(err.Error(), "kept writing") {
			t.Fatal(err)
		}
	}
	wg.Wait()
	b.mustSet(&gpb.SetRequest{Update: []*gpb.Update{update("/tam/switch/config/switch-id", "77")}})
	if got := b.row("TAM_SWITCH_TABLE|global"); got != "enterprise-id=200 switch-id=77" {
		t.Error(got)
	}
}

// TestAllErrorsOfASet: what is missing, what is referred to and not there, what
// is in use and what is taken are told at once.
func TestAllErrorsOfASet(t *testing.T) {
	b := newBed(t, nil)
	b.rows(someSwitch())
	_, err := b.client.Set(b.ctx, &gpb.SetRequest{
		Delete: []*gpb.Path{path("/tam/flowgroups/flowgroup[name=f1]")},
		Update: []*gpb.Update{
			update(c1, `{"config":{"name":"c1","ip":"10.0.0.1"}}`),
			update("/tam/tailstamping-sessions/tailstamping-session[name=s2]", `{"name":"s2","config":{"flowgroup":"none"}}`),
			update("/tam/samplers/sampler[name=x]", `{"name":"x"}`),
		},
	})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{"collector[name=c1]", "there is no flowgroup none", "sampler[name=x]",
		"in use by tailstamping-session s1"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not among the errors:\n%v", want, err)
		}
	}
	var many []*gpb.Update
	for i := range 25 {
		many = append(many, update(fmt.Sprintf("/tam/samplers/sampler[name=x%d]", i), fmt.Sprintf(`{"name":"x%d"}`, i)))
	}
	_, err = b.client.Set(b.ctx, &gpb.SetRequest{Update: many})
	if err == nil || !strings.HasSuffix(err.Error(), "and 5 more") {
		t.Errorf("25 errors: %v", err)
	}
}
