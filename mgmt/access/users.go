package access

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/crypto/bcrypt"
)

// A Role is a name for a set of rights.
type Role string

// The built-in roles.
const (
	ReadOnly Role = "read-only"
	Operator Role = "operator"
	Admin    Role = "admin"
)

// A User may log in by name and password, or by a client certificate whose common name is the name. Password is the
// password, or its bcrypt hash ("$2y$10$...").
type User struct {
	Name, Password string
	Role           Role
}

// Hashed reports whether the password is a bcrypt hash.
func (u User) Hashed() bool {
	return slices.ContainsFunc([]string{"$2a$", "$2b$", "$2y$"}, func(of string) bool {
		return strings.HasPrefix(u.Password, of)
	})
}

// Line returns the user's line of the file.
func (u User) Line() string { return u.Name + ":" + u.Password + ":" + string(u.Role) }

// maxUsers bounds the users of a file.
const maxUsers = 10000

// ReadUsers parses lines NAME:PASSWORD:ROLE, PASSWORD in clear or as a bcrypt hash. Empty lines and lines that begin
// with # are skipped. The password may contain colons. [Roles.Check] checks that the roles exist.
func ReadUsers(r io.Reader) ([]User, error) {
	var users []User
	seen := map[string]bool{}
	s := bufio.NewScanner(r)
	for n := 1; s.Scan(); n++ {
		line := strings.TrimSpace(s.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		u, err := parseUser(line)
		switch {
		case err != nil:
			return nil, fmt.Errorf("line %d: %w", n, err)
		case seen[u.Name]:
			return nil, fmt.Errorf("line %d: user %s is there twice", n, u.Name)
		case len(users) == maxUsers:
			return nil, fmt.Errorf("line %d: more than %d users", n, maxUsers)
		}
		seen[u.Name] = true
		users = append(users, u)
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	if len(users) == 0 {
		return nil, errors.New("no user: no client could log in; add one with `tamtam users set`")
	}
	return users, nil
}

func parseUser(line string) (User, error) {
	name, rest, ok := strings.Cut(line, ":")
	i := strings.LastIndexByte(rest, ':')
	if !ok || i <= 0 || name == "" {
		return User{}, errors.New("want NAME:PASSWORD:ROLE")
	}
	u := User{Name: name, Password: rest[:i], Role: Role(rest[i+1:])}
	if err := u.Role.check(); err != nil {
		return User{}, err
	}
	if _, err := bcrypt.Cost([]byte(u.Password)); u.Hashed() && err != nil {
		return User{}, fmt.Errorf("password of %s: %w", name, err)
	}
	return u, nil
}

// check refuses an invalid name of a role.
func (r Role) check() error {
	ok := r != "" && len(r) <= 64
	for _, c := range r {
		ok = ok && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.')
	}
	if !ok {
		return fmt.Errorf("role %.80q: want letters, digits, - _ and . (at most 64), such as %s, %s or %s", string(r),
			ReadOnly, Operator, Admin)
	}
	return nil
}
