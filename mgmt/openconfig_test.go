package mgmt

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tamtam/mgmt/tree"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// shows checks what paths show of rows; "" is nothing.
func shows(t *testing.T, rows, want map[string]string) {
	t.Helper()
	b := newBed(t, nil)
	b.rows(rows)
	b.shows(t, want)
}

func (b *bed) shows(t *testing.T, want map[string]string) {
	t.Helper()
	for _, path := range tree.SortedKeys(want) {
		got, err := b.get(path)
		switch {
		case want[path] == "" && (err == nil && got != "" || err != nil && !strings.Contains(err.Error(), "NotFound")):
			t.Errorf("%s shows %s, %v; want nothing", path, got, err)
		case want[path] != "" && err != nil:
			t.Error(err)
		case want[path] != "":
			sameJSON(t, got, want[path])
		}
	}
}

// What routes is a subinterface, or of a VLAN routed-vlan; its addresses and neighbours are by family.
func TestInterfacesThatRoute(t *testing.T) {
	const sub, vlan = "/interfaces/interface[name=Ethernet0]/subinterfaces/subinterface[index=0]",
		"/interfaces/interface[name=Vlan10]"
	shows(t, map[string]string{
		"CONFIG_DB PORT|Ethernet0":                                   "lanes=0 speed=100000",
		"CONFIG_DB PORT|Ethernet4":                                   "lanes=4 speed=100000",
		"APPL_DB PORT_TABLE:Ethernet0":                               "lanes=0 speed=100000 admin_status=up oper_status=up",
		"CONFIG_DB INTERFACE|Ethernet0":                              "NULL=NULL",
		"CONFIG_DB INTERFACE|Ethernet0|10.0.0.1/24":                  "NULL=NULL",
		"CONFIG_DB INTERFACE|Ethernet0|2001:db8::1/64":               "NULL=NULL",
		"APPL_DB INTF_TABLE:Ethernet0:10.0.0.1/24":                   "scope=global",
		"APPL_DB NEIGH_TABLE:Ethernet0:2001:db8::2":                  "neigh=02:00:00:00:00:02",
		"APPL_DB NEIGH_TABLE:Vlan10:10.1.0.2":                        "neigh=02:00:00:00:00:03",
		"CONFIG_DB NEIGH|Vlan10|10.1.0.2":                            "neigh=02:00:00:00:00:03",
		"CONFIG_DB VLAN_INTERFACE|Vlan10":                            "NULL=NULL",
		"CONFIG_DB VLAN_INTERFACE|Vlan10|10.1.0.1/16":                "NULL=NULL",
		"CONFIG_DB LOOPBACK_INTERFACE|Loopback0":                     "NULL=NULL",
		"APPL_DB INTF_TABLE:Loopback0":                               "NULL=NULL",
		"CONFIG_DB PORTCHANNEL_INTERFACE|PortChannel1|fe80::1%e0/64": "NULL=NULL",
	}, map[string]string{
		sub + "/state": `{"openconfig-interfaces:index":0,"openconfig-interfaces:name":"Ethernet0",
		 "openconfig-interfaces:ifindex":1,
			"openconfig-interfaces:admin-status":"UP","openconfig-interfaces:oper-status":"UP"}`,
		sub + "/ipv4/addresses": `{"openconfig-if-ip:address":[{"ip":"10.0.0.1","config":{"ip":"10.0.0.1","prefix-length":24},
			"state":{"ip":"10.0.0.1","prefix-length":24,"origin":"STATIC"}}]}`,
		sub + "/ipv6/addresses/address[ip=2001:db8::1]/config/prefix-length": `64`,
		sub + "/ipv6/addresses/address[ip=10.0.0.1]":                         "",
		sub + "/ipv6/neighbors/neighbor[ip=2001:db8::2]/state": `{"openconfig-if-ip:ip":"2001:db8::2",
			"openconfig-if-ip:link-layer-address":"02:00:00:00:00:02","openconfig-if-ip:origin":"DYNAMIC"}`,
		"/interfaces/interface[name=Ethernet0]/subinterfaces/subinterface[index=1]": "",
		"/interfaces/interface[name=Ethernet4]/subinterfaces":                       "",
		vlan + "/routed-vlan/ipv4/neighbors/neighbor[ip=10.1.0.2]/state/origin":     `"STATIC"`,
		vlan + "/routed-vlan/ipv4/addresses/address[ip=10.1.0.1]/state/origin":      `"STATIC"`,
		vlan + "/subinterfaces": "",
		vlan + "/config": `{"openconfig-interfaces:name":"Vlan10",` +
			`"openconfig-interfaces:type":"iana-if-type:l3ipvlan"}`,
		vlan + "/state": `{"openconfig-interfaces:name":"Vlan10","openconfig-interfaces:type":"iana-if-type:l3ipvlan",
		 "openconfig-interfaces:ifindex":2010,
			"openconfig-interfaces:admin-status":"UP","openconfig-interfaces:oper-status":"UNKNOWN",
			 "openconfig-interfaces:logical":true,
			"tamtam-interfaces:admin-status-number":1,"tamtam-interfaces:oper-status-number":4,
			"openconfig-interfaces:cpu":false,"openconfig-interfaces:management":false}`,
		"/interfaces/interface[name=Loopback0]/state/oper-status":                  `"UP"`,
		"/interfaces/interface[name=Loopback0]/state/oper-status-number":           `1`,
		"/interfaces/interface[name=Ethernet4]/state/oper-status":                  `"UNKNOWN"`, // APPL_DB has nothing of it
		"/interfaces/interface[name=PortChannel1]/subinterfaces/subinterface/ipv6": "",
	})
}

