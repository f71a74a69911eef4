package mgmt

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tamtam/mgmt/access"
	"tamtam/mgmt/auth"
	"tamtam/mgmt/hftrecords"
	"tamtam/swss"
)

// A Config configures a server: its data, its listeners and the clients that it admits.
type Config struct {
	Redis *swss.Redis

	// Keep is the directory of saved configurations: those saved or committed, and an unconfirmed commit. If it is
	// empty, none are saved, and operations that need them are refused.
	Keep string
	// Startup is the file that the configuration is saved to and that the next start loads: a config_db.json. The
	// default is config_db.json in Keep.
	Startup string

	// Addr is the TCP address to listen on, "host:port"; empty means no TCP listener.
	Addr string
	// Socket is the path of a unix socket for the local CLI; empty means no socket. Root and the server's own user are
	// admitted as admin or as the user that they name. Others are admitted if their name on this machine is a user's.
	Socket string

	// Authentication, authorisation and the audit trail: see [auth.Config].
	NoLogin, Insecure                    bool
	Dir, CertFile, KeyFile, ClientCAFile string
	Users                                []access.User
	UsersFile, Roles, RolesFile          string
	Audit                                slog.Handler
	Logger                               *slog.Logger
	Clock                                func() time.Time

	// Host returns facts about the machine, as rows of a table by key: HostFacts, HostState and HostProcesses. The
	// default returns nothing.
	Host func(table string) map[string]map[string]string

	// Records holds the last records of high-frequency telemetry. Nil means that the server does not receive them.
	Records *hftrecords.Store

	// After is the timer of sampling, replaceable in tests. The default is time.After.
	After func(time.Duration) <-chan time.Time
}

// logins returns the settings of authentication and authorisation.
func (c Config) logins() auth.Config {
	return auth.Config{
		NoLogin: c.NoLogin, Dir: c.Dir, CertFile: c.CertFile, KeyFile: c.KeyFile, ClientCAFile: c.ClientCAFile,
		Insecure: c.Insecure, Users: c.Users, UsersFile: c.UsersFile, Roles: c.Roles, RolesFile: c.RolesFile,
		Audit: c.Audit, Logger: c.Logger, Clock: c.Clock,
	}
}

// check returns an error for each pair of settings that contradict each other, naming both.
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

// MayListen refuses an address that other machines can reach while no login is required.
func (c Config) MayListen(addr string) error { return c.logins().MayListen(addr) }
