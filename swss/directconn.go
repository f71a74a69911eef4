package swss

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	mini "github.com/alicebob/miniredis/v2/server"
)

// A directConn is a client's connection to the embedded server of its own process. A command runs in the goroutine that
// writes it, and its reply is in memory before Write returns. A pipe would need four goroutines for each connection,
// and four switches between them for each command. Only commands that must wait run in a goroutine of their own.
type directConn struct {
	s  *server
	ss *session

	mu       sync.Mutex
	commands commandReader
	running  bool   // true while a goroutine runs commands; it alone continues
	replies  []byte // replies and messages
	read     int    // length of the prefix of replies that the client has read
	hungUp   bool   // true once the client has closed the connection
	closed   bool   // true once either side has closed the connection
	more     chan struct{}

	readBy, writeBy time.Time // deadlines; zero means that there is none
	timer           *time.Timer
}

// directAddr is the address of both ends of a directConn.
type directAddr struct{}

func (directAddr) Network() string { return embeddedName }
func (directAddr) String() string  { return embeddedName }

// replyBuffer is the size in bytes of the buffer in which a reply is assembled from its parts.
const replyBuffer = 512

func newDirectConn(s *server) *directConn {
	c := &directConn{s: s, more: make(chan struct{}, 1)}
	c.ss = &session{peer: mini.NewPeer(bufio.NewWriterSize(replyWriter{c}, replyBuffer)), direct: c}
	return c
}

// LocalAddr implements [net.Conn].
func (c *directConn) LocalAddr() net.Addr { return directAddr{} }

// RemoteAddr implements [net.Conn].
func (c *directConn) RemoteAddr() net.Addr { return directAddr{} }

// Write runs the commands in p that are complete.
func (c *directConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	switch {
	case c.closed:
		c.mu.Unlock()
		return 0, net.ErrClosed
	case passed(c.writeBy):
		c.mu.Unlock()
		return 0, os.ErrDeadlineExceeded
	}
	c.commands.add(p)
	running := c.running
	c.running = true
	c.mu.Unlock()
	if !running {
		c.run()
	}
	return len(p), nil
}

// passed reports whether a deadline has passed.
func passed(deadline time.Time) bool { return !deadline.IsZero() && !time.Now().Before(deadline) }

// run runs the commands until one must wait, which then continues in another goroutine.
func (c *directConn) run() {
	for words := c.next(); words != nil; words = c.next() {
		if c.s.pause.now.Load() != nil || waits(strings.ToUpper(words[0])) {
			go c.runWaiting(words)
			return
		}
		c.do(words)
	}
}

// runWaiting runs a command that must wait, and those after it.
func (c *directConn) runWaiting(words []string) {
	for ; words != nil; words = c.next() {
		c.s.pause.wait()
		c.do(words)
	}
}

func (c *directConn) do(words []string) {
	c.s.srv.Dispatch(c.ss.peer, words)
	c.ss.peer.Flush()
	if c.ss.peer.Closed() { // the command was QUIT
		c.close(false)
	}
}

// next dequeues the next command. It returns nil if there is none, and another goroutine may then run the next one.
func (c *directConn) next() []string {
	c.mu.Lock()
	words, err := c.commands.next()
	if words != nil && !c.closed {
		c.mu.Unlock()
		return words
	}
	c.closed = c.closed || err != nil
	c.running = false
	closed := c.closed
	c.mu.Unlock()
	if closed {
		c.wake()
		c.s.forget(c.ss)
	}
	return nil
}

// Read returns replies and messages.
func (c *directConn) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		switch {
		case c.hungUp:
			return 0, net.ErrClosed
		case passed(c.readBy):
			return 0, os.ErrDeadlineExceeded
		case c.read < len(c.replies):
			n := copy(p, c.replies[c.read:])
			if c.read += n; c.read == len(c.replies) {
				c.read, c.replies = 0, emptied(c.replies)
			}
			return n, nil
		case c.closed:
			return 0, io.EOF
		}
		c.wait()
	}
}

// emptied returns a buffer without contents. It does not keep the memory of one burst forever.
func emptied(b []byte) []byte {
	if cap(b) > keptUnsent {
		return nil
	}
	return b[:0]
}

// wait releases mu until there may be something to read, or the deadline has passed.
func (c *directConn) wait() {
	var late <-chan time.Time
	if !c.readBy.IsZero() {
		if left := time.Until(c.readBy); c.timer == nil {
			c.timer = time.NewTimer(left)
		} else {
			c.timer.Reset(left)
		}
		late = c.timer.C
	}
	c.mu.Unlock()
	select {
	case <-c.more:
	case <-late:
	}
	c.mu.Lock()
	if c.timer != nil {
		c.timer.Stop()
	}
}

