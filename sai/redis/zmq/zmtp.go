package zmq

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
)

// The types of sockets, as in ZeroMQ. A request is sent by a req to a rep, a notification by a push to a pull.
const (
	typeReq  = "REQ"
	typeRep  = "REP"
	typePush = "PUSH"
	typePull = "PULL"
)

// Flags of a frame (RFC 23 of ZeroMQ: ZMTP 3.0).
const (
	flagMore    = 1
	flagLong    = 2
	flagCommand = 4
)

// maxFrame bounds a frame, in bytes. SONiC's default buffer for an answer is 64 MB.
const maxFrame = 64 << 20

// A conn is a connection of ZMTP 3.0 without security, after its greeting.
type conn struct {
	net.Conn
	r *bufio.Reader
}

// greeting opens a connection: the signature, version 3.0 and the mechanism NULL.
func greeting() []byte {
	g := make([]byte, 64)
	g[0], g[9], g[10] = 0xff, 0x7f, 3
	copy(g[12:], "NULL")
	return g
}

// open greets the peer as a socket of a type, and checks that the peer is one of another type. It is the same for both
// sides. On error it closes the connection.
func open(raw net.Conn, as, peer string) (*conn, error) {
	c := &conn{raw, bufio.NewReader(raw)}
	if err := c.greet(as, peer); err != nil {
		raw.Close()
		return nil, fmt.Errorf("zmq: %w", err)
	}
	return c, nil
}

func (c *conn) greet(as, peer string) error {
	if _, err := c.Write(greeting()); err != nil {
		return err
	}
	var g [64]byte
	if _, err := io.ReadFull(c.r, g[:]); err != nil {
		return err
	}
	if g[0] != 0xff || g[9] != 0x7f || g[10] < 3 {
		return errors.New("the peer does not speak ZMTP 3")
	}
	if mechanism := string(bytes.TrimRight(g[12:32], "\x00")); mechanism != "NULL" {
		return fmt.Errorf("the peer wants the mechanism %q, want NULL", mechanism)
	}
	if err := c.write(flagCommand, ready(as)); err != nil {
		return err
	}
	flags, body, err := c.read()
	switch {
	case err != nil:
		return err
	case flags&flagCommand == 0:
		return errors.New("the peer sends a message before it is ready")
	}
	properties, err := readReady(body)
	if err == nil && properties["Socket-Type"] != peer {
		err = fmt.Errorf("the peer is a %.20q, want %s", properties["Socket-Type"], peer)
	}
	return err
}

// ready returns the command READY of a socket.
func ready(as string) []byte {
	b := []byte("\x05READY\x0bSocket-Type")
	b = binary.BigEndian.AppendUint32(b, uint32(len(as)))
	return append(b, as...)
}

func readReady(body []byte) (map[string]string, error) {
	bad := errors.New("the peer's command is not READY")
	rest, ok := bytes.CutPrefix(body, []byte("\x05READY"))
	if !ok {
		return nil, bad
	}
	properties := map[string]string{}
	for len(rest) > 0 {
		n := int(rest[0])
		if len(rest) < 1+n+4 {
			return nil, bad
		}
		name := string(rest[1 : 1+n])
		size := int64(binary.BigEndian.Uint32(rest[1+n:]))
		if rest = rest[1+n+4:]; int64(len(rest)) < size {
			return nil, bad
		}
		properties[name], rest = string(rest[:size]), rest[size:]
	}
	return properties, nil
}

// read reads a frame.
func (c *conn) read() (flags byte, body []byte, err error) {
	if flags, err = c.r.ReadByte(); err != nil {
		return 0, nil, err
	}
	var size [8]byte
	at := size[7:]
	if flags&flagLong != 0 {
		at = size[:]
	}
	if _, err := io.ReadFull(c.r, at); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint64(size[:])
	if n > maxFrame {
		return 0, nil, fmt.Errorf("zmq: a frame of %d bytes, want up to %d", n, maxFrame)
	}
	body = make([]byte, n)
	_, err = io.ReadFull(c.r, body)
	return flags, body, err
}

// write writes a frame.
func (c *conn) write(flags byte, body []byte) error {
	head := []byte{flags, byte(len(body))}
	if len(body) > 255 {
		head = binary.BigEndian.AppendUint64([]byte{flags | flagLong}, uint64(len(body)))
	}
	_, err := c.Write(append(head, body...))
	return err
}

// receive reads a message. Commands of the peer, such as its heartbeats, are skipped.
func (c *conn) receive() (frames [][]byte, err error) {
	for {
		flags, body, err := c.read()
		if err != nil {
			return nil, err
		}
		if flags&flagCommand != 0 {
			continue
		}
		if frames = append(frames, body); flags&flagMore == 0 {
			return frames, nil
		}
	}
}

// send writes a message.
func (c *conn) send(frames ...[]byte) error {
	for i, f := range frames {
		flags := byte(flagMore)
		if i == len(frames)-1 {
			flags = 0
		}
		if err := c.write(flags, f); err != nil {
			return err
		}
	}
	return nil
}
