package mgmt

import (
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tamtam/mgmt/tree"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// The only network instance has the VLANs, the MAC addresses and the static routes.
func TestNetworkInstance(t *testing.T) {
	const ni = "/network-instances/network-instance[name=default]"
	static := func(prefix string) string {
		return ni + "/protocols/protocol[identifier=STATIC][name=static]/static-routes/static[prefix=" + prefix + "]"
	}
	ours := func(prefix string) string {
		return "/routing/static-routes/route[prefix=" + prefix + "]/state/next-hop"
	}
	shows(t, map[string]string{
		"CONFIG_DB DEVICE_METADATA|localhost":         "hostname=leaf1",
		"CONFIG_DB VLAN|Vlan10":                       "vlanid=10",
		"CONFIG_DB VLAN|Vlan20":                       "vlanid=20 admin_status=down",
		"APPL_DB VLAN_TABLE:Vlan10":                   "admin_status=up",
		"STATE_DB FDB_TABLE|Vlan10:02:00:00:00:00:01": "port=Ethernet0 type=dynamic",
		"CONFIG_DB STATIC_ROUTE|10.9.0.0/16": "nexthop=10.0.0.2,10.0.0.3,0.0.0.0 ifname=,Vlan10,Ethernet4 " +
			"distance=0,5,0",
		"CONFIG_DB STATIC_ROUTE|default|::/0":        "blackhole=true",
		"APPL_DB ROUTE_TABLE:::/0":                   "blackhole=true protocol=static",
		"APPL_DB ROUTE_TABLE:10.9.0.0/16":            "nexthop=10.0.0.3 ifname=Vlan10 protocol=static",
		"CONFIG_DB STATIC_ROUTE|default|10.8.0.0/16": "nexthop=10.0.0.2,10.0.0.1",
		"APPL_DB ROUTE_TABLE:10.8.0.0/16":            "nexthop=10.0.0.2 ifname=Ethernet0 protocol=static",
		"CONFIG_DB STATIC_ROUTE|10.7.0.0/16":         "nexthop=10.0.0.2",
		"APPL_DB ROUTE_TABLE:10.7.0.0/16":            "nexthop=10.0.0.2 ifname=Ethernet0 protocol=bgp",
	}, map[string]string{
		ni + "/state": `{"openconfig-network-instance:name":"default",` +
			`"openconfig-network-instance:type":"openconfig-network-instance-types:DEFAULT_INSTANCE"}`,
		ni + "/vlans": `{"openconfig-network-instance:vlan":[
			{"vlan-id":10,"config":{"vlan-id":10,"name":"Vlan10","status":"ACTIVE"},"state":{"vlan-id":10,"name":"Vlan10",
			 "status":"ACTIVE"}},
			{"vlan-id":20,"config":{"vlan-id":20,"name":"Vlan20","status":"SUSPENDED"},"state":{"vlan-id":20}}]}`,
		ni + "/fdb/mac-table/entries/entry[mac-address=02:00:00:00:00:01][vlan=10]": `{
			"openconfig-network-instance:mac-address":"02:00:00:00:00:01",
			"openconfig-network-instance:vlan":10,"openconfig-network-instance:config":{"mac-address":"02:00:00:00:00:01",
			 "vlan":10},
			"openconfig-network-instance:state":{"mac-address":"02:00:00:00:00:01","vlan":10,"entry-type":"DYNAMIC"},
			"openconfig-network-instance:interface":{"interface-ref":{"state":{"interface":"Ethernet0"}}}}`,
		static("10.9.0.0/16") + "/next-hops/next-hop[index=1]": `{"openconfig-network-instance:index":"1",
			"openconfig-network-instance:config":{"index":"1","next-hop":"10.0.0.3","metric":5,"recurse":false},
			"openconfig-network-instance:state":{"index":"1","next-hop":"10.0.0.3","metric":5,"recurse":false},
			"openconfig-network-instance:interface-ref":{"config":{"interface":"Vlan10"},"state":{"interface":"Vlan10"}}}`,
		static("10.9.0.0/16") + "/next-hops/next-hop[index=2]/config/next-hop": `"openconfig-local-routing:LOCAL_LINK"`,
		static("10.9.0.0/16") + "/next-hops/next-hop[index=3]":                 "",
		// State is what is in force: of the two hops one, and none of a route that another protocol has.
		static("10.8.0.0/16") + "/next-hops/next-hop[index=0]/state": `{"openconfig-network-instance:index":"0",
			"openconfig-network-instance:next-hop":"10.0.0.2","openconfig-network-instance:recurse":false}`,
		static("10.8.0.0/16") + "/next-hops/next-hop[index=1]/state":           "",
		static("10.8.0.0/16") + "/next-hops/next-hop[index=1]/config/next-hop": `"10.0.0.1"`,
		static("10.7.0.0/16") + "/next-hops/next-hop[index=0]/state":           "",
		ours("10.9.0.0/16"): `["10.0.0.3@Vlan10#5"]`,
		ours("10.8.0.0/16"): `["10.0.0.2"]`,
		ours("10.7.0.0/16"): "",
		ours("::/0"):        `["blackhole"]`,
		static("::/0") +
			"/next-hops/next-hop[index=0]/state": `{"openconfig-network-instance:index":"0",` +
			`"openconfig-network-instance:next-hop":"openconfig-local-routing:DROP",` +
			`"openconfig-network-instance:recurse":false}`,
		"/network-instances/network-instance[name=other]": "",
	})
}

// A VRF is a network instance, with its own interfaces and routes.
func TestNetworkInstancesOfVRFs(t *testing.T) {
	const ni = "/network-instances/network-instance[name=Vrf1]"
	hop := nextHop{Address: "10.0.0.2", Interface: "Ethernet8", Weight: "1"}
	link := nextHop{Interface: "Ethernet8", Weight: "1"}
	other := nextHop{Address: "10.0.0.1", Interface: "Ethernet0", Weight: "1"}
	entry := func(vrf, prefix string) string {
		return "/network-instances/network-instance[name=" + vrf + "]/afts/ipv4-unicast/ipv4-entry[prefix=" + prefix +
			"]/state/next-hop-group"
	}
	shows(t, map[string]string{
		"CONFIG_DB DEVICE_METADATA|localhost":      "hostname=leaf1",
		"CONFIG_DB VRF|Vrf1":                       "NULL=NULL",
		"APPL_DB VRF_TABLE:Vrf1":                   "NULL=NULL",
		"CONFIG_DB INTERFACE|Ethernet0":            "NULL=NULL",
		"CONFIG_DB INTERFACE|Ethernet8":            "vrf_name=Vrf1",
		"APPL_DB INTF_TABLE:Ethernet8":             "vrf_name=Vrf1",
		"APPL_DB INTF_TABLE:Ethernet8:10.0.0.1/24": "scope=global family=IPv4",
		"APPL_DB ROUTE_TABLE:10.1.0.0/16":          "nexthop=10.0.0.1 ifname=Ethernet0 protocol=static",
		"APPL_DB ROUTE_TABLE:Vrf1:10.1.0.0/16":     "nexthop=10.0.0.2 ifname=Ethernet8 protocol=static",
	}, map[string]string{
		ni + "/state": `{"openconfig-network-instance:name":"Vrf1",` +
			`"openconfig-network-instance:type":"openconfig-network-instance-types:L3VRF"}`,
		ni + "/interfaces/interface[id=Ethernet8.0]/state/interface":                                      `"Ethernet8"`,
		ni + "/interfaces/interface[id=Ethernet0.0]/state/interface":                                      "",
		"/network-instances/network-instance[name=default]/interfaces/interface[id=Ethernet8.0]":          "",
		"/network-instances/network-instance[name=default]/interfaces/interface[id=Ethernet0.0]/state/id": `"Ethernet0.0"`,
		ni + "/afts/aft-summaries/ipv4-unicast/protocols/protocol[origin-protocol=STATIC]/state/counters": `{
			"openconfig-aft-summary:aft-entries":"1"}`,
		entry("Vrf1", "10.1.0.0/16"):    `"` + nextHopGroup([]nextHop{hop}) + `"`,
		entry("Vrf1", "10.0.0.0/24"):    `"` + nextHopGroup([]nextHop{link}) + `"`,
		entry("default", "10.0.0.0/24"): "",
		entry("default", "10.1.0.0/16"): `"` + nextHopGroup([]nextHop{other}) + `"`,
	})
}

// Routes share next hops and groups of next hops. Their numbers depend only on their content, not on other routes.
func TestForwardingTable(t *testing.T) {
	const afts = "/network-instances/network-instance[name=default]/afts"
	routes := map[string]string{
		"CONFIG_DB DEVICE_METADATA|localhost": "hostname=leaf1",
		"APPL_DB ROUTE_TABLE:10.1.0.0/16":     "nexthop=10.0.0.1,10.0.0.2 ifname=Ethernet0,Ethernet4 weight=1,3 protocol=bgp",
		"APPL_DB ROUTE_TABLE:10.2.0.0/16": "nexthop=10.0.0.2,10.0.0.1 ifname=Ethernet4,Ethernet0 weight=3,1 " +
			"protocol=0xc4",
		"APPL_DB ROUTE_TABLE:10.3.0.1":      "nexthop=10.0.0.1 ifname=Ethernet0 protocol=static",
		"APPL_DB ROUTE_TABLE:10.4.0.0/16":   "blackhole=true nexthop= ifname=",
		"APPL_DB ROUTE_TABLE:2001:db8::/32": "nexthop=:: ifname=Ethernet0",
		"APPL_DB ROUTE_TABLE:2001:db8::1":   "nexthop=fe80::1 ifname=Ethernet0",
	}
	one, both := nextHop{Address: "10.0.0.1", Interface: "Ethernet0", Weight: "1"}, []nextHop{
		{Address: "10.0.0.1", Interface: "Ethernet0", Weight: "1"},
		{Address: "10.0.0.2", Interface: "Ethernet4", Weight: "3"},
	}
	group := afts + "/next-hop-groups/next-hop-group[id=" + nextHopGroup(both) + "]"
	shows(t, routes, map[string]string{
		afts + "/ipv4-unicast/ipv4-entry[prefix=10.1.0.0/16]/state": `{"openconfig-network-instance:prefix":"10.1.0.0/16",
			"openconfig-network-instance:origin-protocol":"openconfig-policy-types:BGP",
			"openconfig-aft-network-instance:next-hop-group-network-instance":"default",
			"openconfig-aft-network-instance:next-hop-group":"` + nextHopGroup(both) + `"}`,
		afts + "/ipv4-unicast/ipv4-entry[prefix=10.2.0.0/16]/state/next-hop-group":  `"` + nextHopGroup(both) + `"`,
		afts + "/ipv4-unicast/ipv4-entry[prefix=10.2.0.0/16]/state/origin-protocol": "",
		afts + "/ipv4-unicast/ipv4-entry[prefix=10.3.0.1/32]/state/next-hop-group":  `"` + nextHopGroup([]nextHop{one}) + `"`,
		afts + "/ipv4-unicast/ipv4-entry[prefix=10.4.0.0/16]/state/next-hop-group":  "",
		afts + "/ipv4-unicast/ipv4-entry[prefix=10.4.0.0/16]/state/prefix":          `"10.4.0.0/16"`,
		afts + "/ipv6-unicast/ipv6-entry[prefix=2001:db8::1/128]/state/prefix":      `"2001:db8::1/128"`,
		afts + "/ipv6-unicast/ipv6-entry[prefix=10.1.0.0/16]":                       "",
		group + "/state": `{"openconfig-network-instance:id":"` + nextHopGroup(both) + `"}`,
		group + "/next-hops/next-hop[index=" + both[1].index() + "]/state": `{
			"openconfig-network-instance:index":"` + both[1].index() + `",
			"openconfig-network-instance:weight":"3"}`,
		group + "/next-hops/next-hop[index=7]": "",
		afts + "/next-hops/next-hop[index=" + one.index() + "]": `{"openconfig-network-instance:index":"` + one.index() + `",
			"openconfig-network-instance:state":{"index":"` + one.index() + `","ip-address":"10.0.0.1"},
			"openconfig-network-instance:interface-ref":{"state":{"interface":"Ethernet0","subinterface":0}}}`,
		afts + "/next-hops/next-hop[index=7]": "",
	})
}

// A subnet of an interface has a route in the ASIC, which comes before another route to the same prefix. A loopback, a
// link-local address and an address without a subnet have none.
func TestForwardingTableOfLinks(t *testing.T) {
	const afts = "/network-instances/network-instance[name=default]/afts"
	entry := func(prefix string) string {
		family := "ipv4"
		if strings.Contains(prefix, ":") {
			family = "ipv6"
		}
		return afts + "/" + family + "-unicast/" + family + "-entry[prefix=" + prefix + "]/state"
	}
	hop := nextHop{Interface: "Vlan10", Weight: "1"}
	group := nextHopGroup([]nextHop{hop})
	at := afts + "/next-hops/next-hop[index=" + hop.index() + "]"
	shows(t, map[string]string{
		"CONFIG_DB DEVICE_METADATA|localhost":      "hostname=leaf1",
		"APPL_DB INTF_TABLE:Vlan10":                "NULL=NULL",
		"APPL_DB INTF_TABLE:Vlan10:10.1.0.1/24":    "scope=global family=IPv4",
		"APPL_DB INTF_TABLE:Vlan10:2001:db8::1/64": "scope=global family=IPv6",
		"APPL_DB INTF_TABLE:Vlan10:fe80::1/64":     "scope=local family=IPv6",
		"APPL_DB INTF_TABLE:Vlan10:10.3.0.1/32":    "scope=global family=IPv4",
		"APPL_DB INTF_TABLE:Loopback0:10.4.0.1/24": "scope=global family=IPv4",
		"APPL_DB INTF_TABLE:Ethernet0:10.5.0.1/24": "scope=global family=IPv4",
		"APPL_DB ROUTE_TABLE:10.5.0.0/24":          "nexthop=10.1.0.2 ifname=Vlan10 protocol=static",
	}, map[string]string{
		entry("10.1.0.0/24"): `{"openconfig-network-instance:prefix":"10.1.0.0/24",
			"openconfig-network-instance:origin-protocol":"openconfig-policy-types:DIRECTLY_CONNECTED",
			"openconfig-aft-network-instance:next-hop-group-network-instance":"default",
			"openconfig-aft-network-instance:next-hop-group":"` + group + `"}`,
		entry("2001:db8::/64") + "/next-hop-group": `"` + group + `"`,
		entry("fe80::/64"):                         "",
		entry("10.3.0.1/32"):                       "",
		entry("10.4.0.0/24"):                       "",
		entry("10.5.0.0/24") + "/origin-protocol":  `"openconfig-policy-types:DIRECTLY_CONNECTED"`,
		afts + "/next-hop-groups/next-hop-group[id=" + group + "]/next-hops/next-hop[index=" + hop.index() +
			"]/state/weight": `"1"`,
		at + "/interface-ref/state/interface":    `"Vlan10"`,
		at + "/interface-ref/state/subinterface": "",
		at + "/state/ip-address":                 "",
	})
}

// An entry of a forwarding table comes in one atomic Notification, with the entry as prefix: all of it, also if only a
// part has changed. A client that asks for a part of entries gets the parts alone.
func TestForwardingTableAtomic(t *testing.T) {
	const afts = "/network-instances/network-instance[name=default]/afts"
	b := aSwitch(t)
	hops := []nextHop{{"10.0.0.1", "Ethernet0", "1"}, {"10.0.0.2", "Ethernet4", "3"}}
	group := nextHopGroup(hops)
	b.rows(map[string]string{"APPL_DB ROUTE_TABLE:10.1.0.0/16": "nexthop=10.0.0.1,10.0.0.2 ifname=Ethernet0,Ethernet4 " +
		"weight=1,3 protocol=static"})
	want := func(n *gpb.Notification, prefix string, deletes int, leaves ...string) {
		t.Helper()
		var got []string
		for _, u := range n.GetUpdate() {
			got = append(got, tree.PathText(u.GetPath())+" "+string(u.GetVal().GetJsonIetfVal()))
		}
		slices.Sort(got)
		slices.Sort(leaves)
		if !n.GetAtomic() || tree.PathText(n.GetPrefix()) != prefix || !slices.Equal(got, leaves) ||
			len(n.GetDelete()) != deletes || n.GetPrefix().GetTarget() != "leaf1" {
			t.Errorf("%v, want %s with %d deletes and %q", n, prefix, deletes, leaves)
		}
	}
	list := streamOf(subOf(onChange, "/network-instances/network-instance[name=*]/afts"))
	list.Prefix = &gpb.Path{Target: "leaf1"}
	s := b.subscribe(list)
	all := slices.DeleteFunc(s.initial(), func(n *gpb.Notification) bool { return !n.GetAtomic() }) // of aft-summaries
	if len(all) != 4 {
		t.Fatalf("%d Notifications, want those of 2 next hops, a group and a route: %v", len(all), all)
	}
	member := func(h nextHop) []string {
		at := "/next-hops/next-hop[index=" + h.index() + "]"
		return []string{at + `/index "` + h.index() + `"`, at + `/state/index "` + h.index() + `"`,
			at + `/state/weight "` + h.Weight + `"`}
	}
	want(all[2], afts+"/next-hop-groups/next-hop-group[id="+group+"]", 0,
		append(append(member(hops[0]), member(hops[1])...), `/id "`+group+`"`, `/state/id "`+group+`"`)...)
	route := afts + "/ipv4-unicast/ipv4-entry[prefix=10.1.0.0/16]"
	want(all[3], route, 0, `/prefix "10.1.0.0/16"`, `/state/prefix "10.1.0.0/16"`, `/state/next-hop-group "`+group+`"`,
		`/state/next-hop-group-network-instance "default"`,
		`/state/origin-protocol "openconfig-policy-types:STATIC"`)
	next := func() *gpb.Notification {
		t.Helper()
		m, err := s.rpc.Recv()
		if err != nil {
			t.Fatal(err)
		}
		return m.GetUpdate()
	}
	b.rows(map[string]string{"APPL_DB ROUTE_TABLE:10.1.0.0/16": "protocol=bgp"})
	want(next(), route, 0, `/prefix "10.1.0.0/16"`, `/state/prefix "10.1.0.0/16"`, `/state/next-hop-group "`+group+`"`,
		`/state/next-hop-group-network-instance "default"`,
		`/state/origin-protocol "openconfig-policy-types:BGP"`)
	b.rows(map[string]string{"APPL_DB ROUTE_TABLE:10.1.0.0/16": "blackhole=true"})
	want(next(), route, 2, `/prefix "10.1.0.0/16"`, `/state/prefix "10.1.0.0/16"`,
		`/state/origin-protocol "openconfig-policy-types:BGP"`)
	part := b.subscribe(listOf(onceMode, subOf(0, route+"/state/origin-protocol")))
	for _, n := range part.initial() {
		if n.GetAtomic() || len(n.GetPrefix().GetElem()) > 0 {
			t.Errorf("a part of an entry is atomic: %v", n)
		}
	}
}

// A next hop appears with the first route that uses it, and vanishes with the last.
func TestForwardingTableOnChange(t *testing.T) {
	b := newBed(t, nil)
	b.rows(map[string]string{"CONFIG_DB DEVICE_METADATA|localhost": "hostname=leaf1"})
	const hops = "/network-instances/network-instance[name=default]/afts/next-hops/next-hop"
	index := nextHop{Address: "10.0.0.1", Interface: "Ethernet0"}.index()
	s := b.subscribe(
		streamOf(subOf(onChange,
			"/network-instances/network-instance[name=*]/afts/next-hops/next-hop[index=*]/state/ip-address")))
	s.want("S")
	b.rows(map[string]string{"APPL_DB ROUTE_TABLE:10.1.0.0/16": "nexthop=10.0.0.1 ifname=Ethernet0"})
	s.want("U " + hops + "[index=" + index + `]/state/ip-address "10.0.0.1"`)
	b.rows(map[string]string{"APPL_DB ROUTE_TABLE:10.2.0.0/16": "nexthop=10.0.0.1 ifname=Ethernet0"})
	b.rows(map[string]string{"APPL_DB ROUTE_TABLE:10.1.0.0/16": ""})
	b.rows(map[string]string{"APPL_DB ROUTE_TABLE:10.3.0.0/16": "nexthop=10.0.0.2 ifname=Ethernet0"})
	s.want("U " + hops + "[index=" + nextHop{Address: "10.0.0.2", Interface: "Ethernet0"}.index() +
		`]/state/ip-address "10.0.0.2"`)
	b.rows(map[string]string{"APPL_DB ROUTE_TABLE:10.2.0.0/16": ""})
	s.want("D " + hops + "[index=" + index + "]/state/ip-address")
}

// A nextHop is the data that determines the number of a next hop, and its weight in a group.
type nextHop struct{ Address, Interface, Weight string }

func (h nextHop) index() string { return hashed(h.Address + "@" + h.Interface) }

func nextHopGroup(hops []nextHop) string {
	var texts []string
	for _, h := range hops {
		texts = append(texts, h.Address+"@"+h.Interface+"*"+h.Weight)
	}
	slices.Sort(texts)
	return hashed(strings.Join(texts, ","))
}

func hashed(text string) string {
	h := fnv.New64a()
	h.Write([]byte(text))
	return strconv.FormatUint(h.Sum64(), 10)
}

// A client that follows the forwarding tables always knows what a route refers to: next hops come before their groups,
// groups before routes, and they are deleted in the opposite order.
func TestForwardingTableInOrder(t *testing.T) {
	b := aSwitch(t)
	s := b.subscribe(streamOf(subOf(onChange, "/network-instances/network-instance[name=*]/afts")))
	s.want("S")
	order := func(n int) string {
		var kinds []string
		for len(kinds) < n {
			for _, l := range s.next() {
				_, kind, _ := strings.Cut(l, "/afts/")
				kind, _, _ = strings.Cut(kind, "[")
				if k := l[:2] + kind; len(kinds) == 0 || kinds[len(kinds)-1] != k {
					kinds = append(kinds, k)
				}
			}
		}
		return strings.Join(kinds, "; ")
	}
	b.rows(map[string]string{"APPL_DB ROUTE_TABLE:10.1.0.0/16": "nexthop=10.0.0.1 ifname=Ethernet0 protocol=static"})
	b.wantText(order(3), "U next-hops/next-hop; U next-hop-groups/next-hop-group; U ipv4-unicast/ipv4-entry")
	b.rows(map[string]string{"APPL_DB ROUTE_TABLE:10.1.0.0/16": ""})
	b.wantText(order(3), "D ipv4-unicast/ipv4-entry; D next-hop-groups/next-hop-group; D next-hops/next-hop")
}
