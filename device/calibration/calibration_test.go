package calibration

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/internal/racetest"
	"tamtam/internal/randtest"
	"tamtam/mgmt"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/tam/flymon"
)

// A measure is a kind of calibrated answer: for a flow, or a metric of all packets.
type measure struct {
	name, attribute, algorithm string
	keys                       []string // possible keys of flows, of which one is drawn
	of                         []string // possible keys of elements, of which one is drawn
	metric                     string   // "" means the answer to a query
	absent                     float64  // share of the queries for flows without packets
	memory                     [2]int   // minimum and maximum memory
	// width returns the distance between the bounds that theory predicts; nil means that there is no theory.
	width func(in *instance) float64

	share, live bool
	changes     uint64   // the threshold of heavy changers; 0 means that none are searched
	flags       []string // flags that the epoch may have, since the answer reports them
	silent      bool     // true if the answer never claims a bound
	rarely      bool     // true if the answer usually claims no bound
}

var anyKey = []string{"src-ip", "dst-ip", "ip-pair", "5-tuple", "src-ip,dst-port"}

// measures returns the measures, with theory's widths. The widths are derived here from the test's counts and the
// number of counters or bits of the task. They share no code with the answers.
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
		{name: "cms bytes", attribute: "frequency(bytes)", algorithm: "cms", keys: anyKey, absent: 0.1, memory: counters,
			width: countMin},
		{name: "sumax-sum", attribute: "frequency", algorithm: "sumax-sum", keys: anyKey, absent: 0.1, memory: counters,
			width: countMin},
		{name: "tower", attribute: "frequency", algorithm: "tower", keys: anyKey, absent: 0.1, memory: counters,
			width: countMin},
		{name: "mrac", attribute: "frequency", algorithm: "mrac", keys: anyKey, absent: 0.1, memory: [2]int{64, 512},
			width: countMin},
		{name: "mrac flows", attribute: "frequency", algorithm: "mrac", keys: anyKey, metric: "cardinality",
			memory: [2]int{64, 512},
			width:  func(in *instance) float64 { return linear(in.flows, in.buckets) }},
		{name: "hll", attribute: "distinct", algorithm: "hll", of: anyKey, metric: "cardinality", memory: [2]int{64, 512},
			// Flajolet et al.: 1.04/sqrt(m).
			width: func(in *instance) float64 { return 4 * 1.04 / math.Sqrt(in.buckets) * in.elements }},
		{name: "linear-counting", attribute: "distinct", algorithm: "linear-counting", of: anyKey, metric: "cardinality",
			memory: [2]int{64, 128},
			width:  func(in *instance) float64 { return linear(in.elements, in.buckets*in.bits) }},
		{name: "beaucoup", attribute: "distinct", algorithm: "beaucoup", keys: []string{"src-ip", "dst-ip"},
			of: []string{"dst-port", "5-tuple", "src-port"}, absent: 0.05, memory: counters},
		{name: "beaucoup all", attribute: "distinct", algorithm: "beaucoup", of: anyKey, metric: "cardinality",
			memory: [2]int{192, 192}},
		{name: "bloom", attribute: "existence", algorithm: "bloom", of: anyKey, absent: 0.5, memory: [2]int{192, 192}},
		{name: "bloom members", attribute: "existence", algorithm: "bloom", of: anyKey, metric: "members",
			memory: [2]int{192, 192},
			width:  func(in *instance) float64 { return linear(in.elements, in.buckets*in.bits/in.rows) }},
		{name: "odd-sketch", attribute: "similarity", algorithm: "odd-sketch", of: anyKey, metric: "similarity",
			memory: [2]int{320, 640}},
		{name: "odd-sketch difference", attribute: "similarity", algorithm: "odd-sketch", of: anyKey, metric: "difference",
			memory: [2]int{320, 640},
			// Mitzenmacher et al.: the standard error of d elements in n bits.
			width: func(in *instance) float64 {
				n := in.buckets * in.bits
				return 4 * math.Sqrt(n*(math.Exp(4*in.exact/n)-1)/4-in.exact)
			}},
		{name: "max-size", attribute: "max(size)", algorithm: "sumax-max", keys: anyKey, absent: 0.05, memory: counters},
		{name: "maximum", attribute: "max(size)", algorithm: "sumax-max", metric: "maximum", memory: counters,
			width: func(*instance) float64 { return 1 }}, // exact
		{name: "max-queue", attribute: "max(queue-length)", algorithm: "sumax-max", keys: anyKey, absent: 0.05,
			memory: counters},
		{name: "max-delay", attribute: "max(queue-delay)", algorithm: "sumax-max", keys: anyKey, absent: 0.05,
			memory: counters},
		{name: "max-interval", attribute: "max(interval)", algorithm: "max-interval", keys: anyKey, absent: 0.05,
			memory: [2]int{576, 4608}},
	}
}

