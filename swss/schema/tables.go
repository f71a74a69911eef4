package schema

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// A Table is an entry of the table of tables: a kind of rows, and its name in each database. Managers, reports and
// docs/reference/databases.md get tables and their fields from [Tables].
type Table struct {
	Config, Appl, State, Counters string // name of the table in each database; "" if the database does not have it
	Words                         string // description of a row, in a sentence

	Key    string  // the form of the keys, in words; "" if the table has only one row
	Fields []Field // the fields in CONFIG_DB, or in the only database that has the table
	// Labels lists the labels of the metrics of a table of COUNTERS_DB, one for each part of a row's key.
	Labels []string
	// Idle lists fields of CONFIG_DB that have no effect, see [Table.WithoutEffect].
	Idle []string
	// Applied lists the fields of APPL_DB if they differ from those of CONFIG_DB.
	Applied []Field
	// Open means that fields which are not listed are ignored; otherwise they are refused.
	Open, AppliedOpen bool

	// Status is the field of STATE_DB with the status of a row of CONFIG_DB. Good and Waiting are the words for a row
	// that is in force and for one that waits. Off is the word for a row that configures nothing, if there is one.
	// With a reason, such a row configures something that is not applied. Unknown is the word for a row that was in
	// force when the state of the ASIC was last known.
	Status, Good, Waiting, Off, Unknown string

	keys knownKeys
	// examine reads a row like Parse, for [UnappliedParts]; nil if the table has no layout.
	examine func(key string, fields map[string]string) *reader

	// Parse parses a row of Fields, ParseApplied one of Applied. They are nil if the rows are not parsed.
	Parse, ParseApplied func(key string, fields map[string]string) (Row, error)
}

// knownKeys lists the keys of a table. If read is not nil, a daemon reads only these; sonic lists keys of SONiC that no
// daemon reads.
type knownKeys struct{ read, sonic []string }

// A Row is a typed row of any table.
type Row interface{ Fields() map[string]string }

// of completes an entry of [Tables] with the properties of its rows, from an example.
func of[T Row, P laidOut[T]](t Table, like T) Table {
	table, l := cmp.Or(t.Config, t.Appl, t.Counters, t.State), P(&like).layout()
	t.Key, t.Fields, t.Idle, t.Open = l.key.form, l.described(), l.idle(), l.open
	t.Parse = func(key string, f map[string]string) (Row, error) {
		row := like
		err := P(&row).layout().parse(table, key, f)
		return row, err
	}
	t.examine = func(key string, f map[string]string) *reader {
		row := like
		return P(&row).layout().examine(table, key, f)
	}
	if t.Config != "" && t.State != "" && t.Status == "" {
		t.Status, t.Good, t.Waiting = FieldStatus, StatusActive, cmp.Or(t.Waiting, StatusPending)
		t.Unknown = StatusUnknown
	}
	return t
}

// ofBoth does the same as the function of, for a table whose rows in APPL_DB have another type.
func ofBoth[T Row, P laidOut[T], A Row, Q laidOut[A]](t Table, config T, appl A) Table {
	both := of[T, P](t, config)
	applied := of[A, Q](Table{Appl: t.Appl}, appl)
	both.Applied, both.AppliedOpen, both.ParseApplied = applied.Fields, applied.Open, applied.Parse
	return both
}

// described returns the fields for an entry of [Tables].
func (l layout) described() []Field {
	list := make([]Field, 0, len(l.fields))
	for _, f := range l.fields {
		if f.kind != ignoredKind {
			list = append(list, f.described())
		}
	}
	return list
}

// idle returns the fields without effect.
func (l layout) idle() (fields []string) {
	for _, f := range l.fields {
		if f.kind == ignoredKind {
			fields = append(fields, f.words...)
		}
	}
	return fields
}

// WithoutEffect describes the fields in [Table.Idle]. A field that is listed with a value has an effect only if it has
// that value.
func (t Table) WithoutEffect() []string {
	words := slices.Clone(t.Idle)
	for i, f := range words {
		if name, value, only := strings.Cut(f, "="); only {
			words[i] = name + " (other than " + value + ")"
		}
	}
	return words
}

// Tables returns the table of tables, in the order in which an operator looks for problems: ports and their
// dependants, forwarding, QoS, ACLs, telemetry, then tables of measurements.
func Tables() []Table { return slices.Clone(tables()) }

