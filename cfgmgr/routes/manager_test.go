package routes

import (
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
	applTables  = []string{schema.AppSwitch, schema.AppInterface, schema.AppNeigh, schema.AppRoute, schema.AppFDB}
	stateTables = []string{schema.StateSwitch, schema.StateInterface, schema.StateNeigh, schema.StateStaticRoute,
		schema.StateStaticFDB}
)

// fresh starts the manager on an empty server.
func fresh(t *testing.T) *forwardtest.Bench {
	return forwardtest.New(t, swsstest.Start(t), func(d *orch.Daemon, r *swss.Redis) { New(d, r) })
}

const (
	port0  = "PORT|Ethernet0 lanes=0 speed=1000 alias=Eth1"
	port4  = "PORT|Ethernet4 lanes=4 speed=1000"
	vlan10 = "VLAN|Vlan10 vlanid=10"
	svi    = "VLAN_INTERFACE|Vlan10 NULL=NULL"
	sviIP  = "VLAN_INTERFACE|Vlan10|10.0.0.1/24 NULL=NULL"
	if4    = "INTERFACE|Ethernet4 NULL=NULL"
	if4IP  = "INTERFACE|Ethernet4|10.4.0.1/24 NULL=NULL"

	forwarded = "pending: waiting for orchagent (orchagent)"
)

