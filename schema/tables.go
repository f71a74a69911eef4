package schema

import (
	"cmp"
	"slices"
	"strings"
)

// A Table is an entry of the table of tables: a kind of rows, and what it is called in each
// database. What managers, reports and docs/databases.md know of tables and their fields they
// know from [Tables].
type Table struct {
	Config, Appl, State, Counters string // its name in each database; "": it is not there
	Words                         string // what a row is, in a sentence

	Key    string  // what rows are called, in words; "": the table is one row
	Fields []Field // of CONFIG_DB, or of the one database where the table is
	// Applied are the fields of APPL_DB where they are not those of CONFIG_DB.
	Applied []Field
	// Open says that fields which are not listed are ignored; otherwise they are refused.
	Open, AppliedOpen bool

	// Where STATE_DB says what became of the rows of CONFIG_DB: the field with the status, the
	// words for a row that is in force and for one that waits to be, and the word for a row that
	// asks for nothing, where there is one. With a reason beside it, such a row asks for something
	// and does not get it.
	Status, Good, Waiting, Off string

	// Parse reads a row of Fields, ParseApplied one of Applied; nil: nothing reads them as rows.
	Parse, ParseApplied func(key string, fields map[string]string) (Row, error)
}

// A Row is a typed row of any table.
type Row interface{ Fields() map[string]string }

// of completes an entry of [Tables] with what is known of its rows: they are like this one.
func of[T Row, P laidOut[T]](t Table, like T) Table {
	table, l := cmp.Or(t.Config, t.Appl, t.Counters, t.State), P(&like).layout()
	t.Key, t.Fields, t.Open = l.key.form, l.described(), l.open
	t.Parse = func(key string, f map[string]string) (Row, error) {
		row := like
		err := P(&row).layout().parse(table, key, f)
		return row, err
	}
	if t.Config != "" && t.State != "" && t.Status == "" {
		t.Status, t.Good, t.Waiting = FieldStatus, StatusActive, cmp.Or(t.Waiting, StatusPending)
	}
	return t
}

// ofBoth is of for a table whose rows in APPL_DB are like another one.
func ofBoth[T Row, P laidOut[T], A Row, Q laidOut[A]](t Table, config T, appl A) Table {
	both := of[T, P](t, config)
	applied := of[A, Q](Table{Appl: t.Appl}, appl)
	both.Applied, both.AppliedOpen, both.ParseApplied = applied.Fields, applied.Open, applied.Parse
	return both
}

// described are the fields as an entry of [Tables] has them.
func (l layout) described() []Field {
	list := make([]Field, len(l.fields))
	for i, f := range l.fields {
		list[i] = f.described()
	}
	return list
}

// Tables returns the table of tables, in the order in which an operator looks for what is wrong:
// ports and what is made of them, forwarding, QoS, ACLs, telemetry; then what is only measured.
func Tables() []Table {
	return slices.Concat(switchTables(), interfaceTables(), qosTables(), aclTables(), tamTables(), measuredTables())
}

func switchTables() []Table {
	return []Table{
		of(Table{Config: CfgDeviceMetadata, Words: "The switch itself."}, DeviceMetadata{}),
		withCapabilities(of(Table{Config: CfgSwitch, Appl: AppSwitch, State: StateSwitch,
			Words: "What holds for the switch as a whole. In APPL_DB also what the ASIC can do."}, Switch{})),
		of(Table{Config: CfgBreakout, State: StateBreakout, Words: "How a cage is divided into ports."}, Breakout{}),
		of(Table{Config: CfgPort, Appl: AppPort, State: StatePort, Words: "A port."}, Port{}),
		of(Table{Config: CfgPortChannel, Appl: AppLAG, State: StateLAG, Words: "A PortChannel."}, PortChannel{}),
		of(Table{Config: CfgPortChannelMbr, Appl: AppLAGMember, State: StateLAGMember, Words: "A port of a PortChannel."},
			PortChannelMember{}),
		of(Table{Config: CfgVLAN, Appl: AppVLAN, State: StateVLAN, Words: "A VLAN."}, VLAN{}),
		of(Table{Config: CfgVLANMember, Appl: AppVLANMember, State: StateVLANMember,
			Words: "A port or PortChannel in a VLAN."}, VLANMember{}),
	}
}

