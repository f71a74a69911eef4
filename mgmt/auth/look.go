package auth

import (
	"context"
	"net"
	"net/http"
	"net/netip"

	"tamtam/swss"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// pageDatabases returns the databases whose tables a page shows, directly or as a collector's results.
func pageDatabases() []swss.DBName { return []swss.DBName{swss.StateDB, swss.CountersDB, swss.ApplDB} }

// LookStatus returns the HTTP status for an error of [mgmt.Looks.Enter].
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

// Admit authenticates an HTTP request by name and password (RFC 7617) or by the client's certificate. It also counts
// the request against the bound of its source, until leave is called. The error has the code Unauthenticated or
// ResourceExhausted.
func (g *Guard) Admit(r *http.Request, transport string, lasts bool) (caller Caller, leave func(), err error) {
	leave = func() {}
	if at, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		if leave, err = g.calls.enter(net.TCPAddrFromAddrPort(at), lasts); err != nil {
			return caller, nil, err
		}
	}
	c := Credentials{TLS: r.TLS, From: r.RemoteAddr, Transport: transport, Asks: r.Method}
	c.Name, c.Password, c.Given = r.BasicAuth()
	if caller, err = g.Login(c); err != nil {
		leave()
		return caller, nil, err
	}
	return caller, leave, nil
}

// Look implements [mgmt.Looks.Enter].
func (g *Guard) Look(r *http.Request, lasts bool) (ctx context.Context, leave func(), err error) {
	caller, leave, err := g.Admit(r, "page", lasts)
	if err != nil {
		return nil, nil, err
	}
	if err := caller.mayRead(pageDatabases()); err != nil {
		leave()
		return nil, nil, err
	}
	ctx = WithCaller(r.Context(), caller)
	if !lasts {
		return ctx, leave, nil
	}
	ctx, end := g.Attend(ctx)
	called := leave // a copy, because the returned function replaces the result leave
	return ctx, func() { end(); called() }, nil
}

// mayRead refuses a caller whose role may not read all raw tables of the databases.
func (c *Caller) mayRead(databases []swss.DBName) error {
	if c.View == nil {
		return nil
	}
	if c.View.Blind {
		return status.Errorf(codes.PermissionDenied,
			"all that the databases hold is shown here, and role %s has a line that takes some of it away", c.View.Role)
	}
	for _, db := range databases {
		if at, ok := c.View.Database(db); !ok {
			return c.View.Refusal(at, "read")
		}
	}
	return nil
}
