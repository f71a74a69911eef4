package lab

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"tamtam/saisim/drop"
	"tamtam/saisim/truth"
)

// A CheckResult is one line of the table that a run ends with. Times are in nanoseconds.
type CheckResult struct {
	Name     string      `json:"name"`
	Paper    string      `json:"paper"`              // the paper's number, or the expected one if the paper gives none
	Limit    string      `json:"limit"`              // the expected value or bounds
	Measured json.Number `json:"measured,omitempty"` // empty if nothing was measured
	Unit     string      `json:"unit"`
	// For a median: the value that theory expects, and the minimum and maximum over all seeds.
	Theory json.Number `json:"theory,omitempty"`
	Least  json.Number `json:"least,omitempty"`
	Most   json.Number `json:"most,omitempty"`
	Pass   *bool       `json:"pass"` // nil if the value is reported but not judged
}

// Failed reports whether the check failed.
func (c *CheckResult) Failed() bool { return c.Pass != nil && !*c.Pass }

// A Metric is a number of a run with its unit. Times are in ps, and fractional numbers in millionths.
type Metric struct {
	Value int64
	Unit  string
}

// Unmeasured is the value of a metric without a measurement, such as the delay of a flow without received frames. A sum
// that contains it is unmeasured too. No check of it passes.
const Unmeasured = math.MinInt64

// Known reports whether something was measured.
func (m Metric) Known() bool { return m.Value != Unmeasured }

// unmeasured is printed in place of a number.
const unmeasured = "not measured"

// Millionths is the unit of fractional numbers.
const Millionths = "millionths"

// number formats a value exactly as reports do, with times in ns.
func number(v int64, unit string) (json.Number, string) {
	if v == Unmeasured {
		return "", ""
	}
	sign := ""
	if v < 0 {
		sign, v = "-", -v
	}
	var s string
	switch unit {
	case "ps":
		s, unit = fmt.Sprintf("%s%d.%03d", sign, v/1000, v%1000), "ns"
	case Millionths:
		s, unit = fmt.Sprintf("%s%d.%06d", sign, v/1e6, v%1e6), ""
	default:
		return json.Number(sign + strconv.FormatUint(uint64(v), 10)), unit
	}
	return json.Number(strings.TrimSuffix(strings.TrimRight(s, "0"), ".")), unit
}

// checkAll evaluates the checks of the topology.
func (r *Result) checkAll(t *Topology) error {
	for i := range t.Checks {
		c := &t.Checks[i]
		res, err := r.check(c)
		if err != nil {
			p := Item("checks", c.Name, i)
			return fmt.Errorf("%s%s: %w", t.Where(p), p, err)
		}
		r.Checks = append(r.Checks, res)
	}
	return nil
}

func (r *Result) check(c *Check) (CheckResult, error) {
	m, err := r.sum(c.Measured, "")
	if err != nil {
		return CheckResult{}, fmt.Errorf("measured: %w", err)
	}
	res := CheckResult{Name: c.Name, Paper: c.Paper}
	res.Measured, res.Unit = number(m.Value, m.Unit)
	r.spread(c, &res)
	var limits []string
	var tolerance Metric
	bound := func(field, text string, ok func(int64) bool) {
		if text == "" || err != nil {
			return
		}
		var b Metric
		if b, err = r.bound(text, m.Unit); err != nil {
			err = fmt.Errorf("%s: %w", field, err)
			return
		}
		pass := m.Known() && b.Known() && tolerance.Known() && ok(b.Value) && !res.Failed()
		res.Pass = &pass
		n, _ := number(b.Value, m.Unit)
		limits = append(limits, map[string]string{"want": "", "min": "≥ ", "max": "≤ "}[field]+cmp.Or(n.String(), unmeasured))
	}
	if c.Tolerance != "" {
		if tolerance, err = r.bound(c.Tolerance, m.Unit); err != nil {
			return res, fmt.Errorf("tolerance: %w", err)
		}
	}
	bound("want", c.Want, func(v int64) bool {
		return tolerance.Value >= 0 && apart(m.Value, v) <= uint64(tolerance.Value)
	})
	bound("min", c.Min, func(v int64) bool { return m.Value >= v })
	bound("max", c.Max, func(v int64) bool { return m.Value <= v })
	res.Limit = strings.Join(limits, ", ")
	if tolerance.Value > 0 || !tolerance.Known() {
		n, _ := number(tolerance.Value, m.Unit)
		res.Limit += " ± " + cmp.Or(n.String(), unmeasured)
	}
	if res.Paper == "" {
		res.Paper = res.Limit
	}
	return res, err
}

