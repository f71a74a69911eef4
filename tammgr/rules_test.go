package tammgr

import (
	"fmt"
	"testing"

	"tamtam/orch/forward/forwardtest"
	"tamtam/swss/schema"
)

const (
	metadata = "DEVICE_METADATA|localhost mac=52:54:00:12:34:56"
	port0    = "PORT|Ethernet0 lanes=0 speed=1000 alias=Eth1"
	port4    = "PORT|Ethernet4 lanes=4 speed=1000 alias=Eth2"
	capable  = "appl:SWITCH_TABLE:switch tam-tailstamping-capable=true"
	active   = "TAM_FEATURES_TABLE|TAILSTAMPING status=ACTIVE"
	inactive = "TAM_FEATURES_TABLE|TAILSTAMPING status=INACTIVE"
	group1   = "TAM_FLOWGROUP_TABLE|F1 id=1"
	rule1    = "ACL_RULE|TAM|F1 SRC_IP=10.0.0.1"
	session1 = "TAM_TAILSTAMPING_TABLE|s1 flowgroup=F1"
	clamp1   = session1 + " clamp-mss=2"

	altCapable = "appl+:SWITCH_TABLE:switch tam-altmark-capable=true"
	altActive  = "TAM_FEATURES_TABLE|ALTMARK status=ACTIVE"
	alt1       = "TAM_ALTMARK_TABLE|a1 flowgroup=F1 role=initiator method=step interval=0 mark=dscp0"

	flyCapable = "appl+:SWITCH_TABLE:switch tam-flymon-capable=true"
	flyActive  = "TAM_FEATURES_TABLE|FLYMON status=ACTIVE"
	task1      = "TAM_FLYMON_TASK_TABLE|t1 key=src-ip attribute=frequency"
	task2      = "TAM_FLYMON_TASK_TABLE|t2 flowgroup=F1 key=src-ip attribute=frequency"

	recordCapable = "appl+:SWITCH_TABLE:switch tam-tablerecord-capable=true"
	recordActive  = "TAM_FEATURES_TABLE|TABLERECORD status=ACTIVE"
	record1       = "TAM_TABLERECORD_TABLE|r1 flowgroup=F1 collector=c"
	collector1    = "TAM_COLLECTORS_TABLE|c ipaddress=10.0.0.5 port=4739"

	pending = "pending: waiting for orchagent (orchagent)"
	tamACL  = "TAM POLICY_DESC=TAM flow groups PORTS= STAGE=INGRESS TYPE=TAM"
)

type ruleTest = forwardtest.Case

