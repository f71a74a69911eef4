package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"tamtam/internal/command"
	"tamtam/lab"
)

// The paths derived from the records of four switches are the true ones. The numbers of packets received by the server,
// dropped by a rule, and lost on a wire are exact.
func TestPath(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	top, err := openLab("record-ecmp", nil, false)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	r, err := lab.Run(t.Context(), top, lab.Options{Out: dir, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	args := []string{"path", "--topology", "record-ecmp", filepath.Join(dir, "collector.received.pcap")}
	code, out := tamtam(t, args...)
	if code != 0 || !strings.Contains(out, "349 packets") || strings.Contains(out, "left out") {
		t.Errorf("without plans: %d\n%s", code, out)
	}
	for _, name := range []string{"leaf1", "leaf2", "spine1", "spine2"} {
		args = append(args, "--plan", filepath.Join(dir, name+"-record-web.plan.json"))
	}
	two, three := r.Flows["two"], r.Flows["three"]
	want := map[string]uint64{
		"client > leaf1 > spine2: dropped: acl": three.LostBy["spine2: acl"],
		"client > leaf1 > spine1: not seen at leaf2:Ethernet4: lost on the wire, or not recorded " +
			"there": two.LostBy["lossy: loss"] + three.LostBy["lossy: loss"],
	}
	if code, out = tamtam(t, args...); code != 0 {
		t.Fatal(out)
	}
	for path, n := range want {
		if n == 0 || !strings.Contains(out, fmt.Sprintf("%8d  %s\n", n, path)) {
			t.Errorf("want %d of %s:\n%s", n, path, out)
		}
	}
	arrived := uint64(0)
	for _, spine := range []string{"spine1", "spine2"} {
		path, n := fmt.Sprintf("  client > leaf1 > %s > leaf2: to server\n", spine), uint64(0)
		if before, _, ok := strings.Cut(out, path); !ok {
			t.Errorf("no way by %s:\n%s", spine, out)
		} else if _, err := fmt.Sscan(before[strings.LastIndex(before, "\n")+1:], &n); err != nil {
			t.Error(err)
		}
		arrived += n
	}
	if arrived != two.Received+three.Received {
		t.Errorf("%d came to the server, want %d:\n%s", arrived, two.Received+three.Received, out)
	}
	if got := strings.Count(out, "\n"); got != 5 {
		t.Errorf("%d lines, want the sum and four ways:\n%s", got, out)
	}
	const at = "--topology record-ecmp "
	try(t, "path",
		line{"x.pcap", command.ExitUsage, "--topology is missing"},
		line{at + "--records 0 x.pcap", command.ExitUsage, "--records 0: want 1 or more"},
		line{at + "--clock-error 0s x.pcap", command.ExitUsage, "--clock-error 0s, --within 10s: want more than 0"},
		line{at + "--format xml x.pcap", command.ExitUsage, "xml"},
		line{at + filepath.Join(dir, "none.pcap"), command.ExitFailed, "none.pcap"})
}
