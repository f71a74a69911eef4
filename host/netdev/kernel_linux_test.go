package netdev

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"tamtam/internal/netns/netnstest"
	"tamtam/internal/randtest"
)

// holders are the processes that have a device: syncd, with the queues of a Tap, and hostifd, with a file that it
// received from this or an earlier syncd.
type holders struct {
	t       *testing.T
	syncd   Tap
	hostifd *os.File
}

// hand passes syncd's file to hostifd, as over a socket.
func (h *holders) hand() {
	fd, err := unix.Dup(int(h.syncd.Hold().Fd()))
	if err != nil {
		h.t.Fatal(err)
	}
	if h.hostifd != nil {
		h.hostifd.Close()
	}
	h.hostifd = os.NewFile(uintptr(fd), "hostifd")
}

// act starts or ends a process, and describes it.
func (h *holders) act(r *rand.Rand, runs *bool) string {
	switch {
	case r.IntN(2) == 0 && h.syncd == nil:
		var err error
		if h.syncd, err = NewKernel().Open("Ethernet0", [6]byte{}); err == nil {
			err = h.syncd.SetCarrier(true)
		}
		if err != nil {
			h.t.Fatal(err)
		}
		if *runs {
			h.hand()
		}
		return "syncd begins"
	case h.syncd != nil && r.IntN(2) == 0:
		h.syncd.Close()
		h.syncd = nil
		return "syncd is killed"
	case *runs:
		if *runs = false; h.hostifd != nil {
			h.hostifd.Close()
		}
		h.hostifd = nil
		return "hostifd is killed"
	}
	if *runs = true; h.syncd != nil {
		h.hand()
	}
	return "hostifd begins"
}

// A device keeps its carrier while syncd runs, or a hostifd that has a file of the device. The order in which these
// processes are killed and started does not matter. Only one syncd gets the device's frames.
func TestRandomHolders(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("TAP devices are root's")
	}
	if !netnstest.Own(t) {
		return
	}
	first, err := NewKernel().Open("Ethernet0", [6]byte{})
	if err != nil {
		t.Skipf("no TAP device may be made here: %v", err)
	}
	first.Close()
	randtest.Run(t, randtest.Cases{Seed: 368_600, Count: 20, Short: 5}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		h, runs := &holders{t: t}, false
		defer func() {
			if h.syncd != nil {
				h.syncd.Close()
			}
			if h.hostifd != nil {
				h.hostifd.Close()
			}
		}()
		link, err := netlink.LinkByName("Ethernet0")
		if err == nil {
			err = netlink.LinkSetUp(link)
		}
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			what := h.act(r, &runs)
			link, err := netlink.LinkByName("Ethernet0")
			if err != nil {
				t.Fatal(err)
			}
			carrier, queues := link.Attrs().RawFlags&unix.IFF_LOWER_UP != 0, 0
			if h.syncd != nil {
				queues = 1
			}
			if want := h.syncd != nil || h.hostifd != nil; carrier != want || link.(*netlink.Tuntap).Queues != queues {
				t.Fatalf("%s: carrier %v, %d queues with frames, want %v, %d", what, carrier,
					link.(*netlink.Tuntap).Queues, want, queues)
			}
		}
	})
	// A device with one queue, of an earlier version, is created again.
	if err := NewKernel().Remove("Ethernet0"); err != nil {
		t.Error(err)
	}
	old := &netlink.Tuntap{LinkAttrs: netlink.LinkAttrs{Name: "Ethernet0"}, Mode: netlink.TUNTAP_MODE_TAP,
		Flags: netlink.TUNTAP_NO_PI}
	if err := netlink.LinkAdd(old); err != nil {
		t.Fatal(err)
	}
	if err := netlink.LinkSetAlias(old, Alias); err != nil {
		t.Fatal(err)
	}
	mac := [6]byte{2, 0, 0, 0, 0, 1}
	tap, err := NewKernel().Open("Ethernet0", mac)
	if err != nil {
		t.Fatal(fmt.Errorf("a device of an earlier version: %w", err))
	}
	defer tap.Close()
	link, err := netlink.LinkByName("Ethernet0")
	if err != nil {
		t.Fatal(err)
	}
	if got := link.Attrs().HardwareAddr; !bytes.Equal(got, mac[:]) {
		t.Errorf("the device has the address %s, want %x", got, mac)
	}
}

// Each change of a carrier is reported to listeners, however soon another follows: by default Linux reports them once a
// second.
func TestCarrierIsReported(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("TAP devices are root's")
	}
	var u unix.Utsname
	var major, minor int
	if err := unix.Uname(&u); err != nil {
		t.Skip(err)
	}
	release := unix.ByteSliceToString(u.Release[:])
	if _, err := fmt.Sscanf(release, "%d.%d", &major, &minor); err != nil || major*100+minor < 608 {
		t.Skipf("Linux %s tells of it when it wants: %v", release, err)
	}
	if !netnstest.Own(t) {
		return
	}
	tap, err := NewKernel().Open("Ethernet0", [6]byte{})
	if err != nil {
		t.Skipf("no TAP device may be made here: %v", err)
	}
	defer tap.Close()
	link, err := netlink.LinkByName("Ethernet0")
	if err == nil {
		err = netlink.LinkSetUp(link)
	}
	if err != nil {
		t.Fatal(err)
	}
	reported, done := make(chan netlink.LinkUpdate, 256), make(chan struct{})
	defer close(done)
	if err := netlink.LinkSubscribe(reported, done); err != nil {
		t.Fatal(err)
	}
	const changes = 10
	for i := range changes {
		if err := tap.SetCarrier(i%2 == 1); err != nil {
			t.Fatal(err)
		}
	}
	last := "ethernet"
	if err := netlink.LinkSetAlias(link, last); err != nil {
		t.Fatal(err)
	}
	seen, is := 0, netlink.LinkOperState(netlink.OperUp)
	for deadline := time.After(time.Minute); ; {
		select {
		case l := <-reported:
			a := l.Attrs()
			if a.OperState != is && (a.OperState == netlink.OperUp || a.OperState == netlink.OperDown) {
				seen, is = seen+1, a.OperState
			}
			if a.Alias != last {
				continue
			}
			if seen < changes {
				t.Errorf("told of %d changes, want %d", seen, changes)
			}
			return
		case <-deadline:
			t.Fatal("not told of the alias")
		}
	}
}
