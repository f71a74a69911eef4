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
			name: "a session with all it needs", do: append([]string{alt1}, ready()...), table: "TAM_ALTMARK_TABLE",
			want: []string{alt1Appl},
			status: map[string]string{a1: pending, "TAM_STATE_FLOWGROUP_TABLE|F1": "active (tammgrd)",
				"TAM_STATE_FEATURES_TABLE|ALTMARK": "INACTIVE: waiting for orchagent (orchagent)"},
		},
		{
			name: "a session with nothing", do: []string{alt1}, table: "TAM_ALTMARK_TABLE",
			status: map[string]string{a1: `pending: flow group "F1" does not exist; feature ALTMARK is not active (tammgrd)`},
		},
		{name: "a session brings the table TAM", do: []string{alt1}, table: "ACL_TABLE_TABLE", want: []string{tamACL}},
		{
			name: "the table TAM goes with the last session", do: []string{alt1, "step", "-TAM_ALTMARK_TABLE|a1"},
			table:  "ACL_TABLE_TABLE",
			status: map[string]string{"ACL_TABLE_TABLE|TAM": "", a1: ""},
		},
		{
			name:  "a switch that cannot",
			do:    ready("appl+:SWITCH_TABLE:switch tam-altmark-capable=false tam-altmark-reason=no-ACL-counters", alt1),
			table: "TAM_ALTMARK_TABLE",
			status: map[string]string{
				"TAM_STATE_FEATURES_TABLE|ALTMARK": "UNSUPPORTED: no-ACL-counters (tammgrd)",
				a1:                                 "pending: feature ALTMARK is not active (tammgrd)",
			},
		},
		{
			name: "deactivation purges, of this feature only",
			do: ready(alt1, session1, active, "appl+:SWITCH_TABLE:switch tam-tailstamping-capable=true", "step",
				"TAM_FEATURES_TABLE|ALTMARK status=INACTIVE"),
			table: "TAM_ALTMARK_TABLE",
			status: map[string]string{
				a1: "pending: feature ALTMARK is not active (tammgrd)", "TAM_STATE_TAILSTAMPING_TABLE|s1": pending,
				"TAM_STATE_FEATURES_TABLE|ALTMARK": "INACTIVE (tammgrd)",
			},
		},
		{
			name: "a session loses its flow group", do: ready(alt1, "step", "-TAM_FLOWGROUP_TABLE|F1"),
			table:  "TAM_ALTMARK_TABLE",
			status: map[string]string{a1: `pending: flow group "F1" does not exist (tammgrd)`},
		},
		{
			name: "a session whose rule cannot be applied", do: ready(alt1, rule1+" IN_PORTS=Eth9"), table: "TAM_ALTMARK_TABLE",
			status: map[string]string{a1: `pending: flow group "F1": ACL rule TAM|F1: port "Eth9" does not exist (tammgrd)`},
		},
		{
			name: "an invalid new version withdraws the old one", do: ready(alt1, "step", alt1+" clear=true"),
			table: "TAM_ALTMARK_TABLE",
			status: map[string]string{
				a1: "failed: clear is true, but the role is initiator: only a terminator clears the mark (tammgrd)"},
		},
		{
			name: "words that there are not", do: ready(alt1, "step", alt1+" foreign-marks=wash clock-trust=believed"),
			table: "TAM_ALTMARK_TABLE",
			status: map[string]string{
				a1: `failed: foreign-marks "wash": want count, clean or drop; clock-trust "believed": want checked or declared ` +
					`(tammgrd)`,
			},
		},
		{
			name:  "tail-stamping and alternate marking of one flow group",
			do:    ready(alt1, session1, active, "appl+:SWITCH_TABLE:switch tam-tailstamping-capable=true"),
			table: "TAM_ALTMARK_TABLE", want: []string{alt1Appl},
			status: map[string]string{a1: pending, "TAM_STATE_TAILSTAMPING_TABLE|s1": pending},
		},
		{
			name:  "two sessions of one flow group: the smaller name has it",
			do:    ready("TAM_ALTMARK_TABLE|a2 flowgroup=F1 role=transit method=step interval=0 mark=dscp1", "step", alt1),
			table: "TAM_ALTMARK_TABLE", want: []string{alt1Appl},
			status: map[string]string{a1: pending,
				a2: `failed: flow group "F1" is already marked by session "a1": one session measures a flow group here (tammgrd)`},
		},
		{
			name: "the flow group is free again",
			do: ready(alt1, "TAM_ALTMARK_TABLE|a2 flowgroup=F1 role=transit method=step interval=0 mark=dscp1", "step",
				"-TAM_ALTMARK_TABLE|a1"),
			status: map[string]string{a1: "", a2: pending},
		},
		{
			name: "the other moves to another flow group",
			do: ready(alt1, "TAM_ALTMARK_TABLE|a2 flowgroup=F1 role=transit method=step interval=0 mark=dscp1", "step",
				"TAM_ALTMARK_TABLE|a1 flowgroup=F2 role=transit method=step interval=0 mark=dscp1"),
			status: map[string]string{a1: `pending: flow group "F2" does not exist (tammgrd)`, a2: pending},
		},
		{
			name: "a session that is not valid takes no flow group",
			do: ready("TAM_ALTMARK_TABLE|a1 flowgroup=F1 role=boss",
				"TAM_ALTMARK_TABLE|a2 flowgroup=F1 role=transit method=step interval=0 mark=dscp1"),
			status: map[string]string{a2: pending},
		},
		{
			name: "a mark that a queue depends on", do: ready(alt1, mapA, portA), table: "TAM_ALTMARK_TABLE",
			status: map[string]string{a1: dscp0},
		},
		{
			name: "a second mark that a queue depends on",
			do: ready("TAM_ALTMARK_TABLE|a1 flowgroup=F1 "+dscp40, "DSCP_TO_TC_MAP|AZURE 0=3 1=3",
				"PORT_QOS_MAP|Ethernet0,Ethernet4 dscp_to_tc_map=AZURE"),
			status: map[string]string{
				a1: `failed: mark dscp5 is in use by QoS: DSCP_TO_TC_MAP "AZURE" of port Ethernet0 and 1 more has DSCP 0 in ` +
					`traffic class 3 and DSCP 32 in 0; want a mark on which no queue depends (tammgrd)`},
		},
		{name: "a map comes to be used", do: ready(alt1, mapA, "step", portA), status: map[string]string{a1: dscp0}},
		{name: "a map comes to tell the mark", do: ready(alt1, portA, "DSCP_TO_TC_MAP|AZURE 8=1 9=1", "step", mapA),
			status: map[string]string{a1: dscp0}},
		{name: "a map that tells the mark no more", do: ready(alt1, portA, mapA, "step", mapA+" 47=5"),
			table: "TAM_ALTMARK_TABLE", want: []string{alt1Appl}, status: map[string]string{a1: pending}},
		{name: "a port that uses the map no more", do: ready(alt1, portA, mapA, "step", "-PORT_QOS_MAP|Ethernet0"),
			status: map[string]string{a1: pending}},
		{name: "a map of no port", do: ready(alt1, mapA, "PORT_QOS_MAP|Ethernet0 tc_to_queue_map=AZURE"),
			status: map[string]string{a1: pending}},
		{name: "a map that is not valid", do: ready(alt1, mapA+" 64=1", portA), status: map[string]string{a1: pending}},
		{
			name:   "who does not write the mark may read it",
			do:     ready("TAM_ALTMARK_TABLE|a1 flowgroup=F1 role=terminator method=step interval=0 mark=dscp0", mapA, portA),
			status: map[string]string{a1: pending},
		},
		{
			name: "clearing is writing",
			do: ready("TAM_ALTMARK_TABLE|a1 flowgroup=F1 role=terminator method=step interval=0 mark=dscp0 clear=true", mapA,
				portA),
			status: map[string]string{a1: dscp0},
		},
		{
			name: "who reads the mark may not match a traffic class that depends on it",
			do: ready("TAM_ALTMARK_TABLE|a1 flowgroup=F1 role=terminator method=step interval=0 mark=dscp0", mapA, portA,
				"step", rule1+" TC=5"),
			status: map[string]string{
				a1: `failed: mark dscp0 is in use by QoS: DSCP_TO_TC_MAP "AZURE" of port Ethernet0 has DSCP 46 in traffic class ` +
					`5 and DSCP 47 in 0; TC of ACL rule TAM|F1 would match some of the marked packets only: want a rule without TC, ` +
					`or another mark (tammgrd)`,
			},
		},
		{
			name: "but any other traffic class",
			do: ready("TAM_ALTMARK_TABLE|a1 flowgroup=F1 role=terminator method=step interval=0 mark=dscp0", mapA+" 47=5",
				portA, rule1+" TC=5"),
			status: map[string]string{a1: pending},
		},
		{
			name: "a mark that is no DSCP",
			do: ready("TAM_ALTMARK_TABLE|a1 flowgroup=F1 role=initiator method=step interval=0 mark=ipv4-reserved", mapA,
				portA),
			status: map[string]string{a1: pending},
		},
	})
}
