package marking

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/lab"
	"tamtam/tam/altmark"
)

// TestAltMarkCalibration checks alternate marking end to end: rows of CONFIG_DB, orchs, chips that mark and count,
// COUNTERS_DB, and the collector's join. In one case of twenty it also reads by gNMI, which must give the same. It uses
// random networks with faults of many kinds, rules that change, and other features on the same packets. Each result is
// compared with the lab's truth, and the truth with an independent ledger of every packet.
//
// Inside the domain that docs/research/alternate-marking.md states, no period is both ok and wrong. Loss and packets
// are exact, and a delay is within A of the truth. Outside the domain, wrong periods are counted. Without a fault,
// hardly any period is flagged.
func TestAltMarkCalibration(t *testing.T) {
	fixed := randtest.Cases{Seed: 11, Count: 10, Short: 5}
	sum := newTally()
	randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		t.Parallel()
		f := randomFabric(seed)
		l, seen := newLab(t, f.top, lab.Options{Seed: seed | 1, Workers: 1})
		defer l.Close()
		newBookkeeper(l, f.nets)
		if err := l.Run(t.Context(), f.top.Duration); err != nil {
			t.Fatal(err)
		}
		r, err := l.Result(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if seed%20 == 0 {
			sameByGNMI(t, seen)
		}
		sum.fabric(t, f, r, seen)
	})
	t.Logf("%v", sum)
	// With a small number of networks a share means nothing: one of them may have all its periods flagged.
	const enough = 5000
	if clean := sum.clean; clean.periods >= enough && 100*clean.flagged > clean.periods {
		t.Errorf("nothing is the matter, and %d of %d periods are flagged, want at most 1 %%: %v", clean.flagged,
			clean.periods, clean.reasons)
	}
}

// A tally counts the results of the calibration.
type tally struct {
	mu                            sync.Mutex
	fabrics, networks, paths      int
	periods, ok, flagged, missing int
	reasons                       map[string]int
	inside                        map[string]*rows // periods inside the domain, by property of the network
	violations                    int
	violated                      map[string]int // number of violations, by fault
	outside                       map[string]*rate
	clean, sparse                 share
	means                         int // number of known mean delays
	graphs, sure                  int // number of periods of parts of graphs, and of those that are ok
}

// A rate counts ok periods, and how many of them were wrong.
type rate struct{ networks, ok, losses, delays int }

// rows counts the periods of networks with a property, by their status, and the wrong ones among those that are ok.
type rows struct{ networks, ok, wrong, flagged, missing int }

// A share counts the periods that were flagged or missing, by reason.
type share struct {
	periods, flagged int
	reasons          map[string]int
}

func newTally() *tally {
	return &tally{
		reasons: map[string]int{}, violated: map[string]int{}, inside: map[string]*rows{}, outside: map[string]*rate{},
		clean: share{reasons: map[string]int{}}, sparse: share{reasons: map[string]int{}},
	}
}

// outsideOf returns the reason why a network is outside of the domain, or "" if it is inside.
func (f *fabric) outsideOf(n *network) string {
	guard, latest := lab.Time(n.session.Guard())*lab.Nanosecond, n.ledger.latest
	if !f.asSaid() {
		latest = n.ledger.latestTruly + lab.Time(n.session.ClockError)*lab.Nanosecond
	}
	switch {
	case n.ledger.doubled:
		return faultDouble
	case latest >= 2*f.l-guard:
		return faultVeryLate
	case n.kind == faultInside || n.kind == faultInitiator:
		return n.kind
	}
	return ""
}

// delaysOutsideOf returns the reason why the delays of a network inside the domain are outside of it: clocks that are
// further apart than the sessions claim. Losses do not depend on that.
func (f *fabric) delaysOutsideOf() string {
	if f.clocks == clocksBeyond || f.clocks == clocksStep {
		return f.clocks
	}
	return ""
}

// asSaid reports whether the clocks are within the error of the sessions. If they are, the measurements of flagged
// periods must be right, too; otherwise only those of ok periods.
func (f *fabric) asSaid() bool { return f.clocks == clocksExact || f.clocks == clocksVouched }

