package mgmt

import (
	"testing"

	"tamtam/mgmt/models"
)

const subE0 = portE0 + "/subinterfaces/subinterface[index=0]"

// An interface that a client makes as OpenConfig's tests do is accepted: enabled of the subinterface and of both IP
// versions, and the duplex mode, have the only value that they can have.
func TestEnabledOfSubinterfaces(t *testing.T) {
	b := newBed(t, nil)
	b.rows(map[string]string{"CONFIG_DB PORT|Ethernet0": "lanes=0 speed=100000", "CONFIG_DB VLAN|Vlan10": "vlanid=10"})
	b.mustSet(replacing(update(portE0, `{
		"config":{"name":"Ethernet0","type":"iana-if-type:ethernetCsmacd","enabled":true},
		"ethernet":{"config":{"duplex-mode":"FULL","port-speed":"SPEED_100GB"}},
		"subinterfaces":{"subinterface":[{"index":0,"config":{"index":0,"enabled":true},
		"ipv4":{"config":{"enabled":true},"addresses":{"address":[{"ip":"10.0.0.1","config":{"ip":"10.0.0.1",
		"prefix-length":30}}]}},"ipv6":{"config":{"enabled":true}}}]}}`)))
	b.wantRow("INTERFACE|Ethernet0", "NULL=NULL")
	b.wantRow("INTERFACE|Ethernet0|10.0.0.1/30", "NULL=NULL")
	b.mustSet(updating(update("/interfaces/interface[name=Vlan10]/routed-vlan/ipv4/config/enabled", `true`)))
	b.wantRow("VLAN_INTERFACE|Vlan10", "NULL=NULL")
	b.shows(t, map[string]string{
		subE0 + "/config/enabled": "true", subE0 + "/state/enabled": "true",
		subE0 + "/ipv4/config/enabled": "true", subE0 + "/ipv6/config/enabled": "true",
		subE0 + "/ipv4/state/enabled":          "", // it routes only once orchagent's row is there
		portE0 + "/ethernet/state/duplex-mode": "", portE0 + "/ethernet/config/duplex-mode": `"FULL"`,
	})
	b.rows(map[string]string{"APPL_DB INTF_TABLE:Ethernet0": "NULL=NULL"})
	b.shows(t, map[string]string{subE0 + "/ipv4/state/enabled": "true", subE0 + "/ipv6/state/enabled": "true"})
	for path, why := range map[string]string{
		subE0 + "/config/enabled":                                               "config/enabled of the interface",
		subE0 + "/ipv4/config/enabled":                                          "has both IPv4 and IPv6",
		subE0 + "/ipv6/config/enabled":                                          "has both IPv4 and IPv6",
		"/interfaces/interface[name=Vlan10]/routed-vlan/ipv6/config/enabled":    "has both IPv4 and IPv6",
		"/interfaces/interface[name=Ethernet0]/routed-vlan/ipv6/config/enabled": "is no VLAN interface",
	} {
		b.refusedSet(updating(update(path, `false`)), "InvalidArgument", why)
	}
	b.refusedSet(updating(update(portE0+"/ethernet/config/duplex-mode", `"HALF"`)), "InvalidArgument", "it is FULL")
}

// A VLAN interface is enabled as its VLAN is, and a loopback always.
func TestEnabledOfLogicalInterfaces(t *testing.T) {
	b := newBed(t, nil)
	b.rows(map[string]string{"CONFIG_DB VLAN|Vlan10": "vlanid=10 admin_status=up",
		"CONFIG_DB VLAN_INTERFACE|Vlan10": "NULL=NULL"})
	const vlan, loopback = "/interfaces/interface[name=Vlan10]", "/interfaces/interface[name=Loopback0]"
	b.mustSet(updating(update(vlan+"/config/enabled", `true`),
		update(loopback, `{"config":{"name":"Loopback0","type":"iana-if-type:softwareLoopback","enabled":true}}`)))
	b.wantRow("LOOPBACK_INTERFACE|Loopback0", "NULL=NULL")
	b.wantRow("VLAN|Vlan10", "admin_status=up vlanid=10")
	b.shows(t, map[string]string{vlan + "/config/enabled": "true", loopback + "/state/enabled": "true"})
	b.refusedSet(updating(update(vlan+"/config/enabled", `false`)), "InvalidArgument", "config/status of its VLAN")
	b.refusedSet(updating(update(loopback+"/config/enabled", `false`)), "InvalidArgument", "it is true")
	b.rows(map[string]string{"CONFIG_DB VLAN|Vlan10": "admin_status=down"})
	b.shows(t, map[string]string{vlan + "/config/enabled": "false", vlan + "/state/enabled": "false"})
}

