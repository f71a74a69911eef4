package hostifd

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tamtam/host/netdev"
	"tamtam/internal/netns/netnstest"
	"tamtam/swss/schema"
)

func ip(t *testing.T, args string) string {
	t.Helper()
	out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput()
	if err != nil {
		t.Fatalf("ip %s: %v: %s", args, err, out)
	}
	return string(out)
}

// allFlows sends datagrams of many flows to 10.0.1.9 until one of each has arrived at the other end of a device.
func allFlows(t *testing.T, tap io.Reader) {
	t.Helper()
	const flows, first = 64, 9000
	var conns []net.Conn
	for i := range flows {
		c, err := net.Dial("udp", fmt.Sprintf("10.0.1.9:%d", first+i))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		conns = append(conns, c)
	}
	came := make(chan uint16)
	go func() {
		defer close(came)
		for buf, seen := make([]byte, 9000), map[uint16]bool{}; len(seen) < flows; {
			n, err := tap.Read(buf)
			if err != nil {
				return
			}
			const ipv4, port = 14, 14 + 20 + 2
			if to := binary.BigEndian.Uint16(buf[port:]); n > port+2 && buf[ipv4] == 0x45 && to >= first && to < first+flows {
				seen[to] = true
				came <- to
			}
		}
	}()
	again, deadline := time.NewTicker(100*time.Millisecond), time.After(time.Minute)
	defer again.Stop()
	for n := 0; n < flows; {
		for _, c := range conns {
			if _, err := c.Write([]byte("datagram")); err != nil {
				t.Fatal(err)
			}
		}
		for waits := true; waits && n < flows; {
			select {
			case _, more := <-came:
				if n++; !more {
					t.Fatalf("the device has gone after %d flows", n)
				}
			case <-again.C: // a datagram sent just when a carrier has come is lost
				waits = false
			case <-deadline:
				t.Fatalf("%d flows came, want %d", n, flows)
			}
		}
	}
}

