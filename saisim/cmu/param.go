package cmu

import "math/bits"

// param computes a 32-bit parameter.
func (g *Groups) param(to *operand, s *param, list []uint8) {
	to.uniform = false
	of := &to.of
	switch s.from {
	case fromConst:
		for _, l := range list {
			of[l&(Lanes-1)] = s.value
		}
	case fromSize:
		for _, l := range list {
			of[l&(Lanes-1)] = min(g.packets[l].Size, s.mask)
		}
	case fromTimestamp:
		for _, l := range list {
			of[l&(Lanes-1)] = s.time(&g.packets[l])
		}
	case fromQueueLength:
		for _, l := range list {
			of[l&(Lanes-1)] = min(g.packets[l].QueueBytes>>s.scale, s.mask)
		}
	case fromQueueDelay:
		for _, l := range list {
			of[l&(Lanes-1)] = uint32(min(g.packets[l].QueueNS>>s.scale, uint64(s.mask)))
		}
	case fromKey:
		a, b := &g.sums[s.a], &g.sums[s.b]
		for _, l := range list {
			l &= Lanes - 1
			of[l] = bits.RotateLeft32(a[l]^b[l], int(s.left)) & s.mask
		}
	case fromResult:
		for _, l := range list {
			of[l&(Lanes-1)] = g.results[s.of[0]][l&(Lanes-1)]
		}
	case fromLeast:
		g.least(of, s, list)
	case fromSince:
		g.since(of, s, list)
	}
}

// least computes the smallest non-zero result.
func (g *Groups) least(of *[Lanes]uint32, s *param, list []uint8) {
	for _, l := range list {
		of[l&(Lanes-1)] = s.value
	}
	for _, i := range s.of {
		results := &g.results[i]
		for _, l := range list {
			l &= Lanes - 1
			if r := results[l]; r != 0 && r < of[l] {
				of[l] = r
			}
		}
	}
}

// since computes the time since a result.
func (g *Groups) since(of *[Lanes]uint32, s *param, list []uint8) {
	before, also := &g.results[s.of[0]], &g.results[s.of[1]]
	for _, l := range list {
		l &= Lanes - 1
		of[l] = 0
		if before[l] != 0 && also[l] == 0 {
			of[l] = (s.time(&g.packets[l]) - before[l]) & s.mask
		}
	}
}

// time returns a packet's timestamp. It is never 0.
func (s *param) time(p *Packet) uint32 { return max(1, uint32(p.Vector[5]>>s.scale)&s.mask) }