// isClean reports whether a network has no fault. Everything is as its sessions claim, and no report is unreliable,
// such as one of a clock that drifts without discipline. A session of another network above it may change which packets
// its own sessions match, if it comes, goes or changes its rule.
func (f *fabric) isClean(n *network) bool {
	if slices.ContainsFunc(f.nets, func(o *network) bool { return o.change != changeNothing && !o.remarks() }) {
		return false
	}
	fine := n.kind == faultNone || n.kind == faultLAG || n.kind == faultSplit
	b := n.ledger
	low, high := lab.Time(n.session.MinDelay)*lab.Nanosecond, lab.Time(n.session.MaxDelay)*lab.Nanosecond
	return fine && n.change == changeNothing && f.clocks == clocksExact && f.restart == "" && !b.doubled &&
		b.least >= low && b.most <= high
}

// has lists the properties of a network, as rows of the result.
func (f *fabric) has(n *network) []string {
	list := []string{"network: " + n.kind, "clocks: " + f.clocks, "change: " + n.change,
		"features: " + strings.Join(n.features, ", ")}
	if f.restart != "" {
		list = append(list, restartOfPoint+": "+f.restart)
	}
	return list
}

// fabric judges all results of a fabric.
func (s *tally) fabric(t *testing.T, f *fabric, r *lab.Result, seen *marking) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fabrics++
	for _, n := range f.nets {
		s.networks++
		why, before := f.outsideOf(n), s.violations
		if kind := cmp.Or(why, f.delaysOutsideOf()); kind != "" {
			s.outsideAs(kind).networks++
		}
		for _, name := range f.has(n) {
			s.insideAs(name).networks++
		}
		if n.remarks() {
			s.outsideAs(remarkHidden).networks++
		}
		for _, path := range seen.paths {
			if !strings.HasPrefix(path.name, n.name+"-") {
				continue
			}
			s.paths++
			outside, graph := why, strings.HasSuffix(path.name, "-graph")
			if graph && why == faultInside {
				outside = "" // a graph describes such a network correctly
			}
			for i, segment := range reportOf(r)[path.name].Segments {
				before := s.ok
				s.segment(t, &judged{f, n, segment, reportOf(r)[path.name], path.truth, path.segments[i], n.views(segment)},
					outside)
				if graph {
					s.graphs, s.sure = s.graphs+len(segment.Periods), s.sure+s.ok-before
				}
			}
		}
		if s.violations > before {
			t.Logf("%s: %s; clocks: %s; restart %q; change %q; features %q; way %v, %+v, rate %v, outside %q", n.name, n.kind,
				f.clocks,
				f.restart, n.change, n.features, n.steps, n.session, n.rate, why)
		}
	}
	if t.Failed() {
		t.Logf("L %v, events %+v", f.l, f.top.Events)
	}
}

func (s *tally) insideAs(name string) *rows {
	if s.inside[name] == nil {
		s.inside[name] = &rows{}
	}
	return s.inside[name]
}

// outsideAs returns the rate for networks that are outside the domain because of kind.
func (s *tally) outsideAs(kind string) *rate {
	if s.outside[kind] == nil {
		s.outside[kind] = &rate{}
	}
	return s.outside[kind]
}

// judged holds the reports of the periods between two points, and the truth.
type judged struct {
	f     *fabric
	n     *network
	g     *Segment
	path  *PathReport
	truth *markTruth
	of    segment
	views []view
}

// A view is the ledger's account of the packets that points match at some time of the run.
type view struct {
	from, to []int
	sources  map[int]bool
	accounts map[period]*account
}

func (n *network) views(g *Segment) (list []view) {
	for _, has := range n.matched {
		v := view{from: switchesOf(g.From), to: switchesOf(g.To), sources: n.counts(has)}
		v.accounts = n.ledger.between(v.from, v.to, v.sources)
		list = append(list, v)
	}
	return list
}

// remarkHidden is outside of the domain: marks are overwritten in transit, and no count of the period or its neighbours
// shows it. A network that lost the packets would give the same reports.
const remarkHidden = "marks written in transit, all within the guards, and as many packets lost"

