package switchpage

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"tamtam/collectord/page"
	"tamtam/mgmt"
	"tamtam/swss"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Config says of which switch the page is, and where.
type Config struct {
	Engine *mgmt.Server
	Redis  *swss.Redis
	Addr   string // TCP, "host:port"
	// Now tells the time. Default: time.Now.
	Now func() time.Time
	Log *slog.Logger
}

// A Server is the page of a switch.
type Server struct {
	engine *mgmt.Server
	page   *page.Page
	web    *mgmt.Web
	local  bool // nobody logs in, and only this machine reaches it
}

// shown are the databases whose tables the page shows.
var shown = []swss.DBName{swss.StateDB, swss.CountersDB, swss.ApplDB}

// New returns a server that already listens but answers only once Serve runs. It speaks TLS as RESTCONF does, but where
// nobody logs in and nobody else can listen.
func New(cfg Config) (*Server, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if err := cfg.Engine.MayListen(cfg.Addr); err != nil {
		return nil, fmt.Errorf("the page: %w", err)
	}
	s := &Server{engine: cfg.Engine, local: mgmt.Local(cfg.Addr) && !cfg.Engine.AsksLogin()}
	r := newReader(cfg)
	var err error
	s.page, err = page.New(page.Config{
		Title: "a switch", Note: "The page of one switch.", Store: r, Switches: r, Topology: r, Own: true, Enter: s.enter,
		Now: cfg.Now, Lacks: lacks(),
	})
	if err != nil {
		return nil, err
	}
	server := page.Server(s.page)
	server.ErrorLog = slog.NewLogLogger(cfg.Log.Handler(), slog.LevelDebug)
	if !s.local {
		if server.TLSConfig, err = cfg.Engine.TLS(); err != nil {
			return nil, fmt.Errorf("the page: %w", err)
		}
	}
	if s.web, err = mgmt.NewWeb(cfg.Addr, server); err != nil {
		return nil, fmt.Errorf("the page: %w", err)
	}
	if !cfg.Engine.AsksLogin() {
		cfg.Log.Warn("the page asks for no login: whoever can connect may look", "addr", cfg.Addr)
	}
	cfg.Log.Info("the page is served", "url", s.web.URL())
	return s, nil
}

// lacks says what one switch cannot know.
func lacks() map[string]string {
	const several = "it is joined from what several switches say, and this is the page of one. "
	collector := "A collector has it: tamtam-collectd."
	return map[string]string{
		"/flows":   "the way of a flow, and its times: " + several + collector,
		"/packets": "the way of a packet: " + several + collector + " Packets that were dropped here are among the drops.",
		"/sources": "nobody sends to a switch what others have seen. " + collector,
	}
}

// URL is where a browser finds the page; "" of none.
func (s *Server) URL() string {
	if s == nil {
		return ""
	}
	return s.web.URL()
}

// Serve answers until ctx ends.
func (s *Server) Serve(ctx context.Context) error {
	if err := s.web.Serve(ctx); err != nil {
		return fmt.Errorf("the page: %w", err)
	}
	return nil
}

// Close stops listening, if Serve has not run.
func (s *Server) Close() { s.web.Close() }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.page.ServeHTTP(w, r) }

// enter lets those in who are users of the switch and may see what the page shows.
func (s *Server) enter(r *http.Request) (context.Context, func(), error) {
	if s.local && !ofThisMachine(r.Host) {
		// Else a page from elsewhere could have its name mean this machine, and read what it shows.
		return nil, nil, &page.Refusal{Code: http.StatusMisdirectedRequest,
			Why: "this page is asked for by the name localhost, or by an address, since it asks for no login"}
	}
	lasts := r.URL.Path == page.EventsPath
	leave := func() {}
	if at, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		leave, err = s.engine.Enter(net.TCPAddrFromAddrPort(at), lasts)
		if err != nil {
			return nil, nil, refusal(err)
		}
	}
	c := mgmt.Credentials{TLS: r.TLS, From: r.RemoteAddr, Transport: "page", Asks: r.Method}
	c.Name, c.Password, c.Given = r.BasicAuth()
	caller, err := s.engine.Login(c)
	if err == nil {
		ctx := mgmt.WithCaller(r.Context(), caller)
		if err = mgmt.LooksOf(s.engine).MayLook(ctx, shown...); err == nil {
			if !lasts {
				return ctx, leave, nil
			}
			ctx, end := mgmt.LooksOf(s.engine).Attend(ctx)
			return ctx, func() { end(); leave() }, nil
		}
	}
	leave()
	return nil, nil, refusal(err)
}

// ofThisMachine says of what a client asks for, HOST or HOST:PORT, that it names this machine or is an address.
func ofThisMachine(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if n := len(host); n > 1 && host[0] == '[' && host[n-1] == ']' {
		host = host[1 : n-1]
	}
	_, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil
}

// refusal is how somebody is told that he is not let in.
func refusal(err error) error {
	code := http.StatusServiceUnavailable
	switch status.Code(err) {
	case codes.Unauthenticated:
		code = http.StatusUnauthorized
	case codes.PermissionDenied:
		code = http.StatusForbidden
	case codes.ResourceExhausted:
		code = http.StatusTooManyRequests
	}
	return &page.Refusal{Code: code, Why: status.Convert(err).Message()}
}
