package swss

import (
	"context"
	"errors"
	"net"
	"sync"
	"syscall"
	"time"
)

// connections holds all connections to a server. After a partition of the network they may be neither closed nor
// answered. Without Cut, each command would have to discover that for its own connection.
type connections struct {
	mu   sync.Mutex
	open map[*connection]struct{}
}

// A connection is a net.Conn that [Redis.Cut] can close.
type connection struct {
	net.Conn
	of *connections
}

// Close closes the connection.
func (c *connection) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// SyscallConn lets go-redis check whether the other side has closed the connection.
func (c *connection) SyscallConn() (syscall.RawConn, error) {
	if raw, ok := c.Conn.(syscall.Conn); ok {
		return raw.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// dial opens and registers a connection.
func (c *connections) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	// A server that was cut off sends nothing, nor does a broken network: an idle connection is declared dead after
	// fifteen seconds.
	dialer := net.Dialer{Timeout: dialTimeout, KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: 5 * time.Second, Interval: 5 * time.Second, Count: 2,
	}}
	plain, err := dialer.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	conn := &connection{plain, c}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		c.open = map[*connection]struct{}{}
	}
	c.open[conn] = struct{}{}
	return conn, nil
}

// Cut closes all connections. Commands that wait for an answer fail, and later ones open new connections. A caller
// calls Cut when it finds that one connection is dead.
func (r *Redis) Cut() {
	r.conns.mu.Lock()
	defer r.conns.mu.Unlock()
	for conn := range r.conns.open {
		_ = conn.Conn.Close()
	}
	clear(r.conns.open)
}
