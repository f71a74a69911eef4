package profile

import (
	"fmt"
	"math/bits"

	"tamtam/tam/flymon"
)

// maxSpliced is the number of groups that fit at the ends of the pipe (Appendix E).
const maxSpliced = 3

// Geometry returns the number and size of the chip's CMU groups.
func (f FlyMonCapacity) Geometry() flymon.Geometry {
	return flymon.Geometry{
		Groups: int(f.Groups), Spliced: int(f.Spliced), Units: int(f.Units), CMUs: int(f.CMUs),
		Width: int(f.Width), Depth: int(f.Depth), Partitions: int(f.Partitions),
		MapEntries: int(f.MapEntries), Digests: int(f.Digests),
	}
}

// fields returns the lines of the section "flymon" of a profile file.
func (f *FlyMonCapacity) fields() []field {
	num := func(name string, at *uint32, max uint64) field {
		return field{name: name, u32: at, max: max}
	}
	return []field{
		num("groups", &f.Groups, flymon.MaxGroups-maxSpliced), num("spliced", &f.Spliced, maxSpliced),
		num("units", &f.Units, flymon.MaxUnits), num("cmus", &f.CMUs, flymon.MaxCMUs),
		num("width", &f.Width, 32), num("depth", &f.Depth, 1<<20), num("partitions", &f.Partitions, 1<<10),
		num("map_entries", &f.MapEntries, 4096), num("digests", &f.Digests, 1<<16),
		num("recirculation_mbps", &f.RecirculationMbps, maxMbps),
	}
}

// check reports contradictions in a chip with CMU groups.
func (f *FlyMonCapacity) check(bad func(ok bool, field string, value any, want string)) {
	because := func(field string, have, need uint32, lack string) {
		bad(have == 0 || need > 0, "flymon."+lack, need, fmt.Sprintf("at least 1, because flymon.%s is %d", field, have))
	}
	power := func(n uint32) bool { return bits.OnesCount32(n) == 1 }
	bad(f.Groups > 0, "flymon.groups", f.Groups, "at least 1, or all of flymon 0")
	because("groups", f.Groups, f.Units, "units")
	because("groups", f.Groups, f.CMUs, "cmus")
	bad(f.Width >= 8, "flymon.width", f.Width, "8 to 32")
	bad(power(f.Depth) && f.Depth >= 32, "flymon.depth", f.Depth, "a power of two, at least 32")
	bad(power(f.Partitions) && f.Partitions <= f.Depth/2, "flymon.partitions", f.Partitions,
		fmt.Sprintf("a power of two, at most half of flymon.depth, %d", f.Depth))
	because("spliced", f.Spliced, f.RecirculationMbps, "recirculation_mbps")
}
