package pipe

import (
	"cmp"
	"fmt"
	"slices"
)

// Limits holds a chip's resources for programs. Zero means that the chip has none.
type Limits struct {
	IngressStages, EgressStages uint32
	Stage                       Resources // resources of each stage
	PHVBits                     uint32    // bits of the PHV, fixed fields included
}

// Resources holds the resources of one stage.
type Resources struct {
	HashUnits    uint32 // with HashBits output bits each
	HashBits     uint32
	StatefulALUs uint32
	SRAMBlocks   uint32 // with SRAMBits bits each
	SRAMBits     uint32
	TCAMBlocks   uint32 // with TCAMEntries entries each, TCAMBits wide
	TCAMEntries  uint32
	TCAMBits     uint32
	VLIWSlots    uint32
	Tables       uint32
}

// A StageUse is a program's use of one stage.
type StageUse struct {
	Pipe         string `json:"pipe"` // ingress or egress
	Stage        uint8  `json:"stage"`
	HashUnits    uint64 `json:"hash_units"`
	StatefulALUs uint64 `json:"stateful_alus"`
	SRAMBlocks   uint64 `json:"sram_blocks"`
	TCAMBlocks   uint64 `json:"tcam_blocks"`
	VLIWSlots    uint64 `json:"vliw_slots"`
	Tables       uint64 `json:"tables"`
}

// A Usage is a program's use of a chip. It omits unused stages.
type Usage struct {
	PHVBits uint64     `json:"phv_bits"`
	Stages  []StageUse `json:"stages"`
}

// Usage returns the program's use of a chip with the given block sizes.
func (p *Program) Usage(l Limits) Usage {
	u := Usage{PHVBits: HeaderBits}
	for _, f := range p.Fields {
		u.PHVBits += uint64(container(f.Width))
	}
	fields := p.layout()
	width := func(name string) uint8 { return fields[name].width }
	u.Stages = append(p.Ingress.usage("ingress", l.Stage, width), p.Egress.usage("egress", l.Stage, width)...)
	return u
}

// container returns the size in bits of the PHV container of a field.
func container(width uint8) uint8 {
	for _, c := range []uint8{8, 16, 32} {
		if width <= c {
			return c
		}
	}
	return 64
}

func (p *Pipe) usage(name string, r Resources, width func(string) uint8) []StageUse {
	by := map[uint8]*StageUse{}
	at := func(stage uint8) *StageUse {
		if by[stage] == nil {
			by[stage] = &StageUse{Pipe: name, Stage: stage}
		}
		return by[stage]
	}
	for i := range p.Hashes {
		h := &p.Hashes[i]
		at(h.Stage).HashUnits += blocks(uint64(h.bits()), r.HashBits)
	}
	for _, reg := range p.Registers {
		u := at(reg.Stage)
		u.StatefulALUs++
		bits := uint64(1)
		if reg.Width > 1 {
			bits = uint64(container(reg.Width))
		}
		u.SRAMBlocks += blocks(uint64(reg.Depth)*bits, r.SRAMBits)
	}
	for i := range p.Tables {
		t := &p.Tables[i]
		u := at(t.Stage)
		u.Tables++
		t.use(u, r, width)
	}
	var list []StageUse
	for _, u := range by {
		list = append(list, *u)
	}
	slices.SortFunc(list, func(a, b StageUse) int { return cmp.Compare(a.Stage, b.Stage) })
	return list
}

func (t *Table) use(u *StageUse, r Resources, width func(string) uint8) {
	var data, key uint64
	for _, a := range t.Actions {
		var sum uint64
		for _, p := range a.Params {
			sum += uint64(p.Width)
		}
		data = max(data, sum)
		u.VLIWSlots += uint64(len(a.Ops))
		for _, c := range a.Calls {
			if c.To != "" {
				u.VLIWSlots++
			}
		}
	}
	for _, in := range t.Key {
		key += uint64(width(in.Field))
	}
	size := uint64(t.Size)
	switch t.Match {
	case "exact":
		u.SRAMBlocks += blocks(size*(key+data+32), r.SRAMBits)
	case "index":
		u.SRAMBlocks += blocks(size*(data+32), r.SRAMBits)
	case "ternary", "lpm":
		u.SRAMBlocks += blocks(size*(data+32), r.SRAMBits)
		u.TCAMBlocks += blocks(key, r.TCAMBits) * blocks(size, r.TCAMEntries)
	}
	if t.Counters {
		u.SRAMBlocks += blocks((size+1)*128, r.SRAMBits)
	}
}

// blocks returns ceil(n/size). If size is 0, there are no blocks, and any need results in a number that is too large.
func blocks(n uint64, size uint32) uint64 {
	switch {
	case n == 0:
		return 0
	case size == 0:
		return 1 << 32
	}
	return (n + uint64(size) - 1) / uint64(size)
}

// excess returns an error for each resource that exceeds the limits, by stage.
func (u Usage) excess(l Limits) []error {
	var errs []error
	if u.PHVBits > uint64(l.PHVBits) {
		errs = append(errs, fmt.Errorf("PHV: need %d bits (%d of them for the fixed fields), have %d", u.PHVBits, HeaderBits,
			l.PHVBits))
	}
	for _, s := range u.Stages {
		check := func(what string, need uint64, have uint32) {
			if need >= 1<<32 { // the chip has no such blocks
				errs = append(errs, fmt.Errorf("%s stage %d: %s: the chip has none", s.Pipe, s.Stage, what))
			} else if need > uint64(have) {
				errs = append(errs, fmt.Errorf("%s stage %d: %s: need %d, have %d", s.Pipe, s.Stage, what, need, have))
			}
		}
		check("hash units", s.HashUnits, l.Stage.HashUnits)
		check("stateful ALUs", s.StatefulALUs, l.Stage.StatefulALUs)
		check("SRAM blocks", s.SRAMBlocks, l.Stage.SRAMBlocks)
		check("TCAM blocks", s.TCAMBlocks, l.Stage.TCAMBlocks)
		check("VLIW slots", s.VLIWSlots, l.Stage.VLIWSlots)
		check("tables", s.Tables, l.Stage.Tables)
	}
	return errs
}