func TestRules(t *testing.T) {
	_, unknown := schema.ParseFeature("INT", map[string]string{"status": "ACTIVE"})
	runRules(t, []ruleTest{
		{
			Name: "ids default to the last 16 bits of the MAC", Do: []string{metadata},
			Table: "TAM_APPL_SWITCH_TABLE", Want: []string{"global op-enterprise-id=13398 op-switch-id=13398"},
			Status: map[string]string{"TAM_STATE_SWITCH_TABLE|global": "active (tammgrd)"},
		},
		{
			Name:  "without a MAC there is no switch id",
			Do:    []string{"TAM_SWITCH_TABLE|global enterprise-id=7 keep-packets=all"},
			Table: "TAM_APPL_SWITCH_TABLE", Want: []string{"global enterprise-id=7 keep-packets=all op-enterprise-id=7"},
			Status: map[string]string{
				"TAM_STATE_SWITCH_TABLE|global": "pending: switch-id is not set, and DEVICE_METADATA|localhost has no mac to " +
					"take it from (tammgrd)"},
		},
		{
			Name: "configured ids", Do: []string{metadata, "TAM_SWITCH_TABLE|global switch-id=2020"},
			Table: "TAM_APPL_SWITCH_TABLE", Want: []string{"global op-enterprise-id=13398 op-switch-id=2020 switch-id=2020"},
		},
		{
			Name: "an invalid switch row counts for nothing",
			Do: []string{metadata, "TAM_SWITCH_TABLE|global switch-id=2020",
				"TAM_SWITCH_TABLE|global switch-id=2020 enterprise-id=x"},
			Table: "TAM_APPL_SWITCH_TABLE", Want: []string{"global op-enterprise-id=13398 op-switch-id=13398"},
			Status: map[string]string{
				"TAM_STATE_SWITCH_TABLE|global": `failed: enterprise-id "x": want a number in 1..4294967295 (tammgrd)`},
		},
		{
			Name:  "ids stay while a feature is active",
			Do:    []string{metadata, capable, active, "step", "TAM_SWITCH_TABLE|global switch-id=2020"},
			Table: "TAM_APPL_SWITCH_TABLE", Want: []string{"global op-enterprise-id=13398 op-switch-id=13398"},
			Status: map[string]string{
				"TAM_STATE_SWITCH_TABLE|global": "pending: switch-id 2020 (in use: 13398) takes effect when no TAM feature is " +
					"active (active: TAILSTAMPING) (tammgrd)"},
		},
		{
			Name: "ids stay over a restart", Do: []string{metadata, capable, active, "step",
				"TAM_SWITCH_TABLE|global switch-id=2020", "restart"},
			Table: "TAM_APPL_SWITCH_TABLE", Want: []string{"global op-enterprise-id=13398 op-switch-id=13398"},
		},
		{
			Name:  "ids change when the feature goes",
			Do:    []string{metadata, capable, active, "step", "TAM_SWITCH_TABLE|global switch-id=2020", "step", inactive},
			Table: "TAM_APPL_SWITCH_TABLE", Want: []string{"global op-enterprise-id=13398 op-switch-id=2020 switch-id=2020"},
			Status: map[string]string{"TAM_STATE_SWITCH_TABLE|global": "active (tammgrd)"},
		},
		{
			Name: "a switch row of another name", Do: []string{"TAM_SWITCH_TABLE|x switch-id=1"},
			Status: map[string]string{"TAM_STATE_SWITCH_TABLE|x": `failed: key "x": want global (tammgrd)`},
		},
		{
			Name: "collectors", Do: []string{"TAM_COLLECTORS_TABLE|c1 ipaddress=10.0.0.1 port=9070",
				"TAM_COLLECTORS_TABLE|c2 ipaddress=10.0.0.1 port=0"},
			Table: "TAM_COLLECTORS_TABLE", Want: []string{"c1 ipaddress=10.0.0.1 ipaddress-type=ipv4 port=9070 protocol=UDP"},
			Status: map[string]string{
				"TAM_STATE_COLLECTORS_TABLE|c1": "active (tammgrd)",
				"TAM_STATE_COLLECTORS_TABLE|c2": `failed: port "0": want a number in 1..65535 (tammgrd)`,
			},
		},
		{
			Name: "samplers", Do: []string{"TAM_SAMPLINGRATE_TABLE|s sampling-rate=100",
				"TAM_SAMPLINGRATE_TABLE|t sampling-rate=1", "step", "-TAM_SAMPLINGRATE_TABLE|t"},
			Table: "TAM_SAMPLINGRATE_TABLE", Want: []string{"s sampling-rate=100"},
			Status: map[string]string{"TAM_STATE_SAMPLINGRATE_TABLE|s": "active (tammgrd)",
				"TAM_STATE_SAMPLINGRATE_TABLE|t": ""},
		},
		{
			Name: "a feature waits for what the switch can do", Do: []string{active}, Table: "TAM_APPL_FEATURES_TABLE",
			Status: map[string]string{
				"TAM_STATE_FEATURES_TABLE|TAILSTAMPING": "INACTIVE: waiting for orchagent to say what the switch can do (tammgrd)"},
		},
		{
			Name: "a capable switch", Do: []string{active, "step", capable}, Table: "TAM_APPL_FEATURES_TABLE",
			Want:   []string{"TAILSTAMPING status=ACTIVE"},
			Status: map[string]string{"TAM_STATE_FEATURES_TABLE|TAILSTAMPING": "INACTIVE: waiting for orchagent (orchagent)"},
		},
		{
			Name: "a switch that cannot",
			Do: []string{active,
				"appl:SWITCH_TABLE:switch tam-tailstamping-capable=false tam-tailstamping-reason=no-TAM_INT"},
			Table:  "TAM_APPL_FEATURES_TABLE",
			Status: map[string]string{"TAM_STATE_FEATURES_TABLE|TAILSTAMPING": "UNSUPPORTED: no-TAM_INT (tammgrd)"},
		},
		{
			Name: "a feature of which the switch says nothing", Do: []string{"TAM_FEATURES_TABLE|FLYMON status=ACTIVE", capable},
			Table: "TAM_APPL_FEATURES_TABLE",
			Status: map[string]string{
				"TAM_STATE_FEATURES_TABLE|FLYMON": "UNSUPPORTED: the switch does not offer FLYMON (tammgrd)"},
		},
		{
			Name: "an unknown feature", Do: []string{"TAM_FEATURES_TABLE|INT status=ACTIVE", capable},
			Table:  "TAM_APPL_FEATURES_TABLE",
			Status: map[string]string{"TAM_STATE_FEATURES_TABLE|INT": "UNSUPPORTED: " + schema.Reason(unknown) + " (tammgrd)"},
		},
		{
			Name: "a feature that is not asked for", Do: []string{inactive, capable}, Table: "TAM_APPL_FEATURES_TABLE",
			Status: map[string]string{"TAM_STATE_FEATURES_TABLE|TAILSTAMPING": "INACTIVE (tammgrd)"},
		},
		{
			Name: "a session with all it needs", Do: []string{session1, rule1, group1, active, capable},
			Table: "TAM_TAILSTAMPING_TABLE",
			Want:  []string{"s1 acl-rule-name=F1 acl-table-name=TAM"},
			Status: map[string]string{
				"TAM_STATE_TAILSTAMPING_TABLE|s1": pending, "TAM_STATE_FLOWGROUP_TABLE|F1": "active (tammgrd)",
				"ACL_RULE_TABLE|TAM|F1": "Pending creation: waiting for orchagent (orchagent)",
			},
		},
		{
			Name: "a session before its rule", Do: []string{session1, group1, active, capable}, Table: "TAM_TAILSTAMPING_TABLE",
			Want: []string{"s1 acl-rule-name=F1 acl-table-name=TAM"},
			Status: map[string]string{
				"TAM_STATE_TAILSTAMPING_TABLE|s1": pending, "TAM_STATE_FLOWGROUP_TABLE|F1": "pending: no ACL rule TAM|F1 (tammgrd)",
			},
		},
		{
			Name: "a session whose rule cannot be applied",
			Do:   []string{session1, group1, rule1 + " IN_PORTS=Eth9", active, capable}, Table: "TAM_TAILSTAMPING_TABLE",
			Status: map[string]string{
				"TAM_STATE_TAILSTAMPING_TABLE|s1": `pending: flow group "F1": ACL rule TAM|F1: port "Eth9" does not exist ` +
					`(tammgrd)`,
			},
		},
		{
			Name:  "a session whose rule is in order again",
			Do:    []string{session1, group1, rule1 + " DSCP=64", active, capable, "step", rule1},
			Table: "TAM_TAILSTAMPING_TABLE",
			Want:  []string{"s1 acl-rule-name=F1 acl-table-name=TAM"},
		},
		{
			Name: "a rule's key is divided by | alone",
			Do: []string{"ACL_TABLE|a type=L3", "ACL_RULE|a|b SRC_IP=10.0.0.1 PACKET_ACTION=DROP",
				"ACL_RULE|a:b SRC_IP=10.0.0.2 PACKET_ACTION=DROP"},
			Table: "ACL_RULE_TABLE", Want: []string{"a:b PACKET_ACTION=DROP PRIORITY=0 SRC_IP=10.0.0.1/32"},
			Status: map[string]string{
				"ACL_RULE_TABLE|a:b": `Inactive: key "a:b": want table|rule, each 1 to 255 visible ASCII characters without | : ` +
					`and , (tammgrd)`},
		},
		{
			Name: "a rule with many ports that are not there", Do: []string{"ACL_RULE|TAM|F1 IN_PORTS=a,b,c,d,e,f,g,h,i,j"},
			Status: map[string]string{
				"ACL_RULE_TABLE|TAM|F1": `Pending creation: port "a" does not exist; port "b" does not exist; port "c" does not ` +
					`exist; port "d" does not exist; ` +
					`port "e" does not exist; port "f" does not exist; port "g" does not exist; port "h" does not exist; nor do 2 ` +
					`more (tammgrd)`},
		},
		{
			Name: "a session with nothing", Do: []string{session1}, Table: "TAM_TAILSTAMPING_TABLE",
			Status: map[string]string{
				"TAM_STATE_TAILSTAMPING_TABLE|s1": `pending: flow group "F1" does not exist; feature TAILSTAMPING is not active ` +
					`(tammgrd)`},
		},
		{
			Name: "a session that clamps the MSS",
			Do:   []string{clamp1, rule1 + " L4_DST_PORT=80 DSCP=8", group1, active, capable}, Table: "TAM_TAILSTAMPING_TABLE",
			Want: []string{
				"s1 acl-rule-name=F1 acl-table-name=TAM clamp-filter=dst-ip=10.0.0.1/32,src-port=80,protocol=6 clamp-mss=2"},
		},
		{
			Name:  "the match of what it clamps changes",
			Do:    []string{clamp1, rule1, group1, active, capable, "step", "ACL_RULE|TAM|F1 DST_IPV6=2001:db8::/32"},
			Table: "TAM_TAILSTAMPING_TABLE",
			Want:  []string{"s1 acl-rule-name=F1 acl-table-name=TAM clamp-filter=src-ip=2001:db8::/32,protocol=6 clamp-mss=2"},
		},
		{
			Name: "a session that clamps the MSS of what is no TCP",
			Do:   []string{clamp1, rule1 + " IP_PROTOCOL=17", group1, active, capable}, Table: "TAM_TAILSTAMPING_TABLE",
			Status: map[string]string{
				"TAM_STATE_TAILSTAMPING_TABLE|s1": `failed: flow group "F1": IP_PROTOCOL "17": want 6 or none: clamp-mss is for ` +
					`TCP (tammgrd)`},
		},
		{
			Name: "a session that clamps the MSS before its rule", Do: []string{clamp1, group1, active, capable},
			Table: "TAM_TAILSTAMPING_TABLE",
			Status: map[string]string{
				"TAM_STATE_TAILSTAMPING_TABLE|s1": `pending: flow group "F1": no ACL rule TAM|F1 (tammgrd)`},
		},
		{
			Name: "a session that clamps the MSS of nothing", Do: []string{clamp1}, Table: "TAM_TAILSTAMPING_TABLE",
			Status: map[string]string{
				"TAM_STATE_TAILSTAMPING_TABLE|s1": `pending: flow group "F1" does not exist; feature TAILSTAMPING is not active ` +
					`(tammgrd)`},
		},
		{
			Name: "deactivation purges", Do: []string{session1, rule1, group1, active, capable, "step", inactive},
			Table: "TAM_TAILSTAMPING_TABLE",
			Status: map[string]string{
				"TAM_STATE_TAILSTAMPING_TABLE|s1": "pending: feature TAILSTAMPING is not active (tammgrd)"},
		},
		{
			Name:  "a session loses its flow group",
			Do:    []string{session1, rule1, group1, active, capable, "step", "-TAM_FLOWGROUP_TABLE|F1"},
			Table: "TAM_TAILSTAMPING_TABLE",
			Status: map[string]string{"TAM_STATE_TAILSTAMPING_TABLE|s1": `pending: flow group "F1" does not exist (tammgrd)`,
				"TAM_STATE_FLOWGROUP_TABLE|F1": ""},
		},
		{
			Name: "an invalid flow group withdraws its users",
			Do:   []string{session1, rule1, group1, active, capable, "step", group1 + " ip=4"}, Table: "TAM_TAILSTAMPING_TABLE",
			Status: map[string]string{
				"TAM_STATE_FLOWGROUP_TABLE|F1": `failed: ip "4": want a field of the table; the nearest is id (tammgrd)`,
				"TAM_STATE_TAILSTAMPING_TABLE|s1": `pending: flow group "F1": ip "4": want a field of the table; the nearest is ` +
					`id (tammgrd)`,
			},
		},
		{
			Name: "an invalid session", Do: []string{"TAM_TAILSTAMPING_TABLE|s1 flowgroup=F1 sample=3", group1, active, capable},
			Table: "TAM_TAILSTAMPING_TABLE",
			Status: map[string]string{
				"TAM_STATE_TAILSTAMPING_TABLE|s1": `failed: sample "3": want a field of the table: clamp-mss or flowgroup ` +
					`(tammgrd)`},
		},
		{
			Name: "one id, two flow groups: the smaller name has it",
			Do:   []string{"TAM_FLOWGROUP_TABLE|F10 id=5", "step", "TAM_FLOWGROUP_TABLE|F9 id=5", session1},
			Status: map[string]string{
				"TAM_STATE_FLOWGROUP_TABLE|F10": `failed: id 5 is already used by flow group "F9" (tammgrd)`,
				"TAM_STATE_FLOWGROUP_TABLE|F9":  "pending: no ACL rule TAM|F9 (tammgrd)",
			},
		},
		{
			Name: "an id is free again", Do: []string{"TAM_FLOWGROUP_TABLE|F10 id=5", "TAM_FLOWGROUP_TABLE|F9 id=5", "step",
				"TAM_FLOWGROUP_TABLE|F9 id=6"},
			Status: map[string]string{"TAM_STATE_FLOWGROUP_TABLE|F10": "pending: no ACL rule TAM|F10 (tammgrd)"},
		},
		{
			Name: "a flow group in a table of its own",
			Do: []string{"TAM_FLOWGROUP_TABLE|F1 table-name=T", "ACL_TABLE|T type=TAM", "ACL_RULE|T|F1 DSCP=3", session1,
				active, capable},
			Table: "TAM_TAILSTAMPING_TABLE", Want: []string{"s1 acl-rule-name=F1 acl-table-name=T"},
			Status: map[string]string{"TAM_STATE_FLOWGROUP_TABLE|F1": "active (tammgrd)"},
		},
		{
			Name: "a flow group in a table that is not there",
			Do:   []string{"TAM_FLOWGROUP_TABLE|F1 table-name=T", session1, active, capable}, Table: "TAM_TAILSTAMPING_TABLE",
			Status: map[string]string{
				"TAM_STATE_FLOWGROUP_TABLE|F1":    `pending: ACL table "T" does not exist (tammgrd)`,
				"TAM_STATE_TAILSTAMPING_TABLE|s1": `pending: flow group "F1": ACL table "T" does not exist (tammgrd)`,
			},
		},
		{
			Name: "a flow group in a table of another type",
			Do:   []string{"TAM_FLOWGROUP_TABLE|F1 table-name=T", "ACL_TABLE|T type=L3"},
			Status: map[string]string{
				"TAM_STATE_FLOWGROUP_TABLE|F1": `pending: ACL table "T" is of type L3: want type TAM (tammgrd)`},
		},
		{
			Name: "a rule brings the table TAM", Do: []string{rule1}, Table: "ACL_TABLE_TABLE", Want: []string{tamACL},
			Status: map[string]string{"ACL_TABLE_TABLE|TAM": "Pending creation: waiting for orchagent (orchagent)"},
		},
		{Name: "a session brings the table TAM", Do: []string{session1}, Table: "ACL_TABLE_TABLE", Want: []string{tamACL}},
		{Name: "a flow group alone does not", Do: []string{group1}, Table: "ACL_TABLE_TABLE"},
		{
			Name: "the table TAM goes with the last rule", Do: []string{rule1, "step", "-ACL_RULE|TAM|F1"},
			Table:  "ACL_TABLE_TABLE",
			Status: map[string]string{"ACL_TABLE_TABLE|TAM": ""},
		},
		{
			Name: "the table TAM may be configured",
			Do:   []string{rule1, port0, "ACL_TABLE|TAM type=TAM ports@=Eth1 policy_desc=mine"}, Table: "ACL_TABLE_TABLE",
			Want: []string{"TAM POLICY_DESC=mine PORTS=Ethernet0 STAGE=INGRESS TYPE=TAM"},
		},
		{
			Name: "an invalid table TAM withdraws its rules", Do: []string{rule1, "step", "ACL_TABLE|TAM type=TAM stage=egress"},
			Table: "ACL_RULE_TABLE",
			Status: map[string]string{
				"ACL_TABLE_TABLE|TAM": `Inactive: STAGE "EGRESS": want INGRESS in a table of type TAM (tammgrd)`,
				"ACL_RULE_TABLE|TAM|F1": `Pending creation: ACL table "TAM" is not valid: STAGE "EGRESS": want INGRESS in a ` +
					`table of type TAM (tammgrd)`,
			},
		},
		{
			Name: "a rule of no table", Do: []string{"ACL_RULE|T|R SRC_IP=10.0.0.1 PACKET_ACTION=DROP"}, Table: "ACL_RULE_TABLE",
			Status: map[string]string{"ACL_RULE_TABLE|T|R": `Pending creation: ACL table "T" does not exist (tammgrd)`},
		},
		{
			Name: "a rule of a built-in type", Do: []string{"ACL_RULE|T|R SRC_IP=10.0.0.1 PACKET_ACTION=DROP", "step",
				"ACL_TABLE|T type=L3"},
			Table: "ACL_RULE_TABLE", Want: []string{"T:R PACKET_ACTION=DROP PRIORITY=0 SRC_IP=10.0.0.1/32"},
		},
		{
			Name: "a table and a rule of an unknown type",
			Do:   []string{"ACL_RULE|T|R SRC_IP=10.0.0.1 PACKET_ACTION=DROP", "ACL_TABLE|T type=X"}, Table: "ACL_TABLE_TABLE",
			Status: map[string]string{
				"ACL_TABLE_TABLE|T":  `Pending creation: ACL table type "X" does not exist (tammgrd)`,
				"ACL_RULE_TABLE|T|R": `Pending creation: ACL table "T": ACL table type "X" does not exist (tammgrd)`,
			},
		},
		{
			Name: "a table and a rule of a configured type",
			Do: []string{"ACL_RULE|T|R DSCP=1 PACKET_ACTION=DROP", "ACL_TABLE|T type=X", "step",
				"ACL_TABLE_TYPE|X MATCHES=DSCP ACTIONS=PACKET_ACTION BIND_POINTS=PORT"},
			Table: "ACL_RULE_TABLE", Want: []string{"T:R DSCP=1 PACKET_ACTION=DROP PRIORITY=0"},
			Status: map[string]string{"ACL_TABLE_TYPE_TABLE|X": pending},
		},
		{
			Name: "a type loses a match", Do: []string{
				"ACL_RULE|T|R DSCP=1 PACKET_ACTION=DROP", "ACL_TABLE|T type=X",
				"ACL_TABLE_TYPE|X MATCHES=DSCP ACTIONS=PACKET_ACTION BIND_POINTS=PORT",
				"step", "ACL_TABLE_TYPE|X MATCHES=TC ACTIONS=PACKET_ACTION BIND_POINTS=PORT",
			},
			Table: "ACL_RULE_TABLE",
			Status: map[string]string{
				"ACL_RULE_TABLE|T|R": `Inactive: DSCP "1": want a match that a table of type X has (tammgrd)`},
		},
		{
			Name: "an invalid rule withdraws the old one", Do: []string{rule1, "step", rule1 + " DSCP=64"},
			Table: "ACL_RULE_TABLE",
			Status: map[string]string{
				"ACL_RULE_TABLE|TAM|F1": `Inactive: DSCP "64": want a number in 0..63, or value/mask (tammgrd)`},
		},
		{
			Name: "a rule that loses a match", Do: []string{rule1 + " DSCP=1", "step", rule1}, Table: "ACL_RULE_TABLE",
			Want: []string{"TAM:F1 PRIORITY=100 SRC_IP=10.0.0.1/32"},
		},
		{
			Name: "a rule with a bad key", Do: []string{"ACL_RULE|TAM DSCP=1"}, Table: "ACL_RULE_TABLE",
			Status: map[string]string{
				"ACL_RULE_TABLE|TAM": `Inactive: key "TAM": want table|rule, each 1 to 255 visible ASCII characters without | : ` +
					`and , (tammgrd)`},
		},
		{
			Name:  "aliases and PortChannels in IN_PORTS",
			Do:    []string{port0, port4, "PORTCHANNEL|PortChannel1 mtu=9100", rule1 + " IN_PORTS=PortChannel1,Eth2,Ethernet0"},
			Table: "ACL_RULE_TABLE",
			Want:  []string{"TAM:F1 IN_PORTS=Ethernet0,Ethernet4,PortChannel1 PRIORITY=100 SRC_IP=10.0.0.1/32"},
		},
		{
			Name: "a rule waits for its ports", Do: []string{rule1 + " IN_PORTS=Ethernet0,Eth2"}, Table: "ACL_RULE_TABLE",
			Status: map[string]string{
				"ACL_RULE_TABLE|TAM|F1": `Pending creation: port "Eth2" does not exist; port "Ethernet0" does not exist (tammgrd)`,
			},
		},
		{
			Name: "ports come", Do: []string{rule1 + " IN_PORTS=Ethernet0,Eth2", group1, "step", port0, "step", port4},
			Table: "ACL_RULE_TABLE", Want: []string{"TAM:F1 IN_PORTS=Ethernet0,Ethernet4 PRIORITY=100 SRC_IP=10.0.0.1/32"},
			Status: map[string]string{"TAM_STATE_FLOWGROUP_TABLE|F1": "active (tammgrd)"},
		},
		{
			Name: "a port goes", Do: []string{rule1 + " IN_PORTS=Eth1", group1, port0, "step", "-PORT|Ethernet0"},
			Table: "ACL_RULE_TABLE",
			Status: map[string]string{
				"ACL_RULE_TABLE|TAM|F1":        `Pending creation: port "Eth1" does not exist (tammgrd)`,
				"TAM_STATE_FLOWGROUP_TABLE|F1": `pending: ACL rule TAM|F1: port "Eth1" does not exist (tammgrd)`,
			},
		},
		{
			Name: "an alias moves", Do: []string{rule1 + " IN_PORTS=Eth1", port0, port4, "step",
				"PORT|Ethernet0 lanes=0 speed=1000", "PORT|Ethernet4 lanes=4 speed=1000 alias=Eth1"},
			Table: "ACL_RULE_TABLE", Want: []string{"TAM:F1 IN_PORTS=Ethernet4 PRIORITY=100 SRC_IP=10.0.0.1/32"},
		},
		{
			Name: "one alias, two ports: the first has it",
			Do: []string{rule1 + " IN_PORTS=E", "PORT|Ethernet12 lanes=0 speed=1 alias=E", "step",
				"PORT|Ethernet4 lanes=1 speed=1 alias=E"},
			Table: "ACL_RULE_TABLE", Want: []string{"TAM:F1 IN_PORTS=Ethernet4 PRIORITY=100 SRC_IP=10.0.0.1/32"},
		},
		{
			Name:  "a table is bound to ports that may come later",
			Do:    []string{"ACL_TABLE|T type=L3 ports@=Ethernet4,Eth1", port0},
			Table: "ACL_TABLE_TABLE", Want: []string{"T POLICY_DESC= PORTS=Ethernet0,Ethernet4 STAGE=INGRESS TYPE=L3"},
		},
		{
			Name: "a redirect's alias", Do: []string{"ACL_TABLE|T type=L3",
				"ACL_RULE|T|R SRC_IP=10.0.0.1 PACKET_ACTION=REDIRECT:Eth1", "step", port0},
			Table: "ACL_RULE_TABLE", Want: []string{"T:R PRIORITY=0 REDIRECT_ACTION=Ethernet0 SRC_IP=10.0.0.1/32"},
		},
		{
			Name:  "a control plane ACL stays out of the ASIC",
			Do:    []string{"ACL_TABLE|T type=CTRLPLANE services@=SSH", "ACL_RULE|T|R SRC_IP=10.0.0.1 PACKET_ACTION=DROP"},
			Table: "ACL_TABLE_TABLE",
			Status: map[string]string{
				"ACL_TABLE_TABLE|T":  "Active: a control plane ACL is kept out of the ASIC (tammgrd)",
				"ACL_RULE_TABLE|T|R": "Active: a control plane ACL is kept out of the ASIC (tammgrd)",
			},
		},
	})
}