// tables is built once, because that needs more time than reading thousands of rows. Entries are constant.
var tables = sync.OnceValue(func() []Table {
	configured, measured := featureTables()
	return slices.Concat(switchTables(), interfaceTables(), qosTables(), sflowTables(), debugCounterTables(), hftTables(),
		microburstTables(),
		aclTables(), tamTables(), sonicTAMTables(), configured, outputTables(), measuredTables(), measured)
})

func switchTables() []Table {
	return []Table{
		of(Table{Config: CfgDeviceMetadata, Words: "The switch itself.",
			keys: knownKeys{[]string{MetadataKey}, []string{"bmc"}}}, DeviceMetadata{}),
		of(Table{Config: CfgSwitch, Appl: AppSwitch, State: StateSwitch, Words: "What holds for the switch as a whole."},
			Switch{}),
		switchHashTable(), trimmingTable(),
		of(Table{Config: CfgBreakout, State: StateBreakout, Words: "How a cage is divided into ports."}, Breakout{}),
		of(Table{Config: CfgPort, Appl: AppPort, State: StatePort, Words: "A port."}, Port{}),
		of(Table{Config: CfgPortChannel, Appl: AppLAG, State: StateLAG, Words: "A PortChannel."}, PortChannel{}),
		of(Table{Config: CfgPortChannelMbr, Appl: AppLAGMember, State: StateLAGMember, Words: "A port of a PortChannel."},
			PortChannelMember{}),
		lacpTable(), lacpMemberTable(),
		of(Table{Config: CfgVLAN, Appl: AppVLAN, State: StateVLAN, Words: "A VLAN."}, VLAN{}),
		of(Table{Config: CfgVLANMember, Appl: AppVLANMember, State: StateVLANMember,
			Words: "A port or PortChannel in a VLAN."}, VLANMember{}),
	}
}

// lacpTable returns the table with the state of PortChannels that use LACP.
func lacpTable() Table {
	return Table{State: StateLACP, Words: "A PortChannel with LACP.", Key: "PortChannelN", Fields: []Field{
		{Name: "links", Form: "a number", Words: "How many of its members carry traffic."},
		{Name: FieldReason, Form: "text or nothing", Words: "Why LACP does not consider it up."},
		{Name: "partner", Form: "MAC address or nothing", Words: "The switch at the other end."},
		{Name: "key", Form: "1..65535", Words: "The key of its ports."},
		{Name: FieldIncarnation, Form: "text or nothing", Words: "That of LAG_TABLE which the row is about."},
		{Name: "team_device.ifinfo.dev_addr", Form: "MAC address", Words: "The switch itself, in LACP."},
		{Name: "runner.active", Form: "true", Words: "Whether LACP is active: it sends LACPDUs without receiving any."},
		{Name: "runner.fast_rate", Form: "true or false", Words: "As configured."},
		{Name: "runner.fallback", Form: "true or false", Words: "As configured."},
	}}
}

// lacpMemberTable returns the table with the state of the members of PortChannels that use LACP.
func lacpMemberTable() Table {
	fields := []Field{
		{Name: FieldMux, Form: "detached, waiting, attached, collecting or distributing",
			Words: "What the member may do: tammgrd follows it."},
		{Name: FieldReason, Form: "text or nothing", Words: "Why it does not carry traffic."},
		{Name: FieldIncarnation, Form: "text or nothing",
			Words: "That of LAG_MEMBER_TABLE which the row is about: tammgrd takes no other."},
		{Name: "runner.state", Form: "disabled, expired, defaulted or current", Words: "Whether the partner is heard."},
		{Name: "runner.selected", Form: "true or false", Words: "Whether its partner is that of the PortChannel."},
		{Name: "runner.aggregator.selected", Form: "true or false", Words: "Whether it carries traffic."},
		{Name: "link.up", Form: "true or false", Words: "Whether the port is up."},
		{Name: "fallback", Form: "true or false", Words: "Whether it carries traffic though no partner is heard."},
		{Name: "churned", Form: "actor, partner, both or nothing",
			Words: "The ends that have been out of sync for a minute."},
	}
	for _, who := range []string{"actor", "partner"} {
		for _, what := range []string{"system", "system_priority", "key", "port", "port_priority", "state"} {
			f := Field{Name: "runner." + who + "_lacpdu_info." + what, Form: "a number"}
			if what == "system" {
				f.Form, f.Words = "MAC address", "The "+who+"'s own data; the state has eight bits, activity lowest."
			}
			fields = append(fields, f)
		}
	}
	return Table{State: StateLACPMember,
		Words: "A member of a PortChannel with LACP, as the daemon with the CPU port has it.",
		Key:   "PortChannelN|port", Fields: fields}
}