// Linux has the configured device, as iproute2 shows it. An interface of another program is not touched, and neighbours
// are reported.
func TestLinux(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("TAP devices are root's")
	}
	if !netnstest.Own(t) {
		return
	}
	k, err := NewKernel()
	if err != nil {
		t.Skip(err)
	}
	if got := strings.Join(k.Advice(), "; "); !strings.Contains(got, "net.ipv4.conf.all.arp_ignore is 0, want 1: ") {
		t.Errorf("advice %q, want that of ARP", got)
	}
	devices := netdev.NewKernel()
	type link struct {
		name  string
		index int
	}
	links := make(chan link, 64)
	watching, unwatch := context.WithCancel(t.Context())
	watched := make(chan error, 1)
	go func() { watched <- k.Links(watching, func(name string, index int) { links <- link{name, index} }) }()
	index := 0
	seen := func(there bool) {
		t.Helper()
		for deadline := time.After(time.Minute); ; {
			select {
			case l := <-links:
				if l.name != "Ethernet0" {
					t.Errorf("there is %v, want host interfaces alone", l)
				}
				if index = l.index; there == (index != 0) {
					return
				}
			case err := <-watched:
				t.Fatalf("nothing was said of Ethernet0: %v", err)
			case <-deadline:
				t.Fatal("nothing was said of Ethernet0")
			}
		}
	}
	if err := k.Set("Ethernet0", Device{}, Device{}, true); err == nil ||
		!strings.Contains(err.Error(), "no such device: syncd makes it") {
		t.Errorf("a device that is not there: %v", err)
	}
	tap, err := devices.Open("Ethernet0", [6]byte{})
	if err != nil {
		t.Skipf("no TAP device may be made here: %v", err)
	}
	seen(true)
	first := Device{
		MAC: schema.MAC{2, 0, 0, 0, 0, 0xaa}, MTU: 9100, Up: true, Routed: true,
		Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/24"), netip.MustParsePrefix("2001:db8::1/64")},
	}
	set := func(d, old Device, whole bool) {
		t.Helper()
		for _, err := range []error{tap.SetCarrier(d.Carrier), k.Set("Ethernet0", d, old, whole)} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	shows := func(args string, parts ...string) {
		t.Helper()
		got := ip(t, args)
		for _, part := range parts {
			if no, absent := strings.CutPrefix(part, "!"); absent == strings.Contains(got, no) {
				t.Errorf("ip %s shows %s, want %s", args, got, part)
			}
		}
	}
	set(first, Device{}, true)
	shows("addr show Ethernet0", "NO-CARRIER", "mtu 9100", "02:00:00:00:00:aa", "10.0.0.1/24", "2001:db8::1/64")
	shows("link show Ethernet0", netdev.Alias)
	ip(t, "addr add 10.7.0.7/24 dev Ethernet0")
	second := Device{MAC: schema.MAC{2, 0, 0, 0, 0, 0xbb}, MTU: 1500, Up: true, Carrier: true, Routed: true,
		Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.1.1/24"), netip.MustParsePrefix("2001:db8::1/64")}}
	set(second, first, false)
	shows("addr show Ethernet0", "LOWER_UP", "mtu 1500", "02:00:00:00:00:bb", "10.0.1.1/24", "2001:db8::1/64",
		"!10.0.0.1/24", "10.7.0.7/24")

	// While another process holds the device, too, it keeps its carrier and gets no frame, even if the process that
	// made it ends; the next process gets the frames.
	hold, err := unix.Dup(int(tap.Hold().Fd()))
	if err != nil {
		t.Fatal(err)
	}
	tap.Close()
	shows("addr show Ethernet0", "LOWER_UP", "10.0.1.1/24")
	if tap, err = devices.Open("Ethernet0", [6]byte{}); err != nil {
		t.Fatal(err)
	}
	shows("addr show Ethernet0", "LOWER_UP")
	ip(t, "neigh add 10.0.1.9 lladdr 02:00:00:00:00:99 dev Ethernet0")
	allFlows(t, tap)
	if err := unix.Close(hold); err != nil {
		t.Error(err)
	}

	if _, err := devices.Open("Ethernet0", [6]byte{}); err == nil ||
		!strings.Contains(err.Error(), "a second syncd?") {
		t.Errorf("opened twice: %v", err)
	}
	ip(t, "link add Ethernet4 type veth peer name other")
	_, opened := devices.Open("Ethernet4", [6]byte{})
	for _, err := range []error{opened, k.Set("Ethernet4", first, Device{}, true)} {
		if err == nil ||
			!strings.Contains(err.Error(), "(veth) which is no host interface of tamtam's: rename or remove it") {
			t.Errorf("another's interface: %v", err)
		}
	}
	if err := k.Remove("Ethernet4"); err != nil {
		t.Error(err)
	}

	reported := make(chan Neighbor, 64)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- k.Neighbors(ctx, func(n Neighbor) { reported <- n }) }()
	wait := func(want Neighbor) {
		t.Helper()
		for deadline := time.After(time.Minute); ; {
			select {
			case n := <-reported:
				if keyOf(n) == keyOf(want) && n.Gone == want.Gone && (n.Gone ||
					n.MAC == want.MAC && n.Permanent == want.Permanent) {
					return
				}
			case <-deadline:
				t.Fatalf("not told of %+v", want)
			}
		}
	}
	n := Neighbor{Interface: "Ethernet0", Addr: netip.MustParseAddr("10.0.1.2"), MAC: schema.MAC{2, 0, 0, 0, 0, 0x11},
		Permanent: true}
	if err := k.SetNeighbor(n, true); err != nil {
		t.Fatal(err)
	}
	wait(n)
	shows("neigh show dev Ethernet0", "10.0.1.2 lladdr 02:00:00:00:00:11 PERMANENT")
	if err := k.SetNeighbor(n, false); err != nil {
		t.Fatal(err)
	}
	shows("neigh show dev Ethernet0", "10.0.1.2 lladdr 02:00:00:00:00:11 PERMANENT")
	if out, err := exec.Command("ip", "neigh", "add", "10.0.1.99", "lladdr", "02:00:00:00:00:19", "dev", "Ethernet0",
		"nud", "permanent").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	ours := n
	ours.Permanent = false
	if list, err := k.Configured(); err != nil || !slices.Equal(list, []Neighbor{ours}) {
		t.Errorf("configured are %+v, %v", list, err)
	}
	if err := k.RemoveNeighbor(n); err != nil {
		t.Fatal(err)
	}
	if list, err := k.Configured(); err != nil || len(list) > 0 {
		t.Errorf("configured are %+v, %v; the one was removed, and the other is not ours", list, err)
	}
	gone := n
	gone.Gone = true
	wait(gone)
	unknown := Neighbor{Interface: "Ethernet0", Addr: netip.MustParseAddr("10.0.1.3")}
	if err := k.Ask(unknown); err != nil {
		t.Fatal(err)
	}
	unknown.Gone = true // there was no answer yet
	wait(unknown)
	cancel()
	if err := <-ended; err == nil {
		t.Error("telling of neighbours ended without a reason")
	}

	tap.Close() // a crash: the device stays
	if names, err := k.Ours(); err != nil || len(names) != 1 || names[0] != "Ethernet0" {
		t.Errorf("ours are %v, %v", names, err)
	}
	if tap, err = devices.Open("Ethernet0", [6]byte{}); err != nil {
		t.Fatal(err)
	}
	set(second, Device{}, true)
	shows("addr show Ethernet0", "10.0.1.1/24", "!10.7.0.7/24")
	bridged := second
	bridged.Routed, bridged.Addrs = false, nil
	set(bridged, second, false)
	shows("addr show Ethernet0", "!inet")
	tap.Close()
	if err := k.Remove("Ethernet0"); err != nil {
		t.Error(err)
	}
	shows("link show", "!Ethernet0", "Ethernet4")
	seen(false)
	unwatch()
	if err := <-watched; err == nil {
		t.Error("telling of interfaces ended without a reason")
	}
}