// What a port is a member of comes from the rows of members that are in force.
func TestMembersOfVLANsAndPortChannels(t *testing.T) {
	const e0, pc = "/interfaces/interface[name=Ethernet0]/ethernet", "/interfaces/interface[name=PortChannel1]/aggregation"
	shows(t, map[string]string{
		"CONFIG_DB PORT|Ethernet0":                         "lanes=0 speed=100000",
		"CONFIG_DB PORT|Ethernet4":                         "lanes=4 speed=25000",
		"CONFIG_DB PORT|Ethernet8":                         "lanes=8 speed=123",
		"CONFIG_DB PORTCHANNEL|PortChannel1":               "static=true",
		"CONFIG_DB PORTCHANNEL|PortChannel2":               "min_links=2",
		"APPL_DB LAG_MEMBER_TABLE:PortChannel2:Ethernet0":  "status=enabled",
		"APPL_DB PORT_TABLE:Ethernet0":                     "lanes=0 speed=100000 autoneg=on",
		"APPL_DB PORT_TABLE:Ethernet4":                     "lanes=4 speed=25000",
		"APPL_DB PORT_TABLE:Ethernet8":                     "lanes=8 speed=123",
		"APPL_DB LAG_MEMBER_TABLE:PortChannel1:Ethernet4":  "status=enabled",
		"APPL_DB LAG_MEMBER_TABLE:PortChannel1:Ethernet12": "status=enabled",
		"APPL_DB VLAN_MEMBER_TABLE:Vlan10:Ethernet0":       "tagging_mode=untagged",
		"APPL_DB VLAN_MEMBER_TABLE:Vlan20:Ethernet0":       "tagging_mode=tagged",
		"APPL_DB VLAN_MEMBER_TABLE:Vlan3:Ethernet0":        "tagging_mode=tagged",
		"APPL_DB VLAN_MEMBER_TABLE:Vlan10:PortChannel1":    "tagging_mode=untagged",
		"APPL_DB VLAN_MEMBER_TABLE:Vlan10:Ethernet8":       "tagging_mode=untagged",
		"APPL_DB VLAN_MEMBER_TABLE:Vlan11:Ethernet8":       "tagging_mode=untagged",
	}, map[string]string{
		e0 + "/switched-vlan": `{"openconfig-vlan:state":{"interface-mode":"TRUNK","native-vlan":10,"trunk-vlans":[3,20]}}`,
		e0 + "/state": `{"openconfig-if-ethernet:port-speed":"openconfig-if-ethernet:SPEED_100GB",
		 "openconfig-if-ethernet:auto-negotiate":true,
			"openconfig-if-aggregate:aggregate-id":"PortChannel2"}`,
		"/interfaces/interface[name=Ethernet4]/ethernet": `{
			"openconfig-if-ethernet:config":{"port-speed":"openconfig-if-ethernet:SPEED_25GB"},
			"openconfig-if-ethernet:state":{"port-speed":"openconfig-if-ethernet:SPEED_25GB",
			"auto-negotiate":false,"openconfig-if-aggregate:aggregate-id":"PortChannel1"}}`,
		pc + "/config": `{"openconfig-if-aggregate:lag-type":"STATIC"}`,
		"/interfaces/interface[name=PortChannel2]/aggregation": `{"openconfig-if-aggregate:config":{"lag-type":"LACP",` +
			`"min-links":2}}`,
		pc + "/state":               `{"openconfig-if-aggregate:member":["Ethernet4","Ethernet12"]}`,
		pc + "/switched-vlan/state": `{"openconfig-vlan:interface-mode":"ACCESS","openconfig-vlan:access-vlan":10}`,
		// A rate that OpenConfig has no word for, and two VLANs where it has room for one.
		"/interfaces/interface[name=Ethernet8]/ethernet/state/port-speed":    "",
		"/interfaces/interface[name=Ethernet8]/ethernet/switched-vlan/state": `{"openconfig-vlan:interface-mode":"ACCESS"}`,
	})
}

