package auth

import (
	"net"
	"net/netip"
	"slices"
	"sync"
)

// Bounds on connections.
const (
	maxConnections = 256 // that are known, in all
	maxOfSource    = 128 // and of one address
	maxStrangers   = 64  // that have not said yet who they are; the oldest makes room for a new one
	maxStrangersOf = 16  // of one address
)

// A Door is a listener whose clients come in two kinds: strangers, of which nothing has come yet that a client must
// send, and those that have shown that they are clients, by a TLS handshake or a request ([Door.Know]). There are
// places for a number of each kind, in all and of one source. A stranger for whom there is none takes that of the
// oldest, of the same source if that has too many: who opens connections and says nothing gets in nobody's way. One
// that becomes known when there is no place is shut out.
type Door struct {
	net.Listener

	mu        sync.Mutex
	strangers []*guest                 // the oldest first
	of        map[netip.Addr]*visitors // by source
	known     int
	refused   uint64
}

// visitors are the connections of one source.
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

// Refused is how many connections were shut out or gave their place up.
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

// visitors are those of a source.
func (d *Door) visitors(source netip.Addr) *visitors {
	if d.of[source] == nil {
		d.of[source] = &visitors{}
	}
	return d.of[source]
}

// tooMany returns the stranger who has to go for one of a source that came; nil: nobody.
func (d *Door) tooMany(source netip.Addr) *guest {
	ofSource := d.of[source].strangers > maxStrangersOf
	if !ofSource && len(d.strangers) <= maxStrangers {
		return nil
	}
	d.refused++
	i := slices.IndexFunc(d.strangers, func(g *guest) bool { return !ofSource || g.source == source })
	return d.strangers[i] // it may be the one that came
}

// Know says that a connection of Accept is a client's, and whether there is room for it.
func (d *Door) Know(c net.Conn) bool {
	g, ok := c.(*guest)
	if !ok {
		return true
	}
	d = g.door // that it came in by
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

// forget takes one from among the strangers.
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

// sourceOf is the address of a peer; of IPv6 the first 64 bits, of which one host may have all.
func sourceOf(a net.Addr) netip.Addr {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	return oneSource(tcp.AddrPort().Addr())
}

// oneSource is what counts as one source of an address: it, or the /64 of one of IPv6.
func oneSource(addr netip.Addr) netip.Addr {
	addr = addr.Unmap().WithZone("")
	if addr.Is6() {
		if p, err := addr.Prefix(64); err == nil {
			return p.Addr()
		}
	}
	return addr
}
