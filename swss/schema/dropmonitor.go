package schema

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"tamtam/tam/dropreport"
)

// The drop monitor in the databases. TAM_SESSION and TAM_DROP_MONITOR_SESSION_TABLE are SONiC's own.
const (
	FeatureDropMonitor = "DROPMONITOR"

	CfgTAMSession       = "TAM_SESSION"
	AppTAMSession       = "TAM_SESSION_TABLE"
	StateTAMDropMonitor = "TAM_DROP_MONITOR_SESSION_TABLE"
	CountersDropMonitor = "TAM_DROP_MONITOR_COUNTERS" // :session -> see dropMonitorCounters
	// CountersManagementReports counts the reports that the host has sent for collectors of VRF mgmt, by DropStream.
	CountersManagementReports = "TAM_MANAGEMENT_REPORT_COUNTERS"
)

func dropMonitorTables() (configured, measured []Table) {
	session := ofBoth(Table{Config: CfgTAMSession, Appl: AppTAMSession, State: StateTAMDropMonitor,
		Status: FieldState, Good: StatusActive, Waiting: StatusPending, Unknown: StatusUnknown,
		Words: "A session that reports packets that the switch drops to collectors."}, DropSession{}, DropFlow{})
	drops := session.Parse
	session.Parse = func(key string, f map[string]string) (Row, error) {
		if SessionType(f) == SessionIFA {
			return ParseIFASession(key, f)
		}
		return drops(key, f)
	}
	return []Table{session}, []Table{
		counted(Table{Counters: CountersDropMonitor, Labels: []string{"session"},
			Words: "Reports of dropped packets, by session of the drop monitor."}, "the session's name",
			dropMonitorCounters()...),
		of(Table{Counters: CountersManagementReports, Labels: []string{"stream"},
			Words: "What the host, hostd or hostifd, has sent of the reports " +
				"that the switch has it send by the management interface."}, ManagementReports{}),
	}
}

// TAMInactive is SONiC's status word for a session that is not in the ASIC, for any reason.
const TAMInactive = "inactive"

// FieldState is the field of TAM_DROP_MONITOR_SESSION_TABLE that holds the status in the words of other tables, which
// distinguish waiting from refused sessions. SONiC's field status has only two words, and calls both inactive.
const FieldState = "state"

// Fields of TAM_DROP_MONITOR_SESSION_TABLE besides the status, as in SONiC.
const (
	FieldReportType   = "report_type"
	FieldEventType    = "event_type"
	FieldDropStages   = "drop_stages"
	FieldStatusDetail = "status_detail" // has the same value as the reason
)

// DropMonitorFields are the fields of TAM_DROP_MONITOR_SESSION_TABLE that describe the session.
var DropMonitorFields = []string{FieldReportType, FieldEventType, FieldDropStages, "flow_group", "collectors"}

// Described returns the fields DropMonitorFields of the session's row of TAM_DROP_MONITOR_SESSION_TABLE.
func (s *DropSession) Described() map[string]string {
	event := "packet-drop-stateless"
	if s.Stateful {
		event = "packet-drop-stateful"
	}
	return map[string]string{
		FieldReportType: "ipfix", FieldEventType: event, FieldDropStages: "ingress,egress,tm",
		"flow_group": s.FlowGroup, "collectors": strings.Join(s.Collectors, ","),
	}
}

// Layouts of reports.
const (
	DropLayoutIPFIX = "ipfix" // any IPFIX collector decodes it
	DropLayoutMOD   = "mod"   // one record per message, with the data first, as SONiC's tests of other chips expect
)

// DropSettings are the common fields of the rows of TAM_SESSION and TAM_SESSION_TABLE.
type DropSettings struct {
	Stateful  bool   // true if reports are per flow and reason, with counts; false if they are per packet
	Layout    string // DropLayoutIPFIX or DropLayoutMOD
	MaxRate   uint32 // maximum number of reports per second; 0 means no limit
	MaxBurst  uint32 // maximum number of reports in a burst, used with MaxRate
	Templates uint32 // interval of templates in seconds
}

