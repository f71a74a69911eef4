package restconf

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// A view is the part of a resource to show (RFC 8040, section 4.8).
type view struct {
	content gpb.GetRequest_DataType
	depth   int // 0 means all levels
}

// parseView parses the parameters of a GET.
func parseView(query string) (view, *problem) {
	var v view
	values, p := parameters(query, "content", "depth", "with-defaults")
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
	if d, given := values["with-defaults"]; given && d != "report-all" {
		return v, invalid("with-defaults %q: want report-all, which is what is done", shown(d))
	}
	return v, nil
}

// parameters parses a query that may have the known parameters, each once.
func parameters(query string, known ...string) (map[string]string, *problem) {
	values, err := url.ParseQuery(query)
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
