package device_test

import (
	"slices"
	"strings"
	"testing"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/swss/schema"
)

// Problems covers every table of STATE_DB in which a daemon reports the status of rows.
func TestProblemsOfEveryTable(t *testing.T) {
	s := devicetest.NewSim(t, device.SimConfig{})
	reported := append(s.Managers.StateTables(), s.Orchagent.Daemon.StateTables()...)
	slices.Sort(reported)
	var listed []string
	for _, table := range schema.StatusTables() {
		listed = append(listed, table.State)
	}
	slices.Sort(listed)
	if reported = slices.Compact(reported); !slices.Equal(reported, listed) {
		t.Errorf("daemons tell outcomes in\n%v\nproblems are listed of\n%v", reported, listed)
	}
}

// brokenRows has a row of each table of CONFIG_DB with statuses, except for those of features. Each has an error: a
// wrong value, or a reference to an object that does not exist.
const brokenRows = `{
	"SWITCH": {"switch": {"fdb_aging_time": "soon"}},
	"BREAKOUT_CFG": {"Ethernet0": {"brkout_mode": "9x9G"}},
	"VRF": {"Vrf1": {"fallback": "perhaps"}},
	"SWITCH_HASH": {"GLOBAL": {"ecmp_hash": "colour"}},
	"TUNNEL": {"t": {"tunnel_type": "VXLAN"}},
	"PORT": {"Ethernet1": {"lanes": "1", "speed": "slow"}},
	"PORTCHANNEL": {"PortChannel1": {"mtu": "none"}},
	"PORTCHANNEL_MEMBER": {"PortChannel1|Ethernet2": {}},
	"VLAN": {"Vlan10": {"vlanid": "11"}},
	"VLAN_MEMBER": {"Vlan20|Ethernet2": {"tagging_mode": "tagged"}},
	"INTERFACE": {"Ethernet3|10.0.0.1/24": {}},
	"VLAN_INTERFACE": {"Vlan30|10.1.0.1/24": {}},
	"PORTCHANNEL_INTERFACE": {"PortChannel3|10.2.0.1/24": {}},
	"LOOPBACK_INTERFACE": {"Loopback0|10.3.0.1/24": {"scope": "wide"}},
	"VLAN_SUB_INTERFACE": {"Ethernet3.4095": {}},
	"STATIC_ROUTE": {"10.9.0.0/16": {"nexthop": "10.200.0.2"}},
	"NEIGH": {"Vlan30|10.1.0.9": {"neigh": "nobody"}},
	"FDB": {"Vlan30|02:00:00:00:00:09": {"port": "Ethernet1"}},
	"DSCP_TO_TC_MAP": {"m": {"64": "1"}},
	"DOT1P_TO_TC_MAP": {"m": {"8": "1"}},
	"TC_TO_QUEUE_MAP": {"m": {"0": "many"}},
	"PORT_QOS_MAP": {"Ethernet2": {"dscp_to_tc_map": "none"}},
	"HIGH_FREQUENCY_TELEMETRY_PROFILE": {"p": {"stream_state": "perhaps"}},
	"HIGH_FREQUENCY_TELEMETRY_GROUP": {"p|PORT": {"object_names": "Ethernet0", "object_counters": "IF_IN_OCTETS"}},
	"SCHEDULER": {"s": {"type": "FIFO"}},
	"WRED_PROFILE": {"w": {"ecn": "perhaps"}},
	"QUEUE": {"Ethernet2|0": {"scheduler": "none"}},
	"BUFFER_POOL": {"p": {"size": "huge"}},
	"BUFFER_PROFILE": {"b": {"pool": "none", "size": "0"}},
	"BUFFER_QUEUE": {"Ethernet2|0": {"profile": "none"}},
	"DEBUG_DROP_MONITOR": {"CONFIG": {"status": "perhaps"}}, "MICROBURST": {"Ethernet2|0": {"threshold": "0"}},
	"BUFFER_PG": {"Ethernet2|8": {"profile": "none"}},
	"TC_TO_PRIORITY_GROUP_MAP": {"m": {"0": "8"}},
	"TC_TO_DSCP_MAP": {"m": {"0": "64"}},
	"SWITCH_TRIMMING": {"GLOBAL": {"size": "many"}},
	"BUFFER_PORT_INGRESS_PROFILE_LIST": {"Ethernet2": {"profile_list": "none"}},
	"BUFFER_PORT_EGRESS_PROFILE_LIST": {"Ethernet2": {"profile_list": "none"}},
	"MAP_PFC_PRIORITY_TO_QUEUE": {"m": {"8": "0"}},
	"PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": {"m": {"0": "8"}},
	"WATERMARK_TABLE": {"TELEMETRY_INTERVAL": {"interval": "never"}},
	"MIRROR_SESSION": {"span": {"type": "SPAN", "dst_port": "Ethernet77"}},
	"COPP_GROUP": {"g": {"queue": "last"}},
	"COPP_TRAP": {"arp": {"trap_ids": "arp_req", "trap_group": "none"}},
	"ACL_TABLE_TYPE": {"T": {"MATCHES": "COLOUR", "ACTIONS": "PACKET_ACTION", "BIND_POINTS": "PORT"}},
	"ACL_TABLE": {"A": {"type": "none"}},
	"ACL_RULE": {"B|R": {"PRIORITY": "1", "PACKET_ACTION": "DROP"}},
	"FLEX_COUNTER_TABLE": {"ACL": {"FLEX_COUNTER_STATUS": "maybe"}},
	"CRM": {"Config": {"polling_interval": "0"}},
	"TAM_SWITCH_TABLE": {"global": {"switch-id": "-1"}},
	"TAM_FEATURES_TABLE": {"TAILSTAMPING": {"status": "PERHAPS"}},
	"TAM_COLLECTORS_TABLE": {"c": {"ipaddress": "nowhere"}},
	"TAM_SAMPLINGRATE_TABLE": {"s": {"sampling-rate": "0"}},
	"TAM_FLOWGROUP_TABLE": {"f": {"id": "none"}},
	"TAM": {"device": {"device-id": "-1"}},
	"SFLOW": {"global": {"polling_interval": "often"}},
	"SFLOW_COLLECTOR": {"c": {"collector_ip": "nowhere"}},
	"SFLOW_SESSION": {"Ethernet2": {"sample_rate": "few"}},
	"DEBUG_COUNTER": {"d": {"type": "DROPS"}},
	"DEBUG_COUNTER_DROP_REASON": {"nobody|TTL": {}}
}`

