package device

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// The Redis of the containers, killed after a configuration was loaded, still has all of it. While the disk is busy with
// what came before, Redis answers before it has written, for two seconds at most: so long the test waits.
func TestComposeSurvivesKill(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docker/redis.sh")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?s)exec redis-server --port 6379 --dir "\$dir"(.*)"\$@"`).FindSubmatch(text)
	if found == nil {
		t.Fatal("redis.sh starts no redis-server")
	}
	args := strings.Fields(strings.ReplaceAll(string(found[1]), "\\\n", ""))
	server := swsstest.StartServer(t, args...)
	r := server.Open()
	config := twoPorts()
	if err := config.Load(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	written := func() bool {
		info, err := r.DB(swss.ConfigDB).Client().Info(t.Context(), "persistence").Result()
		return err != nil || strings.Contains(info, "aof_buffer_length:0\r\n")
	}
	for !written() {
	}
	server.Kill()
	server.Start()
	r = server.Open()
	for table, rows := range config {
		for key, want := range rows {
			got, _, err := swss.NewTable(r.DB(swss.ConfigDB), table).Get(t.Context(), key)
			if err != nil || len(got) != len(want) {
				t.Errorf("%s|%s is %v, %v; want %v", table, key, got, err, want)
			}
		}
	}
}

// Data of a server that kept only a dump are there when redis.sh runs on them, and so is what is written then: a server
// with appendonly alone would start empty.
func TestOldDataStaysInCompose(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("redis-server is not installed")
	}
	if len(t.TempDir()) > 80 {
		t.Skipf("%s is too long for a socket's name", t.TempDir())
	}
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	run := func(with func(ctx context.Context, r *swss.DB), name string, args ...string) {
		t.Helper()
		server := exec.Command(name, append(args, "--port", "0", "--unixsocket", socket)...)
		var out bytes.Buffer
		server.Stdout, server.Stderr = &out, &out
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		defer server.Wait()
		defer server.Process.Kill()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		cfg, err := swss.DefaultConfig("unix:" + socket)
		if err != nil {
			t.Fatal(err)
		}
		r, err := WaitRedis(ctx, cfg, logOf(Common{}))
		if err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		defer r.Close()
		with(ctx, r.DB(swss.ConfigDB))
	}
	put := func(key string) func(context.Context, *swss.DB) {
		return func(ctx context.Context, db *swss.DB) {
			if err := db.Client().HSet(ctx, key, "mtu", "9100").Err(); err != nil {
				t.Error(err)
			}
			if err := db.Client().Save(ctx).Err(); err != nil {
				t.Error(err)
			}
		}
	}
	run(put("PORT|Ethernet0"), "redis-server", "--dir", dir, "--appendonly", "no")
	run(put("PORT|Ethernet4"), "../docker/redis.sh", dir)
	run(func(ctx context.Context, db *swss.DB) {
		keys, err := db.AllKeys(ctx)
		if want := []string{"PORT|Ethernet0", "PORT|Ethernet4"}; !slices.Equal(slices.Sorted(slices.Values(keys)), want) {
			t.Errorf("CONFIG_DB has %v, %v; want %v", keys, err, want)
		}
	}, "../docker/redis.sh", dir)
}
