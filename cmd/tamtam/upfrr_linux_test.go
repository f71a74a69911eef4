package main

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"tamtam/device/daemons"
	"tamtam/host/fpmsyncd"
	"tamtam/internal/netns/netnstest"
)

// One process with --frr has the switch's interfaces in Linux, and accepts zebra. It ends with them.
func TestUpForFRR(t *testing.T) {
	if testing.Short() {
		t.Skip("one process, whose daemons other tests run under the race detector")
	}
	if !netnstest.Own(t) {
		return
	}
	if _, err := os.Stat("/dev/net/tun"); err != nil {
		t.Skip(err)
	}
	if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, out)
	}
	s := newSolo(t, `{"PORT": {"Ethernet0": {"lanes": "0", "speed": "10000", "admin_status": "up"}},
		"INTERFACE": {"Ethernet0": {}, "Ethernet0|10.1.0.1/24": {}}}`)
	s.args = append(s.args, "--frr")
	r := s.begin()
	zebra, err := net.Dial("tcp", fpmsyncd.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer zebra.Close()
	s.healthy()
	for _, name := range []string{"hostifd", "fpmsyncd", "hostd"} {
		state, runs, err := daemons.ReadState(t.Context(), r, name)
		if want := name != "hostd"; err != nil || runs != want || want && state.State != daemons.StateReady {
			t.Errorf("%s: %v, %+v, %v", name, runs, state, err)
		}
	}
	out, err := exec.Command("ip", "-o", "addr", "show", "Ethernet0").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "inet 10.1.0.1/24") {
		t.Errorf("Ethernet0 in Linux: %v: %s", err, out)
	}
	s.end(r)
	if out, err := exec.Command("ip", "link", "show", "Ethernet0").CombinedOutput(); err == nil {
		t.Errorf("after its end there is %s", out)
	}
}
