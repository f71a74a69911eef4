package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"time"

	"tamtam/tam/altmark"
)

// AltMarkSession is a row of CONFIG_DB TAM_ALTMARK_TABLE.
type AltMarkSession struct {
	Name      string
	FlowGroup string
	altmark.Session
}

var altMarkSessionRows = rows[AltMarkSession]{
	table: CfgTAMAltMark,
	key:   named(func(s *AltMarkSession) *string { return &s.Name }),
	fields: append([]field[AltMarkSession]{flowGroupOf(func(s *AltMarkSession) *string { return &s.FlowGroup })},
		within(func(s *AltMarkSession) *altmark.Session { return &s.Session }, altMarkFields...)...),
	check: func(r *reader, s *AltMarkSession) { r.whole(s.Check) },
}

// ParseAltMarkSession reads TAM_ALTMARK_TABLE of CONFIG_DB.
func ParseAltMarkSession(key string, f map[string]string) (AltMarkSession, error) {
	return altMarkSessionRows.parse(key, f)
}

// Fields formats the row.
func (s AltMarkSession) Fields() map[string]string { return altMarkSessionRows.fieldsOf(s) }

// AltMarkFlow is a row of APPL_DB TAM_ALTMARK_TABLE: the session with its flow
// group resolved to an ACL rule.
type AltMarkFlow struct {
	Name string
	Rule ACLRuleKey
	altmark.Session
}

var altMarkFlowRows = rows[AltMarkFlow]{
	table: AppTAMAltMark,
	open:  true,
	key:   named(func(s *AltMarkFlow) *string { return &s.Name }),
	fields: append(ruleOf(func(s *AltMarkFlow) *ACLRuleKey { return &s.Rule }),
		within(func(s *AltMarkFlow) *altmark.Session { return &s.Session }, altMarkFields...)...),
	check: func(r *reader, s *AltMarkFlow) { r.whole(s.Check) },
}

// ParseAltMarkFlow reads TAM_ALTMARK_TABLE of APPL_DB.
func ParseAltMarkFlow(key string, f map[string]string) (AltMarkFlow, error) {
	return altMarkFlowRows.parse(key, f)
}

// Fields formats the row.
func (s AltMarkFlow) Fields() map[string]string { return altMarkFlowRows.fieldsOf(s) }

var intervalForm = fmt.Sprintf("n of 2^n seconds, %d to %d", altmark.MinInterval, altmark.MaxInterval)

// altMarkFields are the fields that both rows have.
var altMarkFields = []field[altmark.Session]{
	enum("role", "", altmark.RoleWords(), altmark.ParseRole, func(s *altmark.Session) *altmark.Role { return &s.Role },
		"What the switch does on the path.").must(oneOf(altmark.RoleWords())),
	enum("method", "", altmark.MethodWords(), altmark.ParseMethod,
		func(s *altmark.Session) *altmark.Method { return &s.Method },
		"How packets are marked.").must(oneOf(altmark.MethodWords())),
	own("interval", intervalForm, "How long a period is.", readInterval,
		func(s *altmark.Session) string { return strconv.Itoa(int(s.Interval)) }).must(""),
	markField("mark", "The bit that has the colour.", func(s *altmark.Session) *altmark.Mark { return &s.Mark }).
		must(oneOf(altmark.MarkWords())),
	markField("mark2",
		"The bit of the pulse of double marking.", func(s *altmark.Session) *altmark.Mark { return &s.Mark2 }),
	boolean("clear", false, func(s *altmark.Session) *bool { return &s.Clear },
		"Whether a terminator clears the marks."),
	boolean("slot-sync", true, func(s *altmark.Session) *bool { return &s.SlotSync },
		"Whether the clocks are good enough to tell the slots of muxed marking."),
	enum("foreign-marks", altmark.CountForeign.String(), altmark.ForeignWords(), altmark.ParseForeign,
		func(s *altmark.Session) *altmark.ForeignMarks { return &s.Foreign },
		"What an initiator does with packets that come with a mark."),
	enum("clock-trust", altmark.CheckedClock.String(), altmark.TrustWords(), altmark.ParseTrust,
		func(s *altmark.Session) *altmark.ClockTrust { return &s.Trust },
		"Whether the switch's clock is checked or declared to be good."),
	nanos("clock-error", "The greatest error between the clocks of two points, in ns; without it 1/64 of the period.",
		func(s *altmark.Session) time.Duration { return s.Interval.Duration() / altmark.DefaultClockErrorPart },
		func(s *altmark.Session) *time.Duration { return &s.ClockError }),
	nanos("delay-min", "The least delay from the first point to this one, in ns.",
		func(*altmark.Session) time.Duration { return 0 },
		func(s *altmark.Session) *time.Duration { return &s.MinDelay }).or("0"),
	nanos("delay-max", "The greatest delay from the first point to this one, in ns; without it 1/8 of the period.",
		func(s *altmark.Session) time.Duration {
			return max(s.MinDelay, s.Interval.Duration()/altmark.DefaultMaxDelayPart)
		}, func(s *altmark.Session) *time.Duration { return &s.MaxDelay }),
}

