package qos

import (
	"strconv"
	"strings"

	"tamtam/mgmt/models/kit"
	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Paths of the lists.
const (
	classifierPath = "/qos/classifiers/classifier"
	termPath       = classifierPath + "/terms/term"
	groupPath      = "/qos/forwarding-groups/forwarding-group"
	queuePath      = "/qos/queues/queue"
	policyPath     = "/qos/scheduler-policies/scheduler-policy"
	schedulerPath  = policyPath + "/schedulers/scheduler"
	inputPath      = schedulerPath + "/inputs/input"
	portPath       = "/qos/interfaces/interface"
	inboundPath    = portPath + "/input/classifiers/classifier"
	outboundPath   = portPath + "/output/queues/queue"
	wredPath       = "/qos/queue-management-profiles/queue-management-profile"
)

// written is the reason why a list of views is not written by itself.
const written = "QoS is written in CONFIG_DB"

// A side is where rows are read: as they are configured, or as they are in force.
type side struct {
	at                                      string // container of the leaves
	db                                      swss.DBName
	port, maps, dscp, class, scheduler, row string // tables; row is that of the queues
}

var (
	config = side{"config", swss.ConfigDB, schema.CfgPort, schema.CfgPortQoS, schema.CfgDSCPToTC, schema.CfgTCToQueue,
		schema.CfgScheduler, schema.CfgQueue}
	state = side{"state", swss.ApplDB, schema.AppPort, schema.AppPortQoS, schema.AppDSCPToTC, schema.AppTCToQueue,
		schema.AppScheduler, schema.AppQueue}
)

// sides calls a function for both sides, and returns all of its rows.
func sides(of func(s side) []tree.Row) []tree.Row { return append(of(config), of(state)...) }

// all returns the row that combines all rows of a table.
func (s side) all(table string, leaves ...tree.Leaf) tree.Row {
	return tree.Row{DB: s.db, Table: table, Key: "{*}", Of: tree.AllFields, Leaves: leaves}
}

// each returns the row whose fields are entries of a list, made of all rows of a table. Those of the configuration make
// up the list.
func (s side) each(
	table, keys string, fold func(map[string]string) map[string]string, leaves ...tree.Leaf,
) tree.Row {
	r := s.all(table, leaves...)
	r.Each, r.Fold, r.Entry = keys, fold, s.db == swss.ConfigDB
	return r
}

// leaf returns a leaf of the side. In a path, $ stands for its container.
func (s side) leaf(path string, get func(r tree.Record) []string) tree.Leaf {
	return kit.Leaf(strings.Replace(path, "$", s.at, 1), tree.Codec{Get: get})
}

// Module returns the mapping of openconfig-qos.
func Module() tree.Module {
	id := tree.Codec{Get: func(r tree.Record) []string { return tree.One(r.Keys[0]) }}
	policy := config.leaf("output/scheduler-policy/$/name", portPolicy(config))
	return tree.Module{Name: "openconfig-qos", Groups: []tree.Group{
		{Path: classifierPath, View: written, Through: classifierThrough(), Rows: sides(classifierRows)},
		{Path: termPath, View: written, Through: termThrough(), Rows: sides(termRows)},
		{Path: groupPath, View: written, Through: groupThrough(), Rows: sides(groupRows)},
		{Path: queuePath, View: written, Through: queueThrough(), Rows: []tree.Row{queueRow()}},
		{Path: policyPath, View: written, Through: policyThrough(policyPath), Rows: []tree.Row{
			config.each(config.scheduler, "name", policies), config.each(config.row, "name", portPolicies),
		}},
		{Path: schedulerPath, View: written, Through: policyThrough(schedulerPath),
			Keys: map[string]tree.Codec{"sequence": {Get: sequence(config)}}, Rows: append(sides(schedulerRows),
				config.each(config.scheduler, "name sequence", schedulers),
				config.each(config.row, "name sequence", portSchedulers))},
		{Path: inputPath, View: written, Through: policyThrough(inputPath), Rows: append(sides(inputRows),
			config.each(config.scheduler, "name sequence id", inputs),
			config.each(config.row, "name sequence id", portInputs))},
		{Path: portPath, View: written, Through: portThrough(), Rows: []tree.Row{
			{DB: swss.ApplDB, Table: schema.AppPort, Key: "{interface-id}", Only: "Ethernet", Entry: true,
				Leaves: []tree.Leaf{kit.Leaf("interface-ref/state/interface", id)}},
			config.all(config.row, policy), config.all(config.scheduler, policy),
			state.all(state.row, state.leaf("output/scheduler-policy/$/name", portPolicy(state))),
			state.all(state.scheduler, state.leaf("output/scheduler-policy/$/name", portPolicy(state))),
		}},
		{Path: inboundPath, View: written, Through: inboundThrough(), Rows: sides(inboundRows)},
		{Path: outboundPath, View: written, Through: profileThrough(), Rows: append(sides(outboundRows),
			kit.QueueRow("{interface-id}:{name}",
				"transmit-pkts", "PACKETS", "transmit-octets", "BYTES",
				"dropped-pkts", "DROPPED_PACKETS", "dropped-octets", "DROPPED_BYTES",
				"ecn-marked-pkts", "WRED_ECN_MARKED_PACKETS", "max-queue-len", "WATERMARK_BYTES"))},
		{Path: wredPath, Rows: []tree.Row{
			{DB: swss.ConfigDB, Table: schema.CfgWRED, Key: "{name}", Entry: true, Leaves: wredLeaves("config")},
			{DB: swss.ApplDB, Table: schema.AppWRED, Key: "{name}", Leaves: wredLeaves("state")},
		}},
	}}
}

func classifierRows(s side) []tree.Row {
	return []tree.Row{s.each(s.dscp, "name", classifiers,
		s.leaf("$/type", func(r tree.Record) []string { return tree.One(r.Field("type")) }))}
}

func termRows(s side) []tree.Row {
	of := func(kind string) func(tree.Record) []string {
		return func(r tree.Record) []string {
			if r.Field("type") != kind {
				return nil
			}
			return strings.Split(r.Field("dscp"), ",")
		}
	}
	return []tree.Row{s.each(s.dscp, "name id", terms,
		s.leaf("conditions/ipv4/$/dscp-set", of(ipv4)), s.leaf("conditions/ipv6/$/dscp-set", of(ipv6)),
		s.leaf("actions/$/target-group", func(r tree.Record) []string { return tree.One(r.Keys[1]) }))}
}

func groupRows(s side) []tree.Row {
	queue := s.leaf("$/output-queue", outputQueue(s))
	rows := []tree.Row{s.all(s.class, queue), s.all(s.maps, queue), s.all(s.port, queue),
		{DB: swss.CountersDB, Table: schema.CountersTable, Map: schema.CountersQueueNameMap, Key: "{*}",
			Leaves: []tree.Leaf{queue}}}
	if s.db == swss.ConfigDB {
		rows = append(rows, s.each(s.class, "name", mappedClasses), s.each(s.dscp, "name", usedClasses))
	}
	return rows
}

// queueRow returns the row of the queues of a number, of all ports.
func queueRow() tree.Row {
	number := func(r tree.Record) []string { return tree.One(r.Keys[0]) }
	return tree.Row{DB: swss.CountersDB, Table: schema.CountersTable, Map: schema.CountersQueueNameMap,
		Key: "{*}:{name}", Entry: true,
		Leaves: []tree.Leaf{config.leaf("$/queue-id", number), state.leaf("$/queue-id", number)}}
}

func schedulerRows(s side) []tree.Row {
	strict := s.leaf("$/priority", func(r tree.Record) []string {
		if r.Keys[1] != strictSequence || sequence(s)(r) == nil {
			return nil
		}
		return tree.One("STRICT")
	})
	return []tree.Row{s.all(s.scheduler, strict), s.all(s.row, strict)}
}

func inputRows(s side) []tree.Row {
	get := func(value func(r tree.Record, x schema.Scheduler) string) func(tree.Record) []string {
		return func(r tree.Record) []string {
			x, there := s.of(r)[r.Keys[2]]
			if !there || sequenceOf(x) != r.Keys[1] {
				return nil
			}
			return tree.One(value(r, x))
		}
	}
	leaves := []tree.Leaf{
		s.leaf("$/input-type", get(func(tree.Record, schema.Scheduler) string { return inputQueue })),
		s.leaf("$/queue", get(func(r tree.Record, _ schema.Scheduler) string { return r.Keys[2] })),
		s.leaf("$/weight", get(func(r tree.Record, x schema.Scheduler) string {
			if x.Type == schema.SchedulerStrict {
				return r.Keys[2]
			}
			return strings.TrimPrefix(strconv.Itoa(int(x.Weight)), "0") // without one, it is not configured
		})),
	}
	return []tree.Row{s.all(s.scheduler, leaves...), s.all(s.row, leaves...)}
}

func inboundRows(s side) []tree.Row {
	return []tree.Row{s.each(s.maps, "interface-id type", inbound,
		s.leaf("$/name", func(r tree.Record) []string { return tree.One(r.Field("name")) }))}
}

func outboundRows(s side) []tree.Row {
	return []tree.Row{s.each(s.row, "interface-id name", configuredQueues,
		s.leaf("$/queue-management-profile", func(r tree.Record) []string { return tree.One(r.Field("wred_profile")) }))}
}

// wredLeaves returns the leaves of a profile. Only green packets matter, since all packets of this switch are green.
func wredLeaves(at string) []tree.Leaf {
	ecn := kit.Words("ecn", "false", "true", "ecn_all", "true", "ecn_green", "true", "ecn_green_yellow",
		"true", "ecn_green_red", "false", "ecn_none")
	at = "wred/uniform/" + at
	return []tree.Leaf{
		kit.Leaf(at+"/min-threshold", kit.Number("green_min_threshold", "%d")),
		kit.Leaf(at+"/max-threshold", kit.Number("green_max_threshold", "%d")),
		kit.Leaf(at+"/max-drop-probability-percent", kit.Number("green_drop_probability", "%d")),
		kit.Leaf(at+"/drop", kit.Words("wred_green_enable", "false", "true", "true", "false", "false")),
		kit.Leaf(at+"/enable-ecn", ecn),
	}
}
