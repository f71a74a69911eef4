// Package racetest selects the tests that run under the race detector in the gate, which sets -short. This package
// holds conditions for whole kinds of tests.
package racetest

import (
	"os"
	"testing"
)

// Stepped skips a test with -short if one goroutine steps all that the test runs. In a switch in simulated time, for
// example, nothing runs by itself. The daemons work in turn when the test steps them, and syncd's request loop only
// while orchagent waits for its response. So the race detector finds nothing in such a test that it does not find in
// those with live daemons or with servers beside the switch. The latter always run.
func Stepped(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("one goroutine steps all of it: nothing for the race detector")
	}
}

// Live skips a test of live daemons in the gate's run without the race detector, which sets TAMTAM_RACED. The same test
// runs in full under the race detector, even with -short.
func Live(t testing.TB) {
	t.Helper()
	if os.Getenv("TAMTAM_RACED") != "" {
		t.Skip("runs under the race detector")
	}
}
