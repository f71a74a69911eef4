package dial

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"tamtam/tam/altmark"
)

type leaf struct {
	session string
	period  string // number of the period; empty for a leaf of config
	name    string
	values  []string // one for a leaf, any number for a leaf-list
}

func join(prefix, p *gpb.Path) []*gpb.PathElem {
	return append(slices.Clone(prefix.GetElem()), p.GetElem()...)
}

// leavesOf returns the leaves in a value at a path: the leaf itself, or those in the JSON of a container.
func leavesOf(elems []*gpb.PathElem, v *gpb.TypedValue) ([]leaf, error) {
	x, err := jsonOf(elems, v)
	if err != nil {
		return nil, err
	}
	var out []leaf
	flatten(elems, x, &out)
	return out, nil
}

// jsonOf returns the decoded JSON of a value at a path.
func jsonOf(elems []*gpb.PathElem, v *gpb.TypedValue) (x any, err error) {
	raw := v.GetJsonIetfVal()
	if raw == nil {
		raw = v.GetJsonVal()
	}
	if raw == nil {
		return nil, fmt.Errorf("%s: the server sends %T, want JSON_IETF", text(elems), v.GetValue())
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&x); err != nil {
		return nil, fmt.Errorf("%s: the server's JSON: %w", text(elems), err)
	}
	return x, nil
}

// flatten walks JSON. Unknown names are skipped.
func flatten(elems []*gpb.PathElem, x any, out *[]leaf) {
	below := func(name string, key map[string]string) []*gpb.PathElem {
		return append(slices.Clip(elems), &gpb.PathElem{Name: name, Key: key})
	}
	object, ok := x.(map[string]any)
	if !ok {
		if l, ok := leafAt(elems); ok {
			l.values = valuesOf(x)
			*out = append(*out, l)
		}
		return
	}
	for name, y := range object {
		if _, after, ok := strings.Cut(name, ":"); ok {
			name = after
		}
		list, ok := y.([]any)
		if name != "period" || !ok {
			flatten(below(name, nil), y, out)
			continue
		}
		for _, entry := range list {
			if m, ok := entry.(map[string]any); ok {
				flatten(below(name, map[string]string{"number": strings.Join(valuesOf(m["number"]), "")}), m, out)
			}
		}
	}
}

// namesOf returns the names in a path, without modules.
func namesOf(elems []*gpb.PathElem) (names []string) {
	for _, e := range elems {
		name := e.GetName()
		if _, after, ok := strings.Cut(name, ":"); ok {
			name = after
		}
		names = append(names, name)
	}
	return names
}

func leafAt(elems []*gpb.PathElem) (leaf, bool) {
	names := namesOf(elems)
	switch {
	case len(names) == 5 && slices.Equal(names[:4], []string{"tam", "alt-mark-sessions", "alt-mark-session", "config"}):
		return leaf{session: elems[2].GetKey()["name"], name: names[4]}, true
	case len(names) == 7 && slices.Equal(names[:6],
		[]string{"tam", "alt-mark-sessions", "alt-mark-session", "periods", "period", "state"}):
		return leaf{session: elems[2].GetKey()["name"], period: elems[4].GetKey()["number"], name: names[6]}, true
	}
	return leaf{}, false
}

func valuesOf(x any) []string {
	switch x := x.(type) {
	case nil:
		return nil
	case []any:
		var out []string
		for _, y := range x {
			out = append(out, valuesOf(y)...)
		}
		return out
	}
	return []string{fmt.Sprint(x)}
}

func text(elems []*gpb.PathElem) string {
	var b strings.Builder
	for _, e := range elems {
		b.WriteString("/" + e.GetName())
		for _, k := range slices.Sorted(maps.Keys(e.GetKey())) {
			fmt.Fprintf(&b, "[%s=%s]", k, e.GetKey()[k])
		}
	}
	return b.String()
}

// session holds the leaves that a switch sent for one session.
type session struct {
	name    string
	config  map[string][]string
	periods map[string]map[string][]string
	order   []string // periods, in order of arrival
}

