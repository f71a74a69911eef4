package cpuport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Listen creates the socket of a CPU port. A left-over socket that no process serves is replaced. Its directory
// controls access: the socket itself is open to all, since syncd runs as root if ports are live, and its client need
// not. If the directory is missing, it is created for this user only.
func Listen(path string) (*net.UnixListener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("CPU port: %w", err)
	}
	addr := &net.UnixAddr{Name: path, Net: "unixpacket"}
	if c, err := net.DialUnix(addr.Net, nil, addr); err == nil {
		return nil, errors.Join(fmt.Errorf("CPU port: another process serves %s already", path), c.Close())
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSocket != 0 {
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("CPU port: a socket that is left over: %w", err)
		}
	}
	l, err := net.ListenUnix(addr.Net, addr)
	if err != nil {
		return nil, fmt.Errorf("CPU port: %w", err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		return nil, errors.Join(fmt.Errorf("CPU port: %w", err), l.Close())
	}
	return l, nil
}

// maxConns is the maximum number of connections; all but one wait to be refused.
const maxConns = 16

// helloTime is how long client and server wait for each other's first message. A connection that is silent would
// otherwise use one of maxConns for ever.
const helloTime = 5 * time.Second

// Serve serves clients of the listener, one at a time, until ctx ends; then the listener and all connections are
// closed. Further clients get a refusal that names the current one, and are disconnected.
func (h *Hub) Serve(ctx context.Context, l *net.UnixListener) error {
	var all sync.WaitGroup
	defer all.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	room := make(chan struct{}, maxConns)
	for {
		c, err := l.AcceptUnix()
		if ctx.Err() != nil {
			if err == nil {
				c.Close()
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("CPU port: %w", err)
		}
		select {
		case room <- struct{}{}:
		default:
			c.Close()
			continue
		}
		all.Go(func() {
			h.serve(ctx, c)
			<-room
		})
	}
}

// serve serves one client until it disconnects or ctx ends.
func (h *Hub) serve(ctx context.Context, c *net.UnixConn) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	defer c.Close()
	l, err := h.welcome(ctx, c)
	if err != nil {
		_, _ = c.Write(append([]byte{kindRefused}, err.Error()...))
		return
	}
	defer l.Close()
	var writing sync.WaitGroup
	defer writing.Wait()
	defer cancel()
	writing.Go(func() {
		defer cancel() // also ends the reader below
		l.write(ctx, c)
	})
	if l.holds {
		writing.Go(func() { h.holds.give(ctx, c) })
	}
	buf := make([]byte, maxMessage+1)
	for {
		n, err := c.Read(buf)
		if err != nil || n == 0 { // the client has disconnected
			return
		}
		if err := l.handle(c, buf[:n]); err != nil {
			h.mu.Lock()
			h.report(l, err)
			h.mu.Unlock()
		}
	}
}

// readFirst reads the first message of a connection, for which it waits for a limited time.
func readFirst(ctx context.Context, c *net.UnixConn, b []byte, most time.Duration) (n int, err error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(time.Unix(1, 0)) }) // ends Read
	if n, err = c.Read(b); !stop() {
		return 0, fmt.Errorf("no message in %s", most)
	}
	return n, err
}

