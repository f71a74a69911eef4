package restconf

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"tamtam/mgmt/tree"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// maxBody bounds the body of a request, in bytes.
const maxBody = 16 << 20

// An edit is the change that a PUT, POST, PATCH or DELETE makes to one node.
type edit struct {
	target          // the node that is changed
	named    target // the target of the URI; a POST creates a child of it
	request  gpb.SetRequest
	must     bool // true if the target must exist
	mustNot  bool // true if the target must not exist
	existed  bool // true if the target existed before the edit
	matching http.Header
}

// change executes a request that changes a data resource.
func (s *Server) change(w http.ResponseWriter, r *http.Request, t target) *problem {
	if _, p := parameters(r.URL.RawQuery); p != nil {
		return p
	}
	e := &edit{target: t, named: t, matching: r.Header}
	p := e.prepare(w, r)
	if p != nil {
		return p
	}
	_, err := s.engine.SetIf(r.Context(), &e.request, func(ctx context.Context) error { return s.permit(ctx, e) })
	if err != nil {
		return explain(s.root, err)
	}
	switch {
	case r.Method == http.MethodPost:
		at := root + "/data" + location(s.root, e.path)
		if e.item != nil {
			at += "=" + url.PathEscape(*e.item)
		}
		w.Header().Set("Location", at)
		w.WriteHeader(http.StatusCreated)
	case r.Method == http.MethodPut && !e.existed:
		w.WriteHeader(http.StatusCreated)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
	return nil
}

// prepare makes the request that the engine executes, from the method and the body.
func (e *edit) prepare(w http.ResponseWriter, r *http.Request) *problem {
	if r.Method == http.MethodDelete {
		if e.node.Parent == nil {
			return notAllowed("the whole configuration is not deleted: PUT an empty one")
		}
		if p := e.writable(); p != nil {
			return p
		}
		e.must = true
		e.request.Delete = []*gpb.Path{e.itemPath()}
		return nil
	}
	member, value, p := body(w, r)
	if p != nil {
		return p
	}
	if r.Method == http.MethodPost {
		if p := e.descendTo(member, &value); p != nil {
			return p
		}
		e.mustNot = true
	} else if p := e.isNamed(member, &value); p != nil {
		return p
	}
	if p := e.writable(); p != nil {
		return p
	}
	u := []*gpb.Update{{Path: e.path, Val: &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: value}}}}
	// An item is added to a leaf-list. So is an entry that is posted to a list.
	if e.must = r.Method == http.MethodPatch && e.node.IsList; e.item == nil && r.Method != http.MethodPatch {
		e.request.Replace = u
	} else {
		e.request.Update = u
	}
	return nil
}

// writable refuses a target that no request can change.
func (e *edit) writable() *problem {
	where := e.node.WrittenIn()
	switch {
	case e.node.Config && !e.node.Writable() && where != "":
		return notAllowed("it is only read: %s", where).at(e.target)
	case !e.node.Writable():
		return notAllowed("it is state, which is only read").at(e.target)
	case e.all:
		return notAllowed("want an entry of the list: %s=%s", e.node.Name,
			strings.Join(e.node.Keys(), ",")).at(e.target)
	}
	return nil
}

// itemPath returns the path of the node, or of the item of a leaf-list.
func (e *edit) itemPath() *gpb.Path {
	if e.item == nil {
		return e.path
	}
	elems := slices.Clone(e.path.GetElem())
	last := len(elems) - 1
	elems[last] = &gpb.PathElem{Name: elems[last].GetName(), Key: map[string]string{".": *e.item}}
	return &gpb.Path{Elem: elems}
}

// body returns the only member of a request's body.
func body(w http.ResponseWriter, r *http.Request) (string, json.RawMessage, *problem) {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if kind = strings.TrimSpace(strings.ToLower(kind)); kind != yangJSON && kind != plainJSON {
		return "", nil, bad(http.StatusUnsupportedMediaType, "operation-not-supported", "Content-Type %q: want %s",
			shown(kind), yangJSON)
	}
	if code := strings.TrimSpace(strings.ToLower(header(r.Header, "Content-Encoding"))); code != "" && code != "identity" {
		return "", nil, bad(http.StatusUnsupportedMediaType, "operation-not-supported",
			"Content-Encoding %q: want the body as it is", shown(code))
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return "", nil, bad(http.StatusRequestEntityTooLarge, "too-big", "the body has more than %d bytes", maxBody)
	case err != nil:
		return "", nil, malformed("the body: %v", err)
	case !utf8.Valid(raw):
		return "", nil, malformed("the body is not UTF-8")
	}
	return onlyMember(raw)
}

// onlyMember decodes an object that has one member.
func onlyMember(raw []byte) (name string, value json.RawMessage, p *problem) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return "", nil, malformed("the body: want a JSON object")
	}
	n := 0
	for ; d.More(); n++ {
		t, err := d.Token()
		if err == nil {
			err = d.Decode(&value)
		}
		if err != nil {
			return "", nil, malformed("the body: want a JSON object: %v", err)
		}
		name, _ = t.(string)
	}
	if _, err := d.Token(); err != nil {
		return "", nil, malformed("the body: want a JSON object: %v", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return "", nil, malformed("the body: something is behind its object")
	}
	if n != 1 {
		return "", nil, malformed("the body has %d members, want one: the node's", n)
	}
	return name, value, nil
}

