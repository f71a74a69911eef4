package restconf

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"tamtam/mgmt/access"
	"testing"
	"time"

	"tamtam/internal/racetest"
	"tamtam/internal/randtest"
)

// Logins follow RFC 8040, section 2.5, and RFC 7617.
func TestLogin(t *testing.T) {
	b := newBed(t, access.User{Name: "root", Password: "s3:cret", Role: access.Admin},
		access.User{Name: "guest", Password: "guest", Role: access.ReadOnly})
	b.rows(someRows)
	url := b.serve()
	//nolint:gosec // a test
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	for _, tt := range []struct {
		name, password, method string
		code                   int
	}{
		{"", "", http.MethodGet, http.StatusUnauthorized},
		{"root", "wrong", http.MethodGet, http.StatusUnauthorized},
		{"nobody", "guest", http.MethodGet, http.StatusUnauthorized},
		{"guest", "guest", http.MethodGet, http.StatusOK},
		{"guest", "guest", http.MethodDelete, http.StatusForbidden},
		{"root", "s3:cret", http.MethodDelete, http.StatusNoContent},
	} {
		r, err := http.NewRequestWithContext(t.Context(), tt.method, url+c1, nil)
		if err != nil {
			t.Fatal(err)
		}
		if tt.name != "" {
			r.SetBasicAuth(tt.name, tt.password)
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != tt.code {
			t.Errorf("%s as %q with %q: %s, want %d", tt.method, tt.name, tt.password, answer.Status, tt.code)
		}
		if asked := answer.Header.Get("WWW-Authenticate"); (asked != "") != (tt.code == http.StatusUnauthorized) {
			t.Errorf("%s as %q: WWW-Authenticate: %s", tt.method, tt.name, asked)
		}
	}
	plain, err := http.Get(strings.Replace(url, "https", "http", 1) + c1) //nolint:noctx // a test
	if err == nil {
		plain.Body.Close()
		if plain.StatusCode != http.StatusBadRequest {
			t.Errorf("without TLS: %s", plain.Status)
		}
	}
}

// Section 6: a stream contains the changes since its beginning, at the nodes of the filter, and nothing else.
func TestEvents(t *testing.T) {
	b := newBed(t)
	b.rows(someRows)
	url := b.serve()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	get := func(query string) *http.Response {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/restconf/streams/changes"+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { answer.Body.Close() })
		return answer
	}
	if refused := get("?filter=/openconfig-tam:nothing"); refused.StatusCode != http.StatusNotFound {
		t.Errorf("a filter that names nothing: %s", refused.Status)
	}
	answer := get("?filter=/openconfig-tam:tam/collectors")
	if kind := answer.Header.Get("Content-Type"); answer.StatusCode != http.StatusOK || kind != "text/event-stream" {
		t.Fatalf("%s, %s", answer.Status, kind)
	}
	lines := bufio.NewScanner(answer.Body)
	next := func() string {
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				return data
			}
		}
		t.Fatalf("the stream ends: %v", lines.Err())
		return ""
	}
	for lines.Scan() && lines.Text() != ": the stream begins" {
		t.Errorf("before the stream begins: %s", lines.Text())
	}
	b.do("PATCH /restconf/data/openconfig-tam:tam/switch/config/switch-id", `{"openconfig-tam:switch-id":17}`)
	b.do("PATCH "+c1+"/config", `{"openconfig-tam:config":{"port":77}}`)
	type event struct {
		N struct {
			Time   time.Time `json:"eventTime"`
			Change struct {
				Path    string `json:"path"`
				Value   any    `json:"value"`
				Deleted []any  `json:"deleted"`
			} `json:"tamtam-restconf:change"`
		} `json:"ietf-restconf:notification"`
	}
	read := func() (e event) {
		if err := json.Unmarshal([]byte(next()), &e); err != nil {
			t.Fatal(err)
		}
		return e
	}
	const entry = "/openconfig-tam:tam/collectors/collector[name='c1']"
	if e := read(); e.N.Change.Path != entry+"/config/port" || e.N.Change.Value != 77.0 || e.N.Time.IsZero() {
		t.Errorf("%+v", e)
	}
	b.do("DELETE "+c1, "")
	for e := read(); ; e = read() { // the delete of not-in-force may come first
		if e.N.Change.Deleted != nil && strings.HasPrefix(e.N.Change.Path, entry) {
			break
		}
	}
}

