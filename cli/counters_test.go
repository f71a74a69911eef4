package cli

import (
	"strings"
	"testing"

	"tamtam/swss"
)

// A counter that nobody has written, or that is no number, is shown as not known; one that
// is 0 as 0. A sum of which a part is not known is not known, and says which.
func TestUnknownCountersAreNotZero(t *testing.T) {
	s, r := newSwitch(t)
	write := func(table, key, fields string) {
		t.Helper()
		r.DB(swss.CountersDB).Client().Del(t.Context(), table+":"+key)
		if fields != "" {
			row(t, r, swss.CountersDB, table, key, fieldsOf(fields))
		}
	}
	row(t, r, swss.ConfigDB, "TAM_FLOWGROUP_TABLE", "f", swss.FieldValues{"table-name": "TAM"})
	row(t, r, swss.ConfigDB, "ACL_RULE", "TAM|f", swss.FieldValues{"PRIORITY": "100", "L4_DST_PORT": "80"})
	row(t, r, swss.ConfigDB, "TAM_TAILSTAMPING_TABLE", "s", swss.FieldValues{"flowgroup": "f"})
	row(t, r, swss.ConfigDB, "TAM_TAILSTAMPING_TABLE", "c", swss.FieldValues{"flowgroup": "f", "clamp-mss": "3"})
	row(t, r, swss.ConfigDB, "TAM_TABLERECORD_TABLE", "r", swss.FieldValues{"flowgroup": "f", "collector": "c"})
	row(t, r, swss.ConfigDB, "TAM_ALTMARK_TABLE", "a", fieldsOf(
		"flowgroup=f role=transit method=step interval=0 mark=dscp0"))
	row(t, r, swss.ConfigDB, "TAM_FLYMON_TASK_TABLE", "t", fieldsOf("key=src-ip attribute=frequency"))
	if err := r.DB(swss.CountersDB).Client().HSet(t.Context(), "ACL_COUNTER_RULE_MAP", "TAM:f",
		"oid:0x9").Err(); err != nil {
		t.Fatal(err)
	}
	const stamped = "MATCHED_PACKETS=0 MATCHED_BYTES=0 STAMPED_PACKETS=0 NOT_STAMPED_NOT_TCP_UDP=0 " +
		"NOT_STAMPED_NOT_ETHERNET_II=0 NOT_STAMPED_CUT=0"
	for _, c := range []struct {
		table, key, fields string
		command            string
		want               []string // lines, blanks as one
	}{
		{"TAM_TAILSTAMPING_COUNTERS", "s", "", "show tam tail-stamping sessions s",
			[]string{"Packet Count : -", "Stamped Count : -", "Not Stamped : -"}},
		{"TAM_TAILSTAMPING_COUNTERS", "s", stamped + " NOT_STAMPED_MTU=0", "show tam tail-stamping sessions s",
			[]string{"Packet Count : 0", "Stamped Count : 0", "Not Stamped : 0"}},
		{"TAM_TAILSTAMPING_COUNTERS", "s", stamped + " NOT_STAMPED_MTU=3", "show tam tail-stamping sessions s",
			[]string{"Not Stamped : 3", "MTU : 3"}},
		{"TAM_TAILSTAMPING_COUNTERS", "s", stamped, "show tam tail-stamping sessions s",
			[]string{"Packet Count : 0", "Not Stamped : -", "MTU : -"}},
		{"TAM_TAILSTAMPING_COUNTERS", "s", stamped + " NOT_STAMPED_MTU=many STAMPED_PACKETS=-1",
			"show tam tail-stamping sessions s", []string{"Stamped Count : -", "Not Stamped : -", "MTU : -"}},
		{"TAM_TAILSTAMPING_COUNTERS", "c", "", "show tam tail-stamping sessions c",
			[]string{"Clamp MSS : 3", "SYN Count : -"}},
		{"TAM_TAILSTAMPING_COUNTERS", "c",
			"SYNS=5 SYNS_CLAMPED=2 SYNS_SMALL=0 SYNS_WITHOUT_MSS=1 SYNS_MALFORMED=1 SYNS_CUT=x SYNS_NO_ROOM=1",
			"show tam tail-stamping sessions c",
			[]string{"SYN Count : 5", "Clamped : 2", "Without MSS : 1", "Malformed : 1", "Cut : -", "No Room : 1"}},
		{"COUNTERS", "oid:0x9", "", "show tam flow-groups f", []string{"Packet Count : -"}},
		{"COUNTERS", "oid:0x9", "SAI_ACL_COUNTER_ATTR_PACKETS=x", "show tam flow-groups f", []string{"Packet Count : -"}},
		{"COUNTERS", "oid:0x9", "SAI_ACL_COUNTER_ATTR_PACKETS=0", "show tam flow-groups f", []string{"Packet Count : 0"}},
		{"COUNTERS", "oid:0x9", "SAI_ACL_COUNTER_ATTR_PACKETS=0", "show acl", []string{"f 100 0 - -"}},
		{"TAM_TABLERECORD_COUNTERS", "r", "", "show tam table-record r", []string{"Matched : -", "Recorded : -", "Lost : -"}},
		{"TAM_TABLERECORD_COUNTERS", "r", "MATCHED=0 RECORDED=0 LOST=x", "show tam table-record r",
			[]string{"Matched : 0", "Not Sampled : -", "Recorded : 0", "Lost : -"}},
		{"TAM_TABLERECORD_COUNTERS", "r", "MATCHED=0 RECORDED=0 LOST=0 NOT_SAMPLED=0", "show tam table-record",
			[]string{"r f c Pending 16+16 - - - 0 0 0"}},
		{"TAM_TABLERECORD_COUNTERS", "r", "MATCHED=7", "show tam table-record", []string{"r f c Pending 16+16 - - - 7 - -"}},
		{"TAM_ALTMARK_COUNTERS", "a", "PERIOD=9 COLOUR=0 PACKETS=0 CAPTURES=x", "show tam alt-mark sessions a", []string{
			"Packet Count : 0", "Byte Count : -", "Captures : -", "Out of Window : -", "Foreign Marks : -",
		}},
		{"TAM_FLYMON_RESULTS", "t", "EPOCH=9 FLOWS_CUT=0", "show tam flymon task t", []string{"Digests Lost : -"}},
	} {
		write(c.table, c.key, c.fields)
		var lines []string
		for l := range strings.Lines(s.do(t, c.command)) {
			lines = append(lines, strings.Join(strings.Fields(l), " "))
		}
		out := "\n" + strings.Join(lines, "\n") + "\n"
		for _, w := range c.want {
			if !strings.Contains(out, "\n"+w+"\n") {
				t.Errorf("%s with %q: no line %q\n%s", c.command, c.fields, w, out)
			}
		}
		if c.fields == "" && strings.Contains(out, " : 0\n") {
			t.Errorf("%s: 0 of what nobody has counted\n%s", c.command, out)
		}
	}
}