// spread adds the other statistics that exist for a median.
func (r *Result) spread(c *Check, res *CheckResult) {
	point, ok := strings.CutSuffix(c.Measured, ".median")
	if !ok || strings.Contains(point, " ") {
		return
	}
	for field, to := range map[string]*json.Number{"min": &res.Least, "max": &res.Most, "theory": &res.Theory} {
		if m, ok := r.Metric(point + "." + field); ok {
			*to, _ = number(m.Value, m.Unit)
		}
	}
	if res.Least == res.Most {
		res.Least, res.Most = "", ""
	}
}

// apart returns the absolute difference of two numbers.
func apart(a, b int64) uint64 { return uint64(max(a, b)) - uint64(min(a, b)) }

// bound evaluates a sum that a number of the given unit is compared with.
func (r *Result) bound(text, unit string) (Metric, error) {
	b, err := r.sum(text, unit)
	if err == nil {
		b, err = b.as(unit, text)
	}
	return b, err
}

// Value evaluates the expression that a check measures: metrics joined by " + " and " - ".
func (r *Result) Value(text string) (Metric, error) { return r.sum(text, "") }

// sum adds up terms joined by " + " and " - ". A term is a metric, or a value in the given unit.
func (r *Result) sum(text, unit string) (Metric, error) {
	words := strings.Fields(text)
	total := Metric{Unit: unit}
	if len(words)%2 == 0 {
		return total, fmt.Errorf("%q: want values and metrics joined by + and -", text)
	}
	for i := 0; i < len(words); i += 2 {
		m, err := r.term(words[i], total.Unit)
		if err != nil {
			return total, err
		}
		if i == 0 && unit == "" {
			total.Unit = m.Unit
		}
		if i > 0 {
			m, err = m.behind(words[i-1])
		}
		if err == nil {
			m, err = m.as(total.Unit, words[i])
		}
		if err == nil {
			total, err = total.plus(m)
		}
		if err != nil {
			return total, fmt.Errorf("%q: %w", text, err)
		}
	}
	return total, nil
}

// behind returns a metric with the sign of the + or - in front of it.
func (m Metric) behind(sign string) (Metric, error) {
	switch {
	case sign != "+" && sign != "-":
		return m, fmt.Errorf("want + or - between values, not %q", sign)
	case sign == "-" && m.Known():
		m.Value = -m.Value
	}
	return m, nil
}

// plus returns the sum of two metrics. It is unmeasured if either of them is.
func (m Metric) plus(o Metric) (Metric, error) {
	if !m.Known() || !o.Known() {
		return Metric{Unmeasured, m.Unit}, nil
	}
	sum := m.Value + o.Value
	if (sum < m.Value) != (o.Value < 0) || sum == Unmeasured {
		return m, fmt.Errorf("the sum of %d and %d is beyond 2^63: want less", m.Value, o.Value)
	}
	return Metric{sum, m.Unit}, nil
}

// as converts a metric, named text in errors, to the unit of the others. Times and millionths have another scale than
// counts. Counts can be added to millionths; all other mixes are errors.
func (m Metric) as(unit, text string) (Metric, error) {
	const most = math.MaxInt64 / 1_000_000
	scaled := func(unit string) bool { return unit == "ps" || unit == Millionths }
	switch {
	case m.Unit == unit || !scaled(m.Unit) && !scaled(unit):
		return Metric{m.Value, unit}, nil
	case scaled(m.Unit) || unit == "ps":
		return m, fmt.Errorf("the unit of %q is %s, and others have %s: want one unit, and the first value to have it", text,
			cmp.Or(m.Unit, "none"), cmp.Or(unit, "none"))
	case m.Known() && apart(m.Value, 0) > most:
		return m, fmt.Errorf("%q is %d: want at most %d beside what need not be whole", text, m.Value, int64(most))
	case m.Known():
		m.Value *= 1_000_000
	}
	return Metric{m.Value, unit}, nil
}

func (r *Result) term(word, unit string) (Metric, error) {
	if c := word[0]; c >= '0' && c <= '9' || c == '-' {
		if unit == "ps" {
			var t Time
			if err := t.Parse(word); err != nil {
				return Metric{}, fmt.Errorf("%q: %w", word, err)
			}
			return Metric{int64(t), unit}, nil
		}
		if unit == Millionths {
			digits, negative := strings.CutPrefix(word, "-")
			n, ok := decimal(digits, 1e6)
			if !ok {
				return Metric{}, fmt.Errorf("%q: want a number of at most six decimals", word)
			}
			if negative {
				n = -n
			}
			return Metric{int64(n), unit}, nil
		}
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return Metric{}, fmt.Errorf("%q: want a whole number", word)
		}
		return Metric{n, unit}, nil
	}
	if m, ok := r.Metric(word); ok {
		return m, nil
	}
	return Metric{}, fmt.Errorf("%q: no such metric; there are %s", word, r.metricHelp())
}

