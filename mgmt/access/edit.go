package access

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/crypto/bcrypt"
)

// hashCost is the bcrypt cost of new hashes. Computing a hash takes about 50 ms.
const hashCost = 10

// NewUser returns a user with the hash of a password.
func NewUser(name, password string, role Role) (User, error) {
	switch {
	case name == "" || name[0] == '#' || strings.TrimSpace(name) != name || strings.ContainsAny(name, ":\n\r\x00"):
		return User{}, fmt.Errorf("%q is no name of a user: want one without colon, # in front, and space around", name)
	case password == "":
		return User{}, errors.New("the password is empty")
	}
	if err := role.check(); err != nil {
		return User{}, err
	}
	hash, err := bcrypt.GenerateFromPassword([]byte(password), hashCost)
	if err != nil {
		return User{}, fmt.Errorf("password: %w", err)
	}
	return User{Name: name, Password: string(hash), Role: role}, nil
}

// Edit changes the file of users. It calls keep for each user. keep returns the changed user, or false to remove the
// user. Edit then appends the users in more. Comments stay. The file is replaced atomically, and only its owner can
// read it.
func Edit(file string, keep func(User) (User, bool), more ...User) error {
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var out bytes.Buffer
	for line := range strings.Lines(string(text)) {
		u, err := parseUser(strings.TrimSpace(line))
		if err != nil {
			out.WriteString(strings.TrimSuffix(line, "\n") + "\n")
			continue
		}
		if u, stays := keep(u); stays {
			out.WriteString(u.Line() + "\n")
		}
	}
	for _, u := range more {
		out.WriteString(u.Line() + "\n")
	}
	return replace(file, out.Bytes())
}

// Users reads the file of users.
func Users(file string) ([]User, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	users, err := ReadUsers(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return users, nil
}

// Set writes a user into the file, in place of any user of the same name. If defaultRole is set, an existing user keeps
// its role.
func Set(file string, u User, defaultRole bool) error {
	more := []User{u}
	old, err := Users(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // a damaged file is left for the user to correct
	}
	if slices.ContainsFunc(old, func(o User) bool { return o.Name == u.Name }) {
		more = nil
	}
	return Edit(file, func(o User) (User, bool) {
		if o.Name != u.Name {
			return o, true
		}
		if defaultRole {
			u.Role = o.Role
		}
		return u, true
	}, more...)
}

// Remove removes a user from the file, unless it is the last one.
func Remove(file, name string) error {
	users, err := Users(file)
	if err != nil {
		return err
	}
	rest := slices.DeleteFunc(slices.Clone(users), func(u User) bool { return u.Name == name })
	switch {
	case len(rest) == len(users):
		return fmt.Errorf("%s: there is no user %q", file, name)
	case len(rest) == 0:
		return fmt.Errorf("%s: %s is the last user: without users no client could log in; add another user first", file, name)
	}
	return Edit(file, func(u User) (User, bool) { return u, u.Name != name })
}

// replace writes a file as a whole, or not at all.
func replace(file string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// First creates the file with one user, admin, and returns its random password. If the file exists, it returns "".
func First(file string) (password string, err error) {
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	password = rand.Text()
	u, err := NewUser("admin", password, Admin)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", err
	}
	text := "# Made at the first start; change it with tamtam users.\n" + u.Line() + "\n"
	if err := replace(file, []byte(text)); err != nil {
		return "", err
	}
	return password, nil
}
