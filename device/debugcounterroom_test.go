package device_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tamtam/internal/racetest"
	"tamtam/tamtamtest"
)

// If the chip cannot count a reason, the status names the reasons that it can count. Counters that do not fit wait for
// capacity.
func TestDebugCountersOfChip(t *testing.T) {
	counters, reasons := []string{}, []string{`"c00|IP_HEADER_ERROR": {}`, `"c01|NO_SUCH": {}`}
	for i := range 17 {
		counters = append(counters, fmt.Sprintf(`"c%02d": {"type": "PORT_INGRESS_DROPS"}`, i))
		reasons = append(reasons, fmt.Sprintf(`"c%02d|TTL": {}`, i))
	}
	racetest.Stepped(t)
	sw := tamtamtest.Start(t, `{"DEBUG_COUNTER": {`+strings.Join(counters, ",")+`}, "DEBUG_COUNTER_DROP_REASON": {`+
		strings.Join(reasons, ",")+`}}`)
	var got []string
	for _, p := range sw.Problems() {
		reason, _, _ := strings.Cut(p.Reason, ", want one of L2_ANY,")
		got = append(got, fmt.Sprintf("%s %s %.90s", p.Object, p.Status, reason))
	}
	slices.Sort(got)
	want := []string{
		"DEBUG_COUNTER_DROP_REASON|c00|IP_HEADER_ERROR failed reason IP_HEADER_ERROR: the ASIC does not count it for " +
			"PORT_INGRESS_DROPS",
		"DEBUG_COUNTER_DROP_REASON|c01|NO_SUCH failed reason NO_SUCH: the ASIC does not count it for PORT_INGRESS_DROPS",
		"DEBUG_COUNTER_DROP_REASON|c16|TTL pending ", "DEBUG_COUNTER|c16 pending ",
	}
	for i := range want {
		if i >= len(got) || !strings.HasPrefix(got[i], want[i]) {
			t.Fatalf("problems %q\nwant %q", got, want)
		}
	}
	sw.Delete("DEBUG_COUNTER|c00")
	for _, p := range sw.Problems() {
		if strings.Contains(p.Object, "c16") {
			t.Errorf("there is room: %+v", p)
		}
	}
}
