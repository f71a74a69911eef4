package recordorch

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"tamtam/swss/schema"
	"tamtam/tam/record"
)

// A plan is made for the paths that the matches of all its sessions leave possible. It is made again when the matches
// change.
func TestPlansFitMatches(t *testing.T) {
	var asked []record.Classes
	b := newBench(t)
	b.rr.plan = func(ctx context.Context, g *record.Graph, paths []record.PathCount, not record.Classes,
		s schema.RecordSettings) (*record.Plan, error) {
		p, err := planAll(ctx, g, paths, not, s)
		asked = append(asked, not)
		p.ID += uint32(not) // like a planner, the test makes another plan for other classes
		return p, err
	}
	b.rule("F2", "SRC_IPV6", "2001:db8::/32", "DST_MAC", "02:00:00:00:00:09")
	b.Step()
	step := func(what string, want ...record.Classes) {
		t.Helper()
		asked = nil
		b.Step()
		if !slices.Equal(asked, want) {
			t.Errorf("%s: plans for %b, want %b", what, asked, want)
		}
	}
	b.session("s1", "F1")
	step("IPv4", record.ClassIPv6)
	b.session("s2", "F2")
	step("and IPv6 to a host", 0)
	b.rule("F1", "ETHER_TYPE", "0x86dd")
	step("both are IPv6", record.ClassIPv4)
	b.rule("F1", "IN_PORTS", "Ethernet0")
	step("one is anything", 0)
	b.Del(schema.AppTAMTableRecord, "s1")
	b.Step()
	asked = nil
	if err := b.rr.PollCounters(b.Ctx); err != nil { // a removed object does not cause an immediate poll
		t.Fatal(err)
	}
	if want := []record.Classes{record.ClassIPv4 | record.ClassGroup}; !slices.Equal(asked, want) {
		t.Errorf("only IPv6 to a host: plans for %b, want %b", asked, want)
	}
	for _, tt := range []struct {
		fields []string
		want   record.Classes
	}{
		{[]string{"IP_TYPE", "NON_IP"}, record.ClassIPv4 | record.ClassIPv6},
		{[]string{"IP_TYPE", "NON_IPV6"}, record.ClassIPv6},
		{[]string{"ETHER_TYPE", "0x0806"}, record.ClassIPv4 | record.ClassIPv6},
		{[]string{"DST_MAC", "ff:ff:ff:ff:ff:ff"}, record.ClassUnicast},
		{[]string{"IP_PROTOCOL", "17"}, 0},
	} {
		b.rule("F3", tt.fields...)
		b.Step()
		if got := b.rr.notOf(schema.ACLRuleKey{Table: "TAM", Rule: "F3"}); got != tt.want {
			t.Errorf("%s: none of %b, want %b", fmt.Sprint(tt.fields), got, tt.want)
		}
	}
}
