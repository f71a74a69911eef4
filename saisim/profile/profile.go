// Package profile defines the size and speed of chips. Profiles are files, some of which are built into the simulator.
package profile

import (
	"errors"
	"fmt"

	"tamtam/saisim/pipe"
)

// A Profile gives the size and speed of a kind of chip. All numbers are exact: a chip refuses everything beyond the
// capacity of its profile. Profiles are files. See [Load].
type Profile struct {
	Name    string
	About   string // one line for lists
	ClockHz uint64 // 1 .. 8*10^9

	Ports
	Pipeline

	// Stage holds the resources for programs in each stage of a pipe. PHVBits is the width of the packet header vector
	// in bits.
	Stage   StageResources
	PHVBits uint32

	// Buffer is the memory shared by all queues; Queues is their number per port.
	Buffer Buffer
	Queues uint32 // 1 .. 16

	ACL ACL
	// AltMark is the capacity for alternate marking.
	AltMark AltMarkCapacity
	// FlyMon is the capacity for sketches.
	FlyMon FlyMonCapacity
	// TableRecord is the capacity for table recording.
	TableRecord TableRecordCapacity

	// Numbers of objects.
	Bridging
	Routing
	QoS
	TAMInts, MirrorSessions uint32
	MSSClamps               uint32 // for tail-stamping; zero if the chip cannot clamp the MSS
}

// Ports describes SerDes lanes and the ports made of them. A port uses one or more complete lanes. Its speed is at most
// their number times LaneMbps. Lanes are numbered from FirstLane.
type Ports struct {
	FirstLane, Lanes uint32
	LaneMbps         uint32
	SpeedsMbps       []uint32
	Default          []DefaultPorts // ports that are created with the switch object
	MTU              uint32         // largest frame to which a port can be set, with headers and FCS
}

// Pipeline is the path of a packet, in cycles.
type Pipeline struct {
	Parser, Deparser            uint32
	IngressStages, EgressStages uint32
	StageCycles                 uint32
	TrafficManager              uint32
}

// Bridging is the capacity for layer 2.
type Bridging struct {
	FDB                     uint32 // number of entries
	VLANs, LAGs, LAGMembers uint32
}

// Routing is the capacity for layer 3.
type Routing struct {
	VirtualRouters              uint32 // the default one included; at least 1
	RouterInterfaces, Neighbors uint32
	NextHops, NextHopGroups     uint32
	NextHopMembers              uint32 // in all groups together
	IPv4Routes, IPv6Routes      uint32
}

// QoS is the capacity for the settings of queues.
type QoS struct {
	Schedulers, WREDs, QoSMaps  uint32
	BufferPools, BufferProfiles uint32
}

// StageResources holds the resources of one match-action stage for programs.
type StageResources struct {
	HashUnits    uint32 // hash distribution units, of HashBits output bits each
	HashBits     uint32
	StatefulALUs uint32 // one read-modify-write per packet each
	SRAMBlocks   uint32 // blocks of SRAMBits bits each
	SRAMBits     uint32
	TCAMBlocks   uint32 // blocks of TCAMEntries entries, TCAMBits wide
	TCAMEntries  uint32
	TCAMBits     uint32
	VLIWSlots    uint32 // operations in all actions of the stage together
	Tables       uint32 // logical tables
}

// Buffer is the packet memory. A packet occupies complete cells.
type Buffer struct{ CellBytes, Cells uint32 }

// DefaultPorts describes Count ports of Lanes lanes each, in sequence from the lane First on, at one speed.
type DefaultPorts struct{ First, Count, Lanes, Mbps uint32 }

// ACL gives the size of the ACL stage. Numbers are per stage (ingress or egress) unless noted otherwise.
type ACL struct {
	Tables, Groups uint32
	Entries        uint32 // entries in all tables together
	TableEntries   uint32 // entries in one table
	Counters       uint32 // counters of both stages together
	Ranges         uint32 // range checkers of both stages together, at most 64
	// Range of priorities of entries, both ends included.
	MinPriority, MaxPriority uint32
}

