package capture

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
)

// Datagrams come whole and in order, up to the size that Linux lets sockets send. The socket of a process that was
// killed is replaced, another file is not.
func TestListenUnix(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	left, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	left.Close() // leaves the socket behind
	s, err := ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	out, err := net.Dial("unixgram", path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	for _, n := range []int{1, 65535, 100_000} {
		if _, err := out.Write(make([]byte, n)); err != nil {
			t.Fatal(err)
		}
		p, err := s.Next(t.Context())
		if err != nil || len(p.Data) != n || p.Len != n || !p.From.IsValid() {
			t.Errorf("%d bytes from %s, want %d: %v", len(p.Data), p.From, n, err)
		}
	}
	if lost, err := s.Lost(); lost != 0 || err != nil {
		t.Error(lost, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ListenUnix(path); err == nil {
		t.Error("a file was replaced by a socket")
	}
}