// A subscriber to what is made of several rows hears of each of them.
func TestMembersOnChange(t *testing.T) {
	b := newBed(t, nil)
	b.rows(map[string]string{"CONFIG_DB PORTCHANNEL|PortChannel1": "static=true"})
	const at = "/interfaces/interface[name=PortChannel1]/aggregation/state/member"
	s := b.subscribe(streamOf(subOf(onChange, "/interfaces/interface[name=*]/aggregation/state/member")))
	s.want("S")
	b.rows(map[string]string{"APPL_DB LAG_MEMBER_TABLE:PortChannel1:Ethernet4": "status=enabled"})
	s.want("U " + at + ` ["Ethernet4"]`)
	b.rows(map[string]string{"APPL_DB LAG_MEMBER_TABLE:PortChannel1:Ethernet0": "status=enabled"})
	s.want("U " + at + ` ["Ethernet0","Ethernet4"]`)
	b.rows(map[string]string{"APPL_DB LAG_MEMBER_TABLE:PortChannel1:Ethernet4": ""})
	s.want("U " + at + ` ["Ethernet0"]`)
	b.rows(map[string]string{"APPL_DB LAG_MEMBER_TABLE:PortChannel1:Ethernet0": ""})
	s.want("D " + at)
}

// OpenConfig's access lists have those rules of which they can say all, in an order that is that of the priorities.
// tamtam's have all.
func TestAccessLists(t *testing.T) {
	const v4, tables = "/acl/acl-sets/acl-set[name=A][type=ACL_IPV4]", "/acl/tables/table[name=A]"
	entry := func(n, leaf string) string { return v4 + "/acl-entries/acl-entry[sequence-id=" + n + "]/" + leaf }
	six := func(n, leaf string) string {
		return "/acl/acl-sets/acl-set[name=B][type=ACL_IPV6]/acl-entries/acl-entry[sequence-id=" + n + "]/" + leaf
	}
	mixed := func(n, leaf string) string {
		return "/acl/acl-sets/acl-set[name=M][type=ACL_MIXED]/acl-entries/acl-entry[sequence-id=" + n + "]/" + leaf
	}
	shows(t, map[string]string{
		"CONFIG_DB ACL_TABLE|A":       "type=l3 POLICY_DESC=words ports@=Ethernet0,Ethernet4",
		"CONFIG_DB ACL_TABLE|B":       "TYPE=L3V6",
		"CONFIG_DB ACL_TABLE|M":       "TYPE=L3V4V6",
		"CONFIG_DB ACL_TABLE|O":       "TYPE=OWN STAGE=EGRESS",
		"CONFIG_DB ACL_RULE|O|RULE_1": "PRIORITY=9 PACKET_ACTION=DROP",
		"CONFIG_DB ACL_RULE|A|RULE_10": "PRIORITY=9990 SRC_IP=10.0.0.1 DST_IP=10.1.0.0/16 IP_PROTOCOL=6 " +
			"DSCP=46 L4_DST_PORT_RANGE=80-90 TCP_FLAGS=0x12/0x12 PACKET_ACTION=FORWARD",
		"APPL_DB ACL_RULE_TABLE:A:RULE_10": "PRIORITY=9990 SRC_IP=10.0.0.1/32 PACKET_ACTION=FORWARD",
		"CONFIG_DB ACL_RULE|A|RULE_20":     "PRIORITY=9980 IP_TYPE=IPV4ANY PACKET_ACTION=DROP",
		// before RULE_20 by priority
		"CONFIG_DB ACL_RULE|A|RULE_30": "PRIORITY=9985 PACKET_ACTION=DROP",
		"CONFIG_DB ACL_RULE|A|RULE_40": "PRIORITY=9 DSCP=8/0x38 PACKET_ACTION=DROP",     // a mask
		"CONFIG_DB ACL_RULE|A|RULE_41": "PRIORITY=8 VLAN_ID=10 PACKET_ACTION=DROP",      // no leaf
		"CONFIG_DB ACL_RULE|A|RULE_42": "PRIORITY=7 PACKET_ACTION=REDIRECT:Ethernet4",   // no word
		"CONFIG_DB ACL_RULE|A|RULE_43": "PRIORITY=6 IP_PROTOCOL=6",                      // no action
		"CONFIG_DB ACL_RULE|A|RULE_44": "PRIORITY=5 PACKET_ACTION=DROP ETHER_TYPE=2054", // no leaf in such a set
		// no number of OpenConfig's
		"CONFIG_DB ACL_RULE|A|RULE_050": "PRIORITY=4 PACKET_ACTION=DROP",
		"CONFIG_DB ACL_RULE|A|deny-all": "PRIORITY=1 PACKET_ACTION=DROP",
		"CONFIG_DB ACL_RULE|B|RULE_1": "PRIORITY=1 NEXT_HEADER=17 DSCP=46 SRC_IPV6=2001:db8::1 " +
			"PACKET_ACTION=DROP",
		"CONFIG_DB ACL_RULE|M|RULE_1": "PRIORITY=3 ETHER_TYPE=0x0806 PACKET_ACTION=DROP",
		// no leaf says which family
		"CONFIG_DB ACL_RULE|M|RULE_2": "PRIORITY=2 IP_TYPE=IPV4ANY PACKET_ACTION=DROP",
		"CONFIG_DB ACL_RULE|M|RULE_3": "PRIORITY=1 IP_TYPE=IPV4ANY IP_PROTOCOL=1 SRC_IP=10.0.0.0/8 " +
			"PACKET_ACTION=DROP",
		"COUNTERS_DB ACL_COUNTER_RULE_MAP":         "A:RULE_10=oid:0x9000000000001",
		"COUNTERS_DB COUNTERS:oid:0x9000000000001": "SAI_ACL_COUNTER_ATTR_PACKETS=7 SAI_ACL_COUNTER_ATTR_BYTES=700",
	}, map[string]string{
		v4 + "/state": `{"openconfig-acl:name":"A","openconfig-acl:type":"openconfig-acl:ACL_IPV4",` +
			`"openconfig-acl:description":"words"}`,
		entry("10", "config/sequence-id"): `10`,
		entry("10", "state"): `{"openconfig-acl:sequence-id":10,"openconfig-acl:matched-packets":"7",` +
			`"openconfig-acl:matched-octets":"700"}`,
		entry("10", "ipv4/config"): `{"openconfig-acl:source-address":"10.0.0.1/32",
		 "openconfig-acl:destination-address":"10.1.0.0/16",
			"openconfig-acl:protocol":6,"openconfig-acl:dscp":46}`,
		entry("10", "ipv4/state"): `{"openconfig-acl:source-address":"10.0.0.1/32"}`,
		entry("10", "transport/config"): `{"openconfig-acl:destination-port":"80..90","openconfig-acl:detail-mode":"EXPLICIT",
			"openconfig-acl:explicit-detail-match-mode":"ALL",
			 "openconfig-acl:explicit-tcp-flags":["openconfig-packet-match-types:TCP_SYN",
			  "openconfig-packet-match-types:TCP_ACK"]}`,
		entry("10", "actions/config/forwarding-action"): `"openconfig-acl:ACCEPT"`,
		entry("20", "actions/config/forwarding-action"): `"openconfig-acl:DROP"`,
		entry("30", "config"):                           "", entry("40", "config"): "", entry("41", "config"): "",
		entry("42", "config"): "", entry("43", "config"): "",
		entry("44", "config"): "", entry("050", "config"): "", entry("50", "config"): "",
		"/acl/acl-sets/acl-set[name=A][type=ACL_IPV6]": "",
		"/acl/acl-sets/acl-set[name=O][type=*]":        "",
		six("1", "ipv6/config"): `{"openconfig-acl:source-address":"2001:db8::1/128",` +
			`"openconfig-acl:protocol":17,"openconfig-acl:dscp":46}`,
		mixed("1", "l2/config"): `{"openconfig-acl:ethertype":2054}`,
		mixed("2", "config"):    "",
		mixed("3", "ipv4/config"): `{"openconfig-acl:source-address":"10.0.0.0/8",` +
			`"openconfig-acl:protocol":1}`,
		tables + "/state": `{"tamtam-acl:name":"A","tamtam-acl:type":"l3","tamtam-acl:stage":"INGRESS",
		 "tamtam-acl:description":"words",
			"tamtam-acl:ports":["Ethernet0","Ethernet4"]}`,
		tables + "/rules/rule[rule-name=deny-all]/state": `{"tamtam-acl:rule-name":"deny-all",` +
			`"tamtam-acl:priority":1,"tamtam-acl:fields":["PACKET_ACTION=DROP"]}`,
		tables + "/rules/rule[rule-name=RULE_30]/state/priority": `9985`,
		"/acl/tables/table[name=O]/state/type":                   `"OWN"`,
	})
}