// Addresses and counters of interfaces follow their rows.
func TestAddressesAndCountersOfInterfaces(t *testing.T) {
	b := newBed(t, nil)
	b.rows(map[string]string{
		"CONFIG_DB DEVICE_METADATA|localhost": "mac=02:00:00:00:00:AA", "CONFIG_DB PORT|Ethernet0": "lanes=0 speed=100000",
		"APPL_DB PORT_TABLE:Ethernet0": "lanes=0 flap_count=3", "CONFIG_DB INTERFACE|Ethernet0": "NULL=NULL",
		"COUNTERS_DB COUNTERS_PORT_NAME_MAP": "Ethernet0=oid:0x1", "COUNTERS_DB COUNTERS_RIF_NAME_MAP": "Ethernet0=oid:0x2",
		"COUNTERS_DB COUNTERS:oid:0x1": "SAI_PORT_STAT_ETHER_RX_OVERSIZE_PKTS=4 SAI_PORT_STAT_IF_IN_UNKNOWN_PROTOS=0",
		"COUNTERS_DB COUNTERS:oid:0x2": "SAI_ROUTER_INTERFACE_STAT_IN_PACKETS=7 SAI_ROUTER_INTERFACE_STAT_OUT_OCTETS=90",
	})
	b.shows(t, map[string]string{
		portE0 + "/ethernet/state/mac-address":         `"02:00:00:00:00:aa"`,
		portE0 + "/ethernet/state/hw-mac-address":      `"02:00:00:00:00:aa"`,
		portE0 + "/state/counters/carrier-transitions": `"3"`, portE0 + "/state/counters/interface-transitions": `"3"`,
		portE0 + "/state/counters/in-unknown-protos":            `"0"`,
		portE0 + "/ethernet/state/counters/in-maxsize-exceeded": `"4"`,
		portE0 + "/ethernet/state/counters/in-jabber-frames":    "",
		subE0 + "/state/counters/in-pkts":                       `"7"`, subE0 + "/state/counters/out-octets": `"90"`,
		subE0 + "/state/counters/in-errors": "",
	})
	b.rows(map[string]string{"APPL_DB INTF_TABLE:Ethernet0": "mac_addr=02:00:00:00:00:01"})
	b.shows(t, map[string]string{portE0 + "/ethernet/state/mac-address": `"02:00:00:00:00:01"`,
		portE0 + "/ethernet/state/hw-mac-address": `"02:00:00:00:00:aa"`})
	const channel = "/interfaces/interface[name=PortChannel1]/ethernet/state"
	b.rows(map[string]string{"CONFIG_DB PORTCHANNEL|PortChannel1": "admin_status=up"})
	b.shows(t, map[string]string{channel + "/mac-address": `"02:00:00:00:00:aa"`, channel + "/hw-mac-address": ""})
	b.rows(map[string]string{"APPL_DB INTF_TABLE:PortChannel1": "mac_addr=02:00:00:00:00:02"})
	b.shows(t, map[string]string{channel + "/mac-address": `"02:00:00:00:00:02"`})
}

// Leaves that clients name in one subscription with others are in the tree without values. All ports that are in force
// forward.
func TestLeavesWithoutValues(t *testing.T) {
	b := newBed(t, nil)
	b.rows(map[string]string{"CONFIG_DB PORT|Ethernet0": "lanes=0", "APPL_DB PORT_TABLE:Ethernet0": "lanes=0",
		"APPL_DB SWITCH_TABLE:switch": "fdb_aging_time=600"})
	b.shows(t, map[string]string{
		portE0 + "/state/transceiver": "", portE0 + "/state/physical-channel": "", portE0 + "/state/id": "",
		"/components/component[name=chip]/integrated-circuit/state/node-id": "",
		portE0 + "/state/forwarding-viable":                                 "true",
	})
}

