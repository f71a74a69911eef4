package tammgr

import (
	"math/rand/v2"
	"slices"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/orch/forward/forwardtest"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// lines are valid and invalid rows that depend on each other and exclude each other.
var lines = []string{
	port0, port4, "PORT|Ethernet4 lanes=4 speed=1000 alias=Eth1", "PORT|Ethernet0 lanes=0", "-PORT|Ethernet0",
	"-PORT|Ethernet4",
	"PORTCHANNEL|PortChannel1 mtu=9100", "-PORTCHANNEL|PortChannel1",
	"ACL_TABLE_TYPE|X MATCHES=DSCP,IN_PORTS ACTIONS=PACKET_ACTION BIND_POINTS=PORT",
	"ACL_TABLE_TYPE|X MATCHES=SRC_IP ACTIONS=REDIRECT_ACTION BIND_POINTS=PORT",
	"ACL_TABLE_TYPE|X MATCHES=NONE BIND_POINTS=PORT", "-ACL_TABLE_TYPE|X",
	"ACL_TABLE|T type=X ports@=Eth1,PortChannel1", "ACL_TABLE|T type=L3", "ACL_TABLE|T type=TAM",
	"ACL_TABLE|T type=CTRLPLANE", "ACL_TABLE|T", "-ACL_TABLE|T",
	"ACL_TABLE|TAM type=TAM ports@=Eth2", "ACL_TABLE|TAM type=L3", "ACL_TABLE|TAM stage=egress", "-ACL_TABLE|TAM",
	"ACL_RULE|T|R DSCP=1 PACKET_ACTION=DROP IN_PORTS=Eth1", "ACL_RULE|T|R SRC_IP=10.0.0.1 PACKET_ACTION=REDIRECT:Eth1",
	"ACL_RULE|T|R SRC_IP=10.0.0.1 PACKET_ACTION=REDIRECT:Eth2 PRIORITY=5", "ACL_RULE|T|R", "-ACL_RULE|T|R",
	"ACL_RULE|T|F2 SRC_IP=10.0.0.2", "-ACL_RULE|T|F2",
	rule1, rule1 + " IN_PORTS=Eth1,Ethernet4", rule1 + " IN_PORTS=PortChannel1 TCP_FLAGS=2", rule1 + " DSCP=64",
	rule1 + " TC=5", "-ACL_RULE|TAM|F1",
	"ACL_RULE|TAM|F2 DST_IPV6=2001:db8::/32 L4_DST_PORT_RANGE=1-9", "-ACL_RULE|TAM|F2",
	group1, "TAM_FLOWGROUP_TABLE|F1 id=2", "TAM_FLOWGROUP_TABLE|F1 id=0", "-TAM_FLOWGROUP_TABLE|F1",
	"TAM_FLOWGROUP_TABLE|F2 id=1", "TAM_FLOWGROUP_TABLE|F2 id=2 table-name=T", "TAM_FLOWGROUP_TABLE|F2",
	"-TAM_FLOWGROUP_TABLE|F2",
	"TAM_FLOWGROUP_TABLE|F10 id=1", "-TAM_FLOWGROUP_TABLE|F10",
	session1, "TAM_TAILSTAMPING_TABLE|s1 flowgroup=F2", "TAM_TAILSTAMPING_TABLE|s1 flow=F2", "-TAM_TAILSTAMPING_TABLE|s1",
	"TAM_TAILSTAMPING_TABLE|s2 flowgroup=F2", "TAM_TAILSTAMPING_TABLE|s2 flowgroup=F10", "-TAM_TAILSTAMPING_TABLE|s2",
	"TAM_COLLECTORS_TABLE|c ipaddress=10.0.0.1 port=1", "TAM_COLLECTORS_TABLE|c ipaddress=10.0.0.1",
	"-TAM_COLLECTORS_TABLE|c",
	"TAM_SAMPLINGRATE_TABLE|s sampling-rate=1", "TAM_SAMPLINGRATE_TABLE|s sampling-rate=0", "-TAM_SAMPLINGRATE_TABLE|s",
	"restart", "step", "step",
}

var altMarkLines = []string{
	alt1, "TAM_ALTMARK_TABLE|a1 flowgroup=F2 role=transit method=step interval=0 mark=dscp0",
	"TAM_ALTMARK_TABLE|a1 flowgroup=F1 role=initiator method=double interval=0 mark=dscp0 mark2=dscp5",
	"TAM_ALTMARK_TABLE|a1 flowgroup=F1 role=initiator", "-TAM_ALTMARK_TABLE|a1",
	"TAM_ALTMARK_TABLE|a2 flowgroup=F1 role=terminator method=muxed interval=-3 mark=dscp3",
	"TAM_ALTMARK_TABLE|a2 flowgroup=F2 role=terminator method=step interval=0 mark=dscp3 clear=true",
	"-TAM_ALTMARK_TABLE|a2",
	"TAM_ALTMARK_TABLE|a10 flowgroup=F1 role=initiator method=pulse interval=8 mark=ipv4-reserved",
	"-TAM_ALTMARK_TABLE|a10",
	"DSCP_TO_TC_MAP|A 8=1 9=1", "DSCP_TO_TC_MAP|A 46=5", "DSCP_TO_TC_MAP|A 64=1", "-DSCP_TO_TC_MAP|A",
	"DSCP_TO_TC_MAP|B 8=1", "-DSCP_TO_TC_MAP|B",
	"PORT_QOS_MAP|Ethernet0 dscp_to_tc_map=A", "PORT_QOS_MAP|Ethernet0,Ethernet4 dscp_to_tc_map=B",
	"PORT_QOS_MAP|Ethernet0 tc_to_queue_map=A",
	"PORT_QOS_MAP|port dscp_to_tc_map=A", "-PORT_QOS_MAP|Ethernet0", "-PORT_QOS_MAP|Ethernet0,Ethernet4",
	altActive, altCapable, altActive, altCapable, "TAM_FEATURES_TABLE|ALTMARK status=INACTIVE",
	"state+:SWITCH_CAPABILITY|switch tam-altmark-capable=false tam-altmark-reason=no",
	group1, rule1, "TAM_FLOWGROUP_TABLE|F1 id=2", "TAM_FLOWGROUP_TABLE|F2 id=1", "-TAM_FLOWGROUP_TABLE|F2",
	"ACL_RULE|TAM|F2 DST_IP=10.0.0.9",
	"restart", "step", "step", "step",
}

var flyMonLines = []string{
	task1, task1 + " memory=1024", task1 + " filter=dst-port=53", task1 + " colour=red", "-TAM_FLYMON_TASK_TABLE|t1",
	task2, task2 + " epoch=100", "TAM_FLYMON_TASK_TABLE|t2 flowgroup=F2 key=src-ip attribute=frequency",
	"TAM_FLYMON_TASK_TABLE|t2 flowgroup=F2", "-TAM_FLYMON_TASK_TABLE|t2",
	"TAM_FLYMON_QUERY_TABLE|q task=t1 flow=10.0.0.1", "TAM_FLYMON_QUERY_TABLE|q task=t2", "-TAM_FLYMON_QUERY_TABLE|q",
	flyActive, flyCapable, flyActive, flyCapable, "TAM_FEATURES_TABLE|FLYMON status=INACTIVE",
	"state+:SWITCH_CAPABILITY|switch tam-flymon-capable=false tam-flymon-reason=no",
	group1, rule1, rule1 + " DSCP=9", rule1 + " L4_DST_PORT_RANGE=1-9", "-ACL_RULE|TAM|F1", "TAM_FLOWGROUP_TABLE|F1 id=2",
	"TAM_FLOWGROUP_TABLE|F2 id=1", "-TAM_FLOWGROUP_TABLE|F2",
	"ACL_RULE|TAM|F2 DST_IP=10.0.0.9", session1, "-TAM_TAILSTAMPING_TABLE|s1", "restart", "step", "step", "step",
}

var recordLines = []string{
	record1, record1 + " phv=32", record1 + " sampler=s", record1 + " phv=33",
	"TAM_TABLERECORD_TABLE|r1 flowgroup=F2 collector=c", "-TAM_TABLERECORD_TABLE|r1",
	"TAM_TABLERECORD_TABLE|r2 flowgroup=F1 collector=c6 source-ip=10.0.0.9",
	"TAM_TABLERECORD_TABLE|r2 flowgroup=F1 collector=c", "-TAM_TABLERECORD_TABLE|r2",
	"TAM_TABLERECORD_TABLE|r10 flowgroup=F2 collector=c sampler=s mode=exec+hit", "-TAM_TABLERECORD_TABLE|r10",
	collector1, collector1 + " protocol=TCP", "TAM_COLLECTORS_TABLE|c port=1", "-TAM_COLLECTORS_TABLE|c",
	"TAM_COLLECTORS_TABLE|c6 ipaddress=2001:db8::9 port=9", "-TAM_COLLECTORS_TABLE|c6",
	"TAM_SAMPLINGRATE_TABLE|s sampling-rate=4", "TAM_SAMPLINGRATE_TABLE|s sampling-rate=0", "-TAM_SAMPLINGRATE_TABLE|s",
	recordActive, recordCapable, recordActive, recordCapable, "TAM_FEATURES_TABLE|TABLERECORD status=INACTIVE",
	"state+:SWITCH_CAPABILITY|switch tam-tablerecord-capable=false tam-tablerecord-reason=no",
	group1, rule1, "-ACL_RULE|TAM|F1", "TAM_FLOWGROUP_TABLE|F1 id=2", "TAM_FLOWGROUP_TABLE|F2 id=1",
	"-TAM_FLOWGROUP_TABLE|F2", "ACL_RULE|TAM|F2 DST_IP=10.0.0.9",
	"restart", "step", "step", "step",
}

var featureLines = []string{
	active, inactive, "TAM_FEATURES_TABLE|TAILSTAMPING status=ON", "-TAM_FEATURES_TABLE|TAILSTAMPING",
	"TAM_FEATURES_TABLE|FLYMON status=ACTIVE",
	capable, "state:SWITCH_CAPABILITY|switch tam-tailstamping-capable=false tam-tailstamping-reason=no",
	"-TAM_FEATURES_TABLE|FLYMON",
	active, capable,
}

var switchLines = []string{
	metadata, "DEVICE_METADATA|localhost mac=02:00:00:00:00:09", "DEVICE_METADATA|localhost mac=x",
	"-DEVICE_METADATA|localhost",
	"TAM_SWITCH_TABLE|global switch-id=5", "TAM_SWITCH_TABLE|global enterprise-id=6",
	"TAM_SWITCH_TABLE|global switch-id=x",
	"TAM_SWITCH_TABLE|x switch-id=5", "-TAM_SWITCH_TABLE|global", "-TAM_SWITCH_TABLE|x",
}

// Any sequence of valid and invalid rows, with restarts in between, has the same result as applying the last version of
// each row once.
func TestConvergence(t *testing.T) {
	cases := []struct {
		name   string
		lines  []string
		always []string
	}{
		// The ids in use may depend on earlier rows while a feature is active.
		{"features", slices.Concat(lines, featureLines), []string{metadata}},
		{"switch", slices.Concat(lines, switchLines), nil},
		{"alternate marking", altMarkLines, []string{metadata}},
		{"tasks", flyMonLines, []string{metadata}},
		{"table recording", recordLines, []string{metadata}},
	}
	randtest.Run(t, randtest.Cases{Count: 80}, func(t *testing.T, seed uint64) { // 400 sequences
		t.Parallel()
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				forwardtest.Converge(t, rand.New(rand.NewPCG(seed, 0)), fresh, c.lines, 60, applTables, stateTables, c.always...)
			})
		}
	})
}

// Nothing is written at a restart, or when a row is written again without a change.
func TestNothingToDo(t *testing.T) {
	rows := []string{metadata, port0, rule1, group1, session1, alt1, active, altActive, capable, altCapable,
		"TAM_COLLECTORS_TABLE|c ipaddress=10.0.0.1 port=1"}
	b := newBench(t, swsstest.Start(t))
	b.Do(rows...)
	b.Appl(applTables...)
	for _, again := range [][]string{{"restart"}, rows[:len(rows)-3]} {
		b.Do(again...)
		if n := b.Pending(schema.AppACLRule, schema.AppACLTable, schema.AppTAMTailStamp, schema.AppTAMAltMark,
			schema.AppTAMFeature); n != 0 {
			t.Errorf("%v: %d rows forwarded again", again, n)
		}
	}
}
