package device_test

import (
	"fmt"
	"strings"
	"testing"

	"tamtam/device/devicetest"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// The cases of sonic-mgmt's plan of tests for packet trimming (Packet_Trimming_Testplan), by their
// numbers. Case 11 is about SRv6, which the chip does not have.

// trimKinds returns the frames that the plan trims.
func trimKinds(size int, to byte) []trimFrame {
	return []trimFrame{{size: size, dscp: 8, to: to}, {tcp: true, size: size, dscp: 8, to: to},
		{v6: true, size: size, dscp: 8, to: to}, {v6: true, tcp: true, size: size, dscp: 8, to: to}}
}

// asymmetric configures DSCPs by egress port: 10 at Ethernet2, 20 at Ethernet3.
func (s trimSwitch) asymmetric() {
	s.Helper()
	s.config("TC_TO_DSCP_MAP|host_trim_map", swss.FieldValues{"5": "10"})
	s.config("TC_TO_DSCP_MAP|spine_trim_map", swss.FieldValues{"5": "20"})
	s.update("PORT_QOS_MAP|Ethernet2", "tc_to_dscp_map", "host_trim_map")
	s.update("PORT_QOS_MAP|Ethernet3", "tc_to_dscp_map", "spine_trim_map")
	s.update(trimKey, "size", "256", "dscp_value", "from-tc", "tc_value", "5", "queue_index", "6")
	s.status(schema.AppTrimming, schema.TrimmingKey, "active")
	s.status(schema.AppPortQoS, "Ethernet3", "active")
}

// bothTrimmed sends into full queues of both ports, and checks the DSCPs of asymmetric.
func (s trimSwitch) bothTrimmed(what string) {
	s.Helper()
	s.trimmed(what, 10, trimFrame{size: 1500, dscp: 8, to: 2}, 256, 10)
	s.trimmed(what, 10, trimFrame{size: 1500, dscp: 8, to: 3}, 256, 20)
}

// Case 1: configuration by the shell and by rows, its bounds, and the intervals of counters. The switch reports the
// numbers that it does not accept.
func TestTrimmingPlan01Configuration(t *testing.T) {
	s := newTrim(t)
	show := devicetest.StartShows(t, s.Sim)
	do := func(line string, want ...string) {
		t.Helper()
		got := strings.Join(strings.Fields(show(line)), " ")
		devicetest.RunUntilIdle(t, s.Sim)
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: %s, want %s", line, got, w)
			}
		}
	}
	do("config switch-trimming global --size 256 --dscp 48 --queue 6")
	do("show switch-trimming global", "Packet trimming size 256", "Packet trimming DSCP value 48",
		"Packet trimming TC value N/A", "Packet trimming queue index 6")
	do("config switch-trimming global -s 256 -d from-tc -t 5 -q dynamic")
	do("show switch-trimming global", "Packet trimming DSCP value from-tc", "Packet trimming TC value 5",
		"Packet trimming queue index dynamic")
	do("show switch-trimming capabilities", "Packet trimming true", "DSCP_VALUE, FROM_TC", "STATIC, DYNAMIC",
		"Traffic classes 16", "Unicast queues of a port 8")
	do("config switch-trimming global", "o options are provided")
	do("config switch-trimming global --size", "has no value")
	do("config switch-trimming global --colour red", `"--colour" is not understood: want --size`)
	do("config switch-trimming global --dscp 64", `dscp_value "64": want a number in 0..63 or from-tc`)
	do("config switch-trimming global --size -1", `size "-1": want a number in 0..4294967295`)
	for _, b := range []struct{ field, good, bad, why string }{
		{"size", "86", "85", `size "85": the ASIC does not accept the value, want another`},
		{"dscp_value", "63", "64", "want a number in 0..63 or from-tc"},
		{"queue_index", "7", "8", "the ASIC has 8 queues for unicast, want 0..7"},
		{"tc_value", "15", "16", "the ASIC has 16 traffic classes, want 0..15"},
	} {
		s.update(trimKey, "size", "256", "dscp_value", "from-tc", "tc_value", "5", "queue_index", "6")
		s.update(trimKey, b.field, b.good)
		s.status(schema.AppTrimming, schema.TrimmingKey, "active")
		s.update(trimKey, b.field, b.bad)
		s.status(schema.AppTrimming, schema.TrimmingKey, "failed: ")
		row := s.state(schema.AppTrimming, schema.TrimmingKey)
		if why := row["reason"]; !strings.Contains(why, b.field) || !strings.Contains(why, b.bad) ||
			!strings.Contains(why, b.why) {
			t.Errorf("%s %s: %s, want %s", b.field, b.bad, why, b.why)
		}
	}
	for _, group := range []string{"SWITCH", "PORT", "QUEUE", "ACL"} {
		s.update("FLEX_COUNTER_TABLE|"+group, "FLEX_COUNTER_STATUS", "enable", "POLL_INTERVAL", "1000")
		s.status(schema.StateFlexCounter, group, "active")
	}
}

