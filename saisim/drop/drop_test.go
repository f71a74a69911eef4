package drop_test

import (
	"fmt"
	"testing"

	"tamtam/saisim/drop"
)

func ExampleReason() {
	dropped := map[drop.Reason]int{drop.TTL: 3, drop.Buffer: 1}
	for r := range drop.NumReasons {
		if n := dropped[r]; n > 0 {
			fmt.Println(r, n)
		}
	}
	// Output:
	// ttl 3
	// buffer 1
}

// Each reason has its own word.
func TestWords(t *testing.T) {
	reasons := map[string]drop.Reason{}
	for r := range drop.NumReasons {
		word := r.String()
		if other, taken := reasons[word]; taken || word == "" || word == "unknown" {
			t.Errorf("reason %d is %q, which is that of %d", r, word, other)
		}
		reasons[word] = r
	}
	if word := drop.NumReasons.String(); word != "unknown" {
		t.Errorf("a reason that there is not is %q", word)
	}
}

// A number that has once occurred in a report keeps its meaning forever. This list only grows at its end. If the test
// fails until you change a line, collectors would confuse two reasons.
func TestNumbersAreFixed(t *testing.T) {
	frozen := []struct {
		reason drop.Reason
		word   string
		at     string // port at which the reason is counted
	}{
		{0, "port-down", "in"}, {1, "runt", "in"}, {2, "oversize", "in"}, {3, "vlan-tag-filter", "in"}, {4, "no-vlan", "in"},
		{5, "not-vlan-member", "in"}, {6, "source-address", "in"}, {7, "learning", "in"}, {8, "acl", "in"}, {9, "trap", "in"},
		{10, "fdb", "in"}, {11, "unknown-destination", "in"}, {12, "same-port", "in"}, {13, "no-destination", "in"},
		{14, "no-lag-member", "in"}, {15, "not-router", "in"}, {16, "router-down", "in"}, {17, "ip-header", "in"},
		{18, "no-route", "in"}, {19, "blackhole", "in"}, {20, "neighbor", "in"}, {21, "route", "in"},
		{22, "no-next-hop", "in"},
		{23, "ttl", "in"}, {24, "no-neighbor", "in"}, {25, "router-out-down", "in"}, {26, "same-interface", "in"},
		{27, "l3-mtu", "in"}, {28, "program", "in"}, {29, "policer", "in"}, {30, "buffer", "queue"},
		{31, "queue-limit", "queue"}, {32, "wred", "queue"}, {33, "egress-port-down", "out"}, {34, "egress-mtu", "out"},
		{35, "egress-acl", "out"}, {36, "egress-program", "out"}, {37, "port-removed", "out"}, {38, "decap", "in"},
		{39, "priority-group", "in"}, {40, "trim-queue", "queue"},
	}
	if len(frozen) != int(drop.NumReasons) {
		t.Errorf("%d reasons are frozen, there are %d: a new one is a line at the end", len(frozen), drop.NumReasons)
	}
	for i, f := range frozen {
		at := "in"
		if f.reason.AtQueue() {
			at = "queue"
		} else if f.reason.AtEgress() {
			at = "out"
		}
		if int(f.reason) != i || f.reason.String() != f.word || at != f.at || f.reason.AtQueue() && !f.reason.AtEgress() {
			t.Errorf("%d: %s, which counts at %s; frozen is %s at %s", f.reason, f.reason, at, f.word, f.at)
		}
	}
}

// Reasons that SAI names have SAI's name.
func TestSAI(t *testing.T) {
	for r, want := range map[drop.Reason]string{
		drop.TTL: "SAI_IN_DROP_REASON_TTL", drop.NoRoute: "SAI_IN_DROP_REASON_LPM_MISS",
		drop.Blackhole:  "SAI_IN_DROP_REASON_BLACKHOLE_ROUTE",
		drop.NoNeighbor: "SAI_IN_DROP_REASON_UNRESOLVED_NEXT_HOP", drop.WRED: "", drop.NumReasons: "",
	} {
		if got := r.SAI(); got != want {
			t.Errorf("%s: %q, want %q", r, got, want)
		}
	}
}