// The configuration read from one switch, written to another, makes the same configuration there.
func TestRoundTrip(t *testing.T) {
	racetest.Stepped(t)
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 5, Short: 1}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		ports := map[string]string{
			"CONFIG_DB PORT|Ethernet0": "lanes=0,1,2,3 speed=100000", "CONFIG_DB PORT|Ethernet4": "lanes=4,5,6,7 speed=100000",
		}
		from, to := newBed(t), newBed(t)
		from.rows(ports)
		to.rows(ports)
		from.rows(randomRows(rnd))
		all := textOf(t, from.do("GET /restconf/data?content=config", ""))
		if r := to.do("PUT /restconf/data", all); r.StatusCode != http.StatusNoContent {
			t.Fatalf("%s: %s\n%s", r.Status, textOf(t, r), all)
		}
		if again := textOf(t, to.do("GET /restconf/data?content=config", "")); again != all {
			t.Errorf("read\n%s\nwritten and read\n%s", all, again)
		}
		if r := from.do("PUT /restconf/data", all); r.StatusCode != http.StatusNoContent {
			t.Fatalf("to itself: %s: %s", r.Status, textOf(t, r))
		}
		// A write of equal values changes no row, so the first switch keeps its spelling of "IPv4".
		if a, b := from.config(), to.config(); !strings.EqualFold(a, b) {
			t.Errorf("configured\n%s\nafter the way\n%s", a, b)
		}
	})
}

// randomRows returns a random configuration.
func randomRows(rnd *rand.Rand) map[string]string {
	rows := map[string]string{}
	// A name may contain characters that are invalid in a URI.
	name := func(kind string, i int) string {
		return kind + []string{"", "/", "=", "%2F", "'", "?#", ";()"}[rnd.IntN(7)] + fmt.Sprint(i)
	}
	for i := range rnd.IntN(4) {
		rows["CONFIG_DB TAM_COLLECTORS_TABLE|"+name("c", i)] = fmt.Sprintf(
			"ipaddress=10.0.%d.%d ipaddress-type=IPv4 port=%d protocol=%s", rnd.IntN(256), rnd.IntN(256), 1+rnd.IntN(65535),
			[]string{"UDP", "TCP"}[rnd.IntN(2)])
	}
	for i := range rnd.IntN(3) {
		rows["CONFIG_DB TAM_SAMPLINGRATE_TABLE|"+name("r", i)] = fmt.Sprintf("sampling-rate=%d", 1+rnd.IntN(10000))
	}
	for i := range rnd.IntN(4) {
		group := fmt.Sprintf("f%d", i)
		rows["CONFIG_DB TAM_FLOWGROUP_TABLE|"+group] = fmt.Sprintf("table-name=TAM id=%d", i+1)
		rows["CONFIG_DB ACL_RULE|TAM|"+group] = fmt.Sprintf("PRIORITY=%d SRC_IP=10.1.%d.0/24 IP_PROTOCOL=17 L4_DST_PORT=%d",
			1+rnd.IntN(1000), rnd.IntN(256), 1+rnd.IntN(65535))
		if rnd.IntN(2) == 0 {
			rows["CONFIG_DB TAM_TAILSTAMPING_TABLE|s"+group] = "flowgroup=" + group
		}
	}
	return rows
}

// mostOpenAPI is the number of bytes of a description that a viewer still opens quickly.
const mostOpenAPI = 320_000

