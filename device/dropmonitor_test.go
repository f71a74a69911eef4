package device_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/tamtamtest"
)

// dropsConfig has two hosts' ports and the way to collectors, of both IP versions.
const dropsConfig = `{
	"DEVICE_METADATA": {"localhost": {"mac": "02:00:00:00:07:e4"}},
	"INTERFACE": {
		"Ethernet0": {}, "Ethernet0|10.1.0.1/24": {}, "Ethernet0|2000:10:1::1/64": {},
		"Ethernet1": {}, "Ethernet1|10.2.0.1/24": {}, "Ethernet1|2001:db8:9::1/64": {},
		"Ethernet2": {}, "Ethernet2|10.3.0.1/24": {}},
	"NEIGH": {
		"Ethernet1|10.2.0.2": {"neigh": "02:00:00:00:00:22"}, "Ethernet1|2001:db8:9::2": {"neigh": "02:00:00:00:00:22"},
		"Ethernet2|10.3.0.2": {"neigh": "02:00:00:00:00:33"}},
	"STATIC_ROUTE": {
		"10.20.30.0/24": {"nexthop": "10.2.0.2"}, "20.2.2.0/24": {"nexthop": "10.3.0.2"},
		"default|2001:db8:2::/48": {"nexthop": "2001:db8:9::2"}}
}`

// A monitored is a switch with the drop monitor as sonic-mgmt's test configures it.
type monitored struct {
	*testing.T
	*tamtamtest.Switch
	src, dst string
}

func newMonitored(t *testing.T, six bool) *monitored {
	t.Helper()
	p := profile.Small()
	p.TableRecord = profile.Default().TableRecord // which has the stage that chooses packets as they come
	m := &monitored{T: t, Switch: tamtamtest.StartOn(t, p, dropsConfig), src: "11.22.33.44", dst: "10.20.30.40"}
	if six {
		m.src, m.dst = "2001:db8:1::44", "2001:db8:2::40"
	}
	return m
}

func (m *monitored) configure(flowAware bool) {
	m.Set("TAM|device", "device-id", "12345", "enterprise-id", "54321")
	m.Set("TAM_COLLECTOR|COLLECTOR1", "src_ip", m.src, "dst_ip", m.dst, "dst_port", "10000", "dscp_value", "32", "vrf", "default")
	session := []string{"type", "drop-monitor", "report_type", "ipfix", "collector@", "COLLECTOR1"}
	if flowAware {
		m.Set("TAM_FLOW_GROUP|FG1", "aging_interval", "1000", "ports@", "Ethernet0")
		m.Set("TAM_FLOW_GROUP|FG1|RULE1", "src_ip_prefix", "10.1.1.0/24", "dst_ip_prefix", "20.2.2.0/24",
			"ip_protocol", "6", "l4_src_port", "1000", "l4_dst_port", "80")
		session = append(session, "flow_group@", "FG1")
	}
	m.Set("TAM_SESSION|DROPMONITOR", session...)
}

func (m *monitored) remove(flowAware bool) {
	rows := []string{"TAM|device", "TAM_COLLECTOR|COLLECTOR1", "TAM_SESSION|DROPMONITOR"}
	if flowAware {
		rows = append(rows, "TAM_FLOW_GROUP|FG1|RULE1", "TAM_FLOW_GROUP|FG1")
	}
	for _, row := range rows {
		m.Delete(row)
	}
}

// state is what STATE_DB says of the session, without when and by whom.
func (m *monitored) state() map[string]string {
	m.Helper()
	row := m.Row(swss.StateDB, "TAM_DROP_MONITOR_SESSION_TABLE|DROPMONITOR")
	delete(row, "since")
	delete(row, "by")
	return row
}

func (m *monitored) wantState(status, detail, group string) {
	m.Helper()
	want := map[string]string{
		"status": status, "report_type": "ipfix", "event_type": "packet-drop-stateless", "drop_stages": "ingress,egress,tm",
		"flow_group": group, "collectors": "COLLECTOR1",
	}
	if detail != "" {
		want["status_detail"], want["reason"] = detail, detail
	}
	got := m.state()
	maps.DeleteFunc(got, func(f, v string) bool { return v == "" })
	maps.DeleteFunc(want, func(f, v string) bool { return v == "" })
	if !maps.Equal(got, want) {
		m.Errorf("state %v, want %v", got, want)
	}
}

// objects counts the objects of TAM in ASIC_DB, by type.
func (m *monitored) objects() string {
	m.Helper()
	n := map[string]int{}
	keys, err := m.Sim().Redis.DB(swss.ASICDB).AllKeys(m.Context())
	if err != nil {
		m.Fatal(err)
	}
	for _, k := range keys {
		if parts := strings.Split(k, ":"); len(parts) > 1 && strings.Contains(k, "SAI_OBJECT_TYPE_") {
			n[strings.TrimPrefix(parts[1], "SAI_OBJECT_TYPE_")]++
		}
	}
	var list []string
	for _, t := range slices.Sorted(maps.Keys(n)) {
		if strings.HasPrefix(t, "TAM") || strings.HasPrefix(t, "ACL") {
			list = append(list, fmt.Sprintf("%s=%d", t, n[t]))
		}
	}
	return strings.Join(list, " ")
}

const monitorObjects = "TAM=1 TAM_COLLECTOR=1 TAM_EVENT=1 TAM_EVENT_ACTION=1 TAM_INT=1 TAM_REPORT=1 TAM_TRANSPORT=1"

// sonic-mgmt's test of the drop monitor, as far as objects and states go: as it configures, with a collector that is
// blackholed and comes back, added and removed 20 times.
func TestDropMonitorObjects(t *testing.T) {
	for _, tt := range []struct{ six, flowAware bool }{{false, false}, {true, true}} {
		m := newMonitored(t, tt.six)
		want, group := monitorObjects, ""
		if tt.flowAware {
			group = "FG1"
			want = "ACL_COUNTER=1 ACL_ENTRY=1 ACL_TABLE=1 ACL_TABLE_GROUP=1 ACL_TABLE_GROUP_MEMBER=1 " + monitorObjects
		}
		for n := range 20 {
			m.configure(tt.flowAware)
			if m.wantState("active", "", group); m.objects() != want {
				t.Errorf("%d: objects %s, want %s", n, m.objects(), want)
			}
			if n == 0 {
				m.blackhole(tt.six, want, group)
			}
			if m.remove(tt.flowAware); m.objects() != "" || m.state() != nil {
				t.Fatalf("%d: left: %s, %v", n, m.objects(), m.state())
			}
		}
		for _, p := range m.Problems() {
			t.Error(p)
		}
	}
}

func (m *monitored) blackhole(six bool, want, group string) {
	m.Helper()
	route := "STATIC_ROUTE|10.20.30.40/32"
	if six {
		route = "STATIC_ROUTE|default|2001:db8:2::40/128"
	}
	m.Set(route, "blackhole", "true")
	m.wantState("inactive", fmt.Sprintf("no collector can be reached: collector %q: no route to %s", "COLLECTOR1", m.dst), group)
	if row := m.Row(swss.StateDB, "TAM_STATE_COLLECTOR_TABLE|COLLECTOR1"); row["status"] != "pending" ||
		row["reason"] != "no route to "+m.dst {
		m.Errorf("the collector: %v", row)
	}
	if m.objects() != "" {
		m.Errorf("objects %s without a way", m.objects())
	}
	m.Delete(route)
	m.wantState("active", "", group)
	if m.objects() != want {
		m.Errorf("objects %s, want %s", m.objects(), want)
	}
}