// AltMarkCapacity gives the size of alternate marking. Both fields are zero if the chip has none.
type AltMarkCapacity struct {
	Profiles uint32 // at most 8
	Flows    uint32 // flow indexes
}

// FlyMonCapacity gives the size of the groups of CMUs, by the names of [flymon.Geometry]. All are zero if the chip has
// none.
type FlyMonCapacity struct {
	Groups, Spliced, Units, CMUs uint32
	Width, Depth, Partitions     uint32
	MapEntries, Digests          uint32
	RecirculationMbps            uint32 // speed of the port that leads to spliced groups
}

// TableRecordCapacity gives the size of table recording. All are zero if the chip has none.
type TableRecordCapacity struct {
	Bits     uint32 // bits of the record word, at most 64
	Plans    uint32
	Sessions uint32 // sessions of all plans
}

// Default returns the profile "default", which is rmt12.
func Default() Profile { return shipped("default") }

// Small returns the profile "small", which is for tests. Its tables fill up soon. Its clock runs at 1.25 GHz. A byte at
// 10 Gb/s thus takes exactly one cycle, and a nanosecond is not a whole number of cycles.
func Small() Profile { return shipped("small") }

// MaxLanes bounds the lane numbers of any profile.
const MaxLanes = 1024

// MaxMirrors bounds the mirror sessions of any profile: a packet carries one bit for each.
const MaxMirrors = 64

// MarkLanes bounds the profiles of alternate marking: the number that fits into 32 bits of metadata.
const MarkLanes = 8

const fcs = 4 // bytes after a frame

// Validate returns an error for each value that is out of range or contradicts another one. It uses the names in
// profile files.
func (p *Profile) Validate() error {
	var errs []error
	for _, err := range checkRanges(p.fields(), "") {
		errs = append(errs, fmt.Errorf("profile %q: %w", p.Name, err))
	}
	bad := func(ok bool, field string, value any, want string) {
		if !ok {
			errs = append(errs, fmt.Errorf("profile %q: %s is %v, want %s", p.Name, field, value, want))
		}
	}
	bad(p.Lanes <= MaxLanes-min(p.FirstLane, MaxLanes), "lanes", p.Lanes, fmt.Sprintf("no lane above %d", MaxLanes-1))
	bad(len(p.SpeedsMbps) > 0, "speeds_mbps", p.SpeedsMbps, "at least one speed")
	for i, s := range p.SpeedsMbps {
		bad(s > 0 && s <= maxMbps, "speeds_mbps", s, fmt.Sprintf("1 to %d", maxMbps))
		bad(i == 0 || s > p.SpeedsMbps[i-1], "speeds_mbps", p.SpeedsMbps, "each speed once, the slower first")
	}
	free, end := uint64(p.FirstLane), uint64(p.FirstLane)+uint64(p.Lanes)
	for i, d := range p.Default {
		at := fmt.Sprintf("default_ports[%d].", i)
		bad(uint64(d.First) >= free, at+"first_lane", d.First, fmt.Sprintf("at least %d, behind what comes before", free))
		free = uint64(d.First) + uint64(d.Count)*uint64(d.Lanes)
		bad(free <= end, at+"count", d.Count, fmt.Sprintf("ports whose lanes are all below %d", end))
		bad(p.SpeedFits(d.Mbps, d.Lanes), at+"mbps", d.Mbps, "one of speeds_mbps that the lanes carry")
	}
	a := p.ACL
	bad(a.MinPriority <= a.MaxPriority, "acl.min_priority", a.MinPriority,
		fmt.Sprintf("at most acl.max_priority, %d", a.MaxPriority))
	bad(a.TableEntries <= a.Entries, "acl.table_entries", a.TableEntries,
		fmt.Sprintf("at most acl.entries, %d", a.Entries))
	m := p.AltMark
	bad(m.Profiles == 0 || m.Flows > 0, "alternate_marking.flows", m.Flows,
		fmt.Sprintf("at least 1, because alternate_marking.profiles is %d", m.Profiles))
	bad(m.Profiles > 0 || m.Flows == 0, "alternate_marking.profiles", m.Profiles,
		fmt.Sprintf("1 to %d, because alternate_marking.flows is %d", MarkLanes, m.Flows))
	if p.FlyMon != (FlyMonCapacity{}) {
		p.FlyMon.check(bad)
	}
	if r := p.TableRecord; r != (TableRecordCapacity{}) {
		bad(r.Bits >= 8, "table_record.bits", r.Bits, "8 to 64, or all of table_record 0")
		bad(r.Plans > 0, "table_record.plans", r.Plans, "at least 1, or all of table_record 0")
		bad(r.Sessions > 0, "table_record.sessions", r.Sessions, "at least 1, or all of table_record 0")
	}
	bad(p.PHVBits >= pipe.HeaderBits, "phv_bits", p.PHVBits,
		fmt.Sprintf("at least %d, which the parser and the fixed functions fill", pipe.HeaderBits))
	s := p.Stage
	for _, c := range []struct {
		have, need  uint32
		field, lack string
	}{
		{s.HashUnits, s.HashBits, "stage.hash_bits", "stage.hash_units"},
		{s.StatefulALUs, s.SRAMBlocks, "stage.sram_blocks", "stage.stateful_alus"},
		{s.SRAMBlocks, s.SRAMBits, "stage.sram_block_bits", "stage.sram_blocks"},
		{s.TCAMBlocks, s.TCAMEntries, "stage.tcam_block_entries", "stage.tcam_blocks"},
		{s.TCAMBlocks, s.TCAMBits, "stage.tcam_bits", "stage.tcam_blocks"},
	} {
		bad(c.have == 0 || c.need > 0, c.field, c.need, fmt.Sprintf("at least 1, because %s is %d", c.lack, c.have))
	}
	return errors.Join(errs...)
}