// The index of OpenAPI has a description of each module. All references in one resolve, each path is in one description
// only and can be requested, and each node without a description has a link to one. TAMTAM_OPENAPI names a directory
// for them, which make openapi passes to a validator.
func TestOpenAPI(t *testing.T) {
	racetest.Stepped(t)
	b := newBed(t)
	b.rows(someRows)
	type document struct {
		OpenAPI    string
		Paths      map[string]map[string]any
		Components struct{ Schemas map[string]any }
	}
	ids, all, size := map[any]bool{}, map[string]map[string]any{}, 0
	read := func(at string) (doc document) {
		r := b.do("GET "+at, "")
		text := textOf(t, r)
		if err := json.Unmarshal([]byte(text), &doc); err != nil || r.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s: %v", at, r.Status, err)
		}
		if size += len(text); len(text) > mostOpenAPI {
			t.Errorf("%s has %d bytes, want %d at most", at, len(text), mostOpenAPI)
		}
		for ref := range strings.SplitSeq(text, `"$ref": "#/components/schemas/`) {
			name, _, _ := strings.Cut(ref, `"`)
			if !strings.HasPrefix(ref, "{") && doc.Components.Schemas[name] == nil {
				t.Errorf("%s: there is no schema %s", at, name)
			}
		}
		for ref := range strings.SplitSeq(text, `"url": "/restconf/openapi/`) {
			name, _, _ := strings.Cut(ref, `.json"`)
			if !strings.HasPrefix(ref, "{") && !slices.Contains(describedModules(b.server.root), name) {
				t.Errorf("%s: there is no description of %s", at, name)
			}
		}
		if dir := os.Getenv("TAMTAM_OPENAPI"); dir != "" {
			if err := os.WriteFile(filepath.Join(dir, path.Base(at)), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for path, ops := range doc.Paths {
			if all[path] != nil {
				t.Errorf("%s: %s is in another description", at, path)
			}
			all[path] = ops
			for method, op := range ops {
				m, ok := op.(map[string]any)
				if !ok || method == "parameters" {
					continue
				}
				if id := m["operationId"]; id == nil || ids[id] {
					t.Errorf("%s %s: operationId %v", method, path, id)
				} else {
					ids[id] = true
				}
				for _, field := range []string{"summary", "description"} {
					if text, _ := m[field].(string); text == "" {
						t.Errorf("%s %s has no %s", method, path, field)
					}
				}
			}
		}
		return doc
	}
	index := read("/restconf/openapi.json")
	for _, module := range describedModules(b.server.root) {
		at := "/restconf/openapi/" + module + ".json"
		if index.Paths[at] == nil {
			t.Errorf("the index has no %s", at)
		}
		read(at)
	}
	t.Logf("%d descriptions have %d bytes", len(index.Paths), size)
	if r := b.do("GET /restconf/openapi/none.json", ""); r.StatusCode != http.StatusNotFound ||
		!strings.Contains(textOf(t, r), "openconfig-tam") {
		t.Errorf("an unknown module gets %s", r.Status)
	}
	for _, path := range slices.Sorted(maps.Keys(all)) {
		uri := path
		for strings.Contains(uri, "{") {
			before, rest, _ := strings.Cut(uri, "{")
			_, after, _ := strings.Cut(rest, "}")
			uri = before + "x" + after
		}
		if code := b.do("GET "+uri, "").StatusCode; code != http.StatusOK && code != http.StatusNotFound &&
			code != http.StatusBadRequest {
			t.Errorf("GET %s: %d", uri, code)
		}
	}
	const collector = "/restconf/data/openconfig-tam:tam/collectors/collector="
	put, ok := all[collector+"{collector-name}"]["put"].(map[string]any)
	if len(all) < 50 || !ok {
		t.Fatalf("%d paths, put of a collector: %v", len(all), ok)
	}
	content := put["requestBody"].(map[string]any)["content"].(map[string]any)
	example, err := json.Marshal(content[yangJSON].(map[string]any)["example"])
	if err != nil {
		t.Fatal(err)
	}
	if r := b.do("PUT "+collector+"example", string(example)); r.StatusCode != http.StatusCreated {
		t.Errorf("the example %s gets %s: %s", example, r.Status, textOf(t, r))
	}
}

// Section 9 and RFC 8525: each module named by a member is in the library, and can be read.
func TestLibrary(t *testing.T) {
	racetest.Stepped(t)
	b := newBed(t)
	b.rows(someRows)
	var library struct {
		L struct {
			Sets []struct {
				Module []struct {
					Name, Revision, Namespace string
					Location                  []string
				}
			} `json:"module-set"`
		} `json:"ietf-yang-library:yang-library"`
	}
	if err := json.Unmarshal([]byte(textOf(t, b.do("GET /restconf/data/ietf-yang-library:yang-library", ""))),
		&library); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"ietf-restconf": true}
	for _, m := range library.L.Sets[0].Module {
		known[m.Name] = true
		text := textOf(t, b.do("GET "+m.Location[0], ""))
		if !strings.HasPrefix(text, "module "+m.Name) || !strings.Contains(text, m.Namespace) {
			t.Errorf("%s is %.40s", m.Location[0], text)
		}
	}
	for name := range strings.SplitSeq(textOf(t, b.do("GET /restconf/data", "")), `"`) {
		if module, _, ok := strings.Cut(name, ":"); ok && strings.Contains(module, "-") && !strings.Contains(module, " ") &&
			!strings.HasPrefix(module, "20") && !known[module] {
			t.Errorf("%s: the library has no such module", name)
		}
	}
	b.check(step{request: "GET /restconf/yang/nothing", code: 404, tag: "invalid-value"})
	b.check(step{request: "PUT /restconf/data/ietf-yang-library:yang-library", body: `{}`, code: 405,
		tag: "operation-not-supported"})
	b.check(step{request: "GET /restconf/data/ietf-restconf-monitoring:restconf-state/capabilities", code: 200,
		words: []string{"defaults:1.0?basic-mode=report-all"}})
	b.check(step{request: "GET /restconf/data/ietf-restconf-monitoring:restconf-state/streams", code: 200,
		words: []string{`"name":"changes"`}})
	b.check(step{request: "GET /restconf/data/ietf-yang-library:yang-library?depth=2", code: 400,
		tag: "invalid-value"})
	b.check(step{request: "GET /restconf/data/ietf-yang-library:yang-library?content=config", code: 404,
		tag: "invalid-value"})
	b.check(step{request: "GET /restconf/operations/", code: 200, words: []string{"tamtam-operations:copy"}})
	b.check(step{request: "GET /restconf/data/ietf-yang-library:modules-state", code: 200,
		words: []string{`"conformance-type":"import"`}})
}

