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

// ParseAltMarkSession reads TAM_ALTMARK_TABLE of CONFIG_DB. Fields that are not
// given have their defaults.
func ParseAltMarkSession(key string, fields map[string]string) (AltMarkSession, error) {
	r := newReader(CfgTAMAltMark, key, fields)
	r.tamKey(key)
	s := AltMarkSession{Name: key, FlowGroup: r.name("flowgroup", "")}
	if r.fields["flowgroup"] == "" {
		r.bad("flowgroup", "", "the name of a flow group")
	}
	s.Session = r.altMark()
	r.unknown()
	return s, r.err()
}

// Fields formats the row.
func (s AltMarkSession) Fields() map[string]string {
	f := altMarkFields(s.Session)
	f["flowgroup"] = s.FlowGroup
	return f
}

// AltMarkFlow is a row of APPL_DB TAM_ALTMARK_TABLE: the session with its flow
// group resolved to an ACL rule.
type AltMarkFlow struct {
	Name string
	Rule ACLRuleKey
	altmark.Session
}

// ParseAltMarkFlow reads TAM_ALTMARK_TABLE of APPL_DB.
func ParseAltMarkFlow(key string, fields map[string]string) (AltMarkFlow, error) {
	r := newReader(AppTAMAltMark, key, fields)
	r.tamKey(key)
	s := AltMarkFlow{Name: key, Rule: ACLRuleKey{Table: r.name("acl-table-name", ""), Rule: r.name("acl-rule-name", "")}}
	if r.fields["acl-table-name"] == "" {
		r.bad("acl-table-name", "", "the name of an ACL table")
	}
	if r.fields["acl-rule-name"] == "" {
		r.bad("acl-rule-name", "", "the name of an ACL rule")
	}
	s.Session = r.altMark()
	return s, r.err()
}

// Fields formats the row.
func (s AltMarkFlow) Fields() map[string]string {
	f := altMarkFields(s.Session)
	f["acl-table-name"], f["acl-rule-name"] = s.Rule.Table, s.Rule.Rule
	return f
}

// altMark reads the fields that both rows have.
func (r *reader) altMark() altmark.Session {
	var s altmark.Session
	s.Role, _ = altmark.ParseRole(r.required("role", altmark.RoleWords()))
	s.Method, _ = altmark.ParseMethod(r.required("method", altmark.MethodWords()))
	s.Interval = r.interval()
	s.Mark = r.mark("mark", true)
	s.Mark2 = r.mark("mark2", false)
	s.Clear = r.flag("clear", false, "true", "false")
	s.SlotSync = r.flag("slot-sync", true, "true", "false")
	s.Foreign, _ = altmark.ParseForeign(r.word("foreign-marks", altmark.CountForeign.String(), altmark.ForeignWords()...))
	s.Trust, _ = altmark.ParseTrust(r.word("clock-trust", altmark.CheckedClock.String(), altmark.TrustWords()...))
	length := s.Interval.Duration()
	nanos := func(field string, def time.Duration) time.Duration {
		return time.Duration(r.number(field, 0, uint64(altmark.MaxInterval.Duration()), uint64(def)))
	}
	s.ClockError = nanos("clock-error", length/altmark.DefaultClockErrorPart)
	s.MinDelay = nanos("delay-min", 0)
	s.MaxDelay = nanos("delay-max", max(s.MinDelay, length/altmark.DefaultMaxDelayPart))
	if len(r.errs) > 0 {
		return s
	}
	for _, err := range flatten(s.Check()) {
		r.errs = append(r.errs, &FieldError{Object: r.object, Whole: err.Error()})
	}
	return s
}

// required reads a word that must be given.
func (r *reader) required(field string, words []string) string {
	if r.fields[field] == "" {
		r.bad(field, "", oneOf(words))
		r.take(field)
		return ""
	}
	return r.word(field, "", words...)
}

func (r *reader) mark(field string, must bool) altmark.Mark {
	switch v := r.fields[field]; {
	case v == "ecn" || v == "ecn0" || v == "ecn1":
		r.take(field)
		r.bad(field, v, "another bit: both bits of ECN are in use by RFC 3168; "+oneOf(altmark.MarkWords()))
		return altmark.NoMark
	case v == "" && !must:
		r.take(field)
		return altmark.NoMark
	}
	m, _ := altmark.ParseMark(r.required(field, altmark.MarkWords()))
	return m
}

// interval reads n of 2^n seconds.
func (r *reader) interval() altmark.Interval {
	v, _ := r.take("interval")
	n, err := strconv.ParseInt(v, 10, 8)
	if err != nil || !altmark.Interval(n).Valid() {
		r.bad("interval", v, fmt.Sprintf("n of 2^n seconds, %d to %d", altmark.MinInterval, altmark.MaxInterval))
		return 0
	}
	return altmark.Interval(n)
}

