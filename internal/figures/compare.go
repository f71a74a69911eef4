package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// elided reports whether a line stands for any number of lines.
func elided(line string) bool { return strings.TrimSpace(line) == "..." }

// tidy removes what does not count: blanks at the end of lines, and empty lines at the end.
func tidy(lines []string) []string {
	var list []string
	for _, line := range lines {
		list = append(list, strings.TrimRight(line, " \t\r"))
	}
	for len(list) > 0 && list[len(list)-1] == "" {
		list = list[:len(list)-1]
	}
	return list
}

// same reports whether a command printed the page's text.
func (o *options) same(want, got []string) bool {
	want, got = tidy(want), tidy(got)
	pos, loose := 0, false // loose is true if lines may be omitted at this position
	for i := 0; i <= len(want); {
		n := slices.IndexFunc(want[i:], elided)
		last := n < 0
		if last {
			n = len(want) - i
		}
		part := want[i : i+n]
		switch {
		case last && loose:
			at := len(got) - len(part)
			return at >= pos && o.sameLines(part, got[at:])
		case last:
			return o.sameLines(part, got[pos:])
		case !loose:
			if len(got)-pos < n || !o.sameLines(part, got[pos:pos+n]) {
				return false
			}
		default:
			for pos+n <= len(got) && !o.sameLines(part, got[pos:pos+n]) {
				pos++
			}
			if pos+n > len(got) {
				return false
			}
		}
		pos, i, loose = pos+n, i+n+1, true
	}
	return true
}

func (o *options) sameLines(a, b []string) bool {
	return slices.EqualFunc(a, b, o.sameLine)
}

// number matches a separate number: not the 4 of Ethernet4.
var number = regexp.MustCompile(`(^|[^\w.])([+-]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?)`)

// blanks matches blanks and the dashed lines of tables, which are as wide as the numbers beside them.
var blanks = regexp.MustCompile(`[ \t]+|-{2,}`)

// skeleton returns a line without its numbers.
func (o *options) skeleton(line string) string {
	line = number.ReplaceAllString(o.masked(line), "$1#")
	return strings.TrimSpace(blanks.ReplaceAllStringFunc(line, func(s string) string { return s[:1] }))
}

func (o *options) masked(line string) string {
	for _, m := range o.masks {
		line = m.ReplaceAllString(line, "*")
	}
	return line
}

func (o *options) sameLine(want, got string) bool {
	if o.machine {
		return o.skeleton(want) == o.skeleton(got)
	}
	return o.masked(want) == o.masked(got)
}

// rewrite returns the text that should replace want on the page: the command's output, without the lines that the page
// omits.
func (o *options) rewrite(want, got []string) ([]string, error) {
	got = tidy(got)
	trailing := want[len(tidy(want)):]
	if !slices.ContainsFunc(want, elided) {
		return append(got, trailing...), nil
	}
	var list []string
	pos, loose := 0, false
	for _, line := range tidy(want) {
		if elided(line) {
			list, loose = append(list, line), true
			continue
		}
		n := slices.IndexFunc(got[pos:], func(l string) bool { return o.skeleton(l) == o.skeleton(line) })
		if n < 0 || n > 0 && !loose {
			return nil, fmt.Errorf("the page leaves lines out, and this one has no counterpart any more: %q", line)
		}
		list, pos, loose = append(list, got[pos+n]), pos+n+1, false
	}
	return append(list, trailing...), nil
}

// difference returns the lines in which two texts differ, without their common beginning and end.
func difference(want, got []string) string {
	want, got = tidy(want), tidy(got)
	for len(want) > 0 && len(got) > 0 && want[0] == got[0] {
		want, got = want[1:], got[1:]
	}
	for len(want) > 0 && len(got) > 0 && want[len(want)-1] == got[len(got)-1] {
		want, got = want[:len(want)-1], got[:len(got)-1]
	}
	var b strings.Builder
	for i, side := range [][]string{want, got} {
		const most = 40
		for k, line := range side {
			if k == most {
				fmt.Fprintf(&b, "      (%d lines more)\n", len(side)-most)
				break
			}
			fmt.Fprintf(&b, "    %c %s\n", "-+"[i], line)
		}
	}
	return b.String()
}
