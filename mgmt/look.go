package mgmt

import (
	"context"
	"log/slog"
	"net/http"

	"tamtam/mgmt/auth"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// What a page shows is read once for all who look at it, again and again while they do. So it is asked here what a
// caller may see of it, and reading itself leaves no trail.

// Looks is how what only looks asks a server.
type Looks struct{ of *Server }

// LooksOf asks a server.
func LooksOf(s *Server) Looks { return Looks{s} }

// Enter lets a request for a page in: it returns the request's context, with its caller, and what ends it. Who asks
// must be a user, if there are users, whose role may read all tables of STATE_DB, COUNTERS_DB and APPL_DB as they are,
// by its lines of sonic-db: whoever may read these may see what other lines hide. A request that lasts ends when its
// caller may not go on. The error has the code Unauthenticated, PermissionDenied, or ResourceExhausted.
func (s Looks) Enter(r *http.Request, lasts bool) (ctx context.Context, leave func(), err error) {
	return s.of.guard.Look(r, lasts)
}

// Listen listens at an address for a server that lets in those who may look, as Enter does, by TLS where they log in;
// open lets in whoever can connect. Connections come in by a [auth.Door].
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

// behind answers those who may look, and others with what they lack.
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
	output, err := op.do(s.of.kept, ctx, auth.UserOf(ctx), input)
	if err != nil {
		return nil, s.of.operationError(ctx, name, err)
	}
	return output, nil
}
