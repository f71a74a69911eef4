package mgmt

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"tamtam/swss"
)

// Logins are who may look at what no switch serves: users, roles and certificates are files as of a switch, are read by
// the same code, and again when they change.
type Logins struct{ guard *guard }

// NewLogins reads what a configuration says of users, roles, certificates and clients' certificates; of it nothing else
// counts but Dir, Logger and Clock. Without users and clients' certificates everybody may see everything.
func NewLogins(cfg Config) (*Logins, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	var errs []error
	conflict := func(bad bool, a, b, why string) {
		if bad {
			errs = append(errs, fmt.Errorf("%s and %s: %s", a, b, why))
		}
	}
	cfg.checkTLS(conflict)
	cfg.checkUsers(conflict)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	g := &guard{cfg: cfg, log: cfg.Logger, now: cfg.Clock, trail: trail{now: cfg.Clock, log: cfg.Logger}}
	redis := swss.Look(swss.Config{}) // the model asks nothing of it: what counts are the paths, which roles name
	defer redis.Close()
	var err error
	if g.model, err = newModel(redis, tamtamModules()); err != nil {
		return nil, err
	}
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