// maxPeriods bounds the periods that are remembered, since updates contain only the changes.
const maxPeriods = 64

func newSession(name string) *session {
	return &session{name: name, config: map[string][]string{}, periods: map[string]map[string][]string{}}
}

func (s *session) set(l leaf, c *changes) {
	if l.period == "" {
		s.config[l.name] = l.values
		c.config = true
		return
	}
	if s.periods[l.period] == nil {
		if len(s.order) == maxPeriods {
			delete(s.periods, s.order[0])
			s.order = slices.Delete(s.order, 0, 1)
		}
		s.periods[l.period] = map[string][]string{}
		s.order = append(s.order, l.period)
	}
	s.periods[l.period][l.name] = l.values
	c.periods[l.period] = true
}

// remove removes the leaves at a path or below it, and reports whether any was a setting. Periods that the switch
// forgets are kept: they were measured.
func (s *session) remove(elems []*gpb.PathElem) bool {
	config := sessionPath(s.name, "config").GetElem()
	for i, e := range elems {
		if i == len(config) {
			had := len(s.config)
			delete(s.config, e.GetName())
			return len(s.config) != had
		}
		key := e.GetKey()
		here := len(key) == 0 || key["name"] == "*" || maps.Equal(key, config[i].GetKey())
		if e.GetName() != config[i].GetName() || !here {
			return false
		}
	}
	clear(s.config)
	return true
}

// settings reads config, with the defaults of fields that are not configured.
func (s *session) settings() (altmark.Session, error) {
	if len(s.config) == 0 {
		return altmark.Session{}, nil
	}
	r := &reader{leaves: s.config, what: "session " + s.name}
	var out altmark.Session
	out.Role = word(r, "role", altmark.ParseRole)
	out.Method = word(r, "method", altmark.ParseMethod)
	out.Interval = r.interval()
	out.Mark = word(r, "mark", altmark.ParseMark)
	if r.has("mark2") {
		out.Mark2 = word(r, "mark2", altmark.ParseMark)
	}
	if r.has("flow-mon-id") {
		out.FlowMonID = altmark.FlowMonID{Given: true, ID: uint32(r.atMost("flow-mon-id", altmark.MaxFlowMonID))}
	}
	out.Encap.Src, out.Encap.Dst = r.address("encap-src"), r.address("encap-dst")
	out.Clear, out.SlotSync = r.text("clear") == "true", r.text("slot-sync") != "false"
	out.MeanDelay = r.text("mean-delay") == "true"
	if r.has("foreign-marks") {
		out.Foreign = word(r, "foreign-marks", altmark.ParseForeign)
	}
	if r.has("clock-trust") {
		out.Trust = word(r, "clock-trust", altmark.ParseTrust)
	}
	length := out.Interval.Duration()
	out.ClockError = r.nanos("clock-error", 0, length/altmark.DefaultClockErrorPart)
	out.MinDelay = r.nanos("delay-min", 0, 0)
	out.MaxDelay = r.nanos("delay-max", 0, max(out.MinDelay, length/altmark.DefaultMaxDelayPart))
	if err := errors.Join(r.errs...); err != nil {
		return altmark.Session{}, err
	}
	return out, nil
}

