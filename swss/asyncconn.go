package swss

import (
	"net"
	"sync"
	"time"
)

// Limits of the data that a connection of the embedded server holds for a client that does not read.
const (
	maxUnsent    = 256 << 20
	flushTimeout = 2 * time.Second
	keptUnsent   = 64 << 10 // capacity in bytes that an emptied buffer may keep
)

// An asyncConn is a connection whose writes never wait for the other side, as in Redis. A client may send a long
// pipeline before it reads the first reply. A subscriber that does not read delays no other connection.
type asyncConn struct {
	net.Conn

	mu      sync.Mutex
	more    *sync.Cond
	pending []byte
	closed  bool
}

func newAsyncConn(c net.Conn) *asyncConn {
	a := &asyncConn{Conn: c}
	a.more = sync.NewCond(&a.mu)
	go a.send()
	return a
}

// Write queues p. It fails once the connection is closed.
func (a *asyncConn) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return 0, net.ErrClosed
	}
	if len(a.pending)+len(p) > maxUnsent {
		a.closed = true
		a.more.Signal()
		return 0, net.ErrClosed
	}
	a.pending = append(a.pending, p...)
	a.more.Signal()
	return len(p), nil
}

// Close sends the queued data and then closes the connection.
func (a *asyncConn) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		a.closed = true
		a.Conn.SetReadDeadline(time.Now()) // ends the reader immediately
		a.more.Signal()
	}
	return nil
}

func (a *asyncConn) send() {
	var out []byte
	for {
		a.mu.Lock()
		for len(a.pending) == 0 && !a.closed {
			a.more.Wait()
		}
		if cap(out) > keptUnsent {
			out = nil // do not keep the memory of one burst forever
		}
		out, a.pending = a.pending, out[:0]
		closed := a.closed
		a.mu.Unlock()
		if closed {
			a.Conn.SetWriteDeadline(time.Now().Add(flushTimeout))
		}
		if len(out) > 0 {
			if _, err := a.Conn.Write(out); err != nil {
				closed = true
				a.mu.Lock()
				a.closed = true
				a.mu.Unlock()
			}
		}
		if closed {
			a.Conn.Close()
			return
		}
	}
}
