package marking

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"tamtam/device"
	"tamtam/lab"
	"tamtam/swss"
	"tamtam/tam/altmark"
)

const (
	maxFabric    = 4 // maximum number of switches of a fabric
	fabricPorts  = 8 // number of ports per switch, see the profile "small"
	maxNetworks  = 4 // maximum number of networks per fabric
	calibPeriods = 16
)

// A fabric is a case of the calibration: two to four switches with up to four networks. A network has its own hosts,
// links, VLAN, flow group and settings. It shares the switches with others, and so their clocks and restarts.
type fabric struct {
	rnd      *rand.Rand
	interval altmark.Interval
	l        lab.Time
	switches int
	clocks   string   // the fault of the clocks
	restart  string   // the part that is restarted in mid-run; empty means none
	bound    lab.Time // maximum difference of any two clocks, if they have no fault
	ports    []int    // number of used ports, by switch
	nets     []*network
	top      *lab.Topology
}

// Faults of the clocks of a fabric.
const (
	clocksExact    = "clocks within A"
	clocksStep     = "a clock steps"
	clocksStep2L   = "a clock steps by 2L"
	clocksApart2L  = "clocks apart by 2L"
	clocksBeyond   = "clocks apart by more than A"
	clocksDrift    = "a clock drifts"
	clocksVouched  = "a clock drifts within A, vouched for"
	restartOfPoint = "a point restarts"
)

// randomFabric returns a random fabric.
func randomFabric(seed uint64) *fabric {
	rnd := rand.New(rand.NewPCG(seed, 0xca11b))
	f := &fabric{rnd: rnd, interval: altmark.Interval(rnd.IntN(7) - 10), switches: 2 + min(rnd.IntN(4), 2),
		top: &lab.Topology{Experiment: "calibration", Studies: []lab.Study{new(Study)}}}
	if rnd.IntN(24) == 0 {
		f.interval = altmark.Interval(rnd.IntN(3) - 3)
	}
	f.l = length(f.interval)
	f.bound = (100 + lab.Time(rnd.Int64N(int64(f.l/lab.Nanosecond/16)))) * lab.Nanosecond
	f.clocks = pick(rnd, []weighted{{clocksExact, 60}, {clocksStep, 12}, {clocksStep2L, 6}, {clocksApart2L, 8},
		{clocksBeyond, 8}, {clocksDrift, 8}, {clocksVouched, 4}})
	for i := range f.switches {
		f.top.Switches = append(f.top.Switches, lab.Switch{Name: fmt.Sprintf("s%d", i), Profile: "small",
			Config: lab.Config{Tables: device.ConfigDB{
				"PORT": {}, "VLAN": {}, "VLAN_MEMBER": {}, "TAM_FEATURES_TABLE": {"ALTMARK": {"status": "ACTIVE"}},
				"TAM_FLOWGROUP_TABLE": {}, "ACL_RULE": {}, "TAM_ALTMARK_TABLE": {},
			}}})
		f.ports = append(f.ports, 0)
	}
	f.top.Duration = calibPeriods * f.l
	// up to the number of available ports, since the cost of a fabric is mostly its switches
	for range maxNetworks - rnd.IntN(2) {
		f.addNetwork()
	}
	f.setClocks()
	if rnd.IntN(8) == 0 {
		f.restart = []string{"managers", "orchagent", "syncd", "syncd"}[rnd.IntN(4)]
		f.event(lab.Event{Do: "restart", What: f.restart})
	}
	return f
}

type weighted struct {
	what string
	n    int
}

func pick(rnd *rand.Rand, list []weighted) string {
	sum := 0
	for _, w := range list {
		sum += w.n
	}
	x := rnd.IntN(sum)
	for _, w := range list {
		if x -= w.n; x < 0 {
			return w.what
		}
	}
	return ""
}

// event schedules an event in the middle of the run, at a random switch unless it names one.
func (f *fabric) event(e lab.Event) {
	e.At = f.top.Duration/4 + lab.Time(f.rnd.Int64N(int64(f.top.Duration/2)))
	if e.Switch == "" {
		e.Switch = f.top.Switches[f.rnd.IntN(f.switches)].Name
	}
	f.top.Events = append(f.top.Events, e)
}

