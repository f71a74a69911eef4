package mgmt

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tamtam/mgmt/access"
	"tamtam/swss"
)

// A Config says what a server serves, to whom.
type Config struct {
	Redis *swss.Redis

	// Keep is the directory of configurations that are kept: those saved or committed, and an unconfirmed commit. Empty:
	// none are, and what needs them is refused.
	Keep string
	// Startup is the file that the configuration is saved to, and that the next start loads: a config_db.json. Default:
	// config_db.json in Keep.
	Startup string

	// Addr is the TCP address to listen on, "host:port"; empty: none.
	Addr string
	// NoLogin serves Addr, and RESTCONF, to whoever can connect also where that is not this machine alone, though nobody
	// is asked for a login.
	NoLogin bool
	// Socket is the path of a unix socket for the local CLI: root and the server's own user are let in as admin, or as
	// the user that they name, and those who are users by the names that they have on this machine. Empty: none.
	Socket string

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

	// Host returns what is known of the machine, as rows of a table by key: HostFacts, HostState and HostProcesses.
	// Default: nothing.
	Host func(table string) map[string]map[string]string

	// Logger gets what an operator should know. Default: nothing.
	Logger *slog.Logger
	// Clock tells the time of what is sent. Default: time.Now.
	Clock func() time.Time
	// After is the timer of sampling, for tests. Default: time.After.
	After func(time.Duration) <-chan time.Time
}

// check refuses settings that contradict each other, naming both.
func (c Config) check() error {
	var errs []error
	conflict := func(bad bool, a, b, why string) {
		if bad {
			errs = append(errs, fmt.Errorf("%s and %s: %s", a, b, why))
		}
	}
	if c.Redis == nil {
		errs = append(errs, errors.New("Redis is missing"))
	}
	c.checkTLS(conflict)
	c.checkUsers(conflict)
	if c.Addr != "" {
		errs = append(errs, c.MayListen(c.Addr))
	}
	conflict(c.Addr != "" && !c.Insecure && c.CertFile == "" && c.Dir == "", "Dir", "CertFile", "TLS needs one of them")
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
	conflict(c.NoLogin && c.asksLogin(), "NoLogin", "Users or ClientCAFile", "there is a login")
}

// asksLogin says that not whoever can connect is let in.
func (c Config) asksLogin() bool {
	return len(c.Users) > 0 || c.UsersFile != "" || c.ClientCAFile != ""
}

// MayListen refuses an address that others can reach while nobody is asked for a login.
func (c Config) MayListen(addr string) error {
	if c.asksLogin() || c.NoLogin || Local(addr) {
		return nil
	}
	return fmt.Errorf("%s can be reached by others, and whoever can connect would be admin: make a login "+
		"(tamtam users set admin --role admin --users FILE) and serve with --users FILE, "+
		"ask for certificates with --tls-client-ca, listen on localhost, or say --no-login", addr)
}

// Tables of Config.Host.
const (
	// HostFacts has the row "switch", which stays as it is: boot-time in ns since 1970, software-version.
	HostFacts = "facts"
	// HostState has the row "switch": current-datetime as in RFC 3339, up-time in ns; physical, free, available and
	// used, of memory in bytes.
	HostState = "state"
	// HostProcesses has a row by pid: name, start-time, cpu-usage-user and cpu-usage-system in ns, memory-usage in bytes.
	HostProcesses = "processes"
)
