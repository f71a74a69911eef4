package web

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tamtam/collector/result"
	"tamtam/mgmt/web/rows"
)

// A span is a time range that can be requested.
type span struct {
	Word, Text string
	length     time.Duration // 0 means all
	from, to   int64         // a chosen range, in ns since 1970; 0 if none is chosen
}

var spans = []span{
	{Word: "1m", Text: "last minute", length: time.Minute},
	{Word: "10m", Text: "last 10 minutes", length: 10 * time.Minute},
	{Word: "1h", Text: "last hour", length: time.Hour},
	{Word: "1d", Text: "last day", length: 24 * time.Hour},
	{Word: "all", Text: "all that is kept"},
}

// rowsOfPage is the number of rows of a table that one page shows.
const rowsOfPage = 50

// A request is a parsed request, with the rows of its time range.
type request struct {
	ctx    context.Context
	view   *view
	values url.Values
	Since  string
	other  *span         // the shown time if it is none of [spans]
	begins int64         // time before which there are no rows: the begin of a simulation, or 0
	shown  rows.Interval // the time of the view's series
	snap   *rows.Snapshot
	now    time.Time
	number int // number of the page, from 1
	pages  *pager
	format string // ending of the path: an export; empty for the page itself
	// grouped is true if the page shows groups of the rows
	grouped bool
	sorted  []string          // names of the tables that were sorted, see columns
	chosen  listing           // the rows that a filter selects; nil if the view has none
	lacks   map[string]string // Config.Lacks
}

// request parses the parameters of an address.
func (p *Page) request(ctx context.Context, u *url.URL, v *view) (*request, error) {
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, wrong("the address behind ? cannot be read: %v", err)
	}
	for name, list := range values {
		if params := v.parameters(); !slices.Contains(params, name) {
			return nil, wrong("%s has no parameter %.40q: there are %s", v.path, name, strings.Join(params, ", "))
		}
		if len(list) != 1 {
			return nil, wrong("parameter %s is there %d times: want it once", name, len(list))
		}
	}
	q := &request{ctx: ctx, view: v, values: values, Since: "10m", number: 1, now: p.cfg.Now()}
	switch {
	case !p.cfg.Zero.IsZero():
		q.Since, q.begins = "all", p.cfg.Zero.UnixNano()
	case v.path == storedPath:
		q.Since = usualOfStored
	}
	if s := values.Get("since"); s != "" {
		q.Since = s
	}
	s, err := q.span()
	if err != nil {
		return nil, err
	}
	if text := values.Get("page"); text != "" {
		if q.number, err = strconv.Atoi(text); err != nil || q.number < 1 {
			return nil, wrong("page=%.40q: want a number from 1 on", text)
		}
	}
	if v.path == storedPath {
		q.snap = &rows.Snapshot{}
		return q, nil
	}
	q.snap, err = p.cache.get(ctx, s, q.now)
	if err == nil && values.Get("since") == "" && s.from == 0 && q.snap.Others { // show the time that has rows
		q.Since = spans[len(spans)-1].Word
		q.snap, err = p.cache.get(ctx, spans[len(spans)-1], q.now)
	}
	return q, err
}

// span returns the requested range of time.
func (q *request) span() (span, error) {
	after, before := q.get("after"), q.get("before")
	if after == "" && before == "" {
		after, before, _ = strings.Cut(q.Since, "-") // as the form for the time has it
	}
	if before != "" || q.get("after") != "" {
		from, fromErr := strconv.ParseInt(after, 10, 64)
		to, toErr := strconv.ParseInt(before, 10, 64)
		if fromErr != nil || toErr != nil || from < 0 || from >= to {
			return span{}, wrong("after=%.40q, before=%.40q: want two times in ns since 1970, the earlier one first", after,
				before)
		}
		q.Since = after + "-" + before
		q.other = &span{Word: q.Since, Text: "the chosen range", from: from, to: to}
		return *q.other, nil
	}
	i := slices.IndexFunc(spans, func(s span) bool { return s.Word == q.Since })
	if i < 0 {
		return span{}, wrong("since=%.40q: want 1m, 10m, 1h, 1d or all", q.Since)
	}
	return spans[i], nil
}

// Path returns the path of the view.
func (q *request) Path() string { return q.view.path }

// get returns a parameter, or "" if it is not given.
func (q *request) get(name string) string { return q.values.Get(name) }

// Link returns the address of a view with the requested time range and parameters NAME, VALUE, ...
func (q *request) Link(path string, pairs ...string) string {
	v := url.Values{}
	for _, k := range []string{"since", "after", "before"} {
		if s := q.values.Get(k); s != "" {
			v.Set(k, s)
		}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			v.Set(pairs[i], pairs[i+1])
		}
	}
	if len(v) == 0 {
		return path
	}
	return path + "?" + v.Encode()
}

// With returns the address of this page with a parameter changed.
func (q *request) With(name, value string) string {
	v := url.Values{}
	for k, list := range q.values {
		if k != "page" {
			v[k] = list
		}
	}
	v.Set(name, value)
	if value == "" || name == "page" && value == "1" {
		v.Del(name)
	}
	if len(v) == 0 {
		return q.view.path
	}
	return q.view.path + "?" + v.Encode()
}

// A pager describes the pages of a table.
type pager struct {
	What              string // name of the rows
	Page, Pages, Rows int
	First, Last       int // rows that are shown, from 1
	Before, Next      string
}

// Form returns the filter of the view with its outcome, or nil if the view has none.
func (q *request) Form() *queryForm {
	if q.chosen == nil {
		return nil
	}
	return q.chosen.form(q)
}

