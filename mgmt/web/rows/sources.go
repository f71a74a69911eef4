package rows

import (
	"cmp"
	"slices"

	"tamtam/collector/result"
	"tamtam/tam/query"
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

// A SourceItem is a source, with its statistics over all partitions.
type SourceItem struct {
	Name, Kind       string
	Batches, Events  int64
	Lost             query.Range // lost batches
	Twice, Bad, Late int64
	LeftOut          int64 // -1 if unknown
	Latest           int64 // zero if there is none
	Silent           bool  // left out of the watermark of a partition
}

// SourceItems returns all sources. Each partition counts its own batches. A loss in front of the collector is a gap in
// the numbers of every partition, because it is unknown to which it would have gone. So the number of losses is at
// least that of one partition, and at most the sum.
func SourceItems(s *Snapshot) []SourceItem {
	all := map[sourceKey]*SourceItem{}
	for _, of := range s.sources {
		for key, src := range of {
			x := all[key]
			if x == nil {
				x = &SourceItem{Name: key.name, Kind: key.kind}
				all[key] = x
			}
			x.Batches += src.Batches
			x.Events += src.Events
			x.Lost = query.Range{Low: max(x.Lost.Low, src.Lost), High: PlusBound(x.Lost.High, src.Lost)}
			x.Twice += src.Twice
			x.Bad += src.Bad
			x.Late += src.Late
			x.LeftOut = sumKnown(x.LeftOut, src.LeftOut)
			x.Latest = max(x.Latest, src.Latest)
			x.Silent = x.Silent || src.Silent
		}
	}
	list := make([]SourceItem, 0, len(all))
	for _, x := range all {
		list = append(list, *x)
	}
	slices.SortFunc(list, func(a, b SourceItem) int {
		return cmp.Or(query.Natural(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
	})
	return list
}
