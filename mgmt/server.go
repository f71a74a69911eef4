package mgmt

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"tamtam/mgmt/access"
	"tamtam/mgmt/auth"
	"tamtam/mgmt/fetch"
	"tamtam/mgmt/models"
	"tamtam/mgmt/models/hft"
	"tamtam/mgmt/rights"
	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/yang/tamyang"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Bounds on what clients can make the server hold.
const (
	maxRequest     = 16 << 20 // bytes
	maxReply       = 256 << 20
	maxHeader      = 64 << 10
	maxStreams     = 128 // RPCs on one connection
	maxSubscribers = 128 // Subscribe RPCs of all clients
)

// A Server is the gNMI service, with its listeners.
type Server struct {
	gpb.UnimplementedGNMIServer
	cfg    Config
	model  *tree.Model
	reader fetch.Reader
	log    *slog.Logger
	now    func() time.Time
	after  func(time.Duration) <-chan time.Time
	hub    *fetch.Hub

	setting  sync.Mutex // serialises Sets and operations
	kept     *archiver
	arbiter  arbiter
	tallying sync.Mutex // guards tallies
	tallies  map[*tree.List]tally
	gate     gate
	claim    atomic.Pointer[swss.Claim] // nil means that no other process has a claim
	// snapshot is held for writing while a Set is written, and for reading while data is read.
	snapshot    sync.RWMutex
	guard       *auth.Guard
	reading     *auth.Shares // shares of the work of reading, per client
	subscribers chan struct{}

	listening []endpoint
	bound     bool // true if the socket of the configuration is this server's
}

// An endpoint is a gRPC server on a listener.
type endpoint struct {
	listener net.Listener
	server   *grpc.Server
}

// NewServer returns a server that already listens but answers only once Serve runs. Without Addr and Socket its methods
// are called directly: [Server.Get], [Server.Set], [Server.Capabilities].
func NewServer(cfg Config) (*Server, error) {
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("northbound: %w", err)
	}
	if cfg.Keep != "" {
		cfg.Startup = cmp.Or(cfg.Startup, filepath.Join(cfg.Keep, "config_db.json"))
	}
	s := &Server{
		cfg: cfg, log: cfg.Logger, now: cfg.Clock, after: cfg.After,
		reader:      fetch.Reader{Redis: cfg.Redis},
		gate:        gate{patience: streamPatience},
		reading:     auth.NewShares(auth.Places()),
		subscribers: make(chan struct{}, maxSubscribers), tallies: map[*tree.List]tally{},
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.after == nil {
		s.after = time.After
	}
	s.kept = &archiver{Server: s, closed: make(chan struct{})}
	s.hub = fetch.NewHub(cfg.Redis, s.log, s.now, s.claim.Load)
	var err error
	if s.model, err = modelOf(cfg.Redis); err != nil {
		return nil, fmt.Errorf("northbound: %w", err)
	}
	s.reader.Sources = s.sources()
	s.guard = auth.New(cfg.logins(), viewsIn(s.model))
	if err := s.open(); err != nil {
		s.Close()
		return nil, fmt.Errorf("northbound: %w", err)
	}
	return s, nil
}

// sonicModel returns the tree over databases with SONiC's default separators. It is immutable, and made once for all
// servers of a process.
var sonicModel = sync.OnceValues(func() (*tree.Model, error) {
	cfg, err := swss.DefaultConfig("")
	if err != nil {
		return nil, err
	}
	redis := swss.Look(cfg) // the model never queries it
	defer redis.Close()
	return newModel(redis)
})

// modelOf returns the tree over databases.
func modelOf(redis *swss.Redis) (*tree.Model, error) {
	if redis.DefaultSeparators() {
		return sonicModel()
	}
	return newModel(redis)
}

func newModel(redis *swss.Redis) (*tree.Model, error) {
	m, err := tree.New(redis, models.All())
	if err != nil {
		return nil, err
	}
	for _, apart := range []string{"/config-rows", "/configurations", "/not-in-force", "/tallies", hft.PathValues} {
		m.Find(apart).Apart = true
	}
	return m, nil
}

// viewsIn returns the function that makes the views of roles in a tree.
func viewsIn(m *tree.Model) auth.ViewsOf {
	return func(roles *access.Roles) (map[access.Role]*rights.View, error) {
		return rights.NewViews(m, bareOperations(), roles)
	}
}

// NewLogins reads the users, roles, certificates and client certificates of a configuration. It uses no other fields
// except Dir, Logger and Clock. Without users and client certificates every client may see everything.
func NewLogins(cfg Config) (*auth.Logins, error) {
	m, err := sonicModel() // only the paths matter, which roles name
	if err != nil {
		return nil, err
	}
	return auth.NewLogins(cfg.logins(), viewsIn(m))
}

// open reads the users and certificates, and opens the listeners.
func (s *Server) open() error {
	if err := s.guard.Open(); err != nil {
		return err
	}
	if s.cfg.Addr != "" {
		creds, err := s.guard.Credentials()
		if err != nil {
			return err
		}
		ls, err := auth.Listen(s.cfg.Addr)
		if err != nil {
			return err
		}
		for _, l := range ls {
			door := auth.NewDoor(l)
			s.add(door, auth.KnownAt(door, creds))
		}
		s.warnOpen()
	}
	if s.cfg.Socket != "" {
		l, err := auth.ListenUnix(s.cfg.Socket, s.cfg.UsersFile != "" || len(s.cfg.Users) > 0)
		if err != nil {
			return err
		}
		s.bound = true
		door := auth.NewDoor(l)
		s.add(door, auth.KnownAt(door, s.guard.Local()))
	}
	return nil
}

