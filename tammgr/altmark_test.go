package tammgr

import "testing"

const (
	alt1Appl = "a1 acl-rule-name=F1 acl-table-name=TAM clear=false clock-error=15625000 clock-trust=checked " +
		"delay-max=125000000 delay-min=0 foreign-marks=count interval=0 mark=dscp0 mean-delay=false method=step " +
		"role=initiator slot-sync=true"
	a1 = "TAM_STATE_ALTMARK_TABLE|a1"
	a2 = "TAM_STATE_ALTMARK_TABLE|a2"
)

// Sessions of alternate marking are forwarded with their flow group's rule, or
// say what they lack and what they cannot be beside.
func TestAltMarkSessions(t *testing.T) {
	ready := func(more ...string) []string { return append([]string{group1, rule1, altActive, altCapable}, more...) }
	const (
		mapA  = "DSCP_TO_TC_MAP|AZURE 8=1 9=1 46=5"
		portA = "PORT_QOS_MAP|Ethernet0 dscp_to_tc_map=AZURE"
		dscp0 = `failed: mark dscp0 is in use by QoS: DSCP_TO_TC_MAP "AZURE" of port Ethernet0 has DSCP 46 in traffic ` +
			`class 5 and DSCP 47 in 0; want a mark on which no queue depends (tammgrd)`
		dscp40 = "role=initiator method=double interval=0 mark=dscp0 mark2=dscp5"
	)
	runRules(t, []ruleTest{
		{
			Name: "a session with all it needs", Do: append([]string{alt1}, ready()...), Table: "TAM_ALTMARK_TABLE",
			Want: []string{alt1Appl},
			Status: map[string]string{a1: pending, "TAM_STATE_FLOWGROUP_TABLE|F1": "active (tammgrd)",
				"TAM_STATE_FEATURES_TABLE|ALTMARK": "INACTIVE: waiting for orchagent (orchagent)"},
		},
		{
			Name: "a session with nothing", Do: []string{alt1}, Table: "TAM_ALTMARK_TABLE",
			Status: map[string]string{a1: `pending: flow group "F1" does not exist; feature ALTMARK is not active (tammgrd)`},
		},
		{Name: "a session brings the table TAM", Do: []string{alt1}, Table: "ACL_TABLE_TABLE", Want: []string{tamACL}},
		{
			Name: "the table TAM goes with the last session", Do: []string{alt1, "step", "-TAM_ALTMARK_TABLE|a1"},
			Table:  "ACL_TABLE_TABLE",
			Status: map[string]string{"ACL_TABLE_TABLE|TAM": "", a1: ""},
		},
		{
			Name:  "a switch that cannot",
			Do:    ready("appl+:SWITCH_TABLE:switch tam-altmark-capable=false tam-altmark-reason=no-ACL-counters", alt1),
			Table: "TAM_ALTMARK_TABLE",
			Status: map[string]string{
				"TAM_STATE_FEATURES_TABLE|ALTMARK": "UNSUPPORTED: no-ACL-counters (tammgrd)",
				a1:                                 "pending: feature ALTMARK is not active (tammgrd)",
			},
		},
		{
			Name: "deactivation purges, of this feature only",
			Do: ready(alt1, session1, active, "appl+:SWITCH_TABLE:switch tam-tailstamping-capable=true", "step",
				"TAM_FEATURES_TABLE|ALTMARK status=INACTIVE"),
			Table: "TAM_ALTMARK_TABLE",
			Status: map[string]string{
				a1: "pending: feature ALTMARK is not active (tammgrd)", "TAM_STATE_TAILSTAMPING_TABLE|s1": pending,
				"TAM_STATE_FEATURES_TABLE|ALTMARK": "INACTIVE (tammgrd)",
			},
		},
		{
			Name: "a session loses its flow group", Do: ready(alt1, "step", "-TAM_FLOWGROUP_TABLE|F1"),
			Table:  "TAM_ALTMARK_TABLE",
			Status: map[string]string{a1: `pending: flow group "F1" does not exist (tammgrd)`},
		},
		{
			Name: "a session whose rule cannot be applied", Do: ready(alt1, rule1+" IN_PORTS=Eth9"), Table: "TAM_ALTMARK_TABLE",
			Status: map[string]string{a1: `pending: flow group "F1": ACL rule TAM|F1: port "Eth9" does not exist (tammgrd)`},
		},
		{
			Name: "an invalid new version withdraws the old one", Do: ready(alt1, "step", alt1+" clear=true"),
			Table: "TAM_ALTMARK_TABLE",
			Status: map[string]string{
				a1: "failed: clear is true, but the role is initiator: only a terminator clears the mark (tammgrd)"},
		},
		{
			Name: "words that there are not", Do: ready(alt1, "step", alt1+" foreign-marks=wash clock-trust=believed"),
			Table: "TAM_ALTMARK_TABLE",
			Status: map[string]string{
				a1: `failed: foreign-marks "wash": want count, clean or drop; clock-trust "believed": want checked or declared ` +
					`(tammgrd)`,
			},
		},
		{
			Name:  "tail-stamping and alternate marking of one flow group",
			Do:    ready(alt1, session1, active, "appl+:SWITCH_TABLE:switch tam-tailstamping-capable=true"),
			Table: "TAM_ALTMARK_TABLE", Want: []string{alt1Appl},
			Status: map[string]string{a1: pending, "TAM_STATE_TAILSTAMPING_TABLE|s1": pending},
		},
		{
			Name:  "two sessions of one flow group: the smaller name has it",
			Do:    ready("TAM_ALTMARK_TABLE|a2 flowgroup=F1 role=transit method=step interval=0 mark=dscp1", "step", alt1),
			Table: "TAM_ALTMARK_TABLE", Want: []string{alt1Appl},
			Status: map[string]string{a1: pending,
				a2: `failed: flow group "F1" is already marked by session "a1": one session measures a flow group here (tammgrd)`},
		},
		{
			Name: "the flow group is free again",
			Do: ready(alt1, "TAM_ALTMARK_TABLE|a2 flowgroup=F1 role=transit method=step interval=0 mark=dscp1", "step",
				"-TAM_ALTMARK_TABLE|a1"),
			Status: map[string]string{a1: "", a2: pending},
		},
		{
			Name: "the other moves to another flow group",
			Do: ready(alt1, "TAM_ALTMARK_TABLE|a2 flowgroup=F1 role=transit method=step interval=0 mark=dscp1", "step",
				"TAM_ALTMARK_TABLE|a1 flowgroup=F2 role=transit method=step interval=0 mark=dscp1"),
			Status: map[string]string{a1: `pending: flow group "F2" does not exist (tammgrd)`, a2: pending},
		},
		{
			Name: "a session that is not valid takes no flow group",
			Do: ready("TAM_ALTMARK_TABLE|a1 flowgroup=F1 role=boss",
				"TAM_ALTMARK_TABLE|a2 flowgroup=F1 role=transit method=step interval=0 mark=dscp1"),
			Status: map[string]string{a2: pending},
		},
		{
			Name: "a mark that a queue depends on", Do: ready(alt1, mapA, portA), Table: "TAM_ALTMARK_TABLE",
			Status: map[string]string{a1: dscp0},
		},
		{
			Name: "a second mark that a queue depends on",
			Do: ready("TAM_ALTMARK_TABLE|a1 flowgroup=F1 "+dscp40, "DSCP_TO_TC_MAP|AZURE 0=3 1=3",
				"PORT_QOS_MAP|Ethernet0,Ethernet4 dscp_to_tc_map=AZURE"),
			Status: map[string]string{
				a1: `failed: mark dscp5 is in use by QoS: DSCP_TO_TC_MAP "AZURE" of port Ethernet0 and 1 more has DSCP 0 in ` +
					`traffic class 3 and DSCP 32 in 0; want a mark on which no queue depends (tammgrd)`},
		},
		{Name: "a map comes to be used", Do: ready(alt1, mapA, "step", portA), Status: map[string]string{a1: dscp0}},
		{Name: "a map comes to tell the mark", Do: ready(alt1, portA, "DSCP_TO_TC_MAP|AZURE 8=1 9=1", "step", mapA),
			Status: map[string]string{a1: dscp0}},
		{Name: "a map that tells the mark no more", Do: ready(alt1, portA, mapA, "step", mapA+" 47=5"),
			Table: "TAM_ALTMARK_TABLE", Want: []string{alt1Appl}, Status: map[string]string{a1: pending}},
		{Name: "a port that uses the map no more", Do: ready(alt1, portA, mapA, "step", "-PORT_QOS_MAP|Ethernet0"),
			Status: map[string]string{a1: pending}},
		{Name: "a map of no port", Do: ready(alt1, mapA, "PORT_QOS_MAP|Ethernet0 tc_to_queue_map=AZURE"),
			Status: map[string]string{a1: pending}},
		{Name: "a map that is not valid", Do: ready(alt1, mapA+" 64=1", portA), Status: map[string]string{a1: pending}},
		{
			Name:   "who does not write the mark may read it",
			Do:     ready("TAM_ALTMARK_TABLE|a1 flowgroup=F1 role=terminator method=step interval=0 mark=dscp0", mapA, portA),
			Status: map[string]string{a1: pending},
		},
		{
			Name: "clearing is writing",
			Do: ready("TAM_ALTMARK_TABLE|a1 flowgroup=F1 role=terminator method=step interval=0 mark=dscp0 clear=true", mapA,
				portA),
			Status: map[string]string{a1: dscp0},
		},
		{
			Name: "who reads the mark may not match a traffic class that depends on it",
			Do: ready("TAM_ALTMARK_TABLE|a1 flowgroup=F1 role=terminator method=step interval=0 mark=dscp0", mapA, portA,
				"step", rule1+" TC=5"),
			Status: map[string]string{
				a1: `failed: mark dscp0 is in use by QoS: DSCP_TO_TC_MAP "AZURE" of port Ethernet0 has DSCP 46 in traffic class ` +
					`5 and DSCP 47 in 0; TC of ACL rule TAM|F1 would match some of the marked packets only: want a rule without TC, ` +
					`or another mark (tammgrd)`,
			},
		},
		{
			Name: "but any other traffic class",
			Do: ready("TAM_ALTMARK_TABLE|a1 flowgroup=F1 role=terminator method=step interval=0 mark=dscp0", mapA+" 47=5",
				portA, rule1+" TC=5"),
			Status: map[string]string{a1: pending},
		},
		{
			Name: "a mark that is no DSCP",
			Do: ready("TAM_ALTMARK_TABLE|a1 flowgroup=F1 role=initiator method=step interval=0 mark=ipv4-reserved", mapA,
				portA),
			Status: map[string]string{a1: pending},
		},
	})
}
