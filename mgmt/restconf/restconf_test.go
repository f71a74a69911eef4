package restconf

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"tamtam/internal/racetest"
)

// someRows are a port and its measurements.
var someRows = map[string]string{
	"CONFIG_DB PORT|Ethernet0":                 "lanes=0,1,2,3 speed=100000 mtu=9100 admin_status=up",
	"CONFIG_DB PORT|Ethernet4":                 "lanes=4,5,6,7 speed=100000 mtu=9100",
	"CONFIG_DB TAM_COLLECTORS_TABLE|c1":        "ipaddress=10.0.0.9 ipaddress-type=IPv4 port=9070 protocol=UDP",
	"CONFIG_DB TAM_FLOWGROUP_TABLE|f1":         "table-name=TAM id=7",
	"CONFIG_DB ACL_RULE|TAM|f1":                "PRIORITY=100 SRC_IP=13.92.96.32 IN_PORTS=Ethernet0",
	"CONFIG_DB TAM_TAILSTAMPING_TABLE|s1":      "flowgroup=f1",
	"APPL_DB TAM_APPL_SWITCH_TABLE:global":     "op-switch-id=2020 op-enterprise-id=2020",
	"STATE_DB TAM_STATE_FLOWGROUP_TABLE|f1":    "status=active reason= since=2026-01-02T03:04:05Z by=tammgrd",
	"COUNTERS_DB TAM_TAILSTAMPING_COUNTERS:s1": "MATCHED_PACKETS=7656 MATCHED_BYTES=18446744073709551615",
}

// A step is one request and its expected response.
type step struct {
	request string
	body    string
	headers []string
	code    int
	want    string   // the response's body as JSON
	tag     string   // error-tag of the expected error, instead of a body
	words   []string // texts in the body; with the form "Name: text" they are in a header
}

const (
	collectors = "/restconf/data/openconfig-tam:tam/collectors"
	c1         = collectors + "/collector=c1"
	c2         = collectors + "/collector=c2"
	interfaces = "/restconf/data/openconfig-tam:tam/flowgroups/flowgroup=f1/config/interfaces"
	newC2      = `{"openconfig-tam:collector":[{"name":"c2","config":{"name":"c2","ip":"10.0.0.2","port":9071}}]}`
)