// LLDP cannot be switched off, and is announced while hostd runs.
func TestLLDPIsAlwaysEnabled(t *testing.T) {
	b := newBed(t, nil)
	b.rows(map[string]string{"CONFIG_DB DEVICE_METADATA|localhost": "hostname=leaf1",
		"APPL_DB PORT_TABLE:Ethernet0": "lanes=0"})
	const port = "/lldp/interfaces/interface[name=Ethernet0]"
	b.mustSet(updating(update("/lldp/config/enabled", `true`), update(port+"/config",
		`{"name":"Ethernet0","enabled":true}`)))
	b.refusedSet(updating(update("/lldp/config/enabled", `false`)), "InvalidArgument", "LLDP is spoken at each port")
	b.refusedSet(updating(update(port+"/config/enabled", `false`)), "InvalidArgument", "LLDP is spoken at each port")
	b.shows(t, map[string]string{"/lldp/config/enabled": "true", "/lldp/state/enabled": "",
		"/lldp/state/system-description": ""})
	b.rows(map[string]string{"STATE_DB TAMTAM_HEALTH|hostd": "state=ready"})
	b.shows(t, map[string]string{"/lldp/state/enabled": "true",
		"/lldp/state/system-description": `"tamtam, a switch in software"`})
}

// The chip is active while syncd is ready. All components but the chassis are parts of it.
func TestComponents(t *testing.T) {
	mounts := map[string]map[string]string{"/": {"size": "9", "available": "4", "utilized": "5"}}
	b := newBed(t, func(c *Config) {
		c.Host = func(table string) map[string]map[string]string {
			return map[string]map[string]map[string]string{models.HostMounts: mounts}[table]
		}
	})
	b.rows(map[string]string{"CONFIG_DB DEVICE_METADATA|localhost": "hostname=leaf1",
		"APPL_DB SWITCH_TABLE:switch": "fdb_aging_time=600", "APPL_DB PORT_TABLE:Ethernet0": "lanes=0 index=1"})
	const of = "/components/component"
	const active = `"openconfig-platform-types:ACTIVE"`
	b.shows(t, map[string]string{
		of + "[name=chip]/state/oper-status": "", of + "[name=chip]/state/parent": `"chassis"`,
		of + "[name=port-1]/state/oper-status": active, of + "[name=port-1]/state/parent": `"chassis"`,
		of + "[name=chassis]/state/oper-status": active, of + "[name=chassis]/state/parent": "",
		of + "[name=chassis]/state/removable":              "false",
		"/system/mount-points/mount-point/state/available": `"4"`,
	})
	b.rows(map[string]string{"STATE_DB TAMTAM_HEALTH|syncd": "state=ready"})
	b.shows(t, map[string]string{of + "[name=chip]/state/oper-status": active})
	b.rows(map[string]string{"STATE_DB TAMTAM_HEALTH|syncd": "state=waits"})
	b.shows(t, map[string]string{of + "[name=chip]/state/oper-status": `"openconfig-platform-types:INACTIVE"`})
	mounts["/"]["available"] = "3"
	b.shows(t, map[string]string{"/system/mount-points/mount-point/state/available": `"3"`})
}

// SONiC's rates are in bytes per second, OpenConfig's in bits.
func TestRates(t *testing.T) {
	b := newBed(t, nil)
	b.rows(map[string]string{"CONFIG_DB PORT|Ethernet0": "lanes=0 speed=100000",
		"COUNTERS_DB COUNTERS_PORT_NAME_MAP": "Ethernet0=oid:0x1",
		"COUNTERS_DB RATES:oid:0x1":          "RX_BPS=1250.06 RX_PPS=2.5 TX_PPS=-1"})
	b.shows(t, map[string]string{portE0 + "/rates/state/in-bits-rate": `"10000"`,
		portE0 + "/rates/state/in-pkts-rate":  `"3"`,
		portE0 + "/rates/state/out-bits-rate": "", portE0 + "/rates/state/out-pkts-rate": ""})
}

