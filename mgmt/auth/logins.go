package auth

import (
	"context"
	"crypto/tls"
	"net/http"
)

// Logins are who may look at what no switch serves: users, roles and certificates are files as of a switch, are read by
// the same code, and again when they change.
type Logins struct{ guard *Guard }

// NewLogins reads what a configuration says of users, roles, certificates and clients' certificates; views are what
// roles may.
func NewLogins(cfg Config, views ViewsOf) (*Logins, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	cfg.Audit = nil
	g := New(cfg, views)
	return &Logins{g}, g.Open()
}

// Enter lets a request in as [mgmt.Looks.Enter] does.
func (l *Logins) Enter(r *http.Request, lasts bool) (ctx context.Context, leave func(), err error) {
	return l.guard.Look(r, lasts)
}

// TLS is what clients speak: where somebody logs in, so that nobody else reads passwords, and where a certificate is
// given. nil: they speak in clear.
func (l *Logins) TLS() (*tls.Config, error) {
	if !l.guard.cfg.AsksLogin() && l.guard.cfg.CertFile == "" {
		return nil, nil
	}
	return l.guard.TLS()
}
