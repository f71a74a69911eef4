package saisim

import (
	"errors"
	"fmt"
)

// A Profile gives the size and speed of a kind of chip. All numbers are exact;
// a chip refuses what its profile has no room for.
type Profile struct {
	Name    string
	ClockHz uint64 // 1 .. 8*10^9

	// SerDes lanes. A port takes one or more whole lanes; its speed is at most
	// their number times LaneMbps. Lanes are numbered from FirstLane.
	FirstLane, Lanes uint32
	LaneMbps         uint32
	SpeedsMbps       []uint32

	// The ports that exist when the switch object has been created.
	Default DefaultPorts

	// Pipeline, in cycles.
	Parser, Deparser            uint32
	IngressStages, EgressStages uint32
	StageCycles                 uint32
	TrafficManager              uint32

	// Stage is what each stage of a pipe has for programs; PHVBits is the width of
	// the packet header vector.
	Stage   StageResources
	PHVBits uint32

	BufferBytes uint64 // shared by all queues
	// Buffer is the memory shared by all queues; Queues is their number per port.
	Buffer BufferProfile
	Queues uint32 // 1 .. 16
	MTU    uint32 // largest frame a port can be set to, with headers and FCS

	ACL ACLProfile
	FDB uint32 // entries
	// Numbers of objects.
	VLANs, LAGs, LAGMembers uint32
	TAMInts                 uint32
	// Routing and mirroring.
	RouterInterfaces, Neighbors uint32
	NextHops, NextHopGroups     uint32
	NextHopMembers              uint32 // all groups together
	IPv4Routes, IPv6Routes      uint32
	MirrorSessions              uint32
	Schedulers, WREDs, QoSMaps  uint32
	BufferPools, BufferProfiles uint32
}

// StageResources are those of one match-action stage, as programs use them.
type StageResources struct {
	HashUnits    uint32 // hash distribution units, of HashBits output bits each
	HashBits     uint32
	StatefulALUs uint32 // one read-modify-write per packet each
	SRAMBlocks   uint32 // of SRAMBits bits each
	SRAMBits     uint32
	TCAMBlocks   uint32 // of TCAMEntries entries, TCAMBits wide
	TCAMEntries  uint32
	TCAMBits     uint32
	VLIWSlots    uint32 // operations in all actions of the stage together
	Tables       uint32 // logical tables
}

// BufferProfile is packet memory: a packet takes whole cells.
type BufferProfile struct{ CellBytes, Cells uint32 }

// DefaultPorts says that there are Count ports of Lanes lanes each, one after
// the other from the lane First on, at one speed.
type DefaultPorts struct{ First, Count, Lanes, Mbps uint32 }

// ACLProfile gives the size of the ACL stage. Numbers are per stage (ingress or
// egress) unless said otherwise.
type ACLProfile struct {
	Tables, Groups uint32
	Entries        uint32 // all tables together
	TableEntries   uint32 // one table
	Counters       uint32 // both stages together
	Ranges         uint32 // both stages together, at most 64
	// Priorities of entries, both ends included.
	MinPriority, MaxPriority uint32
}

// DefaultProfile returns the chip that is used unless another is asked for: a
// 12-stage RMT-like switch with a clock of 1 GHz (one cycle is 1 ns) and 32
// ports of four lanes at 100 Gb/s on the lanes 1-128.
func DefaultProfile() Profile {
	return Profile{
		Name:      "rmt12",
		ClockHz:   1_000_000_000,
		FirstLane: 0, Lanes: 513, LaneMbps: 112_000,
		SpeedsMbps: []uint32{100, 1_000, 2_500, 5_000, 10_000, 20_000, 25_000, 40_000, 50_000,
			100_000, 200_000, 400_000, 800_000},
		Default: DefaultPorts{First: 1, Count: 32, Lanes: 4, Mbps: 100_000},
		Parser:  20, Deparser: 20, IngressStages: 12, EgressStages: 12, StageCycles: 12, TrafficManager: 40,
		Stage: StageResources{
			HashUnits: 6, HashBits: 32, StatefulALUs: 4, SRAMBlocks: 80, SRAMBits: 128 << 10, TCAMBlocks: 24,
			TCAMEntries: 512, TCAMBits: 44, VLIWSlots: 32, Tables: 16,
		},
		PHVBits:     4096,
		BufferBytes: 32 << 20, MTU: 9416,
		Buffer: BufferProfile{CellBytes: 208, Cells: 32 << 20 / 208}, Queues: 8,
		ACL: ACLProfile{
			Tables: 64, Groups: 1024, Entries: 32768, TableEntries: 16384, Counters: 65536, Ranges: 64,
			MinPriority: 1, MaxPriority: 16000,
		},
		FDB: 65536, VLANs: 4094, LAGs: 256, LAGMembers: 4096, TAMInts: 256,
		RouterInterfaces: 1024, Neighbors: 32768, NextHops: 32768, NextHopGroups: 512, NextHopMembers: 16384,
		IPv4Routes: 131072, IPv6Routes: 65536, MirrorSessions: 16,
		Schedulers: 256, WREDs: 128, QoSMaps: 64, BufferPools: 4, BufferProfiles: 128,
	}
}

