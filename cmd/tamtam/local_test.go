package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tamtam/device"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// config and fault find the Redis of the tamtam up in their data directory, as doctor and health do. A directory
// without a switch is an error.
func TestConfigAndFaultFindTheLocalSwitch(t *testing.T) {
	r := swsstest.Start(t)
	if err := r.DB(swss.ConfigDB).Client().HSet(t.Context(), "VLAN|Vlan7", "vlanid", "7").Err(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	claim, err := device.ClaimData(dir)
	if err == nil {
		err = claim.Publish(device.Local{Redis: r.Addr()})
	}
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "config_db.json")
	if err := os.WriteFile(file, []byte(`{"VLAN":{"Vlan8":{"vlanid":"8"}}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, try := range []struct{ line, want string }{
		{"config load " + file, ""}, {"config save", "Vlan7"}, {"config save", "Vlan8"}, {"fault list", "no daemon"},
	} {
		args := append(strings.Fields(try.line), "--data", dir)
		if _, printed := tamtam(t, args...); !strings.Contains(printed, try.want) {
			t.Errorf("%s: %s, want %s", try.line, printed, try.want)
		}
	}
	if err := claim.Release(); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"config save", "fault list", "health"} {
		args := append(strings.Fields(line), "--data", dir)
		if code, printed := tamtam(t, args...); code == 0 || !strings.Contains(printed, "no switch runs there") {
			t.Errorf("%s without a switch: exit %d: %s", line, code, printed)
		}
	}
}
