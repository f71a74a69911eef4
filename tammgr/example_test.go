package tammgr_test

import (
	"tamtam/orch"
	"tamtam/orch/forward/forwardtest"
	"tamtam/swss"
	"tamtam/tammgr"
)

// A session of tail-stamping names a flow group. Another session names one that does not exist.
func Example() {
	forwardtest.Example(func(d *orch.Daemon, r *swss.Redis) { tammgr.New(d, r) }, []string{
		"state:SWITCH_CAPABILITY|switch tam-tailstamping-capable=true",
		"TAM_FEATURES_TABLE|TAILSTAMPING status=ACTIVE",
		"TAM_FLOWGROUP_TABLE|web id=7",
		"TAM_TAILSTAMPING_TABLE|s1 flowgroup=web",
		"TAM_TAILSTAMPING_TABLE|s2 flowgroup=dns",
	}, "TAM_STATE_TAILSTAMPING_TABLE|s1", "TAM_STATE_TAILSTAMPING_TABLE|s2")
	// Output:
	// s1: pending, waiting for orchagent
	// s2: pending, flow group "dns" does not exist
}
