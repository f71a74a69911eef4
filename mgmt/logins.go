package mgmt

import (
	"bytes"
	"errors"
	"log/slog"
	"time"

	"tamtam/mgmt/access"
)

// Logins are the users of a file, for a server that only asks who looks: it has no tree, so that roles say nothing
// there, and who is a user may see all. The file is read again when it changes.
type Logins struct{ users *reread[*accounts] }

// NewLogins reads the file; "": everybody may see everything.
func NewLogins(file string) (*Logins, error) {
	if file == "" {
		return &Logins{}, nil
	}
	r := &reread[*accounts]{what: "users", now: time.Now, log: slog.New(slog.DiscardHandler), files: []string{file}}
	r.parse = func(texts [][]byte) (*accounts, error) {
		list, err := access.ReadUsers(bytes.NewReader(texts[0]))
		if err != nil {
			return nil, within(file, err)
		}
		a := &accounts{list: list, users: map[string]access.User{}}
		for _, u := range list {
			a.users[u.Name] = u
		}
		return a, nil
	}
	return &Logins{r}, r.begin()
}

// Check returns an error unless name and password are a user's, or there is no file of users.
func (l *Logins) Check(name, password string) error {
	if l.users == nil {
		return nil
	}
	a := l.users.get()
	u, known := a.users[name]
	switch {
	case name == "" || password == "":
		return errors.New("user name and password are missing")
	case !a.right(u, known, password):
		return errors.New("user or password is wrong")
	}
	return nil
}
