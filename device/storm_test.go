package device_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tamtam/device/devicetest"
	"tamtam/internal/racetest"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tamtamtest"
)

// In a storm of ARP requests, a switch with SONiC's defaults forwards all requests. The CPU receives the share that the
// group's policer passes. The policer's counters in the shell, and its drops in the accounting, match the rest.
func TestStorm(t *testing.T) {
	racetest.Stepped(t)
	sw := tamtamtest.Start(t, `{
		"VLAN": {"Vlan10": {"vlanid": "10"}},
		"VLAN_MEMBER": {
			"Vlan10|Ethernet0": {"tagging_mode": "untagged"}, "Vlan10|Ethernet1": {"tagging_mode": "untagged"}}}`)
	for _, p := range sw.Problems() {
		t.Error(p)
	}
	request := append([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 0x11, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1},
		make([]byte, 38)...)
	storm := func(n int) (cpu, flooded int) { // at 2000 packets per second
		for range n {
			sw.Send("Ethernet0", request)
			sw.Advance(500 * time.Microsecond)
		}
		return len(sw.Left(tamtamtest.CPU)), len(sw.Left("Ethernet1"))
	}
	line := func(group string) string {
		for l := range strings.SplitSeq(sw.CLI("show copp"), "\n") {
			if f := strings.Fields(l); len(f) > 0 && f[0] == group {
				return strings.Join(f, " ")
			}
		}
		return ""
	}
	shows := func(want string) {
		t.Helper()
		sw.Advance(11 * time.Second) // counters are read every 10 s
		if got := line("queue4_group2"); got != want {
			t.Errorf("show copp:\n%s\nwant %s", got, want)
		}
		for _, p := range sw.Problems() {
			t.Error(p)
		}
	}
	shows("queue4_group2 arp_req,arp_resp,neigh_discovery copy 4 600 packets/s, burst 600 0 0 by default active")

	// A full bucket of 600, and 600 more per second.
	if cpu, flooded := storm(2000); cpu != 600+599 || flooded != 2000 {
		t.Errorf("%d of 2000 to the CPU, %d flooded", cpu, flooded)
	}
	shows("queue4_group2 arp_req,arp_resp,neigh_discovery copy 4 600 packets/s, burst 600 1199 801 by default active")

	// A restart of orchagent creates nothing again: the chip and its counters stay.
	devicetest.NoError(t, sw.Sim().RestartOrchagent(t.Context()))
	shows("queue4_group2 arp_req,arp_resp,neigh_discovery copy 4 600 packets/s, burst 600 1199 801 by default active")

	// A row changes the rate of the existing policer; its counters stay.
	sw.Set("COPP_GROUP|queue4_group2", "cir", "10", "cbs", "20")
	if cpu, flooded := storm(200); cpu != 20+0 || flooded != 200 {
		t.Errorf("%d of 200 to the CPU, %d flooded", cpu, flooded)
	}
	shows("queue4_group2 arp_req,arp_resp,neigh_discovery copy 4 10 packets/s, burst 20 1219 981 cbs=20 cir=10 active")

	// Without a policer, the CPU receives all requests. Without the default trap, it receives none.
	sw.Set("COPP_TRAP|arp", "trap_group", "mine")
	sw.Set("COPP_GROUP|mine", "trap_action", "copy")
	if cpu, _ := storm(200); cpu != 200 {
		t.Errorf("%d of 200 to the CPU without a policer", cpu)
	}
	if got := fmt.Sprint(line("queue4_group2"), line("mine")); !strings.Contains(got,
		"mine arp_req,arp_resp,neigh_discovery copy 0 none - -") {
		t.Error(got)
	}
}

// A default that was deleted while orchagent was down is removed from the chip, too. The switch's own group, which is
// never created or removed, returns to its initial state.
func TestDefaultGroupGoesWhileDown(t *testing.T) {
	racetest.Stepped(t)
	sw := tamtamtest.Start(t)
	lldp := append([]byte{1, 0x80, 0xc2, 0, 0, 14, 2, 0, 0, 0, 0, 0x11, 0x88, 0xcc}, make([]byte, 46)...)
	storm := func() int {
		for range 700 {
			sw.Send("Ethernet0", lldp)
		}
		sw.Advance(time.Millisecond)
		return len(sw.Left(tamtamtest.CPU))
	}
	if n := storm(); n != 600 {
		t.Errorf("%d of 700 to the CPU at once, want 600", n)
	}
	ctx, r := t.Context(), sw.Sim().Redis
	for _, err := range []error{
		swss.NewTable(r.DB(swss.ConfigDB), schema.CfgCOPPGroup).Set(ctx, schema.COPPDefault,
			swss.FieldValues{"NULL": "NULL"}),
		swss.NewTable(r.DB(swss.ApplDB), schema.AppCOPP).Del(ctx, schema.COPPDefault),
		sw.Sim().RestartOrchagent(ctx),
		sw.Sim().RunUntilIdle(ctx),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := storm(); n != 700 {
		t.Errorf("%d of 700 to the CPU without the default group's policer", n)
	}
	for _, p := range sw.Problems() {
		t.Error(p)
	}
}

// If there are more policers than the chip supports, the rest report that, and are created when another is removed.
func TestMorePolicersThanFit(t *testing.T) {
	rows := []string{}
	for i := range 130 {
		rows = append(rows, fmt.Sprintf(`"g%03d": {"meter_type": "packets", "mode": "sr_tcm", "cir": "1", "cbs": "1"}`, i))
	}
	racetest.Stepped(t)
	sw := tamtamtest.Start(t, `{"COPP_GROUP": {`+strings.Join(rows, ",")+`}}`)
	lacking := func() (n int) {
		for _, p := range sw.Problems() {
			trap := strings.HasPrefix(p.Object, schema.CfgCOPPTrap+"|") // whose group has no policer
			if !strings.Contains(p.Reason, "SAI_STATUS_INSUFFICIENT_RESOURCES") || !trap && p.Status != schema.StatusPending {
				t.Errorf("%+v", p)
			}
			if !trap {
				n++
			}
		}
		return n
	}
	// The default group and g000 to g126 have the 128 policers; g127 to g129 and five groups of the defaults have
	// none.
	for i := range 9 {
		if n := lacking(); n != max(0, 8-i) {
			t.Errorf("%d rows without room after %d went, want %d", n, i, max(0, 8-i))
		}
		sw.Delete(fmt.Sprintf("COPP_GROUP|g%03d", i))
	}
}