// nanos is a time in ns, whose default depends on the fields before it.
func nanos(
	name, words string, def func(*altmark.Session) time.Duration, at func(*altmark.Session) *time.Duration,
) field[altmark.Session] {
	most := uint64(altmark.MaxInterval.Duration())
	return own(name, rangeForm(0, most), words, func(r *reader, s *altmark.Session) {
		*at(s) = time.Duration(r.number(name, 0, most, uint64(def(s))))
	}, func(s *altmark.Session) string { return utoa(uint64(*at(s))) })
}

func markField(name, words string, at func(*altmark.Session) *altmark.Mark) field[altmark.Session] {
	f := enum(name, "", altmark.MarkWords(), altmark.ParseMark, at, words)
	read := f.read
	f.read = func(r *reader, d *Field, s *altmark.Session) {
		switch v := r.fields[name]; v {
		case "ecn", "ecn0", "ecn1":
			r.take(name)
			r.bad(name, v, "another bit: both bits of ECN are in use by RFC 3168; "+oneOf(altmark.MarkWords()))
		default:
			read(r, d, s)
		}
	}
	return f
}

// readInterval reads n of 2^n seconds.
func readInterval(r *reader, s *altmark.Session) {
	v, _ := r.take("interval")
	n, err := strconv.ParseInt(v, 10, 8)
	if err != nil || !altmark.Interval(n).Valid() {
		r.bad("interval", v, intervalForm)
		return
	}
	s.Interval = altmark.Interval(n)
}

// whole checks a row all of whose fields are good by themselves.
func (r *reader) whole(check func() error) {
	if len(r.errs) > 0 {
		return
	}
	for _, err := range flatten(check()) {
		r.errs = append(r.errs, &FieldError{Object: r.object, Whole: err.Error()})
	}
}

// Engines of alternate marking: who switches the colour.
const (
	AltMarkByChip         = "chip"         // the chip matches time bits
	AltMarkByOrchestrator = "orchestrator" // orchagent sets ACL entries on schedule
)

// AltMarkCounters is a row of COUNTERS_DB TAM_ALTMARK_COUNTERS: how a session is
// measured, and its last whole period.
type AltMarkCounters struct {
	Engine string        // AltMarkByChip or AltMarkByOrchestrator
	Timing string        // how exact the marks are in time, in words
	Guard  time.Duration // for this long after a period its packets may still come
	Has    bool          // there is a period
	Period altmark.Period
}

