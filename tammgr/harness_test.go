package tammgr

import (
	"testing"

	"tamtam/orch"
	"tamtam/orch/forward/forwardtest"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// applTables and stateTables are the tables that the manager writes.
var applTables, stateTables = written()

func written() (appl, state []string) {
	for _, t := range tables() {
		if t.Appl != "" {
			appl = append(appl, t.Appl)
		}
		state = append(state, t.State)
	}
	return appl, state
}

func newBench(t testing.TB, r *swss.Redis) *forwardtest.Bench {
	return forwardtest.New(t, r, func(d *orch.Daemon, r *swss.Redis) { New(d, r) })
}

// fresh starts managers on an empty server.
func fresh(t *testing.T) *forwardtest.Bench { return newBench(t, swsstest.Start(t)) }
