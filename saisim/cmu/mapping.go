package cmu

import (
	"math/bits"

	"tamtam/tam/flymon"
)

// directBits is the number of parameter bits that may index a direct table. More would evict the registers from the
// processor's cache.
const directBits = 10

// A mapping is the TCAM over a unit's first parameter.
type mapping struct {
	kind   mapKind
	shift  uint8
	mask   uint32
	direct []uint32
	hashed []mapSlot
	rules  []flymon.MapRule
}

type mapKind uint8

const (
	mapNone   mapKind = iota
	mapDirect         // rules use a small number of bits: direct has the result for each of their values
	mapHashed         // all rules have the same mask
	mapLinear
)

type mapSlot struct {
	value, out uint32
	used       bool
}

func newMapping(rules []flymon.MapRule) (m mapping) {
	if len(rules) == 0 {
		return m
	}
	var all uint32
	one := true
	for _, r := range rules {
		all |= r.Mask
		one = one && r.Mask == rules[0].Mask
	}
	low := bits.TrailingZeros32(all) & 31
	switch width := bits.Len32(all >> low); {
	case width <= directBits:
		m.kind, m.shift, m.mask = mapDirect, uint8(low), 1<<width-1
		m.direct = make([]uint32, 1<<width)
		for i := range m.direct {
			m.direct[i] = firstMatch(rules, uint32(i)<<low)
		}
	case one:
		m.hash(rules)
	default:
		m.kind, m.rules = mapLinear, rules
	}
	return m
}

func firstMatch(rules []flymon.MapRule, p uint32) uint32 {
	for i := range rules {
		if r := &rules[i]; (p^r.Value)&r.Mask == 0 {
			return r.Out
		}
	}
	return 0
}

// hash makes a table of rules with the same mask, with open addressing and at most half full.
func (m *mapping) hash(rules []flymon.MapRule) {
	log := bits.Len(uint(2*len(rules) - 1))
	m.kind, m.mask, m.shift = mapHashed, rules[0].Mask, uint8(32-log)
	m.hashed = make([]mapSlot, 1<<log)
	for _, r := range rules {
		v := r.Value & r.Mask
		if s := m.slot(v); !s.used {
			*s = mapSlot{v, r.Out, true}
		}
	}
}

func (m *mapping) slot(v uint32) *mapSlot {
	for i := v * 0x9e3779b1 >> m.shift; ; i++ {
		if s := &m.hashed[int(i)&(len(m.hashed)-1)]; !s.used || s.value == v {
			return s
		}
	}
}

// translate returns the mapped parameter.
func (m *mapping) translate(p uint32) uint32 {
	switch m.kind {
	case mapNone:
		return p
	case mapDirect:
		return m.direct[p>>m.shift&m.mask]
	case mapHashed:
		return m.slot(p & m.mask).out
	}
	return firstMatch(m.rules, p)
}