// The methods of RFC 8040, section 4, work one after another on one switch.
func TestMethods(t *testing.T) {
	racetest.Stepped(t)
	b := newBed(t)
	b.rows(someRows)
	for _, s := range []step{
		// 3.1: the path and content of the root.
		{request: "GET /.well-known/host-meta", code: 200, words: []string{"<Link rel='restconf' href='/restconf'/>"}},
		{request: "GET /restconf", code: 200,
			want: `{"ietf-restconf:restconf":{"data":{},"operations":{"tamtam-operations:cancel-commit":[null],` +
				`"tamtam-operations:clear-counters":[null],"tamtam-operations:commit":[null],"tamtam-operations:copy":[null],` +
				`"tamtam-operations:list-drops":[null],"tamtam-operations:ping":[null],` +
				`"tamtam-operations:trace-packet":[null],"tamtam-operations:traceroute":[null],` +
				`"tamtam-operations:why-flow":[null]},"yang-library-version":"2019-01-04"}}`},
		{request: "GET /restconf/yang-library-version", code: 200,
			want: `{"ietf-restconf:yang-library-version":"2019-01-04"}`},
		{request: "GET /restconf/nothing", code: 404, tag: "invalid-value"},
		{request: "GET /other", code: 404, tag: "invalid-value"},

		// 4.1 and 4.2: OPTIONS and HEAD.
		{request: "OPTIONS " + c1, code: 204,
			words: []string{"Allow: GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE", "Accept-Patch: application/yang-data+json"}},
		{request: "OPTIONS " + c1 + "/state", code: 204, words: []string{"Allow: GET, HEAD, OPTIONS"}},
		{request: "HEAD " + c1, code: 200, words: []string{"Content-Type: application/yang-data+json", `Etag: "`}},

		// 4.3: GET of an entry, a container, a leaf, a list, a leaf-list, an item, and of missing nodes.
		{request: "GET " + c1 + "/config", code: 200,
			want: `{"openconfig-tam:config":{"name":"c1","ip":"10.0.0.9","port":9070,"protocol":"UDP","encapsulation":"NONE"}}`},
		{request: "GET " + c1 + "/config/port", code: 200, want: `{"openconfig-tam:port":9070}`},
		{request: "GET " + collectors + "/collector?content=config", code: 200,
			want: `{"openconfig-tam:collector":[{"name":"c1","config":{"name":"c1","ip":"10.0.0.9","port":9070,` +
				`"protocol":"UDP","encapsulation":"NONE"}}]}`},
		{request: "GET " + interfaces, code: 200, want: `{"openconfig-tam:interfaces":["Ethernet0"]}`},
		{request: "GET " + interfaces + "=Ethernet0", code: 200, want: `{"openconfig-tam:interfaces":["Ethernet0"]}`},
		{request: "GET " + interfaces + "=Ethernet4", code: 404, tag: "invalid-value"},
		{request: "GET " + c2, code: 404, tag: "invalid-value", words: []string{
			"/openconfig-tam:tam/collectors/collector[name='c2']"}},
		{request: "GET /restconf/data/openconfig-tam:tam/tailstamping-sessions/tailstamping-session=s1/state/counters/" +
			"matched-octets",
			code: 200, want: `{"openconfig-tam:matched-octets":"18446744073709551615"}`},

		// 4.4.1: POST creates a child, once.
		{request: "POST " + collectors, body: newC2, code: 201, words: []string{"Location: " + c2}},
		{request: "POST " + collectors, body: newC2, code: 409, tag: "data-exists"},
		{request: "POST " + collectors, body: `{"openconfig-tam:collector":[{"config":{"ip":"10.0.0.2"}}]}`, code: 400,
			tag:   "missing-element",
			words: []string{"key name"}},
		{request: "POST " + collectors, body: `{"collector":[{"name":"c3"}]}`, code: 400, tag: "invalid-value",
			words: []string{"openconfig-tam:collector"}},
		{request: "POST " + interfaces[:len(interfaces)-len("/interfaces")],
			body: `{"openconfig-tam:interfaces":["Ethernet4"]}`, code: 201,
			words: []string{"Location: " + interfaces + "=Ethernet4"}},
		{request: "GET " + interfaces, code: 200, want: `{"openconfig-tam:interfaces":["Ethernet0","Ethernet4"]}`},

		// 4.5: PUT creates or replaces.
		{request: "PUT " + c2, body: strings.ReplaceAll(newC2, "9071", "9072"), code: 204},
		{request: "GET " + c2 + "/config/port", code: 200, want: `{"openconfig-tam:port":9072}`},
		{request: "PUT " + collectors + "/collector=c3", body: strings.ReplaceAll(newC2, "c2", "c3"), code: 201},
		{request: "PUT " + c2, body: strings.ReplaceAll(newC2, `"c2"`, `"c9"`), code: 400, tag: "invalid-value",
			words: []string{"is not the key"}},
		{request: "PUT " + c2 + "/config/port", body: `{"openconfig-tam:port":9073}`, code: 204},
		{request: "PUT " + c2 + "/config/port", body: `{"openconfig-tam:ip":"10.0.0.1"}`, code: 400, tag: "invalid-value"},
		{request: "PUT " + c2 + "/state", body: `{"openconfig-tam:state":{}}`, code: 405, tag: "operation-not-supported",
			words: []string{"Allow: GET, HEAD, OPTIONS"}},
		{request: "DELETE /restconf/data/openconfig-platform:components", code: 405, tag: "operation-not-supported",
			words: []string{"Allow: GET, HEAD, OPTIONS", "components are what there is"}},
		{request: "DELETE /restconf/data/openconfig-acl:acl/tamtam-acl:tables", code: 405, tag: "operation-not-supported"},
		{request: "PUT " + interfaces + "=Ethernet4", body: `{"openconfig-tam:interfaces":["Ethernet4"]}`, code: 204},

		// 4.6: PATCH merges into an existing resource.
		{request: "PATCH " + collectors,
			body: `{"openconfig-tam:collectors":{"collector":[{"name":"c4","config":{"ip":"10.0.0.4","port":9074}}]}}`,
			code: 204},
		{request: "PATCH " + c2, body: `{"openconfig-tam:collector":[{"name":"c2","config":{"port":9074}}]}`, code: 204},
		{request: "GET " + c2 + "/config/ip", code: 200, want: `{"openconfig-tam:ip":"10.0.0.2"}`},
		{request: "PATCH " + collectors + "/collector=c9", body: strings.ReplaceAll(newC2, "c2", "c9"), code: 404,
			tag: "invalid-value"},
		{request: "PATCH " + c2 + "/config", body: `{"openconfig-tam:config":{"port":99999}}`, code: 400,
			tag:   "invalid-value",
			words: []string{"collector[name='c2']/config/port", "99999"}},
		{request: "PATCH /restconf/data/openconfig-tam:tam/switch/config/switch-id", body: `{"openconfig-tam:switch-id":17}`,
			code: 204},

		// 4.7: DELETE.
		{request: "DELETE " + interfaces + "=Ethernet4", code: 204},
		{request: "GET " + interfaces, code: 200, want: `{"openconfig-tam:interfaces":["Ethernet0"]}`},
		{request: "DELETE " + interfaces + "=Ethernet4", code: 404, tag: "invalid-value"},
		{request: "DELETE " + c2, code: 204},
		{request: "DELETE " + c2, code: 404, tag: "invalid-value"},
		{request: "DELETE " + collectors + "/collector", code: 405, tag: "operation-not-supported",
			words: []string{"collector=name"}},
		{request: "DELETE " + collectors + "/collector=*", code: 404, tag: "invalid-value", words: []string{"wildcard"}},
		{request: "DELETE /restconf/data", code: 405, tag: "operation-not-supported"},
		{request: "DELETE /restconf/data/openconfig-tam:tam/flowgroups/flowgroup=f1", code: 409, tag: "in-use",
			words: []string{"in use by tailstamping-session s1"}},
		{request: "TRACE " + c1, code: 405, tag: "operation-not-supported"},
	} {
		b.check(s)
	}
}

