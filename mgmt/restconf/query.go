package restconf

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// A view is what of a resource is to be shown (RFC 8040, section 4.8).
type view struct {
	content gpb.GetRequest_DataType
	depth   int     // 0: all
	fields  *fields // nil: all
}

// parseView reads the parameters of a GET.
func parseView(query string) (view, *problem) {
	var v view
	values, p := parameters(query, "content", "depth", "fields", "with-defaults")
	if p != nil {
		return v, p
	}
	switch c := values["content"]; c {
	case "", "all":
	case "config":
		v.content = gpb.GetRequest_CONFIG
	case "nonconfig":
		v.content = gpb.GetRequest_STATE
	default:
		return v, invalid("content %q: want config, nonconfig or all", shown(c))
	}
	if d, given := values["depth"]; given && d != "unbounded" {
		n, err := strconv.ParseUint(d, 10, 16)
		if err != nil || n == 0 {
			return v, invalid("depth %q: want 1 to 65535, or unbounded", shown(d))
		}
		v.depth = int(n)
	}
	if f, given := values["fields"]; given {
		if v.fields, p = parseFields(f); p != nil {
			return v, p
		}
	}
	if d, given := values["with-defaults"]; given && d != "report-all" {
		return v, invalid("with-defaults %q: want report-all, which is what is done", shown(d))
	}
	return v, nil
}

// parameters reads a query that may have some parameters, each once.
func parameters(query string, known ...string) (map[string]string, *problem) {
	// ParseQuery does not take ; which is part of fields.
	values, err := url.ParseQuery(strings.ReplaceAll(query, ";", "%3B"))
	if err != nil {
		return nil, invalid("the query: %v", err)
	}
	out := map[string]string{}
	for name, v := range values {
		switch {
		case !slices.Contains(known, name) && len(known) == 0:
			return nil, invalid("parameter %q: this request has none", shown(name))
		case !slices.Contains(known, name):
			return nil, invalid("parameter %q: want %s", shown(name), strings.Join(known, ", "))
		case len(v) > 1:
			return nil, invalid("parameter %s is there %d times, want once", name, len(v))
		}
		out[name] = v[0]
	}
	return out, nil
}

// fields are the children that are to be shown, by name with or without the module: the tree that the parameter
// writes as a(b;c/d);e.
type fields struct {
	whole bool // all that is below
	kids  map[string]*fields
}

// maxFields bounds the names in the parameter fields, and how deep they nest.
const maxFields = 1000

// parseFields reads the parameter (RFC 8040, section 4.8.3).
func parseFields(text string) (*fields, *problem) {
	p := fieldsParser{text: text}
	root := &fields{}
	if !p.expression(root, 0) || p.at != len(text) {
		return nil, invalid("fields %q: byte %d: want names, as in a/b;c(d;e)", shown(text), p.at)
	}
	return root, nil
}

type fieldsParser struct {
	text  string
	at    int
	names int
}

// expression reads what is between parentheses.
func (p *fieldsParser) expression(into *fields, deep int) bool {
	if deep > maxDepth {
		return false
	}
	for {
		at := into
		for {
			name := p.name()
			if p.names++; name == "" || p.names > maxFields {
				return false
			}
			at = at.child(name)
			if !p.take('/') {
				break
			}
		}
		if !p.take('(') {
			at.whole = true
		} else if !p.expression(at, deep+1) || !p.take(')') {
			return false
		}
		if !p.take(';') {
			return true
		}
	}
}

func (p *fieldsParser) take(c byte) bool {
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *fieldsParser) name() string {
	from := p.at
	for p.at < len(p.text) && !strings.ContainsRune("/();", rune(p.text[p.at])) {
		p.at++
	}
	return p.text[from:p.at]
}

func (f *fields) child(name string) *fields {
	if f.kids == nil {
		f.kids = map[string]*fields{}
	}
	if f.kids[name] == nil {
		f.kids[name] = &fields{}
	}
	return f.kids[name]
}
