package device

import (
	"encoding/json"
	"fmt"

	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"tamtam/internal/randtest"
	"tamtam/mgmt"
	"tamtam/saisim"
	"tamtam/swss"
)

// A measure is a kind of answer that is calibrated: of a flow, or a metric of all packets.
type measure struct {
	name, attribute, algorithm string
	keys                       []string // of flows, one is drawn
	of                         []string // keys of elements, one is drawn
	metric                     string   // "": the answer of a query
	absent                     float64  // how many of the queries ask for what never came
	memory                     [2]int   // least and most
	// width is how far theory's bounds are apart; nil: there is no theory.
	width func(in *instance) float64
}

var anyKey = []string{"src-ip", "dst-ip", "ip-pair", "5-tuple", "src-ip,dst-port"}

// Theory's widths. They are derived here from what the test counted and from how many counters
// or bits the task has, and share nothing with the answers.
func measures() []measure {
	counters := [2]int{192, 1536}
	// Cormode and Muthukrishnan: above the truth by more than 2N/w with probability 2^-rows.
	countMin := func(in *instance) float64 { return 2 * in.total / (in.buckets / in.rows) }
	// Whang et al.: standard error of n elements in m buckets sqrt(m (e^(n/m) - n/m - 1)).
	linear := func(n, m float64) float64 { return 4 * math.Sqrt(m*(math.Exp(n/m)-n/m-1)) }
	return []measure{
		{name: "cms", attribute: "frequency", algorithm: "cms", keys: anyKey, absent: 0.1, memory: counters, width: countMin},
		{name: "cms flows", attribute: "frequency", algorithm: "cms", keys: anyKey, metric: "cardinality", memory: counters,
			width: func(in *instance) float64 { return linear(in.flows, in.buckets/in.rows) }},
		{name: "cms bytes", attribute: "frequency(bytes)", algorithm: "cms", keys: anyKey, absent: 0.1, memory: counters, width: countMin},
		{name: "sumax-sum", attribute: "frequency", algorithm: "sumax-sum", keys: anyKey, absent: 0.1, memory: counters, width: countMin},
		{name: "tower", attribute: "frequency", algorithm: "tower", keys: anyKey, absent: 0.1, memory: counters, width: countMin},
		{name: "mrac", attribute: "frequency", algorithm: "mrac", keys: anyKey, absent: 0.1, memory: [2]int{64, 512}, width: countMin},
		{name: "mrac flows", attribute: "frequency", algorithm: "mrac", keys: anyKey, metric: "cardinality", memory: [2]int{64, 512},
			width: func(in *instance) float64 { return linear(in.flows, in.buckets) }},
		{name: "hll", attribute: "distinct", algorithm: "hll", of: anyKey, metric: "cardinality", memory: [2]int{64, 512},
			// Flajolet et al.: 1.04/sqrt(m).
			width: func(in *instance) float64 { return 4 * 1.04 / math.Sqrt(in.buckets) * in.elements }},
		{name: "linear-counting", attribute: "distinct", algorithm: "linear-counting", of: anyKey, metric: "cardinality", memory: [2]int{64, 128},
			width: func(in *instance) float64 { return linear(in.elements, in.buckets*in.bits) }},
		{name: "beaucoup", attribute: "distinct", algorithm: "beaucoup", keys: []string{"src-ip", "dst-ip"},
			of: []string{"dst-port", "5-tuple", "src-port"}, absent: 0.05, memory: counters},
		{name: "beaucoup all", attribute: "distinct", algorithm: "beaucoup", of: anyKey, metric: "cardinality", memory: [2]int{192, 192}},
		{name: "bloom", attribute: "existence", algorithm: "bloom", of: anyKey, absent: 0.5, memory: [2]int{192, 192}},
		{name: "bloom members", attribute: "existence", algorithm: "bloom", of: anyKey, metric: "members", memory: [2]int{192, 192},
			width: func(in *instance) float64 { return linear(in.elements, in.buckets*in.bits/in.rows) }},
		{name: "odd-sketch", attribute: "similarity", algorithm: "odd-sketch", of: anyKey, metric: "similarity", memory: [2]int{320, 640}},
		{name: "odd-sketch difference", attribute: "similarity", algorithm: "odd-sketch", of: anyKey, metric: "difference", memory: [2]int{320, 640},
			// Mitzenmacher et al.: the standard error of d elements in n bits.
			width: func(in *instance) float64 {
				n := in.buckets * in.bits
				return 4 * math.Sqrt(n*(math.Exp(4*in.exact/n)-1)/4-in.exact)
			}},
		{name: "max-size", attribute: "max(size)", algorithm: "sumax-max", keys: anyKey, absent: 0.05, memory: counters},
		{name: "maximum", attribute: "max(size)", algorithm: "sumax-max", metric: "maximum", memory: counters,
			width: func(*instance) float64 { return 1 }}, // exact
		{name: "max-queue", attribute: "max(queue-length)", algorithm: "sumax-max", keys: anyKey, absent: 0.05, memory: counters},
		{name: "max-delay", attribute: "max(queue-delay)", algorithm: "sumax-max", keys: anyKey, absent: 0.05, memory: counters},
		{name: "max-interval", attribute: "max(interval)", algorithm: "max-interval", keys: anyKey, absent: 0.05, memory: [2]int{576, 4608}},
	}
}