func altMarkFields(s altmark.Session) map[string]string {
	f := map[string]string{
		"role": s.Role.String(), "method": s.Method.String(),
		"interval": strconv.Itoa(int(s.Interval)), "mark": s.Mark.String(),
		"clear": strconv.FormatBool(s.Clear), "slot-sync": strconv.FormatBool(s.SlotSync),
		"foreign-marks": s.Foreign.String(),
		"clock-trust":   s.Trust.String(),
		"clock-error":   utoa(uint64(s.ClockError)),
		"delay-min":     utoa(uint64(s.MinDelay)), "delay-max": utoa(uint64(s.MaxDelay)),
	}
	if s.Mark2 != altmark.NoMark {
		f["mark2"] = s.Mark2.String()
	}
	return f
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

// Fields formats the row.
func (c AltMarkCounters) Fields() map[string]string {
	f := map[string]string{"ENGINE": c.Engine, "TIMING": c.Timing, "GUARD": utoa(uint64(c.Guard))}
	if c.Has {
		maps.Copy(f, periodFields(c.Period))
	}
	return f
}

// ParseAltMarkCounters reads TAM_ALTMARK_COUNTERS.
func ParseAltMarkCounters(key string, fields map[string]string) (AltMarkCounters, error) {
	r := newReader(CountersAltMark, key, fields)
	c := AltMarkCounters{Engine: r.text("ENGINE"), Timing: r.text("TIMING")}
	c.Guard = time.Duration(r.number("GUARD", 0, 1<<62, 0))
	if c.Has = r.fields["PERIOD"] != ""; c.Has {
		c.Period = r.period()
	}
	return c, r.err()
}

func periodFields(p altmark.Period) map[string]string {
	f := map[string]string{
		"PERIOD": utoa(p.Number), "COLOUR": utoa(p.Colour), "PACKETS": utoa(p.Packets), "BYTES": utoa(p.Bytes),
		"CAPTURES": utoa(p.Captures), "OUT_OF_WINDOW": utoa(p.OutOfWindow),
		"READ_AT": p.ReadAt.String(), "FLAGS": p.Flags.String(),
		"FOREIGN_MARKS": utoa(p.Foreign),
	}
	if p.Captures > 0 {
		f["TIMESTAMP"], f["DIGEST"] = p.Timestamp.String(), utoa(p.Digest)
	}
	if c := p.Clock; c.Says != "" {
		f["CLOCK"], f["KERNEL_CLOCK"] = c.Says, c.Kernel
		f["KERNEL_CLOCK_OFFSET"], f["KERNEL_CLOCK_ERROR"] = strconv.FormatInt(int64(c.Ahead), 10), utoa(uint64(c.Error))
	}
	return f
}

func (r *reader) period() altmark.Period {
	const most = 1<<64 - 1
	p := altmark.Period{
		Number:  r.number("PERIOD", 0, most, 0),
		Packets: r.number("PACKETS", 0, most, 0), Bytes: r.number("BYTES", 0, most, 0),
		Colour: uint8(r.number("COLOUR", 0, 1, 0)), Captures: uint32(r.number("CAPTURES", 0, 1<<32-1, 0)),
		OutOfWindow: r.number("OUT_OF_WINDOW", 0, most, 0),
		Foreign:     r.number("FOREIGN_MARKS", 0, most, 0),
	}
	if r.fields["DIGEST"] != "" {
		p.Digest = uint32(r.number("DIGEST", 0, 1<<32-1, 0))
	}
	if says := r.text("CLOCK"); says != "" {
		uncertain := time.Duration(r.number("KERNEL_CLOCK_ERROR", 0, 1<<63-1, 0))
		p.Clock = altmark.Clock{Says: says, Kernel: r.text("KERNEL_CLOCK"), Error: uncertain}
		if ahead := r.signed("KERNEL_CLOCK_OFFSET"); ahead != nil {
			p.Clock.Ahead = time.Duration(*ahead)
		}
	}
	times := func(field string) (t altmark.Time) {
		v, ok := r.take(field)
		if !ok {
			return t
		}
		t, err := altmark.ParseTime(v)
		if err != nil {
			r.bad(field, v, "seconds since 1970, a point and nine digits")
		}
		return t
	}
	p.Timestamp, p.ReadAt = times("TIMESTAMP"), times("READ_AT")
	if p.Captures == 0 {
		p.Timestamp, p.Digest = altmark.Time{}, 0 // they are those of a capture
	}
	flags := r.text("FLAGS")
	var err error
	if p.Flags, err = altmark.ParseFlags(flags); err != nil {
		r.bad("FLAGS", flags, "flags of a period, with commas between")
	}
	return p
}

// AltMarkHistory is how many periods TAM_ALTMARK_HISTORY keeps of a session.
const AltMarkHistory = 16

// FormatAltMarkPeriod and ParseAltMarkPeriod are the fields of TAM_ALTMARK_HISTORY:
// the number of the period, and JSON of what TAM_ALTMARK_COUNTERS has of it.
func FormatAltMarkPeriod(p altmark.Period) (field, value string) {
	b, _ := json.Marshal(periodFields(p)) // of strings
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
	r := newReader(CountersAltMarkPast, session, fields)
	p := r.period()
	if r.fields["PERIOD"] != field {
		r.bad(field, r.fields["PERIOD"], "its own number")
	}
	return p, r.err()
}