// Each case writes rows, then looks at one table of APPL_DB and at statuses.
func TestRules(t *testing.T) {
	both := []string{port0, port4, vlan10, svi, sviIP, if4, if4IP}
	with := func(lines ...string) []string { return append(both[:len(both):len(both)], lines...) }
	tests := []forwardtest.Case{
		{
			Name: "an SVI and a routed port", Do: with("INTERFACE|Ethernet4|2001:DB8::1/64 family=IPv6"), Table: "INTF_TABLE",
			Want: []string{
				"Ethernet4 config_key=Ethernet4",
				"Ethernet4:10.4.0.1/24 config_key=Ethernet4|10.4.0.1/24 family=IPv4 scope=global",
				"Ethernet4:2001:db8::1/64 config_key=Ethernet4|2001:DB8::1/64 family=IPv6 scope=global",
				"Vlan10 config_key=Vlan10", "Vlan10:10.0.0.1/24 config_key=Vlan10|10.0.0.1/24 family=IPv4 scope=global",
			},
			Status: map[string]string{"INTERFACE_TABLE|Ethernet4|2001:DB8::1/64": forwarded,
				"INTERFACE_TABLE|Vlan10": forwarded},
		},
		{
			Name: "a loopback", Do: []string{"LOOPBACK_INTERFACE|Loopback0 NULL=NULL",
				"LOOPBACK_INTERFACE|Loopback0|10.1.0.1/32 NULL=NULL"}, Table: "INTF_TABLE",
			Want: []string{"Loopback0 config_key=Loopback0",
				"Loopback0:10.1.0.1/32 config_key=Loopback0|10.1.0.1/32 family=IPv4 scope=global"},
		},
		{
			Name: "what does not exist", Do: []string{svi, sviIP, if4, "PORTCHANNEL_INTERFACE|PortChannel1 NULL=NULL"},
			Table: "INTF_TABLE",
			Status: map[string]string{
				"INTERFACE_TABLE|Vlan10":             `pending: VLAN "Vlan10" does not exist (tammgrd)`,
				"INTERFACE_TABLE|Vlan10|10.0.0.1/24": `pending: VLAN "Vlan10" does not exist (tammgrd)`,
				"INTERFACE_TABLE|Ethernet4":          `pending: port "Ethernet4" does not exist (tammgrd)`,
				"INTERFACE_TABLE|PortChannel1":       `pending: PortChannel "PortChannel1" does not exist (tammgrd)`,
			},
		},
		{
			Name: "an address without its interface", Do: []string{port4, if4IP}, Table: "INTF_TABLE",
			Status: map[string]string{
				"INTERFACE_TABLE|Ethernet4|10.4.0.1/24": "pending: Ethernet4 does not route: there is no row INTERFACE|Ethernet4 " +
					"(tammgrd)"},
		},
		{
			Name: "a port in a VLAN, by its alias",
			Do: []string{port0, vlan10, "INTERFACE|Ethernet0 NULL=NULL", "step",
				"VLAN_MEMBER|Vlan10|Eth1 tagging_mode=tagged"},
			Table: "INTF_TABLE",
			Status: map[string]string{
				"INTERFACE_TABLE|Ethernet0": `pending: "Ethernet0" is a member of VLAN "Vlan10", and a port either bridges or ` +
					`routes (tammgrd)`},
		},
		{
			Name: "a port in a PortChannel", Do: []string{port0, "PORTCHANNEL|PortChannel1 mtu=9100",
				"PORTCHANNEL_MEMBER|PortChannel1|Ethernet0 NULL=NULL", "INTERFACE|Ethernet0 NULL=NULL"}, Table: "INTF_TABLE",
			Status: map[string]string{
				"INTERFACE_TABLE|Ethernet0": `pending: port "Ethernet0" is a member of PortChannel "PortChannel1" (tammgrd)`},
		},
		{
			Name: "the wrong table", Do: []string{port4, vlan10, "INTERFACE|Vlan10 NULL=NULL"}, Table: "INTF_TABLE",
			Status: map[string]string{"INTERFACE_TABLE|Vlan10": `failed: key "Vlan10": want EthernetN (tammgrd)`},
		},
		{
			Name: "overlapping subnets", Do: with("VLAN_INTERFACE|Vlan10|10.4.0.9/25 NULL=NULL",
				"INTERFACE|Ethernet4|10.0.0.1/8 NULL=NULL", "VLAN_INTERFACE|Vlan10|10.0.0.2/24 NULL=NULL"), Table: "INTF_TABLE",
			Want: []string{
				"Ethernet4 config_key=Ethernet4", "Ethernet4:10.0.0.1/8 config_key=Ethernet4|10.0.0.1/8 family=IPv4 scope=global",
				"Vlan10 config_key=Vlan10",
			},
			Status: map[string]string{
				"INTERFACE_TABLE|Ethernet4|10.4.0.1/24": "failed: the subnet overlaps 10.0.0.1/8 of Ethernet4 (tammgrd)",
				"INTERFACE_TABLE|Vlan10|10.0.0.2/24":    "failed: the subnet overlaps 10.0.0.1/8 of Ethernet4 (tammgrd)",
				"INTERFACE_TABLE|Vlan10|10.0.0.1/24":    "failed: Ethernet4 has the address 10.0.0.1 already (tammgrd)",
			},
		},
		{
			Name: "static routes", Do: with(
				"STATIC_ROUTE|10.9.0.0/16 nexthop=10.0.0.2,10.4.0.2",
				"STATIC_ROUTE|default|0.0.0.0/0 nexthop=10.4.0.3 ifname=Ethernet4",
				"STATIC_ROUTE|10.8.0.1/32 ifname=Vlan10", "STATIC_ROUTE|10.7.0.0/16 blackhole=true",
				"STATIC_ROUTE|10.6.0.0/16 nexthop=10.0.0.2,10.9.0.1,10.4.0.2,10.4.0.3 distance=2,1,5,2"), Table: "ROUTE_TABLE",
			Want: []string{
				"0.0.0.0/0 config_key=default|0.0.0.0/0 ifname=Ethernet4 nexthop=10.4.0.3 protocol=static",
				"10.6.0.0/16 config_key=10.6.0.0/16 ifname=Ethernet4,Vlan10 nexthop=10.4.0.3,10.0.0.2 protocol=static",
				"10.7.0.0/16 blackhole=true config_key=10.7.0.0/16 protocol=static",
				"10.8.0.1 config_key=10.8.0.1/32 ifname=Vlan10 nexthop=0.0.0.0 protocol=static",
				"10.9.0.0/16 config_key=10.9.0.0/16 ifname=Ethernet4,Vlan10 nexthop=10.4.0.2,10.0.0.2 protocol=static",
			},
			Status: map[string]string{"STATIC_ROUTE_TABLE|default|0.0.0.0/0": forwarded},
		},
		{
			Name: "routes that lead nowhere", Do: with(
				"STATIC_ROUTE|10.9.0.0/16 nexthop=10.5.0.2", "STATIC_ROUTE|10.8.0.0/16 nexthop=10.0.0.1",
				"STATIC_ROUTE|10.7.0.0/16 nexthop=10.6.0.2 ifname=Vlan20",
				"STATIC_ROUTE|10.6.0.0/16 blackhole=true", "STATIC_ROUTE|default|10.6.0.0/16 blackhole=true"), Table: "ROUTE_TABLE",
			Want: []string{"10.6.0.0/16 blackhole=true config_key=10.6.0.0/16 protocol=static"},
			Status: map[string]string{
				"STATIC_ROUTE_TABLE|10.9.0.0/16": "pending: next hop 10.5.0.2 is in the subnet of no interface (tammgrd)",
				"STATIC_ROUTE_TABLE|10.8.0.0/16": "pending: next hop 10.0.0.1 is the switch's own address, of Vlan10 " +
					"(tammgrd)",
				"STATIC_ROUTE_TABLE|10.7.0.0/16": "pending: Vlan20 does not route: there is no row VLAN_INTERFACE|Vlan20 " +
					"(tammgrd)",
				"STATIC_ROUTE_TABLE|default|10.6.0.0/16": "failed: 10.6.0.0/16 is the same route, and has a row of its own " +
					"(tammgrd)",
			},
		},
		{
			Name: "routes of others stay", Do: with("appl:ROUTE_TABLE:10.9.0.0/16 nexthop=10.0.0.9 ifname=Vlan10 protocol=bgp",
				"STATIC_ROUTE|10.7.0.0/16 blackhole=true", "step", "-STATIC_ROUTE|10.7.0.0/16", "restart"), Table: "ROUTE_TABLE",
			Want: []string{"10.9.0.0/16 ifname=Vlan10 nexthop=10.0.0.9 protocol=bgp"},
		},
		{
			Name: "neighbours", Do: with("NEIGH|Vlan10|10.0.0.2 neigh=02:00:00:00:00:02 family=IPv4",
				"NEIGH|Ethernet4|FE80::2 neigh=02:00:00:00:00:03",
				"NEIGH|Ethernet4|10.0.0.1 neigh=02:00:00:00:00:02", "NEIGH|Vlan20|10.0.0.2 neigh=02:00:00:00:00:02",
				"NEIGH|Vlan10|10.0.0.3 neigh=x"), Table: "NEIGH_TABLE",
			Want: []string{
				"Ethernet4:fe80::2 config_key=Ethernet4|FE80::2 family=IPv6 neigh=02:00:00:00:00:03",
				"Vlan10:10.0.0.2 config_key=Vlan10|10.0.0.2 family=IPv4 neigh=02:00:00:00:00:02",
			},
			Status: map[string]string{
				"NEIGH_TABLE|Ethernet4|10.0.0.1": "failed: 10.0.0.1 is the switch's own address, of Vlan10 (tammgrd)",
				"NEIGH_TABLE|Vlan20|10.0.0.2":    "pending: Vlan20 does not route: there is no row VLAN_INTERFACE|Vlan20 (tammgrd)",
				"NEIGH_TABLE|Vlan10|10.0.0.3": `failed: neigh "x": want a unicast MAC address such as 52:54:00:12:34:56 ` +
					`(tammgrd)`,
			},
		},
		{
			Name: "FDB entries", Do: []string{port0, vlan10, "VLAN_MEMBER|Vlan10|Eth1 tagging_mode=tagged",
				"FDB|Vlan10|02-00-00-00-00-02 port=Ethernet0",
				"FDB|Vlan10|02:00:00:00:00:02 port=Ethernet0", "FDB|Vlan10|02:00:00:00:00:03 port=Ethernet4 type=static",
				"FDB|Vlan20|02:00:00:00:00:03 port=Ethernet0"}, Table: "FDB_TABLE",
			Want: []string{"Vlan10:02:00:00:00:00:02 config_key=Vlan10|02-00-00-00-00-02 port=Ethernet0 type=static"},
			Status: map[string]string{
				"STATIC_FDB_TABLE|Vlan10|02:00:00:00:00:02": "failed: Vlan10|02-00-00-00-00-02 is the same address, and has a " +
					"row of its own (tammgrd)",
				"STATIC_FDB_TABLE|Vlan10|02:00:00:00:00:03": `pending: "Ethernet4" is not a member of VLAN "Vlan10" (tammgrd)`,
				"STATIC_FDB_TABLE|Vlan20|02:00:00:00:00:03": `pending: VLAN "Vlan20" does not exist (tammgrd)`,
			},
		},
		{
			Name: "the switch's defaults", Table: "SWITCH_TABLE",
			Want: []string{"switch ecmp_hash_seed=0 fdb_aging_time=600 lag_hash_seed=0"},
		},
		{
			Name: "the switch's settings", Do: []string{"SWITCH|switch fdb_aging_time=30 ecmp_hash_seed=7"},
			Table:  "SWITCH_TABLE",
			Want:   []string{"switch ecmp_hash_seed=7 fdb_aging_time=30 lag_hash_seed=0"},
			Status: map[string]string{"SWITCH_TABLE|switch": forwarded},
		},
	}
	forwardtest.Check(t, fresh, tests, applTables, stateTables)
}

