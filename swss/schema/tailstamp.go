package schema

import "tamtam/tam/flymon"

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
	ClampMSS  uint8 // for how many records full segments of TCP keep room, 1..MaxTailStampRecords; 0: for none
}

// MaxTailStampRecords is for how many records a session can keep room.
const MaxTailStampRecords = 8

// clampMSS is the field that both rows have.
func clampMSS(at *uint8) field {
	return optional("clamp-mss", 1, MaxTailStampRecords, at,
		"For how many records, one of each switch on the path that stamps, full segments of TCP keep room: the maximum "+
			"segment size in segments with SYN the other way is lowered. Without it what has no room leaves unstamped.")
}

func (s *TailStampSession) layout() layout {
	return layout{
		table:  CfgTAMTailStamp,
		key:    named(&s.Name),
		fields: []field{flowGroupOf(&s.FlowGroup), clampMSS(&s.ClampMSS)},
	}
}

// TailStampFlow is a row of APPL_DB TAM_TAILSTAMPING_TABLE: the session with
// its flow group resolved to an ACL rule.
type TailStampFlow struct {
	Name     string
	Rule     ACLRuleKey
	ClampMSS uint8         // as in the session
	SYNs     flymon.Filter // of ClampMSS: which segments with SYN limit those of the flow group
}

func (s *TailStampFlow) layout() layout {
	return layout{
		table: AppTAMTailStamp,
		open:  true,
		key:   named(&s.Name),
		fields: append(ruleOf(&s.Rule), clampMSS(&s.ClampMSS),
			parsed("clamp-filter", "any", flymon.FilterWords, flymon.ParseFilter, &s.SYNs,
				"Of clamp-mss: the segments whose maximum segment size is lowered.").ifSet()),
	}
}

// TailStampCounters is a row of COUNTERS_DB TAM_TAILSTAMPING_COUNTERS: what became of the packets
// of a session. What the silicon does not count is nil.
type TailStampCounters struct {
	Matched, MatchedBytes                  *uint64
	Stamped                                *uint64
	NotTCPUDP, NotEthernetII, Cut, TooLong *uint64 // not stamped
	// Of a session with clamp-mss: segments with SYN of the other way, and what became of their maximum segment size.
	SYNs, SYNsClamped, SYNsSmall, SYNsWithout, SYNsMalformed, SYNsCut, SYNsNoRoom *uint64
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
			known("NOT_STAMPED_CUT", &c.Cut, "Not stamped: cut short, or of an IP length that cannot be right."),
			known("NOT_STAMPED_MTU", &c.TooLong, "Not stamped: the frame would be larger than the MTU."),
			known("SYNS", &c.SYNs, "With clamp-mss: segments with SYN the other way."),
			known("SYNS_CLAMPED", &c.SYNsClamped, "Of these: the maximum segment size was lowered."),
			known("SYNS_SMALL", &c.SYNsSmall, "Of these: it leaves room as it is."),
			known("SYNS_WITHOUT_MSS", &c.SYNsWithout, "Of these: without the option, which stands for 536 or, with IPv6, 1220."),
			known("SYNS_MALFORMED", &c.SYNsMalformed, "Of these: left alone, since the options are not well-formed."),
			known("SYNS_CUT", &c.SYNsCut, "Of these: left alone, as fragments or cut short."),
			known("SYNS_NO_ROOM", &c.SYNsNoRoom, "Of these: left alone, since less than 216 bytes would be left."),
		},
	}
}
