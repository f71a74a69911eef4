package door

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"tamtam/mgmt"
	"tamtam/mgmt/auth"
	"tamtam/mgmt/web"
)

// Config configures the address of a page, and access to it.
type Config struct {
	Addr string // "HOST:PORT"
	// Mgmt has users, roles, certificates (or the directory where one is made), and NoLogin.
	Mgmt mgmt.Config
}

// Check refuses contradictory settings, and settings that admit every client unless that is requested explicitly. It
// reads no files.
func (c Config) Check() error {
	m := c.Mgmt
	switch {
	case m.RolesFile != "" && !c.asksLogin():
		return fmt.Errorf("roles are in %s, and there are no users: want a file of users, or the CA of their "+
			"certificates, too", m.RolesFile)
	case (m.CertFile == "") != (m.KeyFile == ""):
		return fmt.Errorf("the certificate is %q and its key %q: want both, or neither", m.CertFile, m.KeyFile)
	case c.asksLogin() && m.NoLogin:
		return fmt.Errorf("users are in %q, the CA of their certificates in %q, and --no-login lets every client "+
			"see the page: want users or --no-login", m.UsersFile, m.ClientCAFile)
	}
	return nil
}

func (c Config) asksLogin() bool { return c.Mgmt.UsersFile != "" || c.Mgmt.ClientCAFile != "" }

// A Door is the address of a page, with access control.
type Door struct {
	logins *auth.Logins
	server *http.Server
	web    *auth.Web
	local  bool // there is no login, and only this machine reaches it
}

// Listen listens, and reads the files; connections wait for Serve. If there is a login, clients must use TLS.
func Listen(cfg Config) (*Door, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	if err := cfg.Mgmt.MayListen(cfg.Addr); err != nil {
		return nil, err
	}
	d := &Door{server: web.Server(nil), local: auth.Local(cfg.Addr) && !cfg.asksLogin()}
	if log := cfg.Mgmt.Logger; log != nil {
		d.server.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelDebug)
	}
	var err error
	if d.logins, err = mgmt.NewLogins(cfg.Mgmt); err != nil {
		return nil, err
	}
	if d.server.TLSConfig, err = d.logins.TLS(); err != nil {
		return nil, err
	}
	d.web, err = auth.NewWeb(cfg.Addr, d.server)
	return d, err
}

// URL returns the address of the page for a browser.
func (d *Door) URL() string { return d.web.URL() }

// Close stops listening, if Serve has not run.
func (d *Door) Close() { d.web.Close() }

// Enter admits a request in the form of [web.Config].
func (d *Door) Enter(r *http.Request) (context.Context, func(), error) {
	if d.local && !OfThisMachine(r.Host) {
		return nil, nil, Misdirected()
	}
	ctx, leave, err := d.logins.Enter(r, r.URL.Path == web.EventsPath)
	return ctx, leave, Refused(err)
}

// Behind serves admitted clients, and answers others with the reason of the refusal. It is for paths that are no page,
// such as metrics.
func (d *Door) Behind(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, leave, err := d.Enter(r)
		var no *web.Refusal
		if errors.As(err, &no) {
			if no.Code == http.StatusUnauthorized {
				w.Header().Set("WWW-Authenticate", `Basic realm="tamtam", charset="UTF-8"`)
			}
			http.Error(w, no.Why, no.Code)
			return
		}
		defer leave()
		h.ServeHTTP(w, r.WithContext(ctx))
	})
}

// Serve answers until ctx ends.
func (d *Door) Serve(ctx context.Context, h http.Handler) error {
	d.server.Handler = h
	return d.web.Serve(ctx)
}