// TeamdFields returns the fields that SONiC's teamd daemons write to a row of stateTable, which is [StateLAG] or
// [StateLAGMember]. Those of [StateLACP] and [StateLACPMember] have the same names, all with a dot.
func TeamdFields(stateTable string) []string {
	of := lacpTable()
	if stateTable == StateLAGMember {
		of = lacpMemberTable()
	}
	return slices.DeleteFunc(of.FieldNames(), func(f string) bool { return !strings.Contains(f, ".") })
}

func interfaceTables() (list []Table) {
	list = append(list, of(Table{Config: CfgVRF, Appl: AppVRF, State: StateVRF,
		Words: "A VRF besides the default one: interfaces with routes of their own."}, VRF{}))
	for _, table := range RoutedTables {
		row := of(Table{Config: table, Appl: AppInterface, State: StateInterface, Words: "An interface that routes."},
			Interface{})
		if table == CfgVLANSubInterface {
			row = of(Table{Config: table, Appl: AppInterface, State: StateInterface,
				Words: "A sub-port: it routes the frames of its port or PortChannel with a VLAN in their tag."}, SubInterface{})
		}
		list = append(list, row,
			of(Table{Config: table, Appl: AppInterface, State: StateInterface,
				Words: "An address of an interface."}, InterfaceAddress{}))
	}
	list = append(list, tunnelTables()...)
	return append(list,
		ofBoth(Table{Config: CfgStaticRoute, Appl: AppRoute, State: StateStaticRoute,
			Words: "A static route; in APPL_DB any route."}, StaticRoute{}, Route{}),
		Table{State: StateRoute, Status: FieldStatus, Good: StatusActive, Waiting: StatusPending, Unknown: StatusUnknown,
			Words: "A route of FRR, or of another program that writes to APPL_DB, that is not in the ASIC.",
			Key:   "that of ROUTE_TABLE in APPL_DB; " + MoreRows + ": those above the first 1000", Fields: []Field{
				{Name: FieldStatus, Form: "pending or failed", Words: "Pending while a next hop is missing."},
				{Name: FieldReason, Form: "text", Words: "Why."},
				{Name: FieldSince, Form: "time", Words: "Time of the last change of the status."},
				{Name: FieldBy, Form: "orchagent", Words: "The daemon that writes the row."},
			}},
		of(Table{Config: CfgNeigh, Appl: AppNeigh, State: StateNeigh, Words: "A neighbour."}, Neighbor{}),
		Table{Appl: AppNeighResolve, Words: "A request to resolve a neighbour.", Key: "interface:address",
			Open: true},
		Table{Appl: AppLLDPEntry, Words: "An LLDP neighbour of a port, with what it announces.", Key: "port", Open: true},
		Table{State: StateHostNeigh, Words: "A neighbour in the table of hostd or hostifd. " +
			"What hostd has resolved is a row of NEIGH_TABLE, which is its own as long as this row is there.",
			Key: "interface|address", Fields: []Field{
				{Name: "state", Form: "INCOMPLETE, REACHABLE, STALE, DELAY, PROBE or FAILED",
					Words: "As in RFC 4861 and in Linux."},
				{Name: "neigh", Form: "MAC address or nothing", Words: "Its MAC address, if that is known."},
				{Name: "confirmed", Form: "time or nothing", Words: "When it was last heard of."},
			}},
		Table{State: StateHostAddress, Words: "An address that the switch has as a host.", Key: "interface|address/length",
			Fields: []Field{
				{Name: "state", Form: strings.Join([]string{
					AddressUsable, AddressTentative, AddressDuplicate}, ", ") + " or " + AddressConflict,
					Words: "Tentative while hosts are asked whether it is theirs; duplicate if it is, and so not used; " +
						"conflict if it is in use, and a host has it too."},
				{Name: FieldNeigh, Form: "MAC address or nothing", Words: "The host that has it too."},
			}},
		of(Table{Config: CfgFDB, Appl: AppFDB, State: StateStaticFDB, Words: "Where a MAC address is."}, FDBEntry{}),
		of(Table{State: StateFDB, Words: "A MAC address in the ASIC, static or learned."}, FDBEntry{}))
}

