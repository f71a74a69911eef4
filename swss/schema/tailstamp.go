package schema

import "tamtam/tam/flymon"

// Tail-stamping in the databases.
const (
	FeatureTailStamping = "TAILSTAMPING"

	CfgTAMTailStamp   = "TAM_TAILSTAMPING_TABLE"
	AppTAMTailStamp   = "TAM_TAILSTAMPING_TABLE"
	StateTAMTailStamp = "TAM_STATE_TAILSTAMPING_TABLE"
	CountersTailStamp = "TAM_TAILSTAMPING_COUNTERS" // :session -> see tailStampCounters
)

func tailStampTables() (configured, measured []Table) {
	configured = []Table{
		ofBoth(Table{Config: CfgTAMTailStamp, Appl: AppTAMTailStamp, State: StateTAMTailStamp,
			Words: "A session that stamps the packets of a flow group."}, TailStampSession{}, TailStampFlow{}),
	}
	return configured, []Table{
		counted(Table{Counters: CountersTailStamp, Labels: []string{"session"},
			Words: "Packets of a session of tail-stamping, by result."},
			"the session's name", tailStampCounters()...),
	}
}

// tailStampCounters returns the counters of a session. First come those of its ACL counter, then the fates of packets
// in the chip's order. A session with clamp-mss also counts the SYN segments in the reverse direction, and the fate of
// their maximum segment size.
func tailStampCounters() []field {
	return []field{
		counter("MATCHED_PACKETS", "Packets of the flow group.").labelled("Packet Count").
			metric("tailstamp_packets_total", "matched"),
		counter("MATCHED_BYTES", "Their bytes.").leaf("matched-octets").labelled(noLabel).
			metric("tailstamp_matched_bytes_total", ""),
		counter("STAMPED_PACKETS", "Packets that left with a stamp.").labelled("Stamped Count").
			metric("tailstamp_packets_total", "stamped"),
		counter("NOT_STAMPED_NOT_TCP_UDP", "Not stamped: neither TCP nor UDP.").leaf("not-stamped/not-tcp-udp").
			labelled("Not TCP/UDP").metric("tailstamp_packets_total", "not_tcp_udp"),
		counter("NOT_STAMPED_NOT_ETHERNET_II", "Not stamped: not Ethernet II.").leaf("not-stamped/not-ethernet-ii").
			labelled("Not Ethernet II").metric("tailstamp_packets_total", "not_ethernet_ii"),
		counter("NOT_STAMPED_CUT", "Not stamped: cut short, or of an IP length that cannot be right.").
			leaf("not-stamped/cut").metric("tailstamp_packets_total", "cut"),
		counter("NOT_STAMPED_MTU", "Not stamped: the frame would be larger than the MTU.").
			leaf("not-stamped/mtu").labelled("MTU").metric("tailstamp_packets_total", "exceeds_mtu"),
		counter("SYNS", "With clamp-mss: segments with SYN the other way.").leaf("syns/seen").labelled("SYN Count").
			metric("tailstamp_syns_total", "seen"),
		counter("SYNS_CLAMPED", "Of these: the maximum segment size was lowered.").leaf("syns/clamped").
			metric("tailstamp_syns_total", "clamped"),
		counter("SYNS_SMALL", "Of these: it leaves room as it is.").leaf("syns/small").labelled("Small Enough").
			metric("tailstamp_syns_total", "small"),
		counter("SYNS_WITHOUT_MSS", "Of these: without the option, which stands for 536 or, with IPv6, 1220.").
			leaf("syns/without-mss").labelled("Without MSS").
			metric("tailstamp_syns_total", "without_mss"),
		counter("SYNS_MALFORMED", "Of these: left alone, since the options are not well-formed.").leaf("syns/malformed").
			metric("tailstamp_syns_total", "malformed"),
		counter("SYNS_CUT", "Of these: left alone, as fragments or cut short.").leaf("syns/cut").
			metric("tailstamp_syns_total", "cut"),
		counter("SYNS_NO_ROOM", "Of these: left alone, since less than 216 bytes would be left.").leaf("syns/no-room").
			metric("tailstamp_syns_total", "no_room"),
	}
}

// TailStampSession is a row of CONFIG_DB TAM_TAILSTAMPING_TABLE.
type TailStampSession struct {
	Name      string
	FlowGroup string
	ClampMSS  uint8 // number of records for which full TCP segments keep space, 1..MaxTailStampRecords; 0 means none
}

// MaxTailStampRecords is the maximum number of records for which a session can keep space.
const MaxTailStampRecords = 8

// clampMSS returns the field that both rows have.
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

// TailStampFlow is a row of APPL_DB TAM_TAILSTAMPING_TABLE: the session with its flow group resolved to an ACL rule.
type TailStampFlow struct {
	Name     string
	Rule     ACLRuleKey
	ClampMSS uint8         // has the same meaning as in the session
	SYNs     flymon.Filter // for ClampMSS: matches the SYN segments whose MSS option limits the flow group's segments
}

func (s *TailStampFlow) layout() layout {
	return layout{
		table: AppTAMTailStamp,
		open:  true,
		key:   named(&s.Name),
		fields: append(ruleOf(&s.Rule), clampMSS(&s.ClampMSS),
			parsed("clamp-filter", "any", flymon.FilterWords, flymon.ParseFilter, &s.SYNs,
				"Of clamp-mss: the segments whose maximum segment size is lowered.").ifSet().hidden()),
	}
}
