// Package webtest checks the requirements on each page, for tests.
package webtest

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// An Outline is the part of a page that the checks need.
type Outline struct {
	ids      map[string]int
	counts   map[string]int // elements by name
	headings []string
	hrefs    []string
	Wrong    []string
}

func (o *Outline) bad(format string, args ...any) {
	o.Wrong = append(o.Wrong, fmt.Sprintf(format, args...))
}

// Check returns the outline of a page, with its errors: landmarks, headings, labels, tables, pictures, addresses, and
// what the Content-Security-Policy would refuse.
func Check(text string) *Outline {
	o := &Outline{ids: map[string]int{}, counts: map[string]int{}}
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		o.bad("%v", err)
		return o
	}
	var refers [][2]string
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		o.counts[n.Data]++
		if id := attr(n, "id"); id != "" {
			o.ids[id]++
		}
		for _, name := range []string{"for", "aria-labelledby", "aria-describedby"} {
			for _, id := range strings.Fields(attr(n, name)) {
				refers = append(refers, [2]string{n.Data + " " + name, id})
			}
		}
		o.element(n)
	}
	for _, r := range refers {
		if o.ids[r[1]] != 1 {
			o.bad("%s=%q: %d elements have this id", r[0], r[1], o.ids[r[1]])
		}
	}
	for id, n := range o.ids {
		if n > 1 {
			o.bad("id %q is there %d times", id, n)
		}
	}
	for name, want := range map[string]int{"main": 1, "header": 1, "footer": 1, "h1": 1, "title": 1} {
		if o.counts[name] < want || name != "title" && o.counts[name] > want {
			o.bad("%d elements %s, want %d", o.counts[name], name, want)
		}
	}
	o.order()
	return o
}

// order checks that no heading level is skipped.
func (o *Outline) order() {
	was := 0
	for _, h := range o.headings {
		level := int(h[1] - '0')
		if level > was+1 {
			o.bad("<%s> behind <h%d>", h, was)
		}
		was = level
	}
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, name string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.TrimSpace(b.String())
}

func child(n *html.Node, name string) *html.Node {
	for c := range n.ChildNodes() {
		if c.Type == html.ElementNode && c.Data == name {
			return c
		}
	}
	return nil
}

func (o *Outline) element(n *html.Node) {
	for _, a := range n.Attr {
		o.attribute(n, a)
	}
	o.structure(n)
	o.control(n)
	o.input(n)
	if strings.Contains(" "+attr(n, "class")+" ", " table ") &&
		(attr(n, "tabindex") != "0" || attr(n, "aria-label") == "") {
		o.bad("a region that may scroll has no name, or cannot be reached by keyboard")
	}
}

// places lists the attributes of a rectangle that must be numbers.
var places = []string{"x", "y", "width", "height"}

func (o *Outline) attribute(n *html.Node, a html.Attribute) {
	if a.Key == "style" || strings.HasPrefix(a.Key, "on") {
		o.bad("<%s %s>: the policy refuses it", n.Data, a.Key)
	}
	if v, err := strconv.ParseFloat(a.Val, 64); n.Data == "rect" && slices.Contains(places, a.Key) &&
		(err != nil || math.IsNaN(v) || math.IsInf(v, 0)) {
		o.bad("<rect %s=%q>: no number", a.Key, a.Val)
	}
	refers := slices.Contains([]string{"src", "href", "action"}, a.Key)
	if refers && !strings.HasPrefix(a.Val, "/") && !strings.HasPrefix(a.Val, "#") || strings.HasPrefix(a.Val, "//") {
		o.bad("<%s %s=%q>: not from here", n.Data, a.Key, a.Val)
	}
}

func (o *Outline) structure(n *html.Node) {
	switch n.Data {
	case "html":
		if attr(n, "lang") == "" {
			o.bad("<html> without lang")
		}
	case "h1", "h2", "h3", "h4", "h5", "h6":
		o.headings = append(o.headings, n.Data)
		if textOf(n) == "" {
			o.bad("empty <%s>", n.Data)
		}
	case "script":
		if attr(n, "src") == "" || textOf(n) != "" {
			o.bad("script in the text")
		}
	case "style", "iframe", "object", "embed", "base":
		o.bad("<%s>", n.Data)
	case "svg":
		o.picture(n)
	case "table":
		o.table(n)
	}
}

func (o *Outline) control(n *html.Node) {
	switch n.Data {
	case "a":
		o.hrefs = append(o.hrefs, attr(n, "href"))
		if textOf(n) == "" && attr(n, "aria-label") == "" {
			o.bad("<a href=%q> says nothing", attr(n, "href"))
		}
	case "nav":
		if attr(n, "aria-label") == "" {
			o.bad("<nav> without a name")
		}
	case "button":
		if textOf(n) == "" {
			o.bad("<button> says nothing")
		}
	case "form":
		if attr(n, "method") != "get" {
			o.bad("<form method=%q>: the page is only read", attr(n, "method"))
		}
	}
}