// checkBuffer checks the buffer of a profile in a file. It must hold a frame of the largest MTU from every default port
// at the same time. Tests use smaller buffers.
func (p *Profile) checkBuffer() error {
	ports, cell := uint64(0), uint64(p.Buffer.CellBytes)
	for _, d := range p.Default {
		ports += uint64(d.Count)
	}
	each := (uint64(p.MTU) - fcs + cell - 1) / cell
	if want := max(1, ports) * each; uint64(p.Buffer.Cells) < want {
		return fmt.Errorf("profile %q: buffer.cells is %d, want at least %d: %d for a frame of mtu_bytes, %d, of each "+
			"of %d ports",
			p.Name, p.Buffer.Cells, want, each, p.MTU, max(1, ports))
	}
	return nil
}

// SpeedFits reports whether a port of n lanes can run at the speed.
func (p *Profile) SpeedFits(mbps, n uint32) bool {
	for _, s := range p.SpeedsMbps {
		if s == mbps {
			return uint64(mbps) <= uint64(n)*uint64(p.LaneMbps)
		}
	}
	return false
}

// IngressCycles returns the number of cycles from the pipe's entry to the queues.
func (p *Profile) IngressCycles() uint64 {
	return uint64(p.Parser) + uint64(p.IngressStages)*uint64(p.StageCycles) + uint64(p.TrafficManager)
}

// EgressCycles returns the number of cycles from the scheduler to the egress MAC.
func (p *Profile) EgressCycles() uint64 {
	return uint64(p.EgressStages)*uint64(p.StageCycles) + uint64(p.Deparser)
}

// Limits returns the chip's resources for programs.
func (p *Profile) Limits() pipe.Limits {
	return pipe.Limits{
		IngressStages: p.IngressStages, EgressStages: p.EgressStages, PHVBits: p.PHVBits,
		Stage: pipe.Resources(p.Stage),
	}
}