func (f *fabric) setClocks() {
	rnd := f.rnd
	clock := func() *lab.Clock { return &f.top.Switches[rnd.IntN(f.switches)].Clock }
	for i := range f.top.Switches {
		f.top.Switches[i].Clock.Offset = f.within(f.bound / 2)
	}
	twice := 2 * f.l / lab.Nanosecond * lab.Nanosecond * (1 - 2*lab.Time(rnd.IntN(2))) * (1 + lab.Time(rnd.IntN(4)/3))
	switch f.clocks {
	case clocksStep:
		by := f.within(3*f.l) | lab.Nanosecond
		e := lab.Event{Do: "step-clock", By: by / lab.Nanosecond * lab.Nanosecond,
			Switch: f.top.Switches[rnd.IntN(f.switches)].Name}
		if e.By == 0 {
			e.By = lab.Nanosecond
		}
		f.event(e)
		if rnd.IntN(2) == 0 { // sometimes, the clock steps back
			e.By = -e.By
			f.event(e)
		}
	case clocksStep2L:
		f.event(lab.Event{Do: "step-clock", By: twice})
	case clocksApart2L:
		clock().Offset += twice
	case clocksBeyond:
		clock().Offset += f.bound + f.within([]lab.Time{4 * f.bound, f.l, 5 * f.l}[rnd.IntN(3)])
	case clocksDrift:
		clock().Drift = int64(1-2*rnd.IntN(2)) * (10_000 + rnd.Int64N([]int64{100_000, 5_000_000}[rnd.IntN(2)]))
	case clocksVouched:
		c := clock()
		c.Offset = 0
		most := float64(f.bound) / float64(f.top.Duration) * 0.5e9 // ppb: half the bound, at the end
		c.Drift = max(1, rnd.Int64N(int64(most)+1))
	}
}

// within returns a time from -d to d.
func (f *fabric) within(d lab.Time) lab.Time {
	return (lab.Time(f.rnd.Int64N(int64(2*d/lab.Nanosecond)+1)) - d/lab.Nanosecond) * lab.Nanosecond
}

// A network is one path through a fabric and the measurement on it.
type network struct {
	name string
	// switches in the order of the packets; with two at a step, some packets take the first and some the other
	steps   [][]int
	paths   [][]int  // the listed paths: the switches that are points
	flows   []uint64 // numbers of the measured traffic sources
	session altmark.Session
	kind    string // the network's fault
	family  string
	rate    float64 // packets per period, on average
	sparse  bool    // true if the method needs packets that periods may lack, or an order that packets may not have

	nth      int
	change   string // change of its rules
	features []string
	senders  []sender
	matched  []func(*sender) bool // the match of the points, at each time of the run
	ports    map[int][]string     // ports in use, by switch

	ledger *ledger
}

// Faults of a network.
const (
	faultNone      = "nothing"
	faultLate      = "packets later than Dmax"
	faultHost      = "the host of a switch is late with packets"
	faultVeryLate  = "packets later than 2L less the guard"
	faultDouble    = "duplicates"
	faultLAG       = "split over a LAG"
	faultSplit     = "split over switches, points where all meet"
	faultInside    = "split over switches, a point inside"
	faultForeign   = "packets arrive marked"
	faultInitiator = "a second initiator in the path"
)

func (n *network) first() int { return n.steps[0][0] }

func (n *network) rank(sw int) int {
	return slices.IndexFunc(n.steps, func(at []int) bool { return slices.Contains(at, sw) })
}

// hops returns the number of links between switches that a packet passes.
func (n *network) hops() int { return len(n.steps) - 1 }

