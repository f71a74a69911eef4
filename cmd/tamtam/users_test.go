package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"tamtam/internal/command"
	"tamtam/internal/racetest"
)

// Commands write the file of users. It never becomes empty.
func TestUsersCommand(t *testing.T) {
	racetest.Stepped(t)
	file := filepath.Join(t.TempDir(), "users")
	for _, tt := range []struct {
		args, in string
		code     int
		want     string
	}{
		{"users list", "", command.ExitFailed, "no such file"},
		{"users set ada --role admin", "secret\n", 0, ""},
		{"users set bob -p guess", "", 0, ""},
		{"users list", "", 0, "ada                  admin\nbob                  read-only\n"},
		{"users set bob --role operator -p guess", "", 0, ""},
		{"users set bob", "other\n", 0, ""},
		{"users list", "", 0, "bob                  operator\n"},
		{"users set carl", "", command.ExitFailed, "no password on standard input"},
		{"users set a:b -p x", "", command.ExitUsage, "no name of a user"},
		{"users set carl --role a/b -p x", "", command.ExitUsage, "role"},
		{"users remove carl", "", command.ExitFailed, "there is no user"},
		{"users remove ada", "", 0, ""},
		{"users remove bob", "", command.ExitFailed, "the last user"},
		{"users", "", command.ExitUsage, "want set NAME"},
	} {
		var out bytes.Buffer
		args := append(strings.Fields(tt.args), "--users", file)
		if code := run(t.Context(), args, strings.NewReader(tt.in), &out, &out); code != tt.code ||
			!strings.Contains(out.String(), tt.want) {
			t.Errorf("%s: %d %q, want %d %q", tt.args, code, out.String(), tt.code, tt.want)
		}
		if strings.Contains(out.String(), "secret") || strings.Contains(out.String(), "guess") {
			t.Errorf("%s tells a password: %s", tt.args, out.String())
		}
	}
}

// Nothing that other machines reach is served without a login. This is checked before anything else is done.
func TestRefusesToServeAll(t *testing.T) {
	at := " --data " + t.TempDir()
	for _, args := range []string{"up --gnmi :0", "up --gnmi 0.0.0.0:0", "up --rest :0",
		"run mgmtd --redis 127.0.0.1:1 --rest [::]:0"} {
		try(t, args, line{at, command.ExitUsage, "--no-login"})
	}
}