func qosTables() []Table {
	same := func(config, appl, words string) Table {
		return Table{Config: config, Appl: appl, State: appl, Words: words}
	}
	unread := func(t Table, keys ...string) Table {
		t.keys.sonic = keys
		return t
	}
	return []Table{
		of(same(CfgDSCPToTC, AppDSCPToTC, "A map from DSCPs to traffic classes."), QoSMap{Table: CfgDSCPToTC}),
		of(same(CfgDot1pToTC, AppDot1pToTC, "A map from VLAN priorities to traffic classes."), QoSMap{Table: CfgDot1pToTC}),
		of(same(CfgTCToQueue, AppTCToQueue, "A map from traffic classes to queues."), QoSMap{Table: CfgTCToQueue}),
		of(same(CfgTCToPG, AppTCToPG, "A map from traffic classes to ingress priority groups."), QoSMap{Table: CfgTCToPG}),
		of(same(CfgTCToDSCP, AppTCToDSCP, "A map from traffic classes to DSCPs."), QoSMap{Table: CfgTCToDSCP}),
		of(same(CfgPFCToQueue, AppPFCToQueue, "A map from priorities of flow control to queues."),
			QoSMap{Table: CfgPFCToQueue}),
		of(same(CfgPFCToPG, AppPFCToPG, "A map from priorities of flow control to ingress priority groups."),
			QoSMap{Table: CfgPFCToPG}),
		of(unread(same(CfgPortQoS, AppPortQoS, "The maps of ports."), PortQoSGlobal), PortQoS{}),
		of(same(CfgScheduler, AppScheduler, "How a queue shares its port."), Scheduler{}),
		of(same(CfgWRED, AppWRED, "How a queue drops or marks packets before it is full."), WRED{}),
		of(same(CfgQueue, AppQueue, "The scheduler and the WRED profile of queues."), Queue{}),
		of(same(CfgBufferPool, AppBufferPool, "A part of the packet memory."), BufferPool{}),
		of(same(CfgBufferProfile, AppBufferProfile, "How much of a pool a queue or a priority group may take."),
			BufferProfile{}),
		of(same(CfgBufferQueue, AppBufferQueue, "The buffer profile of queues."), BufferQueue{}),
		of(same(CfgBufferPG, AppBufferPG, "The buffer profile of ingress priority groups."), BufferPG{}),
		of(same(CfgBufferIngress, AppBufferIngress, "The buffer profiles of a port's priority groups together."),
			BufferProfiles{Table: CfgBufferIngress}),
		of(same(CfgBufferEgress, AppBufferEgress, "The buffer profiles of a port's queues together."),
			BufferProfiles{Table: CfgBufferEgress}),
		of(Table{Config: CfgWatermark, State: StateWatermark,
			Words: "How often the periodic watermarks begin again."}, WatermarkPeriod{}),
		of(Table{Config: CfgMirrorSession, Appl: AppMirrorSession, State: AppMirrorSession, Waiting: MirrorInactive,
			Words: "A session that copies packets."}, MirrorSession{}),
		of(same(CfgCOPPGroup, AppCOPP, "The actions on packets for the CPU."), COPPGroup{}),
		of(Table{Config: CfgCOPPTrap, State: StateCOPPTrap,
			Words: "Which packets for the CPU belong to a group."}, COPPTrap{}),
		{Config: CfgFeature, Words: "A feature of SONiC.", Key: "a name", Open: true,
			keys: knownKeys{featureKeys(), sonicFeatureKeys}, Idle: sonicFeature, Fields: []Field{
				{Name: "state", Form: "enabled, always_enabled or disabled", Words: "Whether the traps of the feature count."},
			}},
	}
}