func (f *fabric) addNetwork() {
	rnd := f.rnd
	n := &network{name: fmt.Sprintf("n%d", len(f.nets)), nth: len(f.nets), family: "4", ports: map[int][]string{},
		matched: []func(*sender) bool{flowGroup}}
	n.kind = pick(rnd, []weighted{
		{faultNone, 40}, {faultLate, 20}, {faultVeryLate, 6}, {faultHost, 12}, {faultDouble, 6}, {faultLAG, 10},
		{faultSplit, 10}, {faultInside, 10}, {faultForeign, 8}, {faultInitiator, 8},
	})
	order := []int{0, 1, 2, 3}[:f.switches]
	if (n.kind == faultSplit || n.kind == faultInside) && f.switches < 4 || n.kind == faultInitiator && f.switches < 3 {
		n.kind = faultNone
	}
	if rnd.IntN(2) == 0 {
		slices.Reverse(order)
	}
	for _, s := range order {
		n.steps = append(n.steps, []int{s})
	}
	if n.kind == faultSplit || n.kind == faultInside {
		n.steps = [][]int{{order[0]}, {order[1], order[2]}, {order[3]}}
	}
	n.setPaths(rnd)
	lag := -1 // position on the path of the switch before the LAG; -1 means no LAG
	if n.kind == faultLAG {
		lag = rnd.IntN(n.hops())
	}
	if !f.room(n, lag) {
		return
	}
	n.setSession(f)
	n.change, n.features = randomChange(rnd), randomFeatures(rnd)
	f.nets = append(f.nets, n)
	f.configure(n)
	f.connect(n, lag)
	f.addTraffic(n)
	f.combine(n)
	f.change(n)
	f.follow(n)
}

// setPaths sets the paths to join: all points, and sometimes also the two ends. If the network is of kind faultSplit or
// faultInitiator, only the two ends are joined.
func (n *network) setPaths(rnd *rand.Rand) {
	var all []int
	for _, at := range n.steps {
		all = append(all, at[0])
	}
	ends := []int{all[0], all[len(all)-1]}
	switch {
	case n.kind == faultSplit || n.kind == faultInitiator:
		n.paths = [][]int{ends}
	case len(all) > 2 && rnd.IntN(3) == 0:
		n.paths = [][]int{all, ends}
	default:
		n.paths = [][]int{all}
	}
}

// room reports whether there are enough free ports for the network.
func (f *fabric) room(n *network, lag int) bool {
	need := make([]int, f.switches)
	for r, at := range n.steps {
		for _, s := range at {
			need[s] = 2
			if r == lag || r == lag+1 && lag >= 0 || len(n.steps) == 3 && len(n.steps[1]) == 2 && len(at) == 1 {
				need[s] = 3
			}
		}
	}
	for s := range need {
		if f.ports[s]+need[s] > fabricPorts {
			return false
		}
	}
	return true
}

// setSession draws the settings. They fit the interval, sometimes only just.
func (n *network) setSession(f *fabric) {
	rnd, l := f.rnd, f.l
	s, family := randomMarks(rnd, f.interval)
	n.family = family
	ns := int64(l / lab.Nanosecond)
	s.ClockError = time.Duration(int64(f.bound/lab.Nanosecond) + rnd.Int64N(ns/64))
	s.MinDelay = time.Duration(rnd.Int64N(ns / 40))
	s.MaxDelay = s.MinDelay + time.Duration(rnd.Int64N(ns/16)+ns/32)
	if rnd.IntN(4) == 0 { // as large as the settings permit
		for d := s; d.Check() == nil; d.MaxDelay += time.Duration(ns / 64) {
			s = d
		}
	}
	s.MeanDelay = s.Method != altmark.Pulse && s.ClockError%4 != 0
	n.session = s
}

