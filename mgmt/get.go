package mgmt

import (
	"context"
	"slices"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
)

// checkEncoding refuses encodings that Capabilities does not list.
func checkEncoding(e gpb.Encoding) error {
	if slices.Contains(encodings(), e) {
		return nil
	}
	return status.Errorf(codes.Unimplemented, "encoding %s is not served; there are JSON, JSON_IETF and PROTO", e)
}

func encodings() []gpb.Encoding {
	return []gpb.Encoding{gpb.Encoding_JSON, gpb.Encoding_JSON_IETF, gpb.Encoding_PROTO}
}

// useModels returns the filter that a request's use_models means.
func useModels(models []*gpb.ModelData) (func(*node) bool, error) {
	if len(models) == 0 {
		return func(*node) bool { return true }, nil
	}
	names := map[string]bool{}
	for _, u := range models {
		known := slices.ContainsFunc(modelData(), func(d *gpb.ModelData) bool {
			return d.GetName() == u.GetName() && (u.GetVersion() == "" || u.GetVersion() == d.GetVersion()) &&
				(u.GetOrganization() == "" || u.GetOrganization() == d.GetOrganization())
		})
		if !known {
			return nil, status.Errorf(codes.InvalidArgument, "model %s %s is not served; see Capabilities", u.GetName(),
				u.GetVersion())
		}
		names[u.GetName()] = true
	}
	return func(n *node) bool { return names[n.module] && n.speaks(names) }, nil
}

// speaks reports whether the leaf has no words of models but these: identities may be of another model than the leaf.
func (n *node) speaks(models map[string]bool) bool {
	for _, module := range n.enum {
		if module != "" && !models[module] {
			return false
		}
	}
	return true
}

// dataType returns the filter that a request's type means.
func dataType(t gpb.GetRequest_DataType) (func(*node) bool, error) {
	switch t {
	case gpb.GetRequest_ALL:
		return func(*node) bool { return true }, nil
	case gpb.GetRequest_CONFIG: // what can be set as it is
		return (*node).writable, nil
	case gpb.GetRequest_STATE:
		return func(n *node) bool { return !n.config }, nil
	case gpb.GetRequest_OPERATIONAL:
		return func(n *node) bool { return !n.config && !n.mirrored }, nil
	}
	return nil, status.Errorf(codes.InvalidArgument, "type %d is not known", t)
}

// Get answers a GetRequest: one Notification per path, in order, all of one
// instant as far as Sets go.
func (s *Server) Get(ctx context.Context, req *gpb.GetRequest) (*gpb.GetResponse, error) {
	return wire{Server: s}.Get(ctx, req)
}

// get is Get; wire: what it returns is only sent, and may be encoded already.
func (s *Server) get(ctx context.Context, req *gpb.GetRequest, wire bool) (*gpb.GetResponse, error) {
	filter, err := getFilter(req)
	if err != nil {
		return nil, err
	}
	filter = viewOf(ctx).filter(filter)
	ctx, leave, err := s.gate.enter(ctx, false)
	if err != nil {
		return nil, err
	}
	defer leave()
	client := callerOf(ctx).client()
	if err := s.reading.enter(ctx, client); err != nil {
		return nil, s.dbError(ctx, err)
	}
	defer s.reading.leave(client)
	// No Set is written from the first row that is read to the last.
	s.snapshot.RLock()
	defer s.snapshot.RUnlock()
	resp := &gpb.GetResponse{}
	size, now := 0, s.now().UnixNano()
	for _, p := range pathsAsked(req) {
		n, err := s.getPath(ctx, req, p, filter, wire)
		if status.Code(err) == codes.NotFound {
			if err := s.mine(ctx); err != nil { // there was nothing, but not by what is configured
				return nil, s.dbError(ctx, err)
			}
		}
		if err != nil {
			return nil, err
		}
		size += len(n.ProtoReflect().GetUnknown())
		for _, u := range n.Update {
			size += updateSize(u)
		}
		if size > maxReply {
			return nil, status.Errorf(codes.ResourceExhausted, "the answer is larger than %d bytes: ask for less at once",
				maxReply)
		}
		n.Timestamp = now
		resp.Notification = append(resp.Notification, n)
	}
	if err := s.mine(ctx); err != nil {
		return nil, s.dbError(ctx, err)
	}
	return resp, nil
}