// An instance is one measure in one case.
type instance struct {
	measure
	task, query, key, element string
	class                     int
	epoch                     time.Duration // 0: none

	buckets, rows, bits    float64 // bits of a bucket
	total, flows, elements float64 // packets or bytes; of the epoch
	exact                  float64
}

// A tally is what became of all instances of a measure.
type tally struct {
	name                         string
	n, unbounded, flagged        int
	missed                       int
	chances                      []float64 // of a miss, as claimed
	ratios                       []float64 // widths to theory's
	theory                       bool
	disagree, withoutOracle, bad int
}

// Whether each kind of answer is as sure as it says, along the whole way: random tasks from
// CONFIG_DB, random traffic through the chip, answers by gNMI, against what the test itself has
// counted of the frames that left. An instance has one value, drawn by its seed.
func TestFlyMonCalibration(t *testing.T) {
	var tallies []*tally
	for _, m := range measures() {
		tallies = append(tallies, &tally{name: m.name, theory: m.width != nil})
	}
	fixed := randtest.Cases{Seed: 1, Count: 12, Short: 2}
	ran := randtest.Run(t, fixed, func(t *testing.T, seed uint64) { newCalibration(t, seed).run(tallies) })
	t.Logf("%-22s %9s %7s %7s %6s %9s %9s %9s", "measure", "instances", "no bound", "flagged", "missed", "claimed", "found", "width")
	for _, c := range tallies {
		c.judge(t, ran.Whole(fixed))
	}
}

// judge compares claims with what was found: the chance of as many misses, were each instance as
// sure as it says, is to be at least 10^-6.
func (c *tally) judge(t *testing.T, whole bool) {
	sure := 0.0
	for _, p := range c.chances {
		sure += 1 - p
	}
	bounded := float64(len(c.chances))
	width, median := "-", 0.0
	if c.theory {
		median = medianOf(c.ratios)
		width = fmt.Sprintf("%.2f", median)
	}
	t.Logf("%-22s %9d %7d %7d %6d %8.1f%% %8.1f%% %9s", c.name, c.n, c.unbounded, c.flagged, c.missed, 100*sure/bounded, 100*(1-float64(c.missed)/bounded), width)
	if p := chanceOfMisses(c.chances, c.missed); p < 1e-6 {
		t.Errorf("%s: %d of %d are outside their bounds, which has a chance of %.2g", c.name, c.missed, len(c.chances), p)
	}
	if c.disagree > 0 {
		t.Errorf("%s: the chip's oracle disagrees with the test %d times", c.name, c.disagree)
	}
	if c.withoutOracle > 0 {
		t.Errorf("%s: %d answers have no exact value beside them", c.name, c.withoutOracle)
	}
	if whole && (median > 2 || 2*len(c.chances) < c.n) {
		t.Errorf("%s: bounds say little: median width %.2f of theory's; %d of %d have some", c.name, median, len(c.chances), c.n)
	}
}