// configure writes the rows of the network's switches.
func (f *fabric) configure(n *network) {
	i := len(f.nets) - 1
	vlan := fmt.Sprint("Vlan", 10+i)
	for r, at := range n.steps {
		for _, sw := range at {
			t := f.top.Switches[sw].Config.Tables
			t["VLAN"][vlan] = swss.FieldValues{"vlanid": fmt.Sprint(10 + i)}
			t["TAM_FLOWGROUP_TABLE"][n.name] = swss.FieldValues{"id": fmt.Sprint(1 + i)}
			t["ACL_RULE"]["TAM|"+n.name] = n.rule()
			role := "transit"
			switch {
			case r == 0 || n.kind == faultInitiator && r == 1:
				role = "initiator"
			case r == len(n.steps)-1:
				role = "terminator"
			case !slices.Contains(n.paths[0], sw):
				if n.splits() { // the graph needs these points
					t["TAM_ALTMARK_TABLE"][n.name] = n.row(role, false)
				}
				continue
			}
			t["TAM_ALTMARK_TABLE"][n.name] = n.row(role, f.rnd.IntN(2) == 0)
		}
	}
	if n.splits() {
		f.addGraph(n)
	}
	for _, p := range n.paths {
		path := Path{Name: fmt.Sprintf("%s-%d", n.name, len(studyOf(f.top).AltMark.Paths))}
		for _, sw := range p {
			path.Points = append(path.Points, fmt.Sprintf("s%d:%s", sw, n.name))
		}
		studyOf(f.top).AltMark.Paths = append(studyOf(f.top).AltMark.Paths, path)
	}
}

// splits reports whether packets take one of two paths over switches.
func (n *network) splits() bool { return n.kind == faultSplit || n.kind == faultInside }

// addGraph measures on all switches that a network's packets pass.
func (f *fabric) addGraph(n *network) {
	g := Graph{Name: n.name + "-graph"}
	for r, at := range n.steps {
		for _, a := range at {
			g.Points = append(g.Points, fmt.Sprintf("s%d:%s", a, n.name))
			for _, b := range n.steps[min(r+1, n.hops())] {
				if r < n.hops() {
					g.Links = append(g.Links, []string{fmt.Sprint("s", a), fmt.Sprint("s", b)})
				}
			}
		}
	}
	studyOf(f.top).AltMark.Graphs = append(studyOf(f.top).AltMark.Graphs, g)
}

func (n *network) row(role string, clear bool) swss.FieldValues {
	s := n.session
	row := swss.FieldValues{
		"flowgroup": n.name, "role": role, "method": s.Method.String(), "interval": fmt.Sprint(int(s.Interval)),
		"mark":      s.Mark.String(),
		"slot-sync": strconv.FormatBool(s.SlotSync), "clock-error": fmt.Sprint(int64(s.ClockError)),
		"delay-min": fmt.Sprint(int64(s.MinDelay)), "delay-max": fmt.Sprint(int64(s.MaxDelay)),
	}
	if s.MeanDelay {
		row["mean-delay"] = "true"
	}
	if s.Mark2 != altmark.NoMark {
		row["mark2"] = s.Mark2.String()
	}
	if role == "terminator" && clear {
		row["clear"] = "true"
	}
	return row
}

// port allocates the next port of a switch for the network, or for a LAG of it.
func (f *fabric) port(n *network, sw int, lag, hop bool) string {
	t := f.top.Switches[sw].Config.Tables
	i := f.ports[sw]
	f.ports[sw]++
	name := fmt.Sprint("Ethernet", i)
	t["PORT"][name] = swss.FieldValues{"lanes": fmt.Sprint(i), "speed": "10000", "admin_status": "up"}
	member, vlan := name, fmt.Sprint("Vlan", 10+len(f.nets)-1)
	if lag {
		member = "PortChannel" + n.name[1:]
		if t["PORTCHANNEL"] == nil {
			t["PORTCHANNEL"], t["PORTCHANNEL_MEMBER"] = map[string]swss.FieldValues{}, map[string]swss.FieldValues{}
		}
		t["PORTCHANNEL"][member] = swss.FieldValues{"admin_status": "up"}
		t["PORTCHANNEL_MEMBER"][member+"|"+name] = swss.FieldValues{"NULL": "NULL"}
	}
	n.ports[sw] = append(n.ports[sw], name)
	mode := "untagged"
	if hop && slices.Contains(n.features, featureTags) {
		mode = "tagged"
	}
	t["VLAN_MEMBER"][vlan+"|"+member] = swss.FieldValues{"tagging_mode": mode}
	return fmt.Sprintf("s%d:%s", sw, name)
}

