package qos_test

import (
	"tamtam/cfgmgr/qos"
	"tamtam/orch"
	"tamtam/orch/forward/forwardtest"
	"tamtam/swss"
)

// In this example, one queue has a scheduler. Another queue waits for a port that does not exist.
func Example() {
	forwardtest.Example(func(d *orch.Daemon, r *swss.Redis) { qos.New(d, r) }, []string{
		"PORT|Ethernet0 lanes=1,2,3,4 speed=100000",
		"SCHEDULER|strict type=STRICT",
		"QUEUE|Ethernet0|7 scheduler=strict",
		"QUEUE|Ethernet4|7 scheduler=strict",
	}, "QUEUE_TABLE|Ethernet0|7", "QUEUE_TABLE|Ethernet4|7")
	// Output:
	// Ethernet0|7: pending, waiting for orchagent
	// Ethernet4|7: pending, port "Ethernet4" does not exist
}
