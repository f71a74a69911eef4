package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"strconv"
	"time"

	"tamtam/tam/altmark"
)

// Alternate marking in the databases.
const (
	FeatureAltMark = "ALTMARK"

	CfgTAMAltMark   = "TAM_ALTMARK_TABLE"
	AppTAMAltMark   = "TAM_ALTMARK_TABLE"
	StateTAMAltMark = "TAM_STATE_ALTMARK_TABLE"
	// StateTAMAltMarkPlace stores where in the chip sessions of alternate marking are, for the next run.
	StateTAMAltMarkPlace = "TAM_STATE_ALTMARK_PLACE_TABLE"
	CountersAltMark      = "TAM_ALTMARK_COUNTERS" // :session -> see AltMarkCounters
	CountersAltMarkPast  = "TAM_ALTMARK_HISTORY"  // :session -> period number -> see FormatAltMarkPeriod
	CountersAltMarkPath  = "TAM_ALTMARK_RESULTS"  // :path:from:to -> see AltMarkResult; written by a collector
)

func altMarkTables() (configured, measured []Table) {
	configured = []Table{
		ofBoth(Table{Config: CfgTAMAltMark, Appl: AppTAMAltMark, State: StateTAMAltMark,
			Words: "A session that marks the packets of a flow group in turn, and counts them by colour."},
			AltMarkSession{}, AltMarkFlow{}),
	}
	return configured, []Table{
		of(Table{Counters: CountersAltMark, Labels: []string{"session"},
			Words: "How a session of alternate marking is measured, and its last whole period."},
			AltMarkCounters{}),
		{Counters: CountersAltMarkPast, Words: "The last periods of a session.", Key: "the session's name", Fields: []Field{{
			Name: "number of the period", Form: "JSON", Words: "The fields of TAM_ALTMARK_COUNTERS from PERIOD on.",
		}}},
		of(Table{Counters: CountersAltMarkPath, Labels: []string{"path", "from", "to"},
			Words: "A collector's results for the last period of a path between two switches."},
			AltMarkResult{}),
	}
}

// AltMarkSession is a row of CONFIG_DB TAM_ALTMARK_TABLE.
type AltMarkSession struct {
	Name      string
	FlowGroup string
	altmark.Session
}

func (s *AltMarkSession) layout() layout {
	return layout{
		table:  CfgTAMAltMark,
		key:    named(&s.Name),
		fields: append([]field{flowGroupOf(&s.FlowGroup)}, altMarkFields(&s.Session)...),
		check:  func(r *reader) { r.whole(s.Check) },
	}
}

// AltMarkFlow is a row of APPL_DB TAM_ALTMARK_TABLE: the session with its flow group resolved to an ACL rule.
type AltMarkFlow struct {
	Name string
	Rule ACLRuleKey
	altmark.Session
}

func (s *AltMarkFlow) layout() layout {
	return layout{
		table:  AppTAMAltMark,
		open:   true,
		key:    named(&s.Name),
		fields: append(ruleOf(&s.Rule), altMarkFields(&s.Session)...),
		check:  func(r *reader) { r.whole(s.Check) },
	}
}

var intervalForm = fmt.Sprintf("n of 2^n seconds, %d to %d", altmark.MinInterval, altmark.MaxInterval)

