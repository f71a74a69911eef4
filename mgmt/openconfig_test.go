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

// shows checks the values at paths for rows; "" means no value.
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

// A subscriber to a value that is made of several rows is notified of changes of each.
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

// If a rule changes to one that OpenConfig cannot express, it disappears from its access list.
func TestAccessListsOnChange(t *testing.T) {
	b := newBed(t, nil)
	b.rows(map[string]string{"CONFIG_DB ACL_TABLE|A": "TYPE=L3"})
	const rule, entry = "CONFIG_DB ACL_RULE|A|RULE_1",
		"/acl/acl-sets/acl-set[name=A][type=ACL_IPV4]/acl-entries/acl-entry[sequence-id=1]"
	s := b.subscribe(
		streamOf(subOf(onChange,
			"/acl/acl-sets/acl-set[name=*][type=*]/acl-entries/acl-entry[sequence-id=*]/ipv4/config/source-address")))
	s.want("S")
	b.rows(map[string]string{rule: "PRIORITY=9 SRC_IP=10.1.0.0/16 PACKET_ACTION=DROP"})
	s.want("U " + entry + `/ipv4/config/source-address "10.1.0.0/16"`)
	b.rows(map[string]string{rule: "VLAN_ID=10"})
	s.want("D " + entry + "/ipv4/config/source-address")
}

// The version of the deviations, and the revisions of modules without OpenConfig's version, equal those of the files.
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

// The result of a Get of type CONFIG is accepted by a Set at the root of another switch, and again on the same one. It
// includes VLAN interfaces, which another list creates.
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
	b.mustSet(&gpb.SetRequest{Replace: []*gpb.Update{{Path: &gpb.Path{}, Val: ietf(string(text))}}})
	if got := b.row("VLAN_INTERFACE|Vlan10"); got != "mtu=1400" {
		t.Error(got)
	}
}

// A row is represented by the list in which a Set can write it, never by a view of that list. A replace of the root
// keeps data that no Set can write there. Access lists are written at OpenConfig's path alone.
func TestViewsReportNoRow(t *testing.T) {
	b := newBed(t, nil)
	rows := map[string]string{
		"PORTCHANNEL|PortChannel1": "admin_status=up mtu=9100 static=true min_links=2", "VLAN|Vlan10": "vlanid=10",
		"VLAN_INTERFACE|Vlan10": "mtu=1400", "VLAN_INTERFACE|Vlan10|10.0.0.1/24": "NULL=NULL",
		"LOOPBACK_INTERFACE|Loopback0": "NULL=NULL", "DEVICE_METADATA|localhost": "hostname=leaf1 hwsku=x",
		"ACL_TABLE|A": "type=L3 policy_desc=words", "ACL_RULE|A|RULE_1": "PRIORITY=9 PACKET_ACTION=DROP SRC_IP=10.0.0.0/8",
		"SCHEDULER|s": "type=DWRR weight=3", "QUEUE|Ethernet0,Ethernet4|0": "scheduler=s wred_profile=w",
	}
	for row, fields := range rows {
		b.rows(map[string]string{"CONFIG_DB " + row: fields})
	}
	for row, reported := range map[string]string{
		"PORTCHANNEL|PortChannel1": "ALL", "VLAN|Vlan10": "ALL", "VLAN_INTERFACE|Vlan10": "ALL",
		"VLAN_INTERFACE|Vlan10|10.0.0.1/24": "ALL", "LOOPBACK_INTERFACE|Loopback0": "ALL",
		"DEVICE_METADATA|localhost": "REST", "ACL_TABLE|A": "NONE", "ACL_RULE|A|RULE_1": "NONE", "SCHEDULER|s": "NONE",
	} {
		table, key, _ := strings.Cut(row, "|")
		got, err := b.get(fmt.Sprintf("/config-rows/row[table=%s][key=%s]/state/told", table, key))
		if err != nil || got != `"`+reported+`"` {
			t.Errorf("%s is told %s, %v, want %s", row, got, err, reported)
		}
	}
	b.mustSet(&gpb.SetRequest{Replace: []*gpb.Update{{Path: &gpb.Path{}, Val: ietf("{}")}}})
	for _, row := range []string{"QUEUE|Ethernet0,Ethernet4|0", "SCHEDULER|s"} {
		if got := b.row(row); len(got) != len(rows[row]) {
			t.Errorf("%s is %q after a replace of the root, want %q", row, got, rows[row])
		}
	}
	for _, row := range []string{"VLAN_INTERFACE|Vlan10", "ACL_TABLE|A", "ACL_RULE|A|RULE_1"} {
		if got := b.row(row); got != "" {
			t.Errorf("%s is %q after a replace of the root", row, got)
		}
	}
}

// If a PortChannel or a member was deleted and created again, its former LACP state is not shown. Until LACP has
// reported, the reason states that it has not.
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
