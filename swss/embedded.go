package swss

import (
	"fmt"
	"net"

	"github.com/alicebob/miniredis/v2"
	miniserver "github.com/alicebob/miniredis/v2/server"
)

// OpenEmbedded starts a server in this process. It listens at each of listen:
// "host:port" or "/path" of a unix socket; at 127.0.0.1 and a free port if none
// is given.
func OpenEmbedded(listen ...string) (*Redis, error) {
	s, err := newServer(listen)
	if err != nil {
		return nil, err
	}
	cfg, err := DefaultConfig("")
	if err != nil {
		return nil, err
	}
	return &Redis{cfg: cfg, embedded: s, dbs: map[DBName]*DB{}}, nil
}

// A server is the embedded Redis.
type server struct {
	mini *miniredis.Miniredis
}

func newServer(listen []string) (*server, error) {
	s := &server{mini: miniredis.NewMiniRedis()}
	if err := s.mini.Start(); err != nil {
		return nil, fmt.Errorf("embedded redis: %w", err)
	}
	err := s.mini.Server().Register("CONFIG", func(c *miniserver.Peer, _ string, args []string) {
		c.WriteStrings([]string{"notify-keyspace-events", keyspaceFlags})
	})
	return s, err
}

func (s *server) addr() string { return s.mini.Addr() }
func (s *server) close()       { s.mini.Close() }

func (s *server) dial() (net.Conn, error) { return net.Dial("tcp", s.mini.Addr()) }
