package device

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"tamtam/swss"
)

// WaitRedis connects to Redis and retries while Redis is unavailable, since containers start in any order.
func WaitRedis(ctx context.Context, cfg swss.Config, log *slog.Logger) (*swss.Redis, error) {
	for reported := false; ; reported = true {
		r, err := swss.Connect(ctx, cfg)
		if err == nil || !errors.Is(err, swss.ErrUnavailable) {
			return r, err
		}
		if !reported {
			log.Warn("waiting for redis", "because", swss.Why(err))
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// DataDir returns the default directory for the files that a switch keeps on this machine: certificates and the CLI's
// socket.
func DataDir() string {
	if os.Geteuid() == 0 {
		return "/var/lib/tamtam"
	}
	if dir, err := os.UserHomeDir(); err == nil {
		return filepath.Join(dir, ".local", "share", "tamtam")
	}
	return filepath.Join(os.TempDir(), "tamtam")
}

// SocketPath returns the path of the CLI's socket in the data directory.
func SocketPath(data string) string { return filepath.Join(data, "mgmt.sock") }
