package qos

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

// forwarded are the tables of APPL_DB and STATE_DB.
func forwarded() (names []string) {
	for _, t := range tables {
		names = append(names, t+"_TABLE")
	}
	return append(names, schema.AppCOPP, schema.StateCOPPTrap)
}

// fresh starts the manager on an empty server.
func fresh(t *testing.T) *forwardtest.Bench {
	return forwardtest.New(t, swsstest.Start(t), func(d *orch.Daemon, r *swss.Redis) { New(d, r) })
}

const (
	port0 = "PORT|Ethernet0 lanes=0 speed=1000"
	port4 = "PORT|Ethernet4 lanes=4 speed=1000"
	dscp  = "DSCP_TO_TC_MAP|AZURE 46=5"
	sched = "SCHEDULER|s0 type=STRICT"
	pool  = "BUFFER_POOL|p type=egress size=100000"

	waiting = "pending: waiting for orchagent (orchagent)"
)

// Each case writes rows, then looks at one table of APPL_DB and at statuses.
func TestRules(t *testing.T) {
	tests := []forwardtest.Case{
		{
			Name: "maps of a port", Do: []string{port0, dscp, "PORT_QOS_MAP|Ethernet0 dscp_to_tc_map=AZURE pfc_enable=3,4"},
			Table: "PORT_QOS_MAP_TABLE", Want: []string{"Ethernet0 dscp_to_tc_map=AZURE"},
			Status: map[string]string{"PORT_QOS_MAP_TABLE|Ethernet0": waiting, "DSCP_TO_TC_MAP_TABLE|AZURE": waiting},
		},
		{
			Name: "what is missing", Do: []string{port0, "PORT_QOS_MAP|Ethernet0 dscp_to_tc_map=AZURE",
				"QUEUE|Ethernet4|0 scheduler=s0", "BUFFER_PROFILE|f pool=p dynamic_th=0"},
			Table: "PORT_QOS_MAP_TABLE",
			Status: map[string]string{
				"PORT_QOS_MAP_TABLE|Ethernet0": `pending: DSCP to TC map "AZURE" does not exist (tammgrd)`,
				"QUEUE_TABLE|Ethernet4|0":      `pending: port "Ethernet4" does not exist (tammgrd)`,
				"BUFFER_PROFILE_TABLE|f":       `pending: buffer pool "p" does not exist (tammgrd)`,
			},
		},
		{
			Name: "ranges and lists; a queue is configured once",
			Do: []string{port0, port4, sched, "QUEUE|Ethernet0,Ethernet4|0-2,5 scheduler=s0", "QUEUE|Ethernet4|5 scheduler=s0",
				"QUEUE|Ethernet4|3 scheduler=s0"},
			Table: "QUEUE_TABLE", Want: []string{"Ethernet0,Ethernet4:0-2,5 scheduler=s0", "Ethernet4:3 scheduler=s0"},
			Status: map[string]string{
				"QUEUE_TABLE|Ethernet4|5": `failed: queue 5 of Ethernet4 is configured by "Ethernet0,Ethernet4|0-2,5" (tammgrd)`},
		},
		{
			Name: "what the switch cannot do", Do: []string{"SCHEDULER|s type=DWRR weight=3 pir=1000",
				"WRED_PROFILE|w ecn=ecn_red", "BUFFER_POOL|p type=ingress size=5"},
			Status: map[string]string{
				"SCHEDULER_TABLE|s": `failed: pir "1000": want 0 or no such field: the switch does not shape (tammgrd)`,
				"WRED_PROFILE_TABLE|w": `failed: ecn "ecn_red": want ecn_none, ecn_green or ecn_all: all packets of this switch ` +
					`are green (tammgrd)`,
				"BUFFER_POOL_TABLE|p": `failed: type "ingress": want egress or both: packets are held at egress (tammgrd)`,
			},
		},
		{
			Name: "buffers", Do: []string{port0, pool, "BUFFER_PROFILE|f pool=p static_th=9000",
				"BUFFER_QUEUE|Ethernet0|0 profile=f"},
			Table: "BUFFER_QUEUE_TABLE", Want: []string{"Ethernet0:0 profile=f"},
		},
		{
			Name: "mirror sessions", Do: []string{
				port0, port4, "MIRROR_SESSION|a type=SPAN dst_port=Ethernet4 src_port=Ethernet0 direction=RX",
				"MIRROR_SESSION|b src_ip=10.0.0.1 dst_ip=10.0.0.2 src_port=Ethernet0",
				"MIRROR_SESSION|c type=SPAN dst_port=Ethernet8", "MIRROR_SESSION|d src_ip=10.0.0.1 dst_ip=::2",
			},
			Table: "MIRROR_SESSION_TABLE",
			Want:  []string{"a direction=RX dst_port=Ethernet4 queue=0 src_port=Ethernet0 type=SPAN"},
			Status: map[string]string{
				"MIRROR_SESSION_TABLE|a": "inactive: waiting for orchagent (orchagent)",
				"MIRROR_SESSION_TABLE|b": `inactive: the mirror of what Ethernet0 receives is configured by "a" (tammgrd)`,
				"MIRROR_SESSION_TABLE|c": `inactive: port "Ethernet8" does not exist (tammgrd)`,
				"MIRROR_SESSION_TABLE|d": `inactive: dst_ip "::2": want an address of the family of src_ip, 10.0.0.1 (tammgrd)`,
			},
		},
		{
			Name: "traps and their groups", Do: []string{
				"COPP_GROUP|g1 trap_action=copy trap_priority=4 queue=4 meter_type=packets mode=sr_tcm cir=600 cbs=600 " +
					"red_action=drop genetlink_name=x", "COPP_TRAP|arp trap_ids=arp_req,arp_resp trap_group=g1 always_enabled=true",
				"COPP_TRAP|bgp trap_ids=bgp trap_group=g1", "COPP_TRAP|lldp trap_ids=lldp trap_group=g1",
				"FEATURE|lldp state=enabled",
				"COPP_TRAP|x trap_ids=lldp trap_group=g1 always_enabled=true",
				"COPP_TRAP|y trap_ids=stp trap_group=g2 always_enabled=true",
			},
			Table: "COPP_TABLE",
			Want: []string{
				"g1 cbs=600 cir=600 meter_type=packets mode=sr_tcm queue=4 red_action=drop trap_action=copy " +
					"trap_ids=arp_req,arp_resp,lldp trap_priority=4"},
			Status: map[string]string{
				"COPP_TABLE|g1": waiting, "COPP_TRAP_TABLE|arp": "active (tammgrd)", "COPP_TRAP_TABLE|lldp": "active (tammgrd)",
				"COPP_TRAP_TABLE|bgp": `pending: feature "bgp" is not enabled (tammgrd)`,
				"COPP_TRAP_TABLE|x":   `failed: trap lldp is configured by "lldp" (tammgrd)`,
				"COPP_TRAP_TABLE|y":   `pending: trap group "g2" does not exist (tammgrd)`,
			},
		},
		{
			Name:  "what SONiC ships is there with the ports, as far as features ask for it",
			Do:    []string{port0, "FEATURE|bgp state=always_enabled"},
			Table: "COPP_TABLE", Want: []string{
				"default cbs=600 cir=600 meter_type=packets mode=sr_tcm queue=0 red_action=drop trap_action=trap trap_priority=0",
				"queue1_group1 cbs=6000 cir=6000 meter_type=packets mode=sr_tcm queue=1 red_action=drop trap_action=trap " +
					"trap_ids=ip2me trap_priority=1",
				"queue1_group3 cbs=200 cir=200 meter_type=packets mode=sr_tcm queue=1 red_action=drop trap_action=trap " +
					"trap_ids=neighbor_miss trap_priority=1",
				"queue4_group1 cbs=6000 cir=6000 meter_type=packets mode=sr_tcm queue=4 red_action=drop trap_action=trap " +
					"trap_ids=bgp,bgpv6,lacp trap_priority=4",
				"queue4_group2 cbs=600 cir=600 meter_type=packets mode=sr_tcm queue=4 red_action=drop trap_action=copy " +
					"trap_ids=arp_req,arp_resp,neigh_discovery trap_priority=4",
				"queue4_group3 cbs=100 cir=100 meter_type=packets mode=sr_tcm queue=4 red_action=drop trap_action=trap " +
					"trap_ids=udld trap_priority=4",
			},
			Status: map[string]string{
				"COPP_TABLE|queue4_group2": waiting, "COPP_TRAP_TABLE|arp": "active (tammgrd)",
				"COPP_TRAP_TABLE|bgp":  "active (tammgrd)",
				"COPP_TRAP_TABLE|lldp": "", "COPP_TABLE|queue1_group2": "",
			},
		},
		{
			Name: "rows add to the defaults of their names, take their place, or disable them", Do: []string{
				port0, "COPP_GROUP|queue4_group2 cir=10 cbs=20", "COPP_GROUP|queue1_group1 NULL=NULL",
				"COPP_GROUP|queue1_group3 NULL=NULL",
				"COPP_TRAP|lacp NULL=NULL", "COPP_TRAP|udld trap_group=mine", "COPP_GROUP|mine queue=2",
				"COPP_TRAP|own trap_ids=arp_req,stp trap_group=queue2_group1 always_enabled=true",
				"COPP_GROUP|queue4_group3 mode=tr_tcm", "COPP_GROUP|default NULL=NULL",
			},
			Table: "COPP_TABLE", Want: []string{
				"mine queue=2 trap_action=trap trap_ids=udld trap_priority=0",
				"queue2_group1 cbs=1000 cir=1000 meter_type=packets mode=sr_tcm queue=2 red_action=drop trap_action=trap " +
					"trap_ids=arp_req,stp trap_priority=1",
				"queue4_group2 cbs=20 cir=10 meter_type=packets mode=sr_tcm queue=4 red_action=drop trap_action=copy " +
					"trap_ids=arp_resp,neigh_discovery trap_priority=4",
			},
			Status: map[string]string{
				"COPP_TABLE|queue1_group1": "active: the default of this name is disabled (tammgrd)", "COPP_TRAP_TABLE|ip2me": "",
				"COPP_TRAP_TABLE|lacp": "active: the default of this name is disabled (tammgrd)",
				"COPP_TRAP_TABLE|udld": "active (tammgrd)",
				"COPP_TABLE|queue4_group3": "failed: pir is missing: want a rate with mode tr_tcm; pbs is missing: want a burst " +
					"with mode tr_tcm (tammgrd)",
			},
		},
		{
			Name: "rows that are gone leave nothing",
			Do: []string{port0, dscp, sched, "QUEUE|Ethernet0|0 scheduler=s0", "step", "-QUEUE|Ethernet0|0", "-SCHEDULER|s0",
				"-DSCP_TO_TC_MAP|AZURE"},
			Table: "SCHEDULER_TABLE", Status: map[string]string{"QUEUE_TABLE|Ethernet0|0": "", "SCHEDULER_TABLE|s0": "",
				"DSCP_TO_TC_MAP_TABLE|AZURE": ""},
		},
	}
	forwardtest.Check(t, fresh, tests, forwarded(), forwarded())
}