func medianOf(v []float64) float64 {
	if len(v) == 0 {
		return math.Inf(1)
	}
	slices.Sort(v)
	return v[len(v)/2]
}

// chanceOfMisses is the chance of n misses or more, each with its own chance.
func chanceOfMisses(chances []float64, n int) float64 {
	at := make([]float64, n+1) // of so many; the last: or more
	at[0] = 1
	for _, p := range chances {
		at[n] += at[max(n-1, 0)] * p * float64(min(n, 1))
		for k := n - 1; k >= 0; k-- {
			at[k] *= 1 - p
			if k > 0 {
				at[k] += at[k-1] * p
			}
		}
	}
	return at[n]
}

// A calibration is one case: a switch with one task for each measure and its traffic.
type calibration struct {
	t         *testing.T
	r         *rand.Rand
	epoch     time.Duration
	dimension string
	instances []*instance
	traffic   *mixture
	sim       *Sim
	left      []passed
}

// passed is a packet that left the chip.
type passed struct {
	packet *packetOf
	at     time.Duration // since 1970
}

func newCalibration(t *testing.T, seed uint64) *calibration {
	r := rand.New(rand.NewPCG(seed, 13))
	c := &calibration{t: t, r: r, epoch: time.Duration(10+r.IntN(90)) * time.Millisecond}
	c.dimension = [...]string{"src-ip", "dst-ip", "dst-port"}[r.IntN(3)]
	c.traffic = newMixture(r, c.epoch)
	pick := func(of []string) string {
		if len(of) == 0 {
			return ""
		}
		return of[r.IntN(len(of))]
	}
	for i, m := range measures() {
		in := &instance{measure: m, task: fmt.Sprintf("t%02d", i), class: i % classes, key: pick(m.keys), element: pick(m.of), epoch: c.epoch}
		if r.IntN(8) == 0 && m.attribute != "similarity" {
			in.epoch = 0
		}
		c.instances = append(c.instances, in)
	}
	return c
}

// config is the switch's configuration: two ports into one.
func (c *calibration) config() ConfigDB {
	config, err := ParseConfigDB([]byte(sketchConfig))
	if err != nil {
		c.t.Fatal(err)
	}
	config["PORT"]["Ethernet2"] = swss.FieldValues{"lanes": "2", "speed": "10000", "admin_status": "up"}
	config["VLAN_MEMBER"]["Vlan10|Ethernet2"] = swss.FieldValues{"tagging_mode": "untagged"}
	config["TAM_FLYMON_TASK_TABLE"], config["TAM_FLYMON_QUERY_TABLE"] = map[string]swss.FieldValues{}, map[string]swss.FieldValues{}
	for _, in := range c.instances {
		memory := in.memory[0] << c.r.IntN(bitsOf(in.memory[1]/in.memory[0]))
		row := swss.FieldValues{
			"key": in.key, "attribute": in.attribute, "algorithm": in.algorithm, "memory": strconv.Itoa(memory),
			"epoch": strconv.Itoa(int(in.epoch / time.Millisecond)), "filter": c.filter(in.class),
		}
		if c.r.IntN(4) == 0 && in.algorithm != "odd-sketch" {
			row["translation"] = "shift"
		}
		if in.element != "" {
			row["attribute"] += "(" + in.element + ")"
		}
		if in.key == "" {
			row["key"] = "none"
		}
		if in.attribute == "distinct" && in.key != "" {
			row["threshold"] = strconv.Itoa(8 << c.r.IntN(6))
		}
		config["TAM_FLYMON_TASK_TABLE"][in.task] = row
		if in.metric == "" {
			in.query = c.draw(in)
			config["TAM_FLYMON_QUERY_TABLE"][in.task] = swss.FieldValues{"task": in.task, "flow": in.query}
		}
	}
	return config
}

