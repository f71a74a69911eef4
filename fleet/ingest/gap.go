package ingest

import (
	"context"
	"time"

	"tamtam/tam/ipfix"
)

// A gap tracks which reports an observation domain may have sent before the collector received it. A message contains
// everything observed before its export time, in whole seconds, unless an earlier message had it. So observations
// before the export time of the first message may have been reported earlier, and lost. Later ones were not.
type gap struct {
	until    time.Time // observations before this time may be missing
	from     time.Time // start of the missing time that was reported to the partitions
	received received  // description of the last message
	latest   time.Time // maximum heard.until of all messages
}

// received describes a message: its arrival, the end of the time that it covers, its number, whether it arrived late,
// and whether messages before it are missing.
type received struct {
	at, until time.Time
	number    uint32
	late      bool
	broken    bool
}

// goesBack reports whether a message has a lower number than the one before, or follows one that was late. Its exporter
// may have restarted, so that the decoder cannot count what is missing.
func (d *gap) goesBack(h received) bool {
	return d != nil && (h.late || d.received.late || int32(h.number-d.received.number) < 0)
}

// gapOf reports to the partitions which times of a domain's reports are uncertain. That concerns the time before its
// first message, and before a message with a gap. It also concerns times before those already reported, if later
// messages report them. Reports of an exporter whose clock was set back are flagged. since is the earliest time at
// which reports missing before the message may have been observed.
func (r *Reports) gapOf(ctx context.Context, e *exporter, domain uint32, h received, reports []report,
) (since time.Time, err error) {
	d := e.gaps[domain]
	begins := d == nil
	if begins {
		if len(e.gaps) == ipfix.MaxDomains {
			return h.until, nil // the decoder ignores it, too
		}
		d = &gap{}
		e.gaps[domain] = d
	}
	disorder, end := r.drops.disorder(), h.until
	if h.until.Add(time.Second + disorder).Before(d.latest) { // export times have a resolution of one second
		for i := range reports {
			reports[i].Unsynchronised = true
		}
		end = d.received.until.Add(h.at.Sub(d.received.at)) // until then the clock may have been unchanged
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
	d.received = h
	from = d.first(from, reports)
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

// lost returns the earliest time, by the switch's clock, at which reports missing between the last message and this one
// may have been observed. It may be before the watermark. Usually it is the end of the time that the last message
// covers, less a tolerance. If the clock was set back in between, it is as long before this message as that one is.
func (d *gap) lost(h received, disorder time.Duration) time.Time {
	behind := d.received.until.Add(-time.Second - disorder)
	back := h.until.Add(-time.Second - disorder - h.at.Sub(d.received.at))
	if back.Before(behind) {
		return back
	}
	return behind
}

// first returns the minimum of a time and the times of uncertain reports.
func (d *gap) first(from time.Time, reports []report) time.Time {
	for i := range reports {
		if at := reports[i].at; at.Before(d.until) && at.Before(from) {
			from = at
		}
	}
	return from
}