// Case 2: trimmed frames have the size of the row, whatever is in them. Nothing else but the DSCP, the length and the
// checksum of the IP header changes.
func TestTrimmingPlan02PacketSize(t *testing.T) {
	s := newTrim(t)
	s.fill(3)
	for _, f := range trimKinds(1500, 3) {
		s.trimmed(fmt.Sprint(f), 10, f, 256, 48)
	}
	s.update(trimKey, "size", "4084")
	for _, f := range trimKinds(5000, 3) {
		s.trimmed(fmt.Sprint(f), 10, f, 4084, 48)
	}
}

// Case 3: the DSCP of trimmed frames, also of those that are too short to be cut, and by egress port. Other frames keep
// theirs. A map that does not exist yet makes the port's row wait.
func TestTrimmingPlan03DSCP(t *testing.T) {
	s := newTrim(t)
	s.fill(3)
	s.trimmed("symmetric", 10, trimFrame{size: 1500, dscp: 8, to: 3}, 256, 48)
	s.trimmed("short", 10, trimFrame{size: 100, dscp: 8, to: 3}, 100, 48)
	s.update("PORT_QOS_MAP|Ethernet3", "tc_to_dscp_map", "spine_trim_map")
	s.status(schema.AppPortQoS, "Ethernet3", `pending: TC to DSCP map "spine_trim_map" does not exist`)
	s.asymmetric()
	s.fill(2)
	s.fill(3)
	s.bothTrimmed("asymmetric")
	for _, to := range []byte{2, 3} {
		s.trimmed("another queue", 5, trimFrame{size: 1000, dscp: 16, to: to}, 1000, 16)
	}
}

// Case 4: both buffer models.
func TestTrimmingPlan04BufferModels(t *testing.T) {
	for _, s := range []trimSwitch{newTrim(t), newDynamic(t)} {
		s.fill(3)
		s.trimmed("symmetric", 10, trimFrame{size: 1500, dscp: 8, to: 3}, 256, 48)
		s.asymmetric()
		s.fill(2)
		s.fill(3)
		s.bothTrimmed("asymmetric")
	}
}

// Case 5: a port, and the same port as member of a PortChannel.
func TestTrimmingPlan05PortChannel(t *testing.T) {
	s := newTrim(t)
	s.fill(3)
	s.trimmed("port", 10, trimFrame{size: 1500, dscp: 8, to: 3}, 256, 48)
	s.config("FDB|Vlan10|02:00:00:00:00:33", nil)
	s.config("VLAN_MEMBER|Vlan10|Ethernet3", nil)
	s.config("PORTCHANNEL|PortChannel1", swss.FieldValues{"admin_status": "up"})
	s.config("PORTCHANNEL_MEMBER|PortChannel1|Ethernet3", swss.FieldValues{"NULL": "NULL"})
	s.config("VLAN_MEMBER|Vlan10|PortChannel1", swss.FieldValues{"tagging_mode": "untagged"})
	s.config("FDB|Vlan10|02:00:00:00:00:33", swss.FieldValues{"port": "PortChannel1"})
	s.fill(3)
	s.trimmed("member", 10, trimFrame{size: 1500, dscp: 8, to: 3}, 256, 48)
}