// Any URI gets a valid RESTCONF response, and reading changes nothing.
func FuzzURI(f *testing.F) {
	b := newBed(f)
	b.rows(someRows)
	before := b.config()
	for _, path := range []string{c1, interfaces + "=Ethernet0", "/restconf/data/",
		"/restconf/streams/changes?filter=/a"} {
		f.Add(path, "depth=2")
	}
	f.Add(collectors+"/collector=%2F%zz", "content=config&with-defaults=report-all")
	f.Fuzz(func(t *testing.T, path, query string) {
		b := bed{t, b.redis, b.server}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://x/", nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.URL, err = r.URL.Parse("http://x" + path); err != nil || strings.Contains(path, "/streams/") {
			return // no server gets such a URI, or the URI is that of a stream, which has no end
		}
		r.URL.RawQuery = query
		w := httptest.NewRecorder()
		b.server.ServeHTTP(w, r)
		if w.Code >= 500 || w.Code >= 400 && !strings.Contains(w.Body.String(), `"ietf-restconf:errors"`) {
			t.Errorf("%d: %s", w.Code, w.Body)
		}
		if after := b.config(); after != before {
			t.Errorf("the configuration was\n%s, is\n%s", before, after)
		}
	})
}

// Any body gets a valid RESTCONF response; a refused one has changed nothing.
func FuzzBody(f *testing.F) {
	b := newBed(f)
	b.rows(someRows)
	for i, body := range []string{newC2, `{"openconfig-tam:collectors":{}}`, `{"ietf-restconf:data":{}}`, `{"a":[{}]}`} {
		f.Add(uint8(i), uint8(i), body)
	}
	paths := []string{collectors, c1, c1 + "/config", interfaces, interfaces + "=Ethernet0", "/restconf/data"}
	methods := []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
	f.Fuzz(func(t *testing.T, path, method uint8, body string) {
		b := bed{t, b.redis, b.server}
		before := b.config()
		uri := methods[int(method)%len(methods)] + " " + paths[int(path)%len(paths)]
		r := b.do(uri, body, "Content-Type: "+yangJSON)
		text := textOf(t, r)
		if r.StatusCode >= 500 || r.StatusCode >= 400 && !strings.Contains(text, `"ietf-restconf:errors"`) {
			t.Errorf("%s: %s: %s", uri, r.Status, text)
		}
		if after := b.config(); r.StatusCode >= 400 && after != before {
			t.Errorf("%s: %s, and the configuration was\n%s, is\n%s", uri, r.Status, before, after)
		}
	})
}