const maxReportRate = 1_000_000_000

func dropFields(s *DropSettings) []field {
	return []field{
		either("drop_type", "stateless", "stateful", &s.Stateful, "A report of each packet, or of each flow and reason with "+
			"counts. A field of tamtam's, as those below."),
		word("report_layout", DropLayoutIPFIX, []string{DropLayoutIPFIX, DropLayoutMOD}, &s.Layout,
			"How messages of IPFIX are laid out: as RFC 7011 has it, or one record to a message with the data set first, as "+
				"sonic-mgmt's tests read them."),
		optional("max_report_rate", 1, maxReportRate, &s.MaxRate,
			"How many reports a second are sent at most; more are suppressed, and counted. Without it, all."),
		optional("max_report_burst", 1, maxReportRate, &s.MaxBurst,
			"With max_report_rate: how many reports are sent at once at most; without it, those of a second."),
		number("template_interval", 1, 86400, 15, &s.Templates, "After how many seconds the templates are sent again."),
	}
}

// check checks conditions on several fields.
func (s *DropSettings) check(r *reader) {
	if s.MaxBurst > 0 && s.MaxRate == 0 {
		r.bad("max_report_burst", utoa(s.MaxBurst), "max_report_rate beside it")
	}
	if s.MaxRate > 0 && r.fields["sampler"] != "" {
		r.bad("max_report_rate", utoa(s.MaxRate), "no such field beside sampler: the switch can do one of them")
	}
}

// DropSession is a row of TAM_SESSION.
type DropSession struct {
	Name       string
	FlowGroup  string   // "" means the whole switch
	Collectors []string // sorted, at least one
	Sampler    string   // "" means every packet
	Aging      uint32   // report interval in seconds; 0 means the flow group's aging, or DefaultAging
	DropSettings
}

// DefaultAging is the report interval of a stateful session in seconds, if neither the session nor its flow group
// sets one.
const DefaultAging = 60

// MaxDropRules is the maximum number of rules in the flow group of a session, the maximum length of a list.
const MaxDropRules = maxList

// MaxDropCollectors is the maximum number of collectors of a session.
const MaxDropCollectors = 8

func (s *DropSession) layout() layout {
	return layout{
		table: CfgTAMSession,
		key:   named(&s.Name),
		fields: slices.Concat([]field{
			own("type", SessionDropMonitor, "What the session does.", readDropType,
				func() string { return SessionDropMonitor }).must("drop-monitor or ifa").hidden(),
			own("report_type", "ipfix", "What reports are.", func(r *reader) { r.word("report_type", "ipfix", "ipfix") },
				func() string { return "ipfix" }).or("ipfix").hidden(),
			own("flow_group", "a name", "The flow group whose packets are meant, of TAM_FLOW_GROUP or TAM_FLOWGROUP_TABLE; "+
				"without it, all that the switch drops.", func(r *reader) { readGroup(r, &s.FlowGroup) },
				func() string { return s.FlowGroup }),
			list("collector", nameWords+", separated by commas", &s.Collectors, ValidName,
				"Where reports are sent: rows of TAM_COLLECTOR or TAM_COLLECTORS_TABLE.").
				must("the names of one to 8 collectors"),
			name("sampler", "", &s.Sampler, "Which of the dropped packets are reported, a row of TAM_SAMPLINGRATE_TABLE; "+
				"without it, all. A field of tamtam's.").to(CfgTAMSampler),
			aging(&s.Aging, "Of a stateful session: how long drops are counted before they are reported again; without it, "+
				"the flow group's value, or 60. A field of tamtam's."),
		}, dropFields(&s.DropSettings)),
		check: func(r *reader) {
			s.check(r)
			someCollectors(r, s.Collectors)
			if n := len(s.Collectors); n > MaxDropCollectors {
				r.bad("collector", strings.Join(s.Collectors, ","), fmt.Sprintf("at most %d collectors", MaxDropCollectors))
			}
		},
	}
}

