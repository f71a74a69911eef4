package restconf

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"

	"tamtam/yang"

	goyang "github.com/openconfig/goyang/pkg/yang"
)

// hostMeta is the path at which clients find the root resource (RFC 8040, section 3.1).
const hostMeta = "/.well-known/host-meta"

func (s *Server) hostMeta(w http.ResponseWriter, r *http.Request) *problem {
	if p := onlyRead(w, r); p != nil {
		return p
	}
	w.Header().Set("Content-Type", "application/xrd+xml")
	_, _ = fmt.Fprintf(w, `<XRD xmlns='http://docs.oasis-open.org/ns/xri/xrd-1.0'>
  <Link rel='restconf' href='%s'/>
</XRD>
`, root)
	return nil
}

// libraryVersion is the served revision of ietf-yang-library (RFC 8525).
const libraryVersion = "2019-01-04"

// capabilities lists the optional capabilities of the server (RFC 8040, section 9.1).
var capabilities = []string{
	"urn:ietf:params:restconf:capability:defaults:1.0?basic-mode=report-all",
	"urn:ietf:params:restconf:capability:depth:1.0",
	"urn:ietf:params:restconf:capability:with-defaults:1.0",
	"urn:ietf:params:restconf:capability:filter:1.0",
}

// A module is a served module, as described to clients.
type module struct {
	name, revision, namespace, text string
	nodes                           bool // it adds or changes nodes, rather than only defining types
}

// modules reads the served modules, sorted by name.
var modules = sync.OnceValues(func() ([]module, error) {
	files, err := fs.Glob(yang.Modules, "*.yang")
	if err != nil {
		return nil, err
	}
	var all []module
	set := goyang.NewModules()
	for _, file := range files {
		raw, err := fs.ReadFile(yang.Modules, file)
		if err != nil {
			return nil, err
		}
		if err := set.Parse(string(raw), file); err != nil {
			return nil, err
		}
		m, text := set.Modules[strings.TrimSuffix(path.Base(file), ".yang")], string(raw)
		if m == nil || m.Namespace == nil {
			return nil, fmt.Errorf("%s holds no module of its name", file)
		}
		one := module{name: m.Name, namespace: m.Namespace.Name, text: text}
		if len(m.Revision) > 0 {
			one.revision = m.Revision[0].Name
		}
		one.nodes = len(m.Container)+len(m.Augment)+len(m.Deviation)+len(m.Notification)+len(m.Identity) > 0
		all = append(all, one)
	}
	return all, nil
})

// described returns the resources that every RESTCONF server has to describe itself (RFC 8040, section 9, and RFC
// 8525).
func described(at string) (any, bool) {
	all, err := modules()
	if err != nil {
		return nil, false // the tests check that the modules can be read
	}
	const monitoring = "ietf-restconf-monitoring:"
	able := map[string]any{"capability": capabilities}
	streams := map[string]any{"stream": []any{describeStream()}}
	switch at = strings.Trim(at, "/"); at {
	case monitoring + "restconf-state":
		return map[string]any{at: map[string]any{"capabilities": able, "streams": streams}}, true
	case monitoring + "restconf-state/capabilities":
		return map[string]any{monitoring + "capabilities": able}, true
	case monitoring + "restconf-state/streams":
		return map[string]any{monitoring + "streams": streams}, true
	case "ietf-yang-library:yang-library":
		return map[string]any{"ietf-yang-library:yang-library": yangLibrary(all)}, true
	case "ietf-yang-library:modules-state":
		return map[string]any{"ietf-yang-library:modules-state": modulesState(all)}, true
	}
	return nil, false
}

// yangLibrary returns the only set of modules that the datastores have (RFC 8525, section 3).
func yangLibrary(all []module) map[string]any {
	var implement, use []any
	for _, m := range all {
		entry := map[string]any{"name": m.name, "namespace": m.namespace, "location": []string{m.location()}}
		if m.revision != "" {
			entry["revision"] = m.revision
		}
		if m.nodes {
			implement = append(implement, entry)
			continue
		}
		entry["revision"] = m.revision // here the revision is a key, so it must be present
		use = append(use, entry)
	}
	set := map[string]any{"name": "all", "module": implement}
	if use != nil {
		set["import-only-module"] = use
	}
	return map[string]any{
		"module-set": []any{set},
		"schema":     []any{map[string]any{"name": "all", "module-set": []string{"all"}}},
		"datastore": []any{
			map[string]any{"name": "ietf-datastores:running", "schema": "all"},
			map[string]any{"name": "ietf-datastores:operational", "schema": "all"},
		},
		"content-id": contentID(all),
	}
}

