package main

import (
	"path/filepath"
	"strings"
	"testing"

	"tamtam/device/daemons"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// hostd runs in a separate process, without privileges, on the CPU port that syncd serves. It is ready while it has the
// port, reports the missing port while syncd is down, and recovers by itself, as after a kill.
func TestHostdAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("processes that wait for each other: nothing for the race detector")
	}
	server := swsstest.StartServer(t)
	f := &fleet{redis: server.Open(), addr: server.Addr}
	socket := filepath.Join(t.TempDir(), "cpu.sock")
	if len(socket) > 100 {
		t.Skipf("%s is too long for a socket's name", socket)
	}
	syncd := startProcess(t, "run", "syncd", "--redis", f.addr, "--cpu-port", socket)
	hostd := startProcess(t, "run", "hostd", "--redis", f.addr, "--cpu-port", socket)
	owner, before := "", ""
	is := func(state, reason string) {
		t.Helper()
		f.wait(t, schema.StateHealth, "hostd", func(row swss.FieldValues) bool {
			owner = row["owner"]
			return row["state"] == state && strings.Contains(row["reason"], reason) && owner != before
		})
	}
	is(daemons.StateReady, "")
	hostd.kill()
	before = owner
	hostd.start()
	is(daemons.StateReady, "")
	syncd.kill()
	is(daemons.StateWaiting, "no CPU port")
	syncd.start()
	is(daemons.StateReady, "")
}
