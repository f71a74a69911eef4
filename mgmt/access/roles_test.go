package access

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"
)

func TestParseRoles(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"# comment\n\nr read /\nr  write  /a/b[c=d]/e\nr none sonic-db:/CONFIG_DB", ""},
		{"r read", "line 1: want ROLE none|read|write PATH"},
		{"r see /", `line 1: "see": want none, read or write`},
		{"r read a", "begin with /"},
		{"r read //a", "a name is missing"},
		{"r read /a/*", "* is no name"},
		{"r read /a[b=c", "] is missing"},
		{`r read /a[b=c\`, `ends behind \`},
		{"r read /a[b=]", "key \"b\" is empty"},
		{"r read /a[b=c][b=d]", "key \"b\" is there twice"},
		{"r read /a[b=c]d", "want / or [ here"},
		{"r read /a\nr none /a", "line 2: r has a line for /a already, line 1"},
		{"r read /a[b=*]\nr none /a", "line 2: r has a line for /a already"},
		{"admin none /", "line 1: admin may everything"},
		{"r/x none /", "line 1: role"},
		{strings.Repeat("r read /\n", 2), "line 2"},
	} {
		_, err := ParseRoles(strings.NewReader(tt.text))
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%q: %v, want %q", tt.text, err, tt.want)
		}
	}
}

// Rules with the longest path precede others. Among equally long paths the rule with the most keys is first, and then
// the rule that allows less.
func TestOrderOfRules(t *testing.T) {
	roles, err := ParseRoles(
		strings.NewReader("r read /\nr write /a/b\nr none /a/b[c=d]\nr write /a/b[e=f]\nr read /a/b/x\n"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range roles.Rules("r") {
		got = append(got, r.Path.String())
	}
	if want := []string{"/a/b/x", "/a/b[c=d]", "/a/b[e=f]", "/a/b", "/"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if roles.Rules("stranger") != nil {
		t.Error("there is a role that nobody named")
	}
}

// A built-in role that has lines of its own begins without raw rows, unless its lines grant them.
func TestOwnLinesOfBuiltIn(t *testing.T) {
	level := func(text string, role Role, path string) string {
		roles, err := ParseRoles(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range roles.Rules(role) {
			if r.Path.String() == path {
				return r.Level.String()
			}
		}
		return "not named"
	}
	for _, tt := range []struct{ text, role, path, want string }{
		{"", "operator", "/config-rows", "read"}, {"", "operator", "/config-rows/row[table=PORT]", "write"},
		{"", "operator", "/config-rows/row[table=TACPLUS_SERVER]", "not named"},
		{"", "operator", "/config-rows/row[table=DEVICE_METADATA]", "not named"},
		{"operator none /qos", "operator", "/config-rows", "none"},
		{"operator none /qos", "operator", "sonic-db:/", "not named"},
		{"operator none /qos", "operator", "/config-rows/row[table=PORT]", "not named"},
		{"operator none /qos\noperator read /config-rows", "operator", "/config-rows", "read"},
		{"operator none /qos", "read-only", "sonic-db:/", "read"},
		{"read-only none /qos", "read-only", "sonic-db:/", "not named"}, {"read-only none /qos", "read-only", "/", "read"},
		{"", "read-only", "sonic-db:/CONFIG_DB", "none"}, {"", "admin", "/", "write"},
	} {
		if got := level(tt.text, Role(tt.role), tt.path); got != tt.want {
			t.Errorf("%q: %s %s: %s, want %s", tt.text, tt.role, tt.path, got, tt.want)
		}
	}
}

// Any text is refused, or parsed to lines that stay the same when they are written and parsed again.
func FuzzRoles(f *testing.F) {
	for _, s := range []string{
		"r read /", "r write /a[b=c]/d\nr none sonic-db:/X/Y", `r read /a[b=\]\\]`, "operator none /a:b", "# x", "r none a:/",
		"",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		roles, err := ParseRoles(strings.NewReader(text))
		if err != nil {
			return
		}
		var lines []string
		for _, name := range roles.Names() {
			for _, r := range roles.Rules(name) {
				if r.Line > 0 {
					lines = append(lines, r.String())
				}
			}
		}
		again, err := ParseRoles(strings.NewReader(strings.Join(lines, "\n")))
		if err != nil {
			t.Fatalf("%q is written %q: %v", text, lines, err)
		}
		for _, name := range roles.Names() {
			was, is := roles.Rules(name), again.Rules(name)
			if !slices.EqualFunc(was, is, func(a, b Rule) bool { return a.String() == b.String() }) {
				t.Fatalf("%q: %v, and written again %v", text, was, is)
			}
		}
	})
}

// Any text is refused, or parsed to users that can be read again from their lines.
func FuzzUsers(f *testing.F) {
	for _, s := range []string{"a:b:admin", "a:" + bcryptOfGuest + ":x", "a:b:c:r\n#\nb:::r", "a::admin", ":b:admin", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		users, err := ReadUsers(strings.NewReader(text))
		if err != nil {
			return
		}
		var lines []string
		for _, u := range users {
			lines = append(lines, u.Line())
		}
		again, err := ReadUsers(strings.NewReader(strings.Join(lines, "\n")))
		if err != nil || !slices.Equal(users, again) {
			t.Fatalf("%q: %v, and written again %v: %v", text, users, again, err)
		}
	})
}

// The first login is made once, hashed, and readable by its owner only. Comments and other users stay when one user is
// changed.
func TestFirstAndEdit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "data", "users")
	password, err := First(file)
	if err != nil || len(password) < 20 {
		t.Fatalf("%q, %v", password, err)
	}
	if again, err := First(file); again != "" || err != nil {
		t.Errorf("made again: %q, %v", again, err)
	}
	read := func() ([]User, string) {
		t.Helper()
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		users, err := ReadUsers(strings.NewReader(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		return users, string(text)
	}
	users, text := read()
	if len(users) != 1 || users[0].Role != Admin || bcrypt.CompareHashAndPassword([]byte(users[0].Password),
		[]byte(password)) != nil ||
		strings.Contains(text, password) {
		t.Errorf("%s", text)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	bob := User{"bob", "x", ReadOnly}
	if err := Edit(file, func(u User) (User, bool) { return u, true }, bob); err != nil {
		t.Fatal(err)
	}
	if err := Edit(file, func(u User) (User, bool) { return u, u.Name != "admin" }); err != nil {
		t.Fatal(err)
	}
	if users, text = read(); !slices.Equal(users, []User{bob}) || !strings.HasPrefix(text, "# Made at the first start") {
		t.Errorf("%s", text)
	}
	for _, name := range []string{"", "a:b", "#a", " a", "a\n"} {
		if _, err := NewUser(name, "p", Admin); err == nil {
			t.Errorf("%q is a user", name)
		}
	}
	if _, err := NewUser("a", "", Admin); err == nil {
		t.Error("an empty password is taken")
	}
	if _, err := NewUser("a", strings.Repeat("x", 73), Admin); err == nil {
		t.Error("a password is taken that bcrypt cuts")
	}
}
