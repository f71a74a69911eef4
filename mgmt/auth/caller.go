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

// A Caller is the origin of a request: its user, rights and transport.
type Caller struct {
	Name      string
	Role      access.Role
	From      string // source address
	Transport string // the protocol, for example gNMI

	View   *rights.View        // the role's rights; nil means everything
	stored string              // the password as stored in the file, if the caller has given it
	chain  []*x509.Certificate // the client's verified certificate chain, leaf first; nil if it is not used
	user   bool                // true if the caller is one of the configured users
}

// callerKey is the context key of a request's caller.
type callerKey struct{}

// WithCaller returns the context of a caller's request. A request without caller is the process's own, which may do
// everything.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, &c)
}

// CallerOf returns the caller of a request, or the process itself. A gRPC request that was not authenticated has a
// caller without rights.
func CallerOf(ctx context.Context) *Caller {
	if c, ok := ctx.Value(callerKey{}).(*Caller); ok {
		return c
	}
	if p, ok := peer.FromContext(ctx); ok {
		return &Caller{Name: "nobody", Transport: overGNMI, From: fmt.Sprint(p.Addr), View: &rights.View{Role: "none"}}
	}
	return &Caller{Name: "this process", Role: access.Admin, Transport: "process"}
}

// UserOf returns the name of a request's caller.
func UserOf(ctx context.Context) string { return CallerOf(ctx).Name }

// ViewOf returns the rights of a request's caller.
func ViewOf(ctx context.Context) *rights.View { return CallerOf(ctx).View }

// still returns an error if a caller could no longer log in, or if the caller's rights have changed.
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

// attended holds long-lived requests, such as subscriptions, each with the function that ends it. While there are such
// requests, accounts and certificates are checked again periodically.
type attended struct {
	mu       sync.Mutex
	open     map[*session]struct{}
	watching bool
}

type session struct {
	caller *Caller
	end    context.CancelCauseFunc
}

// Attend returns the context of a long-lived request, and the function to call at its end. The context ends when the
// caller is no longer admitted.
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

// watchSessions ends sessions of callers that are no longer admitted, until no session is left.
func (g *Guard) watchSessions() {
	tick := time.NewTicker(rereadPeriod)
	defer tick.Stop()
	for range tick.C {
		if !g.EndSessions() {
			return
		}
	}
}

// EndSessions ends sessions of callers that are no longer admitted, and reports whether sessions are left.
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
