package auth

import (
	"net"
	"net/netip"
	"slices"
	"sync"
)

// Bounds on connections.
const (
	maxConnections = 256 // known connections of all sources
	maxOfSource    = 128 // known connections of one source address
	maxStrangers   = 64  // connections that have not identified themselves; the oldest is closed for a new one
	maxStrangersOf = 16  // connections of one address that have not identified themselves
)

// A Door is a listener that bounds its connections, which are of two kinds. A known connection has identified itself as
// a client's, by a TLS handshake or a request ([Door.Know]). A stranger has not done so yet. The number of connections
// of each kind is bounded, in total and per source. If there are too many strangers, the oldest is closed. If one
// source has too many, its oldest is closed. So idle connections do not block clients. A connection that becomes known
// above the bound is closed.
type Door struct {
	net.Listener

	mu        sync.Mutex
	strangers []*guest                 // the oldest first
	of        map[netip.Addr]*visitors // by source
	known     int
	refused   uint64
}

// visitors counts the connections of one source.
type visitors struct{ strangers, known int }

// A guest is a connection.
type guest struct {
	net.Conn
	door   *Door
	source netip.Addr
	known  bool
	gone   bool
}

// NewDoor returns a door before a listener.
func NewDoor(l net.Listener) *Door { return &Door{Listener: l, of: map[netip.Addr]*visitors{}} }

// Refused returns the number of connections that were closed because of the bounds.
func (d *Door) Refused() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.refused
}

// Accept implements net.Listener.
func (d *Door) Accept() (net.Conn, error) {
	c, err := d.Listener.Accept()
	if err != nil {
		return nil, err
	}
	g := &guest{Conn: c, door: d, source: sourceOf(c.RemoteAddr())}
	d.mu.Lock()
	v := d.visitors(g.source)
	v.strangers++
	d.strangers = append(d.strangers, g)
	out := d.tooMany(g.source)
	d.mu.Unlock()
	if out != nil {
		out.Close()
	}
	return g, nil
}

// visitors returns the counts of a source.
func (d *Door) visitors(source netip.Addr) *visitors {
	if d.of[source] == nil {
		d.of[source] = &visitors{}
	}
	return d.of[source]
}

// tooMany returns the stranger to close after a source has added one, or nil if the bounds permit another stranger.
func (d *Door) tooMany(source netip.Addr) *guest {
	ofSource := d.of[source].strangers > maxStrangersOf
	if !ofSource && len(d.strangers) <= maxStrangers {
		return nil
	}
	d.refused++
	i := slices.IndexFunc(d.strangers, func(g *guest) bool { return !ofSource || g.source == source })
	return d.strangers[i] // this may be the new stranger itself
}

// Know marks a connection that the door accepted as one of an authenticated client. It returns false if there are too
// many known connections.
func (d *Door) Know(c net.Conn) bool {
	g, ok := c.(*guest)
	if !ok {
		return true
	}
	d = g.door // the door that accepted it
	d.mu.Lock()
	defer d.mu.Unlock()
	v := d.of[g.source]
	switch {
	case g.gone:
		return false
	case g.known:
		return true
	case d.known >= maxConnections || v.known >= maxOfSource:
		d.refused++
		return false
	}
	g.known = true
	d.forget(g)
	v.known++
	d.known++
	return true
}

// forget removes a guest from the strangers.
func (d *Door) forget(g *guest) {
	i := slices.Index(d.strangers, g)
	d.strangers = slices.Delete(d.strangers, i, i+1)
	d.of[g.source].strangers--
}

// Close implements net.Conn.
func (g *guest) Close() error {
	g.leave()
	return g.Conn.Close()
}

func (g *guest) leave() {
	d := g.door
	d.mu.Lock()
	defer d.mu.Unlock()
	if g.gone {
		return
	}
	g.gone = true
	v := d.of[g.source]
	if g.known {
		v.known--
		d.known--
	} else {
		d.forget(g)
	}
	if *v == (visitors{}) {
		delete(d.of, g.source)
	}
}

// sourceOf returns the source address of a peer. For IPv6 this is the first 64 bits, since one host may own the whole
// /64.
func sourceOf(a net.Addr) netip.Addr {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	return oneSource(tcp.AddrPort().Addr())
}

// oneSource returns the source that an address belongs to: the address itself, or the /64 of an IPv6 address.
func oneSource(addr netip.Addr) netip.Addr {
	addr = addr.Unmap().WithZone("")
	if addr.Is6() {
		if p, err := addr.Prefix(64); err == nil {
			return p.Addr()
		}
	}
	return addr
}