func aclTables() []Table {
	return []Table{
		of(Table{Config: CfgACLTableType, Appl: AppACLTableType, State: StateACLTableType,
			Words: "What rules of ACL tables may match and do."}, ACLTableType{}),
		of(Table{Config: CfgACLTable, Appl: AppACLTable, State: StateACLTable,
			Status: FieldStatus, Good: ACLActive, Waiting: ACLPendingCreation, Unknown: ACLUnknown,
			Words: "An ACL table."}, ACLTable{}),
		aclRules(Table{Config: CfgACLRule, Appl: AppACLRule, State: StateACLRule,
			Status: FieldStatus, Good: ACLActive, Waiting: ACLPendingCreation, Unknown: ACLUnknown,
			Words: "A rule of an ACL table. Of tables of type TAM it is the match of a flow group."}),
		of(Table{Config: CfgFlexCounter, State: StateFlexCounter, Words: "Whether and how often counters are polled.",
			keys: knownKeys{flexKeys(), sonicFlexKeys}}, FlexCounter{}),
		of(Table{Config: CfgCRM, State: StateCRM, Words: "When the use of the ASIC's resources is worth a warning."}, CRM{}),
		{State: StateACLStageCap, Words: "What ACL tables of a stage can do.", Key: "INGRESS or EGRESS", Fields: []Field{
			{Name: "action_list", Form: "names of actions, separated by commas", Words: "What rules can do."},
			{Name: "is_action_list_mandatory", Form: "true or false",
				Words: "Whether a table must list the actions of its rules."},
			{Name: "supported_L3V4V6", Form: "true or false", Words: "Whether a table can match both IPv4 and IPv6."},
		}},
		{State: StateSwitchCap, Words: "What the switch can do.", Key: "switch", Fields: append([]Field{
			{Name: FieldACLActions + StageIngress, Form: "names of actions, separated by commas",
				Words: "What rules can do at ingress."},
			{Name: FieldACLActions + StageEgress, Form: "names of actions, separated by commas",
				Words: "What rules can do at egress."},
			{Name: FieldPacketActions, Form: "words, separated by commas", Words: "The words that PACKET_ACTION can have."},
			{Name: "tam-FEATURE-capable", Form: "true or false", Words: "Whether the ASIC can do the feature."},
			{Name: "tam-FEATURE-reason", Form: "text", Words: "Why not. FEATURE is its name in small letters."},
		}, append(switchHashCapabilities(), trimmingCapabilities()...)...)},
	}
}

func tamTables() []Table {
	return []Table{
		ofBoth(Table{Config: CfgTAMSwitch, Appl: AppTAMSwitch, State: StateTAMSwitch,
			Words: "What the switch is called in what it sends; in APPL_DB what is in use."}, TAMSwitch{},
			TAMSwitchInUse{}),
		of(Table{Config: CfgTAMFeature, Appl: AppTAMFeature, State: StateTAMFeature,
			Status: FieldOpStatus, Good: FeatureActive, Waiting: FeatureInactive, Off: FeatureInactive, Unknown: FeatureUnknown,
			Words: "A feature of telemetry; in APPL_DB while it is active."}, Feature{}),
		of(Table{Config: CfgTAMCollector, Appl: AppTAMCollector, State: StateTAMCollector, Words: "Where reports are sent."},
			Collector{}),
		of(Table{Config: CfgTAMSampler, Appl: AppTAMSampler, State: StateTAMSampler,
			Words: "Which of many packets are taken."},
			Sampler{}),
		of(Table{Config: CfgTAMFlowGroup, State: StateTAMFlowGroup, Words: "A named match of packets."}, FlowGroup{}),
	}
}

