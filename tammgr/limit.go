package tammgr

import (
	"fmt"
	"maps"
	"slices"

	"tamtam/swss/schema"
)

// limit refuses the rows of a kind beyond the maximum. The first rows by name are accepted, whatever their order of
// arrival.
func (m *Manager) limit(k kind) {
	if len(m.rows[k]) <= m.MostRows && len(m.over[k]) == 0 || len(m.dirty[k]) == 0 {
		return
	}
	over := set{}
	if len(m.rows[k]) > m.MostRows {
		for _, key := range slices.SortedFunc(maps.Keys(m.rows[k]), schema.CompareNames)[m.MostRows:] {
			over[key] = struct{}{}
		}
	}
	for _, pair := range [][2]set{{over, m.over[k]}, {m.over[k], over}} {
		for key := range pair[0] {
			if _, both := pair[1][key]; !both {
				m.mark(k, key)
			}
		}
	}
	m.over[k] = over
}

// tooMany returns the reason if a row is beyond the maximum, and "" if it is not.
func (m *Manager) tooMany(k kind, key string) string {
	if _, over := m.over[k][key]; !over {
		return ""
	}
	return fmt.Sprintf("the table has too many rows: the first %d by name are taken", m.MostRows)
}
