package device

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tamtam/swss"
)

// ErrNoSuchDaemon is found in the error of [Health] for an unknown name.
var ErrNoSuchDaemon = errors.New("no such daemon")

var daemons = []string{"tammgrd", "orchagent", "syncd", "mgmtd"}

// A daemon that works renews its key in STATE_DB once per beat; the key lives
// for a few beats.
const (
	healthTable = "TAMTAM_HEALTH"
	beatPeriod  = time.Second
	beatLife    = 5 * time.Second
)

func healthKey(name string) string { return healthTable + "|" + name }

// beat renews the key once per second while the daemon works: check, if there is one, must return
// nil.
func beat(ctx context.Context, r *swss.Redis, name string, check func(context.Context) error) error {
	tick := time.NewTicker(beatPeriod)
	defer tick.Stop()
	for {
		if check == nil || check(ctx) == nil {
			// While Redis is away there is nobody to tell.
			_ = r.DB(swss.StateDB).Client().Set(ctx, healthKey(name), "ok", beatLife).Err()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Health returns "ok" if the daemon has renewed its key within the last seconds, and an error
// otherwise. mgmtd must also accept a connection.
func Health(ctx context.Context, name, redis, gnmi string, timeout time.Duration) (string, error) {
	if !slices.Contains(daemons, name) {
		return "", fmt.Errorf("%w %q: want one of %v", ErrNoSuchDaemon, name, daemons)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r, err := swss.Open(ctx, redis)
	if err != nil {
		return "", err
	}
	defer r.Close()
	n, err := r.DB(swss.StateDB).Client().Exists(ctx, healthKey(name)).Result()
	if err != nil {
		return "", fmt.Errorf("redis at %s: %w", redis, err)
	}
	if n == 0 {
		return "", fmt.Errorf("%s has not been heard of for %v", name, beatLife)
	}
	if name == "mgmtd" {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", gnmi)
		if err != nil {
			return "", fmt.Errorf("mgmtd: %w", err)
		}
		conn.Close()
	}
	return "ok", nil
}

// WaitRedis opens Redis, waiting for it to come up: containers start in any
// order.
func WaitRedis(ctx context.Context, cfg swss.Config, log *slog.Logger) (*swss.Redis, error) {
	for told := false; ; told = true {
		r, err := swss.Connect(ctx, cfg)
		if err == nil || !errors.Is(err, swss.ErrUnavailable) {
			return r, err
		}
		if !told {
			log.Warn("waiting for redis", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// DataDir returns the default directory for what a switch keeps on this
// machine: certificates and the CLI's socket.
func DataDir() string {
	if os.Geteuid() == 0 {
		return "/var/lib/tamtam"
	}
	if dir, err := os.UserHomeDir(); err == nil {
		return filepath.Join(dir, ".local", "share", "tamtam")
	}
	return filepath.Join(os.TempDir(), "tamtam")
}

// SocketPath returns where in the data directory the CLI's socket is.
func SocketPath(data string) string { return filepath.Join(data, "mgmt.sock") }
