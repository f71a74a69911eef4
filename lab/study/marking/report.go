package marking

import (
	"cmp"
	"math"
	"math/big"
	"slices"
	"strings"
	"time"

	"tamtam/collector/marks"
	"tamtam/lab"
	"tamtam/tam/altmark"
)

// A Report holds the report of each path, by name.
type Report map[string]*PathReport

// PathReport holds the measured and true values of a path: from each point to the next, and from the first to the last.
type PathReport struct {
	Points   []string   `json:"points"` // SWITCH:SESSION
	Segments []*Segment `json:"segments"`
	Notices  []string   `json:"notices"` // about the path as a whole
}

// A Segment is the part of a path between two points.
type Segment struct {
	From    string           `json:"from"` // switches
	To      string           `json:"to"`
	Numbers map[string]int64 `json:"numbers"` // the metrics: times in ps, means of packets in millionths
	Periods []Period         `json:"periods"`

	path   string
	length lab.Time // length of a period
}

// Period is one period. A value that was not measured is nil.
type Period struct {
	Period   uint64         `json:"period"`
	Start    lab.Time       `json:"start_ps"` // start time in the run, by a true clock
	Status   string         `json:"status"`   // ok, flagged or missing
	Reasons  []string       `json:"reasons"`
	Sent     *uint64        `json:"sent"`
	Received *uint64        `json:"received"`
	Lost     *int64         `json:"lost"`
	Delay    *time.Duration `json:"delay_ns"`
	Jitter   *time.Duration `json:"jitter_ns"`
	// MeanDelay is the rounded mean delay of all packets, and DelaySum the sum of their delays in ns. They exist only
	// for sessions that request them.
	MeanDelay   *time.Duration `json:"mean_delay_ns,omitempty"`
	DelaySum    *altmark.Sum   `json:"delay_sum_ns,omitempty"`
	MeanUnknown string         `json:"mean_delay_unknown,omitempty"`

	TrueSent uint64 `json:"true_sent"`
	TrueLost int64  `json:"true_lost"`
	// TrueDoubled counts the packets that arrived again at each side.
	TrueDoubled [2]uint64 `json:"true_doubled"`
	TrueDelay   *lab.Time `json:"true_delay_ps"` // nil if there was no packet to measure, or it was lost
}

// A markJoin is the collector of one path or graph in the lab.
type markJoin struct {
	marks   altMarkJoin
	results map[resultKey]marks.Result
	fed     []int // number of periods received from each point
}

type resultKey struct {
	from, to string
	period   uint64
}

// An altMarkJoin is a [marks.Joiner] or a [marks.Mesh].
type altMarkJoin interface {
	Add(point int, p altmark.Period, arrived time.Time) []marks.Result
	Flush() []marks.Result
	Notices() []string
}

// joinPath creates the collector of a path. It compares consecutive points, and the first with the last.
func (path *markPath) joinPath() error {
	m, err := marks.NewJoiner(marks.Path{Name: path.name, Points: path.settings()})
	if err != nil {
		return err
	}
	path.collect(m)
	last := len(path.points) - 1
	path.begins, path.ends = []int{0}, []int{last}
	for i := range last {
		s := segment{from: []int{i}, to: []int{i + 1}}
		for j := i + 2; j <= last; j++ {
			s.behind = append(s.behind, j)
		}
		path.segments = append(path.segments, s)
	}
	if last > 1 {
		path.segments = append(path.segments, segment{from: []int{0}, to: []int{last}})
	}
	return nil
}

// joinGraph creates the collector of a graph. It compares the ends of clusters, and those of the whole graph.
func (path *markPath) joinGraph(links [][]string) error {
	g := marks.Graph{Name: path.name, Points: path.settings()}
	for _, l := range links {
		g.Links = append(g.Links, marks.Link{From: l[0], To: l[1]})
	}
	m, err := marks.NewMesh(g)
	if err != nil {
		return err
	}
	path.collect(m)
	for _, c := range m.Clusters() {
		path.segments = append(path.segments, segment{path.indices(c.From), path.indices(c.To), path.behind(c.To, links)})
	}
	ends := m.Whole()
	path.begins, path.ends = path.indices(strings.Split(ends[0], "+")), path.indices(strings.Split(ends[1], "+"))
	if len(path.segments) > 1 {
		path.segments = append(path.segments, segment{from: path.begins, to: path.ends})
	}
	return nil
}

