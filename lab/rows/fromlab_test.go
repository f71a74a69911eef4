package rows

import (
	"testing"

	"tamtam/device"
	"tamtam/lab"
	"tamtam/mgmt/web"
)

// A link is up if both its ends are known to be up.
func TestOperOf(t *testing.T) {
	for want, cases := range map[string][][]string{
		"up": {{"up"}, {"up", "up"}}, "down": {{"down"}, {"", "down"}, {"down", "up"}, {"up", "down"}},
		"": {{}, {""}, {"", "up"}, {"up", ""}},
	} {
		for _, ends := range cases {
			if got := operOf(ends); got != want {
				t.Errorf("%q: %q, want %q", ends, got, want)
			}
		}
	}
}

// The load of an unknown port is not 0. That of a host is known if the switch received all of its frames.
func TestTrafficOfNoPort(t *testing.T) {
	ports := map[string]device.PortReport{"Ethernet0": {SentBytes: 980, Sent: 1, ReceivedBytes: 1960, Received: 2}}
	x := &reading{run: &Run{}, result: &lab.Result{Duration: lab.Second,
		Switches: map[string]*lab.Node{"s": {Report: &device.Report{Ports: ports}}}}}
	for port, known := range map[string]bool{"Ethernet0": true, "Ethernet4": false} {
		host, end := web.End{Node: "h"}, web.End{Node: "s", Port: port}
		got := x.traffic(end, host, lab.WireCounts{Sent: 1, Lost: 1}, 1)
		if got.Counted != known || !got.LostKnown || got.Lost != 1 || known && got.Load != 0.008 {
			t.Errorf("%s: %+v, want that its load is known: %v", port, got, known)
		}
		for wire, all := range map[lab.WireCounts]bool{{Sent: 2}: true, {Sent: 3, Lost: 1}: false, {Sent: 3}: false,
			{Sent: 2, Lost: 1, Duplicated: 1}: false} {
			got := x.traffic(host, end, wire, 1)
			if got.Counted != (known && all) || got.Counted && (got.Load != 0.016 || got.Frames != 2) {
				t.Errorf("to %s, %+v: %+v, want that its load is known: %v", port, wire, got, known && all)
			}
		}
	}
}
