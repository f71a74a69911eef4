package syslog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A Severity is one of RFC 5424, 6.2.1.
type Severity uint8

// Those that are used.
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

// Message is what a line says.
type Message struct {
	At       time.Time
	Severity Severity
	Audit    bool   // of what clients did, else of what became of the switch
	ID       string // what kind it is
	Params   []Param
	Text     string
}

// A Param is a name and a value of the line's structured data.
type Param struct{ Name, Value string }

// A Sender is who says it.
type Sender struct {
	Host    string
	Version string
}

// How long the parts of a line may be, in bytes; a header's are RFC 5424's.
const (
	mostHost  = 255
	mostID    = 32
	mostParam = 512
	mostText  = 1024 // so that no line is longer than what every receiver should take, 2048 bytes, but by structured data
	mostLine  = 8192
	nilValue  = "-"
)

// enterprise is the number behind the structured data's name: that for documentation of RFC 5612, for tamtam has none.
const enterprise = "32473"

// Line is a message as RFC 5424 has it. The sequence begins with 1 and skips nothing, so that a receiver sees what it
// has not got.
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
			b = append(b, "\xef\xbb\xbf"...) // what is more than ASCII has a mark that it is UTF-8, and nothing else
		}
		b = append(b, text...)
	}
	return b
}

// said reports whether there is a value.
func (p Param) said() bool { return p.Value != "" }

// stamp is a time as the RFC has it, with no more than its six digits of a second.
func stamp(t time.Time) string {
	if y := t.UTC().Year(); y < 0 || y > 9999 {
		return nilValue
	}
	return t.UTC().Format("2006-01-02T15:04:05.000000Z")
}

// printable is a text as a header may have it: printable ASCII without spaces.
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

// paramName is a name as structured data may have it.
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

// oneLine is a text as UTF-8 without control characters, which receivers write into files.
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

// framed is a line behind its length, as TCP and TLS carry it (RFC 6587, 3.4.1).
func framed(line []byte) []byte {
	return append(append(strconv.AppendInt(nil, int64(len(line)), 10), ' '), line...)
}
