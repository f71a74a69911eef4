// Package recordview draws the records of high-frequency telemetry for the switch's page, each record at its own time.
//
// What belongs here: charts and data of records. Pages and their addresses belong to package web.
package recordview

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tamtam/mgmt/hftrecords"
	"tamtam/tam/hft"
)

// Bounds of a view and of an answer.
const (
	mostCharts = 12
	columns    = 1000 // width of a chart
	height     = 100
	shown      = 1000      // records, if no range is chosen
	mostValues = 1_000_000 // in an answer
)

// A View shows the records of one group.
type View struct {
	Groups   []string
	Group    string
	Objects  []string
	Object   string // whose statistics are shown; empty means all
	Chosen   bool   // true if a range was chosen
	From, To int64  // of the records, in nanoseconds since 1970
	Records  int
	Every    time.Duration // the most frequent gap between two records; 0 if there is none
	Gaps     int           // gaps that are longer
	Merged   int           // the most records that a column of a chart has; up to 1 at full resolution
	Missed   uint64        // records that subscriptions missed
	Charts   []Chart
	Left     int // statistics without a chart
}

// A Chart draws a statistic over time.
type Chart struct {
	Name string
	What string // what the values are
	Most uint64
	None bool   // true if there is no value
	Path string // of an SVG, 1000 wide and 100 high
}

// New returns the view that the parameters of an address select. Without a group, it is the first one. object limits it
// to one object. The records are those between after and before, in nanoseconds since 1970, or the last ones. An error
// names the group or the object.
func New(s *hftrecords.Store, q url.Values) (*View, error) {
	group, object := q.Get("group"), q.Get("object")
	from, _ := strconv.ParseInt(q.Get("after"), 10, 64) // the page has checked both
	to, _ := strconv.ParseInt(q.Get("before"), 10, 64)
	v := &View{Groups: s.Groups(), Group: group, Object: object, Chosen: to != 0}
	switch {
	case group == "" && len(v.Groups) == 0:
		return v, nil
	case group == "":
		v.Group = v.Groups[0]
	case !slices.Contains(v.Groups, group):
		return nil, fmt.Errorf("group=%.80q: no such group streams; there are %s", group, strings.Join(v.Groups, ", "))
	}
	n := math.MaxInt
	if to == 0 {
		n, to = shown, math.MaxInt64
	}
	var all []*series
	of := map[hftrecords.Column]*series{}
	objects := map[string]bool{}
	var times []int64
	for _, b := range s.Since(v.Group, from-1, n) {
		for _, c := range b.Columns {
			if !objects[c.Object] {
				objects[c.Object] = true
				v.Objects = append(v.Objects, c.Object)
			}
			if of[c] == nil && (object == "" || c.Object == object) {
				of[c] = &series{Column: c}
				all = append(all, of[c])
			}
		}
		for i, at := range b.At {
			if at > to {
				break
			}
			if len(times) == 0 || times[len(times)-1] != at { // not another part of the same record
				times = append(times, at)
			}
			for j, value := range b.Record(i) {
				if x := of[b.Columns[j]]; x != nil {
					x.at, x.values = append(x.at, at), append(x.values, value)
				}
			}
		}
	}
	if object != "" && !objects[object] {
		return nil, fmt.Errorf("object=%.80q: %s has no such object; there are %s", object, v.Group,
			strings.Join(v.Objects, ", "))
	}
	v.Missed = s.Counts(v.Group).Missed
	v.measure(times)
	for _, x := range all {
		if len(v.Charts) == mostCharts {
			v.Left++
			continue
		}
		v.Charts = append(v.Charts, v.chart(x))
	}
	return v, nil
}

// measure finds the interval of the records.
func (v *View) measure(times []int64) {
	v.Records = len(times)
	if len(times) == 0 {
		return
	}
	v.From, v.To = times[0], times[len(times)-1]
	counts, most := map[int64]int{}, 0
	for i, at := range times[1:] {
		gap := at - times[i]
		if counts[gap]++; counts[gap] > most {
			most, v.Every = counts[gap], time.Duration(gap)
		}
	}
	for gap, n := range counts {
		if time.Duration(gap) > v.Every*3/2 {
			v.Gaps += n
		}
	}
}

// A series holds the values of a statistic.
type series struct {
	hftrecords.Column
	at     []int64
	values []uint64
}

