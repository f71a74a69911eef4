package auth

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tamtam/mgmt/access"
)

// A Config says who is let in, and how.
type Config struct {
	// NoLogin serves Addr, and RESTCONF, to whoever can connect also where that is not this machine alone, though nobody
	// is asked for a login.
	NoLogin bool
	// Dir is where a CA (ca.pem) and a server certificate that it signs are
	// made and kept if CertFile is not given.
	Dir string
	// CertFile and KeyFile are the server's own certificate and key, PEM. These
	// and the files below are read again when they change.
	CertFile, KeyFile string
	// ClientCAFile holds the CAs of client certificates, PEM: every client
	// must then have one.
	ClientCAFile string
	// Insecure serves Addr without TLS. It excludes Users.
	Insecure bool
	// Users may log in; if there are none, whoever can connect is admin.
	Users []access.User
	// UsersFile has them instead, as access.ReadUsers reads them.
	UsersFile string
	// Roles says what roles may, as access.ParseRoles reads it; what is built in is there without.
	Roles string
	// RolesFile has that instead.
	RolesFile string
	// Audit gets the audit trail: see AuditUser and what follows there. Default: nothing.
	Audit slog.Handler

	// Logger gets what an operator should know. Default: nothing.
	Logger *slog.Logger
	// Clock tells the time of what is sent. Default: time.Now.
	Clock func() time.Time
}

// Check refuses settings that contradict each other, naming both.
func (c Config) Check() error {
	var errs []error
	conflict := func(bad bool, a, b, why string) {
		if bad {
			errs = append(errs, fmt.Errorf("%s and %s: %s", a, b, why))
		}
	}
	c.checkTLS(conflict)
	c.checkUsers(conflict)
	return errors.Join(errs...)
}

// checkTLS finds what contradicts itself in what clients are shown, and have to show.
func (c Config) checkTLS(conflict func(bad bool, a, b, why string)) {
	conflict(c.Insecure && c.CertFile != "", "Insecure", "CertFile", "without TLS there is no use for a certificate")
	conflict(c.Insecure && c.ClientCAFile != "", "Insecure", "ClientCAFile",
		"without TLS clients cannot show certificates")
	conflict(c.CertFile != "" && c.KeyFile == "", "CertFile", "KeyFile", "a certificate needs its key")
	conflict(c.CertFile == "" && c.KeyFile != "", "CertFile", "KeyFile", "a key needs its certificate")
}

// checkUsers finds what contradicts itself in who is let in.
func (c Config) checkUsers(conflict func(bad bool, a, b, why string)) {
	users := len(c.Users) > 0
	conflict(c.Insecure && (users || c.UsersFile != ""), "Insecure", "Users", "passwords would travel in clear")
	conflict(users && c.UsersFile != "", "Users", "UsersFile", "there is one list of users")
	conflict(c.Roles != "" && c.RolesFile != "", "Roles", "RolesFile", "there is one list of roles")
	conflict(c.NoLogin && c.AsksLogin(), "NoLogin", "Users or ClientCAFile", "there is a login")
}

// AsksLogin says that not whoever can connect is let in.
func (c Config) AsksLogin() bool {
	return len(c.Users) > 0 || c.UsersFile != "" || c.ClientCAFile != ""
}

// MayListen refuses an address that others can reach while nobody is asked for a login.
func (c Config) MayListen(addr string) error {
	if c.AsksLogin() || c.NoLogin || Local(addr) {
		return nil
	}
	return fmt.Errorf("%s can be reached by others, and whoever can connect would be admin: make a login "+
		"(tamtam users set admin --role admin --users FILE) and serve with --users FILE, "+
		"ask for certificates with --tls-client-ca, listen on localhost, or say --no-login", addr)
}
