package marks

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"time"
)

// resultJSON is the JSON form of a result, without unknown values.
type resultJSON struct {
	Path          string   `json:"path"`
	From          string   `json:"from"`
	To            string   `json:"to"`
	Period        uint64   `json:"period"`
	Start         string   `json:"start"` // seconds since 1970
	Status        string   `json:"status"`
	Reasons       []string `json:"reasons,omitempty"`
	Revised       bool     `json:"revised,omitempty"`
	Sent          *uint64  `json:"sent,omitempty"`
	Received      *uint64  `json:"received,omitempty"`
	SentBytes     *uint64  `json:"sent_bytes,omitempty"`
	ReceivedBytes *uint64  `json:"received_bytes,omitempty"`
	Lost          *int64   `json:"lost,omitempty"`
	Delay         *int64   `json:"delay_ns,omitempty"`
	RawDelay      *int64   `json:"raw_delay_ns,omitempty"`
	Jitter        *int64   `json:"jitter_ns,omitempty"`
	windowJSON
	meanJSON
}

type windowJSON struct {
	Delays    int    `json:"window_delays,omitempty"`
	MinDelay  *int64 `json:"window_min_delay_ns,omitempty"`
	MeanDelay *int64 `json:"window_mean_delay_ns,omitempty"`
	MaxDelay  *int64 `json:"window_max_delay_ns,omitempty"`
}

type meanJSON struct {
	BlockDelay   *int64 `json:"mean_delay_ns,omitempty"`
	DelaySum     string `json:"delay_sum_ns,omitempty"` // exact sum over all received packets
	BlockUnknown string `json:"mean_delay_unknown,omitempty"`
}

func (r Result) json() resultJSON {
	j := resultJSON{
		Path: r.Path, From: r.From, To: r.To, Period: r.Period, Start: r.Start.String(),
		Status: r.Status.String(), Reasons: r.Reasons, Revised: r.Revised,
	}
	j.Delays = r.Window.Count
	if r.Counted {
		j.Sent, j.Received, j.SentBytes, j.ReceivedBytes = &r.Sent, &r.Received, &r.SentBytes, &r.ReceivedBytes
	}
	if r.LossValid {
		j.Lost = &r.Lost
	}
	ns := func(d time.Duration, valid bool) *int64 {
		if !valid {
			return nil
		}
		n := d.Nanoseconds()
		return &n
	}
	j.Delay, j.RawDelay, j.Jitter = ns(r.Delay, r.DelayValid), ns(r.RawDelay, r.RawDelayValid), ns(r.Jitter, r.JitterValid)
	j.BlockDelay, j.BlockUnknown = ns(r.Mean.Delay, r.Mean.Valid), r.Mean.Unknown
	if r.Mean.Valid && r.Mean.RawValid {
		j.DelaySum = r.Mean.Sum.String()
	}
	some := r.Window.Count > 0
	j.MinDelay, j.MeanDelay, j.MaxDelay = ns(r.Window.Min, some), ns(r.Window.Mean, some), ns(r.Window.Max, some)
	return j
}

// MarshalJSON omits unknown values. Durations are nanoseconds.
func (r Result) MarshalJSON() ([]byte, error) { return json.Marshal(r.json()) }

// csvColumns are the columns of [CSV].
var csvColumns = []string{
	"path", "from", "to", "period", "start", "status", "reasons", "revised",
	"sent", "received", "sent_bytes", "received_bytes", "lost", "delay_ns", "raw_delay_ns", "jitter_ns",
	"window_delays", "window_min_delay_ns", "window_mean_delay_ns", "window_max_delay_ns",
	"mean_delay_ns", "delay_sum_ns", "mean_delay_unknown",
}

// CSV writes results as CSV of RFC 4180, with a header line. Unknown values are empty. Reasons are separated by "; ".
type CSV struct {
	w     *csv.Writer
	begun bool
}

// NewCSV returns a writer to w.
func NewCSV(w io.Writer) *CSV { return &CSV{w: csv.NewWriter(w)} }

// Write writes results and flushes. It returns an error of the writer.
func (c *CSV) Write(results ...Result) error {
	if !c.begun {
		c.begun = true
		if err := c.w.Write(csvColumns); err != nil {
			return err
		}
	}
	for _, r := range results {
		if err := c.w.Write(r.columns()); err != nil {
			return err
		}
	}
	c.w.Flush()
	return c.w.Error()
}

func (r Result) columns() []string {
	j := r.json()
	u := func(n *uint64) string {
		if n == nil {
			return ""
		}
		return strconv.FormatUint(*n, 10)
	}
	i := func(n *int64) string {
		if n == nil {
			return ""
		}
		return strconv.FormatInt(*n, 10)
	}
	return []string{
		j.Path, j.From, j.To, u(&j.Period), j.Start, j.Status, strings.Join(j.Reasons, "; "), strconv.FormatBool(j.Revised),
		u(j.Sent), u(j.Received), u(j.SentBytes), u(j.ReceivedBytes), i(j.Lost), i(j.Delay), i(j.RawDelay), i(j.Jitter),
		strconv.Itoa(j.Delays), i(j.MinDelay), i(j.MeanDelay), i(j.MaxDelay),
		i(j.BlockDelay), j.DelaySum, j.BlockUnknown,
	}
}
