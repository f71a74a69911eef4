package access

import (
	"strings"
	"testing"
)

// bcryptOfGuest is a bcrypt hash of the password "guest".
const bcryptOfGuest = "$2a$04$pIIaVUp1/bAFUAV8O1WTAe73Z36pCHs4QxiqwnHCeAnE5mnTzeOqm"

func TestReadUsers(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"# comment\n\nroot:s3:cret:admin\nguest:guest:read-only\n", ""},
		{"root:s3:cret:admin\nguest:" + bcryptOfGuest + ":read-only", ""},
		{"root:$2y$05$tooshort:admin", "line 1: password of root"},
		{"root:x", "line 1: want NAME"},
		{"root:x:", `role ""`},
		{"root:x:a b", `role "a b"`},
		{"root::admin", "line 1"},
		{"a:b:admin\na:c:admin", "line 2: user a is there twice"},
		{"", "no user"},
	} {
		users, err := ReadUsers(strings.NewReader(c.text))
		switch {
		case c.want == "" && (err != nil || len(users) != 2 || users[0] != (User{"root", "s3:cret", Admin})):
			t.Errorf("%v %v", users, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
}