// An access list is bound to interfaces, in or out.
func TestAccessListsOfInterfaces(t *testing.T) {
	const port = "/acl/interfaces/interface[id=Ethernet0]"
	shows(t, map[string]string{
		"APPL_DB ACL_TABLE_TABLE:A": "TYPE=L3 STAGE=ingress PORTS=Ethernet0,Ethernet4",
		"APPL_DB ACL_TABLE_TABLE:B": "TYPE=L3V6 STAGE=egress PORTS=Ethernet0",
		"APPL_DB ACL_TABLE_TABLE:O": "TYPE=OWN STAGE=ingress PORTS=Ethernet8",
	}, map[string]string{
		port: `{"openconfig-acl:id":"Ethernet0","openconfig-acl:config":{"id":"Ethernet0"},
		 "openconfig-acl:state":{"id":"Ethernet0"},
			"openconfig-acl:interface-ref":{"state":{"interface":"Ethernet0"}},
			"openconfig-acl:ingress-acl-sets":{"ingress-acl-set":[{"set-name":"A","type":"openconfig-acl:ACL_IPV4",
				"config":{"set-name":"A","type":"openconfig-acl:ACL_IPV4"},"state":{"set-name":"A",
				 "type":"openconfig-acl:ACL_IPV4"}}]},
			"openconfig-acl:egress-acl-sets":{"egress-acl-set":[{"set-name":"B","type":"openconfig-acl:ACL_IPV6",
				"config":{"set-name":"B","type":"openconfig-acl:ACL_IPV6"},"state":{"set-name":"B",
				 "type":"openconfig-acl:ACL_IPV6"}}]}}`,
		"/acl/interfaces/interface[id=Ethernet4]/egress-acl-sets": "",
		"/acl/interfaces/interface[id=Ethernet8]":                 "",
	})
}

