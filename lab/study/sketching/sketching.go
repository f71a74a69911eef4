// Package sketching is the study of measurement tasks on CMU groups, after the FlyMon paper (SIGCOMM 2022). It measures
// how accurate tasks are for their memory, compared with theory and with software algorithms. It also measures the
// resources of tasks, and how soon they count.
package sketching

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tamtam/lab"
	"tamtam/tam/flymon"
)

// A Study is the field flymon of a topology's file.
type Study struct {
	FlyMon Settings `yaml:"flymon"`
}

// Name returns the name of the field.
func (s *Study) Name() string { return "flymon" }

// Asked reports whether the file has the study.
func (s *Study) Asked() bool { return s.FlyMon.Study != "" }

// Judged returns true, since the checks of a file always apply.
func (s *Study) Judged() bool { return true }

// Settings configure a study of measurement tasks on CMU groups, after the FlyMon paper (SIGCOMM 2022). It has no
// switches. Tasks that the planner has compiled run on separate groups, packet by packet, for many memory sizes and
// seeds in parallel.
type Settings struct {
	// Study is one of the constants below. Empty means that there is no study.
	Study    string  `yaml:"study"`
	Seeds    int     `yaml:"seeds"` // number of seeds; zero means 1
	Traffic  Traffic `yaml:"traffic"`
	Key      string  `yaml:"key"` // key of the tasks; empty means 5-tuple, or dst-ip for victims
	Geometry Chip    `yaml:"geometry"`
	Curves   []Curve `yaml:"curves"`
	Memory   []Bytes `yaml:"memory"` // requested by tasks; the x axis
	// Threshold of heavy hitters and changes in packets, or of victims in sources.
	Threshold uint64 `yaml:"threshold"`
	Members   int    `yaml:"members"` // number of flows that are inserted into the set; the others are not
	// Epochs is the number of epochs, for the study of that name.
	Epochs int   `yaml:"epochs"`
	Spike  Spike `yaml:"spike"`
	// Deployments is the number of deployments of each algorithm, for the study of that name.
	Deployments int `yaml:"deployments"`
	// Usage is an input: the usage of the switch program that groups are added to, in percent of each resource.
	Usage map[string]lab.Thousandths `yaml:"usage"`
}

// Studies, and the figures of the paper that they reproduce.
const (
	Heavy       = "heavy-hitters" // 14a, 14b
	Changers    = "heavy-changers"
	Victims     = "victims"     // 14c
	Cardinality = "cardinality" // 14d
	Entropy     = "entropy"     // 14e
	Interval    = "interval"    // 14f
	Members     = "members"     // 14g
	Epochs      = "epochs"      // 12b
	Translation = "translation" // 11
	Program     = "program"     // 13a
	Stacking    = "stacking"    // 13b
	Keys        = "keys"        // 13c
	Deployment  = "deployment"  // table 3, in real time
)

func accuracyStudies() []string {
	return []string{Heavy, Changers, Victims, Cardinality, Entropy, Interval, Members}
}

func studies() []string {
	return append(accuracyStudies(), Epochs, Translation, Program, Stacking, Keys, Deployment)
}

// A Chip is the geometry of the CMU groups. Zero fields have the values of profile rmt12. A task that requests less
// than the smallest partition gets a chip with shorter CMUs. Its buckets are the same.
type Chip struct {
	Groups     int `yaml:"groups"`
	Width      int `yaml:"width"`
	Depth      int `yaml:"depth"`
	Partitions int `yaml:"partitions"`
}

// A Curve is an algorithm at all memory sizes.
type Curve struct {
	Name      string  `yaml:"name"`
	Algorithm string  `yaml:"algorithm"` // algorithm of flymon, or one of the baselines
	Rows      uint8   `yaml:"rows"`      // zero means the default of the algorithm
	Share     uint8   `yaml:"share"`     // the task samples 2^-n of the packets
	OneBit    bool    `yaml:"one_bit"`   // for bloom: true if a bucket is one bit
	Memory    []Bytes `yaml:"memory"`    // empty means that of the study
}

