package web

import (
	"slices"
	"strings"
	"time"

	"tamtam/collector/result"
)

type sourceRow struct {
	result.Source
	Class   string
	Reasons []string
	Age     string
}

type sourcesData struct{ Rows []sourceRow }

// sources returns the view of the sources of the collector's messages.
func (p *Page) sources(q *request) (any, error) {
	var list []result.Source
	for _, s := range q.snap.allSources() {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b result.Source) int {
		if c := natural(a.Name, b.Name); c != 0 {
			return c
		}
		return strings.Compare(a.Kind, b.Kind)
	})
	list, err := pageOf(q, list)
	if err != nil {
		return nil, err
	}
	d := &sourcesData{}
	for _, s := range list {
		d.Rows = append(d.Rows, p.sourceRow(s))
	}
	return d, nil
}

func (p *Page) sourceRow(s result.Source) sourceRow {
	r := sourceRow{Source: s, Age: notKnown}
	age := p.cfg.Now().Sub(time.Unix(0, s.Latest))
	ahead := s.Latest != 0 && -age > staleAfter
	switch {
	case ahead:
		r.Age = ageText(-age) + " later than now"
	case s.Latest != 0:
		r.Age = ageText(age) + " ago"
	}
	for _, x := range []struct {
		is    bool
		class string
		words string
	}{
		{s.Lost > 0, "bad", "batches were lost"},
		{s.Bad > 0, "bad", "batches could not be read"},
		{ahead, "inexact", "a clock is ahead: how old the newest is is unknown"},
		{s.Silent, "inexact", "silent: windows were closed without it"},
		{s.Late > 0, "inexact", "events came late"},
		{s.LeftOut > 0, "inexact", "events could not be joined"},
		{s.LeftOut < 0, "inexact", "unknown whether events could not be joined"},
	} {
		if x.is {
			r.Reasons = append(r.Reasons, x.words)
			if r.Class == "" {
				r.Class = x.class
			}
		}
	}
	return r
}

type sourceKey struct{ name, kind string }

// addSources stores the sources of a partition. Batches are numbered per partition, and the last batch has the counts
// of all earlier ones.
func (s *snapshot) addSources(b *result.Batch) {
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

// allSources adds the sources up over the partitions.
func (s *snapshot) allSources() map[sourceKey]result.Source {
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
