package auth

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"tamtam/mgmt/access"
	"tamtam/mgmt/rights"
)

// A Guard authenticates callers, and holds their accounts, certificates and sessions.
type Guard struct {
	cfg      Config
	views    ViewsOf
	log      *slog.Logger
	now      func() time.Time
	accounts *reread[*accounts]
	pair     *reread[*tls.Certificate] // the server's own certificate; nil until TLS is used
	clientCA *reread[*clientCA]        // nil if clients need no certificate
	Trail    Trail
	calls    calls
	sessions attended
}

// ViewsOf returns the rights of each role.
type ViewsOf func(*access.Roles) (map[access.Role]*rights.View, error)

// New returns a guard that admits no caller until Open has read the accounts.
func New(cfg Config, views ViewsOf) *Guard {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	return &Guard{cfg: cfg, views: views, log: cfg.Logger, now: cfg.Clock,
		Trail: Trail{to: cfg.Audit, now: cfg.Clock, log: cfg.Logger}}
}

// Open reads the accounts and the CA of client certificates.
func (g *Guard) Open() error { return errors.Join(g.openAccounts(), g.openClientCA()) }

// accounts holds the users, and the view of each role.
type accounts struct {
	list  []access.User
	users map[string]access.User
	views map[access.Role]*rights.View
	proof passwords
}

// openAccounts reads the files, or uses the lists of the configuration.
func (g *Guard) openAccounts() error {
	r := &reread[*accounts]{what: "users and roles", now: g.now, log: g.log, reported: g.auditReread}
	for _, name := range []string{g.cfg.UsersFile, g.cfg.RolesFile} {
		if name != "" {
			r.files = append(r.files, name)
		}
	}
	r.parse = g.parseAccounts
	g.accounts = r
	return r.begin()
}

// parseAccounts parses the texts of the configured files.
func (g *Guard) parseAccounts(texts [][]byte) (a *accounts, err error) {
	users, rules := g.cfg.Users, g.cfg.Roles
	if g.cfg.UsersFile != "" {
		if users, err = access.ReadUsers(bytes.NewReader(texts[0])); err != nil {
			return nil, within(g.cfg.UsersFile, err)
		}
		texts = texts[1:]
	}
	if g.cfg.RolesFile != "" {
		rules = string(texts[0])
	}
	roles, err := access.ParseRoles(strings.NewReader(rules))
	var views map[access.Role]*rights.View
	if err == nil {
		views, err = g.views(roles)
	}
	if err != nil {
		return nil, within(g.cfg.RolesFile, err)
	}
	if err := roles.Check(users); err != nil {
		return nil, within(g.cfg.UsersFile, err)
	}
	a = &accounts{list: users, users: map[string]access.User{}, views: views}
	for _, u := range users {
		a.users[u.Name] = u
	}
	return a, nil
}

// within adds the file to an error; file is empty if there is none.
func within(file string, err error) error {
	if file == "" {
		return err
	}
	return fmt.Errorf("%s: %w", file, err)
}

// HasAccounts reports whether users are configured. Only then do callers have names that distinguish them.
func (g *Guard) HasAccounts() bool { return len(g.accounts.get().list) > 0 }

// RightsOf returns a user's present rights and role. If the user no longer exists, it returns the rights of the role
// had. A nil view has all rights. known is false if that role no longer exists either.
func (g *Guard) RightsOf(name string, had access.Role) (v *rights.View, role access.Role, known bool) {
	a := g.accounts.get()
	if u, ok := a.users[name]; ok {
		had = u.Role
	}
	v, known = a.views[had]
	return v, had, known || len(a.list) == 0
}

// Troubles returns a message for each file that is read while the server runs and whose present content is not in
// force.
func (g *Guard) Troubles() []string {
	var all []string
	problems := []func() string{g.accounts.problem, g.Trail.problem}
	if g.pair != nil {
		problems = append(problems, g.pair.problem)
	}
	if g.clientCA != nil {
		problems = append(problems, g.clientCA.problem)
	}
	for _, problem := range problems {
		if why := problem(); why != "" {
			all = append(all, why)
		}
	}
	return all
}