func measuredTables() []Table {
	names := func(table, of, to, words string) Table {
		return Table{Counters: table, Words: words, Fields: []Field{{Name: of, Form: to}}}
	}
	const oid = "object id"
	return []Table{
		{Counters: CountersTable, Key: oid,
			Words: "The counters of a port, queue, priority group, buffer pool, policer or ACL counter, by their names in SAI.",
			Fields: []Field{{Name: FieldCountedSince + "GROUP", Form: "a time as in RFC 3339",
				Words: "Of a port and the switch: since when the counters that are polled as GROUP count, for as long the " +
					"object is in the chip that counts. Empty: not known, as where they were cleared in the chip."}}},
		{Counters: CountersCollected, Words: "When syncd last read the counters of a group.",
			Fields: []Field{{Name: "group", Form: "a time as in RFC 3339",
				Words: "The group is named as in FLEX_COUNTER_DB. A poll of more than 1000 objects has several times."}}},
		names(CountersPortNameMap, "port", oid, "The ports."),
		names(CountersLAGNameMap, "PortChannel", oid, "The PortChannels."),
		names(CountersSwitchNameMap, SwitchName, oid, "The switch."),
		names(CountersQueueNameMap, "port:number", oid, "The queues."),
		names(CountersQueuePortMap, "object id of a queue", "that of its port", "The ports of queues."),
		names(CountersQueueIndexMap, "object id of a queue", "its number", "The numbers of queues."),
		names(CountersQueueTypeMap, "object id of a queue", "its type in SAI", "The types of queues."),
		names(CountersPGNameMap, "port:number", oid, "The ingress priority groups."),
		names(CountersPGPortMap, "object id of a priority group", "that of its port", "The ports of priority groups."),
		names(CountersPGIndexMap, "object id of a priority group", "its number", "The numbers of priority groups."),
		names(CountersPoolNameMap, "row of BUFFER_POOL", oid, "The buffer pools."),
		names(CountersACLRuleMap, "table:rule", oid,
			"The ACL counters of rules. Of alternate marking a flow group has one for each colour, TAM:name:0 and "+
				"TAM:name:1; behind the flow group stands the name of the feature, where it is not the first that uses it."),
		names(CountersACLTableMap, "table", oid,
			"The ACL tables of the switch. Behind the table stands the name of the feature, where it has one of its own."),
		names(CountersPolicerNameMap, "group of COPP_GROUP", oid, "The policers of trap groups."),
		{Counters: CountersHost, Words: "The frames that hostd received, sent and dropped, and those of its CPU port. With " +
			"hostifd, the LLDP frames that it received and sent: Linux counts all others.",
			Key: "hostd or hostifd", Labels: []string{"daemon"},
			Fields: []Field{{Name: AnyName, Form: "a number", Words: "Frames or packets since the daemon began.",
				Metric: "host_packets_total"}}},
		{Counters: CountersLACP, Words: "What a member of a PortChannel with LACP has sent, received and left out.",
			Key: "PortChannelN:port", Labels: []string{"portchannel", "port"},
			Fields: []Field{{Name: AnyName, Form: "a number", Metric: "lacp_total",
				Words: "LACPDUs, markers, and how often its partner was not heard or it began or ceased to carry traffic."}}},
		wireTable(),
		{State: StatePacketTrace, Key: "id of the question",
			Words: "What became, or would become, of packets: answers of the operations trace-packet, why-flow, " +
				"list-drops, ping and traceroute. A row goes after a minute.",
			Fields: []Field{{Name: PacketTraceJSON, Form: "JSON", Words: "The answer."}}},
		unappliedTable(),
		{Counters: CountersCRM, Words: "How much of the ASIC's resources is in use.",
			Key: "STATS or ACL_STATS:stage:bind point", Fields: []Field{
				{Name: "crm_stats_RESOURCE_used", Form: "a number", Words: "Objects in use."},
				{Name: "crm_stats_RESOURCE_available", Form: "a number", Words: "Objects for which there is room."},
			}},
		{Counters: CountersCRM, Words: "The thresholds in percent of the resources of " + CountersCRM + ":STATS.",
			Key: CRMThresholds, Fields: []Field{
				{Name: "RESOURCE_high", Form: "a percentage", Words: "The use at which there is a warning."},
				{Name: "RESOURCE_low", Form: "a percentage", Words: "The use at which the warning ends."},
				{Name: "RESOURCE_exceeded", Form: "true or false", Words: "Whether there is a warning."},
			}},
	}
}

// StatusTables returns the tables of STATE_DB whose rows hold the status of the rows of CONFIG_DB, under the same
// keys. No daemon reports to another table (tests of package device check that).
func StatusTables() []Table { return slices.Clone(statusTables()) }

// statusTables is built once, too, because each part of each switch of a lab reads it.
var statusTables = sync.OnceValue(func() (list []Table) {
	for _, t := range tables() {
		if t.Status != "" && !slices.ContainsFunc(list, func(o Table) bool { return o.State == t.State }) {
			list = append(list, t)
		}
	}
	return list
})

// StatusTable returns the entry of a table of STATE_DB that is one of [StatusTables].
func StatusTable(state string) (t Table, ok bool) {
	all := statusTables()
	i := slices.IndexFunc(all, func(t Table) bool { return t.State == state })
	if i < 0 {
		return t, false
	}
	return all[i], true
}

// TableOf returns the entry of a table of CONFIG_DB.
func TableOf(config string) Table {
	all := tables()
	return all[slices.IndexFunc(all, func(t Table) bool { return t.Config == config })]
}

// TablesOf returns the entries of a table of CONFIG_DB: more than one if its rows are of several kinds.
func TablesOf(config string) (list []Table) {
	for _, t := range tables() {
		if t.Config == config {
			list = append(list, t)
		}
	}
	return list
}