// metricHelp returns a text that lists the metrics.
func (r *Result) metricHelp() string {
	list := []string{
		"flow.NAME.(sent received lost lost_by.PLACE.REASON stray punted copies in_flight reordered received_bytes " +
			"delay.min " +
			"delay.mean delay.p50 delay.p90 delay.p99 delay.p999 delay.max path.SWITCH:PORT stamps.frames stamps.records " +
			"stamps.unknown stamps.rest_min stamps.rest_max)",
		"flows.(as of flow.NAME, over all of them)",
		"switches.(count balanced problems to_cpu received sent)",
		"truth.NAME.(frames delivered to_cpu copies in_flight lost paths flows delay.min delay.mean delay.max)",
		"link.NAME.a_to_b.(sent delivered lost_link_down lost lost_in_bursts corrupt duplicated reordered)",
		"host.NAME.(sent received stray answered)",
		"switch.NAME.(balanced problems to_cpu clock_error port.PORT.sent port.PORT.received port.PORT.dropped.REASON " +
			"session.NAME.matched session.NAME.stamped)",
	}
	for _, name := range r.reports() {
		list = append(list, name+"."+r.Reports[name].Metrics())
	}
	return strings.Join(append(list, "series.NAME.(first last min max mean at.TIME)"), ", ")
}

// Metric finds a number by its name.
func (r *Result) Metric(name string) (Metric, bool) {
	kind, rest, _ := strings.Cut(name, ".")
	object, field, _ := strings.Cut(rest, ".")
	switch kind {
	case "flows":
		return r.flowTotal(rest)
	case "switches":
		return r.switchTotal(rest)
	case "flow":
		f, ok := r.Flows[object]
		if !ok {
			return Metric{}, false
		}
		return f.metric(field, r)
	case "truth":
		t, ok := r.Truth[object]
		if !ok {
			return Metric{}, false
		}
		return truthMetric(&t, field)
	case "link":
		w, ok := r.Links[object]
		dir, field, _ := strings.Cut(field, ".")
		c := w.AB
		if dir == "b_to_a" {
			c = w.BA
		}
		return numbered(c, field, ok && (dir == "a_to_b" || dir == "b_to_a"))
	case "host":
		h, ok := r.Hosts[object]
		return numbered(h, field, ok)
	case "switch":
		n, ok := r.Switches[object]
		if !ok {
			return Metric{}, false
		}
		return n.metric(field)
	case "series":
		// A series that is named after switch and port has dots in its name.
		for i := range rest {
			if s, ok := r.Series[rest[:i]]; ok && rest[i] == '.' {
				return s.metric(rest[i+1:])
			}
		}
	}
	if report := r.Reports[kind]; report != nil {
		return report.Metric(rest)
	}
	return Metric{}, false
}

// numbered returns a counter by its JSON name.
func numbered(counts any, field string, ok bool) (Metric, bool) {
	if !ok {
		return Metric{}, false
	}
	text, _ := json.Marshal(counts)
	var m map[string]any
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	if d.Decode(&m) != nil {
		return Metric{}, false
	}
	n, ok := m[field].(json.Number)
	if !ok {
		return Metric{}, false
	}
	v, err := n.Int64()
	unit := "frames"
	if strings.HasSuffix(field, "bytes") {
		unit = "bytes"
	}
	return Metric{v, unit}, err == nil
}

// delayMetric returns a time by its JSON name without unit. It is unmeasured if some is false, which means that there
// were no frames.
func delayMetric(times any, field string, some bool) (Metric, bool) {
	m, ok := numbered(times, field+"_ps", true)
	if !some {
		m.Value = Unmeasured
	}
	return Metric{m.Value, "ps"}, ok
}