// A profile of queues is a row of WRED_PROFILE.
func TestQueueManagementProfiles(t *testing.T) {
	b := newBed(t, nil)
	const profile = "/qos/queue-management-profiles/queue-management-profile[name=w]"
	b.mustSet(updating(update(profile, `{"config":{"name":"w"},"wred":{"uniform":{"config":{"min-threshold":"1000",
		"max-threshold":"2000","enable-ecn":true,"drop":false,"max-drop-probability-percent":50}}}}`)))
	b.wantRow("WRED_PROFILE|w",
		"ecn=ecn_all green_drop_probability=50 green_max_threshold=2000 green_min_threshold=1000 "+
			"wred_green_enable=false")
	b.refusedSet(updating(update(profile+"/wred/uniform/config/max-threshold", `"900"`)), "InvalidArgument",
		"green_max_threshold")
	b.shows(t, map[string]string{profile + "/wred/uniform/config/enable-ecn": "true",
		profile + "/wred/uniform/state/drop":          "",
		profile + "/wred/uniform/state/min-threshold": ""})
	b.rows(map[string]string{
		"APPL_DB WRED_PROFILE_TABLE:w": "green_min_threshold=1000 wred_green_enable=true ecn=ecn_none",
	})
	b.shows(t, map[string]string{profile + "/wred/uniform/state/min-threshold": `"1000"`,
		profile + "/wred/uniform/state/drop": "true", profile + "/wred/uniform/state/enable-ecn": "false"})
	for _, queue := range []string{"w", "[WRED_PROFILE|w]"} {
		b.mustSet(updating(oneField("QUEUE", "Ethernet0|3", "wred_profile="+queue)))
		b.refusedSet(deleting(profile), "FailedPrecondition", profile, "in use by wred_profile of QUEUE|Ethernet0|3")
	}
	b.mustSet(deleting("/qos")) // with the profiles of queues
	b.wantRow("WRED_PROFILE|w", "")
	b.wantRow("QUEUE|Ethernet0|3", "")
}

// An interface of the network instance is one that routes.
func TestInterfacesOfTheInstance(t *testing.T) {
	b := newBed(t, nil)
	b.rows(map[string]string{"CONFIG_DB DEVICE_METADATA|localhost": "hostname=leaf1",
		"CONFIG_DB PORT|Ethernet0": "lanes=0 speed=100000"})
	const instance = "/network-instances/network-instance[name=default]"
	const entry = instance + "/interfaces/interface[id=Ethernet0.0]"
	b.mustSet(updating(update(instance, `{"name":"default","config":{"name":"default"},"interfaces":{"interface":[
		{"id":"Ethernet0.0","config":{"id":"Ethernet0.0","interface":"Ethernet0","subinterface":0}}]}}`)))
	b.wantRow("INTERFACE|Ethernet0", "NULL=NULL")
	b.shows(t, map[string]string{entry + "/config/interface": `"Ethernet0"`, entry + "/state/subinterface": "0",
		entry + "/state/id": `"Ethernet0.0"`})
	for path, why := range map[string]string{
		instance + "/interfaces/interface[id=Ethernet0]/config/id":   "such as Ethernet0.0",
		instance + "/interfaces/interface[id=Ethernet0.1]/config/id": "such as Ethernet0.0",
	} {
		id := path[len(instance+"/interfaces/interface[id=") : len(path)-len("]/config/id")]
		b.refusedSet(updating(update(path, `"`+id+`"`)), "InvalidArgument", why)
	}
	b.refusedSet(updating(update(entry+"/config/subinterface", "1")), "InvalidArgument", "as in the id")
	// A replace of the instance without interfaces keeps them: they are subinterfaces.
	b.mustSet(replacing(update(instance, `{"name":"default","config":{"name":"default","type":"DEFAULT_INSTANCE"}}`)))
	b.wantRow("INTERFACE|Ethernet0", "NULL=NULL")
	// An interface with an address is in the instance, also if the same Set does not name it there.
	routed := update("/interfaces", `{"interface":[{"name":"Ethernet0","config":{"name":"Ethernet0"},"subinterfaces":{
		"subinterface":[{"index":0,"config":{"index":0},"openconfig-if-ip:ipv4":{"addresses":{"address":[
		{"ip":"10.0.0.1","config":{"ip":"10.0.0.1","prefix-length":24}}]}}}]}}]}`)
	others := update(instance+"/interfaces", `{"interface":[]}`)
	b.mustSet(replacing(routed, others))
	b.wantRow("INTERFACE|Ethernet0|10.0.0.1/24", "NULL=NULL")
	b.mustSet(replacing(others))
	b.wantRow("INTERFACE|Ethernet0", "")
	b.mustSet(replacing(others, routed))
	b.wantRow("INTERFACE|Ethernet0|10.0.0.1/24", "NULL=NULL")
	b.mustSet(deleting(entry))
	b.wantRow("INTERFACE|Ethernet0", "")
	b.wantRow("INTERFACE|Ethernet0|10.0.0.1/24", "")
}