// Root returns the node above the top nodes of all modules.
func (s *Server) Root() *tree.Node { return s.model.Root }

// Admit admits a request of another protocol: see [auth.Guard.Admit].
func (s *Server) Admit(r *http.Request, protocol string, lasts bool) (auth.Caller, func(), error) {
	return s.guard.Admit(r, protocol, lasts)
}

// TLS returns the configuration for its clients' connections, or nil if they do not use TLS.
func (s *Server) TLS() (*tls.Config, error) { return s.guard.TLS() }

// Troubles returns, for files that are read while the server runs, why their present content is not in force.
func (s *Server) Troubles() []string { return s.guard.Troubles() }

// AlsoAudit adds a handler of the audit trail, besides Config.Audit. It is called before Serve.
func (s *Server) AlsoAudit(h slog.Handler) { s.guard.Trail.Also(h) }

// AsksLogin reports whether clients must log in.
func (s *Server) AsksLogin() bool { return s.cfg.logins().AsksLogin() }

// MayListen refuses an address for another protocol if other machines can reach the address and no login is required.
func (s *Server) MayListen(addr string) error { return s.cfg.MayListen(addr) }

func (s *Server) warnOpen() {
	if !s.AsksLogin() {
		s.log.Warn("gNMI requires no login: every client may change the configuration", "addr", s.cfg.Addr)
	}
}

func (s *Server) add(l net.Listener, creds credentials.TransportCredentials) {
	g := grpc.NewServer(
		grpc.Creds(creds),
		grpc.MaxRecvMsgSize(maxRequest), grpc.MaxSendMsgSize(maxReply+maxRequest), grpc.MaxHeaderListSize(maxHeader),
		grpc.MaxConcurrentStreams(maxStreams), grpc.ConnectionTimeout(10*time.Second),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: 5 * time.Minute, Time: 30 * time.Second,
			Timeout: 10 * time.Second}),
		grpc.InTapHandle(s.guard.Tap),
	)
	gpb.RegisterGNMIServer(g, wire{s, true})
	reflection.Register(g)
	s.listening = append(s.listening, endpoint{l, g})
}

// Addr returns the TCP address that the server listens on, with the port that the system chose. It is empty if there is
// none.
func (s *Server) Addr() string {
	for _, e := range s.listening {
		if e.listener.Addr().Network() == "tcp" { // the first one if there are two
			return e.listener.Addr().String()
		}
	}
	return ""
}

// Serve answers until ctx ends or a listener fails, and then closes the server.
func (s *Server) Serve(ctx context.Context) error {
	failed := make(chan error, len(s.listening))
	for _, e := range s.listening {
		go func() { failed <- e.server.Serve(e.listener) }()
	}
	var err error
	running := len(s.listening)
	select {
	case <-ctx.Done():
	case err = <-failed:
		running--
	}
	s.Close()
	for range running {
		err = errors.Join(err, <-failed)
	}
	if errors.Is(err, grpc.ErrServerStopped) {
		err = nil
	}
	return err
}

// Close ends all RPCs and listeners.
func (s *Server) Close() {
	s.kept.close.Do(func() { close(s.kept.closed) })
	for _, e := range s.listening {
		e.server.Stop()
		e.listener.Close()
	}
	if s.bound {
		os.Remove(s.cfg.Socket)
	}
	s.hub.Close()
}

// modelData returns the modules that Capabilities lists. Modules that are not OpenConfig's have their revision as
// version. The deviations refer to OpenConfig's complete modules, so that nothing is generated from them.
func modelData() []*gpb.ModelData {
	models := []*gpb.ModelData{{Name: "tamtam-deviations", Organization: "tamtam", Version: "0.3.0"}}
	revisions := map[string]string{"iana-if-type": "2017-01-19", "ietf-interfaces": "2018-02-20"}
	for _, m := range tamyang.ΓModelData {
		version := cmp.Or(m.GetVersion(), revisions[m.GetName()])
		models = append(models, &gpb.ModelData{Name: m.GetName(), Organization: m.GetOrganization(), Version: version})
	}
	return models
}

// Capabilities returns the models, encodings and gNMI version of the server.
func (s *Server) Capabilities(_ context.Context, req *gpb.CapabilityRequest) (*gpb.CapabilityResponse, error) {
	if err := checkExtensions(req.GetExtension(), false); err != nil {
		return nil, err
	}
	version, _ := proto.GetExtension(gpb.File_github_com_openconfig_gnmi_proto_gnmi_gnmi_proto.Options(),
		gpb.E_GnmiService).(string)
	return &gpb.CapabilityResponse{
		SupportedModels: modelData(), SupportedEncodings: encodings(), GNMIVersion: version,
	}, nil
}

// dbError returns a database error with a gRPC code and a text that describes the state of the server. An error that
// has a code keeps it. ctx belongs to the RPC: if the gate has ended it, the gate's reason is returned.
func (s *Server) dbError(ctx context.Context, err error) error {
	var st interface{ GRPCStatus() *status.Status }
	switch {
	case errors.As(err, &st):
		return err
	case errors.As(context.Cause(ctx), &st):
		return context.Cause(ctx)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return status.FromContextError(err).Err()
	}
	s.log.Warn("gNMI request failed", "error", err)
	return status.Error(codes.Unavailable, swss.Why(err))
}
