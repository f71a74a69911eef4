package wire

import (
	"errors"
	"net"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tamtam/sai"
)

// index returns the index of an interface of the switch.
func (r *rig) index(t testing.TB, name string) (index int) {
	t.Helper()
	err := r.place.Do(func() error {
		i, err := net.InterfaceByName(name)
		if err == nil {
			index = i.Index
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return index
}

// A change is noticed, even if the kernel had no space to store its events.
func TestNews(t *testing.T) {
	r := newRig(t)
	var n *listener
	err := r.place.Do(func() (err error) {
		var deaf error
		n, deaf, err = newListener()
		return errors.Join(err, deaf)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer n.close()
	if n.changed() {
		t.Error("before anything has")
	}
	set := func(lines ...string) {
		t.Helper()
		if err := r.place.IP(lines...); err != nil {
			t.Fatal(err)
		}
	}
	set("link set eth0 mtu 1400")
	if !n.changed() || n.changed() {
		t.Error("a change is not told, or twice")
	}
	if err := unix.SetsockoptInt(n.news, unix.SOL_SOCKET, unix.SO_RCVBUF, 1); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		set("link set eth0 mtu 1500", "link set eth0 mtu 1400")
	}
	if failed, err := unix.GetsockoptInt(n.news, unix.SOL_SOCKET, unix.SO_ERROR); err != nil ||
		failed != int(unix.ENOBUFS) {
		t.Fatalf("the kernel lost nothing: error %d, %v", failed, err)
	}
	if !n.changed() || n.changed() {
		t.Error("what was left of the change is not told, or twice")
	}
}

// awaitLink returns when the chip has reported a link state.
func (r *rig) awaitLink(t testing.TB, port int, oper sai.Enum) {
	t.Helper()
	for end := time.After(time.Minute); ; {
		select {
		case link := <-r.links:
			if link.Port == r.oids[port] && link.Oper == oper {
				return
			}
		case <-end:
			t.Fatalf("port %d is not %d within a minute", port, oper)
		}
	}
}

// withoutNews suppresses the kernel's events until the test ends.
func withoutNews(t testing.TB) {
	before := openNews
	openNews = func() (int, error) { return -1, errors.New("not permitted") }
	t.Cleanup(func() { openNews = before })
}

// A switch that receives no events from the kernel still notices changes of its links.
func TestLinksWithoutNews(t *testing.T) {
	withoutNews(t)
	r := newRig(t)
	r.run(t)
	if err := r.hosts[0].IP("link set host down"); err != nil {
		t.Fatal(err)
	}
	r.awaitLink(t, 0, sai.PortOperStatusDown)
	if err := r.place.IP("link del eth1"); err != nil {
		t.Fatal(err)
	}
	r.awaitLink(t, 1, sai.PortOperStatusDown)
}

// BenchmarkLinkDown measures the time from setting a host's interface down until the chip reports the port as down:
// with the kernel's events, and without.
func BenchmarkLinkDown(b *testing.B) {
	for _, reported := range []bool{true, false} {
		name := "told"
		if !reported {
			name = "looked"
		}
		b.Run(name, func(b *testing.B) {
			if !reported {
				withoutNews(b)
			}
			r := newRig(b)
			r.run(b)
			var most time.Duration
			set := func(up bool) {
				b.Helper()
				if err := r.hosts[0].Do(func() error { return setUp("host", up) }); err != nil {
					b.Fatal(err)
				}
			}
			b.ResetTimer()
			for range b.N {
				began := time.Now()
				set(false)
				r.awaitLink(b, 0, sai.PortOperStatusDown)
				most = max(most, time.Since(began))
				b.StopTimer()
				set(true)
				r.awaitLink(b, 0, sai.PortOperStatusUp)
				b.StartTimer()
			}
			b.ReportMetric(float64(most.Microseconds()), "most-us")
		})
	}
}

// setUp sets an interface of the calling thread's network up, or down.
func setUp(name string, up bool) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	ask, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, ask); err != nil {
		return err
	}
	flags := ask.Uint16() &^ unix.IFF_UP
	if up {
		flags |= unix.IFF_UP
	}
	ask.SetUint16(flags)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ask)
}

// Receiving link events requires no capability: a switch without wires runs without capabilities.
func TestNewsWithoutCapabilities(t *testing.T) {
	failed := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends without the capabilities
		none := [2]unix.CapUserData{}
		if err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0]); err != nil {
			failed <- err
			return
		}
		n, deaf, err := newListener()
		if err == nil {
			n.close()
		}
		failed <- errors.Join(err, deaf)
	}()
	if err := <-failed; err != nil {
		t.Error(err)
	}
}