// A rule that comes to do what OpenConfig cannot say leaves its access list.
func TestAccessListsOnChange(t *testing.T) {
	b := newBed(t, nil)
	b.rows(map[string]string{"CONFIG_DB ACL_TABLE|A": "TYPE=L3"})
	const rule, entry = "CONFIG_DB ACL_RULE|A|RULE_1",
		"/acl/acl-sets/acl-set[name=A][type=ACL_IPV4]/acl-entries/acl-entry[sequence-id=1]"
	s := b.subscribe(
		streamOf(subOf(onChange,
			"/acl/acl-sets/acl-set[name=*][type=*]/acl-entries/acl-entry[sequence-id=*]/ipv4/config/dscp")))
	s.want("S")
	b.rows(map[string]string{rule: "PRIORITY=9 DSCP=46 PACKET_ACTION=DROP"})
	s.want("U " + entry + "/ipv4/config/dscp 46")
	b.rows(map[string]string{rule: "VLAN_ID=10"})
	s.want("D " + entry + "/ipv4/config/dscp")
}

// The version of the deviations, and the revisions of modules without OpenConfig's version, are those of the files.
func TestVersionsOfModules(t *testing.T) {
	for _, m := range modelData() {
		text, err := os.ReadFile("../yang/" + m.GetName() + ".yang")
		if err != nil {
			t.Error(err)
			continue
		}
		said := regexp.MustCompile(`openconfig-version "([^"]+)"|revision "([^"]+)"`).FindStringSubmatch(string(text))
		if said == nil || said[1]+said[2] != m.GetVersion() {
			t.Errorf("%s: version %s, the file says %v", m.GetName(), m.GetVersion(), said)
		}
	}
}