// Case 6: trimmed frames leave by a lossless queue.
func TestTrimmingPlan06LosslessQueue(t *testing.T) {
	s := newTrim(t)
	s.config("MAP_PFC_PRIORITY_TO_QUEUE|AZURE", swss.FieldValues{"4": "4"})
	s.update("PORT_QOS_MAP|Ethernet3", "pfc_to_queue_map", "AZURE", "pfc_enable", "4")
	s.update(trimKey, "queue_index", "4")
	s.fill(3)
	was := s.counters(schema.CountersQueueNameMap, "Ethernet3:4")("SAI_QUEUE_STAT_PACKETS")
	s.trimmed("lossless", 10, trimFrame{size: 1500, dscp: 8, to: 3}, 256, 48)
	if n := s.counters(schema.CountersQueueNameMap, "Ethernet3:4")("SAI_QUEUE_STAT_PACKETS") - was; n != 10 {
		t.Errorf("%d frames left by queue 4", n)
	}
}

// Case 7: packets of a rule with DISABLE_TRIM are dropped, and counted by the rule. Others are trimmed, and these too
// once the rule is gone.
func TestTrimmingPlan07DisableTrim(t *testing.T) {
	s := newTrim(t)
	s.fill(3)
	for _, v := range []struct {
		name, match, source string
		v6                  bool
	}{{"TRIM4", "SRC_IP", "1.1.1.1/32", false}, {"TRIM6", "SRC_IPV6", "8000::1/128", true}} {
		s.config("ACL_TABLE_TYPE|TYPE_"+v.name, swss.FieldValues{"MATCHES@": v.match,
			"ACTIONS@": "DISABLE_TRIM_ACTION,COUNTER", "BIND_POINTS@": "PORT"})
		s.config("ACL_TABLE|"+v.name, swss.FieldValues{"TYPE": "TYPE_" + v.name, "STAGE": "INGRESS", "PORTS@": "Ethernet0"})
		rule := "ACL_RULE|" + v.name + "|RULE"
		s.config(rule, swss.FieldValues{"PRIORITY": "999", v.match: v.source, "PACKET_ACTION": "DISABLE_TRIM"})
		s.status(schema.StateACLRule, v.name+"|RULE", "Active")
		f := trimFrame{v6: v.v6, size: 1500, dscp: 8, to: 3, from: 1}
		if left := s.send(10, f); len(left) != 0 {
			t.Errorf("%s: %v left", v.name, left)
		}
		devicetest.NoError(t, s.Poll(t.Context()))
		row := devicetest.Row(t, s.Redis, swss.CountersDB, "COUNTERS", s.oid(schema.CountersACLRuleMap, v.name+":RULE"))
		if n := row["SAI_ACL_COUNTER_ATTR_PACKETS"]; n != "10" {
			t.Errorf("%s: the rule counts %s packets", v.name, n)
		}
		other := f
		other.from = 2
		s.trimmed("another source", 10, other, 256, 48)
		s.config(rule, nil)
		s.trimmed("without the rule", 10, f, 256, 48)
	}
}

