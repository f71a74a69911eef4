package mgmt

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tamtam/mgmt/access"
	"tamtam/mgmt/auth"
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
	// Socket is the path of a unix socket for the local CLI: root and the server's own user are let in as admin, or as
	// the user that they name, and those who are users by the names that they have on this machine. Empty: none.
	Socket string

	// Who is let in, and how, and who hears of it: see [auth.Config].
	NoLogin, Insecure                    bool
	Dir, CertFile, KeyFile, ClientCAFile string
	Users                                []access.User
	UsersFile, Roles, RolesFile          string
	Audit                                slog.Handler
	Logger                               *slog.Logger
	Clock                                func() time.Time

	// Host returns what is known of the machine, as rows of a table by key: HostFacts, HostState and HostProcesses.
	// Default: nothing.
	Host func(table string) map[string]map[string]string

	// After is the timer of sampling, for tests. Default: time.After.
	After func(time.Duration) <-chan time.Time
}

// logins are the settings of who is let in.
func (c Config) logins() auth.Config {
	return auth.Config{
		NoLogin: c.NoLogin, Dir: c.Dir, CertFile: c.CertFile, KeyFile: c.KeyFile, ClientCAFile: c.ClientCAFile,
		Insecure: c.Insecure, Users: c.Users, UsersFile: c.UsersFile, Roles: c.Roles, RolesFile: c.RolesFile,
		Audit: c.Audit, Logger: c.Logger, Clock: c.Clock,
	}
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
	errs = append(errs, c.logins().Check())
	if c.Addr != "" {
		errs = append(errs, c.MayListen(c.Addr))
	}
	conflict(c.Addr != "" && !c.Insecure && c.CertFile == "" && c.Dir == "", "Dir", "CertFile", "TLS needs one of them")
	return errors.Join(errs...)
}

// MayListen refuses an address that others can reach while nobody is asked for a login.
func (c Config) MayListen(addr string) error { return c.logins().MayListen(addr) }
