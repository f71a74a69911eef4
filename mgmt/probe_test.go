package mgmt

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tamtam/mgmt/access"
)

// A probe succeeds for every server that answers gNMI, whatever it demands of clients. It fails for one that only
// accepts connections.
func TestProbe(t *testing.T) {
	dir := t.TempDir()
	clientCert(t, dir, "somebody", time.Now())
	for name, edit := range map[string]func(*Config){
		"without TLS": func(*Config) {},
		"TLS":         func(c *Config) { c.Insecure, c.Dir = false, t.TempDir() },
		"passwords":   func(c *Config) { c.Users = []access.User{{Name: "u", Password: "p", Role: access.Admin}} },
		"client certificates": func(c *Config) {
			c.Insecure, c.Dir, c.ClientCAFile = false, dir, filepath.Join(dir, "ca.pem")
		},
		"a unix socket": func(c *Config) { c.Insecure, c.Addr, c.Socket = false, "", filepath.Join(dir, "s") },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, edit)
			addr := b.server.Addr()
			if addr == "" {
				addr = "unix:" + filepath.Join(dir, "s")
			}
			if err := Probe(b.ctx, addr); err != nil {
				t.Error(err)
			}
			b.server.Refuse("Redis is away")
			if err := Probe(b.ctx, addr); err != nil {
				t.Errorf("it serves, and says that it is not ready: %v", err)
			}
		})
	}
	serve := func(f func(net.Conn)) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				f(c)
			}
		}()
		return l.Addr().String()
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0") // the system accepts connections, but no server does
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for name, tt := range map[string]struct{ addr, want string }{
		"nobody there":         {"127.0.0.1:1", "connection refused"},
		"takes the connection": {silent.Addr().String(), "does not answer"},
		"hangs up":             {serve(func(c net.Conn) { c.Close() }), "does not answer"},
		"another protocol":     {serve(func(c net.Conn) { _, _ = c.Write([]byte("220 mail\r\n")) }), "does not answer"},
		"no such socket":       {"unix:" + filepath.Join(dir, "none"), "no such file"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		err := Probe(ctx, tt.addr)
		cancel()
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Probe(ctx, "127.0.0.1:1"); err == nil {
		t.Errorf("what was not asked does not answer: %v", errors.Unwrap(err))
	}
}
