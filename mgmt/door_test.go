package mgmt

import (
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

// 400 clients that connect and stay silent delay no other client.
func TestHalfOpenHandshakes(t *testing.T) {
	dir := t.TempDir()
	b := newBed(t, func(c *Config) { c.Insecure, c.Dir = false, dir })
	for range 400 {
		conn, err := net.Dial("tcp", b.server.Addr()) //nolint:noctx // a test
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	if err := capabilities(b, b.dial(grpc.WithTransportCredentials(credentials.NewTLS(trust(t, dir))))); err != nil {
		t.Error(err)
	}
}
