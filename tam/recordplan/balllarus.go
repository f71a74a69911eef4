package recordplan

import "math/big"

// BallLarus returns how many bits Ball-Larus path encoding takes, which numbers all paths
// (Kodeswaran et al., SOSR 2020): over sequences of tables, which is the least that
// tells all paths apart, and over walks, in which every action counts.
func (m *Model) BallLarus() (paths, walks int) { return numbering(m.Paths()), numbering(m.walks) }

// numbering returns the width of the numbers from 0 to n-1.
func numbering(n *big.Int) int {
	if n.Sign() <= 0 {
		return 0
	}
	return new(big.Int).Sub(n, big.NewInt(1)).BitLen()
}

// OneBitPerTable returns how many bits it takes to record every table that not every packet runs.
func (m *Model) OneBitPerTable() int {
	n := 0
	for _, t := range m.tables {
		if !t.cut {
			n++
		}
	}
	return n
}
