package rows

import (
	"tamtam/collector/result"
)

type sourceKey struct{ name, kind string }

// addSources stores the sources of a partition. Batches are numbered per partition, and the last batch has the counts
// of all earlier ones.
func (s *Snapshot) addSources(b *result.Batch) {
	of := s.sources[b.Partition]
	if of == nil {
		if !s.room("partitions", len(s.sources), mostPartitions) {
			return
		}
		of = map[sourceKey]result.Source{}
		s.sources[b.Partition] = of
	}
	for _, src := range b.Sources {
		key := sourceKey{src.Name, src.Kind}
		if _, ok := of[key]; ok || s.room("sources", len(of), mostSources) {
			of[key] = src
		}
	}
}

// sumKnown adds two counts, each of which may be unknown (-1).
func sumKnown(a, b int64) int64 {
	if min(a, b) < 0 {
		return -1
	}
	return a + b
}

// AllSources adds the sources up over the partitions.
func (s *Snapshot) AllSources() map[sourceKey]result.Source {
	all := map[sourceKey]result.Source{}
	for _, of := range s.sources {
		for key, src := range of {
			if sum, ok := all[key]; ok {
				src.Batches += sum.Batches
				src.Events += sum.Events
				src.Lost += sum.Lost
				src.Twice += sum.Twice
				src.Bad += sum.Bad
				src.Late += sum.Late
				src.LeftOut = sumKnown(src.LeftOut, sum.LeftOut)
				src.Latest = max(src.Latest, sum.Latest)
				src.Silent = src.Silent || sum.Silent
			}
			all[key] = src
		}
	}
	return all
}
