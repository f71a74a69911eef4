package lab

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tamtam/tam/flymon"
)

// A FlyMon is a study of measurement tasks on CMU groups, after the FlyMon paper
// (SIGCOMM 2022). It has no switches: tasks that the planner has compiled run on the
// groups alone, packet by packet, many memory sizes and seeds at once.
type FlyMon struct {
	// Study is what is looked at, one of the Study constants; "": this is no study.
	Study    string        `yaml:"study"`
	Seeds    int           `yaml:"seeds"` // how many; 0: 1
	Traffic  FlyMonTraffic `yaml:"traffic"`
	Key      string        `yaml:"key"` // of the tasks; "": 5-tuple, for victims dst-ip
	Geometry FlyMonChip    `yaml:"geometry"`
	Curves   []FlyMonCurve `yaml:"curves"`
	Memory   []Bytes       `yaml:"memory"` // that tasks ask for; the x axis
	// Threshold of heavy hitters in packets, of victims in sources.
	Threshold uint64 `yaml:"threshold"`
	Members   int    `yaml:"members"` // of the set: flows that are inserted; the others are not
	// Epochs, for the study of that name.
	Epochs int         `yaml:"epochs"`
	Spike  FlyMonSpike `yaml:"spike"`
	// Deployments of each algorithm, for the study of that name.
	Deployments int `yaml:"deployments"`
	// Usage of the switch program that groups are added to, in percent of each resource: an
	// input.
	Usage map[string]Thousandths `yaml:"usage"`
}

// Studies, and the figures of the paper that they are for.
const (
	StudyHeavy       = "heavy-hitters" // 14a, 14b
	StudyVictims     = "victims"       // 14c
	StudyCardinality = "cardinality"   // 14d
	StudyEntropy     = "entropy"       // 14e
	StudyInterval    = "interval"      // 14f
	StudyMembers     = "members"       // 14g
	StudyEpochs      = "epochs"        // 12b
	StudyTranslation = "translation"   // 11
	StudyProgram     = "program"       // 13a
	StudyStacking    = "stacking"      // 13b
	StudyKeys        = "keys"          // 13c
	StudyDeployment  = "deployment"    // table 3, in real time
)

func accuracyStudies() []string {
	return []string{StudyHeavy, StudyVictims, StudyCardinality, StudyEntropy, StudyInterval, StudyMembers}
}

func studies() []string {
	return append(accuracyStudies(), StudyEpochs, StudyTranslation, StudyProgram, StudyStacking, StudyKeys, StudyDeployment)
}

// A FlyMonChip is what the CMU groups have; 0: that of profile rmt12. A task that asks for less
// than the smallest partition gets a chip whose CMUs are shorter: its buckets are the same.
type FlyMonChip struct {
	Groups     int `yaml:"groups"`
	Width      int `yaml:"width"`
	Depth      int `yaml:"depth"`
	Partitions int `yaml:"partitions"`
}

// A FlyMonCurve is an algorithm at all memory sizes.
type FlyMonCurve struct {
	Name      string  `yaml:"name"`
	Algorithm string  `yaml:"algorithm"` // of flymon, or one of the baselines
	Rows      uint8   `yaml:"rows"`      // 0: as many as the algorithm has
	Share     uint8   `yaml:"share"`     // runs for 2^-n of the packets
	OneBit    bool    `yaml:"one_bit"`   // bloom: a bucket is one bit
	Memory    []Bytes `yaml:"memory"`    // none: that of the study
}

// Baselines in software, without CMUs.
const (
	OriginalBeauCoup = "original-beaucoup"
	UnivMon          = "univmon"
)

// A FlyMonSpike is the time of more flows in a study of epochs, and what is done to the tasks.
type FlyMonSpike struct {
	First   int        `yaml:"first"` // epochs
	Last    int        `yaml:"last"`
	Flows   int        `yaml:"flows"` // more
	Packets uint64     `yaml:"packets"`
	Other   FlyMonSpan `yaml:"other"`   // task B is added at the first of these epochs and removed at the second
	Enlarge FlyMonSpan `yaml:"enlarge"` // task A has more memory from the first on until the second
	To      Bytes      `yaml:"to"`      // how much
}

// A FlyMonSpan goes from one epoch to the one before another.
type FlyMonSpan struct {
	From int `yaml:"from"`
	To   int `yaml:"to"`
}

func (s FlyMonSpan) has(epoch int) bool { return epoch >= s.From && epoch < s.To }

// Bytes is a size of memory.
type Bytes uint64

func byteUnits() []struct {
	name string
	unit uint64
} {
	return []struct {
		name string
		unit uint64
	}{{"MiB", 1 << 20}, {"KiB", 1 << 10}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1}}
}

// Parse reads a size such as 96KiB.
func (b *Bytes) Parse(s string) error {
	for _, u := range byteUnits() {
		if digits, ok := strings.CutSuffix(s, u.name); ok {
			if n, err := strconv.ParseUint(digits, 10, 32); err == nil && n > 0 && n*u.unit <= 64<<20 {
				*b = Bytes(n * u.unit)
				return nil
			}
			break
		}
	}
	return fmt.Errorf("want a whole number with its unit (B, KB, MB, KiB, MiB), such as 96KiB, of at most 64MiB")
}

// String writes the size as Parse reads it.
func (b Bytes) String() string {
	for _, u := range byteUnits() {
		if b > 0 && uint64(b)%u.unit == 0 && (u.unit < 1<<10 || u.unit%1000 != 0 || uint64(b)/u.unit < 1000) {
			return strconv.FormatUint(uint64(b)/u.unit, 10) + u.name
		}
	}
	return "0B"
}