func (f *Flow) metric(field string, r *Result) (Metric, bool) {
	head, rest, _ := strings.Cut(field, ".")
	switch head {
	case "delay":
		return delayMetric(f.Delay, rest, f.Received > 0)
	case "path":
		name, port, _ := strings.Cut(rest, ":")
		n := r.Switches[name]
		if n == nil {
			return Metric{}, false
		}
		_, ok := n.Ports[port]
		return Metric{int64(f.Paths[rest]), "frames"}, ok
	case "lost_by":
		i := strings.LastIndex(rest, ".")
		if i < 0 {
			return Metric{}, false
		}
		_, isLink := r.Links[rest[:i]]
		_, isSwitch := r.Switches[rest[:i]]
		place, reason := rest[:i], rest[i+1:]
		known := isLink && knownLoss(reason, linkLossNames[:]) || isSwitch && knownDrop(reason)
		return Metric{int64(f.LostBy[place+": "+reason]), "frames"}, known
	case "stamps":
		stamps := cmp.Or(f.Stamps, &Stamps{})
		if strings.HasPrefix(rest, "rest_") {
			return delayMetric(stamps, rest, stamps.Frames > stamps.Unknown && !f.unread)
		}
		m, ok := numbered(stamps, rest, true)
		if f.unread { // no host reads stamps
			m.Value = Unmeasured
		}
		return m, ok
	case "received_bytes":
		return Metric{int64(f.Bytes), "bytes"}, true
	}
	return numbered(f, field, true)
}

func truthMetric(t *truth.Report, field string) (Metric, bool) {
	head, rest, _ := strings.Cut(field, ".")
	switch head {
	case "delay":
		return delayMetric(t.Delay, rest, t.Delivered > 0)
	case "lost":
		var sum uint64
		for _, c := range t.Lost {
			sum += c.Count
		}
		return Metric{int64(sum), "frames"}, true
	case "paths":
		return Metric{int64(len(t.Paths)), "paths"}, true
	case "flows":
		return Metric{int64(len(t.Flows)), "flows"}, true
	}
	return numbered(t, field, true)
}

func knownLoss(reason string, names []string) bool {
	for _, n := range names {
		if n == reason {
			return true
		}
	}
	return false
}

func knownDrop(reason string) bool {
	for r := drop.Reason(0); r < drop.NumReasons; r++ {
		if r.String() == reason {
			return true
		}
	}
	return reason == "restart"
}

func (n *Node) metric(field string) (Metric, bool) {
	part := strings.Split(field, ".")
	switch {
	case field == "balanced":
		if n.Balanced {
			return Metric{1, ""}, true
		}
		return Metric{0, ""}, true
	case field == "problems":
		return Metric{int64(len(n.Problems)), "objects"}, true
	case field == "to_cpu":
		return Metric{int64(n.CPU.Sent), "frames"}, true
	case field == "clock_error":
		return Metric{n.Error * 1000, "ps"}, true
	case part[0] == "session" && len(part) == 3:
		s, ok := n.TailStamping[part[1]]
		return numbered(s, part[2], ok)
	case part[0] == "port" && len(part) == 3:
		p, ok := n.Ports[part[1]]
		return numbered(p, part[2], ok)
	case part[0] == "port" && len(part) == 4 && part[2] == "dropped":
		p, ok := n.Ports[part[1]]
		return Metric{int64(p.Dropped[part[3]]), "frames"}, ok && knownDrop(part[3])
	}
	return Metric{}, false
}

func (s *Series) metric(what string) (Metric, bool) {
	unit, scale := s.Unit, int64(1)
	if unit == "ns" {
		unit, scale = "ps", 1000
	}
	if len(s.Values) == 0 {
		return Metric{}, false
	}
	least, most, sum := s.Values[0], s.Values[0], int64(0)
	for _, v := range s.Values {
		least, most, sum = min(least, v), max(most, v), sum+v
	}
	if text, ok := strings.CutPrefix(what, "at."); ok {
		var t Time
		if t.Parse(text) != nil || t < s.Start || (t-s.Start)%s.Every != 0 || int((t-s.Start)/s.Every) >= len(s.Values) {
			return Metric{}, false
		}
		return Metric{s.Values[(t-s.Start)/s.Every] * scale, unit}, true
	}
	switch what {
	case "first":
		return Metric{s.Values[0] * scale, unit}, true
	case "min":
		return Metric{least * scale, unit}, true
	case "max":
		return Metric{most * scale, unit}, true
	case "mean":
		if unit == "ps" {
			return Metric{meanOf(sum, len(s.Values), uint64(scale)), unit}, true
		}
		return Metric{meanOf(sum, len(s.Values), 1e6), Millionths}, true
	case "last":
		return Metric{s.Values[len(s.Values)-1] * scale, unit}, true
	}
	return Metric{}, false
}

// meanOf returns sum divided by n, in units of 1/parts, rounded towards 0.
func meanOf(sum int64, n int, parts uint64) int64 {
	mean, _ := mulDiv(apart(sum, 0), parts, uint64(n))
	if sum < 0 {
		return -int64(mean)
	}
	return int64(mean)
}