// An instance is one measure in one case.
type instance struct {
	measure
	task, query, key, element string
	class                     int
	epoch                     time.Duration    // 0 means no epochs
	window                    [2]time.Duration // start and end of a live answer's window, since 1970
	seen                      float64          // the task sees one in this many packets

	buckets, rows, bits    float64 // numbers of buckets and rows, and bits of a bucket
	total, flows, elements float64 // numbers of packets or bytes, flows and elements in the epoch
	packets                float64
	second                 float64 // counters of the second layer of braids
	exact                  float64
}

// A tally sums up the results of all instances of a measure.
type tally struct {
	name                    string
	n, unbounded, flagged   int
	silent, rarely          bool
	missed                  int
	chances                 []float64 // claimed probabilities of a miss
	ratios                  []float64 // widths relative to theory's
	theory                  bool
	disagree, withoutOracle int
}

// Each kind of answer is as certain as it claims. Random tasks are configured in CONFIG_DB, and random traffic passes
// through the chip. Answers read over gNMI are compared with the test's own counts of the frames that left. An instance
// has one value, drawn by its seed.
func TestFlyMonCalibration(t *testing.T) {
	racetest.Stepped(t)
	t.Parallel()
	tallies, fixed := talliesOf(measures()), randtest.Cases{Seed: 1, Count: 4}
	ran := randtest.Run(t, fixed, func(t *testing.T, seed uint64) { newCalibration(t, seed, measures()).run(tallies) })
	judge(t, tallies, ran.Whole(fixed))
}

// The same holds for partial answers: see partialMeasures.
func TestFlyMonCalibrationPartial(t *testing.T) {
	racetest.Stepped(t)
	t.Parallel()
	tallies, fixed := talliesOf(partialMeasures()), randtest.Cases{Seed: 1, Count: 2}
	ran := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		newCalibration(t, seed, partialMeasures()).run(tallies)
	})
	judge(t, tallies, ran.Whole(fixed))
}

func talliesOf(list []measure) (tallies []*tally) {
	for _, m := range list {
		tallies = append(tallies, &tally{name: m.name, theory: m.width != nil, silent: m.silent, rarely: m.rarely})
	}
	return tallies
}

func judge(t *testing.T, tallies []*tally, whole bool) {
	t.Logf("%-22s %9s %7s %7s %6s %9s %9s %9s", "measure", "instances", "no bound", "flagged", "missed", "claimed",
		"found", "width")
	for _, c := range tallies {
		c.judge(t, whole)
	}
	t.Logf("a false alarm of any of %d measures has a probability of at most %.1g", len(tallies),
		float64(len(tallies))*falseAlarm)
}

// falseAlarm is a limit of probability. The test fails if a measure's number of misses is less probable than this, if
// all claims were right. The number of misses has the distribution of independent events with different probabilities,
// which Tail sums up exactly.
const falseAlarm = 1e-6

