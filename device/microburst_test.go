package device_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"tamtam/swss"
	"tamtam/tamtamtest"
)

// burstFrame returns an IPv4 frame of UDP from one host to another, without FCS.
func burstFrame(from, to byte, port uint16, size int) []byte {
	f := make([]byte, size)
	copy(f, []byte{2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, from, 8, 0, 0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0,
		10, 0, 0, from, 10, 0, 0, to})
	binary.BigEndian.PutUint16(f[16:], uint16(size-14))
	binary.BigEndian.PutUint16(f[34:], port)
	binary.BigEndian.PutUint16(f[36:], 4791)
	binary.BigEndian.PutUint16(f[38:], uint16(size-34))
	return f
}

const burstConfig = `{
	"VLAN": {"Vlan10": {"vlanid": "10"}},
	"VLAN_MEMBER": {
		"Vlan10|Ethernet0": {"tagging_mode": "untagged"}, "Vlan10|Ethernet1": {"tagging_mode": "untagged"},
		"Vlan10|Ethernet2": {"tagging_mode": "untagged"}}}`

// incast sends frames of two hosts to a third at once.
func incast(sw *tamtamtest.Switch) {
	for range 10 {
		sw.Send("Ethernet0", burstFrame(1, 3, 1000, 1000))
		sw.Send("Ethernet2", burstFrame(2, 3, 2000, 500))
	}
	sw.Advance(2 * time.Second)
}

// Bursts of a queue are recorded with the flows that made them, from CONFIG_DB to the shell. Changed thresholds, and a
// threshold that is gone, lose no record.
func TestMicrobursts(t *testing.T) {
	sw := tamtamtest.Start(t, burstConfig)
	sw.Send("Ethernet1", burstFrame(3, 9, 1, 100)) // the address of Ethernet1 is learned
	sw.Advance(time.Millisecond)
	sw.Set("MICROBURST|Ethernet1|0", "threshold", "3000")
	sw.Set("MICROBURST|Ethernet1|99", "threshold", "3000")
	sw.Set("MICROBURST|Ethernet2|0", "threshold", "3000", "end_threshold", "3001")
	sw.Set("MICROBURST|Ethernet2|1", "end_threshold", "3001")
	sw.Advance(time.Second)
	var got []string
	for _, p := range sw.Problems() {
		got = append(got, fmt.Sprint(p))
	}
	for _, want := range []string{"Ethernet1|99", "Ethernet2|0", "Ethernet2|1"} {
		if !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("%s is no problem:\n%s", want, strings.Join(got, "\n"))
		}
	}
	if len(got) != 3 {
		t.Errorf("problems:\n%s", strings.Join(got, "\n"))
	}
	incast(sw)
	row := func(key string) map[string]string { return sw.Row(swss.CountersDB, key) }
	if n := row("MICROBURST_COUNTERS:Ethernet1:0"); n["BURSTS"] != "1" || n["LOST"] != "0" {
		t.Errorf("counters %v", n)
	}
	first := row("MICROBURST_RECORD:Ethernet1:0:1")
	if first["state"] != "ended" || first["rest-bytes"] != "0" || first["threshold"] != "3000" {
		t.Errorf("record %v", first)
	}
	shown := sw.CLI("show queue bursts detail")
	for _, want := range []string{"Ethernet1:0 1: 10.0.0.1 1000 > 10.0.0.3 4791 udp", "10.0.0.2 2000 > 10.0.0.3 4791"} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in:\n%s", want, shown)
		}
	}
	t.Logf("%s", shown)

	// Bursts that are open when the threshold changes, and when it goes, are cut and recorded.
	for i, change := range []func(){
		func() { sw.Set("MICROBURST|Ethernet1|0", "threshold", "2000", "end_threshold", "1") },
		func() { sw.Delete("MICROBURST|Ethernet1|0") },
	} {
		for range 10 {
			sw.Send("Ethernet0", burstFrame(1, 3, 1000, 1000))
			sw.Send("Ethernet2", burstFrame(2, 3, 2000, 1000))
		}
		sw.Advance(8 * time.Microsecond)
		change()
		key := fmt.Sprintf("MICROBURST_RECORD:Ethernet1:0:%d", 2+2*i)
		if x := row(key); x["state"] != "cut" {
			t.Errorf("%s: %v", key, x)
		}
		sw.Advance(2 * time.Second)
	}
	if n := row("MICROBURST_COUNTERS:Ethernet1:0"); n["BURSTS"] != "4" || n["LOST"] != "0" {
		t.Errorf("counters %v", n)
	}
}

// "why" names the burst in which a packet waited, and the flows that made it.
func TestWhyAPacketWasLate(t *testing.T) {
	sw := tamtamtest.Start(t, burstConfig)
	sw.Send("Ethernet1", burstFrame(3, 9, 1, 100))
	sw.Advance(time.Millisecond)
	sw.Set("MICROBURST|Ethernet1|0", "threshold", "3000")
	sw.CLI("show tam why flow 10.0.0.2 10.0.0.3") // its packets are watched from now on
	sw.Send("Ethernet2", burstFrame(2, 3, 2000, 200))
	sw.Advance(time.Millisecond)
	incast(sw)
	shown := sw.CLI("show tam why flow 10.0.0.2 10.0.0.3 last 20")
	t.Logf("%s", shown)
	if n := strings.Count(shown, "during burst 1"); n < 5 || n > 9 { // those after the burst began, not the first of all
		t.Errorf("%d packets waited during the burst:\n%s", n, shown)
	}
	if !strings.Contains(shown, "10.0.0.1:1000 > 10.0.0.3:4791 udp: 9000 bytes") {
		t.Errorf("the burst's flows are not shown:\n%s", shown)
	}
}
