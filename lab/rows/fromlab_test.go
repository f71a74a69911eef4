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

// The load of an unknown port is not 0.
func TestTrafficOfNoPort(t *testing.T) {
	ports := map[string]device.PortReport{"Ethernet0": {SentBytes: 980, Sent: 1}}
	x := &reading{run: &Run{}, result: &lab.Result{Duration: lab.Second,
		Switches: map[string]*lab.Node{"s": {Report: &device.Report{Ports: ports}}}}}
	for port, known := range map[string]bool{"Ethernet0": true, "Ethernet4": false} {
		got := x.traffic(web.End{Node: "s", Port: port}, lab.WireCounts{Sent: 1, Lost: 1}, 1)
		if got.Counted != known || !got.LostKnown || got.Lost != 1 || known && got.Load != 0.008 {
			t.Errorf("%s: %+v, want that its load is known: %v", port, got, known)
		}
	}
}