// readDropType reads the type of a session, which has two values.
func readDropType(r *reader) {
	if v, _ := r.value("type"); v != SessionDropMonitor {
		r.bad("type", v, "drop-monitor or ifa")
	}
}

// readGroup reads a flow group, which may be written as a list with one element.
func readGroup(r *reader, at *string) {
	switch names := r.list("flow_group"); {
	case len(names) > 1:
		r.bad("flow_group", strings.Join(names, ","), "the name of one flow group")
	case len(names) == 1 && !ValidName(names[0]):
		r.bad("flow_group", names[0], nameWords)
	case len(names) == 1:
		*at = names[0]
	}
}

// DropFlow is a row of TAM_SESSION_TABLE: the session with its flow group resolved to rules, and its sampler to a rate.
type DropFlow struct {
	Name       string
	FlowGroup  string       // name of the flow group in the session
	Rules      []ACLRuleKey // the rules of the flow group, all in one table; empty means the whole switch
	Collectors []string     // rows of TAM_COLLECTOR_TABLE or TAM_COLLECTORS_TABLE, sorted
	Sampler    string       // name of the sampler in the session
	Sampling   uint32       // one packet in Sampling packets; 1 means all packets
	OwnAging   uint32       // report interval of the session itself, in seconds; 0 if not given
	Aging      uint32       // report interval in effect for a stateful session, in seconds
	DropSettings
}

func (s *DropFlow) layout() layout {
	table, rules := rulesOf(s.Rules)
	return layout{
		table: AppTAMSession, open: true,
		key: named(&s.Name),
		fields: slices.Concat([]field{
			name("flow_group", "", &s.FlowGroup, "The flow group as the session names it."),
			name("acl-table-name", "", &table, "The ACL table of the flow group's rules; without it, there is no flow group.").
				hidden(),
			list("acl-rule-names", "names separated by commas", &rules, ValidName, "The flow group's rules.").hidden(),
			list("collector", "names separated by commas", &s.Collectors, ValidName, "Where reports are sent.").
				must("the names of collectors"),
			name("sampler", "", &s.Sampler, "What the session calls its sampler."),
			number("sampling-rate", 1, 1<<24, 1, &s.Sampling, "One dropped packet in so many is reported."),
			optional("aging_interval", 1, maxAging, &s.OwnAging, "What the session has as such, in seconds."),
			number("effective_aging_interval", 1, maxAging, DefaultAging, &s.Aging, "Of a stateful session: how many seconds "+
				"drops are counted before they are reported again: its own, its flow group's, or 60."),
		}, dropFields(&s.DropSettings)),
		check: func(r *reader) {
			s.check(r)
			someCollectors(r, s.Collectors)
			s.Rules = rulesIn(r, table, rules)
		},
	}
}

// someCollectors refuses a list of collectors that is present but empty.
func someCollectors(r *reader, names []string) {
	if text, ok := r.fields["collector"]; ok && len(names) == 0 {
		r.bad("collector", cmp.Or(text, empty), "the names of one to 8 collectors")
	}
}

// rulesOf returns the table and the names of rules, which are all in one table.
func rulesOf(keys []ACLRuleKey) (table string, rules []string) {
	for _, k := range keys {
		table, rules = k.Table, append(rules, k.Rule)
	}
	return table, rules
}

// rulesIn returns the rules with these names in a table.
func rulesIn(r *reader, table string, rules []string) (keys []ACLRuleKey) {
	for _, rule := range rules {
		keys = append(keys, ACLRuleKey{Table: table, Rule: rule})
	}
	if (table == "") != (len(rules) == 0) {
		r.bad("acl-rule-names", strings.Join(rules, ","), "rules and their table, or neither")
	}
	return keys
}

// CountFlows is the counter of the drop monitor that is the difference of two numbers of the chip.
const CountFlows = "FLOWS"

