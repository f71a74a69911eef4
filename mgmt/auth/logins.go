package auth

import (
	"context"
	"crypto/tls"
	"net/http"
)

// Logins authenticates the viewers of a page that no switch serves. Users, roles and certificates are files as for a
// switch. The same code reads them, also again when they change.
type Logins struct{ guard *Guard }

// NewLogins reads the users, roles, certificates and client certificates of a configuration; views are the rights of
// roles.
func NewLogins(cfg Config, views ViewsOf) (*Logins, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	cfg.Audit = nil
	g := New(cfg, views)
	return &Logins{g}, g.Open()
}

// Enter admits a request as [mgmt.Looks.Enter] does.
func (l *Logins) Enter(r *http.Request, lasts bool) (ctx context.Context, leave func(), err error) {
	return l.guard.Look(r, lasts)
}

// TLS returns the TLS configuration for clients, or nil if they use plain text. TLS is used if there is a login, so
// that passwords are encrypted, or if a certificate is given.
func (l *Logins) TLS() (*tls.Config, error) {
	if !l.guard.cfg.AsksLogin() && l.guard.cfg.CertFile == "" {
		return nil, nil
	}
	return l.guard.TLS()
}
