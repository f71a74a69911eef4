package schema

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"tamtam/tam/record"
)

// Encapsulations of what a recording session sends.
const (
	RecordUDP    = "udp"    // to the collector's port
	RecordERSPAN = "erspan" // GRE, type II where the switch has it
)

// Sources of the probabilities that a plan is made with.
const (
	ProbabilitiesUniform = "uniform" // all ways that leave a node are equally likely
	ProbabilitiesCounted = "counted" // as the switch has counted until the plan is made
)

// DefaultTruncate is how many bytes of a frame a session sends.
const DefaultTruncate = 128

// RecordSettings are what the rows of TAM_TABLERECORD_TABLE of both databases have
// in common.
type RecordSettings struct {
	PHV           record.Containers
	Mode          string     // record.ModeExecution or record.ModeHit
	Algorithm     string     // record.Greedy, record.GreedyRestarts or record.BranchAndBound
	MustRecord    []string   // names of tables, sorted, none twice
	Probabilities string     // ProbabilitiesUniform or ProbabilitiesCounted
	Encapsulation string     // RecordUDP or RecordERSPAN
	Truncate      uint16     // bytes, 64..9216; 0: whole frames; DefaultTruncate if not given
	Source        netip.Addr // of what is sent; invalid: the switch's own
}

// RecordSession is a row of CONFIG_DB TAM_TABLERECORD_TABLE.
type RecordSession struct {
	Name      string
	FlowGroup string
	Collector string
	Sampler   string // "": every packet
	RecordSettings
}

// ParseRecordSession reads TAM_TABLERECORD_TABLE of CONFIG_DB. Fields that are not
// given have their defaults.
func ParseRecordSession(key string, fields map[string]string) (RecordSession, error) {
	r := newReader(CfgTAMTableRecord, key, fields)
	r.tamKey(key)
	s := RecordSession{Name: key, FlowGroup: r.name("flowgroup", "")}
	s.Collector, s.Sampler = r.name("collector", ""), r.name("sampler", "")
	for _, f := range []struct{ field, want string }{
		{"flowgroup", "the name of a flow group"}, {"collector", "the name of a collector"},
	} {
		if r.fields[f.field] == "" {
			r.bad(f.field, "", f.want)
		}
	}
	s.RecordSettings = r.recordSettings()
	r.unknown()
	return s, r.err()
}

// Fields formats the row.
func (s RecordSession) Fields() map[string]string {
	f := s.RecordSettings.fields()
	f["flowgroup"], f["collector"] = s.FlowGroup, s.Collector
	if s.Sampler != "" {
		f["sampler"] = s.Sampler
	}
	return f
}

// RecordFlow is a row of APPL_DB TAM_TABLERECORD_TABLE: the session with all names
// resolved.
type RecordFlow struct {
	Name      string
	Rule      ACLRuleKey
	Collector netip.AddrPort
	Sampling  uint32 // one packet in this many, 1..2^32-1; 1: all
	// CollectorName and SamplerName are what the session calls them, to be told: "" where it
	// names no sampler.
	CollectorName, SamplerName string
	RecordSettings
}

// ParseRecordFlow reads TAM_TABLERECORD_TABLE of APPL_DB.
func ParseRecordFlow(key string, fields map[string]string) (RecordFlow, error) {
	r := newReader(AppTAMTableRecord, key, fields)
	r.tamKey(key)
	s := RecordFlow{Name: key, Rule: ACLRuleKey{Table: r.name("acl-table-name", ""), Rule: r.name("acl-rule-name", "")}}
	if r.fields["acl-table-name"] == "" {
		r.bad("acl-table-name", "", "the name of an ACL table")
	}
	if r.fields["acl-rule-name"] == "" {
		r.bad("acl-rule-name", "", "the name of an ACL rule")
	}
	to, _ := r.take("collector")
	var err error
	s.Collector, err = netip.ParseAddrPort(to)
	if err != nil || s.Collector.Port() == 0 || noHost(s.Collector.Addr()) || s.Collector.Addr().Is4In6() {
		r.bad("collector", to, "a unicast address and a port")
	}
	s.Sampling = uint32(r.number("sampling-rate", 1, 1<<32-1, 1))
	s.CollectorName, s.SamplerName = r.name("collector-name", ""), r.name("sampler-name", "")
	s.RecordSettings = r.recordSettings()
	r.unknown()
	return s, r.err()
}

