package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tamtam/device"
	"tamtam/saisim"
	"tamtam/saisim/drop"
	"tamtam/saisim/truth"
)

// A Result is the result of a run: report.json. Times are in picoseconds.
type Result struct {
	Experiment string                   `json:"experiment"`
	Seed       uint64                   `json:"seed"`
	Duration   Time                     `json:"duration_ps"`
	Checks     []CheckResult            `json:"checks"`
	Flows      map[string]Flow          `json:"flows"`
	Links      map[string]Wires         `json:"links"`
	Hosts      map[string]Counts        `json:"hosts"`
	Switches   map[string]*Node         `json:"switches"`
	Truth      map[string]truth.Report  `json:"truth,omitempty"`
	Reports    map[string]Report        `json:"-"` // reports of studies by name: fields of report.json here
	Series     map[string]*Series       `json:"series,omitempty"`
	Counters   map[string]*PortCounters `json:"-"` // by SWITCH:PORT, see Options.Counters
	Plans      map[string][]byte        `json:"-"` // files with plans of table recording

	problems []string
}

// A Flow holds the exact fate of a flow group. Copies are additional frames that switches or links made from one.
type Flow struct {
	Sent     uint64 `json:"sent"`
	Received uint64 `json:"received"`
	Bytes    uint64 `json:"received_bytes"` // bytes received, with FCS
	Copies   int64  `json:"copies"`
	// number of frames that were flooded to other hosts, or sent by ports without a link
	Stray    uint64            `json:"stray"`
	Punted   uint64            `json:"punted"`
	InFlight int64             `json:"in_flight"`
	Lost     uint64            `json:"lost"`           // the sum of LostBy
	LostBy   map[string]uint64 `json:"lost_by"`        // number of lost frames, by "place: reason"
	Delay    Delay             `json:"delay,omitzero"` // zero if no frame arrived
	// Reordered counts frames that were sent before a frame that arrived earlier.
	Reordered uint64 `json:"reordered"`
	// Paths counts the frames that left by each SWITCH:PORT.
	Paths map[string]uint64 `json:"paths"`
	// Stamps is present if a host that reads them received any.
	Stamps *Stamps `json:"stamps,omitempty"`

	unread bool // true if no host reads stamps, or if a host that does not read them received frames
}

// Stamps summarise the tail-stamp records of a flow group. Rest is the one-way delay minus the times in the records:
// the time on the links.
type Stamps struct {
	Frames  uint64 `json:"frames"`
	Records uint64 `json:"records"`
	// Unknown counts frames that have a record without a latency, such as one whose switch's clock was set meanwhile.
	// They have no rest. If all frames are unknown, RestMin and RestMax have no meaning.
	Unknown uint64 `json:"unknown"`
	RestMin Time   `json:"rest_min_ps"`
	RestMax Time   `json:"rest_max_ps"`
}

// A Delay is one-way, from start-of-frame delimiter to start-of-frame delimiter. Percentiles are too high by at most
// 1/128. The other values are exact.
type Delay struct {
	Min  Time `json:"min_ps"`
	Mean Time `json:"mean_ps"`
	P50  Time `json:"p50_ps"`
	P90  Time `json:"p90_ps"`
	P99  Time `json:"p99_ps"`
	P999 Time `json:"p999_ps"`
	Max  Time `json:"max_ps"`
}

// Wires are the two directions of a link.
type Wires struct {
	AB WireCounts `json:"a_to_b"`
	BA WireCounts `json:"b_to_a"`
}

// WireCounts count frames on one direction of a link.
type WireCounts struct {
	Sent       uint64 `json:"sent"`
	Delivered  uint64 `json:"delivered"`
	Down       uint64 `json:"lost_link_down"`
	Lost       uint64 `json:"lost"`
	Burst      uint64 `json:"lost_in_bursts"`
	Corrupt    uint64 `json:"corrupt"`
	Duplicated uint64 `json:"duplicated"`
	Reordered  uint64 `json:"reordered"`
}

// Counts are the counters of a host.
type Counts struct {
	Sent     uint64 `json:"sent"`
	Received uint64 `json:"received"`
	Stray    uint64 `json:"stray"` // those of Received that were for other hosts
	Answered uint64 `json:"answered"`
}

// A Node is the state of a switch at the end.
type Node struct {
	*device.Report
	Frames   saisim.FrameCounts `json:"-"`
	Balanced bool               `json:"books_balance"`
	Error    int64              `json:"clock_error_ns"`
}

// newResult returns an empty result.
func newResult(t *Topology, seed uint64, now Time) *Result {
	return &Result{
		Experiment: t.Experiment, Seed: seed, Duration: now, Checks: []CheckResult{}, Flows: map[string]Flow{},
		Links: map[string]Wires{}, Hosts: map[string]Counts{}, Switches: map[string]*Node{}, Reports: map[string]Report{},
		Series: map[string]*Series{}, Counters: map[string]*PortCounters{}, Plans: map[string][]byte{},
	}
}

