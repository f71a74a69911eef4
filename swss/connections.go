package swss

import (
	"context"
	"errors"
	"net"
	"sync"
	"syscall"
	"time"
)

// connections are all that there are to a server. Where the network is parted, or has forgotten them, they are neither
// closed nor answered, and each command would find that out by itself, one connection after the other.
type connections struct {
	mu   sync.Mutex
	open map[*connection]struct{}
}

// A connection is one that can be closed from elsewhere.
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

// SyscallConn lets go-redis see whether the other side has closed it.
func (c *connection) SyscallConn() (syscall.RawConn, error) {
	if raw, ok := c.Conn.(syscall.Conn); ok {
		return raw.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// dial makes a connection.
func (c *connections) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	// A server that was cut off, or a network that has gone from under a connection, says nothing: an idle connection is
	// dead after fifteen seconds.
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

// Cut closes all connections: what waits for an answer fails, and new ones are made. Who finds one dead calls it.
func (r *Redis) Cut() {
	r.conns.mu.Lock()
	defer r.conns.mu.Unlock()
	for conn := range r.conns.open {
		_ = conn.Conn.Close()
	}
	clear(r.conns.open)
}
