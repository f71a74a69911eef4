package acl

import (
	"fmt"
	"strings"
	"testing"

	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/swss/schema"
)

// prioritised writes rules of one table, given as "NAME PRIORITY". Each rule has a different match.
func (b *bench) prioritised(table string, rules ...string) {
	for i, r := range rules {
		name, priority, _ := strings.Cut(r, " ")
		ip := fmt.Sprintf("10.0.%s.%d", priority, i+1)
		b.rule(table+":"+name, "PRIORITY", priority, "SRC_IP", ip, "PACKET_ACTION", "DROP")
	}
	b.Step()
}

// wantHolders checks which rules are in force, and which rule occupies the capacity of each waiting rule. For example,
// "R1, R2 < R3".
func (b *bench) wantHolders(table string, want ...string) {
	b.T.Helper()
	for _, w := range want {
		name, holder, waits := strings.Cut(w, " < ")
		status := "Active"
		if waits {
			status = fmt.Sprintf("; ACL rule %s|%s has its place; tried again when something is removed", table, holder)
		}
		b.WantStatus(schema.StateACLRule, table+"|"+name, status)
	}
}

// A displaced rule is removed before the rule that displaces it is created. Whichever call fails, one of both rules is
// in force at the end, and nothing else remains. The status of the other rule contains the reason.
func TestDisplacedRuleComesBack(t *testing.T) {
	for _, status := range []sai.Status{sai.StatusFailure, sai.StatusTableFull} {
		for n := 1; ; n++ {
			b := newBench(t, saitest.Options{ACLEntries: 1})
			b.table("T", "L3", "")
			b.prioritised("T", "R1 10")
			b.Rec.FailAt(n, status)
			b.prioritised("T", "R2 20")
			if b.Rec.Changes() < n {
				b.wantHolders("T", "R2", "R1 < R2 (priority 20)")
				break
			}
			b.Rec.FailAt(0, 0)
			before, after := b.Status(schema.StateACLRule+"|T|R1"), b.Status(schema.StateACLRule+"|T|R2")
			if (before == "Active") == (after == "Active") {
				t.Errorf("%s of call %d: %s, %s", status, n, before, after)
			}
			if len(b.Rec.LiveOf(sai.ObjectTypeACLEntry)) != 1 {
				t.Errorf("%s of call %d: in the ASIC are %v", status, n, b.Rec.LiveOf(sai.ObjectTypeACLEntry))
			}
			b.Del(schema.AppACLRule, "T:R2")
			b.Step()
			b.WantStatus(schema.StateACLRule, "T|R1", "Active")
			b.Del(schema.AppACLRule, "T:R1")
			b.Del(schema.AppACLTable, "T")
			b.Step()
			if live := b.Rec.Live(); len(live) != 1 { // only the switch object may remain
				t.Errorf("%s of call %d: left behind: %v", status, n, live)
			}
		}
	}
}