// withCapabilities adds the fields in which orchagent says what the ASIC can do.
func withCapabilities(t Table) Table {
	t.Applied, t.AppliedOpen = append(slices.Clone(t.Fields),
		Field{Name: "tam-FEATURE-capable", Form: "true or false", Words: "Whether the ASIC can do the feature."},
		Field{Name: "tam-FEATURE-reason", Form: "text", Words: "Why not. FEATURE is its name in small letters."}), true
	return t
}

func interfaceTables() (list []Table) {
	for _, table := range InterfaceTables {
		list = append(list,
			of(Table{Config: table, Appl: AppInterface, State: StateInterface, Words: "An interface that routes."}, Interface{}),
			of(Table{Config: table, Appl: AppInterface, State: StateInterface,
				Words: "An address of an interface."}, InterfaceAddress{}))
	}
	return append(list,
		ofBoth(Table{Config: CfgStaticRoute, Appl: AppRoute, State: StateStaticRoute,
			Words: "A static route; in APPL_DB any route."}, StaticRoute{}, Route{}),
		of(Table{Config: CfgNeigh, Appl: AppNeigh, State: StateNeigh, Words: "A neighbour."}, Neighbor{}),
		of(Table{Config: CfgFDB, Appl: AppFDB, State: StateStaticFDB, Words: "Where a MAC address is."}, FDBEntry{}),
		of(Table{State: StateFDB, Words: "A MAC address in the ASIC, static or learned."}, FDBEntry{}))
}

func qosTables() []Table {
	same := func(config, appl, words string) Table {
		return Table{Config: config, Appl: appl, State: appl, Words: words}
	}
	return []Table{
		of(same(CfgDSCPToTC, AppDSCPToTC, "A map from DSCPs to traffic classes."), QoSMap{Table: CfgDSCPToTC}),
		of(same(CfgDot1pToTC, AppDot1pToTC, "A map from VLAN priorities to traffic classes."), QoSMap{Table: CfgDot1pToTC}),
		of(same(CfgTCToQueue, AppTCToQueue, "A map from traffic classes to queues."), QoSMap{Table: CfgTCToQueue}),
		of(same(CfgPortQoS, AppPortQoS, "The maps of ports."), PortQoS{}),
		of(same(CfgScheduler, AppScheduler, "How a queue shares its port."), Scheduler{}),
		of(same(CfgWRED, AppWRED, "How a queue drops or marks packets before it is full."), WRED{}),
		of(same(CfgQueue, AppQueue, "The scheduler and the WRED profile of queues."), Queue{}),
		of(same(CfgBufferPool, AppBufferPool, "A part of the packet memory."), BufferPool{}),
		of(same(CfgBufferProfile, AppBufferProfile, "How much of a pool a queue may take."), BufferProfile{}),
		of(same(CfgBufferQueue, AppBufferQueue, "The buffer profile of queues."), BufferQueue{}),
		of(Table{Config: CfgMirrorSession, Appl: AppMirrorSession, State: AppMirrorSession, Waiting: MirrorInactive,
			Words: "A session that copies packets."}, MirrorSession{}),
		of(same(CfgCOPPGroup, AppCOPP, "What becomes of packets for the CPU."), COPPGroup{}),
		of(Table{Config: CfgCOPPTrap, State: StateCOPPTrap,
			Words: "Which packets for the CPU belong to a group."}, COPPTrap{}),
		{Config: CfgFeature, Words: "A feature of SONiC.", Key: "a name", Open: true, Fields: []Field{
			{Name: "state", Form: "enabled, always_enabled or disabled", Words: "Whether the traps of the feature count."},
		}},
	}
}

func aclTables() []Table {
	return []Table{
		of(Table{Config: CfgACLTableType, Appl: AppACLTableType, State: StateACLTableType,
			Words: "What rules of ACL tables may match and do."}, ACLTableType{}),
		of(Table{Config: CfgACLTable, Appl: AppACLTable, State: StateACLTable,
			Status: FieldStatus, Good: ACLActive, Waiting: ACLPendingCreation,
			Words: "An ACL table."}, ACLTable{}),
		aclRules(Table{Config: CfgACLRule, Appl: AppACLRule, State: StateACLRule,
			Status: FieldStatus, Good: ACLActive, Waiting: ACLPendingCreation,
			Words: "A rule of an ACL table. Of tables of type TAM it is the match of a flow group."}),
		of(Table{Config: CfgFlexCounter, State: StateFlexCounter, Words: "Whether and how often counters are polled."},
			FlexCounter{}),
		of(Table{Config: CfgCRM, State: StateCRM, Words: "When the use of the ASIC's resources is worth a warning."}, CRM{}),
		{State: StateACLStageCap, Words: "What ACL tables of a stage can do.", Key: "INGRESS or EGRESS", Fields: []Field{
			{Name: "action_list", Form: "names of actions, separated by commas", Words: "What rules can do."},
			{Name: "is_action_list_mandatory", Form: "true or false", Words: "Whether a table has to say what its rules do."},
			{Name: "supported_L3V4V6", Form: "true or false", Words: "Whether a table can match both IPv4 and IPv6."},
		}},
	}
}

