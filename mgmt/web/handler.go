package web

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"tamtam/mgmt/web/recordview"
	"tamtam/mgmt/web/rows"
	"tamtam/tam/query"
)

// Bounds on requests.
const (
	mostRequests = 16 // number of concurrent requests, without listeners
	mostURL      = 4096
	renderTime   = 20 * time.Second
)

//go:embed templates/*.html
var templates embed.FS

//go:embed static
var static embed.FS

// policy is the Content-Security-Policy: all resources are from this server, and none is inline.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// A Page serves the views.
type Page struct {
	cfg   Config
	text  map[string]*template.Template // by view
	busy  chan struct{}                 // a place for each request
	cache cache
	live  *broadcaster
}

// New returns a page.
func New(cfg Config) (*Page, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Records == nil {
		cfg.Lacks = maps.Collect(maps.All(cfg.Lacks)) // a copy
		cfg.Lacks["/records"] = "the page of a switch has the records of its high-frequency telemetry."
	}
	p := &Page{cfg: cfg, text: map[string]*template.Template{}, busy: make(chan struct{}, mostRequests)}
	p.cache.store, p.cache.now = cfg.Store, time.Now
	p.live = newBroadcaster(p, cmp.Or(cfg.Listeners, DefaultListeners))
	base, err := template.New("base.html").Funcs(p.functions()).ParseFS(templates, "templates/base.html",
		"templates/charts.html")
	if err != nil {
		return nil, err
	}
	for _, v := range views {
		t, err := base.Clone()
		if err == nil {
			_, err = t.ParseFS(templates, "templates/"+v.name+".html")
		}
		if err != nil {
			return nil, err
		}
		p.text[v.name] = t
	}
	return p, nil
}

// A view is one kind of page.
type view struct {
	path, name, title string
	nav               string   // the view's word in the navigation; empty if the view is not in it
	params            []string // parameters, without those of a filter
	filters           bool     // true if a filter selects the rows
	of                []rows.RowKind
	data              func(*Page, *request) (any, error)
}

// views lists all views.
var views = []view{
	{"/", "network", "Network", "Network", []string{"since", "page"},
		false, []rows.RowKind{rows.StampRows, rows.MarkRows}, (*Page).network},
	{"/time", "time", "Over time", "Time", []string{"since", compareParam, "page"},
		true, []rows.RowKind{rows.StampRows, rows.DropRows, rows.MarkRows, rows.PacketRows}, (*Page).over},
	{"/load", "load", "Load over time", "Load", []string{"since", compareParam, "page"},
		true, nil, (*Page).loads},
	{"/totals", "totals", "Totals of sketches over time", "", []string{"since", compareParam, "page"},
		true, nil, (*Page).totals},
	{"/flows", "flows", "Flows", "Flows", []string{"since", "q", "page"},
		true, []rows.RowKind{rows.StampRows}, (*Page).flows},
	{"/flow", "flow", "A flow's path", "", []string{"since", "flow", "path"},
		false, []rows.RowKind{rows.StampRows}, (*Page).flow},
	{"/packets", "packets", "Packets", "Packets", []string{"since", "q", "end", "page"},
		true, []rows.RowKind{rows.PacketRows}, (*Page).packets},
	{"/packet", "packet", "A packet's path", "", []string{"since", "key", "time", "at"},
		false, []rows.RowKind{rows.PacketRows}, (*Page).packet},
	{"/drops", "drops", "Drops", "Drops", []string{"since", "source", "reason", "switch", "rule", "page"},
		true, []rows.RowKind{rows.DropRows}, (*Page).dropped},
	{"/marking", "marking", "Alternate marking", "Marking", []string{"since", "q", "page"},
		false, []rows.RowKind{rows.MarkRows}, (*Page).marking},
	{"/periods", "periods", "Periods", "", []string{"since", "flow", "cluster", "from", "to", "page"},
		true, []rows.RowKind{rows.MarkRows}, (*Page).periods},
	{"/alarms", "alarms", "Alarms of alternate marking", "Alarms", []string{"since", "page"},
		false, []rows.RowKind{rows.MarkRows}, (*Page).alarms},
	{"/records", "records", "High-frequency telemetry", "Records", []string{"since", "group", "object"},
		false, nil, func(p *Page, q *request) (any, error) {
			v, err := recordview.New(p.cfg.Records, q.values)
			return v, found(err)
		}},
	{storedPath, "stored", "Stored rows", "Stored", []string{"since", "kind", "show", "page"},
		true, []rows.RowKind{rows.StampRows, rows.DropRows}, (*Page).stored},
	{"/sketches", "sketches", "Sketches", "Sketches", []string{"since", "task", "switch", "page"},
		false, nil, (*Page).sketched},
	{"/switches", "switches", "Switches", "Switches", []string{"since", "page"},
		false, nil, (*Page).switches},
	{"/switch", "switch", "A switch", "", []string{"since", "name", "status", "page"},
		false, nil, (*Page).oneSwitch},
	{"/sources", "sources", "Sources", "Sources", []string{"since", "page"},
		false, nil, (*Page).sources},
}

// A problem is an error of a request, with its HTTP code.
type problem struct {
	code int
	why  string
}

// Error implements error.
func (p *problem) Error() string { return p.why }

