package auth

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"

	"tamtam/internal/randtest"
)

// A crowd is a listener that accepts connections from the addresses that the test sets.
type crowd struct {
	net.Listener
	next *net.TCPAddr
}

// A visitor is a connection that does nothing.
type visitor struct {
	net.Conn
	from   *net.TCPAddr
	closed bool
}

func (v *visitor) RemoteAddr() net.Addr { return v.from }

func (v *visitor) Close() error { v.closed = true; return nil }

func (c *crowd) Accept() (net.Conn, error) { return &visitor{from: c.next}, nil }

// come makes the door accept a connection from an address.
func come(t *testing.T, d *Door, c *crowd, addr string) *guest {
	t.Helper()
	c.next = net.TCPAddrFromAddrPort(netip.MustParseAddrPort(addr))
	conn, err := d.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return conn.(*guest)
}

func (g *guest) shut() bool { return g.Conn.(*visitor).closed }

func TestDoor(t *testing.T) {
	c := &crowd{}
	d := NewDoor(c)
	t.Run("strangers of one source make room for each other", func(t *testing.T) {
		other := come(t, d, c, "10.0.0.1:1")
		var all []*guest
		for i := range 400 {
			all = append(all, come(t, d, c, fmt.Sprintf("10.0.0.2:%d", i+1)))
		}
		for i, g := range all {
			if want := i < 400-maxStrangersOf; g.shut() != want {
				t.Errorf("number %d is shut out: %t", i, g.shut())
			}
		}
		if other.shut() || !d.Know(other) || !d.Know(all[399]) || d.Know(all[0]) {
			t.Error("who is there is not let in, or who is gone is")
		}
		for _, g := range append(all, other) {
			g.Close()
		}
	})
	t.Run("one host has 64 bits of IPv6", func(t *testing.T) {
		first := come(t, d, c, "[2001:db8::1]:1")
		for i := range maxStrangersOf {
			come(t, d, c, fmt.Sprintf("[2001:db8::%x:1]:1", i+1))
		}
		if !first.shut() {
			t.Error("the oldest has kept its place")
		}
		if g := come(t, d, c, "[2001:db8:0:1::1]:1"); g.shut() || d.strangers[0] == g {
			t.Error("another network is taken for the same")
		}
	})
	t.Run("a source may have so many that are known", func(t *testing.T) {
		for i := range maxOfSource + 1 {
			if ok := d.Know(come(t, d, c, fmt.Sprintf("10.0.0.3:%d", i+1))); ok != (i < maxOfSource) {
				t.Errorf("number %d: %t", i, ok)
			}
		}
	})
}

// After any sequence of connections, the door's counts are exact, and it stores no sources without connections.
func TestDoorAtRandom(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 20}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		c := &crowd{}
		d := NewDoor(c)
		var all []*guest
		for range 2000 {
			switch i := rnd.IntN(max(1, len(all))); {
			case rnd.IntN(2) == 0 || len(all) == 0:
				all = append(all, come(t, d, c, fmt.Sprintf("10.0.0.%d:%d", 1+rnd.IntN(8), 1+rnd.IntN(60000))))
			case rnd.IntN(2) == 0:
				d.Know(all[i])
			default:
				all[i].Close()
			}
			want, strangers, known := map[netip.Addr]visitors{}, 0, 0
			for _, g := range all {
				v := want[g.source]
				switch {
				case g.shut():
					continue
				case g.known:
					v.known++
					known++
				default:
					v.strangers++
					strangers++
				}
				want[g.source] = v
				if v.strangers > maxStrangersOf || v.known > maxOfSource {
					t.Fatalf("%s has %+v", g.source, v)
				}
			}
			if strangers > maxStrangers || known > maxConnections || strangers != len(d.strangers) || known != d.known ||
				len(want) != len(d.of) {
				t.Fatalf("%d strangers, %d known; the door says %d and %d of %d sources, not %d", strangers, known,
					len(d.strangers), d.known, len(d.of), len(want))
			}
		}
	})
}
