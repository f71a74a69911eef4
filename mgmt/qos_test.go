package mgmt

import (
	"slices"
	"strings"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

const qosGroup5 = "/qos/forwarding-groups/forwarding-group[name=5]"

// queueNames is the row with the names of the four queues of Ethernet0.
const queueNames = "COUNTERS_DB COUNTERS_QUEUE_NAME_MAP"

func qosSwitchRows() map[string]string {
	return map[string]string{
		"CONFIG_DB PORT|Ethernet0": "lanes=0 speed=100000", "CONFIG_DB PORT|Ethernet4": "lanes=4 speed=100000",
		"CONFIG_DB DSCP_TO_TC_MAP|m": "46=5", "CONFIG_DB SCHEDULER|p@3": "type=STRICT", "CONFIG_DB SCHEDULER|p@1": "weight=7",
		"CONFIG_DB PORT_QOS_MAP|Ethernet0": "dscp_to_tc_map=m", "CONFIG_DB QUEUE|Ethernet0|1,3": "wred_profile=w",
		"APPL_DB PORT_TABLE:Ethernet0": "lanes=0", "APPL_DB PORT_TABLE:Ethernet4": "lanes=4",
		queueNames: "Ethernet0:0=oid:0x1 Ethernet0:1=oid:0x2 Ethernet0:2=oid:0x3 Ethernet0:3=oid:0x4",
	}
}

// The state of classes, queues and schedulers is what is in force, not what is configured.
func TestStateOfQoS(t *testing.T) {
	b := newBed(t, nil)
	b.rows(qosSwitchRows())
	const (
		classifier = "/qos/classifiers/classifier[name=m_ipv6]"
		dscp       = classifier + "/terms/term[id=5]/conditions/ipv6/state/dscp-set"
		scheduler  = "/qos/scheduler-policies/scheduler-policy[name=p]/schedulers/scheduler"
		weight     = scheduler + "[sequence=1]/inputs/input[id=1]/state/weight"
		port       = "/qos/interfaces/interface[interface-id=Ethernet0]"
		policy     = port + "/output/scheduler-policy/state/name"
		profile    = port + "/output/queues/queue[name=1]/state/queue-management-profile"
		inbound    = port + "/input/classifiers/classifier[type=IPV6]/state/name"
	)
	b.shows(t, map[string]string{dscp: "", weight: "", policy: "", profile: "", inbound: "",
		classifier + "/state/type": "", scheduler + "[sequence=0]/state/priority": ""})
	b.rows(map[string]string{
		"APPL_DB DSCP_TO_TC_MAP_TABLE:m": "46=5", "APPL_DB PORT_QOS_MAP_TABLE:Ethernet0": "dscp_to_tc_map=m",
		"APPL_DB SCHEDULER_TABLE:p@3": "type=STRICT", "APPL_DB SCHEDULER_TABLE:p@1": "type=WRR weight=7",
		"APPL_DB QUEUE_TABLE:Ethernet0:1,3": "scheduler=p@1 wred_profile=w",
	})
	b.shows(t, map[string]string{
		dscp: "[46]", weight: `"7"`, profile: `"w"`, inbound: `"m_ipv6"`, classifier + "/state/type": `"IPV6"`,
		scheduler + "[sequence=0]/state/priority": `"STRICT"`, policy: `"Ethernet0"`,
		classifier + "/terms/term[id=5]/actions/state/target-group": `"5"`,
	})
	b.rows(map[string]string{"APPL_DB QUEUE_TABLE:Ethernet0:1,3": ""})
	b.rows(map[string]string{"APPL_DB QUEUE_TABLE:Ethernet0:1": "scheduler=p@1", "APPL_DB DSCP_TO_TC_MAP_TABLE:m": "40=5",
		"APPL_DB SCHEDULER_TABLE:p@1": "weight=8"})
	b.shows(t, map[string]string{dscp: "[40,46]", weight: `"8"`, profile: "", policy: ""}) // a part of the policy
	b.rows(map[string]string{"APPL_DB QUEUE_TABLE:Ethernet0:3": "scheduler=p@3"})
	b.shows(t, map[string]string{policy: `"p"`})
}

// The queue of a class is that which all ports have, and unknown if they differ.
func TestQueueOfClass(t *testing.T) {
	b := newBed(t, nil)
	b.rows(qosSwitchRows())
	queue := func(want string) {
		t.Helper()
		b.shows(t, map[string]string{qosGroup5 + "/state/output-queue": want})
	}
	queue(`"3"`) // the last queue, without maps
	b.rows(map[string]string{"APPL_DB TC_TO_QUEUE_MAP_TABLE:q": "5=1",
		"APPL_DB PORT_QOS_MAP_TABLE:Ethernet0": "tc_to_queue_map=q"})
	queue("")
	b.rows(map[string]string{"APPL_DB PORT_QOS_MAP_TABLE:Ethernet4": "tc_to_queue_map=q"})
	queue(`"1"`)
	b.rows(map[string]string{"APPL_DB TC_TO_QUEUE_MAP_TABLE:q": ""})
	queue("")
	b.rows(map[string]string{"APPL_DB TC_TO_QUEUE_MAP_TABLE:q": "4=2"})
	queue(`"0"`) // a map that does not name the class
	b.rows(map[string]string{queueNames: ""})
	b.rows(map[string]string{"APPL_DB PORT_QOS_MAP_TABLE:Ethernet0": "", "APPL_DB PORT_QOS_MAP_TABLE:Ethernet4": ""})
	queue("") // the number of queues is not known
}

// A subscriber is notified of changes of each row from which a value follows.
func TestQoSOnChange(t *testing.T) {
	b := newBed(t, nil)
	b.rows(qosSwitchRows())
	const policy = "/qos/interfaces/interface[interface-id=Ethernet4]/output/scheduler-policy/config/name"
	s := b.subscribe(streamOf(subOf(onChange, policy), subOf(onChange, qosGroup5+"/config/output-queue")))
	s.want("U "+qosGroup5+`/config/output-queue "3"`, "S")
	b.rows(map[string]string{"CONFIG_DB QUEUE|Ethernet4|1": "scheduler=p@1"})
	b.rows(map[string]string{"CONFIG_DB QUEUE|Ethernet4|3": "scheduler=p@3"})
	s.want("U " + policy + ` "p"`)
	b.rows(map[string]string{"CONFIG_DB SCHEDULER|p@2": "weight=1"})
	s.want("D " + policy)
	b.rows(map[string]string{"CONFIG_DB TC_TO_QUEUE_MAP|q": "5=1"})
	b.rows(map[string]string{"CONFIG_DB PORT_QOS_MAP|Ethernet0": "tc_to_queue_map=q"})
	s.want("D " + qosGroup5 + "/config/output-queue")
	b.rows(map[string]string{"CONFIG_DB PORT_QOS_MAP|Ethernet4": "tc_to_queue_map=q"})
	s.want("U " + qosGroup5 + `/config/output-queue "1"`)
}

// The configuration of a switch can be written back at the root and at /qos, and changes no row, whatever the rows are.
func TestQoSIsRepeated(t *testing.T) {
	for _, more := range []map[string]string{
		{}, // a part of a policy, and a map that a row for several ports has
		{"CONFIG_DB QUEUE|Ethernet0|1,3": "scheduler=p@1", "CONFIG_DB PORT_QOS_MAP|Ethernet0,Ethernet4": "dscp_to_tc_map=m",
			"CONFIG_DB PORT_QOS_MAP|Ethernet0": ""},
		{"CONFIG_DB QUEUE|Ethernet4|1": "scheduler=p@1", "CONFIG_DB QUEUE|Ethernet4|3": "scheduler=p@3 wred_profile=w"},
		{"CONFIG_DB QUEUE|Ethernet4|1": "scheduler=p@1", "CONFIG_DB QUEUE|Ethernet4|2": "scheduler=none"},
		{"CONFIG_DB QUEUE|Ethernet4|2": "scheduler=s", "CONFIG_DB QUEUE|Ethernet4|0": "scheduler=t",
			"CONFIG_DB SCHEDULER|s": "type=STRICT", "CONFIG_DB SCHEDULER|t": "type=WRR weight=5"},
		{"CONFIG_DB TC_TO_QUEUE_MAP|q": "5=1 7=2", "CONFIG_DB PORT_QOS_MAP|Ethernet0": "tc_to_queue_map=q",
			"CONFIG_DB PORT_QOS_MAP|Ethernet4": "tc_to_queue_map=q"},
		{"CONFIG_DB TC_TO_QUEUE_MAP|q": "5=1 7=2", "CONFIG_DB TC_TO_QUEUE_MAP|r": "5=2 7=2",
			"CONFIG_DB PORT_QOS_MAP|Ethernet0": "tc_to_queue_map=q", "CONFIG_DB PORT_QOS_MAP|Ethernet4": "tc_to_queue_map=r"},
		{"CONFIG_DB PORT_QOS_MAP|Ethernet4": "dscp_to_tc_map=bad", "CONFIG_DB TC_TO_QUEUE_MAP|q": "7=1",
			"CONFIG_DB DSCP_TO_TC_MAP|bad": "77=1"},
		{"CONFIG_DB DSCP_TO_TC_MAP|m": "046=5 0x8=1", "CONFIG_DB DSCP_TO_TC_MAP|bad": "77=1"},
	} {
		b := newBed(t, nil)
		b.rows(qosSwitchRows())
		b.rows(map[string]string{"CONFIG_DB WRED_PROFILE|w": "green_drop_probability=5"})
		b.rows(more)
		rows := func() string { // ports and profiles get the words for what they lack
			lines := slices.DeleteFunc(strings.Split(b.config(), "\n"), func(line string) bool {
				table, _, _ := strings.Cut(line, "|")
				return table == "WRED_PROFILE" || table == "PORT" || strings.HasPrefix(line, "TAMTAM_MARK")
			})
			return strings.Join(lines, "\n")
		}
		before := rows()
		for _, at := range []string{"/qos", "/"} {
			resp := b.mustGet(&gpb.GetRequest{Path: []*gpb.Path{path(at)}, Type: gpb.GetRequest_CONFIG,
				Encoding: gpb.Encoding_JSON_IETF})
			text := resp.GetNotification()[0].GetUpdate()[0].GetVal().GetJsonIetfVal()
			for name, req := range map[string]*gpb.SetRequest{
				"replace": {Replace: []*gpb.Update{{Path: path(at), Val: ietf(string(text))}}},
				"update":  {Update: []*gpb.Update{{Path: path(at), Val: ietf(string(text))}}},
			} {
				if _, err := b.server.Set(b.ctx, req); err != nil {
					t.Fatalf("%v: %s of %s: %v\n%s", more, name, at, err, text)
				}
				if after := rows(); after != before {
					t.Fatalf("%v: %s of %s makes of\n%s\n%s", more, name, at, before, after)
				}
			}
		}
	}
}
