package mgmt

import (
	"testing"

	"tamtam/mgmt/models"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// What is known of the machine is the switch's system; what is not known is not there.
func TestSystem(t *testing.T) {
	tables := map[string]map[string]map[string]string{
		models.HostFacts:     {"switch": {"software-version": "v1", "boot-time": "1000"}},
		models.HostState:     {"switch": {"current-datetime": "2026-01-15T12:00:00Z", "physical": "1024"}},
		models.HostProcesses: {"7": {"name": "tamtam", "memory-usage": "4096"}, "12": {"name": "redis-server"}},
	}
	b := newBed(t, func(c *Config) {
		c.Host = func(table string) map[string]map[string]string { return tables[table] }
	})
	b.rows(map[string]string{
		"CONFIG_DB DEVICE_METADATA|localhost": "hostname=leaf1 mac=02:00:00:00:00:01 hwsku=Sim-32",
		"APPL_DB PORT_TABLE:Ethernet0":        "lanes=0 index=1",
		"APPL_DB PORT_TABLE:Ethernet4":        "lanes=4 index=2",
		"APPL_DB PORT_TABLE:Ethernet5":        "lanes=5 index=2",
		"APPL_DB PORT_TABLE:PortConfigDone":   "count=3",
		"CONFIG_DB PORT|Ethernet5":            "lanes=5 index=2",
		"APPL_DB SWITCH_TABLE:switch":         "fdb_aging_time=600",
		"COUNTERS_DB CRM:STATS": "crm_stats_ipv4_route_used=3 crm_stats_ipv4_route_available=97 " +
			"crm_stats_fdb_entry_used=1",
	})
	for path, want := range map[string]string{
		"/system/state": `{"openconfig-system:hostname":"leaf1","openconfig-system:software-version":"v1",
		 "openconfig-system:boot-time":"1000",
			"openconfig-system:current-datetime":"2026-01-15T12:00:00Z"}`,
		"/system/memory": `{"openconfig-system:state":{"physical":"1024"}}`,
		"/system/processes": `{"openconfig-system:process":[{"pid":"12","state":{"pid":"12","name":"redis-server"}},
			{"pid":"7","state":{"pid":"7","name":"tamtam","memory-usage":"4096"}}]}`,
		"/components/component[name=chassis]/state": `{"openconfig-platform:name":"chassis",
		 "openconfig-platform:type":"openconfig-platform-types:CHASSIS",
			"openconfig-platform:model-name":"Sim-32","openconfig-platform:base-mac-address":"02:00:00:00:00:01",
			 "openconfig-platform:software-version":"v1"}`,
		"/components/component[name=port-2]/state": `{"openconfig-platform:name":"port-2",` +
			`"openconfig-platform:type":"openconfig-platform-types:PORT"}`,
		"/components/component[name=*]/config/name":                 "\"chassis\"\n\"chip\"\n\"port-1\"\n\"port-2\"",
		"/interfaces/interface[name=Ethernet5]/state/hardware-port": `"port-2"`,
		"/components/component[name=chip]/integrated-circuit/utilization": `{"openconfig-platform:resources":{"resource":[
			{"name":"fdb_entry","config":{"name":"fdb_entry"},"state":{"name":"fdb_entry","used":"1"}},
			{"name":"ipv4_route","config":{"name":"ipv4_route"},"state":{"name":"ipv4_route","used":"3","free":"97"}}]}}`,
	} {
		got, err := b.get(path)
		switch {
		case err != nil:
			t.Error(err)
		case want[0] == '"':
			if got != want {
				t.Errorf("%s: %s, want %s", path, got, want)
			}
		default:
			sameJSON(t, got, want)
		}
	}
	for _, path := range []string{"/components/component[name=port-3]", "/components/component[name=x]",
		"/system/processes/process[pid=8]"} {
		_, err := b.get(path)
		wantErr(t, err, "NotFound")
	}
}

// The name is written as SONiC has it; components cannot be written, and the error says why.
func TestSetSystem(t *testing.T) {
	b := newBed(t, nil)
	b.rows(map[string]string{"CONFIG_DB DEVICE_METADATA|localhost": "mac=02:00:00:00:00:01"})
	b.mustSet(updating(update("/system/config/hostname", `"leaf2"`)))
	if got := b.row("DEVICE_METADATA|localhost"); got != "hostname=leaf2 mac=02:00:00:00:00:01" {
		t.Error(got)
	}
	_, err := b.client.Set(b.ctx, updating(update("/components/component[name=chip]/config/name", `"chip"`)))
	wantErr(t, err, "InvalidArgument", "read-only", "components are what there is")
	_, err = b.client.Set(b.ctx, updating(update("/system/config/hostname", `"two words"`)))
	wantErr(t, err, "InvalidArgument", "two words")
}

// Alarms have OpenConfig's place too, and change there.
func TestSystemAlarms(t *testing.T) {
	b := newBed(t, nil)
	const alarm = "/system/alarms/alarm[id=a]/state/severity"
	s := b.subscribe(streamOf(subOf(onChange, "/system/alarms/alarm[id=*]/state/severity")))
	s.want("S")
	b.rows(map[string]string{"STATE_DB TAMTAM_ALARM|a": "severity=MAJOR type-id=DRIFT text=x"})
	s.want("U " + alarm + ` "openconfig-alarm-types:MAJOR"`)
	got, err := b.get("/system/alarms/alarm[id=a]/state/type-id")
	if err != nil || got != `"DRIFT"` {
		t.Error(got, err)
	}
}

// LLDP: the words for the numbers of kinds of names, and for what a neighbour can do; of one that does not say it
// nothing is said.
func TestLLDP(t *testing.T) {
	const neighbors = "/lldp/interfaces/interface[name=Ethernet0]/neighbors/neighbor"
	shows(t, map[string]string{
		"CONFIG_DB DEVICE_METADATA|localhost": "hostname=leaf1 mac=02:00:00:00:00:01",
		"STATE_DB TAMTAM_HEALTH|hostd":        "state=ready",
		"APPL_DB PORT_TABLE:Ethernet0":        "lanes=0",
		"APPL_DB PORT_TABLE:Ethernet4":        "lanes=4",
		"APPL_DB LLDP_ENTRY_TABLE:Ethernet4": "lldp_rem_index=5 lldp_rem_sys_name=silent " +
			"lldp_rem_sys_cap_supported=00_00 lldp_rem_sys_cap_enabled=00_00",
		"APPL_DB LLDP_ENTRY_TABLE:Ethernet0": "lldp_rem_index=4 lldp_rem_chassis_id=02:00:00:00:00:02 " +
			"lldp_rem_chassis_id_subtype=4 " +
			"lldp_rem_port_id=Ethernet8 lldp_rem_port_id_subtype=7 lldp_rem_sys_name=spine1 lldp_rem_man_addr= " +
			"lldp_rem_sys_cap_supported=28_80 lldp_rem_sys_cap_enabled=20_00",
	}, map[string]string{
		"/lldp/state": `{"openconfig-lldp:enabled":true,"openconfig-lldp:system-name":"leaf1",
		 "openconfig-lldp:chassis-id":"02:00:00:00:00:01",
			"openconfig-lldp:chassis-id-type":"MAC_ADDRESS"}`,
		"/lldp/interfaces": `{"openconfig-lldp:interface":[{"name":"Ethernet0","config":{"name":"Ethernet0"},
		 "state":{"name":"Ethernet0","enabled":true},
			"neighbors":{"neighbor":[{"id":"4","state":{"id":"4","system-name":"spine1","chassis-id":"02:00:00:00:00:02",
			 "chassis-id-type":"MAC_ADDRESS",
			"port-id":"Ethernet8","port-id-type":"LOCAL"},"capabilities":{"capability":[
			{"name":"openconfig-lldp-types:MAC_BRIDGE","state":{"name":"openconfig-lldp-types:MAC_BRIDGE","enabled":true}},
			{"name":"openconfig-lldp-types:ROUTER","state":{"name":"openconfig-lldp-types:ROUTER","enabled":false}}]}}]}},
			{"name":"Ethernet4","config":{"name":"Ethernet4"},"state":{"name":"Ethernet4","enabled":true},
			"neighbors":{"neighbor":[{"id":"5","state":{"id":"5","system-name":"silent"}}]}}]}`,
		neighbors + "[id=4]/capabilities/capability[name=ROUTER]/state/enabled": "false",
		neighbors + "[id=4]/capabilities/capability[name=TELEPHONE]":            "",
		neighbors + "[id=5]/capabilities/capability[name=ROUTER]":               "",
		neighbors + "[id=5]": "",
	})
}

func updating(updates ...*gpb.Update) *gpb.SetRequest { return &gpb.SetRequest{Update: updates} }
