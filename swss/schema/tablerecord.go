package schema

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"tamtam/tam/record"
)

// Table recording in the databases.
const (
	FeatureTableRecord = "TABLERECORD"

	CfgTAMTableRecord   = "TAM_TABLERECORD_TABLE"
	AppTAMTableRecord   = "TAM_TABLERECORD_TABLE"
	StateTAMTableRecord = "TAM_STATE_TABLERECORD_TABLE"
	// StateTAMTableRecordPlace stores where in the chip's record word plans are, by their offsets, for the next run.
	StateTAMTableRecordPlace = "TAM_STATE_TABLERECORD_PLACE_TABLE"
	CountersRecord           = "TAM_TABLERECORD_COUNTERS" // :session -> see recordCounters
	CountersRecordPlan       = "TAM_TABLERECORD_PLANS"    // :session -> see RecordPlanFields
)

func recordTables() (configured, measured []Table) {
	configured = []Table{
		ofBoth(Table{Config: CfgTAMTableRecord, Appl: AppTAMTableRecord, State: StateTAMTableRecord,
			Words: "A session that records which tables the packets of a flow group ran."},
			RecordSession{}, RecordFlow{}),
	}
	return configured, []Table{
		counted(Table{Counters: CountersRecord, Labels: []string{"session"},
			Words: "What a session of table recording has recorded."},
			"the session's name", recordCounters()...),
		{Counters: CountersRecordPlan, Labels: []string{"session"},
			Words: "The plan that a session of table recording records by.", Key: "the session's name",
			Fields: recordPlanFields()},
	}
}

// Encapsulations of the packets that a recording session sends.
const (
	RecordUDP    = "udp"    // UDP to the collector's port
	RecordERSPAN = "erspan" // GRE, type II if the switch supports it
)

// Sources of the probabilities for making a plan.
const (
	ProbabilitiesUniform = "uniform" // all branches that leave a node are equally likely
	ProbabilitiesCounted = "counted" // the counts of the switch at the time when the plan is made
)

// DefaultTruncate is the default number of bytes of a frame that a session sends.
const DefaultTruncate = 128

// RecordSettings are the common fields of the rows of TAM_TABLERECORD_TABLE of both databases.
type RecordSettings struct {
	PHV           record.Containers
	Mode          string     // record.ModeExecution, record.ModeHit or record.ModeAction
	Algorithm     string     // record.Greedy, record.GreedyRestarts or record.BranchAndBound
	MustRecord    []string   // names of tables, sorted; no name occurs twice
	Probabilities string     // ProbabilitiesUniform or ProbabilitiesCounted
	Encapsulation string     // RecordUDP or RecordERSPAN
	Truncate      uint16     // bytes sent of a frame, 64..9216; 0 means whole frames; default DefaultTruncate
	Source        netip.Addr // source address; invalid means the switch's own
	Identities    bool       // true if records contain the entries that packets hit, and their queue
}

// RecordSession is a row of CONFIG_DB TAM_TABLERECORD_TABLE.
type RecordSession struct {
	Name      string
	FlowGroup string
	Collector string
	Sampler   string // "" means every packet
	RecordSettings
}

func (s *RecordSession) layout() layout {
	return layout{
		table: CfgTAMTableRecord,
		key:   named(&s.Name),
		fields: append([]field{
			flowGroupOf(&s.FlowGroup),
			name("collector", "", &s.Collector, "Where the records are sent.").
				must("the name of a collector").to(CfgTAMCollector),
			name("sampler", "", &s.Sampler, "Which packets are recorded; without it, all.").to(CfgTAMSampler),
		}, recordFields(&s.RecordSettings)...),
		check: func(r *reader) { r.planner(&s.RecordSettings) },
	}
}

// RecordFlow is a row of APPL_DB TAM_TABLERECORD_TABLE: the session with all names resolved.
type RecordFlow struct {
	Name      string
	Rule      ACLRuleKey
	Collector netip.AddrPort
	Sampling  uint32 // one packet in Sampling packets, 1..2^32-1; 1 means all packets
	// CollectorName and SamplerName are the names in the session, for reporting. SamplerName is "" if there is no
	// sampler.
	CollectorName, SamplerName string
	RecordSettings
}

func (s *RecordFlow) layout() layout {
	return layout{
		table: AppTAMTableRecord,
		key:   named(&s.Name),
		fields: slices.Concat(ruleOf(&s.Rule), []field{
			own("collector", "a unicast address and a port", "Where the records are sent.", func(r *reader) {
				to, _ := r.value("collector")
				var err error
				s.Collector, err = netip.ParseAddrPort(to)
				if err != nil || s.Collector.Port() == 0 || noHost(s.Collector.Addr()) || s.Collector.Addr().Is4In6() {
					r.bad("collector", to, "a unicast address and a port")
				}
			}, func() string { return s.Collector.String() }).must("").leaf("collector-address"),
			number("sampling-rate", 1, 1<<32-1, 1, &s.Sampling, "One packet in so many is recorded."),
			name("collector-name", "", &s.CollectorName, "What the session calls its collector.").leaf("collector"),
			name("sampler-name", "", &s.SamplerName, "What the session calls its sampler.").leaf("sampler"),
		}, recordFields(&s.RecordSettings)),
		check: func(r *reader) { r.planner(&s.RecordSettings) },
	}
}