// pageOf returns the part of a list that this page shows. That is nothing if it shows groups.
func pageOf[T any](q *request, list []T) ([]T, error) {
	if q.grouped {
		return nil, nil
	}
	return onPage(q, list)
}

func onPage[T any](q *request, list []T) ([]T, error) {
	g := &pager{What: "Rows", Page: q.number, Pages: max(1, (len(list)+rowsOfPage-1)/rowsOfPage), Rows: len(list)}
	if g.Page > g.Pages {
		return nil, missing("page=%d: there are %d pages", g.Page, g.Pages)
	}
	from := (g.Page - 1) * rowsOfPage
	to := min(len(list), from+rowsOfPage)
	g.First, g.Last = from+1, to
	if g.Page > 1 {
		g.Before = q.With("page", strconv.Itoa(g.Page-1))
	}
	if g.Page < g.Pages {
		g.Next = q.With("page", strconv.Itoa(g.Page+1))
	}
	q.pages = g
	return list[from:to], nil
}

// A frame is the page around a view.
type frame struct {
	Title, Site, Note string
	View              *view
	Q                 *request
	Store, Own        bool
	Finished          bool   // true if no further rows will come
	Alarms            bool   // true if there are alarm rules
	Scans             bool   // true if rows are stored that can be scanned
	Lack              string // why the view has no data
	lacks             map[string]string
	Error             string
	Form              *queryForm
	Closed            bool // true if the client was refused
	Data              any

	Age    string
	Stale  bool
	Latest int64
	Ahead  bool // true if all rows are ahead of now
	Others bool // true if there are only rows of other times
	Left   []string

	Troubles []string // of the store, or of the page's own switch
}

// of sets the fields that describe the quality of all rows together.
func (f *frame) of(s *rows.Snapshot, now time.Time) {
	f.Latest, f.Others = s.Latest, s.Others
	if s.Latest > 0 {
		f.Latest = min(s.Latest, now.UnixNano()) // windows may end later
		age := now.Sub(time.Unix(0, s.Latest))
		f.Age, f.Stale = ageText(age), age > rows.StaleAfter
	}
	if s.Ahead > 0 {
		f.Ahead = s.Latest == 0
		f.Troubles = append(f.Troubles, fmt.Sprintf("rows are of times up to %s later than now: a clock is ahead, and how "+
			"old they are is unknown", ageText(time.Unix(0, s.Ahead).Sub(now))))
	}
	if s.Unread != "" {
		f.Troubles = append(f.Troubles, "rows are missing: "+s.Unread)
	}
	f.Troubles = append(f.Troubles, s.Lacks...)
	if s.Stopped {
		f.Left = append(f.Left, fmt.Sprintf("only the first %s rows of this time were read: later ones are missing, "+
			"ask for a shorter time", count(int64(s.Rows))))
	}
	for _, kind := range sortedKeys(s.Left) {
		f.Left = append(f.Left, fmt.Sprintf("%s rows of %s left out for room", count(s.Left[kind]), kind))
	}
}

// Nav returns the views of the navigation, without those that cannot have data here.
func (f *frame) Nav() (list []view) {
	for _, v := range views {
		series := map[bool]string{false: "load", true: "time"}[f.Own] // which Time links to, or the switch has no rows for
		if v.nav != "" && (f.Alarms || v.name != "alarms") && (f.Scans || v.path != storedPath) &&
			v.name != series && f.lacks[v.path] == "" {
			list = append(list, v)
		}
	}
	return list
}

// parameters returns all parameters of the view.
func (v *view) parameters() []string {
	all := append(slices.Clone(v.params), "after", "before")
	if v.filters {
		return append(all, queryParams...)
	}
	return append(all, "sort")
}

// Word returns the view's word in the navigation.
func (v view) Word() string { return v.nav }

// Path returns the path of the view.
func (v view) Path() string { return v.path }

// parents maps views to the navigation entry that they belong to.
var parents = map[string]string{
	"/load": "/time", "/totals": "/time", "/flow": "/flows", "/packet": "/packets", "/periods": "/marking",
	"/switch": "/switches",
}

// Current returns "page" for the navigation entry of this page, "true" for its parent's, and "" otherwise.
func (f *frame) Current(path string) string {
	switch {
	case f.View == nil:
		return ""
	case f.View.path == path:
		return "page"
	case parents[f.View.path] == path:
		return "true"
	}
	return ""
}

// Spans returns the time ranges to choose from.
func (f *frame) Spans() []span {
	if f.Q.other != nil {
		return append([]span{*f.Q.other}, spans...)
	}
	return spans
}

// Timed reports whether the view depends on the chosen time. Most views of a switch show its present state.
func (f *frame) Timed() bool {
	return !f.Own || f.View != nil && slices.Contains([]string{"/load", "/totals"}, f.View.path)
}

// Pages returns the pager of the table, or nil if there is none.
func (f *frame) Pages() *pager { return f.Q.pages }

// Keeps returns the parameters that stay when another time range is chosen.
func (f *frame) Keeps() (list [][2]string) {
	for _, k := range sortedKeys(f.Q.values) {
		if k != "since" && k != "page" && k != "after" && k != "before" {
			list = append(list, [2]string{k, f.Q.values.Get(k)})
		}
	}
	return list
}

// Flagged returns why rows of the page may be inexact.
func (f *frame) Flagged() []string {
	var flags result.Flags
	for _, kind := range f.View.of {
		flags |= f.Q.snap.Flags[kind]
	}
	return rows.FlagWords(flags)
}