// SmallProfile returns a chip for tests: 8 ports of one lane at 10 Gb/s, lanes
// 0-7, tables that fill up soon, and a clock of 1.25 GHz, so that neither a
// byte (0.8 ns, one cycle) at 10 Gb/s nor a nanosecond needs rounding the same way.
func SmallProfile() Profile {
	return Profile{
		Name:      "small",
		ClockHz:   1_250_000_000,
		FirstLane: 0, Lanes: 8, LaneMbps: 25_000,
		SpeedsMbps: []uint32{1_000, 10_000, 25_000, 40_000, 50_000, 100_000},
		Default:    DefaultPorts{First: 0, Count: 8, Lanes: 1, Mbps: 10_000},
		Parser:     4, Deparser: 3, IngressStages: 4, EgressStages: 4, StageCycles: 2, TrafficManager: 5,
		Stage: StageResources{
			HashUnits: 2, HashBits: 16, StatefulALUs: 2, SRAMBlocks: 8, SRAMBits: 16 << 10, TCAMBlocks: 4,
			TCAMEntries: 64, TCAMBits: 44, VLIWSlots: 16, Tables: 4,
		},
		PHVBits:     2048,
		BufferBytes: 64 << 10, MTU: 9416,
		Buffer: BufferProfile{CellBytes: 64, Cells: 1024}, Queues: 4,
		ACL: ACLProfile{
			Tables: 4, Groups: 16, Entries: 64, TableEntries: 32, Counters: 64, Ranges: 4,
			MinPriority: 1, MaxPriority: 1024,
		},
		FDB: 16, VLANs: 16, LAGs: 4, LAGMembers: 8, TAMInts: 4,
		RouterInterfaces: 8, Neighbors: 16, NextHops: 16, NextHopGroups: 4, NextHopMembers: 16,
		IPv4Routes: 32, IPv6Routes: 16, MirrorSessions: 4,
		Schedulers: 8, WREDs: 8, QoSMaps: 4, BufferPools: 2, BufferProfiles: 8,
	}
}

// maxLanes bounds the lane numbers of any profile.
const maxLanes = 1024

// Validate says, by the name of the field, what is out of range or contradicts
// something else.
func (p *Profile) Validate() error {
	var errs []error
	bad := func(ok bool, field string, value any, want string) {
		if !ok {
			errs = append(errs, fmt.Errorf("profile %q: %s is %v, want %s", p.Name, field, value, want))
		}
	}
	bad(p.ClockHz >= 1 && p.ClockHz <= 8_000_000_000, "ClockHz", p.ClockHz, "1 to 8000000000")
	bad(p.Lanes >= 1 && p.FirstLane < maxLanes && p.Lanes <= maxLanes-p.FirstLane, "Lanes", p.Lanes,
		fmt.Sprintf("at least 1 and no lane above %d", maxLanes-1))
	bad(len(p.SpeedsMbps) > 0, "SpeedsMbps", p.SpeedsMbps, "at least one speed")
	for _, s := range p.SpeedsMbps {
		bad(s > 0, "SpeedsMbps", s, "more than 0")
	}
	d := p.Default
	bad(d.Count == 0 || d.Lanes > 0, "Default.Lanes", d.Lanes, "at least 1")
	bad(d.Count == 0 || d.First >= p.FirstLane && uint64(d.First)+uint64(d.Count)*uint64(d.Lanes) <= uint64(p.FirstLane)+uint64(p.Lanes),
		"Default.Count", d.Count, "ports whose lanes all exist")
	bad(d.Count == 0 || p.speedFits(d.Mbps, d.Lanes), "Default.Mbps", d.Mbps, "one of SpeedsMbps that the lanes carry")
	bad(p.Parser >= 1, "Parser", p.Parser, "at least 1 cycle")
	bad(p.Deparser >= 1, "Deparser", p.Deparser, "at least 1 cycle")
	bad(p.BufferBytes > 0, "BufferBytes", p.BufferBytes, "more than 0")
	bad(p.MTU >= 64 && p.MTU <= 16383, "MTU", p.MTU, "64 to 16383")
	a := p.ACL
	bad(a.Ranges <= 64, "ACL.Ranges", a.Ranges, "at most 64")
	bad(a.MinPriority <= a.MaxPriority, "ACL.MinPriority", a.MinPriority, fmt.Sprintf("at most ACL.MaxPriority, %d", a.MaxPriority))
	bad(p.FDB >= 1 && p.FDB <= 1<<24, "FDB", p.FDB, "1 to 16777216")
	bad(p.VLANs <= 4094, "VLANs", p.VLANs, "at most 4094")
	return errors.Join(errs...)
}

// speedFits reports whether a port of n lanes can run at the speed.
func (p *Profile) speedFits(mbps, n uint32) bool {
	for _, s := range p.SpeedsMbps {
		if s == mbps {
			return uint64(mbps) <= uint64(n)*uint64(p.LaneMbps)
		}
	}
	return false
}

// ingressCycles is the time from the pipe's entry to the queues.
func (p *Profile) ingressCycles() Cycle {
	return Cycle(p.Parser) + Cycle(p.IngressStages)*Cycle(p.StageCycles) + Cycle(p.TrafficManager)
}

// egressCycles is the time from the scheduler to the egress MAC.
func (p *Profile) egressCycles() Cycle {
	return Cycle(p.EgressStages)*Cycle(p.StageCycles) + Cycle(p.Deparser)
}
