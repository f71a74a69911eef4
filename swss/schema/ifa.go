package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Inband Flow Analyzer in the databases. Its sessions are rows of TAM_SESSION, which in SONiC holds several types.
const (
	FeatureIFA = "IFA"

	AppTAMIFA          = "TAM_IFA_SESSION_TABLE"
	StateTAMIFA        = "TAM_IFA_SESSION_TABLE"
	CountersIFA        = "TAM_IFA_COUNTERS"         // :session -> see ifaCounters
	CountersIFATransit = "TAM_IFA_TRANSIT_COUNTERS" // :device
)

// Types of rows of TAM_SESSION.
const (
	SessionDropMonitor = "drop-monitor"
	SessionIFA         = "ifa"
)

// Roles of a switch in IFA.
const (
	IFAInitiator  = "initiator"
	IFATransit    = "transit"
	IFATerminator = "terminator"
)

func ifaTables() (configured, measured []Table) {
	session := ofBoth(Table{Config: CfgTAMSession, Appl: AppTAMIFA, State: StateTAMIFA,
		Words: "A session that puts Inband Flow Analyzer into packets, adds to it or takes it out."}, IFASession{}, IFAFlow{})
	return []Table{session}, []Table{
		counted(Table{Counters: CountersIFA, Labels: []string{"session"},
			Words: "Packets of a session of IFA, by outcome."}, ifaKey,
			ifaCounters("ifa_packets_total")...),
		counted(Table{Counters: CountersIFATransit, Labels: []string{"device"},
			Words: "Packets of IFA at a transit switch, by outcome, " +
				"whether TAM|device or sessions make it one."}, ifaKey, ifaCounters("ifa_transit_packets_total")...),
	}
}

// SessionType returns the type of a row of TAM_SESSION: that of IFA, or for any other that of the drop monitor.
func SessionType(f map[string]string) string {
	for name, value := range f {
		if strings.EqualFold(name, "type") && strings.TrimSpace(value) == SessionIFA {
			return SessionIFA
		}
	}
	return SessionDropMonitor
}

// IFASettings are the common fields of the rows of TAM_SESSION and TAM_IFA_SESSION_TABLE.
type IFASettings struct {
	Role      string // IFAInitiator, IFATransit or IFATerminator
	HopLimit  uint8  // for an initiator: maximum number of further hops; 0 means no limit
	MaxLength uint8  // for an initiator: maximum length of the stack in words of 4 bytes; 0 means no limit
	Templates uint32 // for a terminator: interval of templates in seconds; 0 means DefaultIFATemplates
}

// DefaultIFATemplates is the default interval of templates in seconds.
const DefaultIFATemplates = 15

func ifaFields(s *IFASettings) []field {
	return []field{
		word("role", "", []string{IFAInitiator, IFATransit, IFATerminator}, &s.Role, "What the switch does: initiator, "+
			"transit or terminator. A field of tamtam's, as those below.").must("initiator, transit or terminator"),
		optional("hop_limit", 1, 254, &s.HopLimit, "Of an initiator: how many other switches add a hop at most; without it, "+
			"any number."),
		optional("max_length", 8, 255, &s.MaxLength, "Of an initiator: how many words of 4 bytes the hops take at most, "+
			"8 for each; without it, 255."),
		optional("template_interval", 1, 86400, &s.Templates, "Of a terminator: after how many seconds the templates are "+
			"sent again; without it, 15."),
	}
}

// IFASession is a row of TAM_SESSION of type ifa.
type IFASession struct {
	Name       string
	FlowGroup  string   // for initiators and terminators
	Sampler    string   // for an initiator; "" means every packet
	Collectors []string // for a terminator, sorted; if empty, it does not report
	IFASettings
}

func (s *IFASession) layout() layout {
	return layout{
		table: CfgTAMSession,
		key:   named(&s.Name),
		fields: slices.Concat([]field{
			own("type", SessionIFA, "What the session does.", func(r *reader) { r.word("type", "", SessionIFA) },
				func() string { return SessionIFA }).must(SessionIFA).hidden(),
			own("report_type", "ipfix", "What reports are.", func(r *reader) { r.word("report_type", "ipfix", "ipfix") }, nil).
				hidden(),
			own("flow_group", "a name", "Of initiators and terminators: the flow group whose packets are meant, of "+
				"TAM_FLOW_GROUP or TAM_FLOWGROUP_TABLE.", func(r *reader) { readGroup(r, &s.FlowGroup) },
				func() string { return s.FlowGroup }),
			name("sampler", "", &s.Sampler, "Of an initiator: which packets it takes, a row of TAM_SAMPLINGRATE_TABLE; without "+
				"it, all.").to(CfgTAMSampler),
			list("collector", nameWords+", separated by commas", &s.Collectors, ValidName, "Of a terminator: where reports of "+
				"what it takes out are sent, rows of TAM_COLLECTOR or TAM_COLLECTORS_TABLE; without it, nowhere."),
		}, ifaFields(&s.IFASettings)),
		check: s.check,
	}
}