// modulesState returns the same data as yangLibrary, for clients of RFC 7895.
func modulesState(all []module) map[string]any {
	entries := make([]any, len(all))
	for i, m := range all {
		kind := "implement"
		if !m.nodes {
			kind = "import"
		}
		entries[i] = map[string]any{
			"name": m.name, "revision": m.revision, "namespace": m.namespace, "schema": m.location(),
			"conformance-type": kind,
		}
	}
	return map[string]any{"module-set-id": contentID(all), "module": entries}
}

// contentID returns an id that changes when a module does.
func contentID(all []module) string {
	h := sha256.New()
	for _, m := range all {
		_, _ = fmt.Fprintf(h, "%d:%s", len(m.text), m.text)
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}

// location returns the path of a module's text.
func (m module) location() string {
	at := root + "/yang/" + m.name
	if m.revision != "" {
		at += "@" + m.revision
	}
	return at
}

// other serves the parts of the root resource that are not data.
func (s *Server) other(w http.ResponseWriter, r *http.Request, path string) *problem {
	switch path {
	case "":
		return s.constant(w, r, map[string]any{"ietf-restconf:restconf": map[string]any{
			"data": map[string]any{}, "operations": operations(), "yang-library-version": libraryVersion,
		}})
	case "/yang-library-version":
		return s.constant(w, r, map[string]any{"ietf-restconf:yang-library-version": libraryVersion})
	case "/operations":
		return s.constant(w, r, map[string]any{"ietf-restconf:operations": operations()})
	case "/openapi.json":
		return s.openAPI(w, r, "")
	case "/streams/" + streamName:
		return s.events(w, r)
	}
	if name, ok := strings.CutPrefix(path, "/yang/"); ok {
		return s.module(w, r, name)
	}
	if name, ok := strings.CutPrefix(path, openAPIs); ok {
		return s.openAPI(w, r, strings.TrimSuffix(name, ".json"))
	}
	return missing("%s%s: there are data, operations, yang-library-version, streams/%s, "+
		"yang/MODULE, openapi.json and openapi/MODULE.json", root, shown(path), streamName)
}

// module serves the text of a module.
func (s *Server) module(w http.ResponseWriter, r *http.Request, name string) *problem {
	if p := onlyRead(w, r); p != nil {
		return p
	}
	all, err := modules()
	if err != nil {
		return explain(s.root, err)
	}
	for _, m := range all {
		if name == m.name || root+"/yang/"+name == m.location() {
			w.Header().Set("Content-Type", "application/yang")
			_, _ = w.Write([]byte(m.text))
			return nil
		}
	}
	return missing("there is no module %s", shown(name))
}

// constant serves a constant resource.
func (s *Server) constant(w http.ResponseWriter, r *http.Request, value any) *problem {
	if p := onlyRead(w, r); p != nil {
		return p
	}
	if p := acceptable(r, yangJSON, plainJSON); p != nil {
		return p
	}
	values, p := parameters(r.URL.RawQuery, "content")
	switch {
	case p != nil:
		return p
	case values["content"] == "config":
		return missing("it has no configuration")
	}
	body, err := json.Marshal(value)
	if err != nil {
		return explain(s.root, err)
	}
	w.Header().Set("Content-Type", yangJSON)
	_, _ = w.Write(append(body, '\n'))
	return nil
}

// onlyRead refuses methods that change something.
func onlyRead(w http.ResponseWriter, r *http.Request) *problem {
	if reads(r.Method) {
		return nil
	}
	w.Header().Set("Allow", "GET, HEAD, OPTIONS")
	return notAllowed("%s is only read", shown(r.URL.EscapedPath()))
}