// judge compares claims with results.
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
	t.Logf("%-22s %9d %7d %7d %6d %8.1f%% %8.1f%% %9s", c.name, c.n, c.unbounded, c.flagged, c.missed, 100*sure/bounded,
		100*(1-float64(c.missed)/bounded), width)
	if p := randtest.Tail(c.chances, c.missed); p < falseAlarm {
		t.Errorf("%s: %d of %d are outside their bounds, which has a chance of %.2g", c.name, c.missed, len(c.chances), p)
	}
	if c.disagree > 0 {
		t.Errorf("%s: the chip's oracle disagrees with the test %d times", c.name, c.disagree)
	}
	if c.withoutOracle > 0 {
		t.Errorf("%s: %d answers have no exact value beside them", c.name, c.withoutOracle)
	}
	if c.silent {
		if len(c.chances) > 0 {
			t.Errorf("%s: %d of %d have bounds, for which there is no ground", c.name, len(c.chances), c.n)
		}
		return
	}
	if whole && (median > 2 || !c.rarely && 2*len(c.chances) < c.n || len(c.chances) == 0) {
		t.Errorf("%s: bounds say little: median width %.2f of theory's; %d of %d have some", c.name, median, len(c.chances),
			c.n)
	}
}

func medianOf(v []float64) float64 {
	if len(v) == 0 {
		return math.Inf(1)
	}
	slices.Sort(v)
	return v[len(v)/2]
}

// A calibration is one case: a switch with one task for each measure and its traffic.
type calibration struct {
	t         *testing.T
	r         *rand.Rand
	epoch     time.Duration
	dimension string
	instances []*instance
	traffic   *mixture
	sim       *device.Sim
	left      []passed
}

// passed is a packet that left the chip.
type passed struct {
	packet *packetOf
	at     time.Duration // time since 1970
}

func newCalibration(t *testing.T, seed uint64, list []measure) *calibration {
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
	for i, m := range list {
		in := &instance{measure: m, task: fmt.Sprintf("t%02d", i), class: i % classes, key: pick(m.keys), element: pick(m.of),
			epoch: c.epoch, seen: 1}
		switch {
		case m.live: // in the middle of the traffic's epoch
			in.epoch = max(c.epoch/4, time.Duration(flymon.MinEpoch)).Truncate(time.Millisecond)
		case r.IntN(8) == 0 && m.attribute != "similarity":
			in.epoch = 0
		}
		if m.share {
			in.seen = float64(int(2) << r.IntN(flymon.MaxShare))
		}
		c.instances = append(c.instances, in)
	}
	return c
}