// Any sequence of rows and restarts leads to what the last rows give when they
// are applied once.
func TestConvergence(t *testing.T) {
	lines := []string{
		port0, port4, "-PORT|Ethernet0", "-PORT|Ethernet4", "PORTCHANNEL|PortChannel1 admin_status=up",
		"-PORTCHANNEL|PortChannel1",
		dscp, "DSCP_TO_TC_MAP|AZURE 64=1", "-DSCP_TO_TC_MAP|AZURE", "PORT_QOS_MAP|Ethernet0 dscp_to_tc_map=AZURE",
		"PORT_QOS_MAP|Ethernet0,Ethernet4 dscp_to_tc_map=AZURE", "-PORT_QOS_MAP|Ethernet0",
		sched, "SCHEDULER|s0 type=NONE", "-SCHEDULER|s0", "QUEUE|Ethernet0|0-2 scheduler=s0",
		"QUEUE|Ethernet0,Ethernet4|2 scheduler=s0", "QUEUE|Ethernet0|2 scheduler=s0", "-QUEUE|Ethernet0|0-2",
		"-QUEUE|Ethernet0|2",
		pool, "-BUFFER_POOL|p", "BUFFER_PROFILE|f pool=p static_th=9", "BUFFER_PROFILE|f pool=p",
		"BUFFER_QUEUE|Ethernet0|0 profile=f", "-BUFFER_QUEUE|Ethernet0|0",
		"MIRROR_SESSION|a type=SPAN dst_port=Ethernet4 src_port=Ethernet0",
		"MIRROR_SESSION|b src_ip=10.0.0.1 dst_ip=10.0.0.2 src_port=Ethernet0,PortChannel1", "-MIRROR_SESSION|a",
		"-MIRROR_SESSION|b",
		"COPP_GROUP|g trap_action=copy", "-COPP_GROUP|g", "COPP_TRAP|arp NULL=NULL", "COPP_GROUP|queue4_group2 cir=9",
		"-COPP_TRAP|arp", "-COPP_GROUP|queue4_group2", "FEATURE|lldp state=enabled", "-FEATURE|lldp",
		"COPP_TRAP|a trap_ids=stp trap_group=g always_enabled=true", "COPP_TRAP|b trap_ids=stp trap_group=g",
		"FEATURE|b state=enabled", "-FEATURE|b", "-COPP_TRAP|a",
		"restart", "step", "step",
	}
	randtest.Run(t, randtest.Cases{Count: 40}, func(t *testing.T, seed uint64) {
		t.Parallel()
		forwardtest.Converge(t, rand.New(rand.NewPCG(seed, 0)), fresh, lines, 40, forwarded(), forwarded())
	})
}

// Every default is a good row, whose group is a default, and no trap is in two.
func TestCOPPDefaults(t *testing.T) {
	groups, traps := coppDefaults()
	of := map[string]string{}
	for key, fields := range traps {
		row, err := schema.ParseCOPPTrap(key, fields)
		if err != nil || groups[row.Group] == nil {
			t.Errorf("%s: %v, in group %q", key, err, row.Group)
		}
		for _, id := range row.Traps {
			if other := of[id]; other != "" {
				t.Errorf("trap %s is of %s and %s", id, key, other)
			}
			of[id] = key
		}
	}
	for key, fields := range groups {
		if g, err := schema.ParseCOPPGroup(key, fields); err != nil || !g.Policed() || *g.CIR != *g.CBS || g.Red != "drop" {
			t.Errorf("%s: %+v, %v", key, g, err)
		}
	}
}
