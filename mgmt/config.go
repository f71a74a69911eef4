package mgmt

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"tamtam/swss"

	"golang.org/x/crypto/bcrypt"
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
	// Socket is the path of a unix socket for the local CLI; only root and
	// the server's own user are let in, as admin. Empty: none.
	Socket string

	// Dir is where a CA (ca.pem) and a server certificate that it signs are
	// made and kept if CertFile is not given.
	Dir string
	// CertFile and KeyFile are the server's own certificate and key, PEM. They
	// are read again when they change.
	CertFile, KeyFile string
	// ClientCAFile holds the CAs of client certificates, PEM: every client
	// must then have one.
	ClientCAFile string
	// Insecure serves Addr without TLS. It excludes Users.
	Insecure bool
	// Users may log in; if there are none, whoever can connect is admin.
	Users []User

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

// A Role is what a user may do.
type Role string

// The roles.
const (
	RoleReadOnly Role = "read-only" // everything but Set
	RoleAdmin    Role = "admin"
)

// A User may log in by name and password, or by a client certificate whose
// common name is the name. Password is the password, or its bcrypt hash
// ("$2y$10$...").
type User struct {
	Name, Password string
	Role           Role
}

// ReadUsers reads lines NAME:PASSWORD:ROLE, PASSWORD in clear or as a bcrypt
// hash, ROLE read-only or admin. Empty lines and lines that begin with # are
// skipped. The password may contain colons.
func ReadUsers(r io.Reader) ([]User, error) {
	var users []User
	s := bufio.NewScanner(r)
	for n := 1; s.Scan(); n++ {
		line := strings.TrimSpace(s.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		name, rest, ok := strings.Cut(line, ":")
		i := strings.LastIndexByte(rest, ':')
		if !ok || i < 0 || name == "" || i == 0 {
			return nil, fmt.Errorf("line %d: want NAME:PASSWORD:ROLE", n)
		}
		u := User{Name: name, Password: rest[:i], Role: Role(rest[i+1:])}
		if u.Role != RoleReadOnly && u.Role != RoleAdmin {
			return nil, fmt.Errorf("line %d: role %q is neither %s nor %s", n, u.Role, RoleReadOnly, RoleAdmin)
		}
		if _, err := bcrypt.Cost([]byte(u.Password)); hashed(u.Password) && err != nil {
			return nil, fmt.Errorf("line %d: password of %s: %w", n, name, err)
		}
		if slices.ContainsFunc(users, func(o User) bool { return o.Name == name }) {
			return nil, fmt.Errorf("line %d: user %s is there twice", n, name)
		}
		users = append(users, u)
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	if len(users) == 0 {
		return nil, errors.New("no user: a server that asks for a login nobody has lets nobody in")
	}
	return users, nil
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
	conflict(c.Insecure && c.CertFile != "", "Insecure", "CertFile", "without TLS there is no use for a certificate")
	conflict(c.Insecure && c.ClientCAFile != "", "Insecure", "ClientCAFile",
		"without TLS clients cannot show certificates")
	conflict(c.Insecure && len(c.Users) > 0, "Insecure", "Users", "passwords would travel in clear")
	conflict(c.CertFile != "" && c.KeyFile == "", "CertFile", "KeyFile", "a certificate needs its key")
	conflict(c.CertFile == "" && c.KeyFile != "", "CertFile", "KeyFile", "a key needs its certificate")
	conflict(c.Addr != "" && !c.Insecure && c.CertFile == "" && c.Dir == "", "Dir", "CertFile", "TLS needs one of them")
	return errors.Join(errs...)
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