// Baselines in software, without CMUs.
const (
	OriginalBeauCoup = "original-beaucoup"
	UnivMon          = "univmon"
)

// A Spike is a period with more flows in a study of epochs, and the changes to the tasks.
type Spike struct {
	First   int    `yaml:"first"` // epochs
	Last    int    `yaml:"last"`
	Flows   int    `yaml:"flows"` // additional flows
	Packets uint64 `yaml:"packets"`
	Other   Span   `yaml:"other"`   // task B is added at the first of these epochs and removed at the second
	Enlarge Span   `yaml:"enlarge"` // task A has more memory from the first until the second
	To      Bytes  `yaml:"to"`      // the larger memory
}

// A Span is a range of epochs, from one epoch to the epoch before another.
type Span struct {
	From int `yaml:"from"`
	To   int `yaml:"to"`
}

func (s Span) has(epoch int) bool { return epoch >= s.From && epoch < s.To }

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

// String formats the size as Parse reads it.
func (b Bytes) String() string {
	for _, u := range byteUnits() {
		if b > 0 && uint64(b)%u.unit == 0 && (u.unit < 1<<10 || u.unit%1000 != 0 || uint64(b)/u.unit < 1000) {
			return strconv.FormatUint(uint64(b)/u.unit, 10) + u.name
		}
	}
	return "0B"
}