func (path *markPath) collect(m altMarkJoin) {
	path.join = &markJoin{m, map[resultKey]marks.Result{}, make([]int, len(path.points))}
}

func (path *markPath) settings() (points []marks.Point) {
	for _, x := range path.points {
		points = append(points, marks.Point{Switch: x.node.Name(), Session: x.session.Name,
			Settings: x.session.Session})
	}
	return points
}

// behind returns the points that packets may pass after some switches.
func (path *markPath) behind(switches []string, links [][]string) []int {
	var found []string
	for next := slices.Clone(switches); len(next) > 0; next = next[1:] {
		for _, l := range links {
			if l[0] == next[0] && !slices.Contains(found, l[1]) {
				found, next = append(found, l[1]), append(next, l[1])
			}
		}
	}
	return path.indices(found)
}

// indices returns the indices of the points on the given switches.
func (path *markPath) indices(switches []string) (list []int) {
	for i, p := range path.points {
		if slices.Contains(switches, p.node.Name()) {
			list = append(list, i)
		}
	}
	return list
}

// names returns the switches of some points, in the format of results.
func (path *markPath) names(points []int) string {
	var names []string
	for _, i := range points {
		names = append(names, path.points[i].node.Name())
	}
	slices.Sort(names)
	return strings.Join(names, "+")
}

// feed passes to the collector the periods that points have published since the last call, in the order of time.
func (j *markJoin) feed(points []*markPoint) {
	type report struct {
		point int
		published
	}
	var list []report
	for i, p := range points {
		for _, x := range p.periods[j.fed[i]:] {
			list = append(list, report{i, x})
		}
		j.fed[i] = len(p.periods)
	}
	slices.SortStableFunc(list, func(a, b report) int {
		return cmp.Or(a.at.Compare(b.at), a.point-b.point)
	})
	for _, x := range list {
		j.keep(j.marks.Add(x.point, x.Period, x.at))
	}
}

func (j *markJoin) keep(results []marks.Result) {
	for _, r := range results {
		j.results[resultKey{r.From, r.To, r.Period}] = r
	}
}

// Report returns the measurements of all paths.
func (m *marking) Report() lab.Report {
	all := Report{}
	for _, path := range m.paths {
		path.join.keep(path.join.marks.Flush())
		r := &PathReport{}
		for _, p := range path.points {
			r.Points = append(r.Points, p.String())
		}
		for _, s := range path.segments {
			r.Segments = append(r.Segments, path.segment(s))
		}
		r.Notices = append([]string{}, path.join.marks.Notices()...)
		all[path.name] = r
	}
	return all
}

func (path *markPath) segment(of segment) *Segment {
	s := &Segment{From: path.names(of.from), To: path.names(of.to), path: path.name, Periods: []Period{}}
	n := path.points[0].session.Interval
	s.length = length(n)
	for key, r := range path.join.results {
		if key.from == s.From && key.to == s.To {
			s.Periods = append(s.Periods, path.period(r, n, of))
		}
	}
	slices.SortFunc(s.Periods, func(a, b Period) int { return cmp.Compare(a.Period, b.Period) })
	s.count()
	for _, name := range []string{"truth.sent", "truth.received", "truth.lost", "truth.doubled"} {
		s.Numbers[name] = 0
	}
	for _, p := range path.truth.periods {
		sent, lost, received := p.account(of, anySource)
		s.Numbers["truth.sent"] += int64(sent)
		s.Numbers["truth.received"] += int64(received)
		s.Numbers["truth.lost"] += lost
		s.Numbers["truth.doubled"] += int64(p.again(of.to))
	}
	return s
}

