package mgmt

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"

	"tamtam/swss"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// What a page shows is read once for all who look at it, again and again while they do. So it is asked here what a
// caller may see of it, and reading itself leaves no trail.

// Looks is how what only looks asks a server.
type Looks struct{ of *Server }

// LooksOf asks a server.
func LooksOf(s *Server) Looks { return Looks{s} }

// pageDatabases are those whose tables, or what collectors make of them, a page shows.
func pageDatabases() []swss.DBName { return []swss.DBName{swss.StateDB, swss.CountersDB, swss.ApplDB} }

// Enter lets a request for a page in: it returns the request's context, with its caller, and what ends it. Who asks
// must be a user, if there are users, whose role may read all tables of STATE_DB, COUNTERS_DB and APPL_DB as they are,
// by its lines of sonic-db: whoever may read these may see what other lines hide. A request that lasts ends when its
// caller may not go on. The error has the code Unauthenticated, PermissionDenied, or ResourceExhausted.
func (s Looks) Enter(r *http.Request, lasts bool) (ctx context.Context, leave func(), err error) {
	return s.of.guard.look(r, lasts)
}

// Listen listens at an address for a server that lets in those who may look, as Enter does, by TLS where they log in;
// open lets in whoever can connect. Connections come in by a [Door].
func (s Looks) Listen(addr string, open bool, server *http.Server) (*Web, error) {
	server.ErrorLog = slog.NewLogLogger(s.of.log.Handler(), slog.LevelDebug)
	if s.of.AsksLogin() && !open {
		var err error
		if server.TLSConfig, err = s.of.TLS(); err != nil {
			return nil, err
		}
		server.Handler = s.behind(server.Handler)
	}
	return NewWeb(addr, server)
}

// behind answers those who may look, and others with what they lack.
func (s Looks) behind(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, leave, err := s.Enter(r, false)
		if err != nil {
			code := LookStatus(err)
			if code == http.StatusUnauthorized {
				w.Header().Set("WWW-Authenticate", `Basic realm="tamtam", charset="UTF-8"`)
			}
			http.Error(w, status.Convert(err).Message(), code)
			return
		}
		defer leave()
		h.ServeHTTP(w, r.WithContext(ctx))
	})
}

// LookStatus returns the HTTP status for an error of [Looks.Enter].
func LookStatus(err error) int {
	switch status.Code(err) {
	case codes.Unauthenticated:
		return http.StatusUnauthorized
	case codes.PermissionDenied:
		return http.StatusForbidden
	case codes.ResourceExhausted:
		return http.StatusTooManyRequests
	}
	return http.StatusServiceUnavailable
}

// look is [Looks.Enter].
func (g *guard) look(r *http.Request, lasts bool) (ctx context.Context, leave func(), err error) {
	leave = func() {}
	if at, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		if leave, err = g.calls.enter(net.TCPAddrFromAddrPort(at), lasts); err != nil {
			return nil, nil, err
		}
	}
	c := Credentials{TLS: r.TLS, From: r.RemoteAddr, Transport: "page", Asks: r.Method}
	c.Name, c.Password, c.Given = r.BasicAuth()
	caller, err := g.login(c)
	if err == nil {
		err = caller.mayRead(pageDatabases())
	}
	if err != nil {
		leave()
		return nil, nil, err
	}
	ctx = WithCaller(r.Context(), caller)
	if !lasts {
		return ctx, leave, nil
	}
	ctx, end := g.attend(ctx)
	called := leave // not the result of that name
	return ctx, func() { end(); called() }, nil
}

// mayRead refuses a caller whose role may not read all tables of databases as they are.
func (c *Caller) mayRead(databases []swss.DBName) error {
	if c.view == nil {
		return nil
	}
	if c.view.Blind {
		return status.Errorf(codes.PermissionDenied,
			"all that the databases hold is shown here, and role %s has a line that takes some of it away", c.view.Role)
	}
	for _, db := range databases {
		if at, ok := c.view.Database(db); !ok {
			return c.view.Refusal(at, "read")
		}
	}
	return nil
}

// MayDo refuses a caller whose role may not do an operation.
func (s Looks) MayDo(ctx context.Context, operation string) error {
	return operations()[operation].allowed(ctx, operation)
}

// Look does an operation that only looks, as Operate does it, but leaves no trail.
func (s Looks) Look(ctx context.Context, name string, input []byte) ([]byte, error) {
	op := operations()[name]
	if !op.looks {
		return nil, status.Errorf(codes.InvalidArgument, "/operations/%s: it does not only look", name)
	}
	if err := s.MayDo(ctx, name); err != nil {
		return nil, err
	}
	ctx, leave, err := s.of.gate.enter(ctx, false)
	if err != nil {
		return nil, err
	}
	defer leave()
	output, err := op.do(s.of.kept, ctx, userOf(ctx), input)
	if err != nil {
		return nil, s.of.operationError(ctx, name, err)
	}
	return output, nil
}
