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

type sourcesData struct{ Rows []sourceRow }

// sources returns the view of the sources of the collector's messages.
func (p *Page) sources(q *request) (any, error) {
	list, err := pageOf(q, rows.SourceItems(q.snap))
	if err != nil {
		return nil, err
	}
	d := &sourcesData{}
	for _, s := range list {
		d.Rows = append(d.Rows, p.sourceRow(s))
	}
	return d, nil
}

func (p *Page) sourceRow(s rows.SourceItem) sourceRow {
	r := sourceRow{SourceItem: s, Age: notKnown}
	age := p.cfg.Now().Sub(time.Unix(0, s.Latest))
	ahead := s.Latest != 0 && -age > rows.StaleAfter
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