func bitsOf(n int) (bits int) {
	for ; n > 0; n /= 2 {
		bits++
	}
	return bits
}

func (c *calibration) filter(class int) string {
	switch c.dimension {
	case "src-ip":
		return fmt.Sprintf("src-ip=10.%d.0.0/16", class)
	case "dst-ip":
		return fmt.Sprintf("dst-ip=20.%d.0.0/16", class)
	}
	return fmt.Sprintf("dst-port=%d-%d", 1000*(class+1), 1000*(class+1)+999)
}

// draw draws the flow of a query before anything is counted: one that does not come, or one of
// those that do, evenly or by their packets.
func (c *calibration) draw(in *instance) string {
	field := in.key
	if field == "" {
		field = in.element
	}
	if c.r.Float64() < in.absent {
		return valuesOf(c.traffic.flow(c.r, in.class), field)
	}
	flows := c.traffic.classes[in.class]
	if c.r.IntN(2) == 0 {
		return valuesOf(flows[c.r.IntN(len(flows))], field)
	}
	var last []*packetOf
	for _, p := range c.traffic.packets {
		if p.class == in.class && p.epoch == 1 {
			last = append(last, p)
		}
	}
	return valuesOf(last[c.r.IntN(len(last))].flowOf, field)
}

// run is a case.
func (c *calibration) run(tallies []*tally) {
	t := c.t
	profile := saisim.SmallProfile()
	profile.EgressStages = max(profile.EgressStages, 20)
	profile.FlyMon.Groups, profile.FlyMon.Spliced, profile.FlyMon.Width = 14, 0, 32
	profile.FlyMon.Depth, profile.FlyMon.Partitions, profile.FlyMon.MapEntries, profile.FlyMon.Digests = 8192, 128, 256, 64
	start := time.Unix(100, 0).Truncate(c.epoch).Add(c.epoch / 4)
	c.sim = testSim(t, SimConfig{Config: c.config(), Start: start, Oracle: 1 << 16, Profile: profile})
	settle(t, c.sim)
	first := uint64(start.UnixNano())/uint64(c.epoch) + 1
	zero := time.Duration(first) * c.epoch
	c.send(zero)
	if err := c.sim.Advance(t.Context(), c.at(zero+2*c.epoch+c.epoch/2)); err != nil {
		t.Fatal(err)
	}
	if err := c.sim.Poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(c.left) != len(c.traffic.packets) {
		t.Fatalf("%d of %d packets left the chip", len(c.left), len(c.traffic.packets))
	}
	server, err := mgmt.NewServer(mgmt.Config{Redis: c.sim.Redis, Socket: filepath.Join(t.TempDir(), "m"), Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	tasks := list(t, server, "flymon-task", "flymon-tasks")
	queries := list(t, server, "flymon-query", "flymon-queries")
	for i, in := range c.instances {
		c.check(in, tallies[i], tasks[in.task], queries[in.task], first+1)
	}
}

// at is the cycle of a time since 1970.
func (c *calibration) at(since time.Duration) saisim.Cycle {
	return c.sim.Chip.CycleAt(time.Unix(0, 0).Add(since).Sub(c.sim.Chip.TrueTime(0)))
}

// send has the packets come, and notes when they leave.
func (c *calibration) send(zero time.Duration) {

	c.sim.Chip.SetOutput(func(o saisim.Out) {
		n := uint64(o.Data[len(o.Data)-4])<<24 | uint64(o.Data[len(o.Data)-3])<<16 | uint64(o.Data[len(o.Data)-2])<<8 | uint64(o.Data[len(o.Data)-1])
		if o.Port != 1 || n >= uint64(len(c.traffic.packets)) {
			return
		}
		c.left = append(c.left, passed{c.traffic.packets[n], c.sim.Chip.TrueTime(o.At).Sub(time.Unix(0, 0))})
	})

	for i, p := range c.traffic.packets {
		at := c.at(zero + time.Duration(p.epoch)*c.epoch + p.at)
		if err := c.sim.Chip.Receive(saisim.PortID(2*p.port), at, saisim.Frame{Data: p.frame(uint32(i))}); err != nil {
			c.t.Fatal(err)
		}
	}
}

// list reads a list of the TAM tree by gNMI, by name.
func list(t *testing.T, server *mgmt.Server, list, container string) map[string]map[string]any {
	t.Helper()
	p := &gpb.Path{Elem: []*gpb.PathElem{{Name: "tam"}, {Name: container}}}
	got, err := server.Get(t.Context(), &gpb.GetRequest{Path: []*gpb.Path{p}, Encoding: gpb.Encoding_JSON})
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string][]map[string]any
	if err := json.Unmarshal(got.Notification[0].Update[0].Val.GetJsonVal(), &tree); err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string]any{}
	for _, entry := range tree[list] {
		all[entry["name"].(string)] = entry
	}
	return all
}

