package mgmt

import (
	"strings"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

const (
	theirLAG    = interfaceList + "[name=PortChannel3]"
	theirPort   = interfaceList + "[name=Ethernet8]"
	defaultNI   = "/network-instances/network-instance[name=default]"
	lagDocument = `{"name":"PortChannel3","config":{"name":"PortChannel3","type":"iana-if-type:ieee8023adLag",
		"enabled":true},"openconfig-if-aggregate:aggregation":{"config":{"lag-type":"STATIC"}}}`
	routedPort = `{"name":"Ethernet8","config":{"name":"Ethernet8","enabled":true},"subinterfaces":{"subinterface":[
		{"index":0,"config":{"index":0},"ipv4":{"addresses":{"address":[
		 {"ip":"192.0.2.1","config":{"ip":"192.0.2.1","prefix-length":30}}]}}}]}}`
	plainPort  = `{"name":"Ethernet8","config":{"name":"Ethernet8","enabled":true}}`
	memberPort = `{"name":"Ethernet8","config":{"name":"Ethernet8","enabled":true},
		"openconfig-if-ethernet:ethernet":{"config":{"openconfig-if-aggregate:aggregate-id":"PortChannel3"}}}`
)

// aSwitch returns a bed with two ports.
func aSwitch(t *testing.T) *bed {
	b := newBed(t, nil)
	b.rows(map[string]string{
		"CONFIG_DB DEVICE_METADATA|localhost": "hostname=leaf1",
		"CONFIG_DB PORT|Ethernet0":            "lanes=0 speed=100000", "CONFIG_DB PORT|Ethernet8": "lanes=8 speed=100000",
		"APPL_DB SWITCH_TABLE:switch": "fdb_aging_time=600",
	})
	return b
}

// A PortChannel that speaks LACP can be deleted: LACP's view of it is no user.
func TestDeleteLACPChannel(t *testing.T) {
	for _, way := range []*gpb.SetRequest{
		deleting(theirLAG), replacing(update("/interfaces", `{"interface":[]}`)), replacing(update("/", `{}`)),
	} {
		b := aSwitch(t)
		b.rows(map[string]string{
			"CONFIG_DB PORTCHANNEL|PortChannel3":                  "admin_status=up",
			"CONFIG_DB PORTCHANNEL_MEMBER|PortChannel3|Ethernet8": "NULL=NULL",
			"APPL_DB LAG_TABLE:PortChannel3":                      "protocol=lacp incarnation=4/11",
			"STATE_DB LACP_TABLE|PortChannel3":                    "links=1 incarnation=4/11",
		})
		b.mustSet(way)
		b.wantRow("PORTCHANNEL|PortChannel3", "")
		b.wantRow("PORTCHANNEL_MEMBER|PortChannel3|Ethernet8", "")
	}
}

// An interface takes its addresses, members, neighbours and VLANs along, at whatever path it is deleted.
func TestDeleteTakesAlong(t *testing.T) {
	for _, way := range []string{"/vlans/vlan[vlan-id=6]", defaultNI + "/vlans/vlan[vlan-id=6]",
		interfaceList + "[name=Vlan6]", routedList + "[name=Vlan6]"} {
		b := aSwitch(t)
		b.rows(map[string]string{
			"CONFIG_DB VLAN|Vlan6": "vlanid=6", "CONFIG_DB VLAN_INTERFACE|Vlan6": "NULL=NULL",
			"CONFIG_DB VLAN_INTERFACE|Vlan6|10.66.0.1/24": "NULL=NULL", "CONFIG_DB VLAN_MEMBER|Vlan6|Ethernet0": "NULL=NULL",
		})
		b.mustSet(deleting(way))
		b.wantRow("VLAN_INTERFACE|Vlan6", "")
		b.wantRow("VLAN_INTERFACE|Vlan6|10.66.0.1/24", "")
		if vlan := b.row("VLAN|Vlan6"); strings.Contains(way, "vlans") != (vlan == "") {
			t.Errorf("after a delete of %s the VLAN is %q", way, vlan)
		}
	}
	b := aSwitch(t)
	b.mustSet(updating(update("/interfaces", `{"interface":[`+lagDocument+`]}`)))
	b.mustSet(updating(update(addressAt("PortChannel3", "192.0.2.9")+"/config/prefix-length", "30")))
	b.mustSet(deleting(theirLAG))
	b.mustSet(replacing(update(theirLAG, lagDocument)))
	b.wantRow("PORTCHANNEL_INTERFACE|PortChannel3", "")
	b.wantRow("PORTCHANNEL_INTERFACE|PortChannel3|192.0.2.9/30", "")
	b.rows(map[string]string{"CONFIG_DB VLAN|Vlan7": "vlanid=7", "CONFIG_DB VLAN_MEMBER|Vlan7|PortChannel3": "NULL=NULL"})
	b.mustSet(deleting(theirLAG))
	b.wantRow("VLAN_MEMBER|Vlan7|PortChannel3", "")
}

// Replace means exactly its subtree: what the value leaves out goes, wherever it is stored, and nothing else does.
func TestReplaceIsItsSubtree(t *testing.T) {
	const address, member = "INTERFACE|Ethernet8|192.0.2.1/30", "PORTCHANNEL_MEMBER|PortChannel3|Ethernet8"
	type want map[string]bool
	for name, tt := range map[string]struct {
		sets []*gpb.SetRequest
		want want
	}{
		"the port without its address": {[]*gpb.SetRequest{replacing(update(theirPort, routedPort)),
			replacing(update(theirPort, plainPort))}, want{address: false, "INTERFACE|Ethernet8": false}},
		"all interfaces without the address": {[]*gpb.SetRequest{replacing(update(theirPort, routedPort)),
			replacing(update("/interfaces", `{"interface":[`+plainPort+`]}`))}, want{address: false}},
		"config beside the address": {[]*gpb.SetRequest{replacing(update(theirPort, routedPort)),
			replacing(update(theirPort+"/config", `{"enabled":true}`))}, want{address: true}},
		"the port without its MTU": {[]*gpb.SetRequest{replacing(update(theirPort, routedPort)),
			updating(update(routedList+"[name=Ethernet8]/config/mtu", "1400")), replacing(update(theirPort, routedPort))},
			want{address: true, "INTERFACE|Ethernet8 NULL=NULL": true}},
		"a channel with what only our path has": {[]*gpb.SetRequest{replacing(update(theirLAG, lagDocument)),
			updating(update(addressAt("PortChannel3", "192.0.2.9")+"/config/prefix-length", "30"),
				update(routedList+"[name=PortChannel3]/config/mac-address", `"02:00:00:00:00:07"`)),
			replacing(update(theirLAG+"/subinterfaces", `{"subinterface":[{"index":0}]}`))},
			want{"PORTCHANNEL_INTERFACE|PortChannel3 mac_addr=02:00:00:00:00:07": true,
				"PORTCHANNEL_INTERFACE|PortChannel3|192.0.2.9/30": false}},
		"the port without its channel": {[]*gpb.SetRequest{replacing(update(theirLAG, lagDocument)),
			replacing(update(theirPort, memberPort)), replacing(update(theirPort, plainPort))}, want{member: false}},
		"the channel, which has its members at the ports": {[]*gpb.SetRequest{replacing(update(theirLAG, lagDocument)),
			replacing(update(theirPort, memberPort)), replacing(update(theirLAG, lagDocument))}, want{member: true}},
		"port and channel, in one Set": {[]*gpb.SetRequest{
			replacing(update(theirPort, memberPort), update(theirLAG, lagDocument))}, want{member: true}},
		"a routed port that joins a channel": {[]*gpb.SetRequest{replacing(update(theirPort, routedPort)),
			replacing(update(theirLAG, lagDocument), update(theirPort, memberPort))}, want{member: true, address: false}},
		"the members of the channel": {[]*gpb.SetRequest{
			replacing(update(theirPort, memberPort), update(theirLAG, lagDocument)),
			replacing(update(theirLAG+"/aggregation/members", `{"member":[]}`))}, want{member: false}},
		"a VLAN of another path": {[]*gpb.SetRequest{updating(update("/vlans/vlan[vlan-id=6]", `{"members":{"member":[
			{"interface":"Ethernet8"}]}}`)), replacing(update(defaultNI+"/vlans", `{"vlan":[{"vlan-id":6,
			"config":{"vlan-id":6}}]}`))},
			want{"VLAN|Vlan6": true, "VLAN_MEMBER|Vlan6|Ethernet8": true}},
		"VLANs without it": {[]*gpb.SetRequest{updating(update("/vlans/vlan[vlan-id=6]", `{"members":{"member":[
			{"interface":"Ethernet8"}]}}`)), replacing(update(defaultNI+"/vlans", `{"vlan":[{"vlan-id":7}]}`))},
			want{"VLAN|Vlan6": false, "VLAN_MEMBER|Vlan6|Ethernet8": false, "VLAN|Vlan7": true}},
	} {
		t.Run(name, func(t *testing.T) {
			b := aSwitch(t)
			for _, s := range tt.sets {
				b.mustSet(s)
			}
			for row, there := range tt.want {
				key, fields, _ := strings.Cut(row, " ")
				if got := b.row(key); (got != "") != there || !strings.Contains(got, fields) {
					t.Errorf("%s is %q, want it there: %t", row, got, there)
				}
			}
		})
	}
}

// A Set that names both paths of the same data must have the same value at both.
func TestBothSides(t *testing.T) {
	ours := func(length string) *gpb.Update {
		return update(ourAddress("Ethernet8", "192.0.2.1", length), `{"prefix":"192.0.2.1/`+length+`"}`)
	}
	theirs := update(theirPort, routedPort)
	const channel = interfaceList + "[name=PortChannel9]"
	const lacp, aggregation = "/lacp/interfaces/interface[name=PortChannel9]/config", channel + "/aggregation/config"
	members := update(theirLAG+"/aggregation/members", `{"member":[{"interface":"Ethernet8"}]}`)
	for name, tt := range map[string]struct {
		set  *gpb.SetRequest
		code string
	}{
		"the same address":      {updating(theirs, ours("30")), "OK"},
		"the same, ours first":  {updating(ours("30"), theirs), "OK"},
		"another length":        {updating(theirs, ours("24")), "InvalidArgument"},
		"another length, first": {updating(ours("24"), theirs), "InvalidArgument"},
		"given, and left out":   {replacing(ours("30"), update(theirPort, plainPort)), "InvalidArgument"},
		"left out, and given":   {replacing(update(theirPort, plainPort), ours("30")), "OK"},
		"the same channel":      {replacing(update(theirLAG, lagDocument), update(theirPort, memberPort), members), "OK"},
		"a member that leaves": {replacing(update(theirLAG, lagDocument), members, update(theirPort, plainPort)),
			"InvalidArgument"},
		"two intervals": {updating(update(lacp, `{"interval":"FAST"}`), update(aggregation, `{"interval":"SLOW"}`)),
			"InvalidArgument"},
		"two intervals, ours first": {updating(update(aggregation, `{"interval":"SLOW"}`),
			update(lacp, `{"interval":"FAST"}`)), "InvalidArgument"},
		"two intervals, one as it is": {updating(update(lacp, `{"interval":"SLOW"}`),
			update(aggregation, `{"interval":"FAST"}`)), "InvalidArgument"},
		"two intervals in a union": {&gpb.SetRequest{UnionReplace: []*gpb.Update{update(lacp, `{"interval":"SLOW"}`),
			update(aggregation, `{"lag-type":"LACP","interval":"FAST"}`)}}, "InvalidArgument"},
		"an interval, and left out": {replacing(update(aggregation, `{"lag-type":"LACP","interval":"FAST"}`),
			update(lacp, `{"name":"PortChannel9"}`)), "InvalidArgument"},
		"no interval, and given": {replacing(update(lacp, `{"name":"PortChannel9"}`),
			update(aggregation, `{"lag-type":"LACP","interval":"FAST"}`)), "OK"},
		"the same interval": {updating(update(lacp, `{"interval":"FAST"}`),
			update(aggregation, `{"interval":"FAST"}`)), "OK"},
		"two intervals, then one": {updating(update(lacp, `{"interval":"FAST"}`), update(aggregation, `{"interval":"SLOW"}`),
			update(lacp, `{"interval":"SLOW"}`)), "OK"},
		"of two values, the later": {updating(theirs,
			update(addressAt("Ethernet8", "192.0.2.1")+"/config/prefix-length", "24")), "OK"},
	} {
		t.Run(name, func(t *testing.T) {
			b := aSwitch(t)
			b.mustSet(updating(update(channel, `{"config":{"type":"iana-if-type:ieee8023adLag"}}`)))
			before := b.config()
			_, err := b.client.Set(b.ctx, tt.set)
			wantErr(t, err, tt.code)
			if tt.code != "OK" && b.config() != before {
				t.Errorf("it was written all the same:\n%s", b.config())
			}
		})
	}
}

// An interface has an IP address with one prefix length, whichever paths give it.
func TestOnePrefixLengthOfAnAddress(t *testing.T) {
	const ip, v6 = "192.0.2.1", "2001:db8::1"
	ours := func(ip, length string) *gpb.Update { return update(ourAddress("Ethernet8", ip, length), `{}`) }
	b := aSwitch(t)
	b.mustSet(updating(ours(ip, "24"), ours(v6, "64"), ours("192.0.2.2", "24")))
	for _, s := range []*gpb.SetRequest{updating(ours(ip, "25")), updating(ours(v6, "65")),
		updating(ours("198.51.100.1", "24"), ours("198.51.100.1", "25")),
		replacing(update(ourRouted("Ethernet8")+"/addresses", `{"address":[{"prefix":"`+ip+`/25"},{"prefix":"`+ip+`/24"}]}`)),
	} {
		b.refusedSet(s, "InvalidArgument", ourRouted("Ethernet8")+"/addresses/address[prefix=", "IP address",
			"is there already, as", "want only one of them")
	}
	b.refusedSet(updating(ours(ip, "25")), "InvalidArgument", "IP address 192.0.2.1 is there already, as 192.0.2.1/24")
	set := updating(ours(ip, "25"))
	set.Delete = deleting(ourAddress("Ethernet8", ip, "24")).GetDelete()
	b.mustSet(set)
	b.mustSet(updating(update(ourAddress("Vlan6", ip, "26"), `{}`))) // another interface
	b.wantRow("INTERFACE|Ethernet8|192.0.2.1/24", "")
	b.wantRow("INTERFACE|Ethernet8|192.0.2.1/25", "NULL=NULL")
}

// A delete of a port's configuration resets it, and deletes of what does not exist are accepted, also where nothing can
// be written. A replace of an entry by {} is refused.
func TestDeletesAndEmptyValues(t *testing.T) {
	for _, p := range []string{theirPort, "/interfaces", "/", interfaceList + "[name=*]"} {
		b := aSwitch(t)
		b.mustSet(replacing(update(theirPort, routedPort)))
		b.mustSet(updating(update(theirPort+"/config", `{"mtu":1500,"description":"x"}`)))
		b.mustSet(deleting(p))
		b.wantRow("PORT|Ethernet8", "admin_status=up lanes=8 speed=100000") // enabled is true by default
		b.wantRow("INTERFACE|Ethernet8|192.0.2.1/30", "")
	}
	b := aSwitch(t)
	b.rows(map[string]string{"CONFIG_DB ACL_TABLE|A": "type=L3"})
	before := b.config()
	b.mustSet(deleting("/network-instances/network-instance[name=GREEN]",
		"/acl/acl-sets/acl-set[name=NOPE][type=ACL_IPV4]",
		"/lacp/interfaces/interface[name=PortChannel99]", defaultNI+"/protocols/protocol[identifier=BGP][name=x]",
		interfaceList+"[name=Ethernet99]", "/acl/acl-sets/acl-set[name=A][type=ACL_IPV4]/config/description", "/lacp"))
	b.wantText(b.config(), before)
	b.refusedSet(deleting(defaultNI), "InvalidArgument", defaultNI, "read-only")
	b.rows(map[string]string{"CONFIG_DB VLAN|Vlan30": "vlanid=30"})
	for _, p := range []string{"/vlans/vlan[vlan-id=30]", theirPort, defaultNI + "/vlans/vlan[vlan-id=30]"} {
		b.refusedSet(replacing(update(p, " { } ")), "InvalidArgument", p, "{}")
		b.refusedSet(&gpb.SetRequest{UnionReplace: []*gpb.Update{update(p, "{}")}}, "InvalidArgument", p, "{}")
	}
}

// What a client has read can be written back, also where nothing else can be written. Any subtree of configuration is
// complete: replaced by what was read, it stays as it is.
func TestWriteBackWhatWasRead(t *testing.T) {
	b := aSwitch(t)
	b.rows(map[string]string{
		"CONFIG_DB VLAN|Vlan6": "vlanid=6", "CONFIG_DB VLAN_INTERFACE|Vlan6": "NULL=NULL", "APPL_DB VLAN_TABLE:Vlan6": "x=y",
		"CONFIG_DB VLAN_INTERFACE|Vlan6|10.66.0.1/24": "NULL=NULL", "CONFIG_DB ACL_TABLE|A": "type=L3 policy_desc=words",
		"CONFIG_DB ACL_RULE|A|RULE_1":        "PRIORITY=9 DSCP=46 PACKET_ACTION=DROP",
		"CONFIG_DB STATIC_ROUTE|10.9.0.0/16": "nexthop=10.0.0.2", "CONFIG_DB LOOPBACK_INTERFACE|Loopback0": "NULL=NULL",
	})
	b.mustSet(replacing(update(theirLAG, lagDocument), update(theirPort, memberPort),
		update(interfaceList+"[name=Ethernet0]", strings.ReplaceAll(routedPort, "Ethernet8", "Ethernet0"))))
	before := b.withoutMark()
	if doc := b.settable(interfaceList + "[name=Ethernet0]"); !strings.Contains(doc, "192.0.2.1") {
		t.Errorf("a document of Ethernet0 lacks its address: %s", doc)
	}
	if doc := b.settable(theirPort); !strings.Contains(doc, "PortChannel3") {
		t.Errorf("a document of Ethernet8 lacks its channel: %s", doc)
	}
	for _, p := range []string{
		interfaceList + "[name=Ethernet0]", theirPort, theirLAG, "/interfaces", "/routing", "/vlans",
		interfaceList + "[name=Vlan6]", interfaceList + "[name=Loopback0]", defaultNI + "/vlans", "/network-instances", "/"} {
		b.mustSet(replacing(update(p, b.settable(p))))
		b.wantText(b.withoutMark(), before)
	}
	// A client may have read it by a subscription, leaf by leaf.
	doc := b.settable("/")
	for _, n := range b.subscribe(listOf(onceMode, subOf(0, "/"))).initial() {
		req := &gpb.SetRequest{}
		for _, u := range n.GetUpdate() {
			if ts, err := b.server.model.Resolve(nil, u.GetPath(), 0); err == nil && ts[0].Node.Config {
				req.Update = append(req.Update, u)
			}
		}
		if _, err := b.client.Set(b.ctx, req); err != nil {
			t.Errorf("%v: %v", req, err)
		}
	}
	b.wantText(b.settable("/"), doc)
	b.mustSet(updating(update(defaultNI, `{"name":"default","config":{"name":"default","type":"DEFAULT_INSTANCE"}}`)))
	b.refusedSet(updating(update(defaultNI+"/config/type", `"L3VRF"`)), "InvalidArgument", "DEFAULT_INSTANCE")
	b.refusedSet(updating(update("/network-instances/network-instance[name=GREEN]/config/name", `"GREEN"`)),
		"InvalidArgument", "GREEN", "is not there")
	// A value at OpenConfig's path may repeat what the same Set writes elsewhere.
	route := defaultNI + "/protocols/protocol[identifier=STATIC][name=static]/static-routes/static[prefix=10.8.0.0/16]" +
		"/next-hops/next-hop[index=0]/config/next-hop"
	b.mustSet(updating(update(route, `"10.0.0.3"`),
		update("/routing/static-routes/route[prefix=10.8.0.0/16]/config/next-hop", `["10.0.0.3"]`)))
}

// VLAN interfaces and loopbacks can be created at OpenConfig's path.
func TestCreateInterfaceOfOpenConfig(t *testing.T) {
	b := aSwitch(t)
	b.mustSet(updating(update(interfaceList+"[name=Loopback7]", `{"name":"Loopback7","config":{"name":"Loopback7",
		"type":"iana-if-type:softwareLoopback"}}`)))
	b.wantRow("LOOPBACK_INTERFACE|Loopback7", "NULL=NULL")
	b.refusedSet(updating(update(interfaceList+"[name=Loopback8]/config/type", `"iana-if-type:ieee8023adLag"`)),
		"InvalidArgument", "softwareLoopback")
}

// State of a rule is what is in force. A rule that is not valid is no entry, rather than one without its wrong match.
func TestRefusedRules(t *testing.T) {
	const set = "/acl/acl-sets/acl-set[name=W][type=ACL_IPV4]"
	entry := func(number string) string { return set + "/acl-entries/acl-entry[sequence-id=" + number + "]" }
	b := aSwitch(t)
	b.rows(map[string]string{
		"CONFIG_DB ACL_TABLE|W":           "type=L3 stage=ingress ports=Ethernet8",
		"CONFIG_DB ACL_RULE|W|RULE_1":     "PRIORITY=9990 PACKET_ACTION=DROP SRC_IP=10.1.0.0/99",
		"CONFIG_DB ACL_RULE|W|RULE_2":     "PRIORITY=9980 PACKET_ACTION=DROP SRC_IP=10.1.0.0/16 L4_DST_PORT=70000",
		"CONFIG_DB ACL_RULE|W|RULE_3":     "PRIORITY=9970 PACKET_ACTION=DROP SRC_IP=10.3.0.0/16",
		"CONFIG_DB ACL_RULE|W|RULE_4":     "PRIORITY=9960 PACKET_ACTION=DROP SRC_IP=10.4.0.0/16",
		"CONFIG_DB ACL_RULE|W|RULE_5":     "PRIORITY=9950 REDIRECT_ACTION=Ethernet0",
		"CONFIG_DB ACL_RULE|W|RULE_6":     "PRIORITY=9955 PACKET_ACTION=DROP",
		"CONFIG_DB ACL_RULE|W|mine":       "PRIORITY=1 PACKET_ACTION=DROP",
		"APPL_DB ACL_RULE_TABLE:W:RULE_3": "PRIORITY=9970 PACKET_ACTION=DROP SRC_IP=10.3.0.0/16",
		"CONFIG_DB ACL_TABLE|V":           "type=L3V6",
		"CONFIG_DB ACL_RULE|V|RULE_1":     "PRIORITY=5 PACKET_ACTION=FORWARD IP_PROTOCOL=17",
	})
	b.shows(t, map[string]string{
		entry("1"): "", entry("2"): "", entry("5"): "", entry("6"): "",
		set + "/state/other-rules":                      `["RULE_1","RULE_2","RULE_5","RULE_6","mine"]`,
		entry("3") + "/state/sequence-id":               `3`,
		entry("3") + "/actions/state/forwarding-action": `"openconfig-acl:DROP"`,
		entry("4") + "/config/sequence-id":              `4`,
		entry("4") + "/ipv4/config/source-address":      `"10.4.0.0/16"`,
		entry("4") + "/state":                           "", entry("4") + "/actions/state": "",
		"/acl/acl-sets/acl-set[name=V][type=ACL_IPV6]/acl-entries/acl-entry[sequence-id=1]/ipv6/config/protocol": `17`,
	})
}

// State of an address is there only while the address is in force.
func TestAddressInForce(t *testing.T) {
	b := aSwitch(t)
	b.mustSet(replacing(update(theirPort, routedPort)))
	at := addressAt("Ethernet8", "192.0.2.1")
	b.shows(t, map[string]string{at + "/config/prefix-length": "30", at + "/state": ""})
	b.rows(map[string]string{"APPL_DB INTF_TABLE:Ethernet8:192.0.2.1/30": "scope=global"})
	b.shows(t, map[string]string{at + "/state": `{"openconfig-if-ip:ip":"192.0.2.1","openconfig-if-ip:prefix-length":30,
		"openconfig-if-ip:origin":"STATIC"}`})
}