func (n *network) remarks() bool { return n.change == changeRemark || n.change == changeRemarkPart }

// hidden reports whether marks may be overwritten in transit without a trace. That is so unless, in period k or its
// neighbours, a point has more packets than one before it, or packets out of window.
func (j *judged) hidden(k uint64) bool {
	own := func(reason string) bool {
		return strings.Contains(reason, "out-of-window") && !strings.Contains(reason, " in period ")
	}
	for _, g := range j.path.Segments {
		for _, p := range g.Periods {
			near := k-1 <= p.Period && p.Period <= k+1
			if near && (p.Sent != nil && *p.Received > *p.Sent || slices.ContainsFunc(p.Reasons, own)) {
				return false
			}
		}
	}
	return j.n.remarks()
}

// segment judges the periods between two points.
func (s *tally) segment(t *testing.T, j *judged, why string) {
	f, n := j.f, j.n
	for i, p := range j.g.Periods {
		outside := why
		if outside == "" && j.hidden(p.Period) {
			outside = remarkHidden
		}
		s.periods++
		if p.MeanDelay != nil {
			s.means++
		}
		s.count(p, 2 <= i && i < len(j.g.Periods)-3 && !j.lacksPulse(p.Period), f, n)
		bad := j.wrong(p)
		late := strings.Contains(bad, "delay")
		if kind := cmp.Or(outside, f.delaysOutsideOf()); kind != "" && p.Status == "ok" {
			r := s.outsideAs(kind)
			r.ok++
			if late {
				r.delays++
			} else if bad != "" {
				r.losses++
			}
		}
		violation := outside == "" && bad != "" && (p.Status == "ok" || f.asSaid()) && !(late && f.delaysOutsideOf() != "")
		if p.Lost != nil && *p.Lost < 0 && p.Status == "ok" && outside == "" {
			violation, bad = true, fmt.Sprintf("%d lost, and ok", *p.Lost)
		}
		if violation {
			s.violations++
			s.violated[fmt.Sprintf("%s, %s, restart %s, %s, %v %s", n.kind, f.clocks, f.restart, n.change, n.session.Method,
				p.Status)]++
			t.Errorf("%s, %s to %s, period %d at %v (%s): %s %q", n.name, j.g.From, j.g.To, p.Period, p.Start, p.Status, bad,
				p.Reasons)
		}
		if outside == "" {
			s.row(f.has(n), p.Status, violation)
		}
		j.check(t, p.Period)
	}
}

// row counts a period inside the domain.
func (s *tally) row(names []string, status string, wrong bool) {
	for _, name := range names {
		r := s.insideAs(name)
		switch {
		case status == "ok" && wrong:
			r.ok, r.wrong = r.ok+1, r.wrong+1
		case status == "ok":
			r.ok++
		case status == "missing":
			r.missing++
		default:
			r.flagged++
		}
	}
}

// check compares the lab's truth with the ledger. They differ if a packet passes a switch that is not among the path's
// points.
func (j *judged) check(t *testing.T, k uint64) {
	if j.n.kind == faultInside || j.n.ledger.doubled {
		return
	}
	for era := range uint64(j.truth.path.eras()) {
		k := period{k, era}
		p := j.truth.periods[k]
		if p == nil {
			continue
		}
		for _, v := range j.views {
			sent, lost, _ := p.account(j.of, func(flow int) bool { return v.sources[flow] })
			if a := v.accounts[k]; a != nil && (a.sent != int64(sent) || a.lost != lost) || a == nil && sent > 0 {
				t.Errorf("%s, %s to %s, period %v: the lab's truth is %d lost of %d, the books have %+v", j.n.name, j.g.From,
					j.g.To, k,
					lost, sent, a)
			}
		}
	}
}

// switchesOf returns the numbers of the switches in names, such as s0+s1.
func switchesOf(names string) (list []int) {
	for name := range strings.SplitSeq(names, "+") {
		n, err := strconv.Atoi(strings.TrimPrefix(name, "s"))
		if err != nil {
			panic(err) // the names are those of fabric
		}
		list = append(list, n)
	}
	return list
}