// check executes a step.
func (b *bed) check(s step) {
	b.t.Helper()
	b.t.(*testing.T).Run(s.request, func(t *testing.T) {
		r := b.do(s.request, s.body, s.headers...)
		body := textOf(t, r)
		if r.StatusCode != s.code {
			t.Fatalf("%s, want %d: %s", r.Status, s.code, body)
		}
		switch {
		case s.want != "":
			sameJSON(t, body, s.want)
		case s.tag != "" && !strings.HasPrefix(s.request, "HEAD"):
			if !strings.Contains(body, `"error-tag":"`+s.tag+`"`) {
				t.Errorf("no error-tag %s: %s", s.tag, body)
			}
		}
		for _, w := range s.words {
			name, value, ok := strings.Cut(w, ": ")
			if !strings.Contains(body, w) && (!ok || !strings.Contains(r.Header.Get(name), value)) {
				t.Errorf("no %q in %v %s", w, r.Header, body)
			}
		}
	})
}

// Invalid requests are refused with a clear reason.
func TestBadRequests(t *testing.T) {
	racetest.Stepped(t)
	const twin = `{"name":"c9","config":{"name":"c9","ip":"10.0.0.9","port":1}}`
	b := newBed(t)
	b.rows(someRows)
	before := b.config()
	for _, s := range []step{
		{request: "GET /restconf/data/tam", code: 400, tag: "invalid-value", words: []string{"openconfig-tam:tam"}},
		{request: "GET /restconf/data/openconfig-tam:tam/colectors", code: 404, tag: "invalid-value",
			words: []string{"collectors"}},
		{request: "GET /restconf/data/openconfig-interfaces:tam", code: 404, tag: "invalid-value"},
		{request: "GET " + c1 + "/config/port/x", code: 404, tag: "invalid-value"},
		{request: "GET " + collectors + "/collector/config", code: 404, tag: "invalid-value"},
		{request: "GET " + c1 + ",c2", code: 400, tag: "invalid-value", words: []string{"2 keys, want 1"}},
		{request: "GET " + collectors + "/collector=", code: 400, tag: "invalid-value"},
		{request: "GET " + collectors + "=c1", code: 400, tag: "invalid-value", words: []string{"is no list"}},
		{request: "GET /restconf/data" + strings.Repeat("/a", 100), code: 400, tag: "invalid-value"},
		{request: "GET " + c1 + "?content=everything", code: 400, tag: "invalid-value", words: []string{"nonconfig"}},
		{request: "GET " + c1 + "?depth=0", code: 400, tag: "invalid-value"},
		{request: "GET " + c1 + "?depth=1&depth=2", code: 400, tag: "invalid-value"},
		{request: "GET " + c1 + "?fields=config", code: 400, tag: "invalid-value", words: []string{"want content, depth"}},
		{request: "GET " + c1 + "?with-defaults=trim", code: 400, tag: "invalid-value"},
		{request: "GET " + c1 + "?nothing", code: 400, tag: "invalid-value"},
		{request: "PATCH " + c1 + "?depth=1", body: `{}`, code: 400, tag: "invalid-value"},
		{request: "GET " + c1, headers: []string{"Accept: application/yang-data+xml"}, code: 406, tag: "invalid-value"},
		{request: "GET " + c1, headers: []string{"Accept: */*;q=0.00, application/yang-data+json; q=0"}, code: 406,
			tag: "invalid-value"},
		{request: "PATCH " + c1, body: `<a/>`, headers: []string{"Content-Type: application/yang-data+xml"}, code: 415,
			tag: "operation-not-supported"},
		{request: "PATCH " + c1, body: `{`, code: 400, tag: "malformed-message"},
		{request: "PATCH " + c1, body: `[]`, code: 400, tag: "malformed-message"},
		{request: "PATCH " + c1, body: `{"a":1,"b":2}`, code: 400, tag: "malformed-message", words: []string{"2 members"}},
		{request: "PATCH " + c1, body: `{"openconfig-tam:collector":[],"openconfig-tam:collector":[]}`, code: 400,
			tag: "malformed-message"},
		{request: "PATCH " + c1, body: `{"a":1} x`, code: 400, tag: "malformed-message", words: []string{"behind"}},
		{request: "PATCH " + c1 + "/config", body: `{"openconfig-tam:config":{"port":1,"port":2}}`, code: 400,
			tag:   "invalid-value",
			words: []string{`\"port\" is there twice`}},
		{request: "PATCH " + c1 + "/config", body: `{"openconfig-tam:config":{"port":1,"openconfig-tam:port":2}}`, code: 400,
			tag: "invalid-value", words: []string{"is there twice"}},
		{request: "PATCH " + collectors, body: `{"openconfig-tam:collectors":{"collector":[` + twin + `,` + twin + `]}}`,
			code: 400,
			tag:  "invalid-value", words: []string{"is there twice", "[name='c9']"}},
		{request: "PATCH " + c1, body: `{}`, headers: []string{"Content-Encoding: gzip"}, code: 415,
			tag: "operation-not-supported"},
		{request: "PATCH " + c1, body: "{\"\xff\":1}", code: 400, tag: "malformed-message"},
		{request: "PATCH " + c1, body: `{"openconfig-tam:collector":[]}`, code: 400, tag: "invalid-value",
			words: []string{"0 entries"}},
		{request: "PATCH " + c1, body: `{"openconfig-tam:collector":7}`, code: 400, tag: "invalid-value"},
		{request: "PATCH " + c1, body: `{"openconfig-tam:collector":[{"name":"c1","nothing":1}]}`, code: 400,
			tag: "invalid-value"},
		{request: "POST " + c1 + "/config/port", body: `{"a:b":1}`, code: 400, tag: "invalid-value"},
		{request: "PATCH " + c1, body: `{"openconfig-tam:collector":"` + strings.Repeat("x", maxBody) + `"}`, code: 413,
			tag: "too-big"},
	} {
		b.check(s)
	}
	if after := b.config(); after != before {
		t.Errorf("the configuration was\n%s, is\n%s", before, after)
	}
}