// Fields formats the row.
func (s RecordFlow) Fields() map[string]string {
	f := s.RecordSettings.fields()
	f["acl-table-name"], f["acl-rule-name"] = s.Rule.Table, s.Rule.Rule
	f["collector"], f["sampling-rate"] = s.Collector.String(), utoa(s.Sampling)
	for field, name := range map[string]string{"collector-name": s.CollectorName, "sampler-name": s.SamplerName} {
		if name != "" {
			f[field] = name
		}
	}
	return f
}

func (r *reader) recordSettings() RecordSettings {
	s := RecordSettings{
		PHV:           parsed(r, "phv", "16+16", record.ContainerWords, record.ParseContainers),
		Mode:          r.word("mode", record.ModeExecution, record.ModeExecution, record.ModeHit),
		Algorithm:     r.word("algorithm", record.Greedy, record.Greedy, record.GreedyRestarts, record.BranchAndBound),
		MustRecord:    r.list("must-record"),
		Probabilities: r.word("probabilities", ProbabilitiesUniform, ProbabilitiesUniform, ProbabilitiesCounted),
		Encapsulation: r.word("encapsulation", RecordUDP, RecordUDP, RecordERSPAN),
		Truncate:      uint16(r.number("truncate", 0, 9216, DefaultTruncate)),
	}
	slices.Sort(s.MustRecord)
	s.MustRecord = slices.Compact(s.MustRecord)
	if s.Truncate > 0 && s.Truncate < 64 {
		r.bad("truncate", utoa(s.Truncate), "0 for whole frames, or 64 to 9216 bytes")
	}
	if v, ok := r.take("source-ip"); ok && v != "" {
		a, err := netip.ParseAddr(v)
		if s.Source = a.Unmap(); err != nil || noHost(a) || s.Source == broadcast() {
			r.bad("source-ip", v, "a unicast IPv4 or IPv6 address")
		}
	}
	if s.Mode == record.ModeHit && s.Algorithm == record.BranchAndBound {
		r.bad("algorithm", s.Algorithm, "greedy or greedy-restarts where mode is exec+hit")
	}
	return s
}

func (s RecordSettings) fields() map[string]string {
	f := map[string]string{
		"phv": s.PHV.String(), "mode": s.Mode, "algorithm": s.Algorithm, "probabilities": s.Probabilities,
		"encapsulation": s.Encapsulation, "truncate": utoa(s.Truncate),
	}
	if len(s.MustRecord) > 0 {
		f["must-record"] = strings.Join(s.MustRecord, ",")
	}
	if s.Source.IsValid() {
		f["source-ip"] = s.Source.String()
	}
	return f
}

// RecordCounters is a row of COUNTERS_DB TAM_TABLERECORD_COUNTERS: what a session
// has recorded. Of a packet of which several copies leave, or are dropped, each has a
// record.
type RecordCounters struct {
	Matched    uint64 // packets of the flow group
	NotSampled uint64 // of those that sampling left out
	Recorded   uint64 // records that were made
	Lost       uint64 // of those that did not leave the switch
}

// Fields formats the row.
func (c RecordCounters) Fields() map[string]string {
	return map[string]string{
		"MATCHED": utoa(c.Matched), "NOT_SAMPLED": utoa(c.NotSampled), "RECORDED": utoa(c.Recorded), "LOST": utoa(c.Lost),
	}
}

// ParseRecordCounters reads TAM_TABLERECORD_COUNTERS.
func ParseRecordCounters(session string, fields map[string]string) (RecordCounters, error) {
	r := newReader(CountersRecord, session, fields)
	n := func(field string) uint64 { return r.number(field, 0, 1<<64-1, 0) }
	c := RecordCounters{Matched: n("MATCHED"), NotSampled: n("NOT_SAMPLED"), Recorded: n("RECORDED"), Lost: n("LOST")}
	return c, r.err()
}

// RecordPlanFields formats a row of COUNTERS_DB TAM_TABLERECORD_PLANS: the plan that
// a session records by. PLAN is the whole of it, as decoders take it.
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
