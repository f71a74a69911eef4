package syslog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A Severity is a severity of RFC 5424, 6.2.1.
type Severity uint8

// The severities that are used.
const (
	Critical Severity = 2
	Error    Severity = 3
	Warning  Severity = 4
	Notice   Severity = 5
	Info     Severity = 6
	Debug    Severity = 7
)

// Facilities of RFC 5424 that are used.
const (
	facilityDaemon = 3  // system daemons
	facilityAudit  = 13 // log audit
)

// Message is the content of a line.
type Message struct {
	At       time.Time
	Severity Severity
	Audit    bool   // an action of a client, rather than an event of the switch
	ID       string // the kind of message
	Params   []Param
	Text     string
}

// A Param is a name and a value of the line's structured data.
type Param struct{ Name, Value string }

// A Sender is the origin of lines.
type Sender struct {
	Host    string
	Version string
}

// Bounds on the parts of a line, in bytes; those of the header are RFC 5424's.
const (
	mostHost  = 255
	mostID    = 32
	mostParam = 512
	// Without structured data, a line is not longer than 2048 bytes, which every receiver should accept.
	mostText = 1024
	mostLine = 8192
	nilValue = "-"
)

// enterprise is the enterprise number in the name of the structured data. tamtam has no number of its own, so this is
// the number that RFC 5612 reserves for documentation.
const enterprise = "32473"

// Line returns a message in the format of RFC 5424. The sequence begins with 1 and has no gaps, so that a receiver can
// detect losses.
func (s Sender) Line(m Message, sequence uint32) []byte {
	facility := facilityDaemon
	if m.Audit {
		facility = facilityAudit
	}
	b := make([]byte, 0, 512)
	b = fmt.Appendf(b, "<%d>1 %s %s tamtam - %s ", facility*8+int(min(m.Severity, Debug)), stamp(m.At),
		printable(s.Host, mostHost), printable(m.ID, mostID))
	b = fmt.Appendf(b, `[meta sequenceId="%d"][origin software="tamtam"`, sequence)
	if s.Version != "" {
		b = append(b, ` swVersion="`...)
		b = append(escaped(b, s.Version, mostID), '"')
	}
	b = append(b, ']')
	if slices.ContainsFunc(m.Params, Param.said) {
		b = append(b, "[tamtam@"+enterprise...)
		for _, p := range m.Params {
			name := paramName(p.Name)
			if !p.said() {
				continue
			}
			if len(b)+len(name)+2*mostParam > mostLine-mostText {
				break
			}
			b = append(b, ' ')
			b = append(b, name...)
			b = append(b, `="`...)
			b = append(escaped(b, p.Value, mostParam), '"')
		}
		b = append(b, ']')
	}
	if text := oneLine(cut(m.Text, mostText)); text != "" {
		b = append(b, ' ')
		if strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) {
			b = append(b, "\xef\xbb\xbf"...) // text other than ASCII begins with a byte-order mark
		}
		b = append(b, text...)
	}
	return b
}

// said reports whether there is a value.
func (p Param) said() bool { return p.Value != "" }

// stamp returns a time in the RFC's format, with its maximum of six fractional digits.
func stamp(t time.Time) string {
	if y := t.UTC().Year(); y < 0 || y > 9999 {
		return nilValue
	}
	return t.UTC().Format("2006-01-02T15:04:05.000000Z")
}

// printable returns a text in the form allowed in a header: printable ASCII without spaces.
func printable(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return '_'
		}
		return r
	}, s)
	if s == "" {
		return nilValue
	}
	return s[:min(len(s), most)]
}

// paramName returns a name in the form allowed in structured data.
func paramName(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '=' || r == ']' || r == '"' {
			return '_'
		}
		return r
	}, printable(s, mostID))
}

// escaped appends a value of structured data.
func escaped(b []byte, s string, most int) []byte {
	for _, r := range oneLine(cut(s, most)) {
		if r == '"' || r == '\\' || r == ']' {
			b = append(b, '\\')
		}
		b = utf8.AppendRune(b, r)
	}
	return b
}

// oneLine returns a text as UTF-8 without control characters, because receivers write it into files.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

// cut shortens a text, between characters.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "..."
}

// framed returns a line prefixed by its length, as TCP and TLS carry it (RFC 6587, 3.4.1).
func framed(line []byte) []byte {
	return append(append(strconv.AppendInt(nil, int64(len(line)), 10), ' '), line...)
}
