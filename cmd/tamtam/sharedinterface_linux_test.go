package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"tamtam/internal/netns/netnstest"
	"tamtam/internal/racetest"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// If another switch uses a switch's interface, the switch names that other switch: in the row of its wire, its health
// and its log. When the other switch is killed, the switch uses the interface.
func TestTwoSwitchesAtOneInterface(t *testing.T) {
	racetest.Live(t)
	if !netnstest.Own(t) {
		return
	}
	veths(t, [2]string{"eth1", "host1"})
	servers := [2]*swsstest.Server{swsstest.StartServer(t), swsstest.StartServer(t)}
	first := startProcess(t, "up", "--redis", servers[0].Addr, "--gnmi", "127.0.0.1:0", "--data",
		filepath.Join(t.TempDir(), "data"),
		"--port", "Ethernet0=eth1")
	status := func(word string) func(swss.FieldValues) bool {
		return func(row swss.FieldValues) bool { return row[schema.WireStatus] == word }
	}
	(&fleet{redis: servers[0].Open()}).wait(t, schema.StateWire, "Ethernet0", status(schema.WireUp))

	f := &fleet{redis: servers[1].Open()}
	second := startProcess(t, "run", "syncd", "--redis", servers[1].Addr, "--port", "Ethernet4=eth1")
	said := fmt.Sprintf("interface eth1 is taken by process %d of ", first.cmd.Process.Pid)
	f.wait(t, schema.StateWire, "Ethernet4", func(row swss.FieldValues) bool {
		return row[schema.WireStatus] == schema.WireTaken && strings.Contains(row[schema.WireReason], said) &&
			strings.HasSuffix(row[schema.WireReason], ", for its port Ethernet0")
	})
	f.wait(t, schema.StateHealth, "syncd", func(row swss.FieldValues) bool {
		return row["state"] == "waiting" && strings.Contains(row["reason"], "port Ethernet4: "+said)
	})
	first.kill()
	f.wait(t, schema.StateWire, "Ethernet4", status(schema.WireUp))
	f.wait(t, schema.StateHealth, "syncd", func(row swss.FieldValues) bool { return row["state"] == "ready" })
	second.kill()
	if !strings.Contains(second.log.String(), said) {
		t.Errorf("the log has nothing of it: %s", second.log.String())
	}
}
