package restconf

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"tamtam/mgmt/tree"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// get answers GET and HEAD of a data resource.
func (s *Server) get(w http.ResponseWriter, r *http.Request, t target) *problem {
	v, p := parseView(r.URL.RawQuery)
	if p != nil {
		return p
	}
	if t.node.Writable() {
		// The tag is read first. If the resource changes in between, the client gets the old tag, and a change with
		// that tag is refused.
		config, err := s.read(r.Context(), t, gpb.GetRequest_CONFIG)
		if err != nil {
			return explain(s.root, err)
		}
		tag := tagOf(config)
		w.Header().Set("ETag", tag)
		// The tag does not cover state, so a client's copy of the state may be outdated even if the tag matches.
		fresh := v.content == gpb.GetRequest_CONFIG || stateless(t.node)
		if given := header(r.Header, "If-None-Match"); fresh && given != "" && matches(given, tag) {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
	}
	raw, err := s.read(r.Context(), t, v.content)
	switch {
	case err != nil:
		return explain(s.root, err)
	case raw == nil:
		return missing("there is nothing").at(t)
	}
	if raw, err = v.show(t.node, raw); err != nil {
		return explain(s.root, err)
	}
	w.Header().Set("Content-Type", yangJSON)
	body := append([]byte(`{`+strconv.Quote(t.name())+`:`), raw...)
	_, _ = w.Write(append(body, "}\n"...))
	return nil
}

// read returns the value of a target in JSON, without the target's name, or nil if it has none.
func (s *Server) read(ctx context.Context, t target, what gpb.GetRequest_DataType) ([]byte, error) {
	resp, err := s.engine.Get(ctx, &gpb.GetRequest{
		Path: []*gpb.Path{t.path}, Type: what, Encoding: gpb.Encoding_JSON_IETF,
	})
	if status.Code(err) == codes.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	values := resp.GetNotification()[0].GetUpdate()
	if len(values) == 0 {
		return nil, nil
	}
	raw := values[0].GetVal().GetJsonIetfVal()
	switch {
	case t.item != nil:
		return itemOf(raw, *t.item)
	case t.node.IsList:
		entries := make([][]byte, len(values))
		for i, u := range values {
			if entries[i], err = within(t.node, u.GetVal().GetJsonIetfVal()); err != nil {
				return nil, err
			}
		}
		return slices.Concat([]byte("["), bytes.Join(entries, []byte(",")), []byte("]")), nil
	}
	return within(t.node, raw)
}

// within removes the name of a node's module from its members. gNMI's values stand alone, but here the node encloses
// them (RFC 7951, section 4).
func within(n *tree.Node, raw []byte) ([]byte, error) {
	if n.Parent == nil || n.Type != nil {
		return raw, nil
	}
	var members, out map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, fmt.Errorf("what is stored: %w", err)
	}
	out = make(map[string]json.RawMessage, len(members))
	for name, value := range members {
		out[strings.TrimPrefix(name, n.Module+":")] = value
	}
	return json.Marshal(out)
}

// itemOf returns one item of a leaf-list as the only item, or nil if the leaf-list does not have it.
func itemOf(raw []byte, item string) ([]byte, error) {
	var all []json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, fmt.Errorf("what is stored: %w", err)
	}
	for _, one := range all {
		var v any
		if json.Unmarshal(one, &v) == nil && (text(v) == item || string(one) == item) {
			return slices.Concat([]byte("["), one, []byte("]")), nil
		}
	}
	return nil, nil
}

// stateless reports whether a node, and all below it, is configuration.
func stateless(n *tree.Node) bool {
	if n.Type != nil {
		return n.Writable()
	}
	return !slices.ContainsFunc(n.Kids, func(k *tree.Node) bool { return !stateless(k) })
}

// header returns a field of a request that may span several lines.
func header(h http.Header, name string) string {
	return strings.TrimSpace(strings.Join(h.Values(name), ","))
}

// tagOf returns the entity-tag of a resource with this configuration; nil means no configuration.
func tagOf(config []byte) string {
	sum := sha256.Sum256(config)
	return fmt.Sprintf(`"%x"`, sum[:16])
}

// matches reports whether a list of entity-tags contains a tag (RFC 9110, section 13.1).
func matches(list, tag string) bool {
	for one := range strings.SplitSeq(list, ",") {
		one = strings.TrimPrefix(strings.TrimSpace(one), "W/")
		if one == "*" || one == tag {
			return true
		}
	}
	return false
}