func tamTables() []Table {
	return []Table{
		ofBoth(Table{Config: CfgTAMSwitch, Appl: AppTAMSwitch, State: StateTAMSwitch,
			Words: "What the switch is called in what it sends; in APPL_DB what is in use."}, TAMSwitch{},
			TAMSwitchInUse{}),
		of(Table{Config: CfgTAMFeature, Appl: AppTAMFeature, State: StateTAMFeature,
			Status: FieldOpStatus, Good: FeatureActive, Waiting: FeatureInactive, Off: FeatureInactive,
			Words: "A feature of telemetry; in APPL_DB while it is active."}, Feature{}),
		of(Table{Config: CfgTAMCollector, Appl: AppTAMCollector, State: StateTAMCollector, Words: "Where reports are sent."},
			Collector{}),
		of(Table{Config: CfgTAMSampler, Appl: AppTAMSampler, State: StateTAMSampler,
			Words: "Which of many packets are taken."},
			Sampler{}),
		of(Table{Config: CfgTAMFlowGroup, State: StateTAMFlowGroup, Words: "A named match of packets."}, FlowGroup{}),
		ofBoth(Table{Config: CfgTAMTailStamp, Appl: AppTAMTailStamp, State: StateTAMTailStamp,
			Words: "A session that stamps the packets of a flow group."}, TailStampSession{}, TailStampFlow{}),
		ofBoth(Table{Config: CfgTAMAltMark, Appl: AppTAMAltMark, State: StateTAMAltMark,
			Words: "A session that marks the packets of a flow group in turn, and counts them by colour."},
			AltMarkSession{}, AltMarkFlow{}),
		ofBoth(Table{Config: CfgTAMFlyMonTask, Appl: AppTAMFlyMonTask, State: StateTAMFlyMonTask,
			Words: "A task that measures flows by a sketch."}, FlyMonTask{}, FlyMonFlow{}),
		of(Table{Config: CfgTAMFlyMonQuery, Appl: AppTAMFlyMonQuery, State: StateTAMFlyMonQuery,
			Words: "A flow that a task is asked about in each epoch."}, FlyMonQuery{}),
		ofBoth(Table{Config: CfgTAMTableRecord, Appl: AppTAMTableRecord, State: StateTAMTableRecord,
			Words: "A session that records which tables the packets of a flow group ran."},
			RecordSession{}, RecordFlow{}),
	}
}

