package auth

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tamtam/mgmt/access"
)

// A Config configures authentication and authorisation.
type Config struct {
	// NoLogin serves Addr and RESTCONF without a login, even if other machines can reach these addresses.
	NoLogin bool
	// Dir is the directory of a CA (ca.pem) and a server certificate that it signs. They are created if CertFile is
	// empty.
	Dir string
	// CertFile and KeyFile are PEM files with the server's own certificate and key. These and the files below are read
	// again when they change.
	CertFile, KeyFile string
	// ClientCAFile is a PEM file with the CAs of client certificates. If it is set, every client must have a
	// certificate.
	ClientCAFile string
	// Insecure serves Addr without TLS. It cannot be combined with Users.
	Insecure bool
	// Users may log in; if there are none, every client that can connect is admin.
	Users []access.User
	// UsersFile holds the users instead of Users, in the format of access.ReadUsers.
	UsersFile string
	// Roles holds the rights of roles, in the format of access.ParseRoles. Built-in roles always exist.
	Roles string
	// RolesFile holds the rights of roles instead of Roles.
	RolesFile string
	// Audit receives the audit trail: see AuditUser and the constants after it. The default discards it.
	Audit slog.Handler

	// Logger receives messages for the operator. The default discards them.
	Logger *slog.Logger
	// Clock is the time source for messages. The default is time.Now.
	Clock func() time.Time
}

// Check returns an error for each pair of settings that contradict each other, naming both.
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

// checkTLS reports contradictions among the settings of certificates.
func (c Config) checkTLS(conflict func(bad bool, a, b, why string)) {
	conflict(c.Insecure && c.CertFile != "", "Insecure", "CertFile", "without TLS there is no use for a certificate")
	conflict(c.Insecure && c.ClientCAFile != "", "Insecure", "ClientCAFile",
		"without TLS clients cannot show certificates")
	conflict(c.CertFile != "" && c.KeyFile == "", "CertFile", "KeyFile", "a certificate needs its key")
	conflict(c.CertFile == "" && c.KeyFile != "", "CertFile", "KeyFile", "a key needs its certificate")
}

// checkUsers reports contradictions among the settings of users and roles.
func (c Config) checkUsers(conflict func(bad bool, a, b, why string)) {
	users := len(c.Users) > 0
	conflict(c.Insecure && (users || c.UsersFile != ""), "Insecure", "Users", "passwords would travel in clear")
	conflict(users && c.UsersFile != "", "Users", "UsersFile", "there is one list of users")
	conflict(c.Roles != "" && c.RolesFile != "", "Roles", "RolesFile", "there is one list of roles")
	conflict(c.NoLogin && c.AsksLogin(), "NoLogin", "Users or ClientCAFile", "there is a login")
}

// AsksLogin reports whether clients must log in.
func (c Config) AsksLogin() bool {
	return len(c.Users) > 0 || c.UsersFile != "" || c.ClientCAFile != ""
}

// MayListen refuses an address that other machines can reach while no login is required.
func (c Config) MayListen(addr string) error {
	if c.AsksLogin() || c.NoLogin || Local(addr) {
		return nil
	}
	return fmt.Errorf("%s can be reached by other hosts, and every client would be admin: create a user "+
		"(tamtam users set admin --role admin --users FILE) and serve with --users FILE, "+
		"require certificates with --tls-client-ca, listen on localhost, or give --no-login", addr)
}