// Result returns the measurements so far.
func (l *Lab) Result(ctx context.Context) (*Result, error) {
	r := newResult(l.t, l.opts.Seed, l.now)
	for _, n := range l.nodes {
		report, err := n.sim.Report(ctx)
		if err != nil {
			return nil, fmt.Errorf("switch %s: %w", n.s.Name, err)
		}
		b := n.sim.Chip.FrameCounts()
		r.Switches[n.s.Name] = &Node{report, b, b.Balanced(), int64(n.sim.Chip.ClockError(n.sim.Chip.Now()))}
		plans, err := n.plans.Files()
		if err != nil {
			return nil, fmt.Errorf("switch %s: %w", n.s.Name, err)
		}
		for name, text := range plans {
			r.Plans[n.s.Name+"-"+name] = text
		}
		for _, p := range report.Problems {
			r.problems = append(r.problems, n.s.Name+": "+p.String())
		}
		for _, s := range n.streams.all {
			if r.Series[s.series.Name] = s.series; !s.begun {
				r.problems = append(r.problems, fmt.Sprintf("%s: measure %s: no stream of high-frequency telemetry has %s of %s",
					n.s.Name, s.series.Name, s.m.What, s.m.Object))
			}
		}
		for _, s := range n.samplers {
			if s.counters != nil {
				r.Counters[s.where] = s.counters
			} else {
				r.Series[s.series.Name] = s.series
			}
		}
	}
	for _, k := range l.links {
		r.Links[k.name] = Wires{k.wires[0].counts(), k.wires[1].counts()}
	}
	for _, h := range l.stations {
		r.Hosts[h.host.Name] = Counts{h.sent, h.received, h.stray, h.answered}
	}
	for i, s := range l.sources {
		r.Flows[s.t.Name] = l.flow(i+1, s)
	}
	if l.oracle != nil {
		r.Truth = l.oracle.Reports()
	}
	for _, o := range l.observers {
		r.Reports[o.name] = o.Report()
	}
	return r, r.checkAll(l.t)
}

func (w *wire) counts() WireCounts {
	s := &w.stats
	return WireCounts{s.Sent, w.delivered, s.Down, s.Lost, s.Burst, s.Corrupt, s.Duplicated, s.Reordered}
}

// flow adds up all counters of a flow group.
func (l *Lab) flow(i int, s *source) Flow {
	f := Flow{Sent: s.sent, LostBy: map[string]uint64{}, Paths: map[string]uint64{}}
	lose := func(n uint64, place, reason string) {
		if n > 0 {
			f.Lost += n
			f.LostBy[place+": "+reason] += n
		}
	}
	for _, n := range l.nodes {
		g := n.accounts[i]
		if g == nil {
			continue
		}
		f.Copies += g.copies
		f.Punted += g.punted
		for why, c := range g.dropped {
			lose(c, n.s.Name, drop.Reason(why).String())
		}
		lose(g.restart, n.s.Name, "restart")
		for k, c := range g.by {
			if c > 0 {
				f.Paths[n.s.Name+":"+n.ports[k].name] = c
				if n.wire(n.ports[k].id) == nil {
					f.Stray += c
				}
			}
		}
	}
	for _, k := range l.links {
		for _, w := range k.wires {
			fates := w.stats.byFlow[i]
			if fates == nil {
				continue
			}
			for why, name := range linkLossNames {
				lose(fates[why], k.name, name)
			}
			f.Copies += int64(fates[doubled])
		}
	}
	a, read, blind := new(arrivals), false, false
	for _, h := range l.stations {
		if h.flows[i] != nil {
			a.merge(h.flows[i])
			read, blind = read || h.host.Stamps, blind || !h.host.Stamps && h.flows[i].frames > 0
		}
		f.Stray += h.strays[i]
	}
	f.unread = !read || blind
	f.Received, f.Bytes, f.Reordered = a.frames, a.bytes, a.reordered
	if s := a.stamps; s.frames > 0 {
		f.Stamps = &Stamps{s.frames, s.records, s.unknown, s.restMin, s.restMax}
	}
	f.Delay = Delay{a.min, a.mean(), a.percentile(500), a.percentile(900), a.percentile(990), a.percentile(999), a.max}
	f.InFlight = int64(f.Sent) + f.Copies - int64(f.Received+f.Stray+f.Punted+f.Lost)
	return f
}

// Problems lists the configured objects that are not active, with the reasons, and the notices of studies.
func (r *Result) Problems() []string {
	all := slices.Clone(r.problems)
	for _, name := range r.reports() {
		all = append(all, r.Reports[name].Notices()...)
	}
	return all
}

// Passed reports whether all checks passed or were only reported.
func (r *Result) Passed() bool {
	return !slices.ContainsFunc(r.Checks, func(c CheckResult) bool { return c.Failed() })
}

// MarshalJSON puts the reports of studies between the common fields and the series.
func (r *Result) MarshalJSON() ([]byte, error) {
	type plain Result
	head := plain(*r)
	head.Series = nil // left out here, since it comes last
	text, err := json.Marshal(&head)
	errs := []error{err}
	add := func(name string, v any) {
		member, err := json.Marshal(v)
		errs = append(errs, err)
		text = fmt.Appendf(text, ",%q:%s", name, member)
	}
	text = bytes.TrimSuffix(text, []byte("}"))
	for _, name := range r.reports() {
		add(name, r.Reports[name])
	}
	add("series", r.Series)
	return append(text, '}'), errors.Join(errs...)
}

// JSON returns report.json.
func (r *Result) JSON() ([]byte, error) {
	text, err := json.MarshalIndent(r, "", "  ")
	return append(text, '\n'), err
}

// problems describes the problems of a switch's ports, for an error.
func (n *node) problems(ctx context.Context) (string, error) {
	list, err := device.Problems(ctx, n.sim.Redis)
	var words []string
	for _, p := range list {
		words = append(words, p.String())
	}
	if len(words) == 0 {
		return "", err
	}
	return "; " + strings.Join(words, "; "), err
}