func measuredTables() []Table {
	names := func(table, of, to, words string) Table {
		return Table{Counters: table, Words: words, Fields: []Field{{Name: of, Form: to}}}
	}
	const oid = "object id"
	return []Table{
		{Counters: CountersTable, Words: "The counters of a port, queue or ACL counter, by their names in SAI.", Key: oid},
		names(CountersPortNameMap, "port", oid, "The ports."),
		names(CountersLAGNameMap, "PortChannel", oid, "The PortChannels."),
		names(CountersQueueNameMap, "port:number", oid, "The queues."),
		names(CountersQueuePortMap, "object id of a queue", "that of its port", "The ports of queues."),
		names(CountersQueueIndexMap, "object id of a queue", "its number", "The numbers of queues."),
		names(CountersQueueTypeMap, "object id of a queue", "its type in SAI", "The types of queues."),
		names(CountersACLRuleMap, "table:rule", oid,
			"The ACL counters of rules. Of alternate marking a flow group has one for each colour, TAM:name:0 and "+
				"TAM:name:1; behind the flow group stands the name of the feature, where it is not the first that uses it."),
		{Counters: CountersCRM, Words: "How much of the ASIC's resources is in use.",
			Key: "STATS or ACL_STATS:stage:bind point", Fields: []Field{
				{Name: "crm_stats_RESOURCE_used", Form: "a number", Words: "Objects in use."},
				{Name: "crm_stats_RESOURCE_available", Form: "a number", Words: "Objects for which there is room."},
			}},
		of(Table{Counters: CountersTailStamp, Words: "What became of the packets of a session of tail-stamping."},
			TailStampCounters{}),
		of(Table{Counters: CountersAltMark,
			Words: "How a session of alternate marking is measured, and its last whole period."},
			AltMarkCounters{}),
		{Counters: CountersAltMarkPast, Words: "The last periods of a session.", Key: "the session's name", Fields: []Field{{
			Name: "number of the period", Form: "JSON", Words: "The fields of TAM_ALTMARK_COUNTERS from PERIOD on.",
		}}},
		of(Table{Counters: CountersAltMarkPath,
			Words: "What a collector knows of the last period of a path between two switches."},
			AltMarkResult{}),
		of(Table{Counters: CountersRecord, Words: "What a session of table recording has recorded."}, RecordCounters{}),
		{Counters: CountersRecordPlan,
			Words: "The plan that a session of table recording records by.", Key: "the session's name",
			Fields: recordPlanFields()},
		of(Table{Counters: CountersFlyMonPlace, Words: "Where a task is, or, of a plan, would go, and what it takes."},
			FlyMonPlacement{}),
		of(Table{Counters: CountersFlyMonGroup, Words: "What of a CMU group is in use."}, FlyMonGroup{}),
		of(Table{Counters: CountersFlyMonResult, Words: "A task's last epoch; without epochs all that was counted so far."},
			FlyMonResult{}),
		{Counters: CountersFlyMonFlows, Words: "Flows of a task's last epoch.", Key: "the task's name",
			Fields: []Field{{Name: "flow", Form: estimateForm}}},
		{Counters: CountersFlyMonSizes,
			Words: "How many flows of a task's last epoch have which size.", Key: "the task's name",
			Fields: []Field{{Name: "least size", Form: estimateForm,
				Words: "Of the number of flows from it to less than its double."}}},
		{Counters: CountersFlyMonAnswer, Words: "The last answer to a query.", Key: "the query's name", Fields: []Field{
			{Name: "TASK", Form: "a name", Words: "The task that was asked."},
			{Name: "FLOW", Form: "text", Words: "Of which flow."},
			{Name: "EPOCH", Form: "a number", Words: "Number of the epoch."},
			{Name: "START", Form: "a number", Words: "In ns since 1970."},
			{Name: "END", Form: "a number", Words: "In ns since 1970."},
			{Name: "FLAGS", Form: "text", Words: "What is wrong with the epoch."},
			{Name: "ESTIMATE", Form: estimateForm, Words: "The answer."},
		}},
	}
}

const estimateForm = "JSON of an estimate"

// StatusTables lists the tables of STATE_DB whose rows say what became of the rows of CONFIG_DB,
// under the same keys. No daemon reports to another table (device tests hold that).
func StatusTables() (list []Table) {
	for _, t := range Tables() {
		if t.Status != "" && !slices.ContainsFunc(list, func(o Table) bool { return o.State == t.State }) {
			list = append(list, t)
		}
	}
	return list
}

// TableOf returns the entry of a table of CONFIG_DB.
func TableOf(config string) Table {
	all := Tables()
	return all[slices.IndexFunc(all, func(t Table) bool { return t.Config == config })]
}

// CheckerOf returns what says what is wrong with a row of a table of CONFIG_DB; nil: there is no such
// table, or what a row may hold depends on others.
func CheckerOf(config string) func(key string, fields map[string]string) error {
	all := slices.DeleteFunc(Tables(), func(t Table) bool { return t.Config != config || t.Parse == nil })
	if len(all) == 0 || config == CfgACLRule {
		return nil
	}
	return func(key string, fields map[string]string) error {
		t := all[0]
		if IsAddressKey(key) {
			t = all[len(all)-1] // of interfaces: their addresses
		}
		_, err := t.Parse(key, fields)
		return err
	}
}

// FieldNames lists the names of the table's fields.
func (t Table) FieldNames() []string {
	names := make([]string, len(t.Fields))
	for i, f := range t.Fields {
		names[i] = f.Name
	}
	return names
}

// Object names the configured row that a status row speaks of: TABLE|key.
func (t Table) Object(key string) string {
	if t.State == StateInterface { // of interfaces there are four tables
		name, _, _ := strings.Cut(key, "|")
		return InterfaceTable(name) + "|" + key
	}
	return t.Config + "|" + key
}

// OK says whether a row of the table, by its status and reason, speaks of a row
// with which nothing is wrong. SONiC's words come in both cases.
func (t Table) OK(status, reason string) bool {
	return strings.EqualFold(status, t.Good) || t.Off != "" && status == t.Off && reason == ""
}
