package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tamtam/device/doctor"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// At a Redis with a password or an ACL user every command logs in by the same flags, or by database_config.json. It
// reports errors of the login.
func TestRedisLogin(t *testing.T) {
	server := swsstest.StartServer(t)
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	conf := server.Open().DB(swss.ConfigDB).Client()
	if err := conf.ACLSetUser(t.Context(), "switch", "on", ">s3cret", "~*", "&*", "+@all").Err(); err != nil {
		t.Fatal(err)
	}
	if err := conf.ConfigSet(t.Context(), "requirepass", "default's").Err(); err != nil {
		t.Fatal(err)
	}
	good, own, wrong := file("good", "s3cret\nrest"), file("own", "default's\r\n"), file("wrong", "x\n")
	config := file("config.json", `{"PORT": {"Ethernet0": {"lanes": "1"}}}`)
	host, port, _ := strings.Cut(server.Addr, ":")
	database, err := json.Marshal(map[string]any{"INSTANCES": map[string]any{"redis": map[string]any{
		"hostname": host, "port": json.Number(port), "username": "switch", "password_path": good}}})
	if err != nil {
		t.Fatal(err)
	}
	at := []string{"--redis", server.Addr}
	tamtam := func(ctx context.Context, args ...string) (int, string) {
		var out bytes.Buffer
		code := run(ctx, args, nil, &out, &out)
		return code, out.String()
	}
	for name, login := range map[string][]string{
		"an ACL user":          append(at, "--redis-user", "switch", "--redis-password-file", good),
		"the default user":     append(at, "--redis-password-file", own),
		"database_config.json": {"--database-config", file("database_config.json", string(database))},
	} {
		for _, command := range [][]string{
			{"config", "load", config}, {"config", "save"},
			{"techsupport", "--gnmi", "127.0.0.1:1", "--target", "127.0.0.1:1", "--insecure", "--timeout", "1s", "--data", dir,
				"-o", filepath.Join(dir, "a.tar.gz")},
		} {
			code, out := tamtam(t.Context(), append(command, login...)...)
			if code != 0 || strings.Contains(out, "Redis does not answer") ||
				command[1] == "save" && !strings.Contains(out, "Ethernet0") {
				t.Errorf("%s: %v: exit %d: %s", name, command, code, out)
			}
		}
		if got := initialized(t, server, own); got != "1" {
			t.Errorf("%s: behind config load, %s is %q", name, swss.KeyInitialized, got)
		}
		if _, out := tamtam(t.Context(), append([]string{"health", "tammgrd"}, login...)...); !strings.Contains(out,
			"has not been heard of") {
			t.Errorf("%s: health: %s", name, out)
		}
		_, out := tamtam(t.Context(), append([]string{"doctor", "--data", dir, "--gnmi", "127.0.0.1:1"}, login...)...)
		if !strings.Contains(out, "ok         Redis: at "+server.Addr) {
			t.Errorf("%s: doctor: %s", name, out)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan string, 1)
		go func() {
			_, out := tamtam(ctx, append([]string{"run", "tammgrd"}, login...)...)
			done <- out
		}()
		for !marked(t, server, own, "tammgrd") {
			select {
			case out := <-done:
				t.Fatalf("%s: run tammgrd: %s", name, out)
			default:
			}
		}
		stop()
		<-done
		unmark(t, server, own)
	}
	for _, tt := range []struct{ login, want []string }{
		{nil, []string{"Redis wants a password"}},
		{[]string{"--redis-user", "switch", "--redis-password-file", wrong},
			[]string{"Redis refuses the user or the password"}},
		{[]string{"--redis-user", "switch"}, []string{"--redis-user switch: want its password, too: --redis-password-file"}},
		{[]string{"--redis-password-file", filepath.Join(dir, "none")}, []string{"the password at Redis: open ", "none"}},
		{[]string{"--redis-password-file", file("empty", "\n")}, []string{"the first line of ", "empty is empty"}},
	} {
		for _, command := range [][]string{{"health", "tammgrd"}, {"doctor", "--data", dir, "--gnmi", "127.0.0.1:1"}} {
			code, out := tamtam(t.Context(), append(append(command, at...), tt.login...)...)
			for _, want := range tt.want {
				if code == 0 || !strings.Contains(out, want) {
					t.Errorf("%v %v: exit %d: %s; want %q", command, tt.login, code, out, want)
				}
			}
		}
	}
	var report doctor.Report
	var out, errs bytes.Buffer
	run(t.Context(), append([]string{"doctor", "--json", "--data", dir, "--gnmi", "127.0.0.1:1"}, at...), nil, &out, &errs)
	if err := json.Unmarshal(out.Bytes(), &report); err != nil ||
		!strings.Contains(report.Findings[0].Do, "--redis-password-file") {
		t.Errorf("doctor does not say how to log in: %v: %+v", err, report.Findings)
	}
}

// as connects with the default user's password.
func as(t *testing.T, server *swsstest.Server, password string) *swss.Redis {
	t.Helper()
	cfg, err := swss.DefaultConfig(server.Addr)
	if err == nil {
		cfg, err = cfg.Login("", password)
	}
	if err != nil {
		t.Fatal(err)
	}
	return swss.Look(cfg)
}

// marked reports whether a daemon has set its mark in STATE_DB.
func marked(t *testing.T, server *swsstest.Server, password, name string) bool {
	r := as(t, server, password)
	defer r.Close()
	return r.DB(swss.StateDB).Client().HGet(t.Context(), swss.KeyMark, name).Val() != ""
}

// initialized returns the value in CONFIG_DB that SONiC's utilities wait for.
func initialized(t *testing.T, server *swsstest.Server, password string) string {
	r := as(t, server, password)
	defer r.Close()
	return r.DB(swss.ConfigDB).Client().Get(t.Context(), swss.KeyInitialized).Val()
}

func unmark(t *testing.T, server *swsstest.Server, password string) {
	r := as(t, server, password)
	defer r.Close()
	if err := r.DB(swss.StateDB).Client().FlushDB(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
}