// pathsAsked are the paths of a GetRequest, behind its prefix. A prefix without paths is what is asked for.
func pathsAsked(req *gpb.GetRequest) []*gpb.Path {
	p := req.GetPrefix()
	if len(req.GetPath()) > 0 || len(p.GetElem()) == 0 && p.GetOrigin() == "" && p.GetTarget() == "" {
		return req.GetPath()
	}
	return []*gpb.Path{{}}
}

// once lets a document of configuration say everything in one place alone.
func once(filter func(*node) bool, req *gpb.GetRequest, at *node) func(*node) bool {
	if req.GetType() != gpb.GetRequest_CONFIG || !at.plain {
		return filter
	}
	return func(n *node) bool { return filter(n) && !n.elsewhere() }
}

// getPath answers one path of a GetRequest. The caller holds the snapshot.
func (s *Server) getPath(
	ctx context.Context, req *gpb.GetRequest, p *gpb.Path, filter func(*node) bool, wire bool,
) (*gpb.Notification, error) {
	n := &gpb.Notification{Prefix: replyPrefix(req.GetPrefix(), p)}
	if isRaw(req.GetPrefix(), p) {
		if depthOf(req.GetExtension()) > 0 {
			return nil, errRawDepth
		}
		u, err := s.getRaw(ctx, req.GetPrefix(), p, req.GetEncoding())
		n.Update = append(n.Update, u)
		return n, err
	}
	targets, err := s.model.resolve(req.GetPrefix(), p, codes.InvalidArgument)
	if err != nil {
		return nil, err
	}
	size, wild := 0, len(targets) > 1
	if targets, err = viewOf(ctx).see(targets, req.GetPrefix(), p); err != nil {
		return nil, err
	}
	targets = limit(targets, depthOf(req.GetExtension()))
	wild = wild || len(targets) == 0 || slices.ContainsFunc(targets, target.open)
	var raw *[]byte // updates as they travel
	if wire && req.GetEncoding() == gpb.Encoding_PROTO {
		raw = &[]byte{}
		defer func() { n.ProtoReflect().SetUnknown(*raw) }()
	}
	for _, t := range targets {
		from := len(n.Update)
		if n.Update, err = s.getTarget(ctx, t, once(filter, req, t.node), req.GetEncoding(), n.Update, raw); err != nil {
			return nil, err
		}
		for _, u := range n.Update[from:] {
			size += updateSize(u)
		}
		if raw != nil {
			size = len(*raw)
		}
		if size > maxReply {
			break // the caller says so
		}
	}
	if len(n.Update) == 0 && (raw == nil || len(*raw) == 0) && !wild && targets[0].node != s.model.root {
		return nil, status.Errorf(codes.NotFound, "%s: there is nothing", targets[0].text())
	}
	return n, nil
}

// getFilter returns the filter for the nodes that a GetRequest asks for.
func getFilter(req *gpb.GetRequest) (func(*node) bool, error) {
	if err := checkEncoding(req.GetEncoding()); err != nil {
		return nil, err
	}
	if err := checkExtensions(req.GetExtension(), true); err != nil {
		return nil, err
	}
	ofType, err := dataType(req.GetType())
	if err != nil {
		return nil, err
	}
	ofModel, err := useModels(req.GetUseModels())
	if err != nil {
		return nil, err
	}
	return func(n *node) bool { return ofType(n) && ofModel(n) }, nil
}

