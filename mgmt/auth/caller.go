package auth

import (
	"context"
	"crypto/x509"
	"fmt"
	"sync"
	"time"

	"tamtam/mgmt/access"
	"tamtam/mgmt/rights"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// A Caller is who a request is from, and by which way it came.
type Caller struct {
	Name      string
	Role      access.Role
	From      string // address
	Transport string // the protocol, as gNMI

	View   *rights.View        // what the role may; nil: everything
	stored string              // the password as the file has it, of who has shown it
	chain  []*x509.Certificate // that the client has shown, itself first; nil: it counts for nothing
	user   bool                // it is one of the users
}

// callerKey is that of the caller in the context of a request.
type callerKey struct{}

// WithCaller is the context of what a caller asks for. Without one a request is the process's own, which may
// everything.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, &c)
}

// CallerOf is who a request is from; the process itself is a caller too. Whoever comes by gRPC and was not looked at
// may nothing.
func CallerOf(ctx context.Context) *Caller {
	if c, ok := ctx.Value(callerKey{}).(*Caller); ok {
		return c
	}
	if p, ok := peer.FromContext(ctx); ok {
		return &Caller{Name: "nobody", Transport: overGNMI, From: fmt.Sprint(p.Addr), View: &rights.View{Role: "none"}}
	}
	return &Caller{Name: "this process", Role: access.Admin, Transport: "process"}
}

// UserOf is the name of who a request is from.
func UserOf(ctx context.Context) string { return CallerOf(ctx).Name }

// ViewOf is what the caller of a request may.
func ViewOf(ctx context.Context) *rights.View { return CallerOf(ctx).View }

// still refuses who logged in and could not do so now any more, or has other rights now.
func (g *Guard) still(c *Caller) error {
	if c.chain != nil {
		if err := g.verify(c.chain); err != nil {
			return status.Errorf(codes.Unauthenticated, "the client's certificate is not accepted any more: %v", err)
		}
	}
	if !c.user {
		return nil
	}
	a := g.accounts.get()
	u, ok := a.users[c.Name]
	switch {
	case !ok:
		return status.Errorf(codes.Unauthenticated, "user %s is not there any more", c.Name)
	case c.stored != "" && c.stored != u.Password:
		return status.Errorf(codes.Unauthenticated, "user %s has another password now", c.Name)
	case u.Role != c.Role, !a.views[u.Role].Same(c.View):
		return status.Errorf(codes.Unavailable, "user %s has other rights now: ask again", c.Name)
	}
	return nil
}

// Attended are requests that last, each with what ends it. While there are some, what was read of users and
// certificates is looked at again.
type attended struct {
	mu       sync.Mutex
	open     map[*session]struct{}
	watching bool
}

type session struct {
	caller *Caller
	end    context.CancelCauseFunc
}

// Attend returns the context of a request that lasts: it ends when its caller may not go on.
func (g *Guard) Attend(ctx context.Context) (context.Context, func()) {
	c := CallerOf(ctx)
	ctx, end := context.WithCancelCause(ctx)
	if !c.user && c.chain == nil {
		return ctx, func() { end(nil) }
	}
	x := &session{c, end}
	g.sessions.mu.Lock()
	defer g.sessions.mu.Unlock()
	if g.sessions.open == nil {
		g.sessions.open = map[*session]struct{}{}
	}
	g.sessions.open[x] = struct{}{}
	if !g.sessions.watching {
		g.sessions.watching = true
		go g.watchSessions()
	}
	return ctx, func() {
		g.sessions.mu.Lock()
		delete(g.sessions.open, x)
		g.sessions.mu.Unlock()
		end(nil)
	}
}

// watchSessions ends those that may not go on, while there are some.
func (g *Guard) watchSessions() {
	tick := time.NewTicker(rereadPeriod)
	defer tick.Stop()
	for range tick.C {
		if !g.EndSessions() {
			return
		}
	}
}

// EndSessions ends those that may not go on, and reports whether there are some.
func (g *Guard) EndSessions() bool {
	g.sessions.mu.Lock()
	defer g.sessions.mu.Unlock()
	for x := range g.sessions.open {
		if err := g.still(x.caller); err != nil {
			delete(g.sessions.open, x)
			g.log.Info("what lasts was ended", "user", x.caller.Name, "peer", x.caller.From, "because",
				status.Convert(err).Message())
			x.end(err)
		}
	}
	g.sessions.watching = len(g.sessions.open) > 0
	return g.sessions.watching
}
