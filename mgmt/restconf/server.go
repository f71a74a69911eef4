package restconf

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"tamtam/mgmt"
	"tamtam/mgmt/auth"
	"tamtam/mgmt/tree"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// root is the root resource.
const root = "/restconf"

// The encodings of bodies.
const (
	yangJSON  = "application/yang-data+json"
	plainJSON = "application/json"
)

// Bounds on what clients can make the server hold.
const (
	maxHeader  = 64 << 10
	headerTime = 10 * time.Second
	bodyTime   = time.Minute
	idleTime   = 5 * time.Minute
)

// Config configures a server.
type Config struct {
	Engine *mgmt.Server
	Addr   string // TCP, "host:port"
	Log    *slog.Logger
}

// A Server is RESTCONF on an engine.
type Server struct {
	engine *mgmt.Server
	root   *tree.Node
	log    *slog.Logger
	web    *auth.Web
}

// New returns a server that already listens but answers only once Serve runs.
func New(cfg Config) (*Server, error) {
	s := &Server{engine: cfg.Engine, root: cfg.Engine.Root(), log: cfg.Log}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	conf, err := cfg.Engine.TLS()
	if err != nil {
		return nil, fmt.Errorf("RESTCONF: %w", err)
	}
	if err := cfg.Engine.MayListen(cfg.Addr); err != nil {
		return nil, fmt.Errorf("RESTCONF: %w", err)
	}
	s.web, err = auth.NewWeb(cfg.Addr, &http.Server{
		Handler: s, TLSConfig: conf, ReadHeaderTimeout: headerTime, ReadTimeout: bodyTime, IdleTimeout: idleTime,
		MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	})
	if err != nil {
		return nil, fmt.Errorf("RESTCONF: %w", err)
	}
	if !cfg.Engine.AsksLogin() {
		s.log.Warn("RESTCONF requires no login: every client may change the configuration", "addr", cfg.Addr)
	}
	return s, nil
}

// Addr returns the address that the server listens on, with the port that the system chose.
func (s *Server) Addr() string { return s.web.Addr() }

// Serve answers until ctx ends.
func (s *Server) Serve(ctx context.Context) error {
	if err := s.web.Serve(ctx); err != nil {
		return fmt.Errorf("RESTCONF: %w", err)
	}
	return nil
}

// Close stops listening, if Serve has not run.
func (s *Server) Close() { s.web.Close() }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Content-Type-Options", "nosniff")
	if p := s.serve(w, r); p != nil {
		p.write(w)
	}
}

// serve answers a request, or returns the problem with it.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) *problem {
	path := r.URL.EscapedPath()
	if path == hostMeta {
		return s.hostMeta(w, r)
	}
	caller, leave, err := s.engine.Admit(r, "RESTCONF", path == root+"/streams/"+streamName)
	if status.Code(err) == codes.ResourceExhausted { // RFC 6585, section 4
		return bad(http.StatusTooManyRequests, "resource-denied", "%s", status.Convert(err).Message())
	}
	if err != nil {
		return explain(s.root, err)
	}
	defer leave()
	r = r.WithContext(auth.WithCaller(r.Context(), caller))
	below, ok := strings.CutPrefix(path, root)
	switch {
	case !ok || below != "" && below[0] != '/':
		return missing("%s: there is %s and %s", shown(path), root, hostMeta)
	case below == "/data" || strings.HasPrefix(below, "/data/"):
		return s.data(w, r, below[len("/data"):])
	}
	if name, ok := strings.CutPrefix(below, "/operations/"); ok && name != "" {
		return s.operate(w, r, name)
	}
	return s.other(w, r, strings.TrimSuffix(below, "/"))
}

// reads reports whether a method changes nothing.
func reads(method string) bool {
	return slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodOptions}, method)
}

// data serves the datastore and its nodes.
func (s *Server) data(w http.ResponseWriter, r *http.Request, path string) *problem {
	if value, ok := described(path); ok {
		return s.constant(w, r, value)
	}
	t, p := parsePath(s.root, path)
	if p != nil {
		return p
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		if p := acceptable(r, yangJSON, plainJSON); p != nil {
			return p
		}
		return s.get(w, r, t)
	case http.MethodOptions:
		w.Header().Set("Allow", t.allowed())
		w.Header().Set("Accept-Patch", yangJSON)
		w.WriteHeader(http.StatusNoContent)
		return nil
	case http.MethodPut, http.MethodPost, http.MethodPatch, http.MethodDelete:
		p := s.change(w, r, t)
		if p != nil && p.code == http.StatusMethodNotAllowed {
			w.Header().Set("Allow", t.allowed())
		}
		return p
	}
	w.Header().Set("Allow", t.allowed())
	return notAllowed("there is no method %s: %s", shown(r.Method), t.allowed())
}

// allowed returns the methods of a target.
func (t target) allowed() string {
	methods := "GET, HEAD, OPTIONS"
	switch {
	case t.all || !t.node.Writable():
		return methods
	case t.node.Parent == nil:
		return methods + ", POST, PUT, PATCH"
	case t.item != nil || t.node.Type != nil:
		return methods + ", PUT, PATCH, DELETE"
	}
	return methods + ", POST, PUT, PATCH, DELETE"
}

// acceptable refuses a request whose Accept has none of the media types.
func acceptable(r *http.Request, kinds ...string) *problem {
	given := r.Header.Values("Accept")
	if len(given) == 0 {
		return nil
	}
	for one := range strings.SplitSeq(strings.Join(given, ","), ",") {
		kind, params, _ := strings.Cut(strings.ToLower(one), ";")
		kind = strings.TrimSpace(kind)
		family, _, _ := strings.Cut(kinds[0], "/")
		if q, given := strings.CutPrefix(strings.ReplaceAll(params, " ", ""), "q=0"); given && strings.Trim(q, ".0") == "" {
			continue
		}
		if kind == "*/*" || kind == family+"/*" || slices.Contains(kinds, kind) {
			return nil
		}
	}
	return bad(http.StatusNotAcceptable, "invalid-value", "Accept %q: there is %s", shown(strings.Join(given, ",")),
		strings.Join(kinds, ", "))
}