// Case 8: everything is in force again after restarts, and counters go on.
func TestTrimmingPlan08Restart(t *testing.T) {
	s := newTrim(t)
	s.fill(3)
	f := trimFrame{size: 1500, dscp: 8, to: 3}
	s.trimmed("at first", 10, f, 256, 48)
	was := s.counters(schema.CountersQueueNameMap, "Ethernet3:1")("SAI_QUEUE_STAT_TRIM_PACKETS")
	view := devicetest.View(t, s.Sim)
	restart := func() {
		devicetest.NoError(t, s.RestartOrchagent(t.Context()))
		devicetest.RunUntilIdle(t, s.Sim)
	}
	restart()
	if devicetest.View(t, s.Sim) != view {
		t.Error("a restart of orchagent changed ASIC_DB")
	}
	s.trimmed("restarted", 10, f, 256, 48)
	if n := s.counters(schema.CountersQueueNameMap, "Ethernet3:1")("SAI_QUEUE_STAT_TRIM_PACKETS"); n != was+10 {
		t.Errorf("%d trimmed packets, want %d", n, was+10)
	}
	s.asymmetric()
	s.fill(2)
	restart()
	s.bothTrimmed("asymmetric, restarted")
	s.config(trimKey, nil)
	restart()
	s.bothTrimmed("without the row, restarted")
	s.status(schema.AppTrimming, schema.TrimmingKey, "failed: the row is gone, but trimming cannot be removed")
}

// Case 9: ports that go down and up keep their configuration.
func TestTrimmingPlan09PortToggles(t *testing.T) {
	s := newTrim(t)
	f := trimFrame{size: 1500, dscp: 8, to: 3}
	toggle := func(ports ...string) {
		t.Helper()
		for _, state := range []string{"down", "up"} {
			for _, p := range ports {
				s.update("PORT|"+p, "admin_status", state)
			}
		}
	}
	for range 10 {
		toggle("Ethernet3")
		s.fill(3)
		s.trimmed("symmetric", 10, f, 256, 48)
	}
	s.update(profileKey, "packet_discard_action", "drop")
	if left := s.send(10, f); len(left) != 0 {
		t.Errorf("without trimming, %v left", left)
	}
	s.update(profileKey, "packet_discard_action", "trim")
	s.asymmetric()
	for range 10 {
		toggle("Ethernet2", "Ethernet3")
		s.fill(2)
		s.fill(3)
		s.bothTrimmed("asymmetric")
	}
}

// Case 10: the action of the profile changes again and again.
func TestTrimmingPlan10ActionToggles(t *testing.T) {
	s := newTrim(t)
	s.fill(3)
	f := trimFrame{size: 1500, dscp: 8, to: 3}
	for range 10 {
		s.update(profileKey, "packet_discard_action", "drop")
		if left := s.send(10, f); len(left) != 0 {
			t.Errorf("without trimming, %v left", left)
		}
		s.update(profileKey, "packet_discard_action", "trim")
		s.trimmed("trim again", 10, f, 256, 48)
	}
}

// Case 12: changes of the configuration as transactions. A bad one is refused and changes nothing. The row can be
// removed from CONFIG_DB, but the switch keeps trimming as it was, and reports that.
func TestTrimmingPlan12ConfigUpdater(t *testing.T) {
	s := newTrim(t)
	s.fill(3)
	f := trimFrame{size: 1500, dscp: 8, to: 3}
	show := devicetest.StartShows(t, s.Sim)
	show("config switch-trimming global --size 200 --dscp 10")
	devicetest.RunUntilIdle(t, s.Sim)
	s.trimmed("updated", 10, f, 200, 10)
	if got := show("config switch-trimming global --size 300 --queue x"); !strings.Contains(got, `queue_index "x"`) {
		t.Errorf("a bad queue: %s", got)
	}
	devicetest.RunUntilIdle(t, s.Sim)
	s.trimmed("refused", 10, f, 200, 10)
	s.config(trimKey, nil)
	s.trimmed("removed", 10, f, 200, 10)
	s.status(schema.AppTrimming, schema.TrimmingKey, "failed: the row is gone, but trimming cannot be removed, only "+
		"changed; the switch keeps size 200, dscp_value 10, queue_index 6")
}