// welcome reads the name of a client and attaches it.
func (h *Hub) welcome(ctx context.Context, c *net.UnixConn) (*Line, error) {
	b := make([]byte, maxMessage)
	n, err := readFirst(ctx, c, b, h.hello)
	if err != nil {
		return nil, fmt.Errorf("%w: the first one is to be \"hello\" or \"interfaces\"", err)
	}
	if n == 0 || b[0] != kindHello && b[0] != kindInterfaces {
		return nil, errors.New("the first message is to be \"hello\" or \"interfaces\"")
	}
	who, err := parseHello(b[1:n])
	if err != nil {
		return nil, err
	}
	attach := h.Attach
	if b[0] == kindInterfaces {
		attach = h.attachHost
	}
	l, err := attach(fmt.Sprintf("%q, over the socket", who))
	if err != nil {
		return nil, err
	}
	if _, err := c.Write(appendHello(nil, b[0], "")); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func (l *Line) write(ctx context.Context, c *net.UnixConn) {
	b := make([]byte, 0, maxMessage)
	for {
		p, err := l.Receive(ctx)
		var refused *Refusal
		switch {
		case errors.As(err, &refused):
			b = append(append(b[:0], kindRefused), refused.Reason...)
		case err != nil:
			return
		default:
			b = appendPunted(b[:0], &p)
		}
		if _, err := c.Write(b); err != nil {
			return
		}
	}
}

// handle executes a message of the client. The caller must send an error to the client.
func (l *Line) handle(c io.Writer, b []byte) error {
	if b[0] == kindCounts && len(b) == 1 {
		_, _ = c.Write(appendCounts(nil, l.hub.Counts())) // if it fails the reader sees that, too
		return nil
	}
	if b[0] == kindInterface && len(b) <= maxMessage {
		return l.hub.setInterface(b[1:])
	}
	f, err := frameOf(b)
	if err == nil {
		return l.Send(f)
	}
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	l.hub.counts.Refused++
	return err
}

// frameOf decodes the frame of a message, which must not be empty.
func frameOf(b []byte) (Frame, error) {
	switch {
	case len(b) > maxMessage:
		return Frame{}, fmt.Errorf("a message of more than %d bytes", maxMessage)
	case b[0] != kindFrame:
		return Frame{}, fmt.Errorf("a message that begins with %d, want %d (frame), %d (counts) or %d (interface)", b[0],
			kindFrame, kindCounts, kindInterface)
	}
	return parseFrame(append([]byte(nil), b[1:]...))
}

// A Conn is a client's line from another process.
type Conn struct {
	c      *net.UnixConn
	buf    []byte
	beside []byte // space for a file that comes with a message
	counts chan Counts
	hold   func(name string, f *os.File)
}

// Dial connects to the CPU port whose socket is at path, as a client with that name. If it is refused, for example
// since there is another client, the error is a [*Refusal].
func Dial(path, who string) (*Conn, error) { return dial(path, who, kindHello, nil) }

func dial(path, who string, kind byte, hold func(string, *os.File)) (*Conn, error) {
	addr := &net.UnixAddr{Name: path, Net: "unixpacket"}
	c, err := net.DialUnix(addr.Net, nil, addr)
	if err != nil {
		return nil, fmt.Errorf("CPU port: %w", err)
	}
	x := &Conn{
		c: c, buf: make([]byte, maxMessage+1), beside: make([]byte, roomForFile()), counts: make(chan Counts, 1), hold: hold,
	}
	if err := x.greet(who, kind); err != nil {
		return nil, errors.Join(fmt.Errorf("CPU port %s: %w", path, err), c.Close())
	}
	return x, nil
}

func (x *Conn) greet(who string, kind byte) error {
	if _, err := x.c.Write(appendHello(nil, kind, who)); err != nil {
		return err
	}
	n, err := readFirst(context.Background(), x.c, x.buf, helloTime)
	if err != nil {
		return err
	}
	switch {
	case n > 0 && x.buf[0] == kindRefused:
		return &Refusal{string(x.buf[1:n])}
	case n > 0 && x.buf[0] == kind:
		_, err := parseHello(x.buf[1:n])
		return err
	}
	return errors.New("the answer is no message of a CPU port")
}

// Receive works like [Line.Receive]. One goroutine may receive while others send. When ctx ends the connection is
// closed.
func (x *Conn) Receive(ctx context.Context) (Packet, error) {
	defer context.AfterFunc(ctx, func() { x.c.Close() })()
	for {
		n, more, _, _, err := x.c.ReadMsgUnix(x.buf, x.beside)
		file := fileOf(x.beside[:more])
		if file != nil && (n == 0 || x.buf[0] != kindHeld) {
			file.Close()
		}
		if ctx.Err() != nil {
			return Packet{}, ctx.Err()
		}
		if err != nil || n == 0 {
			return Packet{}, errors.Join(ErrClosed, err)
		}
		switch b := append([]byte(nil), x.buf[1:n]...); x.buf[0] {
		case kindPunted, kindSampled, kindRouted, kindRuled:
			return parsePunted(x.buf[0], b)
		case kindRefused:
			return Packet{}, &Refusal{string(b)}
		case kindCounts:
			c, err := parseCounts(b)
			if err != nil {
				return Packet{}, err
			}
			select {
			case <-x.counts: // an earlier answer that is no longer awaited
			default:
			}
			x.counts <- c
		case kindHeld:
			if err := x.held(b, file); err != nil {
				return Packet{}, err
			}
		default:
			return Packet{}, fmt.Errorf("CPU port: a message that begins with %d", x.buf[0])
		}
	}
}

// Send works like [Line.Send], except that a refusal, even due to a full queue, is returned by Receive. It does not
// wait: it fails while the socket is full because syncd hangs.
func (x *Conn) Send(f Frame) error {
	if err := f.Check(); err != nil {
		return err
	}
	return writeNow(x.c, appendFrame(nil, &f))
}

// Counts requests the counters of the CPU port. Another goroutine must be in Receive for the answer to come. Counts
// waits for it until ctx ends.
func (x *Conn) Counts(ctx context.Context) (Counts, error) {
	if _, err := x.c.Write([]byte{kindCounts}); err != nil {
		return Counts{}, errors.Join(ErrClosed, err)
	}
	select {
	case c := <-x.counts:
		return c, nil
	case <-ctx.Done():
		return Counts{}, ctx.Err()
	}
}

// Close ends the connection.
func (x *Conn) Close() error { return x.c.Close() }