func (s *session) period(number string) (altmark.Period, error) {
	r := &reader{leaves: s.periods[number], what: "session " + s.name + ", period " + number}
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		r.refuse("number", number, "a number")
	}
	p := altmark.Period{
		Number: n, Colour: uint8(n & 1), Packets: r.atMost("packets", altmark.MaxPackets), Bytes: r.counter("octets"),
		Captures:    uint32(r.atMost("captures", math.MaxUint32)),
		OutOfWindow: r.counter("out-of-window"), ReadAt: r.time("read-at"),
	}
	p.Match = r.text("match")
	if r.has("foreign-marks") {
		p.Foreign = r.counter("foreign-marks")
	}
	p.Clock = altmark.Clock{Says: r.text("clock"), Kernel: r.text("kernel-clock"),
		Ahead: r.nanos("kernel-clock-offset", -maxNanos, 0), Error: r.nanos("kernel-clock-error", 0, 0)}
	if r.has("arrivals") || r.has("arrival-sum") {
		p.Arrivals = altmark.Arrivals{Summed: true, Packets: r.counter("arrivals")}
		if p.Arrivals.Sum, err = altmark.ParseSum(r.text("arrival-sum")); err != nil {
			r.refuse("arrival-sum", r.text("arrival-sum"), altmark.SumForm)
		}
	}
	if p.Captures > 0 {
		p.Timestamp, p.Digest = r.time("timestamp"), uint32(r.atMost("digest", math.MaxUint32))
	}
	if p.Flags, err = altmark.ParseFlags(strings.Join(r.leaves["flags"], ",")); err != nil {
		r.errs = append(r.errs, fmt.Errorf("%s: %w", r.what, err))
	}
	return p, errors.Join(r.errs...)
}

// A reader reads leaves and collects their errors.
type reader struct {
	leaves map[string][]string
	what   string
	errs   []error
}

func (r *reader) refuse(name, value, want string) {
	r.errs = append(r.errs, fmt.Errorf("%s: %s is %q, want %s", r.what, name, value, want))
}

func (r *reader) has(name string) bool { return len(r.leaves[name]) > 0 && r.leaves[name][0] != "" }

func (r *reader) text(name string) string { return strings.Join(r.leaves[name], ",") }

// address reads the address of a header. It returns an invalid address if there is none.
func (r *reader) address(name string) (a netip.Addr) {
	if !r.has(name) {
		return a
	}
	a, err := altmark.ParseEncapAddress(r.text(name))
	if err != nil {
		r.errs = append(r.errs, fmt.Errorf("%s: %s is %w", r.what, name, err))
	}
	return a
}

// interval reads the length of periods; the default is a second.
func (r *reader) interval() altmark.Interval {
	if !r.has("interval") {
		return 0
	}
	n, err := strconv.ParseInt(r.text("interval"), 10, 8)
	if out := altmark.Interval(n); err == nil && out.Valid() {
		return out
	}
	r.refuse("interval", r.text("interval"), fmt.Sprintf("%d to %d", altmark.MinInterval, altmark.MaxInterval))
	return 0
}

// maxNanos bounds times and errors, so that sums and differences of two do not overflow. An error below zero would
// cancel that of another clock.
const maxNanos = 1<<62 - 1

// nanos reads a number of nanoseconds from least to maxNanos; def is the default.
func (r *reader) nanos(name string, least int64, def time.Duration) time.Duration {
	if !r.has(name) {
		return def
	}
	n, err := strconv.ParseInt(r.text(name), 10, 64)
	if err != nil || n < least || n > maxNanos {
		r.refuse(name, r.text(name), fmt.Sprintf("a number of nanoseconds from %d to %d", least, int64(maxNanos)))
	}
	return time.Duration(n)
}

// counter reads a counter, which must exist: a report without it is not one of zero packets.
func (r *reader) counter(name string) uint64 {
	n, err := strconv.ParseUint(r.text(name), 10, 64)
	if err != nil {
		r.refuse(name, r.text(name), "a number")
	}
	return n
}

// atMost reads a number up to a maximum, which must exist.
func (r *reader) atMost(name string, most uint64) uint64 {
	n, err := strconv.ParseUint(r.text(name), 10, 64)
	if err != nil || n > most {
		r.refuse(name, r.text(name), fmt.Sprintf("a number of at most %d", most))
	}
	return n
}

func (r *reader) time(name string) altmark.Time {
	n := r.counter(name)
	return altmark.Time{Seconds: n / 1e9, Nanoseconds: uint32(n % 1e9)}
}

func word[W any](r *reader, name string, parse func(string) (W, error)) W {
	v := r.text(name)
	if _, after, ok := strings.Cut(v, ":"); ok {
		v = after // removes the module of an identity
	}
	w, err := parse(v)
	if err != nil {
		r.errs = append(r.errs, fmt.Errorf("%s: %w", r.what, err))
	}
	return w
}
