package schema

// Tail-stamping in the databases.
const (
	FeatureTailStamping = "TAILSTAMPING"

	CfgTAMTailStamp   = "TAM_TAILSTAMPING_TABLE"
	AppTAMTailStamp   = "TAM_TAILSTAMPING_TABLE"
	StateTAMTailStamp = "TAM_STATE_TAILSTAMPING_TABLE"
	CountersTailStamp = "TAM_TAILSTAMPING_COUNTERS" // :session -> see TailStampCounters
)

func tailStampTables() (configured, measured []Table) {
	configured = []Table{
		ofBoth(Table{Config: CfgTAMTailStamp, Appl: AppTAMTailStamp, State: StateTAMTailStamp,
			Words: "A session that stamps the packets of a flow group."}, TailStampSession{}, TailStampFlow{}),
	}
	return configured, []Table{
		of(Table{Counters: CountersTailStamp, Words: "What became of the packets of a session of tail-stamping."},
			TailStampCounters{}),
	}
}

// TailStampSession is a row of CONFIG_DB TAM_TAILSTAMPING_TABLE.
type TailStampSession struct {
	Name      string
	FlowGroup string
}

func (s *TailStampSession) layout() layout {
	return layout{
		table:  CfgTAMTailStamp,
		key:    named(&s.Name),
		fields: []field{flowGroupOf(&s.FlowGroup)},
	}
}

// ParseTailStampSession reads TAM_TAILSTAMPING_TABLE of CONFIG_DB.
func ParseTailStampSession(key string, f map[string]string) (TailStampSession, error) {
	return parse[TailStampSession](key, f)
}

// Fields formats the row.
func (s TailStampSession) Fields() map[string]string { return s.layout().row() }

// TailStampFlow is a row of APPL_DB TAM_TAILSTAMPING_TABLE: the session with
// its flow group resolved to an ACL rule.
type TailStampFlow struct {
	Name string
	Rule ACLRuleKey
}

func (s *TailStampFlow) layout() layout {
	return layout{
		table:  AppTAMTailStamp,
		open:   true,
		key:    named(&s.Name),
		fields: ruleOf(&s.Rule),
	}
}

// ParseTailStampFlow reads TAM_TAILSTAMPING_TABLE of APPL_DB.
func ParseTailStampFlow(key string, f map[string]string) (TailStampFlow, error) {
	return parse[TailStampFlow](key, f)
}

// Fields formats the row.
func (s TailStampFlow) Fields() map[string]string { return s.layout().row() }

// TailStampCounters is a row of COUNTERS_DB TAM_TAILSTAMPING_COUNTERS: what became of the packets
// of a session. What the silicon does not count is nil.
type TailStampCounters struct {
	Matched, MatchedBytes                  *uint64
	Stamped                                *uint64
	NotTCPUDP, NotEthernetII, Cut, TooLong *uint64 // not stamped
}

func (c *TailStampCounters) layout() layout {
	return layout{
		table: CountersTailStamp, open: true,
		key: about("the session's name"),
		fields: []field{
			known("MATCHED_PACKETS", &c.Matched, "Packets of the flow group."),
			known("MATCHED_BYTES", &c.MatchedBytes, "Their bytes."),
			known("STAMPED_PACKETS", &c.Stamped, "Packets that left with a stamp."),
			known("NOT_STAMPED_NOT_TCP_UDP", &c.NotTCPUDP, "Not stamped: neither TCP nor UDP."),
			known("NOT_STAMPED_NOT_ETHERNET_II", &c.NotEthernetII, "Not stamped: not Ethernet II."),
			known("NOT_STAMPED_CUT", &c.Cut, "Not stamped: cut short."),
			known("NOT_STAMPED_MTU", &c.TooLong, "Not stamped: the frame would be larger than the MTU."),
		},
	}
}

// ParseTailStampCounters reads TAM_TAILSTAMPING_COUNTERS.
func ParseTailStampCounters(session string, f map[string]string) (TailStampCounters, error) {
	return parse[TailStampCounters](session, f)
}

// Fields formats the row.
func (c TailStampCounters) Fields() map[string]string { return c.layout().row() }
