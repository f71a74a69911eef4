package routes_test

import (
	"tamtam/cfgmgr/routes"
	"tamtam/orch"
	"tamtam/orch/forward/forwardtest"
	"tamtam/swss"
)

// In this example, one of two static routes leaves by a port that does not exist.
func Example() {
	forwardtest.Example(func(d *orch.Daemon, r *swss.Redis) { routes.New(d, r) }, []string{
		"PORT|Ethernet0 lanes=1,2,3,4 speed=100000",
		"INTERFACE|Ethernet0 NULL=NULL",
		"INTERFACE|Ethernet0|10.0.0.1/24 NULL=NULL",
		"STATIC_ROUTE|10.1.0.0/16 nexthop=10.0.0.2 ifname=Ethernet0",
		"STATIC_ROUTE|10.2.0.0/16 nexthop=10.4.0.2 ifname=Ethernet4",
	}, "STATIC_ROUTE_TABLE|10.1.0.0/16", "STATIC_ROUTE_TABLE|10.2.0.0/16")
	// Output:
	// 10.1.0.0/16: pending, waiting for orchagent
	// 10.2.0.0/16: pending, Ethernet4 does not route: there is no row INTERFACE|Ethernet4
}