// connect adds hosts and links.
func (f *fabric) connect(n *network, lag int) {
	for i, end := range []int{n.first(), n.steps[n.hops()][0]} {
		h := lab.Host{Name: n.name + string("ab"[i]), IPs: []netip.Prefix{
			netip.MustParsePrefix(n.addressOf(i+1) + map[string]string{"4": "/24", "6": "/64"}[n.family])}}
		f.top.Hosts = append(f.top.Hosts, h)
		near := lab.Impairment{Delay: 50 * lab.Nanosecond}
		if n.kind == faultHost && i == 0 && f.rnd.IntN(2) == 0 {
			near.Reorder = f.lateHost()
		}
		f.top.Links = append(f.top.Links, lab.Link{A: h.Name, B: f.port(n, end, false, false), Impairment: near})
	}
	held := f.rnd.IntN(n.hops()) // the link where packets are held back, or doubled
	for r := range n.hops() {
		both := r == lag
		for _, a := range n.steps[r] {
			for _, b := range n.steps[r+1] {
				links := 1
				if both {
					links = 2
				}
				split := len(n.steps[r])+len(n.steps[r+1]) > 2
				for range links {
					f.top.Links = append(f.top.Links, lab.Link{
						A:          f.port(n, a, both || split && len(n.steps[r]) == 1, true),
						B:          f.port(n, b, both || split && len(n.steps[r+1]) == 1, true),
						Impairment: f.impairment(n, r, r == held),
					})
				}
			}
		}
	}
}

// impairment divides the allowance of the sessions among the links. At one link (here) it adds the fault of the
// network.
func (f *fabric) impairment(n *network, r int, here bool) (m lab.Impairment) {
	const chip = 3 * lab.Microsecond // more than any switch needs
	rnd, hops := f.rnd, lab.Time(n.hops())
	least, most := lab.Time(n.session.MinDelay)*lab.Nanosecond, lab.Time(n.session.MaxDelay)*lab.Nanosecond-hops*chip
	room := (most - least) / hops
	m.Delay = room/8 + lab.Time(rnd.Int64N(int64(room/4))) + lab.Nanosecond
	if r == 0 {
		m.Delay += least // all points have the same settings
	}
	switch rnd.IntN(4) {
	case 0:
		m.Jitter = lab.Jitter{Max: lab.Time(rnd.Int64N(int64(room / 4)))}
	case 1:
		m.Burst = lab.Burst{GoodToBad: 1_000_000_000 / 100, BadToGood: 1_000_000_000 / 5}
	}
	m.Loss = lab.Probability(rnd.IntN(3) * rnd.IntN(1_000_000_000/8))
	if rnd.IntN(2) == 0 {
		m.Reorder = lab.Reorder{Probability: 1_000_000_000 / 50, Delay: room/8 + 1}
		n.sparse = n.sparse || !n.session.SlotSync // a packet overtaken by a step is mistaken for a pulse
	}
	if rnd.IntN(8) == 0 {
		m.Corrupt = 1_000_000_000 / 50
	}
	if !here {
		return m
	}
	often := lab.Probability(1_000_000_000 / []int{500, 100, 20}[rnd.IntN(3)])
	guard := lab.Time(n.session.Guard()) * lab.Nanosecond
	switch n.kind {
	case faultDouble:
		m.Duplicate = often
	case faultLate:
		m.Reorder = lab.Reorder{Probability: often, Delay: most + lab.Time(rnd.Int64N(int64(max(2*f.l-guard-most, f.l/8))))}
	case faultHost:
		m.Reorder = f.lateHost()
	case faultVeryLate:
		m.Reorder = lab.Reorder{Probability: often, Delay: max(2*f.l-guard, f.l) + lab.Time(rnd.Int64N(int64(4*f.l)))}
	}
	return m
}

// lateHost makes the host of a switch delay some frames, with the switch aware of it.
func (f *fabric) lateHost() lab.Reorder {
	late := []lab.Time{f.l / 16, f.l, 6 * f.l}[f.rnd.IntN(3)]
	return lab.Reorder{Probability: lab.Probability(1_000_000_000 / []int{500, 100, 20}[f.rnd.IntN(3)]),
		Delay: lab.Nanosecond + lab.Time(f.rnd.Int64N(int64(late))), Known: true}
}