// What a Get of type CONFIG has is what a Set at the root of another switch takes, VLAN interfaces included, which
// another list makes; and again on the same.
func TestConfigRestores(t *testing.T) {
	a := newBed(t, nil)
	a.rows(map[string]string{
		"CONFIG_DB DEVICE_METADATA|localhost": "hostname=leaf1", "CONFIG_DB PORT|Ethernet0": "lanes=0 speed=100000 mtu=1500",
		"CONFIG_DB PORTCHANNEL|PortChannel1": "admin_status=up mtu=9100 static=true", "CONFIG_DB VLAN|Vlan10": "vlanid=10",
		"CONFIG_DB VLAN_INTERFACE|Vlan10": "mtu=1400", "CONFIG_DB VLAN_INTERFACE|Vlan10|10.0.0.1/24": "NULL=NULL",
		"CONFIG_DB LOOPBACK_INTERFACE|Loopback0": "NULL=NULL",
	})
	resp, err := a.client.Get(a.ctx, &gpb.GetRequest{Path: []*gpb.Path{{}}, Type: gpb.GetRequest_CONFIG,
		Encoding: gpb.Encoding_JSON_IETF})
	if err != nil {
		t.Fatal(err)
	}
	text := resp.GetNotification()[0].GetUpdate()[0].GetVal().GetJsonIetfVal()
	b := newBed(t, nil)
	b.rows(map[string]string{"CONFIG_DB PORT|Ethernet0": "lanes=0 speed=100000"})
	for range 2 {
		if err := b.server.Load(b.ctx, text); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		for _, row := range []string{"VLAN_INTERFACE|Vlan10", "VLAN_INTERFACE|Vlan10|10.0.0.1/24",
			"LOOPBACK_INTERFACE|Loopback0"} {
			if got, want := b.row(row), a.row(row); got != want {
				t.Errorf("%s is %q, want %q", row, got, want)
			}
		}
	}
	_, err = b.client.Set(b.ctx, updating(update("/interfaces/interface[name=Vlan11]/config", `{"name":"Vlan11"}`)))
	wantErr(t, err, "InvalidArgument", "cannot be created", "/routing/interfaces")
	_, err = b.client.Set(b.ctx, &gpb.SetRequest{Delete: []*gpb.Path{path("/interfaces/interface[name=Vlan10]")}})
	wantErr(t, err, "InvalidArgument", "cannot be deleted", "/routing/interfaces")
	b.mustSet(&gpb.SetRequest{Replace: []*gpb.Update{{Path: &gpb.Path{}, Val: ietf(string(text))}}})
	if got := b.row("VLAN_INTERFACE|Vlan10"); got != "mtu=1400" {
		t.Error(got)
	}
}

// A row is told by the list that a Set can write it in, never by a view on it; a replace of the root leaves what the
// views show.
func TestViewsTellNoRow(t *testing.T) {
	b := newBed(t, nil)
	rows := map[string]string{
		"PORTCHANNEL|PortChannel1": "admin_status=up mtu=9100 static=true min_links=2", "VLAN|Vlan10": "vlanid=10",
		"VLAN_INTERFACE|Vlan10": "mtu=1400", "VLAN_INTERFACE|Vlan10|10.0.0.1/24": "NULL=NULL",
		"LOOPBACK_INTERFACE|Loopback0": "NULL=NULL", "DEVICE_METADATA|localhost": "hostname=leaf1 hwsku=x",
		"ACL_TABLE|A": "type=L3 policy_desc=words", "ACL_RULE|A|RULE_1": "PRIORITY=9 PACKET_ACTION=DROP SRC_IP=10.0.0.0/8",
		"SCHEDULER|s": "type=DWRR weight=3",
	}
	for row, fields := range rows {
		b.rows(map[string]string{"CONFIG_DB " + row: fields})
	}
	for row, told := range map[string]string{
		"PORTCHANNEL|PortChannel1": "ALL", "VLAN|Vlan10": "ALL", "VLAN_INTERFACE|Vlan10": "ALL",
		"VLAN_INTERFACE|Vlan10|10.0.0.1/24": "ALL", "LOOPBACK_INTERFACE|Loopback0": "ALL",
		"DEVICE_METADATA|localhost": "REST", "ACL_TABLE|A": "NONE", "ACL_RULE|A|RULE_1": "NONE", "SCHEDULER|s": "NONE",
	} {
		table, key, _ := strings.Cut(row, "|")
		got, err := b.get(fmt.Sprintf("/config-rows/row[table=%s][key=%s]/state/told", table, key))
		if err != nil || got != `"`+told+`"` {
			t.Errorf("%s is told %s, %v, want %s", row, got, err, told)
		}
	}
	b.mustSet(&gpb.SetRequest{Replace: []*gpb.Update{{Path: &gpb.Path{}, Val: ietf("{}")}}})
	for _, row := range []string{"ACL_TABLE|A", "ACL_RULE|A|RULE_1", "SCHEDULER|s"} {
		if got := b.row(row); len(got) != len(rows[row]) {
			t.Errorf("%s is %q after a replace of the root, want %q", row, got, rows[row])
		}
	}
	if got := b.row("VLAN_INTERFACE|Vlan10"); got != "" {
		t.Errorf("VLAN_INTERFACE|Vlan10 is %q after a replace of the root", got)
	}
}