// geometry returns the geometry of the chip.
func (f *Settings) geometry() flymon.Geometry {
	g := flymon.Geometry{Groups: 9, Spliced: 3, Units: 3, CMUs: 3, Width: 32, Depth: 65536, Partitions: 32,
		MapEntries: 256, Digests: 1024}
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

func (f *Settings) seeds() int {
	if f.Traffic.Pcap != "" {
		return 1 // hash functions are the chip's, so a capture has one outcome
	}
	return max(1, f.Seeds)
}

// half returns when the second epoch of a study of changes begins, in ns of the time of day: in the middle of the
// traffic. It returns 0 for other studies.
func (f *Settings) half() uint64 {
	if f.Study != Changers {
		return 0
	}
	return uint64(lab.Epoch().UnixNano()) + uint64(f.Traffic.Time/lab.Nanosecond/2)
}

func (c *Curve) baseline() bool {
	return c.Algorithm == OriginalBeauCoup || c.Algorithm == UnivMon
}

// memory returns the sizes that a curve requests.
func (f *Settings) memory(c *Curve) []Bytes {
	if len(c.Memory) > 0 {
		return c.Memory
	}
	return f.Memory
}

const maxCurves, maxSizes, maxSeeds = 32, 64, 100

// Validate records the errors of the settings.
func (s *Study) Validate(v *lab.Validator) {
	f := &s.FlyMon
	if f.Study == "" {
		return
	}
	v.Want(slices.Contains(studies(), f.Study), "flymon.study", f.Study, "one of %s", strings.Join(studies(), ", "))
	v.Want(f.Seeds >= 0 && f.Seeds <= maxSeeds, "flymon.seeds", f.Seeds, "1 to %d", maxSeeds)
	v.Want(f.Epochs >= 0 && f.Epochs <= 1000, "flymon.epochs", f.Epochs, "at most 1000")
	v.Want(f.Deployments >= 0 && f.Deployments <= 10_000, "flymon.deployments", f.Deployments, "1 to 10000")
	v.Want(f.Members >= 0, "flymon.members", f.Members, "0 or more")
	f.validateGeometry(v)
	if f.Key != "" {
		k, err := flymon.ParseKey(f.Key)
		v.Want(err == nil && !k.IsZero(), "flymon.key", f.Key, "%s, but not none", flymon.KeyWords)
	}
	accuracy := slices.Contains(accuracyStudies(), f.Study)
	if accuracy || f.Study == Epochs {
		f.Traffic.validate(v, "flymon.traffic")
		v.Want(len(f.Curves) >= 1 && len(f.Curves) <= maxCurves, "flymon.curves", len(f.Curves), "1 to %d curves", maxCurves)
	}
	f.validateThreshold(v)
	if f.Study == Epochs {
		f.validateSpike(v)
	}
	f.validateCurves(v, accuracy)
}

func (f *Settings) validateThreshold(v *lab.Validator) {
	original := slices.ContainsFunc(f.Curves, func(c Curve) bool { return c.Algorithm == OriginalBeauCoup })
	if f.Study == Heavy || f.Study == Changers || f.Study == Victims || original {
		v.Want(f.Threshold > 1 && f.Threshold < 1<<24, "flymon.threshold", f.Threshold, "2 to %d", 1<<24-1)
	}
	if f.Study == Changers {
		v.Want(f.Traffic.Pcap == "", "flymon.traffic.pcap", f.Traffic.Pcap,
			"generated traffic, of which each half is an epoch")
	}
}

func (f *Settings) validateGeometry(v *lab.Validator) {
	g := f.geometry()
	v.Want(g.Groups <= flymon.MaxGroups-g.Spliced, "flymon.geometry.groups", g.Groups, "1 to %d",
		flymon.MaxGroups-g.Spliced)
	v.Want(g.Width >= 8 && g.Width <= 32, "flymon.geometry.width", g.Width, "8 to 32")
	power := g.Depth >= 32 && g.Depth <= 1<<20 && g.Depth&(g.Depth-1) == 0
	v.Want(power, "flymon.geometry.depth", g.Depth, "a power of two, 32 to %d", 1<<20)
	v.Want(g.Partitions <= g.Depth && g.Partitions&(g.Partitions-1) == 0, "flymon.geometry.partitions", g.Partitions,
		"a power of two, at most depth")
}

func (f *Settings) validateCurves(v *lab.Validator, accuracy bool) {
	seen := map[string]bool{}
	for i := range f.Curves {
		c := &f.Curves[i]
		p := lab.Item("flymon.curves", c.Name, i)
		v.Name(p, c.Name, seen)
		known := c.baseline() || slices.Contains(flymon.Algorithms(), flymon.Algorithm(c.Algorithm))
		v.Want(known, p+".algorithm", c.Algorithm, "%s, %s or one of %v", OriginalBeauCoup, UnivMon, flymon.Algorithms())
		v.Want(f.Study != Changers || !c.baseline(), p+".algorithm", c.Algorithm, "one that counts flows: %v",
			flymon.AlgorithmsOf(flymon.Attribute{Kind: flymon.Packets}, false))
		v.Want(c.Rows <= flymon.MaxRows, p+".rows", c.Rows, "0 to %d", flymon.MaxRows)
		v.Want(c.Share <= flymon.MaxShare, p+".share", c.Share, "0 to %d", flymon.MaxShare)
		n := len(f.memory(c))
		v.Want(!accuracy || n >= 1 && n <= maxSizes, p+".memory", n, "1 to %d sizes, or memory of the study", maxSizes)
	}
}

func (f *Settings) validateSpike(v *lab.Validator) {
	s := &f.Spike
	v.Want(f.Epochs >= 1, "flymon.epochs", f.Epochs, "1 to 1000")
	v.Want(s.First >= 0 && s.Last >= s.First, "flymon.spike.last", s.Last, "at least first, %d", s.First)
	v.Want(s.Flows >= 0 && s.Flows <= 1_000_000, "flymon.spike.flows", s.Flows, "0 to 1000000")
	v.Want(s.Packets >= uint64(max(0, s.Flows)) && s.Packets <= 100_000_000, "flymon.spike.packets", s.Packets,
		"one for each of %d flows, 100000000 at most", s.Flows)
	v.Want(s.To > 0, "flymon.spike.to", s.To, "a size such as 96KiB")
	v.Want(len(f.Memory) == 1, "flymon.memory", len(f.Memory), "one size")
}