// geometry returns what the chip has.
func (f *FlyMon) geometry() flymon.Geometry {
	g := flymon.Geometry{Groups: 9, Spliced: 3, Units: 3, CMUs: 3, Width: 32, Depth: 65536, Partitions: 32, MapEntries: 256, Digests: 1024}
	c := &f.Geometry
	for _, v := range []struct {
		to   *int
		from int
	}{{&g.Groups, c.Groups}, {&g.Width, c.Width}, {&g.Depth, c.Depth}, {&g.Partitions, c.Partitions}} {
		if v.from > 0 {
			*v.to = v.from
		}
	}
	return g
}

func (f *FlyMon) seeds() int {
	if f.Traffic.Pcap != "" {
		return 1 // hash functions are the chip's: a capture has one outcome
	}
	return max(1, f.Seeds)
}

func (c *FlyMonCurve) baseline() bool {
	return c.Algorithm == OriginalBeauCoup || c.Algorithm == UnivMon
}

// memory is what a curve asks for.
func (f *FlyMon) memory(c *FlyMonCurve) []Bytes {
	if len(c.Memory) > 0 {
		return c.Memory
	}
	return f.Memory
}

const maxCurves, maxSizes, maxSeeds = 32, 64, 100

func (v *validator) flyMon() {
	f := &v.t.FlyMon
	if f.Study == "" {
		return
	}
	v.want(slices.Contains(studies(), f.Study), "flymon.study", f.Study, "one of %s", strings.Join(studies(), ", "))
	v.want(len(v.t.Switches)+len(v.t.Hosts)+len(v.t.Traffic) == 0, "flymon", f.Study, "no switches, hosts or traffic beside a study")
	v.want(f.Seeds >= 0 && f.Seeds <= maxSeeds, "flymon.seeds", f.Seeds, "1 to %d", maxSeeds)
	v.want(f.Epochs >= 0 && f.Epochs <= 1000, "flymon.epochs", f.Epochs, "at most 1000")
	v.want(f.Deployments >= 0 && f.Deployments <= 10_000, "flymon.deployments", f.Deployments, "1 to 10000")
	v.want(f.Members >= 0, "flymon.members", f.Members, "0 or more")
	g := f.geometry()
	v.want(g.Groups <= flymon.MaxGroups-g.Spliced, "flymon.geometry.groups", g.Groups, "1 to %d", flymon.MaxGroups-g.Spliced)
	v.want(g.Width >= 8 && g.Width <= 32, "flymon.geometry.width", g.Width, "8 to 32")
	v.want(g.Depth >= 32 && g.Depth <= 1<<20 && g.Depth&(g.Depth-1) == 0, "flymon.geometry.depth", g.Depth, "a power of two, 32 to %d", 1<<20)
	v.want(g.Partitions <= g.Depth && g.Partitions&(g.Partitions-1) == 0, "flymon.geometry.partitions", g.Partitions, "a power of two, at most depth")
	if f.Key != "" {
		k, err := flymon.ParseKey(f.Key)
		v.want(err == nil && !k.IsZero(), "flymon.key", f.Key, "%s, but not none", flymon.KeyWords)
	}
	accuracy := slices.Contains(accuracyStudies(), f.Study)
	if accuracy || f.Study == StudyEpochs {
		v.flyTraffic("flymon.traffic", &f.Traffic)
		v.want(len(f.Curves) >= 1 && len(f.Curves) <= maxCurves, "flymon.curves", len(f.Curves), "1 to %d curves", maxCurves)
	}
	original := slices.ContainsFunc(f.Curves, func(c FlyMonCurve) bool { return c.Algorithm == OriginalBeauCoup })
	if f.Study == StudyHeavy || f.Study == StudyVictims || original {
		v.want(f.Threshold > 1 && f.Threshold < 1<<24, "flymon.threshold", f.Threshold, "2 to %d", 1<<24-1)
	}
	if f.Study == StudyEpochs {
		v.flySpike(f)
	}
	seen := map[string]bool{}
	for i := range f.Curves {
		c := &f.Curves[i]
		p := item("flymon.curves", c.Name, i)
		v.name(p, c.Name, seen)
		v.want(c.baseline() || slices.Contains(flymon.Algorithms(), flymon.Algorithm(c.Algorithm)), p+".algorithm", c.Algorithm, "%s, %s or one of %v", OriginalBeauCoup, UnivMon, flymon.Algorithms())
		v.want(c.Rows <= flymon.MaxRows, p+".rows", c.Rows, "0 to %d", flymon.MaxRows)
		v.want(c.Share <= flymon.MaxShare, p+".share", c.Share, "0 to %d", flymon.MaxShare)
		n := len(f.memory(c))
		v.want(!accuracy || n >= 1 && n <= maxSizes, p+".memory", n, "1 to %d sizes, or memory of the study", maxSizes)
	}
}

func (v *validator) flySpike(f *FlyMon) {
	s := &f.Spike
	v.want(f.Epochs >= 1, "flymon.epochs", f.Epochs, "1 to 1000")
	v.want(s.First >= 0 && s.Last >= s.First, "flymon.spike.last", s.Last, "at least first, %d", s.First)
	v.want(s.Flows >= 0 && s.Flows <= 1_000_000, "flymon.spike.flows", s.Flows, "0 to 1000000")
	v.want(s.Packets >= uint64(max(0, s.Flows)) && s.Packets <= 100_000_000, "flymon.spike.packets", s.Packets, "one for each of %d flows, 100000000 at most", s.Flows)
	v.want(s.To > 0, "flymon.spike.to", s.To, "a size such as 96KiB")
	v.want(len(f.Memory) == 1, "flymon.memory", len(f.Memory), "one size")
}
