package mgmt

import (
	"context"
	"log/slog"
	"net/http"

	"tamtam/mgmt/auth"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A page is read once for all its viewers, repeatedly while it is open. So this file only checks which parts of the
// page a caller may see. Reading leaves no entry in the audit trail.

// Looks is the interface of read-only viewers, such as the page, to a server.
type Looks struct{ of *Server }

// LooksOf returns the read-only interface of a server.
func LooksOf(s *Server) Looks { return Looks{s} }

// Enter admits a request for a page. It returns the request's context, with its caller, and a function that ends the
// visit. If there are users, the client must be one. Its role must be allowed, by its lines for origin sonic-db, to
// read all tables of STATE_DB, COUNTERS_DB and APPL_DB. Such a role also sees on the page what its other lines hide.
// lasts marks a long-lived request, which ends when its caller is no longer admitted. The error has the code
// Unauthenticated, PermissionDenied or ResourceExhausted.
func (s Looks) Enter(r *http.Request, lasts bool) (ctx context.Context, leave func(), err error) {
	return s.of.guard.Look(r, lasts)
}

// Listen listens at an address for a server that admits the same callers as Enter does. It uses TLS if callers log in.
// open admits every client that can connect. Connections pass through a [auth.Door].
func (s Looks) Listen(addr string, open bool, server *http.Server) (*auth.Web, error) {
	server.ErrorLog = slog.NewLogLogger(s.of.log.Handler(), slog.LevelDebug)
	if s.of.AsksLogin() && !open {
		var err error
		if server.TLSConfig, err = s.of.TLS(); err != nil {
			return nil, err
		}
		server.Handler = s.behind(server.Handler)
	}
	return auth.NewWeb(addr, server)
}

// behind serves callers that Enter admits, and answers others with the reason of the refusal.
func (s Looks) behind(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, leave, err := s.Enter(r, false)
		if err != nil {
			code := auth.LookStatus(err)
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

// MayDo refuses a caller whose role may not perform an operation.
func (s Looks) MayDo(ctx context.Context, operation string) error {
	return operations()[operation].allowed(ctx, operation)
}

// Look performs a read-only operation as Operate does, but leaves no entry in the audit trail.
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
	output, err := op.do(s.of.kept, ctx, auth.UserOf(ctx), input)
	if err != nil {
		return nil, s.of.operationError(ctx, name, err)
	}
	return output, nil
}
