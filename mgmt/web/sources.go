package web

import (
	"time"

	"tamtam/mgmt/web/rows"
)

type sourceRow struct {
	rows.SourceItem
	Class   string
	Reasons []string
	Age     string
}

var sourceColumns = columnsOf[sourceRow]("").
	text("source", func(r *sourceRow) string { return r.Name }).
	text("kind", func(r *sourceRow) string { return r.Kind }).
	count("batches", func(r *sourceRow) int64 { return r.Batches }).
	count("events", func(r *sourceRow) int64 { return r.Events }).
	count("lost", func(r *sourceRow) int64 { return r.Lost.High }).
	count("twice", func(r *sourceRow) int64 { return r.Twice }).
	count("bad", func(r *sourceRow) int64 { return r.Bad }).
	count("late", func(r *sourceRow) int64 { return r.Late }).
	number("newest", func(r *sourceRow) (float64, bool) { return float64(r.Latest), r.Latest != 0 }).
	text("confidence", func(r *sourceRow) string { return confidence(r.Reasons) })

type sourcesData struct{ Rows []sourceRow }

// sources returns the view of the sources of the collector's messages.
func (p *Page) sources(q *request) (any, error) {
	d := &sourcesData{}
	for _, s := range rows.SourceItems(q.snap) {
		d.Rows = append(d.Rows, p.sourceRow(s))
	}
	err := sourceColumns.sort(q, d.Rows)
	if err == nil {
		d.Rows, err = pageOf(q, d.Rows)
	}
	return d, err
}

func (p *Page) sourceRow(s rows.SourceItem) sourceRow {
	r := sourceRow{SourceItem: s, Age: notKnown}
	if s.Latest != 0 {
		r.Age = p.agoText(time.Unix(0, s.Latest))
	}
	ahead := s.Latest != 0 && p.cfg.Zero.IsZero() && time.Unix(0, s.Latest).Sub(p.cfg.Now()) > rows.StaleAfter
	for _, x := range []struct {
		is    bool
		class string
		words string
	}{
		{s.Lost.High > 0, "bad", "batches were lost"},
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
