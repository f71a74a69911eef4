// Package syslog sends events of a switch to syslog servers (RFC 5424). It uses UDP (RFC 5426), TCP (RFC 6587, with
// octet counting) or TLS (RFC 5425).
//
// What belongs here: the format of a line, and its transport. Receivers send no response: package outputs defines when
// a message counts as sent.
package syslog

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"tamtam/mgmt/outputs"
)

// Schemes returns the transports to a server.
func Schemes() map[string]outputs.Scheme {
	return map[string]outputs.Scheme{"udp": {Port: "514"}, "tcp": {Port: "514"}, "tls": {Port: "6514"}}
}

// A Link is the connection to a server.
type Link struct {
	to     outputs.Target
	source string // the source address; empty means any
	conf   *tls.Config
	conn   net.Conn
	gone   chan struct{}
}

// NewLink returns a link to a server, from a source address unless that is empty. conf is for TLS.
func NewLink(to outputs.Target, source string, conf *tls.Config) *Link {
	return &Link{to: to, source: source, conf: conf}
}

func (l *Link) stream() bool { return l.to.Scheme != "udp" }

// Connect implements outputs.Link.
func (l *Link) Connect(ctx context.Context) error {
	l.Close()
	network := "tcp"
	if !l.stream() {
		network = "udp"
	}
	d := net.Dialer{}
	if l.source != "" {
		ip := net.ParseIP(l.source)
		if ip == nil {
			return fmt.Errorf("source %q is no address", l.source)
		}
		if d.LocalAddr = (&net.TCPAddr{IP: ip}); !l.stream() {
			d.LocalAddr = &net.UDPAddr{IP: ip}
		}
	}
	conn, err := d.DialContext(ctx, network, l.to.Address())
	if err != nil {
		return err
	}
	if l.to.Scheme == "tls" {
		secured := tls.Client(conn, named(l.conf, l.to.Host))
		if err := secured.HandshakeContext(ctx); err != nil {
			conn.Close()
			return err
		}
		conn = secured
	}
	l.conn, l.gone = conn, make(chan struct{})
	if l.stream() {
		go watch(conn, l.gone)
	}
	return nil
}

// named returns a configuration for a server with this name.
func named(conf *tls.Config, host string) *tls.Config {
	if conf == nil {
		conf = &tls.Config{}
	}
	conf = conf.Clone()
	conf.ServerName = host
	return conf
}

// watch reads until the connection ends; a server sends nothing.
func watch(conn net.Conn, gone chan<- struct{}) {
	defer close(gone)
	for waste := make([]byte, 512); ; {
		if _, err := conn.Read(waste); err != nil {
			return
		}
	}
}

// Gone implements outputs.Broken.
func (l *Link) Gone() <-chan struct{} { return l.gone }

// Send implements outputs.Link.
func (l *Link) Send(ctx context.Context, line []byte) error {
	if l.conn == nil {
		return errors.New("not connected")
	}
	select {
	case <-l.gone:
		return errors.New("the receiver has closed the connection")
	default:
	}
	if l.stream() {
		line = framed(line)
	}
	deadline, _ := ctx.Deadline() // zero means no deadline
	if err := l.conn.SetWriteDeadline(deadline); err != nil {
		return err
	}
	_, err := l.conn.Write(line)
	return err
}

// Close implements outputs.Link.
func (l *Link) Close() {
	if l.conn == nil {
		return
	}
	if c, ok := l.conn.(*tls.Conn); ok {
		c.SetWriteDeadline(time.Now().Add(time.Second))
	}
	l.conn.Close()
	l.conn = nil
}
