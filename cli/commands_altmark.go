package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// altMarkSessions is the list of sessions of alternate marking.
var altMarkSessions = listEntry{"alternate marking session", "tamtam-altmark:alt-mark-sessions", "alt-mark-session"}

// altMarkPathName is the name of a path that a collector watches.
var altMarkPathName = &argKind{label: "<path>", parse: parseName}

// longestPeriod is the longest period in nanoseconds: 2^8 s.
const longestPeriod = 256_000_000_000

// intervalExponent is n of a period of 2^n seconds.
var intervalExponent = &argKind{label: "<-10-8>", parse: func(text string) (string, error) {
	n, err := strconv.ParseInt(text, 10, 8)
	if err != nil || n < -10 || n > 8 {
		return "", fmt.Errorf("%q is not n of 2^n seconds, a number from -10 to 8", text)
	}
	return strconv.FormatInt(n, 10), nil
}}

// marks are the bits that can be marked.
func marks() *argKind {
	return oneOf(choice{"dscp0", "Lowest bit of the DSCP"}, choice{"dscp1", ""}, choice{"dscp2", ""}, choice{"dscp3", ""}, choice{"dscp4", ""},
		choice{"dscp5", "Highest bit of the DSCP"}, choice{"ipv4-reserved", "Reserved flag of the IPv4 header"},
		choice{"ipv6-altmark-l", "L of the AltMark option"}, choice{"ipv6-altmark-d", "D of the AltMark option"})
}

func altMarkCommands() []*command {
	var (
		group   = nameKind(liveNames("flowgroups", "flowgroup"))
		session = nameKind(liveNames(altMarkSessions.container, altMarkSessions.list))
		nanos   = number(0, longestPeriod)
		role    = oneOf(choice{"initiator", "Writes the mark"}, choice{"transit", "Reads it"}, choice{"terminator", "Reads it, and may clear it"})
		method  = oneOf(choice{"step", "The mark alternates: loss"}, choice{"pulse", "One packet of a period is marked: delay"},
			choice{"double", "Step and pulse in two bits"}, choice{"muxed", "Step and pulse in one bit"})
		foreign = oneOf(choice{"count", "Marked as all others, and the period is flagged; default"},
			choice{"clean", "Marked as all others: it is known that they come"}, choice{"drop", "Dropped"})
		trust = oneOf(choice{"checked", "The chip and its kernel; default"}, choice{"declared", "The operator: it is within clock-error"})
		sync  = oneOf(choice{"on", "Default"}, choice{"off", "Steps are found in the mark itself"})
	)
	const sessionHelp = "A flow group that is marked"
	return []*command{
		{modes: inTAM, form: seq("alt-mark"), do: enter(modeAltMark)},
		{
			modes: inAltMark, do: setFeature("ALTMARK"),
			form: seq(kw("enable", "Activate the feature")), no: noForm(kw("enable", "Deactivate the feature")),
		},
		{
			modes: inAltMark, do: setAltMarkSession,
			form: seq(kw("session", sessionHelp), arg("name", session, "Name of the session"),
				kw("flowgroup", "The flow group to mark"), arg("flowgroup", group, "Name of the flow group"),
				kw("role", "What this switch does with the mark"), arg("role", role, "Role"),
				kw("method", "How the mark is used"), arg("method", method, "Method"),
				kw("interval", "Period of 2^n seconds"), arg("interval", intervalExponent, "n of 2^n seconds"),
				kw("mark", "The bit"), arg("mark", marks(), "Bit"),
				opt(kw("mark2", "The bit of the pulse, of double marking"), arg("mark2", marks(), "Bit")),
				opt(kw("clear", "The terminator clears the marks")),
				opt(kw("slot-sync", "Clocks tell the slots of muxed marking"), arg("slot-sync", sync, "Whether they do")),
				opt(kw("foreign-marks", "What an initiator does with packets that come marked"), arg("foreign-marks", foreign, "What it does")),
				opt(kw("clock-trust", "What vouches for this switch's clock"), arg("clock-trust", trust, "What does")),
				opt(kw("clock-error", "Greatest error between two clocks; default 1/64 of the period"), arg("clock-error", nanos, "Nanoseconds")),
				opt(kw("delay-min", "Least delay from the initiator; default 0"), arg("delay-min", nanos, "Nanoseconds")),
				opt(kw("delay-max", "Greatest delay from the initiator; default 1/8 of the period"), arg("delay-max", nanos, "Nanoseconds"))),
			no: noForm(kw("session", sessionHelp), arg("name", session, "Name of the session")),
		},
	}
}

// setAltMarkSession writes a whole session: what the command does not name has
// its default.
func setAltMarkSession(ctx context.Context, c *call) error {
	if c.no {
		return altMarkSessions.remove(ctx, c)
	}
	interval, err := strconv.ParseInt(c.args["interval"], 10, 8)
	if err != nil {
		return err
	}
	name := c.args["name"]
	config := map[string]any{"name": name, "interval": interval}
	for _, leaf := range []string{"flowgroup", "role", "method", "mark", "mark2", "foreign-marks", "clock-trust", "clock-error", "delay-min", "delay-max"} {
		if c.has(leaf) {
			config[leaf] = c.args[leaf] // RFC 7951: numbers of 64 bits are strings
		}
	}
	if c.has("clear") {
		config["clear"] = true
	}
	if c.args["slot-sync"] == "off" {
		config["slot-sync"] = false
	}
	value := map[string]any{"tamtam-altmark:name": name, "tamtam-altmark:config": config}
	return c.sh.client.set(ctx, change{path: altMarkSessions.path(name), value: value, replace: true})
}

// runningAltMark comes last, so that nothing is marked before all is said.
func (p *page) runningAltMark(tam tree) {
	var lines page
	for _, e := range tam.sorted("alt-mark-sessions", "alt-mark-session") {
		lines.line("  session %s%s", quote(e.name()), altMarkWords(e))
	}
	for _, f := range tam.items("features", "feature") {
		if f.name() == "ALTMARK" && f.word("config", "status") == "ACTIVE" {
			lines.line("  enable")
		}
	}
	p.block("tam\n alt-mark", &lines)
}

// altMarkWords are the words of the command behind a session's name.
func altMarkWords(session tree) string {
	var b strings.Builder
	for _, leaf := range []string{"flowgroup", "role", "method", "interval", "mark", "mark2"} {
		if v := session.text("config", leaf); v != "" {
			b.WriteString(" " + leaf + " " + quote(v))
		}
	}
	if session.text("config", "clear") == "true" {
		b.WriteString(" clear")
	}
	if session.text("config", "slot-sync") == "false" {
		b.WriteString(" slot-sync off")
	}
	if v := session.text("config", "foreign-marks"); v != "" && v != "count" {
		b.WriteString(" foreign-marks " + v)
	}
	if v := session.text("config", "clock-trust"); v != "" && v != "checked" {
		b.WriteString(" clock-trust " + v)
	}
	for _, leaf := range []string{"clock-error", "delay-min", "delay-max"} {
		if v := session.text("config", leaf); v != "" {
			b.WriteString(" " + leaf + " " + v)
		}
	}
	return b.String()
}