// wrong describes the errors in the numbers of a period, or returns "" if there are none. Where the clock was set, the
// number may occur twice, and a result is right if it is right for either time. Where the rules changed, it is right if
// it is right for the packets that the points matched at any time.
func (j *judged) wrong(p Period) (what string) {
	for era := range uint64(j.truth.path.eras()) {
		for i := range j.views {
			k := period{p.Period, era}
			w := j.wrongOf(p, k, &j.views[i])
			if w == "" {
				return ""
			}
			// Keeps the closest fit: an error in a delay means that the loss is right.
			if what == "" || i == 0 && j.truth.periods[k] != nil || strings.Contains(w, "delay") {
				what = w
			}
		}
	}
	return what
}

func (j *judged) wrongOf(p Period, k period, v *view) string {
	if p.Status == "ok" && j.n.session.Method.Loss() && p.Lost == nil {
		return "ok, without a loss"
	}
	if p.Status != "ok" && len(p.Reasons) == 0 {
		return "not ok, for no reason"
	}
	var sent uint64
	var lost int64
	if x := j.truth.periods[k]; x != nil {
		sent, lost, _ = x.account(j.of, func(flow int) bool { return v.sources[flow] })
	}
	if p.Lost != nil && (*p.Lost != lost || *p.Sent != sent) {
		return fmt.Sprintf("%d lost of %d, truly %d of %d", *p.Lost, *p.Sent, lost, sent)
	}
	a := v.accounts[k]
	if a == nil {
		a = &account{}
	}
	if bad := wrongMean(j.n, p, a); bad != "" {
		return bad
	}
	if p.Delay == nil {
		return ""
	}
	true, ok := a.delay(v.from, v.to)
	if !ok {
		return fmt.Sprintf("a delay of %v, but no packet to be measured came", *p.Delay)
	}
	// A timestamp is up to a cycle (0.8 ns) and 1 ns of rounding from the truth.
	off := lab.Time(*p.Delay)*lab.Nanosecond - true
	if most := lab.Time(j.n.session.ClockError)*lab.Nanosecond + 1800; off < -most || off > most {
		return fmt.Sprintf("delay %v, truly %v, and A is %v", *p.Delay, true, j.n.session.ClockError)
	}
	return ""
}

// wrongMean describes the error of the mean delay of all packets. By the switches' clocks it must be exact, to the ns
// of the sum; by the true time it must be within A.
func wrongMean(n *network, p Period, a *account) string {
	switch {
	case p.MeanDelay == nil && !n.session.MeanDelay:
		if p.MeanUnknown != "" {
			return fmt.Sprintf("a reason why the mean delay is not known, which nobody asked for: %s", p.MeanUnknown)
		}
		return ""
	case p.MeanDelay == nil && p.MeanUnknown == "":
		return "a mean delay that is not known for no reason"
	case p.MeanDelay == nil && p.Status == "ok" && *p.Lost == 0 && *p.Sent > 0:
		return "ok, without loss and without a mean delay: " + p.MeanUnknown
	case p.MeanDelay == nil:
		return ""
	case a.came == 0 || a.came != a.sent:
		return fmt.Sprintf("a mean delay of %v, though %d of %d packets came", *p.MeanDelay, a.came, a.sent)
	case p.DelaySum.Big().Cmp(a.delays) != 0:
		return fmt.Sprintf("delays of %d packets summed up to %v ns, by the same clocks %v ns", a.came, p.DelaySum, a.delays)
	}
	exact := new(big.Rat).SetFrac(a.delays, big.NewInt(a.came))
	off := new(big.Rat).Sub(exact, new(big.Rat).SetInt64(int64(*p.MeanDelay)))
	if off.Abs(off).Cmp(big.NewRat(1, 2)) > 0 {
		return fmt.Sprintf("a mean delay of %v, of %v ns by %d packets", *p.MeanDelay, a.delays, a.came)
	}
	// Each timestamp is up to a cycle (0.8 ns) and 1 ns of rounding from the truth.
	true := new(big.Rat).SetFrac(a.truly, big.NewInt(1000*a.came))
	most := new(big.Rat).Add(new(big.Rat).SetInt64(int64(n.session.ClockError)), big.NewRat(18, 10))
	if off := exact.Sub(exact, true); off.Abs(off).Cmp(most) > 0 {
		return fmt.Sprintf("mean delay %v, truly %v ns, and A is %v", *p.MeanDelay, true.FloatString(3), n.session.ClockError)
	}
	return ""
}