// Each reason for which frames are lost is shown with its count; none is 0, and what nobody knows is a dash.
func TestShowWires(t *testing.T) {
	s, r := newSwitch(t)
	row(t, r, swss.ConfigDB, "PORT", "Ethernet0", fieldsOf("lanes=0 speed=10000"))
	for _, c := range []struct{ fields, want string }{
		{"received=7 lost-ring-full=0 lost-link-down=0 dropped-acl=N/A", "Ethernet0 eth1 - - 7 - - - 0 -"},
		{"sent=0 lost-ring-full=2 lost-link-down=3 dropped-acl=0 dropped-ttl=0",
			"Ethernet0 eth1 - - - 0 - - 3 link-down, 2 ring-full 0"},
		{"dropped-egress-mtu=1 dropped-ttl=4", "Ethernet0 eth1 - - - - - - - 1 egress-mtu, 4 ttl"},
	} {
		if err := swss.NewTable(r.DB(swss.StateDB), "TAMTAM_WIRE").Del(t.Context(), "Ethernet0"); err != nil {
			t.Fatal(err)
		}
		fields := fieldsOf(c.fields)
		fields["interface"] = "eth1"
		row(t, r, swss.StateDB, "TAMTAM_WIRE", "Ethernet0", fields)
		if out := strings.Join(strings.Fields(s.do(t, "show interface wires")), " "); !strings.HasSuffix(out, c.want) {
			t.Errorf("%s:\n%s\nwant %s", c.fields, out, c.want)
		}
	}
	row(t, r, swss.StateDB, "TAMTAM_WIRE", "Ethernet0", swss.FieldValues{"status": "taken",
		"reason": "eth1 is taken by B"})
	if out := s.do(t, "show interface wires"); !strings.Contains(out, "taken ") ||
		!strings.Contains(out, "Ethernet0: eth1 is taken by B\n") {
		t.Error(out)
	}
}
