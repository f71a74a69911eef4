package mgmt

import (
	"testing"

	"tamtam/mgmt/models"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// Known facts about the machine appear below /system. Unknown ones are absent.
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
			"openconfig-platform:oper-status":"openconfig-platform-types:ACTIVE","openconfig-platform:removable":false,
			"openconfig-platform:empty":false,
			 "openconfig-platform:software-version":"v1"}`,
		"/components/component[name=port-2]/state": `{"openconfig-platform:name":"port-2",
			"openconfig-platform:type":"openconfig-platform-types:PORT","openconfig-platform:parent":"chassis",
			"openconfig-platform:oper-status":"openconfig-platform-types:ACTIVE","openconfig-platform:removable":false,
			"openconfig-platform:empty":false}`,
		"/components/component[name=*]/config/name": "\"chassis\"\n\"chip\"\n\"port-1\"\n\"port-2\"\n\"software\"",
		"/components/component[name=software]/state": `{"openconfig-platform:name":"software",
			"openconfig-platform:type":"openconfig-platform-types:OPERATING_SYSTEM","openconfig-platform:parent":"chassis",
			"openconfig-platform:oper-status":"openconfig-platform-types:ACTIVE","openconfig-platform:removable":false,
			"openconfig-platform:empty":false,"openconfig-platform:software-version":"v1"}`,
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

// Alarms also appear at OpenConfig's path, and change there.
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

func updating(updates ...*gpb.Update) *gpb.SetRequest { return &gpb.SetRequest{Update: updates} }