// What LACP said of a PortChannel, or a member, that was made anew since is not told of the new one; and that it has
// said nothing is, until it has.
func TestLACPOfBefore(t *testing.T) {
	const lag = "/interfaces/interface[name=PortChannel1]/aggregation/"
	const member = lag + "members/member[interface=Ethernet0]/state/"
	b := newBed(t, nil)
	b.rows(map[string]string{
		"CONFIG_DB PORT|Ethernet0":                            "lanes=0 speed=100000",
		"CONFIG_DB PORTCHANNEL|PortChannel1":                  "admin_status=up",
		"CONFIG_DB PORTCHANNEL_MEMBER|PortChannel1|Ethernet0": "NULL=NULL",
		"APPL_DB LAG_TABLE:PortChannel1":                      "protocol=lacp incarnation=4/11",
		"APPL_DB LAG_MEMBER_TABLE:PortChannel1:Ethernet0":     "status=disabled oper_status=down incarnation=5/11",
		"STATE_DB LACP_TABLE|PortChannel1":                    "links=1 partner=02:00:00:00:00:02 incarnation=1/11",
		"STATE_DB LACP_MEMBER_TABLE|PortChannel1|Ethernet0": "mux=distributing runner.state=current runner.selected=true " +
			"incarnation=2/11",
		"STATE_DB LACP_MEMBER_TABLE|PortChannel1|Ethernet4":   "mux=distributing",
		"APPL_DB LAG_MEMBER_TABLE:PortChannel1:Ethernet4":     "status=enabled oper_status=up",
		"CONFIG_DB PORTCHANNEL_MEMBER|PortChannel1|Ethernet4": "NULL=NULL",
	})
	b.shows(t, map[string]string{
		lag + "state/lag-links": `0`, lag + "state/partner-id": "", lag + "state/not-up-because": strconv.Quote(silentLACP),
		member + "mux": `"DETACHED"`, member + "selected": `false`, member + "receive-state": "",
		member + "not-distributing-because":                          strconv.Quote(silentLACP),
		strings.Replace(member, "Ethernet0", "Ethernet4", 1) + "mux": `"DISTRIBUTING"`,
	})
	s := b.subscribe(streamOf(subOf(onChange, member+"mux")))
	s.want("U "+member+`mux "DETACHED"`, "S")
	b.rows(map[string]string{
		"STATE_DB LACP_MEMBER_TABLE|PortChannel1|Ethernet0": "mux=collecting runner.state=current reason=soon " +
			"incarnation=5/11"})
	s.want("U " + member + `mux "COLLECTING"`)
	b.shows(t, map[string]string{member + "receive-state": `"CURRENT"`, member + "not-distributing-because": `"soon"`})
	b.rows(map[string]string{
		"APPL_DB LAG_MEMBER_TABLE:PortChannel1:Ethernet0": "status=disabled oper_status=down incarnation=6/11"})
	s.want("U " + member + `mux "DETACHED"`)
	b.rows(map[string]string{"STATE_DB LACP_MEMBER_TABLE|PortChannel1|Ethernet0": ""})
	b.shows(t, map[string]string{member + "not-distributing-because": strconv.Quote(silentLACP)})
}