// Nodes for which OpenConfig has a path of its own can be written there, and appear in ours.
func TestOpenConfigPlaces(t *testing.T) {
	racetest.Stepped(t)
	b := newBed(t)
	b.rows(someRows)
	const (
		e0     = "/restconf/data/openconfig-interfaces:interfaces/interface=Ethernet0"
		list   = e0 + "/subinterfaces/subinterface=0/openconfig-if-ip:ipv4/addresses"
		routed = "/restconf/data/tamtam-routing:routing/interfaces/interface=Ethernet0"
		ten    = `{"openconfig-if-ip:address":[{"ip":"10.0.0.1","config":{"ip":"10.0.0.1","prefix-length":24}}]}`
	)
	for _, s := range []step{
		{request: "PUT " + list + "/address=10.0.0.1", body: ten, code: 201},
		{request: "GET " + list + "/address=10.0.0.1/config", code: 200,
			want: `{"openconfig-if-ip:config":{"ip":"10.0.0.1","prefix-length":24}}`},
		{request: "GET " + routed + "/addresses?content=config", code: 200,
			want: `{"tamtam-routing:addresses":{"address":[{"prefix":"10.0.0.1/24","config":{"prefix":"10.0.0.1/24"}}]}}`},
		{request: "PUT " + list + "/address=10.0.0.1", body: strings.ReplaceAll(ten, "24", "16"), code: 204},
		{request: "GET " + routed + "/addresses/address=10.0.0.1%2F24", code: 404, tag: "invalid-value"},
		{request: "POST " + list, body: ten, code: 409, tag: "data-exists"},
		{request: "PATCH " + e0 + "/openconfig-if-ethernet:ethernet/config",
			body: `{"openconfig-if-ethernet:config":{"port-speed":"SPEED_25GB"}}`, code: 204},
		{request: "GET " + e0 + "/openconfig-if-ethernet:ethernet/config", code: 200,
			want: `{"openconfig-if-ethernet:config":{"duplex-mode":"FULL","port-speed":"openconfig-if-ethernet:SPEED_25GB"}}`},
		{request: "DELETE " + list + "/address=10.0.0.1", code: 204},
		{request: "GET " + list + "/address=10.0.0.1", code: 404, tag: "invalid-value"},
		{request: "PUT " + e0 + "/subinterfaces/subinterface=1", code: 400, tag: "invalid-value", words: []string{"want 0"},
			body: `{"openconfig-interfaces:subinterface":[{"index":1,"config":{"index":1}}]}`},
	} {
		b.check(s)
	}
}