// dropMonitorCounters returns the counters of a session, each with the index of its word in [dropreport].
func dropMonitorCounters() []field {
	flows := counter(CountFlows, "Flows of a stateful session that are counted now.").metric("dropmonitor_flows", "")
	flows.gauge = true
	return []field{
		counter("DROPPED_PACKETS", "Packets of the session that the switch has dropped.").word(dropreport.WordDrops).
			leaf("dropped").labelled("Dropped Packets").metric("dropmonitor_packets_total", "dropped"),
		counter("TRAPPED_PACKETS", "Packets that went to the CPU instead of where they were going; these are not "+
			"among the dropped ones.").word(dropreport.WordPunted).leaf("trapped").labelled("Trapped Packets").
			metric("dropmonitor_packets_total", "trapped"),
		counter("REPORTS", "Reports that were sent, counted once however many collectors there are.").
			word(dropreport.WordReports).metric("dropmonitor_reports_total", "sent"),
		counter(CountMessages, "Messages that were sent, to all collectors together.").word(dropreport.WordSent).
			metric("dropmonitor_messages_total", "sent"),
		counter("SUPPRESSED", "Reports that were not sent: more than max_report_rate.").word(dropreport.WordRateLimited).
			metric("dropmonitor_reports_total", "suppressed"),
		counter("SAMPLED_OUT", "Packets that the sampler left out.").word(dropreport.WordSampledOut).
			metric("dropmonitor_packets_total", "sampled_out"),
		counter(CountUnsendable, "Messages that could not be sent: there is no way to the collector.").
			word(dropreport.WordNotSendable).metric("dropmonitor_messages_total", "unsendable"),
		counter(CountLost, "Messages that were sent and did not leave the switch. Absent: not known.").
			word(dropreport.WordLost).metric("dropmonitor_messages_total", "lost"),
		counter("EVICTED", "Flows of a stateful session that were reported before their time, since others "+
			"needed their place.").word(dropreport.WordFlowsEvicted).labelled("Evicted Flows").
			metric("dropmonitor_evicted_flows_total", ""),
		flows,
		sinceAll("Start of all counters: when the switch created the session in its present form. " +
			"The counters restart at zero each time that it is created again."),
	}
}

// moment returns a field with a time, which is unknown if the field is absent.
func moment(name string, at *time.Time, words string) field {
	const form = "a time as in RFC 3339"
	return own(name, form, words, func(r *reader) {
		if v, ok := r.value(name); ok {
			t, err := time.Parse(time.RFC3339Nano, v)
			if err != nil {
				r.bad(name, v, form)
			}
			*at = t
		}
	}, func() string {
		if at.IsZero() {
			return ""
		}
		return at.UTC().Format(time.RFC3339Nano)
	})
}

// ManagementReports is a row of TAM_MANAGEMENT_REPORT_COUNTERS.
type ManagementReports struct {
	Messages, Errors uint64
	LastError        string // "" if the last message was sent
}

// DropStream returns the key of a stream of reports in TAM_MANAGEMENT_REPORT_COUNTERS, which is also its name in the
// chip.
func DropStream(from, to netip.AddrPort) string { return from.String() + ">" + to.String() }

func (c *ManagementReports) layout() layout {
	return layout{
		table: CountersManagementReports, open: true,
		key: about("source>collector, each with its port; the source as the switch has it"),
		fields: []field{
			count("MESSAGES", &c.Messages, "Messages that were sent, those with templates among them.").
				metric("management_report_messages_total", "sent"),
			count("ERRORS", &c.Errors, "Messages that were not.").
				metric("management_report_messages_total", "failed"),
			text("LAST_ERROR", &c.LastError, "Why the last message was not sent; empty if it was."),
		},
	}
}

// Fields formats the row. It includes the error even if there is none, since an omitted field would keep its old
// value.
func (c ManagementReports) Fields() map[string]string {
	row := c.layout().row()
	row["LAST_ERROR"] = c.LastError
	return row
}