var altMarkCounterRows = rows[AltMarkCounters]{
	table: CountersAltMark,
	open:  true,
	key:   sessionKey[AltMarkCounters](),
	fields: append([]field[AltMarkCounters]{
		text("ENGINE", func(c *AltMarkCounters) *string { return &c.Engine },
			"Who switches the colour: chip or orchestrator.").always(),
		text("TIMING", func(c *AltMarkCounters) *string { return &c.Timing },
			"How exact the marks are in time, in words.").always(),
		duration("GUARD", 1, 0, 1<<62, 0, func(c *AltMarkCounters) *time.Duration { return &c.Guard },
			"In ns: so long after a period's end its packets may come.").must(rangeWords(0, 1<<62)),
	}, described[AltMarkCounters](periodRows.fields)...),
	check: func(r *reader, c *AltMarkCounters) {
		if c.Has = r.fields["PERIOD"] != ""; c.Has {
			periodRows.take(r, &c.Period)
		}
	},
	format: func(c *AltMarkCounters, f map[string]string) {
		if c.Has {
			maps.Copy(f, periodRows.fieldsOf(c.Period))
		}
	},
}

// sessionKey is the key of what is counted for a session, which the row does not repeat.
func sessionKey[T any]() key[T] {
	return key[T]{form: "the session's name", read: func(*reader, string, *T) {}}
}

// Fields formats the row.
func (c AltMarkCounters) Fields() map[string]string { return altMarkCounterRows.fieldsOf(c) }

// ParseAltMarkCounters reads TAM_ALTMARK_COUNTERS.
func ParseAltMarkCounters(key string, f map[string]string) (AltMarkCounters, error) {
	return altMarkCounterRows.parse(key, f)
}

const timeForm = "seconds since 1970, a point and nine digits"

// periodRows are the fields of a period. Its clock is there where something vouches for it, or says why not.
var periodRows = rows[altmark.Period]{
	open: true,
	fields: []field[altmark.Period]{
		count("PERIOD", func(p *altmark.Period) *uint64 { return &p.Number }, "Number of the period."),
		number("COLOUR", 0, 1, 0, func(p *altmark.Period) *uint8 { return &p.Colour }, "Its lowest bit.").
			must(rangeWords(0, 1)),
		count("PACKETS", func(p *altmark.Period) *uint64 { return &p.Packets }, "Packets of this colour."),
		count("BYTES", func(p *altmark.Period) *uint64 { return &p.Bytes }, "Their bytes, with FCS."),
		count("CAPTURES", func(p *altmark.Period) *uint32 { return &p.Captures },
			"Pulses whose time was captured."),
		periodTime("TIMESTAMP",
			"The time of the last of them, in s since 1970.",
			func(p *altmark.Period) *altmark.Time { return &p.Timestamp }),
		own("DIGEST", rangeForm(0, 1<<32-1), "What tells the packet of the last pulse: it is the same at every point.",
			func(r *reader, p *altmark.Period) {
				if r.fields["DIGEST"] != "" {
					p.Digest = uint32(r.number("DIGEST", 0, 1<<32-1, 0))
				}
			}, func(p *altmark.Period) string { return utoa(p.Digest) }),
		count("OUT_OF_WINDOW", func(p *altmark.Period) *uint64 { return &p.OutOfWindow },
			"Packets where the guard allows none."),
		count("FOREIGN_MARKS", func(p *altmark.Period) *uint64 { return &p.Foreign },
			"Packets that came to the initiator with a mark."),
		periodTime("READ_AT",
			"When the counters were read.", func(p *altmark.Period) *altmark.Time { return &p.ReadAt }).must(timeForm),
		own("FLAGS", "flags of a period, with commas between",
			"What is wrong with the period.", func(r *reader, p *altmark.Period) {
				flags := r.text("FLAGS")
				var err error
				if p.Flags, err = altmark.ParseFlags(flags); err != nil {
					r.bad("FLAGS", flags, "flags of a period, with commas between")
				}
			}, func(p *altmark.Period) string { return p.Flags.String() }).always(),
		text("CLOCK", func(p *altmark.Period) *string { return &p.Clock.Says },
			"What vouches for the chip's clock, or why nothing does. "+
				"It and the next three are there of methods that measure delay, where the clock follows a kernel's or is "+
				"declared to be good, and the chip itself does not say that it is not synchronised."),
		own[altmark.Period]("KERNEL_CLOCK", "a UUID", "Boot ID of that kernel; empty if it is not known.", nil, nil),
		own[altmark.Period]("KERNEL_CLOCK_OFFSET", "a whole number",
			"In ns: how far the chip's clock is ahead of the kernel's time of day; 0 if it is not known.", nil, nil),
		own[altmark.Period]("KERNEL_CLOCK_ERROR", rangeForm(0, 1<<63-1),
			"In ns: the greatest error of the chip's clock by what the kernel says; 0 where it does not vouch for it.",
			nil, nil),
	},
	check: func(r *reader, p *altmark.Period) {
		if c := &p.Clock; c.Says != "" {
			r.needs("KERNEL_CLOCK_ERROR", rangeWords(0, 1<<63-1))
			r.needs("KERNEL_CLOCK_OFFSET", "a whole number of 64 bits")
			c.Error = time.Duration(r.number("KERNEL_CLOCK_ERROR", 0, 1<<63-1, 0))
			c.Kernel = r.text("KERNEL_CLOCK")
			if ahead := r.signed("KERNEL_CLOCK_OFFSET"); ahead != nil {
				c.Ahead = time.Duration(*ahead)
			}
		}
		if p.Captures == 0 {
			p.Timestamp, p.Digest = altmark.Time{}, 0 // they are those of a capture
			return
		}
		r.needs("TIMESTAMP", timeForm)
		r.needs("DIGEST", rangeWords(0, 1<<32-1))
	},
	format: func(p *altmark.Period, f map[string]string) {
		if p.Captures == 0 {
			delete(f, "TIMESTAMP")
			delete(f, "DIGEST")
		}
		if c := p.Clock; c.Says != "" {
			f["KERNEL_CLOCK"], f["KERNEL_CLOCK_ERROR"] = c.Kernel, utoa(uint64(c.Error))
			f["KERNEL_CLOCK_OFFSET"] = strconv.FormatInt(int64(c.Ahead), 10)
		}
	},
}

