package swsstest

import (
	"io"
	"net"
	"sync"
	"testing"
)

// A Proxy forwards data between clients and a server. It can simulate a partitioned network, in which connections are
// neither closed nor answered.
type Proxy struct {
	Addr string // the address for clients, "127.0.0.1:port"

	server string
	mu     sync.Mutex
	open   *sync.Cond
	parted bool
	closed bool
	links  map[*link]struct{}
}

// A link is a client's connection with its connection to the server.
type link struct {
	client, server net.Conn
	dead           bool // true if no data passes any more
}

// StartProxy starts a proxy of the server at addr for the duration of the test.
func StartProxy(t testing.TB, addr string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Addr: l.Addr().String(), server: addr, links: map[*link]struct{}{}}
	p.open = sync.NewCond(&p.mu)
	var running sync.WaitGroup
	running.Add(1)
	go func() {
		defer running.Done()
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			running.Add(1)
			go func() {
				defer running.Done()
				p.serve(conn)
			}()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		p.mu.Lock()
		p.closed = true
		for k := range p.links {
			k.client.Close()
			k.server.Close()
		}
		p.open.Broadcast()
		p.mu.Unlock()
		running.Wait()
	})
	return p
}

// Part blocks all data until Heal. Data that is sent waits.
func (p *Proxy) Part() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.parted = true
}

// Heal ends Part.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.parted = false
	p.open.Broadcast()
}

// Forget blocks the existing connections for ever, as a firewall does that has lost its state. New connections work.
func (p *Proxy) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k := range p.links {
		k.dead = true
	}
}

// serve forwards data in both directions until a side closes.
func (p *Proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer server.Close()
	k := &link{client: client, server: server}
	p.mu.Lock()
	p.links[k] = struct{}{}
	closed := p.closed
	p.mu.Unlock()
	if closed {
		return
	}
	back := make(chan struct{})
	go func() {
		defer close(back)
		p.pass(k, client, server)
	}()
	p.pass(k, server, client)
	<-back
	p.mu.Lock()
	delete(p.links, k)
	p.mu.Unlock()
}

// pass forwards data from the side from to the side to. It closes to when from has closed.
func (p *Proxy) pass(k *link, to, from net.Conn) {
	defer to.Close()
	data := make([]byte, 64<<10)
	for {
		n, err := from.Read(data)
		if !p.wait(k) {
			if err == nil {
				_, _ = io.Copy(io.Discard, from) // discard until it closes
			}
			return
		}
		if n > 0 {
			if _, err := to.Write(data[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// wait waits while the network is partitioned, and reports whether the link may still forward.
func (p *Proxy) wait(k *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.parted && !k.dead && !p.closed {
		p.open.Wait()
	}
	return !k.dead && !p.closed
}
