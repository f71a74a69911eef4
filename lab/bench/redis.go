package bench

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"

	"tamtam/device"
	"tamtam/swss"
)

// onEachRedis measures on an embedded Redis and, if the program redis-server is there, on a real one.
func onEachRedis[T any](ctx context.Context, measure func(name, addr string) ([]T, error)) ([]T, error) {
	results, err := measure("embedded", "embedded")
	if err != nil {
		return nil, err
	}
	addr, stop, err := StartRedisServer(ctx)
	if errors.Is(err, exec.ErrNotFound) {
		return results, nil
	}
	if err != nil {
		return nil, err
	}
	defer stop()
	more, err := measure("redis-server", addr)
	return append(results, more...), err
}

// StartRedisServer starts a redis-server of our own on a socket in a temporary
// directory. Without that program it fails with [exec.ErrNotFound].
func StartRedisServer(ctx context.Context) (addr string, stop func(), err error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp("", "tamtam-bench")
	if err != nil {
		return "", nil, err
	}
	socket := filepath.Join(dir, "redis.sock")
	cmd := exec.CommandContext(ctx, program, "--port", "0", "--unixsocket", socket, "--databases", "32",
		"--save", "", "--appendonly", "no", "--dir", dir, "--notify-keyspace-events", "AKE")
	if err := cmd.Start(); err != nil {
		os.RemoveAll(dir)
		return "", nil, err
	}
	return "unix:" + socket, func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		os.RemoveAll(dir)
	}, nil
}

// openRedis opens the embedded server, or waits for the one that was started.
func openRedis(ctx context.Context, addr string) (*swss.Redis, error) {
	if addr == "embedded" {
		return swss.Open(ctx, addr)
	}
	cfg, err := swss.DefaultConfig(addr)
	if err != nil {
		return nil, err
	}
	return device.WaitRedis(ctx, cfg, slog.New(slog.DiscardHandler))
}
