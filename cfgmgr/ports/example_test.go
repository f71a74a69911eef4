package ports_test

import (
	"tamtam/cfgmgr/ports"
	"tamtam/orch"
	"tamtam/orch/forward/forwardtest"
	"tamtam/swss"
)

// A port is forwarded to orchagent. A VLAN member waits for a port that does not exist.
func Example() {
	forwardtest.Example(func(d *orch.Daemon, r *swss.Redis) { ports.New(d, r) }, []string{
		"PORT|Ethernet0 lanes=1,2,3,4 speed=100000",
		"VLAN|Vlan10 vlanid=10",
		"VLAN_MEMBER|Vlan10|Ethernet0 tagging_mode=untagged",
		"VLAN_MEMBER|Vlan10|Ethernet4 tagging_mode=untagged",
	}, "VLAN_MEMBER_TABLE|Vlan10|Ethernet0", "VLAN_MEMBER_TABLE|Vlan10|Ethernet4")
	// Output:
	// Vlan10|Ethernet0: pending, waiting for orchagent
	// Vlan10|Ethernet4: pending, port "Ethernet4" does not exist
}