// config returns the configuration of a switch that forwards from two ports to one.
func (c *calibration) config() device.ConfigDB {
	config, err := device.ParseConfigDB([]byte(sketchConfig))
	if err != nil {
		c.t.Fatal(err)
	}
	config["PORT"]["Ethernet2"] = swss.FieldValues{"lanes": "2", "speed": "10000", "admin_status": "up"}
	config["VLAN_MEMBER"]["Vlan10|Ethernet2"] = swss.FieldValues{"tagging_mode": "untagged"}
	config["TAM_FLYMON_TASK_TABLE"], config["TAM_FLYMON_QUERY_TABLE"] = map[string]swss.FieldValues{},
		map[string]swss.FieldValues{}
	for _, in := range c.instances {
		memory := in.memory[0] << c.r.IntN(bitsOf(in.memory[1]/in.memory[0]))
		row := swss.FieldValues{
			"key": in.key, "attribute": in.attribute, "algorithm": in.algorithm, "memory": strconv.Itoa(memory),
			"epoch": strconv.Itoa(int(in.epoch / time.Millisecond)), "filter": c.filter(in.class),
		}
		if in.live {
			row["readout"] = "live"
		}
		if in.changes > 0 {
			row["change-threshold"] = strconv.FormatUint(in.changes, 10)
		}
		if in.share {
			row["share"] = fmt.Sprintf("1/%.0f", in.seen)
		}
		if c.r.IntN(4) == 0 && in.algorithm != "odd-sketch" && in.algorithm != "counter-braids" {
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

// draw draws the flow of a query before anything is counted. The flow has no packets, or is drawn among the flows with
// packets, uniformly or by packet.
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

// run runs a case.
func (c *calibration) run(tallies []*tally) {
	early, late, first := c.play(8 << (len(c.traffic.packets) % 4))
	for i, in := range c.instances {
		from := late
		if in.live {
			from = early
		}
		c.check(in, tallies[i], from.tasks[in.task], from.queries[in.task], first+1)
	}
}

// play sends the traffic through a chip that keeps a number of digests. It returns the switch's answers in the middle
// of the second epoch and after it, and the number of the first epoch.
func (c *calibration) play(digests int) (early, late state, first uint64) {
	t := c.t
	profile := profile.Small()
	profile.EgressStages = max(profile.EgressStages, 20)
	profile.FlyMon.Groups, profile.FlyMon.Spliced, profile.FlyMon.Width = 14, 0, c.width()
	profile.FlyMon.Depth, profile.FlyMon.Partitions, profile.FlyMon.MapEntries, profile.FlyMon.Digests = 8192, 128, 256,
		uint32(digests)
	start := time.Unix(100, 0).Truncate(c.epoch).Add(c.epoch / 4)
	c.sim = devicetest.NewSim(t, device.SimConfig{Config: c.config(), Start: start, Oracle: 1 << 16, Profile: profile})
	devicetest.RunUntilIdle(t, c.sim)
	first = uint64(start.UnixNano())/uint64(c.epoch) + 1
	zero := time.Duration(first) * c.epoch
	c.send(zero)
	devicetest.NoError(t, c.sim.Advance(t.Context(), c.at(zero+c.epoch+c.epoch/2)))
	early = c.read()
	devicetest.NoError(t, c.sim.Advance(t.Context(), c.at(zero+2*c.epoch+c.epoch/2)))
	devicetest.NoError(t, c.sim.Poll(t.Context()))
	if len(c.left) != len(c.traffic.packets) {
		t.Fatalf("%d of %d packets left the chip", len(c.left), len(c.traffic.packets))
	}
	return early, c.read(), first
}

// A state holds the switch's answers at one time, for each task and each query.
type state struct{ tasks, queries map[string]map[string]any }

// read reads the switch's current answers.
func (c *calibration) read() state {
	dir := c.t.TempDir()
	server, err := mgmt.NewServer(mgmt.Config{Redis: c.sim.Redis, Socket: filepath.Join(dir, "m"), Dir: dir})
	if err != nil {
		c.t.Fatal(err)
	}
	defer server.Close()
	return state{list(c.t, server, "flymon-task", "flymon-tasks"), list(c.t, server, "flymon-query", "flymon-queries")}
}

// width returns the number of bits of the chip's buckets. In one case of five, it is half the usual number.
func (c *calibration) width() uint32 {
	if len(c.traffic.packets)%5 == 0 {
		return 16
	}
	return 32
}

// at returns the cycle of a time since 1970.
func (c *calibration) at(since time.Duration) saisim.Cycle {
	return c.sim.Chip.CycleAt(time.Unix(0, 0).Add(since).Sub(c.sim.Chip.TrueTime(0)))
}

// send sends the packets, and records when they leave.
func (c *calibration) send(zero time.Duration) {

	c.sim.Chip.SetOutput(func(o *saisim.Out) {
		n := uint64(o.Data[len(o.Data)-4])<<24 | uint64(o.Data[len(o.Data)-3])<<16 | uint64(
			o.Data[len(o.Data)-2])<<8 | uint64(o.Data[len(o.Data)-1])
		if o.Port != 1 || n >= uint64(len(c.traffic.packets)) {
			return
		}
		c.left = append(c.left, passed{c.traffic.packets[n], c.sim.Chip.TrueTime(o.At).Sub(time.Unix(0, 0))})
	})

	for i, p := range c.traffic.packets {
		at := c.at(zero + time.Duration(p.epoch)*c.epoch + p.at)
		devicetest.NoError(c.t, c.sim.Chip.Receive(saisim.PortID(2*p.port), at, saisim.Frame{Data: p.frame(uint32(i))}))
	}
}