// addTraffic sends from one packet in several periods to some tens in each.
func (f *fabric) addTraffic(n *network) {
	rnd, l := f.rnd, f.l
	i := len(f.nets) - 1
	n.rate = []float64{0.4, 2, 8, 30, 80}[rnd.IntN(5)]
	t := lab.Traffic{
		Name: n.name, From: n.name + "a", To: n.name + "b",
		Headers: lab.Headers{DstPort: uint16(5000 + i), AltMark: n.session.Mark == altmark.IPv6Loss},
		PPS:     max(1, uint64(n.rate*float64(lab.Second)/float64(l))),
		Start:   50*lab.Microsecond + lab.Time(rnd.Int64N(int64(2*l))),
		Size:    lab.Sizes{Uniform: [2]uint16{90, uint16(90 + rnd.IntN(1400))}}, Flows: lab.Flows{Count: 1 + rnd.IntN(8)},
	}
	switch rnd.IntN(4) {
	case 0:
		t.Kind = "poisson"
	case 1:
		t.Kind, t.Burst = "onoff", lab.OnOff{On: 1 + lab.Time(rnd.Int64N(int64(l))),
			Off: 1 + lab.Time(rnd.Int64N(int64(2*l))), Random: true}
	}
	if rnd.IntN(10) == 0 {
		t.Stop = f.top.Duration * 3 / 4
	}
	n.sparse = n.sparse || !n.session.SlotSync && n.kind != faultNone || t.Kind == "onoff" || t.Stop > 0 || !n.dense(l)
	if n.kind == faultForeign && n.change != changeDSCP { // a match on the DSCP only matches packets without marks
		t.DSCP = uint8(rnd.IntN(64))
	}
	f.send(n, t, false, false)
	t.Flows.Count = 1
	if n.kind == faultForeign && n.change != changeDSCP && rnd.IntN(2) == 0 {
		t.Name, t.DSCP, t.SrcPort = n.name+"m", 63, apartPort
		f.send(n, t, true, false)
		t.DSCP = 0
	}
	if n.change != changeNothing {
		t.Name, t.SrcPort = n.name+"v", apartPort
		f.send(n, t, true, false)
	}
	if rnd.IntN(5) == 0 || n.change != changeNothing { // in no flow group, unless a rule is changed
		t.Name, t.DstPort, t.SrcPort = n.name+"x", uint16(6000+i), 2000
		f.send(n, t, false, true)
	}
}

// send adds a traffic source. other means that its packets are not in the flow group; apart means that they have their
// own source port.
func (f *fabric) send(n *network, t lab.Traffic, apart, other bool) {
	f.top.Traffic = append(f.top.Traffic, t)
	n.flows = append(n.flows, uint64(len(f.top.Traffic)))
	n.senders = append(n.senders, sender{len(f.top.Traffic), apart, other})
}

// follow makes the truth count all traffic sources of the network.
func (f *fabric) follow(n *network) {
	var names []string
	for _, s := range n.senders {
		names = append(names, f.top.Traffic[s.number-1].Name)
	}
	study := studyOf(f.top)
	for i := range study.AltMark.Paths {
		if p := &study.AltMark.Paths[i]; strings.HasPrefix(p.Name, n.name+"-") {
			p.Traffic = names
		}
	}
	for i := range study.AltMark.Graphs {
		if g := &study.AltMark.Graphs[i]; strings.HasPrefix(g.Name, n.name+"-") {
			g.Traffic = names
		}
	}
}

// dense reports whether nearly every period has the packets that the method needs. A muxed pulse must leave in the
// third quarter, early enough for its slots at the other end. Without slots no gap may be as long as an eighth.
func (n *network) dense(l lab.Time) bool {
	s := n.session
	if s.Method != altmark.Muxed {
		return true
	}
	span := l/4 - lab.Time(s.ClockError+s.MaxDelay)*lab.Nanosecond
	if !s.SlotSync {
		span = min(span, l/8)
	}
	return n.rate*float64(span)/float64(l) >= 12
}