// updateSize is the approximate size of an update in an answer.
func updateSize(u *gpb.Update) int {
	size := 64 + len(u.GetVal().GetJsonVal()) + len(u.GetVal().GetJsonIetfVal()) + len(u.GetVal().GetStringVal())
	for _, el := range u.GetPath().GetElem() {
		size += len(el.GetName()) + 4
		for k, v := range el.GetKey() {
			size += len(k) + len(v) + 6
		}
	}
	return size
}

// replyPrefix is the prefix of answers: target and origin as asked, no path.
func replyPrefix(prefix, path *gpb.Path) *gpb.Path {
	p := &gpb.Path{Target: prefix.GetTarget(), Origin: prefix.GetOrigin()}
	if p.Origin == "" {
		p.Origin = path.GetOrigin()
	}
	if p.Target == "" && p.Origin == "" {
		return nil
	}
	return p
}

// getTarget appends the data of a target: to raw, as it travels, if there is such. The caller holds the snapshot.
func (s *Server) getTarget(
	ctx context.Context, t target, filter func(*node) bool, enc gpb.Encoding, out []*gpb.Update, raw *[]byte,
) ([]*gpb.Update, error) {
	sel := s.model.selectLeaves(t.node, t.shows(filter))
	if len(sel) == 0 {
		return out, nil
	}
	g := t.node.group
	if sel[g] == nil { // its entries are needed anyway
		sel[g] = &selected{rows: make([]bool, len(g.rows))}
	}
	r, err := s.reader.cached(ctx, s.hub, s.model, sel, t.keys)
	if err != nil {
		return nil, s.dbError(ctx, err)
	}
	data, err := r.seenBy(viewOf(ctx)).collect(ctx, s.model, sel, t.keys)
	if err != nil {
		return nil, s.dbError(ctx, err)
	}
	return s.model.appendTarget(t, sel, data, enc, out, raw), nil
}

// appendTarget appends what was read of a target.
func (m *model) appendTarget(
	t target, sel selection, data tree, enc gpb.Encoding, out []*gpb.Update, raw *[]byte,
) []*gpb.Update {
	if enc == gpb.Encoding_PROTO {
		for _, g := range m.groups {
			if sel[g] == nil {
				continue
			}
			for _, e := range data[g] {
				if raw != nil {
					*raw = appendRaw(*raw, e, sel[g].leaves, enc)
					continue
				}
				out = appendLeaves(out, e, sel[g].leaves, enc)
			}
		}
		return out
	}
	w := newJSONWriter(data, sel, enc == gpb.Encoding_JSON_IETF)
	for _, e := range data[t.node.group] {
		raw := w.value(t.node, e)
		if raw == nil {
			if t.node != m.root {
				continue
			}
			raw = []byte("{}")
		}
		v := &gpb.TypedValue{Value: &gpb.TypedValue_JsonVal{JsonVal: raw}}
		if enc == gpb.Encoding_JSON_IETF {
			v.Value = &gpb.TypedValue_JsonIetfVal{JsonIetfVal: raw}
		}
		out = append(out, &gpb.Update{Path: e.path(t.node), Val: v})
	}
	return out
}

// appendLeaves appends an update for each leaf of an entry that has a value.
func appendLeaves(out []*gpb.Update, e *entry, leaves []*node, enc gpb.Encoding) []*gpb.Update {
	for _, n := range leaves {
		if v := e.value(n); len(v) > 0 {
			out = append(out, &gpb.Update{Path: e.path(n), Val: n.typed(v, enc)})
		}
	}
	return out
}

// appendRaw is appendLeaves to what travels.
func appendRaw(dst []byte, e *entry, leaves []*node, enc gpb.Encoding) []byte {
	var one []byte
	for _, n := range leaves {
		if v := e.value(n); len(v) > 0 {
			one = e.appendUpdate(one[:0], n, v, enc)
			dst = protowire.AppendBytes(protowire.AppendTag(dst, fieldUpdate, protowire.BytesType), one)
		}
	}
	return dst
}
