package mgmt

import (
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// OpenConfig's LACP shows the state that hostd reports of port channels, their members and partners. last-change of
// their interfaces is set, too.
func TestLACP(t *testing.T) {
	const pc = "/lacp/interfaces/interface[name=PortChannel1]"
	member := func(name string) string { return pc + "/members/member[interface=" + name + "]" }
	rows := map[string]string{
		"CONFIG_DB PORT|Ethernet0": "lanes=0 speed=100000", "CONFIG_DB PORT|Ethernet4": "lanes=4 speed=100000",
		"CONFIG_DB PORTCHANNEL|PortChannel1":                       "admin_status=up mtu=9100 fast_rate=true",
		"CONFIG_DB PORTCHANNEL|PortChannel2":                       "static=true",
		"CONFIG_DB PORTCHANNEL_INTERFACE|PortChannel1":             "NULL=NULL",
		"CONFIG_DB PORTCHANNEL_INTERFACE|PortChannel1|10.0.0.1/24": "NULL=NULL",
		"APPL_DB LAG_TABLE:PortChannel1": "admin_status=up mtu=9100 oper_status=up " +
			"last_change=1767323045000000001",
		"APPL_DB PORT_TABLE:Ethernet0": "lanes=0 speed=100000 oper_status=up",
		"STATE_DB LACP_TABLE|PortChannel1": "links=1 partner=02:00:00:00:00:02 runner.active=true runner.fast_rate=true " +
			"runner.fallback=false team_device.ifinfo.dev_addr=02:00:00:00:00:01",
		"STATE_DB LACP_MEMBER_TABLE|PortChannel1|Ethernet0": "mux=distributing runner.actor_lacpdu_info.state=63 " +
			"runner.actor_lacpdu_info.system=02:00:00:00:00:01 runner.actor_lacpdu_info.key=11 " +
			"runner.actor_lacpdu_info.port=1 " +
			"runner.actor_lacpdu_info.port_priority=255 runner.partner_lacpdu_info.system=02:00:00:00:00:02 " +
			"runner.partner_lacpdu_info.key=7 runner.partner_lacpdu_info.port=9 runner.partner_lacpdu_info.port_priority=128",
		"STATE_DB LACP_MEMBER_TABLE|PortChannel1|Ethernet4": "runner.actor_lacpdu_info.state=4",
		"COUNTERS_DB LACP_COUNTERS:PortChannel1:Ethernet0": "lacpdu-sent=5 lacpdu-received=6 expired=1 discarded-a=2 " +
			"discarded-b=3",
		"STATE_DB LACP_MEMBER_TABLE|PortChannel1|nobody knows": "runner.actor_lacpdu_info.state=many",
	}
	shows(t, rows, map[string]string{
		pc + "/config": `{"openconfig-lacp:name":"PortChannel1","openconfig-lacp:interval":"FAST",
		 "openconfig-lacp:lacp-mode":"ACTIVE"}`,
		pc + "/state": `{"openconfig-lacp:name":"PortChannel1","openconfig-lacp:interval":"FAST",
		 "openconfig-lacp:lacp-mode":"ACTIVE",
			"openconfig-lacp:system-id-mac":"02:00:00:00:00:01","openconfig-lacp:fallback":false}`,
		member("Ethernet0") + "/state": `{"openconfig-lacp:interface":"Ethernet0","openconfig-lacp:activity":"ACTIVE",
			"openconfig-lacp:timeout":"SHORT","openconfig-lacp:synchronization":"IN_SYNC","openconfig-lacp:aggregatable":true,
			"openconfig-lacp:collecting":true,"openconfig-lacp:distributing":true,
			 "openconfig-lacp:system-id":"02:00:00:00:00:01",
			"openconfig-lacp:oper-key":11,"openconfig-lacp:port-num":1,"openconfig-lacp:port-priority":255,
			"openconfig-lacp:partner-id":"02:00:00:00:00:02","openconfig-lacp:partner-key":7,
			 "openconfig-lacp:partner-port-num":9,
			"openconfig-lacp:partner-port-priority":128,"openconfig-lacp:counters":{"lacp-in-pkts":"6","lacp-out-pkts":"5",
			"lacp-rx-errors":"5","lacp-timeout-transitions":"1"}}`,
		member("Ethernet4") + "/state/activity":                                                 `"PASSIVE"`,
		member("Ethernet4") + "/state/timeout":                                                  `"LONG"`,
		member("Ethernet4") + "/state/distributing":                                             "false",
		"/lacp/interfaces/interface[name=PortChannel2]":                                         "",
		"/interfaces/interface[name=PortChannel1]/state/last-change":                            `"1767323045000000001"`,
		"/interfaces/interface[name=PortChannel1]/subinterfaces/subinterface/state/last-change": `"1767323045000000001"`,
		// The time is unknown.
		"/interfaces/interface[name=Ethernet0]/state/last-change": "",
	})
	b := newBed(t, nil)
	b.rows(rows)
	const config = "PORTCHANNEL|PortChannel1"
	b.mustSet(updating(update(pc+"/config", `{"name":"PortChannel1","lacp-mode":"ACTIVE","interval":"SLOW"}`)))
	b.wantRow(config, "admin_status=up fast_rate=false mtu=9100") // it was FAST
	b.mustSet(deleting(pc + "/config/interval"))
	b.wantRow(config, "admin_status=up mtu=9100")
	b.refusedSet(updating(update(pc+"/config/lacp-mode", `"PASSIVE"`)), "InvalidArgument", "want ACTIVE")
	b.refusedSet(updating(update(pc+"/config/system-id-mac", `"02:00:00:00:00:09"`)), "InvalidArgument", "of the switch")
	b.refusedSet(updating(update("/lacp/interfaces/interface[name=PortChannel2]/config/interval", `"FAST"`)),
		"InvalidArgument", "its lag-type is STATIC")
	b.refusedSet(updating(update("/lacp/interfaces/interface[name=Ethernet0]/config/interval", `"FAST"`)),
		"InvalidArgument", "is no PortChannel")
	const at = "/interfaces/interface[name=PortChannel1]/aggregation/config"
	b.mustSet(updating(update(at, `{"interval":"SLOW","fallback":true,"min-links":2}`)))
	b.wantRow("PORTCHANNEL|PortChannel1", "admin_status=up fallback=true fast_rate=false min_links=2 mtu=9100")
	b.mustSet(deleting(at+"/interval", at+"/fallback"))
	b.wantRow("PORTCHANNEL|PortChannel1", "admin_status=up min_links=2 mtu=9100")
	b.mustSet(&gpb.SetRequest{})
}