func (o *Outline) input(n *html.Node) {
	if n.Data != "input" && n.Data != "select" || attr(n, "type") == "hidden" {
		return
	}
	id, top := attr(n, "id"), n
	for top.Parent != nil {
		top = top.Parent
	}
	for l := range top.Descendants() {
		if l.Data == "label" && id != "" && attr(l, "for") == id && textOf(l) != "" {
			return
		}
	}
	o.bad("<%s name=%q> without a label", n.Data, attr(n, "name"))
}

func (o *Outline) picture(n *html.Node) {
	for _, name := range []string{"title", "desc"} {
		if c := child(n, name); c == nil || textOf(c) == "" {
			o.bad("<svg class=%q> without <%s>", attr(n, "class"), name)
		}
	}
	parts := false // true if parts of the picture can have the focus; a reader skips those of role=img
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && (d.Data == "a" || has(d, "tabindex")) {
			parts = true
			if attr(d, "aria-label") == "" {
				o.bad("<%s class=%q> in a picture has no name", d.Data, attr(d, "class"))
			}
		}
	}
	if want := map[bool]string{true: "group", false: "img"}[parts]; attr(n, "role") != want ||
		attr(n, "viewbox")+attr(n, "viewBox") == "" {
		o.bad("<svg class=%q>: want role=%s and a viewBox", attr(n, "class"), want)
	}
}

func (o *Outline) table(n *html.Node) {
	if c := child(n, "caption"); c == nil || textOf(c) == "" {
		o.bad("<table> without caption")
	}
	head, body := child(n, "thead"), child(n, "tbody")
	if head == nil || body == nil {
		o.bad("<table> without head or body")
		return
	}
	columns := 0
	for c := range head.Descendants() {
		if c.Data == "th" {
			columns++
			if attr(c, "scope") != "col" || textOf(c) == "" {
				o.bad("<th> of the head: scope %q, %q", attr(c, "scope"), textOf(c))
			}
		}
	}
	for row := range body.ChildNodes() {
		if row.Data == "tr" {
			o.row(row, columns)
		}
	}
}

func (o *Outline) row(row *html.Node, columns int) {
	cells := 0
	for c := range row.ChildNodes() {
		if c.Type != html.ElementNode {
			continue
		}
		wide := 1
		if has(c, "colspan") {
			_, _ = fmt.Sscan(attr(c, "colspan"), &wide)
		}
		cells += wide
		if c.Data == "th" && attr(c, "scope") != "row" || c.Data == "td" && attr(c, "data-of") == "" {
			o.bad("cell %q: neither a row's header nor told which column's it is", textOf(c))
		}
		if textOf(c) == "" {
			o.bad("cell of %q is empty: want a text for a value that is not known", attr(c, "data-of"))
		}
	}
	if cells != columns {
		o.bad("a row of %d cells under %d headers: %q", cells, columns, textOf(row))
	}
}

// Get requests a page as a client without a script does; change, unless nil, modifies the request.
func Get(t *testing.T, p http.Handler, at string, change func(*http.Request)) (*http.Response, string) {
	t.Helper()
	w := httptest.NewRecorder()
	q := httptest.NewRequestWithContext(t.Context(), http.MethodGet, at, nil)
	if change != nil {
		change(q)
	}
	p.ServeHTTP(w, q)
	r := w.Result()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r, string(text)
}

// Crawl follows every link from the first page on, up to most pages of each view, and checks each page. Exports of rows
// are only requested.
func Crawl(t *testing.T, p http.Handler, most int, change func(*http.Request)) (seen map[string]int) {
	t.Helper()
	seen = map[string]int{}
	done, queue := map[string]bool{"/": true}, []string{"/"}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		u, err := url.Parse(at)
		if err != nil {
			t.Fatal(err)
		}
		if seen[u.Path] == most {
			continue
		}
		seen[u.Path]++
		r, text := Get(t, p, at, change)
		if r.StatusCode != http.StatusOK {
			t.Fatalf("%s, which a page refers to: %s\n%s", at, r.Status, text)
		}
		if !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") {
			continue // an export
		}
		o := Check(text)
		for _, why := range o.Wrong {
			t.Errorf("%s: %s", at, why)
		}
		if t.Failed() {
			t.Fatal("the rest is not looked at")
		}
		for _, h := range o.hrefs {
			if id, ok := strings.CutPrefix(h, "#"); ok {
				if o.ids[id] != 1 {
					t.Errorf("%s: no place %s", at, h)
				}
				continue
			}
			next, err := url.Parse(h)
			if err != nil {
				t.Fatalf("%s: %v", at, err)
			}
			if !done[h] && seen[next.Path] < most {
				done[h] = true
				queue = append(queue, h)
			}
		}
	}
	return seen
}
