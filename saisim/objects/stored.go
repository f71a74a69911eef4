package objects

import (
	"maps"
	"slices"

	"tamtam/sai"
)

// A WithoutEffect is an attribute that the chip stores without effect on packets, or a statistic that it answers with 0
// without counting.
type WithoutEffect struct {
	Type sai.ObjectType
	Name string // of the attribute or the statistic, in SAI's form
	// Counts is true for a statistic.
	Counts bool
	Why    string
}

// WithoutEffect returns everything that the chip accepts although it lacks the function behind it, by type: attributes
// first, then statistics.
func (s *Store) WithoutEffect() (list []WithoutEffect) {
	for _, t := range s.objectTypes() {
		t := sai.ObjectType(t)
		k := s.kinds[t]
		for _, id := range slices.Sorted(maps.Keys(k.stored)) {
			list = append(list, WithoutEffect{Type: t, Name: id.String(), Why: k.stored[id]})
		}
		for _, id := range sortedStats(k.uncounted) {
			list = append(list, WithoutEffect{Type: t, Name: id.String(), Counts: true, Why: k.uncounted[id]})
		}
	}
	return list
}