// wake ends a wait.
func (c *directConn) wake() {
	select {
	case c.more <- struct{}{}:
	default:
	}
}

// Close implements [net.Conn].
func (c *directConn) Close() error {
	c.close(true)
	return nil
}

// close closes the connection. If the server closes it, the client can still read the replies.
func (c *directConn) close(byClient bool) {
	c.mu.Lock()
	c.closed, c.hungUp = true, c.hungUp || byClient
	running := c.running // then next does the rest
	c.mu.Unlock()
	c.wake()
	if !running {
		c.s.forget(c.ss)
	}
	c.ss.peer.Close() // ends a command that waits
}

// SetDeadline implements [net.Conn].
func (c *directConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline implements [net.Conn].
func (c *directConn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	c.readBy = t
	c.mu.Unlock()
	c.wake()
	return nil
}

// SetWriteDeadline implements [net.Conn].
func (c *directConn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	c.writeBy = t
	c.mu.Unlock()
	return nil
}

// A replyWriter is the server's end of a directConn.
type replyWriter struct{ c *directConn }

// Write queues a part of a reply.
func (w replyWriter) Write(p []byte) (int, error) {
	if !receive(w.c, p) {
		return 0, net.ErrClosed
	}
	return len(p), nil
}

// receive queues a part of a reply. It closes the connection of a client that does not read.
func receive[T string | []byte](c *directConn, part T) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.wake()
	if c.closed || len(c.replies)-c.read+len(part) > maxUnsent {
		c.closed = true
		return false
	}
	if c.read > 0 && len(c.replies)+len(part) > cap(c.replies) {
		c.read, c.replies = 0, c.replies[:copy(c.replies, c.replies[c.read:])]
	}
	c.replies = append(c.replies, part...)
	return true
}

// A commandReader decodes commands, which are arrays of strings, from pieces of any length.
type commandReader struct {
	in    []byte
	begin int      // start of the first command in in
	at    int      // end of the part of that command that is decoded
	left  int      // number of words of it that are not decoded; zero if its length is not decoded either
	words [][2]int // start and end of the words that are decoded
}

func (r *commandReader) add(p []byte) {
	switch {
	case r.begin == len(r.in):
		r.in = emptied(r.in)
	case len(r.in)+len(p) > cap(r.in):
		r.in = r.in[:copy(r.in, r.in[r.begin:])]
	default:
		r.in = append(r.in, p...)
		return
	}
	for i := range r.words {
		r.words[i][0] -= r.begin
		r.words[i][1] -= r.begin
	}
	r.at -= r.begin
	r.begin = 0
	r.in = append(r.in, p...)
}

var errProtocol = errors.New("protocol error: a command must be an array of bulk strings")

// next returns the words of the next command, or nil if it is not complete.
func (r *commandReader) next() ([]string, error) {
	for r.left == 0 { // an empty array is no command
		n, size, err := lengthAt(r.in[r.at:], '*')
		if size == 0 {
			return nil, err
		}
		r.at += size
		if r.left = n; n == 0 {
			r.begin = r.at
		}
	}
	for r.left > 0 {
		n, size, err := lengthAt(r.in[r.at:], '$')
		if start := r.at + size; size == 0 || start+n+2 > len(r.in) {
			return nil, err
		} else {
			r.words = append(r.words, [2]int{start, start + n})
			r.at = start + n + 2
		}
		r.left--
	}
	text := string(r.in[r.begin:r.at])
	out := make([]string, len(r.words))
	for i, w := range r.words {
		out[i] = text[w[0]-r.begin : w[1]-r.begin]
	}
	r.begin, r.words = r.at, r.words[:0]
	return out, nil
}

// lengthAt decodes a line that consists of kind and a length. It returns the size of the line, zero if the line is
// not complete.
func lengthAt(in []byte, kind byte) (n, size int, err error) {
	end := bytes.IndexByte(in, '\n')
	if end < 0 {
		return 0, 0, nil
	}
	digits, ok := bytes.CutPrefix(in[:end], []byte{kind})
	digits, whole := bytes.CutSuffix(digits, []byte{'\r'})
	n, err = strconv.Atoi(string(digits))
	if !ok || !whole || err != nil || n < 0 || n > maxUnsent {
		return 0, 0, errProtocol
	}
	return n, end + 1, nil
}
