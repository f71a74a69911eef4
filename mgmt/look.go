package mgmt

import (
	"context"

	"tamtam/mgmt/access"
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

// MayLook refuses a caller whose role may not read all tables of some databases as they are, by its lines of sonic-db:
// whoever may read these may see what other lines hide.
func (s Looks) MayLook(ctx context.Context, databases ...swss.DBName) error {
	v := viewOf(ctx)
	if v == nil {
		return nil
	}
	for _, db := range databases {
		if at, ok := v.database(db); !ok {
			return v.refusal(at, "read")
		}
	}
	return nil
}

// database reports whether all tables of a database may be read, and if not, what may not.
func (v *view) database(db swss.DBName) (at string, ok bool) {
	at = access.SonicDB + ":/" + string(db)
	for _, r := range v.raw { // those of one table come first
		elems := r.Path.Elems
		if len(elems) > 0 && elems[0].Name != string(db) {
			continue
		}
		switch read := r.Level >= access.Read; {
		case len(elems) < 2:
			return at, read
		case !read:
			return at + "/" + elems[1].Name, false
		}
	}
	return at, false
}

// MayDo refuses a caller whose role may not do an operation.
func (s Looks) MayDo(ctx context.Context, operation string) error {
	return viewOf(ctx).may(operation)
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

// Attend is the context of a request that lasts: it ends when its caller may not go on.
func (s Looks) Attend(ctx context.Context) (context.Context, func()) { return s.of.guard.attend(ctx) }
