package ingest

import (
	"context"
	"time"

	"tamtam/tam/ipfix"
)

// A doubt is about what an observation domain reported before it was heard. A message has all that was observed up to
// when it was exported, which it says in whole seconds, unless a message before it had: so what was observed by then
// may have been reported to nobody, and what was observed later was not.
type doubt struct {
	until time.Time // what was observed before may be missing
	from  time.Time // the first of it that the partitions know of
	heard time.Time // when the last message was exported
}

// doubt tells which times of a domain's reports are in doubt: of its first message, and of one before which some are
// missing, and if later ones report of earlier times than the partitions know of.
func (r *Reports) doubt(ctx context.Context, e *exporter, domain uint32, until time.Time, broken bool, told []report,
) error {
	d := e.doubts[domain]
	if begins := d == nil; begins || broken {
		if begins && len(e.doubts) == ipfix.MaxDomains {
			return nil // the decoder has none of it either
		}
		if begins {
			d = &doubt{}
			e.doubts[domain] = d
		}
		if until.After(d.until) {
			d.until, d.from = until, until
		}
	}
	from := d.from
	if before := d.heard.Add(-r.drops.disorder()); broken && !d.heard.IsZero() && before.Before(from) {
		from = before // by the switch's clock, which what was promised may not be
	}
	d.heard = until.Add(-time.Second)
	from = d.first(from, told)
	if from.Equal(d.from) && !from.Equal(d.until) {
		return nil
	}
	last := d.until.Add(-1)
	if from.After(last) {
		from = last
	}
	d.from = from
	return r.drops.Unheard(ctx, from.UnixNano(), last.UnixNano())
}

// first is the earlier one of a time and those of reports that are in doubt.
func (d *doubt) first(from time.Time, told []report) time.Time {
	for i := range told {
		if at := told[i].at; at.Before(d.until) && at.Before(from) {
			from = at
		}
	}
	return from
}
