package mgmt

import (
	"bytes"
	"fmt"
	"strings"

	"tamtam/mgmt/access"
)

// Accounts are who may log in, and what each role sees.
type accounts struct {
	list  []access.User
	users map[string]access.User
	views map[access.Role]*view
	proof passwords
}

// openAccounts reads the files, or takes what the configuration has.
func (s *Server) openAccounts() error {
	r := &reread[*accounts]{what: "users and roles", now: s.now, log: s.log, told: s.auditReread}
	for _, name := range []string{s.cfg.UsersFile, s.cfg.RolesFile} {
		if name != "" {
			r.files = append(r.files, name)
		}
	}
	r.parse = s.parseAccounts
	s.accounts = r
	return r.begin()
}

// parseAccounts reads the texts of the files that there are.
func (s *Server) parseAccounts(texts [][]byte) (a *accounts, err error) {
	users, rules := s.cfg.Users, s.cfg.Roles
	if s.cfg.UsersFile != "" {
		if users, err = access.ReadUsers(bytes.NewReader(texts[0])); err != nil {
			return nil, within(s.cfg.UsersFile, err)
		}
		texts = texts[1:]
	}
	if s.cfg.RolesFile != "" {
		rules = string(texts[0])
	}
	roles, err := access.ParseRoles(strings.NewReader(rules))
	var views map[access.Role]*view
	if err == nil {
		views, err = s.model.views(roles)
	}
	if err != nil {
		return nil, within(s.cfg.RolesFile, err)
	}
	if err := roles.Check(users); err != nil {
		return nil, within(s.cfg.UsersFile, err)
	}
	a = &accounts{list: users, users: map[string]access.User{}, views: views}
	for _, u := range users {
		a.users[u.Name] = u
	}
	return a, nil
}

// within says in which file something is wrong; "": in none.
func within(file string, err error) error {
	if file == "" {
		return err
	}
	return fmt.Errorf("%s: %w", file, err)
}

// Troubles say of files that are read while the server runs why what they say now is not in force.
func (s *Server) Troubles() []string {
	var all []string
	doubts := []func() string{s.accounts.doubt, s.trail.doubt}
	if s.pair != nil {
		doubts = append(doubts, s.pair.doubt)
	}
	if s.clientCA != nil {
		doubts = append(doubts, s.clientCA.doubt)
	}
	for _, doubt := range doubts {
		if why := doubt(); why != "" {
			all = append(all, why)
		}
	}
	return all
}