// A switch on which nothing works names every row that is not in force.
func TestProblemsNameEveryBrokenRow(t *testing.T) {
	c := device.ConfigDB{}
	withRows(t, c, brokenRows)
	for _, l := range tamLists() {
		withRows(t, c, l.broken)
	}
	s := devicetest.NewSim(t, device.SimConfig{Config: c})
	devicetest.RunUntilIdle(t, s)
	list, err := device.Problems(t.Context(), s.Redis)
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string]bool{}
	for _, p := range list {
		table, _, _ := strings.Cut(p.Object, "|")
		tables[table] = true
		if p.Reason == "" {
			t.Errorf("%v: no reason", p)
		}
	}
	for table, rows := range c {
		for key := range rows {
			object := table + "|" + key
			if !slices.ContainsFunc(list, func(p device.Problem) bool { return p.Object == object }) {
				t.Errorf("%s is not among the problems", object)
			}
		}
	}
	for _, table := range schema.StatusTables() {
		if table.Config != "" && !tables[table.Config] {
			t.Errorf("no row of %s is among the problems", table.Config)
		}
	}
}

// A feature that is configured as inactive is not a problem.
func TestInactiveFeatureIsNoProblem(t *testing.T) {
	c, err := device.ParseConfigDB([]byte(`{"TAM_FEATURES_TABLE": {"TAILSTAMPING": {"status": "INACTIVE"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	s := devicetest.NewSim(t, device.SimConfig{Config: c})
	devicetest.RunUntilIdle(t, s)
	if list, err := device.Problems(t.Context(), s.Redis); err != nil || len(list) > 0 {
		t.Errorf("%v, %v", list, err)
	}
}

// A waiting session has no counters, and the report does not contain 0 for them.
func TestReportSaysNothingOfWhatIsNotCounted(t *testing.T) {
	c, err := device.ParseConfigDB([]byte(`{
		"TAM_TAILSTAMPING_TABLE": {"s": {"flowgroup": "none"}},
		"TAM_TABLERECORD_TABLE": {"r": {"flowgroup": "none", "collector": "c"}}
	}`))
	if err != nil {
		t.Fatal(err)
	}
	s := devicetest.NewSim(t, device.SimConfig{Config: c})
	devicetest.RunUntilIdle(t, s)
	report, err := s.Report(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stamped, recorded := report.TailStamping["s"], report.TableRecord["r"]
	if stamped.Matched != nil || stamped.Stamped != nil || len(stamped.NotStamped) > 0 || stamped.Status != "pending" {
		t.Errorf("tail-stamping: %+v", stamped)
	}
	if recorded.RecordCounts != nil || recorded.PlanReport != nil || recorded.Status != "pending" {
		t.Errorf("table recording: %+v", recorded)
	}
}