// Case 13: counters of queues, ports and the switch agree with each other and with the frames, in the shell too.
func TestTrimmingPlan13Counters(t *testing.T) {
	s := newTrim(t)
	show := devicetest.StartShows(t, s.Sim)
	type counts struct{ trim, sent, drop int }
	base := map[string]counts{}
	read := func(what string) (c counts) {
		t.Helper()
		names, prefix := schema.CountersQueueNameMap, "SAI_QUEUE_STAT_"
		switch {
		case what == schema.SwitchName:
			names, prefix = schema.CountersSwitchNameMap, "SAI_SWITCH_STAT_"
		case !strings.Contains(what, ":"):
			names, prefix = schema.CountersPortNameMap, "SAI_PORT_STAT_"
		}
		get := s.counters(names, what)
		if c.sent, c.drop = get(prefix+"TX_TRIM_PACKETS"), get(prefix+"DROPPED_TRIM_PACKETS"); what != schema.SwitchName {
			c.trim = get(prefix + "TRIM_PACKETS")
		}
		return c
	}
	for port := range byte(2) {
		s.config(fmt.Sprintf("QUEUE|Ethernet%d|2", port+2), swss.FieldValues{"scheduler": "SCHEDULER_BLOCK_DATA_PLANE"})
		s.fill(port + 2)
		s.send(20, trimFrame{size: 1500, dscp: 16, to: port + 2})
		s.send(50, trimFrame{size: 100, dscp: 16, to: port + 2})
	}
	all := []string{"Ethernet2:1", "Ethernet2:2", "Ethernet2:6", "Ethernet3:1", "Ethernet2", "Ethernet3",
		schema.SwitchName}
	for _, what := range all {
		base[what] = read(what)
	}
	want := map[string]counts{}
	step := func(what string, n int, f trimFrame, dropped int) {
		t.Helper()
		left := s.send(n, f)["256/48"]
		if left != n-dropped {
			t.Errorf("%s: %d trimmed frames left, want %d", what, left, n-dropped)
		}
		queue := fmt.Sprintf("Ethernet%d:%d", f.to, f.dscp/8)
		for _, at := range []string{queue, fmt.Sprintf("Ethernet%d", f.to), schema.SwitchName} {
			c := want[at]
			if c.sent, c.drop = c.sent+n-dropped, c.drop+dropped; at != schema.SwitchName {
				c.trim += n
			}
			want[at] = c
		}
		for _, at := range all {
			is, b := read(at), base[at]
			if got := (counts{is.trim - b.trim, is.sent - b.sent, is.drop - b.drop}); got != want[at] {
				t.Errorf("%s: %s has %+v, want %+v", what, at, got, want[at])
			}
		}
	}
	step("queue 1", 100, trimFrame{size: 1500, dscp: 8, to: 2}, 0)
	step("queue 2", 100, trimFrame{size: 1500, dscp: 16, to: 2}, 0)
	step("another port", 100, trimFrame{size: 1500, dscp: 8, to: 3}, 0)
	// Queue 6 of Ethernet3 is blocked and full, so that trimmed frames are dropped.
	s.update("BUFFER_PROFILE|small", "pool", "egress_lossy_pool", "size", "0", "static_th", "0")
	s.update("BUFFER_QUEUE|Ethernet3|6", "profile", "small")
	step("queue 6 is blocked", 100, trimFrame{size: 1500, dscp: 8, to: 3}, 100)
	now := read("Ethernet3:1")
	cells := fmt.Sprintf("%d %d %d", now.trim, now.sent, now.drop)
	shows := func(line, want string) {
		t.Helper()
		if got := strings.Join(strings.Fields(show(line)), " "); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
	shows("show queue counters Ethernet3 --all", cells)
	port := read("Ethernet3")
	cells = fmt.Sprintf("Ethernet3 %d %d %d", port.trim, port.sent, port.drop)
	shows("show interfaces counters trim Ethernet3", cells)
	whole := read(schema.SwitchName)
	cells = fmt.Sprintf("%d %d", whole.sent, whole.drop)
	shows("show switch counters all", cells)
}