// altMarkFields returns the fields that both rows have.
func altMarkFields(s *altmark.Session) []field {
	return []field{
		enum("role", "", altmark.RoleWords(), altmark.ParseRole, &s.Role, "What the switch does on the path.").needed(),
		enum("method", "", altmark.MethodWords(), altmark.ParseMethod, &s.Method, "How packets are marked.").needed(),
		own("interval", intervalForm, "How long a period is.", func(r *reader) { readInterval(r, &s.Interval) },
			func() string { return strconv.Itoa(int(s.Interval)) }).must(""),
		markField("mark", &s.Mark, "The bit that has the colour.").needed(),
		markField("mark2", &s.Mark2, "The bit of the pulse of double marking."),
		flowMonID("flow-mon-id", &s.FlowMonID, "Only packets with this FlowMonID in their AltMark option."),
		encapAddress("encap-src", &s.Encap.Src, "Source of the IPv6 header that an initiator puts around packets, "+
			"with an AltMark option, and a terminator takes off: an address of the initiator."),
		encapAddress("encap-dst", &s.Encap.Dst, "Its destination: an address of the terminator."),
		enum("encap-header", altmark.DestinationOptions.String(), altmark.OptionsWords(), altmark.ParseOptionsHeader,
			&s.Encap.Header, "The header of options that has the option, of an initiator.").ifSet(),
		optional("encap-hop-limit", 1, altmark.MaxEncapHopLimit, &s.Encap.HopLimit,
			"The hop limit with which packets leave an initiator; without it 64."),
		boolean("clear", false, &s.Clear, "Whether a terminator clears the marks."),
		boolean("slot-sync", true, &s.SlotSync,
			"Whether the clocks are accurate enough to separate the slots of muxed marking."),
		boolean("mean-delay", false, &s.MeanDelay, "Whether the arrivals of all packets of a period are summed up, "+
			"for the mean delay of RFC 9341."),
		enum("foreign-marks", altmark.CountForeign.String(), altmark.ForeignWords(), altmark.ParseForeign, &s.Foreign,
			"What an initiator does with packets that come with a mark."),
		enum("clock-trust", altmark.CheckedClock.String(), altmark.TrustWords(), altmark.ParseTrust, &s.Trust,
			"Whether the switch's clock is checked or declared to be good."),
		nanos("clock-error", &s.ClockError,
			func() time.Duration { return s.Interval.Duration() / altmark.DefaultClockErrorPart },
			"The greatest error between the clocks of two points, in ns; without it 1/64 of the period."),
		nanos("delay-min", &s.MinDelay, func() time.Duration { return 0 },
			"The least delay from the first point to this one, in ns.").or("0"),
		nanos("delay-max", &s.MaxDelay,
			func() time.Duration { return max(s.MinDelay, s.Interval.Duration()/altmark.DefaultMaxDelayPart) },
			"The greatest delay from the first point to this one, in ns; without it 1/8 of the period."),
	}
}

// flowMonID returns an optional field with the FlowMonID of a session.
func flowMonID(name string, at *altmark.FlowMonID, words string) field {
	return within(name, 0, altmark.MaxFlowMonID, words, func(r *reader) {
		if _, at.Given = r.fields[name]; at.Given {
			at.ID = uint32(r.number(name, 0, altmark.MaxFlowMonID, 0))
		}
	}, func() string { return at.String() })
}

const encapAddressForm = "an IPv6 address of one host that routers forward packets to"

// encapAddress returns an optional field with an address of a header.
func encapAddress(name string, at *netip.Addr, words string) field {
	return own(name, encapAddressForm, words, func(r *reader) {
		v, ok := r.value(name)
		if !ok {
			return
		}
		a, err := altmark.ParseEncapAddress(v)
		if err != nil {
			r.bad(name, v, encapAddressForm)
		}
		*at = a
	}, func() string {
		if !at.IsValid() {
			return ""
		}
		return at.String()
	})
}

// nanos returns a field with a time in ns, whose default depends on the fields before it.
func nanos(name string, at *time.Duration, def func() time.Duration, words string) field {
	most := uint64(altmark.MaxInterval.Duration())
	return within(name, 0, most, words,
		func(r *reader) { *at = time.Duration(r.number(name, 0, most, uint64(def()))) },
		func() string { return utoa(uint64(*at)) })
}

func markField(name string, at *altmark.Mark, words string) field {
	f := enum(name, "", altmark.MarkWords(), altmark.ParseMark, at, words)
	read := f.read
	f.read = func(r *reader) {
		switch v := r.fields[name]; v {
		case "ecn", "ecn0", "ecn1":
			r.value(name)
			r.bad(name, v, "another bit: both bits of ECN are in use by RFC 3168; "+oneOf(altmark.MarkWords()))
		default:
			read(r)
		}
	}
	return f
}

// readInterval reads n; the interval is 2^n seconds.
func readInterval(r *reader, at *altmark.Interval) {
	v, _ := r.value("interval")
	n, err := strconv.ParseInt(v, 10, 8)
	if err != nil || !altmark.Interval(n).Valid() {
		r.bad("interval", v, intervalForm)
		return
	}
	*at = altmark.Interval(n)
}

// whole checks a row as a whole, if all its fields are valid.
func (r *reader) whole(check func() error) {
	if len(r.errs) > 0 {
		return
	}
	for _, err := range flatten(check()) {
		r.errs = append(r.errs, &FieldError{Object: r.table + "|" + r.key, Whole: err.Error()})
	}
}

// Engines of alternate marking. The engine changes the colour of packets.
const (
	AltMarkByChip         = "chip"         // the chip matches time bits
	AltMarkByOrchestrator = "orchestrator" // orchagent sets ACL entries on schedule
)

// AltMarkCounters is a row of COUNTERS_DB TAM_ALTMARK_COUNTERS: how a session is measured, and its last complete
// period.
type AltMarkCounters struct {
	Engine string        // AltMarkByChip or AltMarkByOrchestrator
	Timing string        // precision of the colour changes in time, in words
	Guard  time.Duration // time after the end of a period during which its packets may still arrive
	Has    bool          // true if Period holds a complete period
	Period altmark.Period
	// For sessions with a header: counts since the session was added to the ASIC, as of the last read. nil means
	// unknown.
	Encapsulated, Decapsulated, TooLong, Damaged *uint64
}

