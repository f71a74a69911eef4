package mgmt

import (
	"context"
	"crypto/tls"
	"net/http"
)

// Logins are who may look at what no switch serves: users, roles and certificates are files as of a switch, are read by
// the same code, and again when they change.
type Logins struct{ guard *guard }

// newLogins reads what a configuration says of users, roles, certificates and clients' certificates; views are what
// roles may.
func newLogins(cfg loginConfig, views viewsOf) (*Logins, error) {
	if err := cfg.checkLogins(); err != nil {
		return nil, err
	}
	cfg.Audit = nil
	g := newGuard(cfg, views)
	return &Logins{g}, g.open()
}

// Enter lets a request in as [Looks.Enter] does.
func (l *Logins) Enter(r *http.Request, lasts bool) (ctx context.Context, leave func(), err error) {
	return l.guard.look(r, lasts)
}

// TLS is what clients speak: where somebody logs in, so that nobody else reads passwords, and where a certificate is
// given. nil: they speak in clear.
func (l *Logins) TLS() (*tls.Config, error) {
	if !l.guard.cfg.asksLogin() && l.guard.cfg.CertFile == "" {
		return nil, nil
	}
	return l.guard.tls()
}