// Sections 3.4.1 and 3.5.2: two clients that change the same resource are coordinated by the tags that they read.
func TestEntityTags(t *testing.T) {
	racetest.Stepped(t)
	b := newBed(t)
	b.rows(someRows)
	tag := func(path string) string { return b.do("GET "+path, "").Header.Get("ETag") }
	patch := func(port int) string { return fmt.Sprintf(`{"openconfig-tam:config":{"port":%d}}`, port) }
	was, all := tag(c1+"/config"), tag("/restconf/data")
	if was == "" || all == "" || was == all {
		t.Fatalf("entity-tags %s and %s", was, all)
	}
	for _, s := range []step{
		{request: "GET " + c1 + "/config", headers: []string{"If-None-Match: " + was}, code: 304},
		{request: "GET " + c1 + "/config", headers: []string{`If-None-Match: "x"`, "If-None-Match: " + was}, code: 304},
		{request: "GET " + c1 + "?content=config", headers: []string{"If-None-Match: " + tag(c1)}, code: 304},
		{request: "GET " + c1, headers: []string{"If-None-Match: " + tag(c1)}, code: 200}, // the state may differ
		{request: "PATCH " + c1 + "/config", body: patch(1), headers: []string{"If-Match: " + was}, code: 204},
		{request: "GET " + c1 + "/config", headers: []string{"If-None-Match: " + was}, code: 200},
		{request: "PATCH " + c1 + "/config", body: patch(2), headers: []string{"If-Match: " + was}, code: 412,
			tag: "operation-failed"},
		{request: "DELETE " + c1, headers: []string{"If-Match: " + was}, code: 412, tag: "operation-failed"},
		{request: "GET " + c1 + "/config/port", code: 200, want: `{"openconfig-tam:port":1}`},
		{request: "PUT " + c2, body: newC2, headers: []string{"If-None-Match: *"}, code: 201},
		{request: "PUT " + c2, body: newC2, headers: []string{"If-None-Match: *"}, code: 412},
		{request: "PUT " + collectors + "/collector=c3", body: strings.ReplaceAll(newC2, "c2", "c3"),
			headers: []string{"If-Match: *"}, code: 412,
			words: []string{"not there"}},
		{request: "POST " + collectors, body: strings.ReplaceAll(newC2, "c2", "c3"),
			headers: []string{"If-Match: " + tag(collectors)}, code: 412},
	} {
		b.check(s)
	}
	if tag("/restconf/data") == all {
		t.Error("the datastore's entity-tag is as before")
	}
	b.rows(map[string]string{"COUNTERS_DB TAM_TAILSTAMPING_COUNTERS:s1": "MATCHED_PACKETS=9"})
	session := "/restconf/data/openconfig-tam:tam/tailstamping-sessions/tailstamping-session=s1"
	if a := tag(session); a != tag(session) {
		t.Error("the entity-tag changes with the counters")
	}
	if got := b.do("PATCH "+c1+"/config", patch(3), "If-Match: "+
		tag(c1+"/config")); got.StatusCode != http.StatusNoContent {
		t.Errorf("with the tag of now: %s", got.Status)
	}
}

