package pipe

import (
	"fmt"
	"math/bits"
)

// A CountMinSketch defines a count-min sketch for [CountMin].
type CountMinSketch struct {
	Key    []Input
	Rows   int    // 1 to 4
	Depth  uint32 // counters in a row, a power of two
	Width  uint8  // bits of a counter; counters saturate
	Egress bool   // true if the sketch is in the egress pipe
	Stage  uint8  // the first of its two stages
}

// FiveTupleIPv4 returns the key of 13 bytes that identifies an IPv4 flow.
func FiveTupleIPv4() []Input {
	return []Input{{Field: "ipv4.src"}, {Field: "ipv4.dst"}, {Field: "l4.src"}, {Field: "l4.dst"}, {Field: "ip.proto"}}
}

// FiveTuple returns the key of 37 bytes that identifies a flow of either IP version.
func FiveTuple() []Input {
	return []Input{
		{Field: "ip.src.hi"}, {Field: "ip.src.lo"}, {Field: "ip.dst.hi"}, {Field: "ip.dst.lo"},
		{Field: "l4.src"}, {Field: "l4.dst"}, {Field: "ip.proto"},
	}
}

// CountMin returns a program that counts the packets of IP flows. One stage compresses the key to 32 bits by CRC-32C.
// The next stage counts in Rows registers, row0 and so on. The index in each is the low bits of another CRC of the
// compressed key (the hashes row0 and so on). The estimate for a flow is the minimum of its counters.
func CountMin(s CountMinSketch) (*Program, error) {
	polys := []string{"crc32", "crc32k", "crc32q", "crc32c"}
	if s.Rows < 1 || s.Rows > len(polys) {
		return nil, fmt.Errorf("count-min: %d rows, want 1 to %d", s.Rows, len(polys))
	}
	if s.Depth == 0 || s.Depth&(s.Depth-1) != 0 || bits.Len32(s.Depth) > 26 {
		return nil, fmt.Errorf("count-min: %d counters in a row, want a power of two up to %d", s.Depth, 1<<25)
	}
	pp := Pipe{
		Hashes: []Hash{{Name: "compress", Stage: s.Stage, CRC: "crc32c", Inputs: s.Key}},
		Tables: []Table{{
			Name: "compress", Stage: s.Stage, Match: "always", Default: Choice{Action: "compress"},
			Actions: []Action{{Name: "compress", Ops: []Op{{Do: "set", To: "cm_key", A: Operand{Hash: "compress"}}}}},
		}},
	}
	count := Action{Name: "count"}
	for i := range s.Rows {
		row := fmt.Sprintf("row%d", i)
		pp.Hashes = append(pp.Hashes, Hash{Name: row, Stage: s.Stage + 1, CRC: polys[i], Inputs: []Input{{Field: "cm_key"}}})
		pp.Registers = append(pp.Registers, Register{
			Name: row, Stage: s.Stage + 1, Width: s.Width, Depth: s.Depth,
			Instructions: []Instruction{{Name: "increment", Updates: []Update{{Do: "adds", A: Source{From: "mem"},
				B: Source{From: "const", Const: 1}}}}},
		})
		index := Operand{} // a row of one counter needs no hash
		if s.Depth > 1 {
			index = Operand{Hash: row, Bits: uint8(bits.Len32(s.Depth - 1))}
		}
		count.Calls = append(count.Calls, Call{Register: row, Instruction: "increment", Index: index})
	}
	pp.Tables = append(pp.Tables, Table{
		Name: "count", Stage: s.Stage + 1, Match: "always", Actions: []Action{count}, Default: Choice{Action: "count"},
		Gate: [][]Term{{{Field: "is.ip", Is: "eq", Value: 1}}},
	})
	p := &Program{Name: "count-min", Fields: []Field{{Name: "cm_key", Width: 32}}}
	if s.Egress {
		p.Egress = pp
	} else {
		p.Ingress = pp
	}
	return p, nil
}

// Sum returns the hash of values for its inputs, as defined in the package comment. A caller can use it to find the
// counter of a key.
func (p *Program) Sum(h *Hash, values ...uint64) uint32 {
	fields := p.layout()
	poly := h.polynomial()
	all := uint32(ones(poly.width))
	r := ^h.Seed & all
	for i, in := range h.Inputs {
		f := fields[in.Field]
		mask := in.Mask
		if mask == 0 {
			mask = f.mask()
		}
		for b := (int(f.width)+7)/8 - 1; b >= 0; b-- {
			r ^= uint32(values[i] & mask >> (8 * b) & 0xff)
			for range 8 {
				r = r>>1 ^ poly.reversed()&-(r&1)
			}
		}
	}
	return ^r & all & uint32(ones(h.bits()))
}