// isNamed checks that a body contains the target itself, and replaces a list's array with its entry.
func (e *edit) isNamed(member string, value *json.RawMessage) *problem {
	if member != e.name() {
		return invalid("the body has %q, want %q: the target itself", shown(member), e.name()).
			at(e.target)
	}
	if e.item != nil {
		var items []any
		if json.Unmarshal(*value, &items) != nil || len(items) != 1 || text(items[0]) != *e.item {
			return invalid("the body is not the item %q alone", shown(*e.item)).at(e.target)
		}
	}
	if !e.node.IsList || e.all {
		return nil
	}
	_, p := e.entry(value)
	return p
}

// entry replaces the array that a body has for a list with its only entry, and returns the entry's members.
func (e *edit) entry(value *json.RawMessage) (map[string]json.RawMessage, *problem) {
	var entries []json.RawMessage
	if raw := bytes.TrimSpace(*value); len(raw) > 0 && raw[0] == '[' {
		if err := json.Unmarshal(raw, &entries); err != nil || len(entries) != 1 {
			return nil, invalid("%s: %d entries, want one", e.name(), len(entries)).at(e.target)
		}
		*value = entries[0]
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(*value, &members); err != nil {
		return nil, invalid("%s: want an array with one object: %v", e.name(), err).at(e.target)
	}
	return members, nil
}

// descendTo makes the target the child that a POST creates.
func (e *edit) descendTo(member string, value *json.RawMessage) *problem {
	if e.all || e.item != nil || e.node.Type != nil {
		return invalid("nothing can be created below it").at(e.target)
	}
	module, name, _ := strings.Cut(member, ":")
	k := e.node.Kid[name]
	if k == nil || k.Module != module {
		return invalid("the body has %q, want a child of the target with its module: %s",
			shown(member), strings.Join(qualified(e.node), ", ")).at(e.target)
	}
	el := &gpb.PathElem{Name: name}
	e.path = &gpb.Path{Elem: append(slices.Clone(e.path.GetElem()), el)}
	e.node = k
	switch {
	case k.IsList:
		members, p := e.entry(value)
		if p != nil {
			return p
		}
		return e.keysFrom(el, members)
	case k.LeafList:
		var items []any
		if json.Unmarshal(*value, &items) != nil || len(items) != 1 {
			return invalid("want an array with one item").at(e.target)
		}
		item := text(items[0])
		e.item = &item
	}
	return nil
}

// keysFrom sets the keys of a new entry from its members, or from those of its container config.
func (e *edit) keysFrom(el *gpb.PathElem, members map[string]json.RawMessage) *problem {
	el.Key = map[string]string{}
	var config map[string]json.RawMessage
	_ = json.Unmarshal(first(members["config"], members[e.node.Module+":config"]), &config)
	for _, key := range e.node.Keys() {
		raw := first(members[key], members[e.node.Module+":"+key], config[key], config[e.node.Module+":"+key])
		var v any
		if json.Unmarshal(raw, &v) != nil || text(v) == "" || text(v) == "*" {
			el.Key = nil
			return bad(http.StatusBadRequest, "missing-element", "key %s of the new entry is none: %s",
				key, shown(string(raw))).at(e.target)
		}
		el.Key[key] = text(v)
	}
	return nil
}

// first returns the first argument that is not nil, or nil if there is none.
func first(some ...json.RawMessage) json.RawMessage {
	for _, raw := range some {
		if raw != nil {
			return raw
		}
	}
	return nil
}

// text returns a JSON key or item in the form of a path, or "" if it cannot be one.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool, float64:
		raw, _ := json.Marshal(v)
		return string(raw)
	}
	return ""
}

// qualified returns the names of all children with their modules.
func qualified(n *tree.Node) []string {
	all := map[string]bool{}
	for _, k := range n.Kids {
		all[k.Module+":"+k.Name] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// permit returns an error unless an edit may be executed. The caller ensures that no other Set runs at the same time.
func (s *Server) permit(ctx context.Context, e *edit) error {
	raw, err := s.read(ctx, e.target, gpb.GetRequest_CONFIG)
	if err != nil {
		return err
	}
	e.existed = raw != nil
	there := e.existed
	if e.mustNot {
		if raw, err = s.read(ctx, e.named, gpb.GetRequest_CONFIG); err != nil {
			return err
		}
		there = raw != nil
	}
	if p := met(e.matching, tagOf(raw), there); p != nil {
		return p.at(e.named)
	}
	switch {
	case e.mustNot && e.existed:
		return bad(http.StatusConflict, "data-exists", "it is there already").at(e.target)
	case e.must && !e.existed:
		return missing("it is not there").at(e.target)
	}
	return nil
}

// met checks the conditions of a request against a resource. there reports whether it exists, and tag is its
// entity-tag.
func met(h http.Header, tag string, there bool) *problem {
	want, unwanted := header(h, "If-Match"), header(h, "If-None-Match")
	switch {
	case want != "" && !there:
		return unmet("it is not there")
	case want != "" && !matches(want, tag):
		return unmet("it has changed: its entity-tag is %s", tag)
	case unwanted == "*" && there, unwanted != "" && unwanted != "*" && matches(unwanted, tag):
		return unmet("it is there, with the entity-tag %s", tag)
	}
	return nil
}