func periodTime(name, words string, at func(*altmark.Period) *altmark.Time) field[altmark.Period] {
	return own(name, timeForm, words, func(r *reader, p *altmark.Period) {
		v, ok := r.take(name)
		if !ok {
			return
		}
		t, err := altmark.ParseTime(v)
		if err != nil {
			r.bad(name, v, timeForm)
		}
		*at(p) = t
	}, func(p *altmark.Period) string { return at(p).String() })
}

// AltMarkHistory is how many periods TAM_ALTMARK_HISTORY keeps of a session.
const AltMarkHistory = 16

// FormatAltMarkPeriod and ParseAltMarkPeriod are the fields of TAM_ALTMARK_HISTORY:
// the number of the period, and JSON of what TAM_ALTMARK_COUNTERS has of it.
func FormatAltMarkPeriod(p altmark.Period) (field, value string) {
	b, _ := json.Marshal(periodRows.fieldsOf(p)) // of strings
	return utoa(p.Number), string(b)
}

// ParseAltMarkPeriod reads a field of TAM_ALTMARK_HISTORY.
func ParseAltMarkPeriod(session, field, value string) (altmark.Period, error) {
	var fields map[string]string
	if err := json.Unmarshal([]byte(value), &fields); err != nil {
		return altmark.Period{}, &FieldError{
			Object: CountersAltMarkPast + "|" + session, Field: field, Value: value, Want: "JSON of a period",
		}
	}
	r := newReader(CountersAltMarkPast, session, fields, false)
	var p altmark.Period
	periodRows.take(r, &p)
	if r.fields["PERIOD"] != field {
		r.bad(field, r.fields["PERIOD"], "its own number")
	}
	return p, r.err()
}