// within walks down a tree.
func within(tree any, path ...string) any {
	for _, p := range path {
		m, ok := tree.(map[string]any)
		if !ok {
			return nil
		}
		tree = m[p]
	}
	return tree
}

func number(v any) (float64, bool) {
	if v == nil {
		return 0, false
	}
	n, err := strconv.ParseFloat(fmt.Sprint(v), 64)
	return n, err == nil
}

// check takes an instance's answer into its tally.
func (c *calibration) check(in *instance, tally *tally, task, query map[string]any, epoch uint64) {
	if status := within(task, "state", "status"); status != "ACTIVE" && status != "active" {
		c.t.Fatalf("%s is %v: %v", in.name, status, within(task, "state", "reason"))
	}
	answer, place := within(query, "state", "answer"), within(task, "state", "placement")
	if in.metric != "" {
		answer = nil
		metrics, _ := within(task, "metrics", "metric").([]any)
		for _, m := range metrics {
			if within(m, "quantity") == in.metric {
				answer = within(m, "state")
			}
		}
	}
	if answer == nil {
		c.t.Fatalf("%s has no answer: %v", in.name, task)
	}
	if n, _ := number(within(task, "state", "last-epoch", "epoch")); in.epoch > 0 && n != float64(epoch) {
		c.t.Fatalf("%s: the last epoch is %v, want %d", in.name, n, epoch)
	}
	if flags, _ := within(task, "state", "last-epoch", "flags").([]any); len(flags) > 0 && in.epoch > 0 {
		c.t.Fatalf("%s: the epoch is flagged %v", in.name, flags)
	}
	in.buckets, _ = number(within(place, "buckets"))
	in.rows, _ = number(within(place, "rows"))
	in.bits = 32
	if units, _ := within(place, "units").([]any); in.algorithm == "odd-sketch" && len(units) == 2 { // bits are in the second
		_, size, _ := strings.Cut(fmt.Sprint(units[1]), "+")
		in.buckets, _ = number(size)
	}
	c.count(in)
	tally.take(c.t, in, answer)
}