// chart draws a series. Each value covers the interval up to its record; a counter's is what it counted in this
// interval. Where records are missing, there is nothing. A column of several records has their greatest value.
func (v *View) chart(x *series) Chart {
	c := Chart{Name: x.Object + " " + x.Statistic, None: true, What: map[hft.Kind]string{
		hft.Counter: "counted in", hft.Level: "level at the end of", hft.Watermark: "watermark at the end of"}[x.Kind]}
	var tops [columns]uint64
	var known [columns]bool
	var merged [columns]int
	length := v.To - v.From
	for i := 1; i < len(x.at); i++ {
		gap, value := x.at[i]-x.at[i-1], x.values[i]
		if gap <= 0 || gap > int64(v.Every*3/2) {
			continue
		}
		if x.Kind == hft.Counter {
			if value < x.values[i-1] {
				continue // the counter began again
			}
			value -= x.values[i-1]
		}
		c.None, c.Most = false, max(c.Most, value)
		first := column(x.at[i-1]-v.From, length)
		last := max(column(x.at[i]-v.From, length)-1, first)
		for k := first; k <= min(last, columns-1); k++ {
			tops[k], known[k] = max(tops[k], value), true
		}
		k := min(first, columns-1)
		if merged[k]++; merged[k] > v.Merged {
			v.Merged = merged[k]
		}
	}
	var b strings.Builder
	for k := 0; k < columns; k++ {
		if !known[k] || tops[k] == 0 {
			continue
		}
		from := k
		for k+1 < columns && known[k+1] && tops[k+1] == tops[from] {
			k++
		}
		h := float64(tops[from]) / float64(c.Most) * height
		fmt.Fprintf(&b, "M%d %dv-%.2fh%dv%.2fz", from, height, h, k+1-from, h)
	}
	c.Path = b.String()
	return c
}

// column returns the column of a time since the first record.
func column(since, length int64) int {
	return int(float64(since) / float64(length) * columns)
}

// An Answer is the records of a group as data.
type Answer struct {
	Group   string   `json:"group"`
	Columns []Column `json:"columns"`
	Records []Record `json:"records"`
	// More means that there are more records behind the last one.
	More bool `json:"more"`
}

// A Column is a statistic of an object.
type Column struct {
	Object    string `json:"object"`
	Statistic string `json:"statistic"`
	Kind      string `json:"kind"`
}

// A Record holds the values of the columns at a time; null means that it has none.
type Record struct {
	At     int64     `json:"time_ns"`
	Values []*uint64 `json:"values"`
}

// Serve answers with the records of a group after a time as JSON. An error names the parameter that is wrong.
func Serve(w http.ResponseWriter, r *http.Request, s *hftrecords.Store) error {
	q := r.URL.Query()
	a, err := answer(s, q.Get("group"), q.Get("after"))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(a)
}

func answer(s *hftrecords.Store, group, after string) (a Answer, err error) {
	from := int64(0)
	if after != "" {
		if from, err = strconv.ParseInt(after, 10, 64); err != nil {
			return a, fmt.Errorf("after=%.40q: want a time in ns since 1970", after)
		}
	}
	if groups := s.Groups(); !slices.Contains(groups, group) {
		return a, fmt.Errorf("group=%.80q: no such group streams; there are %s", group, strings.Join(groups, ", "))
	}
	a = Answer{Group: group, Columns: []Column{}, Records: []Record{}}
	blocks, index := s.Since(group, from, math.MaxInt), map[hftrecords.Column]int{}
	for _, b := range blocks {
		for _, c := range b.Columns {
			if _, there := index[c]; !there {
				index[c] = len(a.Columns)
				a.Columns = append(a.Columns, Column{c.Object, c.Statistic, c.Kind.String()})
			}
		}
	}
	for _, b := range blocks {
		for i, at := range b.At {
			n := len(a.Records)
			if n == 0 || a.Records[n-1].At != at {
				if a.More = (n+1)*len(a.Columns) > mostValues && n > 0; a.More {
					return a, nil
				}
				a.Records = append(a.Records, Record{at, make([]*uint64, len(a.Columns))})
				n++
			}
			values := b.Record(i)
			for j := range values {
				a.Records[n-1].Values[index[b.Columns[j]]] = &values[j]
			}
		}
	}
	return a, nil
}
