package syslog

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A parsed is a line of RFC 5424, parsed by the grammar of its chapter 6, independently of this package.
type parsed struct {
	facility, severity        int
	at                        time.Time
	host, app, proc, id, text string
	elements                  []element
}

type element struct {
	name   string
	params [][2]string
}

func (p parsed) param(element, name string) string {
	for _, e := range p.elements {
		if e.name != element {
			continue
		}
		for _, kv := range e.params {
			if kv[0] == name {
				return kv[1]
			}
		}
	}
	return ""
}

func isName(s string, most int) bool {
	if s == "" || len(s) > most {
		return false
	}
	for i := range len(s) {
		if s[i] < 33 || s[i] > 126 {
			return false
		}
	}
	return true
}

func isSDName(s string) bool { return isName(s, 32) && !strings.ContainsAny(s, `=]"`) }

// parseLine parses a line strictly: all that the RFC does not allow is an error.
func parseLine(line string) (p parsed, err error) {
	rest, ok := strings.CutPrefix(line, "<")
	pri, rest, ok2 := strings.Cut(rest, ">")
	n, err := strconv.Atoi(pri)
	if !ok || !ok2 || err != nil || n < 0 || n > 191 || strconv.Itoa(n) != pri {
		return p, fmt.Errorf("PRI %q", pri)
	}
	p.facility, p.severity = n/8, n%8
	if rest, ok = strings.CutPrefix(rest, "1 "); !ok {
		return p, errors.New("no version 1")
	}
	var stamp string
	for _, field := range []struct {
		at   *string
		most int
	}{{&stamp, 32}, {&p.host, 255}, {&p.app, 48}, {&p.proc, 128}, {&p.id, 32}} {
		if *field.at, rest, ok = strings.Cut(rest, " "); !ok || !isName(*field.at, field.most) {
			return p, fmt.Errorf("field %q", *field.at)
		}
	}
	if stamp != "-" {
		if p.at, err = time.Parse("2006-01-02T15:04:05.999999Z07:00", stamp); err != nil {
			return p, err
		}
		if _, frac, ok := strings.Cut(stamp, "."); ok && len(strings.TrimSuffix(frac, "Z")) > 6 {
			return p, fmt.Errorf("%s has more than 6 digits", stamp)
		}
	}
	if p.elements, rest, err = parseElements(rest); err != nil {
		return p, err
	}
	if rest == "" {
		return p, nil
	}
	if rest, ok = strings.CutPrefix(rest, " "); !ok {
		return p, fmt.Errorf("no space in front of the text %q", rest)
	}
	p.text, ok = strings.CutPrefix(rest, "\xef\xbb\xbf")
	ascii := !strings.ContainsFunc(rest, func(r rune) bool { return r >= utf8.RuneSelf })
	if !ascii && !ok || !utf8.ValidString(p.text) {
		return p, fmt.Errorf("text %q is no ASCII, and no UTF-8 behind a mark that it is", rest)
	}
	return p, nil
}

func parseElements(rest string) (list []element, after string, err error) {
	if after, ok := strings.CutPrefix(rest, "-"); ok {
		return nil, after, nil
	}
	seen := map[string]bool{}
	for strings.HasPrefix(rest, "[") {
		end := strings.IndexAny(rest, " ]")
		if end < 0 {
			return nil, "", errors.New("an element without end")
		}
		e := element{name: rest[1:end]}
		if !isSDName(e.name) || seen[e.name] {
			return nil, "", fmt.Errorf("element %q", e.name)
		}
		seen[e.name] = true
		for rest = rest[end:]; strings.HasPrefix(rest, " "); {
			name, value, ok := strings.Cut(rest[1:], `="`)
			if !ok || !isSDName(name) {
				return nil, "", fmt.Errorf("parameter %q", name)
			}
			if value, rest, err = parseValue(value); err != nil {
				return nil, "", err
			}
			e.params = append(e.params, [2]string{name, value})
		}
		var ok bool
		if rest, ok = strings.CutPrefix(rest, "]"); !ok {
			return nil, "", fmt.Errorf("element %q does not end: %q", e.name, rest)
		}
		list = append(list, e)
	}
	if len(list) == 0 {
		return nil, "", fmt.Errorf("no structured data: %q", rest)
	}
	return list, rest, nil
}

func parseValue(s string) (value, rest string, err error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '"':
			if !utf8.ValidString(b.String()) {
				return "", "", errors.New("a value is no UTF-8")
			}
			return b.String(), s[i+1:], nil
		case ']':
			return "", "", errors.New("] in a value without \\")
		case '\\':
			if i+1 < len(s) && strings.IndexByte(`"\]`, s[i+1]) >= 0 {
				i++
			}
			b.WriteByte(s[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", "", errors.New("a value without end")
}
