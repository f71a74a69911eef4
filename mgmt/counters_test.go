package mgmt

import (
	"strings"
	"testing"
)

// A counter that its row lacks, or that is not a number there, has no leaf: it is not reported as 0. A sum with an
// unknown part has no leaf either, so it is not reported as the sum of the known parts. A counter of 0 is reported as
// 0.
func TestCountersThatNobodyKnows(t *testing.T) {
	b := newBed(t, nil)
	b.rows(someSwitch())
	b.rows(map[string]string{
		"CONFIG_DB TAM_TABLERECORD_TABLE|r":   "flowgroup=f1 collector=c",
		"COUNTERS_DB COUNTERS_QUEUE_NAME_MAP": "Ethernet0:1=oid:0x15000000000001",
	})
	for _, c := range []struct{ path, row, leaf, fields string }{
		{sessionS + "/state/counters", "TAM_TAILSTAMPING_COUNTERS:s1", "matched-packets", "MATCHED_PACKETS"},
		{sessionS + "/state/counters", "TAM_TAILSTAMPING_COUNTERS:s1", "stamped-packets", "STAMPED_PACKETS"},
		{sessionS + "/state/counters/not-stamped", "TAM_TAILSTAMPING_COUNTERS:s1", "mtu", "NOT_STAMPED_MTU"},
		{"/tam/tablerecord-sessions/tablerecord-session[name=r]/state/counters", "TAM_TABLERECORD_COUNTERS:r", "lost",
			"LOST"},
		{"/tam/flowgroups/flowgroup[name=f1]/state", "COUNTERS:oid:0x9000000000001", "packets", rulePackets},
		{"/acl/tables/table[name=TAM]/rules/rule[rule-name=f1]/state", "COUNTERS:oid:0x9000000000001", "matched-octets",
			ruleOctets},
		{"/interfaces/interface[name=Ethernet0]/state/counters", "COUNTERS:oid:0x1000000000001", "in-errors",
			"SAI_PORT_STAT_IF_IN_ERRORS"},
		{
			"/interfaces/interface[name=Ethernet0]/state/counters", "COUNTERS:oid:0x1000000000001", "in-pkts",
			"SAI_PORT_STAT_IF_IN_UCAST_PKTS SAI_PORT_STAT_IF_IN_MULTICAST_PKTS SAI_PORT_STAT_IF_IN_BROADCAST_PKTS",
		},
		{"/queues/queue[name=Ethernet0:1]/state", "COUNTERS:oid:0x15000000000001", "dropped-packets",
			"SAI_QUEUE_STAT_DROPPED_PACKETS"},
	} {
		fields := strings.Fields(c.fields)
		// has writes values to the first fields, and returns the leaf.
		has := func(values ...string) string {
			t.Helper()
			row := "COUNTERS_DB " + c.row
			b.rows(map[string]string{row: ""})
			b.rows(map[string]string{row: "OTHER=1"})
			for i, v := range values {
				b.rows(map[string]string{row: fields[i] + "=" + v})
			}
			text, err := b.get(c.path)
			if err != nil {
				if strings.Contains(err.Error(), "NotFound") { // there is no data at all
					return ""
				}
				t.Fatal(err)
			}
			_, after, _ := strings.Cut(text, ":"+c.leaf+`":`)
			value, _, _ := strings.Cut(strings.TrimRight(after, "}"), ",")
			return value
		}
		zeros := make([]string, len(fields))
		for i := range zeros {
			zeros[i] = "0"
		}
		if got := has(zeros...); got != `"0"` {
			t.Errorf("%s/%s: %s, want 0", c.path, c.leaf, got)
		}
		if got := has(zeros[1:]...); got != "" {
			t.Errorf("%s/%s without a value: %s", c.path, c.leaf, got)
		}
		for _, bad := range []string{"x", "", "-1", "1.5", "0x10", "18446744073709551616"} {
			zeros[len(zeros)-1] = bad
			if got := has(zeros...); got != "" {
				t.Errorf("%s/%s of %q: %s", c.path, c.leaf, bad, got)
			}
		}
	}
}