// take compares an answer with the exact value.
func (c *tally) take(t *testing.T, in *instance, answer any) {
	c.n++
	estimate, ok := number(within(answer, "estimate"))
	if !ok {
		t.Fatalf("%s: no estimate in %v", in.name, answer)
	}
	slack := 5e-5 + 1e-6*math.Abs(in.exact) // gNMI has four decimals
	if exact, ok := number(within(answer, "exact")); !ok {
		if in.metric != "similarity" && in.metric != "difference" {
			c.withoutOracle++
		}
	} else if math.Abs(exact-in.exact) > slack+oracleSlack(in) {
		c.disagree++
		t.Logf("%s %s: the oracle says %v, the test counted %v", in.name, in.query, exact, in.exact)
	} else if in.attribute != "max(size)" && strings.HasPrefix(in.attribute, "max") {
		in.exact = exact // to the nanosecond
	}
	confidence, some := number(within(answer, "confidence"))
	lower, _ := number(within(answer, "lower"))
	upper, above := number(within(answer, "upper"))
	ratio := math.Inf(1)
	switch {
	case fmt.Sprint(within(answer, "saturated")) == "true":
		c.flagged++
	case !some || confidence == 0 || !above:
		c.unbounded++
	default:
		c.chances = append(c.chances, 1-confidence)
		if in.exact < lower-slack || in.exact > upper+slack {
			c.missed++
			t.Logf("%s of %s: %v (%v to %v, %.3g), exactly %v", in.name, in.query, estimate, lower, upper, confidence, in.exact)
		}
		if in.width != nil {
			if ratio = 1; in.width(in) > 0 {
				ratio = (upper - lower) / in.width(in)
			}
		}
	}
	c.ratios = append(c.ratios, ratio)
}

// oracleSlack is how far the oracle may be from the test: intervals are between times at which
// copies enter the egress pipe, those of the test between times at which frames leave.
func oracleSlack(in *instance) float64 {
	switch in.attribute {
	case "max(interval)":
		return 4
	case "max(queue-length)", "max(queue-delay)": // the test does not model queues
		return math.Inf(1)
	}
	return 0
}

// count counts exactly what an instance measures.
func (c *calibration) count(in *instance) {
	values, last := map[string]float64{}, map[string]time.Duration{}
	elements := [2]map[string]map[string]bool{{}, {}}
	in.total = 0
	for _, p := range c.left {
		if p.packet.class != in.class {
			continue
		}
		if in.element != "" {
			key, e := valuesOf(p.packet.flowOf, in.key), valuesOf(p.packet.flowOf, in.element)
			for epoch := range 2 {
				if p.packet.epoch == epoch || in.epoch == 0 && epoch == 1 {
					set := elements[epoch][key]
					if set == nil {
						set = map[string]bool{}
						elements[epoch][key] = set
					}
					set[e] = true
				}
			}
		}
		if p.packet.epoch == 0 && in.epoch > 0 {
			continue
		}
		key := valuesOf(p.packet.flowOf, in.key)
		size := float64(p.packet.size + 4) // with FCS
		switch in.attribute {
		case "frequency":
			values[key]++
			in.total++
		case "frequency(bytes)":
			values[key] += size
			in.total += size
		case "max(size)":
			values[key] = max(values[key], size)
		case "max(interval)":
			if before, ok := last[key]; ok {
				values[key] = max(values[key], float64(p.at-before))
			}
			last[key] = p.at
		}
	}
	in.flows = float64(len(values))
	in.elements = float64(len(elements[1][""]))
	switch {
	case in.attribute == "similarity":
		both := 0.0
		for e := range elements[0][""] {
			if elements[1][""][e] {
				both++
			}
		}
		all := float64(len(elements[0][""])) + in.elements - both
		if in.exact = both / all; in.metric == "difference" {
			in.exact = all - both
		}
	case in.attribute == "existence" && in.metric == "":
		in.exact = 0
		if elements[1][""][in.query] {
			in.exact = 1
		}
	case in.metric != "" && in.element != "":
		in.exact = in.elements
	case in.metric == "maximum":
		in.exact = values[""]
	case in.metric != "":
		in.exact = in.flows
	case in.element != "":
		in.exact = float64(len(elements[1][in.query]))
	default:
		in.exact = values[in.query]
	}
}
