package schema

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"tamtam/tam/altmark"
)

// AltMarkResult is a row of COUNTERS_DB TAM_ALTMARK_RESULTS:path:from:to: what a collector knows
// of the last period of a path between two switches. The whole path has a row, and with more
// than two points each of its segments; from is to for the way there and back. A number that is
// nil is not known: least of all is it zero.
type AltMarkResult struct {
	Path, From, To string // the key
	Period         uint64
	Start          altmark.Time // when the period began
	Status         string       // AltMarkComplete, AltMarkFlagged or AltMarkMissing
	Reasons        string       // why it is not complete, separated by "; "
	Revised        bool         // this result takes the place of another for the period

	Sent, Received, SentBytes, ReceivedBytes *uint64
	Lost                                     *int64 // below zero when packets were duplicated
	Delay, RawDelay, Jitter                  *time.Duration
	Delays                                   uint64 // delays of the last periods that MinDelay to MaxDelay are of
	MinDelay, MeanDelay, MaxDelay            *time.Duration
}

// Statuses of an AltMarkResult.
const (
	AltMarkComplete = "ok"
	AltMarkFlagged  = "flagged"
	AltMarkMissing  = "missing"
)

// Key is the row's key, path:from:to.
func (a AltMarkResult) Key() string { return a.Path + ":" + a.From + ":" + a.To }

// Fields formats the row. Durations are nanoseconds.
func (a AltMarkResult) Fields() map[string]string {
	f := map[string]string{"PERIOD": utoa(a.Period), "START": a.Start.String(), "STATUS": a.Status,
		"REVISED": strconv.FormatBool(a.Revised), "WINDOW_DELAYS": utoa(a.Delays)}
	if a.Reasons != "" {
		f["REASONS"] = a.Reasons
	}
	for field, n := range map[string]*uint64{
		"SENT": a.Sent, "RECEIVED": a.Received, "SENT_BYTES": a.SentBytes, "RECEIVED_BYTES": a.ReceivedBytes,
	} {
		if n != nil {
			f[field] = utoa(*n)
		}
	}
	if a.Lost != nil {
		f["LOST"] = strconv.FormatInt(*a.Lost, 10)
	}
	for field, d := range map[string]*time.Duration{"DELAY": a.Delay, "RAW_DELAY": a.RawDelay, "JITTER": a.Jitter,
		"WINDOW_MIN_DELAY": a.MinDelay, "WINDOW_MEAN_DELAY": a.MeanDelay, "WINDOW_MAX_DELAY": a.MaxDelay} {
		if d != nil {
			f[field] = strconv.FormatInt(d.Nanoseconds(), 10)
		}
	}
	return f
}

// ParseAltMarkResult reads TAM_ALTMARK_RESULTS.
func ParseAltMarkResult(key string, fields map[string]string) (AltMarkResult, error) {
	r := newReader(CountersAltMarkPath, key, fields)
	var a AltMarkResult
	parts := strings.Split(key, ":")
	if len(parts) == 3 && ValidName(parts[0]) && ValidName(parts[1]) && ValidName(parts[2]) {
		a.Path, a.From, a.To = parts[0], parts[1], parts[2]
	} else {
		r.bad("", key, "path:from:to, each "+nameWords)
	}
	const most = 1<<64 - 1
	a.Period, a.Delays = r.number("PERIOD", 0, most, 0), r.number("WINDOW_DELAYS", 0, most, 0)
	if _, ok := r.fields["START"]; ok {
		v := r.text("START")
		var err error
		if a.Start, err = altmark.ParseTime(v); err != nil {
			r.bad("START", cmp.Or(v, empty), "seconds since 1970, a point and nine digits")
		}
	}
	a.Status = r.required("STATUS", []string{AltMarkComplete, AltMarkFlagged, AltMarkMissing})
	a.Reasons, a.Revised = r.text("REASONS"), r.flag("REVISED", false, "true", "false")
	for field, n := range map[string]**uint64{
		"SENT": &a.Sent, "RECEIVED": &a.Received, "SENT_BYTES": &a.SentBytes, "RECEIVED_BYTES": &a.ReceivedBytes,
	} {
		if _, ok := r.fields[field]; ok {
			v := r.number(field, 0, most, 0)
			*n = &v
		}
	}
	a.Lost = r.signed("LOST")
	for field, d := range map[string]**time.Duration{"DELAY": &a.Delay, "RAW_DELAY": &a.RawDelay, "JITTER": &a.Jitter,
		"WINDOW_MIN_DELAY": &a.MinDelay, "WINDOW_MEAN_DELAY": &a.MeanDelay, "WINDOW_MAX_DELAY": &a.MaxDelay} {
		if n := r.signed(field); n != nil {
			v := time.Duration(*n)
			*d = &v
		}
	}
	return a, r.err()
}

// signed takes a decimal number of 64 bits with a sign; nil when the field is absent.
func (r *reader) signed(field string) *int64 {
	if _, ok := r.fields[field]; !ok {
		return nil
	}
	v := r.text(field)
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		r.bad(field, cmp.Or(v, empty), "a whole number of 64 bits")
		return nil
	}
	return &n
}
