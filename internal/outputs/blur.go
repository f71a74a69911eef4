package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
)

// A clocked names what an experiment measures by the wall clock.
type clocked struct {
	experiment string
	metrics    []string // of its curves
	checks     []string // what they measured
	reason     string
}

// allClocked are the experiments that measure by the wall clock. All their other output is
// compared.
var allClocked = []clocked{
	{
		experiment: "flymon-table3",
		metrics:    []string{"time", "time-p99", "cycles"},
		checks:     []string{"p99 of the slowest, ms", "CMS: cycles to the first counted packet"},
		reason: "it deploys tasks in real time; cycles are those of a chip that follows the wall clock, " +
			"and depend on when in its round the call came",
	},
	{
		experiment: "record-fig10",
		metrics:    []string{"seconds", "times-seconds"},
		reason:     "it takes the time of the planner, on this machine",
	},
}

// clockedOf returns what an experiment measures by the wall clock; nothing of most.
func clockedOf(experiment string) clocked {
	i := slices.IndexFunc(allClocked, func(c clocked) bool { return c.experiment == experiment })
	if i < 0 {
		return clocked{}
	}
	return allClocked[i]
}

// none reports whether nothing is measured by the wall clock.
func (c *clocked) none() bool { return c.experiment == "" }

// blurred returns a file without what the wall clock measured; nil if nothing else is in it.
func (c *clocked) blurred(name string, text []byte) ([]byte, error) {
	base, ext := strings.TrimSuffix(path.Base(name), path.Ext(name)), path.Ext(name)
	switch {
	case c.none():
		return text, nil
	case ext == ".json":
		return c.blurredJSON(text)
	case ext == ".csv":
		return c.blurredCSV(text)
	case ext == ".png" || ext == ".svg":
		if slices.ContainsFunc(c.metrics, func(m string) bool { return strings.HasSuffix(base, "-"+m) }) {
			return nil, nil
		}
	}
	return text, nil
}

// blurredJSON blurs a report. Each metric and check must be in it.
func (c *clocked) blurredJSON(text []byte) ([]byte, error) {
	seen := map[string]bool{}
	out, err := c.value(text, "", seen)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Concat(c.metrics, c.checks) {
		if !seen[name] {
			return nil, fmt.Errorf("%s: no metric and no check %q, which blur.go leaves out", c.experiment, name)
		}
	}
	return out, nil
}

// A member is one of a JSON object; objects keep their order.
type member struct {
	key   string
	value json.RawMessage
}

// measured are the members of a check that hold what was measured.
var measured = []string{"measured", "least", "most", "theory"}

// value blurs a JSON value, which is that of the member so named or one in its array.
func (c *clocked) value(text []byte, of string, seen map[string]bool) ([]byte, error) {
	members, isObject, err := parts(text)
	if err != nil || members == nil {
		return text, err
	}
	object := nameOf(members)
	var out bytes.Buffer
	for _, m := range members {
		within := of
		if isObject {
			fmt.Fprintf(&out, "%q:", m.key)
			within = m.key
		}
		if name := c.clocked(of, object, m.key); isObject && name != "" {
			seen[name] = true
			out.WriteString("-\n")
			continue
		}
		v, err := c.value(m.value, within, seen)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, "%s\n", v)
	}
	if isObject {
		return fmt.Appendf(nil, "{\n%s}", &out), nil
	}
	return fmt.Appendf(nil, "[\n%s]", &out), nil
}

// clocked returns the metric or check that a member of an object holds, if the wall clock measured it;
// the object is in the member of, and has a name perhaps.
func (c *clocked) clocked(of, object, key string) string {
	switch {
	case of == "metrics" && slices.Contains(c.metrics, key):
		return key
	case of == "checks" && slices.Contains(c.checks, object) && slices.Contains(measured, key):
		return object
	}
	return ""
}

// nameOf is what the member "name" says, if there is one and it is a string.
func nameOf(members []member) (name string) {
	for _, m := range members {
		if m.key == "name" {
			_ = json.Unmarshal(m.value, &name) // anything but a string is not a name
		}
	}
	return name
}

// parts returns the members of an object or the elements of an array; nil if the value is neither,
// or is empty.
func parts(text []byte) (list []member, isObject bool, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	first, err := d.Token()
	if err != nil {
		return nil, false, err
	}
	isObject = first == json.Delim('{')
	if !isObject && first != json.Delim('[') {
		return nil, false, nil
	}
	for d.More() {
		var m member
		if isObject {
			key, err := d.Token()
			if err != nil {
				return nil, false, err
			}
			m.key = key.(string) // JSON has no other keys
		}
		if err := d.Decode(&m.value); err != nil {
			return nil, false, err
		}
		list = append(list, m)
	}
	_, err = d.Token()
	return list, isObject, err
}

// blurredCSV cuts the lines of metrics behind the metric's name.
func (c *clocked) blurredCSV(text []byte) ([]byte, error) {
	r := csv.NewReader(bytes.NewReader(text))
	r.FieldsPerRecord = -1
	rows, err := r.ReadAll()
	if err != nil || len(rows) == 0 {
		return text, err
	}
	at := slices.Index(rows[0], "metric")
	var out bytes.Buffer
	for _, row := range rows {
		if at >= 0 && at < len(row) && slices.Contains(c.metrics, row[at]) {
			row = append(slices.Clone(row[:at+1]), "-")
		}
		fmt.Fprintf(&out, "%q\n", row)
	}
	return out.Bytes(), nil
}

// printed blurs what a command prints: lines with a metric or a check are cut behind its name. How
// wide columns are depends on what is in them, so blanks do not count.
func (c *clocked) printed(text string) string {
	if c.none() {
		return text
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if i := slices.IndexFunc(words, func(w string) bool { return slices.Contains(c.metrics, w) }); i >= 0 {
			words = words[:i+1]
		}
		line = strings.Join(words, " ")
		for _, check := range c.checks {
			if before, _, ok := strings.Cut(line, check); ok && (before == "" || before == "ok ") {
				line = before + check
			}
		}
		out.WriteString(line + "\n")
	}
	return out.String()
}
