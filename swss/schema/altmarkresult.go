package schema

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tamtam/tam/altmark"
)

// AltMarkResult is a row of COUNTERS_DB TAM_ALTMARK_RESULTS:path:from:to: a collector's result for the last period of a
// path between two switches. The whole path has a row. If the path has more than two points, each of its segments has a
// row too. If from equals to, the row is for the round trip. For a graph, from and to are the switches of either side,
// separated by +. A nil number is unknown, which differs from zero.
type AltMarkResult struct {
	Path, From, To string // the key
	Period         uint64
	Start          altmark.Time // start of the period
	Status         string       // AltMarkComplete, AltMarkFlagged or AltMarkMissing
	Reasons        string       // reasons why Status is not AltMarkComplete, separated by "; "
	Revised        bool         // true if this result replaces an earlier one for the period

	Sent, Received, SentBytes, ReceivedBytes *uint64
	Lost                                     *int64 // below zero when packets were duplicated
	Delay, RawDelay, Jitter                  *time.Duration
	AltMarkWindow

	// BlockDelay is the mean delay of all packets of the period, rounded to ns. DelaySum is the sum of the delays of
	// all Received packets. If sessions request the mean delay and it is unknown, BlockUnknown holds the reason.
	BlockDelay   *time.Duration
	DelaySum     *altmark.Sum
	BlockUnknown string
}

// AltMarkWindow summarises the delays of the last periods.
type AltMarkWindow struct {
	Delays                        uint64 // number of delays
	MinDelay, MeanDelay, MaxDelay *time.Duration
}

// Statuses of an AltMarkResult.
const (
	AltMarkComplete = "ok"
	AltMarkFlagged  = "flagged"
	AltMarkMissing  = "missing"
)

// Key returns the row's key, path:from:to.
func (a AltMarkResult) Key() string { return a.Path + ":" + a.From + ":" + a.To }

func (a *AltMarkResult) layout() layout {
	return layout{
		table: CountersAltMarkPath, open: true,
		key: key{form: "path:from:to", read: func(r *reader, key string) {
			parts := strings.Split(key, ":")
			if len(parts) != 3 || !ValidName(parts[0]) || !validEnds(parts[1]) || !validEnds(parts[2]) {
				r.bad("", key, "path:from:to, each "+nameWords+"; from and to may be up to 256 of these with a + between them")
				return
			}
			a.Path, a.From, a.To = parts[0], parts[1], parts[2]
		}},
		fields: []field{
			count("PERIOD", &a.Period, "Number of the period.").metric("altmark_path_period", ""),
			count("WINDOW_DELAYS", &a.Delays, "Delays of the last periods that WINDOW_MIN_DELAY and so on are of.").
				leaf("window/delays"),
			own("START", timeForm, "When the period began.", func(r *reader) {
				if _, ok := r.fields["START"]; !ok {
					return
				}
				v := r.text("START")
				var err error
				if a.Start, err = altmark.ParseTime(v); err != nil {
					r.bad("START", cmp.Or(v, empty), timeForm)
				}
			}, func() string { return a.Start.String() }),
			word("STATUS", "", altMarkStatuses, &a.Status, "Whether the result is whole.").must(oneOf(altMarkStatuses)).
				metric("altmark_path_status", ""),
			text("REASONS", &a.Reasons, "Why it is not, separated by ;."),
			boolean("REVISED", false, &a.Revised, "Whether it takes the place of another for the period."),
			known("SENT", &a.Sent, "Packets at the first point.").leaf("sent-packets").metric("altmark_path_packets", "first"),
			known("RECEIVED", &a.Received, "Packets at the last point.").leaf("received-packets").
				metric("altmark_path_packets", "last"),
			known("SENT_BYTES", &a.SentBytes, "Their bytes at the first point.").leaf("sent-octets"),
			known("RECEIVED_BYTES", &a.ReceivedBytes, "Their bytes at the last point.").leaf("received-octets"),
			signed("LOST", &a.Lost, "Packets lost; below zero when packets were duplicated.").leaf("lost-packets").
				metric("altmark_path_lost_packets", ""),
			signed("DELAY", &a.Delay, "The delay, in ns.").metric("altmark_path_delay_seconds", ""),
			signed("RAW_DELAY", &a.RawDelay, "The delay as the switches' clocks have it, in ns."),
			signed("JITTER", &a.Jitter, "How much the delay differs from the last one, in ns.").
				metric("altmark_path_jitter_seconds", ""),
			signed("MEAN_DELAY", &a.BlockDelay, "The mean delay of all packets of the period, in ns; where mean-delay is true.").
				metric("altmark_path_mean_delay_seconds", ""),
			own("DELAY_SUM", altmark.SumForm, "The sum of their delays, in ns: divided by RECEIVED it is the exact mean.",
				func(r *reader) { readSum(r, "DELAY_SUM", &a.DelaySum) },
				func() string {
					if a.DelaySum == nil {
						return ""
					}
					return a.DelaySum.String()
				}),
			text("MEAN_DELAY_UNKNOWN", &a.BlockUnknown, "Why MEAN_DELAY is not known, where mean-delay is true."),
			signed("WINDOW_MIN_DELAY", &a.MinDelay, "The least of the last delays, in ns.").
				leaf("window/min-delay"),
			signed("WINDOW_MEAN_DELAY", &a.MeanDelay, "Their mean, in ns.").
				leaf("window/mean-delay"),
			signed("WINDOW_MAX_DELAY", &a.MaxDelay, "The greatest of them, in ns.").
				leaf("window/max-delay"),
		},
	}
}

// maxSides is the maximum number of switches on one side of a result.
const maxSides = 256

// validEnds reports whether s can be a side of a result: a switch, or several in a graph.
func validEnds(s string) bool {
	names := strings.Split(s, "+")
	return ValidName(s) || len(names) <= maxSides &&
		!slices.ContainsFunc(names, func(name string) bool { return !ValidName(name) })
}

var altMarkStatuses = []string{AltMarkComplete, AltMarkFlagged, AltMarkMissing}

// readSum reads a sum. It leaves the sum unknown if the field is absent.
func readSum(r *reader, field string, at **altmark.Sum) {
	if _, ok := r.fields[field]; !ok {
		return
	}
	v := r.text(field)
	sum, err := altmark.ParseSum(v)
	if err != nil {
		r.bad(field, cmp.Or(v, empty), altmark.SumForm)
		return
	}
	*at = &sum
}

// signed reads a signed decimal number of 64 bits. It returns nil if the field is absent.
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