func (path *markPath) period(r marks.Result, n altmark.Interval, of segment) Period {
	p := Period{
		Period: r.Period, Start: lab.Time(n.Start(r.Period).Sub(altmark.At(lab.Epoch()))) * lab.Nanosecond,
		Status: r.Status.String(), Reasons: append([]string{}, r.Reasons...),
	}
	if r.Status != marks.Missing {
		p.Sent, p.Received = &r.Sent, &r.Received
	}
	if r.LossValid {
		p.Lost = &r.Lost
	}
	if r.DelayValid {
		p.Delay = &r.Delay
	}
	if r.JitterValid {
		p.Jitter = &r.Jitter
	}
	if p.MeanUnknown = r.Mean.Unknown; r.Mean.Valid {
		p.MeanDelay, p.DelaySum = &r.Mean.Delay, &r.Mean.Sum
	}
	if t := path.truth.numbered(r.Period, of, p.Sent); t != nil {
		p.TrueSent, p.TrueLost, _ = t.account(of, anySource)
		p.TrueDoubled = [2]uint64{t.again(of.from), t.again(of.to)}
		if d, ok := t.delay(of); ok {
			p.TrueDelay = &d
		}
	}
	return p
}

// name returns the base name of the segment's files.
func (s *Segment) name() string { return "altmark-" + s.path + "-" + s.From + "-" + s.To }

// count computes the metrics.
func (s *Segment) count() {
	n := map[string]int64{}
	s.Numbers = n
	loss, trueDelay, delay, jitter := newSpread(), newSpread(), newSpread(), newSpread()
	lossError, delayError := newSpread(), newSpread()
	var both correlation
	n["periods"] = int64(len(s.Periods))
	for _, w := range []string{"complete", "flagged", "missing"} {
		n[w] = 0
	}
	for _, p := range s.Periods {
		n[map[string]string{"ok": "complete", "flagged": "flagged", "missing": "missing"}[p.Status]]++
		if p.Lost != nil {
			loss.add(*p.Lost)
			lossError.add(abs(*p.Lost - p.TrueLost))
			n["sent"] += int64(*p.Sent)
			n["received"] += int64(*p.Received)
		}
		if p.Delay == nil {
			continue
		}
		d := int64(*p.Delay) * int64(lab.Nanosecond)
		delay.add(d)
		if p.TrueDelay != nil {
			trueDelay.add(int64(*p.TrueDelay))
			delayError.add(abs(d - int64(*p.TrueDelay)))
		} else {
			n["delay.untrue"]++ // measured without a true packet
		}
		if p.Jitter != nil {
			jitter.add(abs(int64(*p.Jitter) * int64(lab.Nanosecond)))
		}
		if p.Lost != nil {
			both.add(*p.Lost, d)
		}
	}
	n["delay.untrue"] += 0
	if loss.samples > 0 {
		n["lost"] = n["sent"] - n["received"]
	}
	if c, ok := both.perMille(); ok {
		n["correlation"] = c
	}
	loss.into(n, "loss", 1_000_000)
	lossError.into(n, "loss_error", 1_000_000)
	delay.into(n, "delay", 1)
	trueDelay.into(n, "true_delay", 1)
	delayError.into(n, "delay_error", 1)
	jitter.into(n, "jitter", 1)
}

func abs(v int64) int64 { return max(v, -v) }

// A spread holds the minimum, the mean and the maximum of some numbers.
type spread struct{ samples, least, most, sum int64 }

func newSpread() *spread { return &spread{least: math.MaxInt64, most: math.MinInt64} }

func (s *spread) add(v int64) {
	s.samples, s.sum = s.samples+1, s.sum+v
	s.least, s.most = min(s.least, v), max(s.most, v)
}

// into writes the spread into n. The mean is in units of 1/parts, since a mean of packets is fractional.
func (s *spread) into(n map[string]int64, name string, parts int64) {
	if n[name+".samples"] = s.samples; s.samples > 0 {
		sum := new(big.Int).Mul(big.NewInt(s.sum), big.NewInt(parts))
		n[name+".min"], n[name+".mean"], n[name+".max"] = s.least, sum.Quo(sum, big.NewInt(s.samples)).Int64(), s.most
	}
}

// A correlation is Pearson's correlation of pairs of numbers. Its sums are exact. For equal numbers the difference of
// two large sums is therefore 0, without a rounding error.
type correlation struct {
	n                int64
	x, y, xx, yy, xy big.Int
}

func (c *correlation) add(x, y int64) {
	a, b := big.NewInt(x), big.NewInt(y)
	c.n++
	c.x.Add(&c.x, a)
	c.y.Add(&c.y, b)
	for sum, of := range map[*big.Int][2]*big.Int{&c.xx: {a, a}, &c.yy: {b, b}, &c.xy: {a, b}} {
		sum.Add(sum, new(big.Int).Mul(of[0], of[1]))
	}
}

