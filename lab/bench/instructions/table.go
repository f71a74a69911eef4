package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A table holds the instructions per packet of all loads.
type table struct {
	on   string // version of Go, and processor
	rows []row
}

type row struct {
	load         string
	instructions int
}

const heading = "# Instructions per packet: go run ./lab/bench/instructions -update\n"

func (t table) String() string {
	var b strings.Builder
	b.WriteString(heading)
	fmt.Fprintf(&b, "on %s\n", t.on)
	for _, r := range t.rows {
		fmt.Fprintf(&b, "%6d  %s\n", r.instructions, r.load)
	}
	return b.String()
}

// parse reads what String has written.
func parse(text string) (t table, err error) {
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		if on, ok := strings.CutPrefix(line, "on "); ok {
			t.on = on
			continue
		}
		n, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		count, err := strconv.Atoi(n)
		if !ok || err != nil || count < 1 {
			return table{}, fmt.Errorf("line %d, %q: want instructions, two spaces and the name of a load", i+1, line)
		}
		t.rows = append(t.rows, row{name, count})
	}
	if t.on == "" {
		return table{}, errors.New(`no line "on VERSION, PROCESSOR"`)
	}
	return t, nil
}

// compare prints the counts beside those known. It returns an error if one differs by more than one percent, or has
// none beside it.
func compare(known, now table, out io.Writer) error {
	var wrong []error
	was := map[string]int{}
	for _, r := range known.rows {
		was[r.load] = r.instructions
	}
	for _, r := range now.rows {
		old, ok := was[r.load]
		delete(was, r.load)
		fmt.Fprintf(out, "%6d  %6d  %s\n", old, r.instructions, r.load)
		switch diff := 100 * (r.instructions - old); {
		case !ok:
			wrong = append(wrong, fmt.Errorf("%s: not in the table", r.load))
		case diff > old:
			wrong = append(wrong, fmt.Errorf("%s: %d instructions for a packet, more than one percent above %d", r.load,
				r.instructions, old))
		case -diff > old:
			wrong = append(wrong, fmt.Errorf("%s: %d instructions for a packet, more than one percent below %d: the table "+
				"must follow (-update)", r.load, r.instructions, old))
		}
	}
	for name := range was {
		wrong = append(wrong, fmt.Errorf("%s: in the table, but no load", name))
	}
	return errors.Join(wrong...)
}
