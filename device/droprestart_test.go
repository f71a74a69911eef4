package device_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/ipfix"
)

// tams returns the keys of TAM objects and of ACL entries in ASIC_DB.
func (m *monitored) tams() map[string]bool {
	m.Helper()
	keys, err := m.Sim().Redis.DB(swss.ASICDB).AllKeys(m.Context())
	if err != nil {
		m.Fatal(err)
	}
	all := map[string]bool{}
	for _, k := range keys {
		if strings.Contains(k, "OBJECT_TYPE_TAM") || strings.Contains(k, "OBJECT_TYPE_ACL") {
			all[k] = true
		}
	}
	return all
}

// A restart of orchagent or of the managers finds the session's objects and leaves them. The sequence of reports and
// the counters continue. After a restart of syncd with its chip, the new chip has the session. Its counters start
// again, which is reported.
func TestDropMonitorRestarts(t *testing.T) {
	m := newMonitored(t, false)
	m.configure(true)
	m.Set("STATIC_ROUTE|20.2.2.9/32", "blackhole", "true")
	watched := m.packet("10.1.1.7", "20.2.2.9", 1000, 80)
	d := ipfix.NewDecoder(54321)
	before, since := m.tams(), ""
	step := func(what, dropped string, anew bool) {
		t.Helper()
		for range 3 {
			m.Send("Ethernet0", watched)
		}
		m.Advance(2 * time.Second)
		if n := len(m.reports(d, "Ethernet1")); n != 3 {
			t.Errorf("%s: %d reports of 3", what, n)
		}
		if c := d.Counts(); c.Lost+c.Late+c.Bad+c.WithoutTemplate > 0 {
			t.Errorf("%s: the collector counts %+v", what, c)
		}
		m.Poll()
		row := m.Row(swss.CountersDB, "TAM_DROP_MONITOR_COUNTERS:DROPMONITOR")
		if row["DROPPED_PACKETS"] != dropped || row["COUNTED_SINCE"] == "" || (row["COUNTED_SINCE"] != since) != anew {
			t.Errorf("%s: %v, before since %s, want %s dropped, anew: %v", what, row, since, dropped, anew)
		}
		since = row["COUNTED_SINCE"]
		m.wantState("active", "", "FG1")
		if now := m.tams(); !maps.Equal(now, before) {
			t.Errorf("%s: objects %v, want %v", what, now, before)
		}
	}
	restarted := func(err error) {
		t.Helper()
		if err == nil {
			err = m.Sim().RunUntilIdle(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	step("at first", "3", true)
	restarted(m.Sim().RestartOrchagent(t.Context()))
	step("orchagent", "6", false)
	restarted(m.Sim().RestartManagers(t.Context()))
	step("managers", "9", false)
	restarted(m.Sim().RestartSyncd(t.Context()))
	d = ipfix.NewDecoder(54321) // the new chip is another exporter with the same address
	step("syncd", "3", true)
}

// Absurd configurations are reported, and harmless: a collector that is the switch itself, several sessions with the
// same collectors, leaf-lists of thousands of entries.
func TestDropMonitorHostile(t *testing.T) {
	m := newMonitored(t, false)
	m.Set("STATIC_ROUTE|20.2.2.9/32", "blackhole", "true")
	m.Set("TAM_COLLECTOR|SELF", "dst_ip", "10.2.0.1", "dst_port", "4739")
	m.Set("TAM_COLLECTOR|COLLECTOR1", "dst_ip", "10.20.30.40", "dst_port", "10000")
	m.Set("TAM_COLLECTOR|AGAIN", "dst_ip", "10.20.30.40", "dst_port", "10000")
	m.Set("TAM_SESSION|A", "type", "drop-monitor", "collector@", "SELF")
	m.Set("TAM_SESSION|B", "type", "drop-monitor", "collector@", "COLLECTOR1,AGAIN,SELF")
	m.Set("TAM_SESSION|C", "type", "drop-monitor", "collector@", "COLLECTOR1")
	m.Set("TAM_SESSION|LONG", "type", "drop-monitor", "collector@", strings.Repeat("COLLECTOR1,", 5000)+"SELF")
	names := make([]string, 5000)
	for i := range names {
		names[i] = fmt.Sprint("c", i)
	}
	m.Set("TAM_SESSION|MANY", "type", "drop-monitor", "collector@", strings.Join(names, ","))
	m.Set("TAM_FLOW_GROUP|WIDE", "ports@", strings.Join(names, ","))
	for row, want := range map[string]string{
		"TAM_DROP_MONITOR_SESSION_TABLE|A": "pending no collector can be reached: collector \"SELF\": 10.2.0.1 is the " +
			"switch's own address",
		"TAM_DROP_MONITOR_SESSION_TABLE|B": `active collector "COLLECTOR1" is where "AGAIN" is: reports go there once; ` +
			`collector "SELF": 10.2.0.1 is the switch's own address`,
		"TAM_DROP_MONITOR_SESSION_TABLE|C":    "active ",
		"TAM_DROP_MONITOR_SESSION_TABLE|LONG": "failed collector \"COLLECTOR1,COLLECTOR1,",
		"TAM_DROP_MONITOR_SESSION_TABLE|MANY": "failed collector \"c0,c1,",
		"TAM_STATE_FLOW_GROUP_TABLE|WIDE":     "failed ports \"c0,c1,",
		"TAM_STATE_COLLECTOR_TABLE|SELF":      "pending 10.2.0.1 is the switch's own address",
	} {
		got := m.Row(swss.StateDB, row)
		if text := schema.StatusIn(strings.Split(row, "|")[0], got) + " " + got["reason"]; !strings.HasPrefix(text, want) ||
			len(text) > 2000 {
			t.Errorf("%s: %.300s, want %s", row, text, want)
		}
	}
	m.Send("Ethernet0", m.packet("10.1.1.7", "20.2.2.9", 1000, 80))
	m.Advance(50 * time.Millisecond)
	d := ipfix.NewDecoder(0)
	if n := len(m.reports(d, "Ethernet1")); n != 2 { // the reports of the sessions B and C
		t.Errorf("%d reports, want one of each of two sessions", n)
	}
}
