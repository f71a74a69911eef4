package swsstest

import (
	"bytes"
	"net"
	"sync/atomic"
	"testing"
)

// A Gate is a way to a server. When it is parted, nothing comes any more over the connections that listen, as when a
// network was parted while nobody wrote: they stay open, and neither side is told. What is made afterwards works.
type Gate struct {
	Addr   string // where it is entered
	parted atomic.Pointer[chan struct{}]
}

// StartGate makes a gate to a server for the duration of the test.
func StartGate(t testing.TB, to string) *Gate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	g := &Gate{Addr: l.Addr().String()}
	g.parted.Store(new(make(chan struct{})))
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			w := &way{parted: *g.parted.Load()}
			go w.pass(in, out)
			go w.pass(out, in)
		}
	}()
	return g
}

// Part cuts the connections that listen.
func (g *Gate) Part() { close(*g.parted.Swap(new(make(chan struct{})))) }

// A way is a connection through a gate.
type way struct {
	parted  chan struct{}
	listens atomic.Bool
}

func (w *way) pass(from, to net.Conn) {
	defer to.Close()
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if bytes.Contains(buf[:n], []byte("subscribe")) {
			w.listens.Store(true)
		}
		select {
		case <-w.parted:
			if w.listens.Load() {
				continue
			}
		default:
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}