// OpenConfig's sFlow is that of tamtam-sflow: the switch, its collectors, and settings of ports.
func TestSampling(t *testing.T) {
	b := newBed(t, nil)
	b.rows(map[string]string{"CONFIG_DB PORT|Ethernet0": "lanes=0 speed=100000"})
	const all, port = "/sampling/sflow", "/sampling/sflow/interfaces/interface[name=Ethernet0]"
	b.mustSet(updating(update(all+"/config", `{"enabled":true,"polling-interval":30}`),
		update(port, `{"name":"Ethernet0","config":{"name":"Ethernet0","enabled":true,"ingress-sampling-rate":1000}}`)))
	b.wantRow("SFLOW|global", "admin_state=up polling_interval=30")
	b.wantRow("SFLOW_SESSION|Ethernet0", "admin_state=up sample_direction=rx sample_rate=1000")
	b.refusedSet(updating(update(port+"/config/egress-sampling-rate", "1000")), "InvalidArgument",
		"/sflow/sessions/session")
	b.shows(t, map[string]string{all + "/config/enabled": "true", all + "/state/enabled": "",
		port + "/config/ingress-sampling-rate": "1000", port + "/config/egress-sampling-rate": "",
		port + "/state/enabled": "", all + "/collectors": ""})
	b.rows(map[string]string{
		"APPL_DB SFLOW_TABLE:global":            "admin_state=up polling_interval=20",
		"APPL_DB SFLOW_SESSION_TABLE:Ethernet0": "admin_state=down sample_rate=512 sample_direction=both",
		"APPL_DB SFLOW_COLLECTOR_TABLE:c":       "collector_ip=192.0.2.9 collector_port=6343 collector_vrf=default",
		"APPL_DB SFLOW_COLLECTOR_TABLE:m":       "collector_ip=192.0.2.8 collector_port=6343 collector_vrf=mgmt",
		"COUNTERS_DB SFLOW_COUNTERS:sflowd":     "agent-address=192.0.2.1",
	})
	b.shows(t, map[string]string{all + "/state/enabled": "true", all + "/state/polling-interval": "20",
		all + "/state/agent-id-ipv4": `"192.0.2.1"`, all + "/state/agent-id-ipv6": "",
		port + "/state/enabled": "false", port + "/state/ingress-sampling-rate": "512",
		port + "/state/egress-sampling-rate":                                               "512",
		all + "/collectors/collector[address=192.0.2.9][port=6343]/state/address":          `"192.0.2.9"`,
		all + "/collectors/collector[address=192.0.2.9][port=6343]/state/network-instance": `"default"`,
		all + "/collectors/collector[address=192.0.2.8][port=6343]/state/network-instance": "",
		all + "/state/dscp": "0", all + "/state/sample-size": "128", port + "/state/polling-interval": "20"})
	b.mustSet(deleting(port + "/config/ingress-sampling-rate"))
	b.wantRow("SFLOW_SESSION|Ethernet0", "admin_state=up sample_direction=rx")
	b.mustSet(deleting(port))
	b.wantRow("SFLOW_SESSION|Ethernet0", "")
}