// check refuses fields that have no meaning in the role, and requires the fields that the role needs.
func (s *IFASession) check(r *reader) {
	only := func(field, role string) {
		if value := r.fields[field]; value != "" && s.Role != role {
			r.bad(field, value, "no such field: it is of the role "+role+", not of "+s.Role)
		}
	}
	only("sampler", IFAInitiator)
	only("hop_limit", IFAInitiator)
	only("max_length", IFAInitiator)
	only("collector", IFATerminator)
	only("template_interval", IFATerminator)
	switch {
	case s.Role == IFATransit && s.FlowGroup != "":
		r.bad("flow_group", s.FlowGroup, "no such field: a transit adds a hop to all packets of IFA")
	case (s.Role == IFAInitiator || s.Role == IFATerminator) && s.FlowGroup == "":
		want := "the name of a flow group: whose packets the " + s.Role + " takes"
		if text, ok := r.fields["flow_group"]; ok {
			r.bad("flow_group", cmp.Or(text, empty), want) // a text of only blanks and commas names no rule
		} else {
			r.needs("flow_group", want)
		}
	}
	if n := len(s.Collectors); n > MaxDropCollectors {
		r.bad("collector", strings.Join(s.Collectors, ","), fmt.Sprintf("at most %d collectors", MaxDropCollectors))
	}
}

// IFAFlow is a row of TAM_IFA_SESSION_TABLE: the session with its flow group resolved to rules, and its sampler to a
// rate.
type IFAFlow struct {
	Name       string
	FlowGroup  string       // name of the flow group in the session
	Rules      []ACLRuleKey // the rules of the flow group, all in one table; empty for a transit
	Collectors []string     // rows of TAM_COLLECTOR_TABLE or TAM_COLLECTORS_TABLE, sorted
	Sampler    string       // name of the sampler in the session
	Sampling   uint32       // one packet in Sampling packets; 1 means all packets
	IFASettings
}

func (s *IFAFlow) layout() layout {
	table, rules := rulesOf(s.Rules)
	return layout{
		table: AppTAMIFA, open: true,
		key: named(&s.Name),
		fields: slices.Concat([]field{
			name("flow_group", "", &s.FlowGroup, "The flow group as the session names it."),
			name("acl-table-name", "", &table, "The ACL table of the flow group's rules; without it, there is no flow group.").
				hidden(),
			list("acl-rule-names", "names separated by commas", &rules, ValidName, "The flow group's rules.").hidden(),
			list("collector", "names separated by commas", &s.Collectors, ValidName, "Where reports are sent."),
			name("sampler", "", &s.Sampler, "What the session calls its sampler."),
			number("sampling-rate", 1, 1<<24, 1, &s.Sampling, "An initiator takes one packet in so many."),
		}, ifaFields(&s.IFASettings)),
		check: func(r *reader) { s.Rules = rulesIn(r, table, rules) },
	}
}

const ifaKey = "the session's name; of TAM_IFA_TRANSIT_COUNTERS, device"

// Counters of the messages that carry reports, which the switch's host may count, too.
const (
	CountMessages   = "MESSAGES"
	CountUnsendable = "UNSENDABLE"
	CountLost       = "LOST"
)

// ifaCounters returns the counters of all roles, first those of the chip, in the order of [ifa.Count].
func ifaCounters(metric string) []field {
	const initiator, transit, terminator, host = IFAInitiator, IFATransit, IFATerminator, "host"
	list := []field{
		counter("MATCHED", "Packets that were of the flow group.").of(initiator, terminator),
		counter("UNSAMPLED", "Of an initiator: those that its sampler left out.").of(initiator),
		counter("ALREADY", "Of an initiator: those that had IFA already, and were left alone.").of(initiator),
		counter("ABSENT", "Of a terminator: those that had no IFA.").of(terminator),
		counter("INSERTED", "Frames that left with a hop of this switch.").of(initiator, transit),
		counter("STRIPPED", "Frames that left without the IFA that they had.").of(terminator),
		counter("CUT", "Frames left alone: a capture or a queue had cut them."),
		counter("UNSUPPORTED", "Frames left alone: no TCP or UDP right behind the IP header, or IFA of another form."),
		counter("HOP_LIMIT", "Frames left alone: their hop limit is 0.").of(transit),
		counter("MAX_LENGTH", "Frames left alone: their hops may not take more room.").of(transit),
		counter("MTU", "Frames left alone: they would exceed the MTU of the port, or of the router interface.").
			of(initiator, transit).labelled("MTU"),
		counter("REPORTED", "Of STRIPPED: reports that were sent, to each collector.").of(terminator),
		counter(CountMessages, "Messages with reports that were sent, to all collectors together.").of(host),
		counter(CountUnsendable, "Reports that could not be sent: there is no way to the collector.").of(host),
		counter(CountLost, "Messages that were sent and did not leave the switch.").of(host),
		sinceAll("Start of all counters: when the switch created the session, or the transit, in its " +
			"present form. The counters restart at zero each time that it is created again."),
	}
	for i := range list {
		if f := &list[i]; f.Name != FieldSinceAll {
			*f = f.metric(metric, strings.ToLower(f.Name))
		}
	}
	return list
}