// Any sequence of rows and restarts leads to what the last rows give when they
// are applied once.
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
		"NEIGH|Vlan10|10.0.0.2 neigh=02:00:00:00:00:02", "NEIGH|Vlan10|10.0.0.2 neigh=02:00:00:00:00:03",
		"NEIGH|Vlan10|10.0.0.9 neigh=02:00:00:00:00:03", "-NEIGH|Vlan10|10.0.0.2",
		"FDB|Vlan10|02:00:00:00:00:02 port=Ethernet0", "FDB|Vlan10|02-00-00-00-00-02 port=PortChannel1",
		"-FDB|Vlan10|02:00:00:00:00:02", "-FDB|Vlan10|02-00-00-00-00-02",
		"SWITCH|switch fdb_aging_time=30", "SWITCH|switch fdb_aging_time=x", "-SWITCH|switch",
		"restart", "step", "step",
	}
	randtest.Run(t, randtest.Cases{Count: 60}, func(t *testing.T, seed uint64) {
		forwardtest.Converge(t, rand.New(rand.NewPCG(seed, 0)), fresh, lines, 60, applTables, stateTables)
	})
}

// So it is with static routes alone, which are decided without the other rows: most changes are theirs here, and there
// is a step after most.
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
	randtest.Run(t, randtest.Cases{Seed: 94_000_000, Count: 40, Short: 10}, func(t *testing.T, seed uint64) {
		forwardtest.Converge(t, rand.New(rand.NewPCG(seed, 0)), fresh, lines, 100, applTables, stateTables)
	})
}