func runRules(t *testing.T, tests []ruleTest) {
	forwardtest.Check(t, fresh, tests, applTables, stateTables)
}

// A flow group with more rules than a session can have is told by its name, and the session gets there with less.
func TestTooManyDropRules(t *testing.T) {
	rows := []string{"appl:SWITCH_TABLE:switch tam-dropmonitor-capable=true",
		"TAM_COLLECTOR|c dst_ip=10.0.0.5 dst_port=4739",
		"TAM_SESSION|s type=drop-monitor collector=c flow_group=G", "TAM_FLOW_GROUP|G"}
	for i := range schema.MaxDropRules + 1 {
		rows = append(rows, fmt.Sprintf("TAM_FLOW_GROUP|G|R%d src_ip_prefix=10.%d.%d.0/24 dst_ip_prefix=::/0", i, i/256,
			i%256))
	}
	want := fmt.Sprintf(`failed: flow group "G" has %d rules: want at most %d (tammgrd)`, schema.MaxDropRules+1,
		schema.MaxDropRules)
	runRules(t, []ruleTest{
		{
			Name: "too many", Do: rows, Table: "TAM_SESSION_TABLE",
			Status: map[string]string{"TAM_DROP_MONITOR_SESSION_TABLE|s": want},
		},
	})
}
