package routes

import (
	"flag"
	"math/rand/v2"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/orch"
	"tamtam/orch/forward/forwardtest"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

var (
	applTables = []string{schema.AppSwitch, schema.AppInterface, schema.AppNeigh, schema.AppRoute, schema.AppFDB,
		schema.AppVRF, schema.AppSwitchHash, schema.AppTunnel, schema.AppTunnelTerm}
	stateTables = []string{schema.StateSwitch, schema.StateInterface, schema.StateNeigh, schema.StateStaticRoute,
		schema.StateStaticFDB, schema.StateVRF, schema.AppSwitchHash, schema.AppTunnel, schema.AppTunnelTerm}
)

func newBench(t testing.TB, r *swss.Redis) *forwardtest.Bench {
	return forwardtest.New(t, r, func(d *orch.Daemon, r *swss.Redis) { New(d, r) })
}

const (
	port0  = "PORT|Ethernet0 lanes=0 speed=1000 alias=Eth1"
	port4  = "PORT|Ethernet4 lanes=4 speed=1000"
	vlan10 = "VLAN|Vlan10 vlanid=10"
	svi    = "VLAN_INTERFACE|Vlan10 NULL=NULL"
	sviIP  = "VLAN_INTERFACE|Vlan10|10.0.0.1/24 NULL=NULL"
	if4    = "INTERFACE|Ethernet4 NULL=NULL"
	if4IP  = "INTERFACE|Ethernet4|10.4.0.1/24 NULL=NULL"
)

// Any sequence of rows and restarts has the same result as applying the last version of each row once.
func TestConvergence(t *testing.T) {
	lines := []string{
		port0, port4, vlan10, "-PORT|Ethernet4", "-VLAN|Vlan10", "PORTCHANNEL|PortChannel1 mtu=9100",
		"-PORTCHANNEL|PortChannel1",
		"PORTCHANNEL_MEMBER|PortChannel1|Ethernet4 NULL=NULL", "-PORTCHANNEL_MEMBER|PortChannel1|Ethernet4",
		"VLAN_MEMBER|Vlan10|Eth1 tagging_mode=tagged", "VLAN_MEMBER|Vlan10|PortChannel1 tagging_mode=tagged",
		"-VLAN_MEMBER|Vlan10|Eth1", "-VLAN_MEMBER|Vlan10|PortChannel1",
		svi, sviIP, if4, if4IP, "-VLAN_INTERFACE|Vlan10", "-VLAN_INTERFACE|Vlan10|10.0.0.1/24", "-INTERFACE|Ethernet4",
		"-INTERFACE|Ethernet4|10.4.0.1/24",
		"INTERFACE|Ethernet4|10.0.0.9/16 NULL=NULL", "-INTERFACE|Ethernet4|10.0.0.9/16", "INTERFACE|Vlan10 NULL=NULL",
		"-INTERFACE|Vlan10", "LOOPBACK_INTERFACE|Vlan10 mtu=1",
		"INTERFACE|Ethernet0 mtu=1500", "-INTERFACE|Ethernet0", "INTERFACE|Ethernet0 mtu=15",
		"PORTCHANNEL_INTERFACE|PortChannel1 NULL=NULL", "-PORTCHANNEL_INTERFACE|PortChannel1",
		"STATIC_ROUTE|10.9.0.0/16 nexthop=10.0.0.2,10.4.0.2 distance=1,2", "STATIC_ROUTE|10.9.0.0/16 nexthop=10.4.0.9",
		"STATIC_ROUTE|default|10.9.0.0/16 blackhole=true",
		"STATIC_ROUTE|10.9.0.0/16 nexthop=10.4.0.9 ifname=x", "-STATIC_ROUTE|10.9.0.0/16",
		"-STATIC_ROUTE|default|10.9.0.0/16",
		"VRF|Vrf1", "-VRF|Vrf1", "VRF|Vrf1 vni=7", "INTERFACE|Ethernet4 vrf_name=Vrf1", "VLAN_INTERFACE|Vlan10 vrf_name=Vrf1",
		"STATIC_ROUTE|Vrf1|10.9.0.0/16 nexthop=10.4.0.2,10.0.0.2 nexthop-vrf=Vrf1,default", "-STATIC_ROUTE|Vrf1|10.9.0.0/16",
		"NEIGH|Vlan10|10.0.0.2 neigh=02:00:00:00:00:02", "NEIGH|Vlan10|10.0.0.2 neigh=02:00:00:00:00:03",
		"NEIGH|Vlan10|10.0.0.9 neigh=02:00:00:00:00:03", "-NEIGH|Vlan10|10.0.0.2",
		"FDB|Vlan10|02:00:00:00:00:02 port=Ethernet0", "FDB|Vlan10|02-00-00-00-00-02 port=PortChannel1",
		"-FDB|Vlan10|02:00:00:00:00:02", "-FDB|Vlan10|02-00-00-00-00-02",
		"SWITCH|switch fdb_aging_time=30", "SWITCH|switch fdb_aging_time=x", "-SWITCH|switch",
		"SWITCH_HASH|GLOBAL ecmp_hash@=SRC_IP,DST_IP", "SWITCH_HASH|GLOBAL lag_hash=SRC", "-SWITCH_HASH|GLOBAL",
		"TUNNEL|t tunnel_type=IPINIP dst_ip=10.1.0.32", "TUNNEL|t tunnel_type=IPINIP dst_ip=10.1.0.33 src_ip=10.2.0.1",
		"TUNNEL|t tunnel_type=VXLAN dst_ip=10.1.0.32", "-TUNNEL|t",
		"restart", "step", "step",
	}
	fresh := func(t *testing.T) *forwardtest.Bench { return newBench(t, swsstest.Start(t)) }
	randtest.Run(t, randtest.Cases{Count: 60}, func(t *testing.T, seed uint64) {
		forwardtest.Converge(t, rand.New(rand.NewPCG(seed, 0)), fresh, lines, 60, applTables, stateTables)
	})
}

// The same holds for static routes, which can be decided without the other rows. Most changes here are changes of
// static routes, and most are followed by a step.
func TestStaticRoutesConverge(t *testing.T) {
	lines := []string{port0, port4, vlan10, svi, sviIP, if4, if4IP, "-INTERFACE|Ethernet4",
		"-VLAN_INTERFACE|Vlan10|10.0.0.1/24", "restart"}
	for _, key := range []string{"10.9.0.0/16", "default|10.9.0.0/16", "10.8.0.0/16", "::/0", "default|0::/0",
		"10.9.0.1/16"} {
		for _, fields := range []string{
			"nexthop=10.0.0.2,10.4.0.2 distance=1,2", "nexthop=10.0.0.2", "nexthop=10.4.0.1", "nexthop=10.7.0.1",
			"blackhole=true", "ifname=Ethernet4",
			"ifname=x",
		} {
			lines = append(lines, "STATIC_ROUTE|"+key+" "+fields, "step")
		}
		lines = append(lines, "-STATIC_ROUTE|"+key, "-STATIC_ROUTE|"+key, "step")
	}
	fresh := func(t *testing.T) *forwardtest.Bench { return newBench(t, swsstest.Start(t)) }
	randtest.Run(t, randtest.Cases{Seed: 94_000_000, Count: 40, Short: 10}, func(t *testing.T, seed uint64) {
		forwardtest.Converge(t, rand.New(rand.NewPCG(seed, 0)), fresh, lines, 100, applTables, stateTables)
	})
}

var update = flag.Bool("update", false, "write the results into the transcripts")

// The outcomes of rows are in testdata/*.rows.
func TestRules(t *testing.T) {
	forwardtest.Transcript{
		Managers: func(d *orch.Daemon, r *swss.Redis) { New(d, r) },
		Appl:     applTables, State: stateTables, Update: *update,
	}.Run(t)
}
