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

// Config says where a page is, and who is let in.
type Config struct {
	Addr string // "HOST:PORT"
	// Mgmt has users, roles, certificates, where one is made if none is given, and NoLogin.
	Mgmt mgmt.Config
}

// Check refuses what cannot be, or lets in whoever can connect where nobody has said so. It reads no files.
func (c Config) Check() error {
	m := c.Mgmt
	switch {
	case m.RolesFile != "" && !c.asksLogin():
		return fmt.Errorf("roles are in %s, and there are no users: want a file of users, or the CA of their "+
			"certificates, too", m.RolesFile)
	case (m.CertFile == "") != (m.KeyFile == ""):
		return fmt.Errorf("the certificate is %q and its key %q: want both, or neither", m.CertFile, m.KeyFile)
	case c.asksLogin() && m.NoLogin:
		return fmt.Errorf("users are in %q, the CA of their certificates in %q, and whoever can connect may look: "+
			"want one of both", m.UsersFile, m.ClientCAFile)
	}
	return nil
}

func (c Config) asksLogin() bool { return c.Mgmt.UsersFile != "" || c.Mgmt.ClientCAFile != "" }

// A Door is an address at which a page is asked for.
type Door struct {
	logins *auth.Logins
	server *http.Server
	web    *auth.Web
	local  bool // nobody logs in, and only this machine reaches it
}

// Listen listens, and reads the files; who connects waits for Serve. Where somebody logs in, clients speak TLS.
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

// URL is where a browser finds the page.
func (d *Door) URL() string { return d.web.URL() }

// Close stops listening, if Serve has not run.
func (d *Door) Close() { d.web.Close() }

// Enter lets a request in, as [web.Config] has it.
func (d *Door) Enter(r *http.Request) (context.Context, func(), error) {
	if d.local && !OfThisMachine(r.Host) {
		return nil, nil, Misdirected()
	}
	ctx, leave, err := d.logins.Enter(r, r.URL.Path == web.EventsPath)
	return ctx, leave, Refused(err)
}

// Behind answers those who are let in, and others with what they lack: for what is no page, such as metrics.
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