// recordFields returns the fields that both rows have.
func recordFields(s *RecordSettings) []field {
	return []field{
		parsed("phv", "16+16", record.ContainerWords, record.ParseContainers, &s.PHV,
			"The containers that a record has in the packet header vector."),
		word("mode", record.ModeExecution, []string{record.ModeExecution, record.ModeHit, record.ModeAction}, &s.Mode,
			"Whether it is recorded which tables ran, or also whether they hit, or with which action."),
		word("algorithm", record.Greedy, []string{record.Greedy, record.GreedyRestarts, record.BranchAndBound},
			&s.Algorithm, "How it is chosen which tables are recorded."),
		own("must-record", "names of tables, separated by commas", "Tables that are recorded in any case.",
			func(r *reader) {
				s.MustRecord = r.list("must-record")
				slices.Sort(s.MustRecord)
			}, func() string { return strings.Join(s.MustRecord, ",") }).parted(","),
		word("probabilities", ProbabilitiesUniform, []string{ProbabilitiesUniform, ProbabilitiesCounted}, &s.Probabilities,
			"How likely the ways of packets are: all alike, or as counted."),
		word("encapsulation", RecordUDP, []string{RecordUDP, RecordERSPAN}, &s.Encapsulation, "How records are sent."),
		own("truncate", "0 for whole frames, or 64 to 9216 bytes",
			"How much of a frame is sent.", func(r *reader) {
				s.Truncate = uint16(r.number("truncate", 0, 9216, DefaultTruncate))
				if s.Truncate > 0 && s.Truncate < 64 {
					r.bad("truncate", utoa(s.Truncate), "0 for whole frames, or 64 to 9216 bytes")
				}
			}, func() string { return utoa(s.Truncate) }).or(utoa(uint16(DefaultTruncate))),
		own("source-ip", unicastForm,
			"Whence records are sent; without it, the switch's own address.", func(r *reader) {
				if v, ok := r.value("source-ip"); ok {
					s.Source = r.host("source-ip", v)
				}
			}, func() string {
				if !s.Source.IsValid() {
					return ""
				}
				return s.Source.String()
			}),
		boolean("identities", false, &s.Identities, "Whether records name the ACL rule, route, next hop, neighbour and "+
			"FDB entries that a packet hit, and its queue with its depth."),
	}
}

// planner refuses an algorithm that cannot plan for the mode.
func (r *reader) planner(s *RecordSettings) {
	if s.Mode != record.ModeExecution && s.Algorithm == record.BranchAndBound {
		r.bad("algorithm", s.Algorithm, "greedy or greedy-restarts where mode is "+s.Mode)
	}
}

// recordCounters returns the counters of a session, in the chip's order. If several copies of a packet leave, or are
// dropped, each has a record.
func recordCounters() []field {
	return []field{
		counter("MATCHED", "Packets of the flow group.").needed().metric("record_packets_total", "matched"),
		counter("NOT_SAMPLED", "Of those, the ones that sampling left out.").needed().
			metric("record_packets_total", "not_sampled"),
		counter("RECORDED", "Records made: one for each copy of a packet that leaves or is dropped.").needed().
			metric("record_packets_total", "recorded"),
		counter("LOST", "Of those, the ones that did not leave the switch.").needed().
			metric("record_packets_total", "lost"),
	}
}

// recordPlanFields returns the fields of a plan.
func recordPlanFields() []Field {
	return withLeaves(
		Field{Name: "ID", Form: rangeForm(0, 1<<32-1), Words: "What records call the plan."},
		Field{Name: "PHV", Form: record.ContainerWords, Words: "The containers of a record."},
		Field{Name: "MODE", Form: "exec, exec+hit or exec+action", Words: "What is recorded."},
		Field{Name: "ALGORITHM", Form: "text", Words: "How it was chosen."},
		Field{Name: "BITS", Form: "a number", Words: "Bits of a record.", Metric: "record_plan_width"},
		Field{Name: "TABLES", Form: "names, separated by commas", Words: "The tables that are recorded.", Parts: ","},
		Field{Name: "ENTROPY", Form: "a number", Words: "Of the record, in bits.",
			Metric: "record_plan_entropy", Outcome: "record"},
		Field{Name: "ENTROPY_FULL", Form: "a number", Words: "Of recording everything, in bits.",
			Metric: "record_plan_entropy", Outcome: "everything"},
		Field{Name: "BOUND", Form: "a number", Words: "What no plan of so many bits exceeds.",
			Metric: "record_plan_entropy", Outcome: "bound"},
		Field{Name: "OPTIMAL", Form: "true or false", Words: "Whether no plan is better."},
		Field{Name: "PROBABILITIES", Form: "uniform or counted", Words: "What the plan was made with."},
		Field{Name: "RECOVERY", Form: "0 to 1", Words: "How likely a path follows from its record.",
			Metric: "record_plan_recovery_ratio"},
		Field{Name: "PLAN", Form: "JSON", Words: "The whole plan, as `tamtam decode record --plan` takes it.", Leaf: "json"},
	)
}

// RecordPlanFields formats a row of COUNTERS_DB TAM_TABLERECORD_PLANS: the plan by which a session records. PLAN is
// the whole plan, in the form that decoders read.
func RecordPlanFields(p *record.Plan) (map[string]string, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', 9, 64) }
	var tables []string
	bits := 0
	for _, t := range p.Recorded {
		tables = append(tables, t.Table)
		bits += t.Bits
	}
	return map[string]string{
		"ID": utoa(p.ID), "PHV": p.PHV, "MODE": p.Mode, "ALGORITHM": p.Algorithm, "BITS": strconv.Itoa(bits),
		"TABLES":  strings.Join(tables, ","),
		"ENTROPY": number(p.Entropy), "ENTROPY_FULL": number(p.Full), "BOUND": number(p.Bound),
		"OPTIMAL": strconv.FormatBool(p.Optimal), "RECOVERY": number(p.Recovery), "PROBABILITIES": p.ProbabilitiesFrom,
		"PLAN": string(text),
	}, nil
}