// A Reference is a field of a table of CONFIG_DB that names a row of another table: see [Referred].
type Reference struct{ Table, Field, To string }

// ReferencesTo returns the fields that name rows of a table of CONFIG_DB.
func ReferencesTo(config string) (list []Reference) {
	for _, t := range tables() {
		for _, f := range t.Fields {
			if t.Config != "" && f.kind == refKind && f.Form == rowOf(config) {
				list = append(list, Reference{t.Config, f.Name, config})
			}
		}
	}
	return list
}

// CheckerOf returns a function that checks a row of a table of CONFIG_DB. It returns nil if there is no such table,
// or if a row's validity depends on other rows.
func CheckerOf(config string) func(key string, fields map[string]string) error {
	if RowOf(config, "") == nil {
		return nil
	}
	return func(key string, fields map[string]string) error {
		_, err := RowOf(config, key)(key, fields)
		return err
	}
}

// RowOf returns the parser for the row with a key of a table of CONFIG_DB. It returns nil if there is no such table,
// or if a row's validity depends on other rows.
func RowOf(config, key string) func(key string, fields map[string]string) (Row, error) {
	var parse func(key string, fields map[string]string) (Row, error)
	for _, t := range tables() {
		if t.Config == config && config != "" && config != CfgACLRule && t.Parse != nil {
			parse = t.Parse
			if !IsAddressKey(key) {
				return parse
			} // else the last entry: for interfaces, their addresses
		}
	}
	return parse
}

// FieldNames returns the names of the table's fields.
func (t Table) FieldNames() []string {
	names := make([]string, len(t.Fields))
	for i, f := range t.Fields {
		names[i] = f.Name
	}
	return names
}

// SONiCFields returns the names of the fields in CONFIG_DB, with those that have no effect.
func (t Table) SONiCFields() []string {
	names := t.FieldNames()
	for _, f := range t.Idle {
		name, _, _ := strings.Cut(f, "=")
		names = append(names, name)
	}
	return names
}

// StatusKey returns the key of the status of a row of CONFIG_DB. It is the row's own key, unless that belongs to the
// status of another row: that of the table in which an interface should be, or that of the flow group whose ACL table
// has the same name.
func StatusKey(config, key string) string {
	name, _, _ := strings.Cut(key, "|")
	clash := slices.Contains(RoutedTables, config) && InterfaceTable(name) != config
	if config == CfgACLTable || config == CfgACLRule {
		_, clash = TAMGroupOf(name)
	}
	if clash {
		return config + "|" + key
	}
	return key
}

// Object returns the name TABLE|key of the configured row that a status row describes.
func (t Table) Object(key string) string {
	name, _, several := strings.Cut(key, "|")
	if t.State == StateInterface { // interfaces have several tables
		if slices.Contains(RoutedTables, name) {
			return key // see StatusKey
		}
		return InterfaceTable(name) + "|" + key
	}
	acl := t.State == StateACLTable || t.State == StateACLRule
	if acl && several && name == t.Config {
		return key
	}
	if group, ok := TAMGroupOf(key); ok && acl {
		return CfgTAMGroup + "|" + group // its ACL table and rules
	}
	return t.Rows() + "|" + key
}

// Rows returns the name of the table that the statuses describe: that in CONFIG_DB, or that in STATE_DB for rows that
// are not configured.
func (t Table) Rows() string { return cmp.Or(t.Config, t.State) }

// Classes of rows that are not in force.
const (
	Failed  = "failed"
	Pending = "pending"
	Unknown = "unknown" // the state of the ASIC is unknown
)

// Class returns the class of a row by its status and reason. It returns "" if the row is well, or has no status.
func (t Table) Class(status, reason string) string {
	switch {
	case status == "" || t.OK(status, reason):
		return "" // without a status the row may belong to another daemon
	case strings.EqualFold(status, t.Waiting), strings.EqualFold(status, ACLPendingRemoval):
		return Pending
	case strings.EqualFold(status, t.Unknown):
		return Unknown
	}
	return Failed
}

// OK reports whether status and reason of a row mean that it is well. SONiC's words occur in both cases.
func (t Table) OK(status, reason string) bool {
	return strings.EqualFold(status, t.Good) || t.Off != "" && status == t.Off && reason == ""
}
