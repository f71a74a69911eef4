package schema

import (
	"strconv"
	"strings"
)

// Breakout is a row of BREAKOUT_CFG: into which ports a front panel port is
// divided.
type Breakout struct {
	Port   string // the first port
	Mode   string // as written
	Groups []BreakoutGroup
}

// BreakoutGroup is one term of a breakout mode: 2x50G, 4x25G[10G], 1x50G(2).
type BreakoutGroup struct {
	Count  int
	Speeds []uint32 // Mb/s; the first is the default
	Lanes  int      // lanes in all; 0: not given
}

// ParseBreakout reads BREAKOUT_CFG; unknown fields are ignored.
func ParseBreakout(key string, fields map[string]string) (Breakout, error) {
	r := newReader(CfgBreakout, key, fields)
	if !IsPortName(key) {
		r.bad("", key, "EthernetN")
	}
	mode, _ := r.take("brkout_mode")
	b := Breakout{Port: key, Mode: mode}
	groups, ok := parseBreakoutMode(mode)
	if !ok {
		r.bad("brkout_mode", mode, "a mode such as 1x100G[40G], 4x25G or 2x25G(2)+1x50G(2)")
	}
	b.Groups = groups
	return b, r.err()
}

// Fields formats the row.
func (b Breakout) Fields() map[string]string { return map[string]string{"brkout_mode": b.Mode} }

// Ports is how many ports the mode makes.
func (b Breakout) Ports() int {
	n := 0
	for _, g := range b.Groups {
		n += g.Count
	}
	return n
}

func parseBreakoutMode(mode string) ([]BreakoutGroup, bool) {
	var out []BreakoutGroup
	for term := range strings.SplitSeq(mode, "+") {
		g, ok := parseBreakoutGroup(term)
		if !ok {
			return nil, false
		}
		out = append(out, g)
	}
	return out, true
}

func parseBreakoutGroup(term string) (BreakoutGroup, bool) {
	var g BreakoutGroup
	count, rest, ok := strings.Cut(term, "x")
	if !ok {
		return g, false
	}
	if head, lanes, ok := strings.Cut(rest, "("); ok {
		rest = head
		n, err := strconv.ParseUint(strings.TrimSuffix(lanes, ")"), 10, 8)
		if err != nil || n == 0 || !strings.HasSuffix(lanes, ")") {
			return g, false
		}
		g.Lanes = int(n)
	}
	speeds := rest
	if head, alt, ok := strings.Cut(rest, "["); ok {
		if !strings.HasSuffix(alt, "]") {
			return g, false
		}
		speeds = head + "," + strings.TrimSuffix(alt, "]")
	}
	n, err := strconv.ParseUint(count, 10, 8)
	if err != nil || n == 0 || n > 64 {
		return g, false
	}
	g.Count = int(n)
	for s := range strings.SplitSeq(speeds, ",") {
		v, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(s), "G"), 10, 16)
		if err != nil || v == 0 || v > 1600 || !strings.HasSuffix(s, "G") {
			return g, false
		}
		g.Speeds = append(g.Speeds, uint32(v)*1000)
	}
	return g, true
}
