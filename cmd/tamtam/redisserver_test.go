package main

import (
	"context"
	"log/slog"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"tamtam/device"
	"tamtam/swss"
)

// `tamtam run redis` keeps the data of a server that stored only a dump, and later writes. A server that only sets
// appendonly would start empty.
func TestOldDataStaysInCompose(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("redis-server is not installed")
	}
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	if len(socket) > 100 {
		t.Skipf("%s is too long for a socket's name", socket)
	}
	listen := []string{"--port", "0", "--unixsocket", socket}
	with := func(do func(db *swss.DB)) {
		t.Helper()
		cfg, err := swss.DefaultConfig("unix:" + socket)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		r, err := device.WaitRedis(ctx, cfg, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		do(r.DB(swss.ConfigDB))
	}
	put := func(key string) func(*swss.DB) {
		return func(db *swss.DB) {
			if err := db.Client().HSet(t.Context(), key, "mtu", "9100").Err(); err != nil {
				t.Error(err)
			}
			if err := db.Client().Save(t.Context()).Err(); err != nil {
				t.Error(err)
			}
		}
	}
	dumper := exec.Command("redis-server", append([]string{"--dir", dir, "--appendonly", "no"}, listen...)...)
	if err := dumper.Start(); err != nil {
		t.Fatal(err)
	}
	with(put("PORT|Ethernet0"))
	_ = dumper.Process.Kill()
	_ = dumper.Wait()

	server := startProcess(t, append([]string{"run", "redis", "--dir", dir, "--"}, listen...)...)
	with(put("PORT|Ethernet4"))
	server.kill()
	server.start()
	with(func(db *swss.DB) {
		keys, err := db.AllKeys(t.Context())
		if want := []string{"PORT|Ethernet0", "PORT|Ethernet4"}; !slices.Equal(slices.Sorted(slices.Values(keys)), want) {
			t.Errorf("CONFIG_DB has %v, %v; want %v", keys, err, want)
		}
	})
	_ = server.cmd.Process.Signal(syscall.SIGTERM)
	if err := server.wait(); err != nil {
		t.Errorf("SIGTERM: redis-server itself has not ended well: %v", err)
	}
}
