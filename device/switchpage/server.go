package switchpage

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"tamtam/mgmt"
	"tamtam/mgmt/auth"
	"tamtam/mgmt/web"
	"tamtam/mgmt/web/door"
	"tamtam/swss"
)

// Config describes the switch of the page, and the page's address.
type Config struct {
	Engine *mgmt.Server
	Redis  *swss.Redis
	Addr   string // TCP, "host:port"
	// Now returns the time. Default: time.Now.
	Now func() time.Time
	// AccountWait is how long the page waits for syncd's account of drops. If syncd hangs, the rest is shown. Default: 2
	// s.
	AccountWait time.Duration
	Log         *slog.Logger
}

// A Server is the page of a switch.
type Server struct {
	engine *mgmt.Server
	page   *web.Page
	web    *auth.Web
	reader *reader
	local  bool // true if there is no login, and only this machine can connect
}

// New returns a server that already listens but answers only once Serve runs. It uses TLS like RESTCONF, unless there
// is no login and it listens only for this machine.
func New(cfg Config) (*Server, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.AccountWait == 0 {
		cfg.AccountWait = accountWait
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if err := cfg.Engine.MayListen(cfg.Addr); err != nil {
		return nil, fmt.Errorf("the page: %w", err)
	}
	s := &Server{engine: cfg.Engine, local: auth.Local(cfg.Addr) && !cfg.Engine.AsksLogin()}
	r := newReader(cfg)
	s.reader = r
	var err error
	s.page, err = web.New(web.Config{
		Title: "a switch", Note: "The page of one switch.", Store: r, Switches: r, Topology: r, Counters: r, Own: true,
		Enter: s.enter, Records: cfg.Engine.Records(),
		Now: cfg.Now, Lacks: lacks(),
	})
	if err != nil {
		return nil, err
	}
	server := web.Server(s.page)
	server.ErrorLog = slog.NewLogLogger(cfg.Log.Handler(), slog.LevelDebug)
	if !s.local {
		if server.TLSConfig, err = cfg.Engine.TLS(); err != nil {
			return nil, fmt.Errorf("the page: %w", err)
		}
	}
	if s.web, err = auth.NewWeb(cfg.Addr, server); err != nil {
		return nil, fmt.Errorf("the page: %w", err)
	}
	if !cfg.Engine.AsksLogin() {
		cfg.Log.Warn("the page requires no login: every client may see it", "addr", cfg.Addr)
	}
	cfg.Log.Info("the page is served", "url", s.web.URL())
	return s, nil
}

// lacks returns the pages that one switch cannot fill, each with the reason.
func lacks() map[string]string {
	const several = "it is joined from the reports of several switches, and this is the page of one. "
	collector := "A collector has it: tamtam-collectd."
	return map[string]string{
		"/flows":   "the way of a flow, and its times: " + several + collector,
		"/packets": "the way of a packet: " + several + collector + " Packets that were dropped here are among the drops.",
		"/time":    "a switch keeps its counters and not their history. " + collector,
		"/sources": "other devices do not send their measurements to a switch. " + collector,
	}
}

// URL returns the address for a browser, "" if there is no server.
func (s *Server) URL() string {
	if s == nil {
		return ""
	}
	return s.web.URL()
}

// Serve answers until ctx ends.
func (s *Server) Serve(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go s.reader.observing(ctx)
	if err := s.web.Serve(ctx); err != nil {
		return fmt.Errorf("the page: %w", err)
	}
	return nil
}

// Close stops listening, if Serve has not run.
func (s *Server) Close() { s.web.Close() }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.page.ServeHTTP(w, r) }

// enter admits users of the switch that may see the content of the page.
func (s *Server) enter(r *http.Request) (context.Context, func(), error) {
	if s.local && !door.OfThisMachine(r.Host) {
		return nil, nil, door.Misdirected()
	}
	ctx, leave, err := mgmt.LooksOf(s.engine).Enter(r, r.URL.Path == web.EventsPath)
	return ctx, leave, door.Refused(err)
}