// perMille returns the coefficient times 1000, and false if there is none.
func (c *correlation) perMille() (int64, bool) {
	// together returns n times the sum of products, minus the product of the sums.
	together := func(sum, a, b *big.Int) float64 {
		n := new(big.Int).Mul(big.NewInt(c.n), sum)
		f, _ := new(big.Float).SetInt(n.Sub(n, new(big.Int).Mul(a, b))).Float64()
		return f
	}
	xx, yy := together(&c.xx, &c.x, &c.x), together(&c.yy, &c.y, &c.y)
	if c.n < 3 || xx == 0 || yy == 0 {
		return 0, false
	}
	return int64(math.Round(1000 * together(&c.xy, &c.x, &c.y) / math.Sqrt(xx) / math.Sqrt(yy))), true
}

// sometimes lists the numbers that a segment has only if something was measured.
var sometimes = func() []string {
	names := []string{"sent", "received", "lost", "correlation"}
	for _, of := range []string{"loss", "loss_error", "delay", "true_delay", "delay_error", "jitter"} {
		names = append(names, of+".min", of+".mean", of+".max")
	}
	return names
}()

// altMarkUnit returns the unit of a metric.
func altMarkUnit(name string) string {
	head, tail, _ := strings.Cut(name, ".")
	switch {
	case tail == "samples" || name == "delay.untrue":
		return "periods"
	case strings.HasSuffix(head, "delay") || head == "delay_error" || head == "jitter":
		return "ps"
	case head == "periods" || head == "complete" || head == "flagged" || head == "missing":
		return "periods"
	case head == "correlation":
		return "per mille"
	case tail == "mean":
		return lab.Millionths
	}
	return "packets"
}

// Metric returns PATH.FROM.TO.NUMBER. PATH.FROM.TO.flagged.WORD is the number of periods with the word in a reason.
// PATH.FROM.TO.lost.at.TIME is the value of one period.
func (r Report) Metric(name string) (lab.Metric, bool) {
	part := strings.SplitN(name, ".", 4)
	if len(part) < 4 || r[part[0]] == nil {
		return lab.Metric{}, false
	}
	for _, s := range r[part[0]].Segments {
		if s.From != part[1] || s.To != part[2] {
			continue
		}
		if word, ok := strings.CutPrefix(part[3], "flagged."); ok {
			return lab.Metric{Value: s.flagged(word), Unit: "periods"}, true
		}
		if what, at, ok := strings.Cut(part[3], ".at."); ok {
			return s.at(what, at)
		}
		v, ok := s.Numbers[part[3]]
		if !ok && slices.Contains(sometimes, part[3]) {
			v, ok = lab.Unmeasured, true
		}
		return lab.Metric{Value: v, Unit: altMarkUnit(part[3])}, ok
	}
	return lab.Metric{}, false
}

// at returns a number of the period at a time of the run.
func (s *Segment) at(what, text string) (lab.Metric, bool) {
	var t lab.Time
	if t.Parse(text) != nil {
		return lab.Metric{}, false
	}
	for _, p := range s.Periods {
		if t < p.Start || t >= p.Start+s.length {
			continue
		}
		switch {
		case what == "sent" && p.Sent != nil:
			return lab.Metric{Value: int64(*p.Sent), Unit: "packets"}, true
		case what == "lost" && p.Lost != nil:
			return lab.Metric{Value: *p.Lost, Unit: "packets"}, true
		case what == "delay" && p.Delay != nil:
			return lab.Metric{Value: int64(*p.Delay) * int64(lab.Nanosecond), Unit: "ps"}, true
		case what == "sent" || what == "lost" || what == "delay":
			return lab.Metric{Value: lab.Unmeasured, Unit: altMarkUnit(what)}, true
		}
	}
	return lab.Metric{}, false
}

func (s *Segment) flagged(word string) (n int64) {
	for _, p := range s.Periods {
		if slices.ContainsFunc(p.Reasons, func(reason string) bool { return strings.Contains(reason, word) }) {
			n++
		}
	}
	return n
}
