package mgmt

import (
	"context"
	"slices"
	"time"

	"tamtam/mgmt/auth"
	"tamtam/mgmt/set"
	"tamtam/mgmt/tree"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
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

// useModels returns the node filter for a request's use_models.
func useModels(models []*gpb.ModelData) (func(*tree.Node) bool, error) {
	if len(models) == 0 {
		return func(*tree.Node) bool { return true }, nil
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
	return func(n *tree.Node) bool { return names[n.Module] && n.Speaks(names) }, nil
}

// dataType returns the node filter for a request's type.
func dataType(t gpb.GetRequest_DataType) (func(*tree.Node) bool, error) {
	switch t {
	case gpb.GetRequest_ALL:
		return func(*tree.Node) bool { return true }, nil
	case gpb.GetRequest_CONFIG: // configuration that a Set accepts at this path
		return (*tree.Node).Writable, nil
	case gpb.GetRequest_STATE:
		return func(n *tree.Node) bool { return !n.Config }, nil
	case gpb.GetRequest_OPERATIONAL:
		return func(n *tree.Node) bool { return !n.Config && !n.Mirrored }, nil
	}
	return nil, status.Errorf(codes.InvalidArgument, "type %d is not known", t)
}

// Get answers a GetRequest with one Notification per path, in order. No Set is written while it reads.
func (s *Server) Get(ctx context.Context, req *gpb.GetRequest) (*gpb.GetResponse, error) {
	return wire{Server: s}.Get(ctx, req)
}

// get implements Get. Parts of the response may be encoded already.
func (s *Server) get(ctx context.Context, req *gpb.GetRequest) (*gpb.GetResponse, error) {
	filter, err := getFilter(req)
	if err != nil {
		return nil, err
	}
	filter = auth.ViewOf(ctx).Filter(filter)
	ctx, leave, err := s.gate.enter(ctx, false)
	if err != nil {
		return nil, err
	}
	defer leave()
	client := auth.CallerOf(ctx).Client()
	if err := s.reading.Enter(ctx, client); err != nil {
		return nil, s.dbError(ctx, err)
	}
	defer s.reading.Leave(client)
	// Holding the snapshot, no Set is written from the first row that is read to the last.
	s.snapshot.RLock()
	defer s.snapshot.RUnlock()
	if err := s.served(req.GetPrefix(), pathsAsked(req)); err != nil {
		return nil, err
	}
	resp := &gpb.GetResponse{}
	size, now := 0, s.now().UnixNano()
	for _, p := range pathsAsked(req) {
		n, err := s.getPath(ctx, req, p, filter)
		if status.Code(err) == codes.NotFound {
			// If data is missing, CONFIG_DB may have been emptied, or claimed by another server.
			if err := s.mine(ctx); err != nil {
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
		if n.Timestamp == 0 {
			n.Timestamp = now
		}
		resp.Notification = append(resp.Notification, n)
	}
	if err := s.mine(ctx); err != nil {
		return nil, s.dbError(ctx, err)
	}
	return resp, nil
}

// pathsAsked returns the paths of a GetRequest, without its prefix. A prefix without paths asks for the prefix itself.
func pathsAsked(req *gpb.GetRequest) []*gpb.Path {
	p := req.GetPrefix()
	if len(req.GetPath()) > 0 || len(p.GetElem()) == 0 && p.GetOrigin() == "" && p.GetTarget() == "" {
		return req.GetPath()
	}
	return []*gpb.Path{{}}
}

// getPath returns the data for one path of a GetRequest. The caller holds the snapshot.
func (s *Server) getPath(
	ctx context.Context, req *gpb.GetRequest, p *gpb.Path, filter func(*tree.Node) bool,
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
	targets, err := s.model.Resolve(req.GetPrefix(), p, codes.Unimplemented)
	if err != nil {
		return nil, err
	}
	size, wild := 0, len(targets) > 1
	if targets, err = auth.ViewOf(ctx).See(targets, req.GetPrefix(), p); err != nil {
		return nil, err
	}
	targets = tree.LimitDepth(targets, depthOf(req.GetExtension()))
	at := collection{}
	wild = wild || len(targets) == 0 || slices.ContainsFunc(targets, tree.Target.Open)
	for _, t := range targets {
		from := len(n.Update)
		if err := s.getTarget(ctx, t, filter, req.GetEncoding(), n, &at); err != nil {
			return nil, err
		}
		for _, u := range n.Update[from:] {
			size += updateSize(u)
		}
		if size+len(n.ProtoReflect().GetUnknown()) > maxReply {
			break // the caller reports the excess
		}
	}
	n.Timestamp = at.time()
	if len(n.Update)+len(n.ProtoReflect().GetUnknown()) == 0 && !wild && targets[0].Node != s.model.Root {
		return nil, status.Errorf(codes.NotFound, "%s: there is nothing", targets[0].Text())
	}
	return n, nil
}

// served refuses a request with paths that no model has: it names each of them.
func (s *Server) served(prefix *gpb.Path, paths []*gpb.Path) error {
	var missing []error
	for _, p := range paths {
		if isRaw(prefix, p) {
			continue
		}
		_, err := s.model.Resolve(prefix, p, codes.Unimplemented)
		if status.Code(err) != codes.Unimplemented {
			continue // reading it reports any other error
		}
		missing = append(missing, err)
	}
	return set.Together(missing)
}

// getFilter returns the filter for the nodes that a GetRequest asks for.
func getFilter(req *gpb.GetRequest) (func(*tree.Node) bool, error) {
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
	return func(n *tree.Node) bool { return ofType(n) && ofModel(n) }, nil
}

// updateSize returns the approximate size of an update in a response, in bytes.
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

// replyPrefix returns the prefix of responses: target and origin as requested, no path.
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

// getTarget adds the data of a target. The caller holds the snapshot.
func (s *Server) getTarget(
	ctx context.Context, t tree.Target, filter func(*tree.Node) bool, enc gpb.Encoding, to *gpb.Notification,
	at *collection,
) error {
	sel := s.model.SelectLeaves(t.Node, t.Shows(filter))
	if len(sel) == 0 {
		return nil
	}
	g := t.Node.List
	if sel[g] == nil { // the entries are needed even if no leaf was selected
		sel[g] = &tree.Selected{Rows: make([]bool, len(g.Rows))}
	}
	r, err := s.reader.Cached(ctx, s.hub, s.model, sel, t.Keys)
	if err != nil {
		return s.dbError(ctx, err)
	}
	data, err := r.SeenBy(auth.ViewOf(ctx)).Collect(ctx, s.model, sel, t.Keys)
	if err != nil {
		return s.dbError(ctx, err)
	}
	s.model.AddTarget(to, t, sel, data, enc)
	at.add(sel, data)
	return nil
}

// A collection is the time of data that consist of polled counters alone: that of the oldest of them.
type collection struct {
	oldest time.Time
	mixed  bool // true if there are other data, or some with an unknown time
}

// add adds data.
func (c *collection) add(sel tree.Selection, data tree.Entries) {
	for g, s := range sel {
		for _, leaf := range s.Leaves {
			if c.mixed || leaf.KeyIndex >= 0 {
				continue // a key is part of the path
			}
			for _, e := range data[g] {
				at := e.CollectedAt(leaf)
				if c.mixed = at.IsZero() && len(e.Value(leaf)) > 0; c.mixed {
					return
				}
				if !at.IsZero() && (c.oldest.IsZero() || at.Before(c.oldest)) {
					c.oldest = at
				}
			}
		}
	}
}

// time returns the time for a Notification, in nanoseconds, or 0 for that of the Get.
func (c *collection) time() int64 {
	if c.mixed || c.oldest.IsZero() {
		return 0
	}
	return c.oldest.UnixNano()
}