func (c *AltMarkCounters) layout() layout {
	period := periodLayout(&c.Period)
	return layout{
		table: CountersAltMark, open: true,
		key: about("the session's name"),
		fields: append([]field{
			text("ENGINE", &c.Engine, "Who switches the colour: chip or orchestrator.").always(),
			text("TIMING", &c.Timing, "How exact the marks are in time, in words.").always(),
			duration("GUARD", 1, 0, 1<<62, 0, &c.Guard, "In ns: so long after a period's end its packets may come.").needed(),
			known("ENCAPSULATED", &c.Encapsulated, "Packets around which a header was put, since the session came into the "+
				"ASIC. It and the next three are there of sessions with encap-dst, and as of the last reading.").
				leaf("encapsulated-packets").metric("altmark_encap_packets_total", "encapsulated"),
			known("DECAPSULATED", &c.Decapsulated, "Packets whose header was taken off.").
				leaf("decapsulated-packets").metric("altmark_encap_packets_total", "decapsulated"),
			known("ENCAP_TOO_LONG", &c.TooLong,
				"Packets that were dropped since, with the header, they were longer than the MTU by which they were to leave.").
				leaf("encap-too-long-packets").metric("altmark_encap_packets_total", "too_long"),
			known("DECAP_DAMAGED", &c.Damaged, "Packets whose header was not taken off, since headers are damaged.").
				leaf("decap-damaged-packets").metric("altmark_encap_packets_total", "damaged"),
		}, shown("last-period", period.fields)...),
		check: func(r *reader) {
			if c.Has = r.fields["PERIOD"] != ""; c.Has {
				period.parseFields(r)
			}
		},
		format: func(f map[string]string) {
			if c.Has {
				maps.Copy(f, period.row())
			}
		},
	}
}

const timeForm = "seconds since 1970, a point and nine digits"

// periodLayout returns the layout of a period. The state of the clock is included if the clock is synchronised, or if
// the reason why it is not is known.
func periodLayout(p *altmark.Period) layout {
	return layout{
		open: true,
		fields: []field{
			count("PERIOD", &p.Number, "Number of the period.").leaf("number").metric("altmark_period", ""),
			number("COLOUR", 0, 1, 0, &p.Colour, "Its lowest bit.").needed(),
			count("PACKETS", &p.Packets, "Packets of this colour.").metric("altmark_period_packets", ""),
			count("BYTES", &p.Bytes, "Their bytes, with FCS.").leaf("octets").metric("altmark_period_bytes", ""),
			count("CAPTURES", &p.Captures, "Pulses whose time was captured.").metric("altmark_period_captures", ""),
			periodTime("TIMESTAMP", &p.Timestamp, "The time of the last of them, in s since 1970."),
			within("DIGEST", 0, 1<<32-1, "Identifies the packet of the last pulse: the same value at every point.",
				func(r *reader) {
					if r.fields["DIGEST"] != "" {
						p.Digest = uint32(r.number("DIGEST", 0, 1<<32-1, 0))
					}
				}, func() string { return utoa(p.Digest) }),
			count("OUT_OF_WINDOW", &p.OutOfWindow, "Packets where the guard allows none.").
				metric("altmark_period_out_of_window_packets", ""),
			count("FOREIGN_MARKS", &p.Foreign, "Packets that came to the initiator with a mark.").
				metric("altmark_period_foreign_packets", ""),
			within("ARRIVALS", 0, 1<<64-1, "Packets whose arrivals were summed up. It and the next one are there where "+
				"mean-delay is true.", nil, nil),
			own("ARRIVAL_SUM", altmark.SumForm, "The sum of their times since the period began, in ns.", nil, nil),
			periodTime("READ_AT", &p.ReadAt, "When the counters were read.").must(timeForm).
				metric("altmark_period_read_timestamp_seconds", ""),
			own("FLAGS", "flags of a period, with commas between",
				"What is wrong with the period.", func(r *reader) {
					flags := r.text("FLAGS")
					var err error
					if p.Flags, err = altmark.ParseFlags(flags); err != nil {
						r.bad("FLAGS", flags, "flags of a period, with commas between")
					}
				}, func() string { return p.Flags.String() }).always().parted(",").metric("altmark_period_flag", ""),
			text("MATCH", &p.Match, "Which packets the session gets: what its flow group matches, without what flow groups "+
				"above it take. Marks and interfaces are not part of it; points of a path are compared if they have the same."),
			text("CLOCK", &p.Clock.Says, "What vouches for the chip's clock, or why nothing does. "+
				"It and the next three are there of methods that measure delay, where the clock follows a kernel's or is "+
				"declared to be good, and the chip itself does not report that it is not synchronised."),
			own("KERNEL_CLOCK", "a UUID", "Boot ID of that kernel; empty if it is not known.", nil, nil),
			own("KERNEL_CLOCK_OFFSET", "a whole number",
				"In ns: how far the chip's clock is ahead of the kernel's time of day; 0 if it is not known.", nil, nil),
			within("KERNEL_CLOCK_ERROR", 0, 1<<63-1,
				"In ns: the greatest error of the chip's clock as the kernel reports it; 0 if the kernel does not vouch for it.",
				nil, nil),
		},
		check: func(r *reader) {
			if c := &p.Clock; c.Says != "" {
				r.needs("KERNEL_CLOCK_ERROR", rangeWords(0, 1<<63-1))
				r.needs("KERNEL_CLOCK_OFFSET", "a whole number of 64 bits")
				c.Error = time.Duration(r.number("KERNEL_CLOCK_ERROR", 0, 1<<63-1, 0))
				c.Kernel = r.text("KERNEL_CLOCK")
				if ahead := r.signed("KERNEL_CLOCK_OFFSET"); ahead != nil {
					c.Ahead = time.Duration(*ahead)
				}
			}
			readArrivals(r, &p.Arrivals)
			if p.Captures == 0 {
				p.Timestamp, p.Digest = altmark.Time{}, 0 // these fields belong to a capture
				return
			}
			r.needs("TIMESTAMP", timeForm)
			r.needs("DIGEST", rangeWords(0, 1<<32-1))
		},
		format: func(f map[string]string) {
			if p.Captures == 0 {
				delete(f, "TIMESTAMP")
				delete(f, "DIGEST")
			}
			if a := p.Arrivals; a.Summed {
				f["ARRIVALS"], f["ARRIVAL_SUM"] = utoa(a.Packets), a.Sum.String()
			}
			if c := p.Clock; c.Says != "" {
				f["KERNEL_CLOCK"], f["KERNEL_CLOCK_ERROR"] = c.Kernel, utoa(uint64(c.Error))
				f["KERNEL_CLOCK_OFFSET"] = strconv.FormatInt(int64(c.Ahead), 10)
			}
		},
	}
}