// Section 4.8: parameters select the shown part of a resource.
func TestViews(t *testing.T) {
	racetest.Stepped(t)
	b := newBed(t)
	b.rows(someRows)
	at := "GET /restconf/data/openconfig-tam:tam"
	for _, s := range []step{
		{request: at + "?depth=1", code: 200, want: `{"openconfig-tam:tam":{}}`},
		{request: at + "/collectors?depth=2&content=config", code: 200,
			want: `{"openconfig-tam:collectors":{"collector":[{"name":"c1"}]}}`},
		{request: at + "/collectors?depth=3&content=config", code: 200,
			want: `{"openconfig-tam:collectors":{"collector":[{"name":"c1","config":{}}]}}`},
		{request: at + "/switch/state?content=nonconfig", code: 200, words: []string{`"op-switch-id":2020`}},
	} {
		b.check(s)
	}
}

// Section 4.4.2: operations are requested by POST, with their input as the body.
func TestOperations(t *testing.T) {
	racetest.Stepped(t)
	b := newBed(t)
	b.rows(someRows)
	const operation = "/restconf/operations/tamtam-operations:"
	for _, s := range []step{
		{request: "GET /restconf/operations", code: 200, words: []string{`"tamtam-operations:copy":[null]`}},
		{request: "GET " + operation + "copy", code: 405, tag: "operation-not-supported", words: []string{"Allow: POST"}},
		{request: "POST " + operation + "nothing", code: 404, tag: "invalid-value",
			words: []string{"tamtam-operations:copy"}},
		{request: "POST " + operation + "copy", body: `{"tamtam-operations:copy":{}}`, code: 400, tag: "invalid-value"},
		{request: "POST " + operation + "copy", body: `{"tamtam-operations:input":{"source":"running"}}`, code: 400,
			tag:   "invalid-value",
			words: []string{"destination is missing"}},
		{request: "POST " + operation + "copy", code: 400, tag: "invalid-value", words: []string{"is missing"}},
		{request: "POST " + operation + "trace-packet", body: `{"tamtam-operations:input":{"src":"10.0.0.1"}}`, code: 400,
			tag: "invalid-value"},
		{request: "POST " + operation + "trace-packet", body: `{"tamtam-operations:input":{"in":"Ethernet0"}}`, code: 503,
			tag: "operation-failed"},
		{request: "POST " + operation + "clear-counters", body: `{"tamtam-operations:input":{"kind":"everything"}}`,
			code: 400, tag: "invalid-value"},
		{request: "POST " + operation + "clear-counters", body: `{"tamtam-operations:input":{"kind":"interfaces"}}`,
			code: 204},
	} {
		b.check(s)
	}
}