func wrong(format string, args ...any) error {
	return &problem{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

func missing(format string, args ...any) error {
	return &problem{http.StatusNotFound, fmt.Sprintf(format, args...)}
}

// found returns the problem that something requested does not exist, or nil.
func found(err error) error {
	if err != nil {
		return missing("%v", err)
	}
	return nil
}

// ServeHTTP implements http.Handler.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		p.fail(w, r, &problem{http.StatusMethodNotAllowed, r.Method + ": this page is only read, by GET and HEAD"})
		return
	}
	if len(r.URL.RequestURI()) > mostURL {
		p.fail(w, r, &problem{http.StatusRequestURITooLong, fmt.Sprintf("the address is longer than %d bytes", mostURL)})
		return
	}
	ctx, leave, err := p.enter(r)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	defer leave()
	if r = r.WithContext(ctx); r.URL.Path == EventsPath {
		p.live.serve(w, r)
		return
	}
	select {
	case p.busy <- struct{}{}:
		defer func() { <-p.busy }()
	default:
		h.Set("Retry-After", "1")
		p.fail(w, r, &problem{http.StatusServiceUnavailable, "too many requests at a time: try again"})
		return
	}
	if err := p.answer(w, r); err != nil {
		p.fail(w, r, err)
	}
}

func (p *Page) enter(r *http.Request) (context.Context, func(), error) {
	if p.cfg.Enter == nil {
		return r.Context(), func() {}, nil
	}
	return p.cfg.Enter(r)
}

// answer writes the requested page as a whole, or returns an error.
func (p *Page) answer(w http.ResponseWriter, r *http.Request) error {
	if slices.Contains([]string{"/page.css", "/page.js", "/icon.svg"}, r.URL.Path) {
		w.Header().Set("Cache-Control", "max-age=300")
		http.ServeFileFS(w, r, static, "static"+r.URL.Path)
		return nil
	}
	if r.URL.Path == "/records.json" && p.cfg.Records != nil {
		return found(recordview.Serve(w, r, p.cfg.Records))
	}
	path, format := r.URL.Path, ""
	if dot := strings.LastIndexByte(path, '.'); dot >= 0 && formats[path[dot:]] != "" {
		path, format = path[:dot], path[dot:]
	}
	for i := range views {
		if v := &views[i]; v.path == path && (format == "" || v.filters) {
			return p.show(w, r, v, format)
		}
	}
	return missing("%s: there is no such page", r.URL.Path)
}

// show answers with a view, or with its rows in another format.
func (p *Page) show(w http.ResponseWriter, r *http.Request, v *view, format string) error {
	ctx, cancel := context.WithTimeout(r.Context(), renderTime)
	defer cancel()
	q, err := p.request(ctx, r.URL, v)
	if err != nil {
		return err
	}
	q.format, q.lacks = format, p.cfg.Lacks
	f := &frame{Title: v.title, View: v, Site: p.cfg.Title, Note: p.cfg.Note, Q: q, Store: p.cfg.Store != nil,
		Finished: !p.cfg.Zero.IsZero(), Own: p.cfg.Own, Alarms: p.cfg.Alarms != nil,
		Scans: p.cfg.Scanner != nil, Lack: p.cfg.Lacks[v.path], lacks: p.cfg.Lacks,
		Troubles: p.troubles()}
	if f.Lack == "" {
		if f.Data, err = v.data(p, q); err == nil {
			err = q.unsorted()
		}
	}
	code := http.StatusOK
	var bad *query.Error
	switch {
	case errors.As(err, &bad) && format == "": // the page shows it beside the filter
		code, f.Error = http.StatusBadRequest, err.Error()
	case err != nil:
		return err
	case format != "":
		return send(w, q)
	}
	f.Form = q.Form()
	f.of(q.snap, p.cfg.Now())
	if f.Own {
		list, err := p.allSwitches(q)
		if err != nil {
			return err
		}
		for i := range list {
			f.Site = list[i].Name
			f.Troubles = append(f.Troubles, list[i].Troubles...)
		}
	}
	return write(w, code, func(b io.Writer) error { return p.text[v.name].Execute(b, f) })
}

func (p *Page) troubles() []string {
	if p.cfg.Troubles == nil {
		return nil
	}
	return p.cfg.Troubles()
}

// write sends the output of a template as a whole, or returns an error.
func write(w http.ResponseWriter, code int, execute func(io.Writer) error) error {
	var b bytes.Buffer
	if err := execute(&b); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write(b.Bytes()) // the client may have disconnected
	return nil
}

// fail answers with an error page.
func (p *Page) fail(w http.ResponseWriter, r *http.Request, err error) {
	code, why := http.StatusInternalServerError, err.Error()
	var bad *problem
	var filter *query.Error
	var refusal *Refusal
	var unready *Unready
	switch {
	case errors.As(err, &bad):
		code = bad.code
	case errors.As(err, &filter):
		code = http.StatusBadRequest
	case errors.As(err, &refusal):
		if code = refusal.Code; code == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Basic realm="tamtam", charset="UTF-8"`)
		}
	case errors.As(err, &unready):
		w.Header().Set("Retry-After", "2")
		code = http.StatusServiceUnavailable
	case errors.Is(err, context.DeadlineExceeded):
		code, why = http.StatusServiceUnavailable, "reading the rows took too long: ask for a shorter time"
	}
	// A refused client gets no navigation.
	f := &frame{Title: http.StatusText(code), Site: p.cfg.Title, Error: why, Closed: refusal != nil,
		Own: p.cfg.Own, Alarms: p.cfg.Alarms != nil, Scans: p.cfg.Scanner != nil,
		lacks: p.cfg.Lacks}
	if f.Closed {
		f.Site = "a page with a login" // hide the title of the page
	}
	err = write(w, code, func(b io.Writer) error { return p.text["network"].ExecuteTemplate(b, "base.html", f) })
	if err != nil {
		http.Error(w, why, code)
	}
}
