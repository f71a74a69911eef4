package schema

import (
	"strconv"
	"strings"
	"unicode"
)

// Breakout is a row of BREAKOUT_CFG: the ports into which a front panel port is divided.
type Breakout struct {
	Port   string // name of the first port
	Mode   string // the mode as written in the row
	Groups []BreakoutGroup
}

// BreakoutGroup is one term of a breakout mode, such as 2x50G, 4x25G[10G] or 1x50G(2).
type BreakoutGroup struct {
	Count  int
	Speeds []uint32 // Mb/s; the first is the default
	Lanes  int      // total number of lanes of the group; 0 if not given
}

const (
	maxBreakout = 64   // maximum number of ports of a term
	maxGbps     = 1600 // maximum speed of a port in Gb/s
)

func (b *Breakout) layout() layout {
	return layout{
		table: CfgBreakout, open: true,
		key: called("EthernetN", IsPortName, &b.Port),
		fields: []field{
			own("brkout_mode", "a mode such as 1x100G[40G], 4x25G or 2x25G(2)+1x50G(2)",
				"Into which ports the cage is divided. The rows of PORT are the truth; this one is checked against them.",
				b.read, func() string { return b.Mode }).must("").always(),
		},
	}
}

func (b *Breakout) read(r *reader) {
	b.Mode, _ = r.value("brkout_mode")
	var ok bool
	if b.Groups, ok = parseBreakoutMode(b.Mode); !ok {
		r.bad("brkout_mode", b.Mode, "a mode such as 1x100G[40G], 4x25G or 2x25G(2)+1x50G(2)")
	}
}

// Ports returns the number of ports of the mode.
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

// parseBreakoutGroup parses COUNTxSPEEDS, optionally followed by the lanes in parentheses.
func parseBreakoutGroup(term string) (g BreakoutGroup, ok bool) {
	count, rest, ok := strings.Cut(term, "x")
	if !ok {
		return g, false
	}
	if g.Count, ok = countUpTo(count, maxBreakout); !ok {
		return g, false
	}
	speeds, lanes, given := strings.Cut(rest, "(")
	if given {
		if lanes, ok = strings.CutSuffix(lanes, ")"); !ok {
			return g, false
		}
		if g.Lanes, ok = countUpTo(lanes, 255); !ok {
			return g, false
		}
	}
	g.Speeds, ok = parseSpeeds(speeds)
	return g, ok
}

// countUpTo parses a number from 1 to most.
func countUpTo(text string, most uint64) (int, bool) {
	n, err := strconv.ParseUint(text, 10, 64)
	return int(n), err == nil && n > 0 && n <= most
}

// parseSpeeds parses speed[alternative,alternative]. Each is a number of Gb/s followed by G.
func parseSpeeds(text string) (speeds []uint32, ok bool) {
	if first, others, given := strings.Cut(text, "["); given {
		if others, ok = strings.CutSuffix(others, "]"); !ok {
			return nil, false
		}
		text = first + "," + others
	}
	for s := range strings.SplitSeq(text, ",") {
		digits, ok := strings.CutSuffix(s, "G")
		v, fits := countUpTo(strings.TrimLeftFunc(digits, unicode.IsSpace), maxGbps)
		if !ok || !fits {
			return nil, false
		}
		speeds = append(speeds, uint32(v)*1000)
	}
	return speeds, true
}