// lacksPulse reports whether a pulse that muxed counts need did not come to a point. Then it is unknown whether it was
// lost or late. It is the pulse of the period, or of the previous one.
func (j *judged) lacksPulse(k uint64) bool {
	if j.n.session.Method != altmark.Muxed {
		return false
	}
	for _, q := range []period{{k - 1, 0}, {k, 0}} {
		if a := j.views[0].accounts[q]; a != nil && a.pulse != nil && a.pulse.came(j.views[0].to) < 0 {
			return true
		}
	}
	return false
}

// count counts a period by its status. inner is false for the first and last periods.
func (s *tally) count(p Period, inner bool, f *fabric, n *network) {
	var of *share
	if inner && f.isClean(n) {
		if of = &s.clean; n.sparse {
			of = &s.sparse
		}
		of.periods++
	}
	if p.Status == "ok" {
		s.ok++
		return
	}
	if p.Status == "missing" {
		s.missing++
	} else {
		s.flagged++
	}
	if of != nil {
		of.flagged++
	}
	words := map[string]bool{}
	for _, reason := range p.Reasons {
		words[reasonWord(reason)] = true
	}
	for w := range words {
		s.reasons[w]++
		if of != nil {
			of.reasons[w]++
		}
	}
}

var anyNumber = regexp.MustCompile(`-?[0-9.]+(ns|us|µs|ms|s)?\b`)

// reasonWord returns a reason without names and numbers.
func reasonWord(reason string) string {
	if _, rest, ok := strings.Cut(reason, ": "); ok && strings.HasPrefix(reason, "s") && len(reason) > 2 &&
		reason[2] == ':' {
		reason = rest
	}
	if word, _, ok := strings.Cut(reason, ": "); ok {
		reason = word
	}
	return anyNumber.ReplaceAllString(reason, "N")
}

func (s *tally) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d networks on %d fabrics, %d paths, %d periods: %d ok, %d flagged, %d missing; violations %d\n",
		s.networks, s.fabrics, s.paths, s.periods, s.ok, s.flagged, s.missing, s.violations)
	list := func(what string, m map[string]int) {
		fmt.Fprintf(&b, "%s:", what)
		for _, k := range slices.SortedFunc(maps.Keys(m), func(a, b string) int {
			return cmp.Or(m[b]-m[a], strings.Compare(a, b))
		}) {
			fmt.Fprintf(&b, "\n  %6d %s", m[k], k)
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%d mean delays\n", s.means)
	fmt.Fprintf(&b, "of graphs: %d of %d ok\n", s.sure, s.graphs)
	for _, name := range slices.Sorted(maps.Keys(s.inside)) {
		r := s.inside[name]
		fmt.Fprintf(&b, "inside: %s: %d networks, %d ok, %d of them wrong, %d flagged, %d missing\n", name, r.networks, r.ok,
			r.wrong,
			r.flagged, r.missing)
	}
	list("flagged", s.reasons)
	list("violations", s.violated)
	for _, sh := range []struct {
		what string
		*share
	}{{"nothing the matter", &s.clean},
		{"nothing the matter, but gaps in the traffic, or packets overtaken where there are no slots", &s.sparse}} {
		fmt.Fprintf(&b, "%s: %d of %d flagged (%.3f %%)\n", sh.what, sh.flagged, sh.periods, percent(sh.flagged, sh.periods))
		list("  reasons", sh.reasons)
	}
	for _, k := range slices.Sorted(maps.Keys(s.outside)) {
		r := s.outside[k]
		fmt.Fprintf(&b,
			"outside: %s: %d networks, of %d ok %d with a wrong loss (%.2f %%), %d with a wrong delay (%.2f %%)\n", k,
			r.networks,
			r.ok, r.losses, percent(r.losses, r.ok), r.delays, percent(r.delays, r.ok))
	}
	return b.String()
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(max(1, of)) }
