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
	until  time.Time // what was observed before may be missing
	from   time.Time // the first of it that the partitions know of
	heard  heard     // of the last message
	latest time.Time // the latest heard.until of all
}

// heard is when a message came, up to when it has what was observed, its number, whether that was due before, and
// whether some before it are missing.
type heard struct {
	at, until time.Time
	number    uint32
	late      bool
	broken    bool
}

// goesBack reports whether a message has a lower number than the one before, or comes behind one that was late: its
// exporter may have begun anew, so that the decoder does not know what is missing.
func (d *doubt) goesBack(h heard) bool {
	return d != nil && (h.late || d.heard.late || int32(h.number-d.heard.number) < 0)
}

// doubt tells which times of a domain's reports are in doubt: of its first message, and of one before which some are
// missing, and if later ones report of earlier times than the partitions know of. It marks the reports of one whose
// clock was set back. It returns from when on what is missing before the message may have been observed.
func (r *Reports) doubt(ctx context.Context, e *exporter, domain uint32, h heard, told []report,
) (since time.Time, err error) {
	d := e.doubts[domain]
	begins := d == nil
	if begins {
		if len(e.doubts) == ipfix.MaxDomains {
			return h.until, nil // the decoder has none of it either
		}
		d = &doubt{}
		e.doubts[domain] = d
	}
	disorder, end := r.drops.disorder(), h.until
	if h.until.Add(time.Second + disorder).Before(d.latest) { // exports are told to the second
		for i := range told {
			told[i].Unsynchronised = true
		}
		end = d.heard.until.Add(h.at.Sub(d.heard.at)) // until then its clock may have been as it was
	}
	if h.until.After(d.latest) {
		d.latest = h.until
	}
	if (begins || h.broken) && end.After(d.until) {
		d.until, d.from = end, end
	}
	from := d.from
	since = h.until
	if h.broken && !begins {
		if since = d.lost(h, disorder); since.Before(from) {
			from = since
		}
	}
	d.heard = h
	from = d.first(from, told)
	if from.Equal(d.from) && !from.Equal(d.until) {
		return since, nil
	}
	last := d.until.Add(-1)
	if from.After(last) {
		from = last
	}
	d.from = from
	return since, r.drops.Unheard(ctx, from.UnixNano(), last.UnixNano())
}

// lost is from when on what is missing between the last message and this one may have been observed, by the switch's
// clock, which what was promised may not be: behind what the last one had, or, if its clock was set back in between, as
// long before this one as that is.
func (d *doubt) lost(h heard, disorder time.Duration) time.Time {
	behind := d.heard.until.Add(-time.Second - disorder)
	back := h.until.Add(-time.Second - disorder - h.at.Sub(d.heard.at))
	if back.Before(behind) {
		return back
	}
	return behind
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