// readArrivals reads ARRIVALS and ARRIVAL_SUM, or neither if both are empty.
func readArrivals(r *reader, a *altmark.Arrivals) {
	if r.fields["ARRIVALS"] == "" && r.fields["ARRIVAL_SUM"] == "" {
		return
	}
	r.needs("ARRIVALS", rangeWords(0, 1<<64-1))
	r.needs("ARRIVAL_SUM", altmark.SumForm)
	a.Summed, a.Packets = true, r.number("ARRIVALS", 0, 1<<64-1, 0)
	text := r.text("ARRIVAL_SUM")
	var err error
	if a.Sum, err = altmark.ParseSum(text); err != nil && text != "" {
		r.bad("ARRIVAL_SUM", text, altmark.SumForm)
	}
}

func periodTime(name string, at *altmark.Time, words string) field {
	return own(name, timeForm, words, func(r *reader) {
		v, ok := r.value(name)
		if !ok {
			return
		}
		t, err := altmark.ParseTime(v)
		if err != nil {
			r.bad(name, v, timeForm)
		}
		*at = t
	}, func() string { return at.String() })
}

// AltMarkHistory is the number of periods per session that TAM_ALTMARK_HISTORY holds.
const AltMarkHistory = 16

// FormatAltMarkPeriod returns a field of TAM_ALTMARK_HISTORY: the number of the period, and as JSON its fields in
// TAM_ALTMARK_COUNTERS. [ParseAltMarkPeriod] is the inverse.
func FormatAltMarkPeriod(p altmark.Period) (field, value string) {
	b, _ := json.Marshal(periodLayout(&p).row()) // strings always encode
	return utoa(p.Number), string(b)
}

// ParseAltMarkPeriod parses a field of TAM_ALTMARK_HISTORY.
func ParseAltMarkPeriod(session, field, value string) (altmark.Period, error) {
	var fields map[string]string
	if err := json.Unmarshal([]byte(value), &fields); err != nil {
		return altmark.Period{}, &FieldError{
			Object: CountersAltMarkPast + "|" + session, Field: field, Value: value, Want: "JSON of a period",
		}
	}
	r := newReader(CountersAltMarkPast, session, fields, false)
	var p altmark.Period
	period := periodLayout(&p)
	period.parseFields(r)
	if r.fields["PERIOD"] != field {
		r.bad(field, r.fields["PERIOD"], "its own number")
	}
	return p, r.err()
}
