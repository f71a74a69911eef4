package netdev

import (
	"errors"
	"fmt"
	"os"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Alias marks the devices that are host interfaces of tamtam's.
const Alias = "tamtam host interface"

const tun = "/dev/net/tun"

// A Linux is the kernel of this host, in the network namespace of the process. It needs CAP_NET_ADMIN and /dev/net/tun.
type Linux struct{}

// NewKernel returns the kernel that this process runs on.
func NewKernel() Kernel { return Linux{} }

// Ours lists the devices that are marked as ours.
func (Linux) Ours() ([]string, error) {
	links, err := netlink.LinkList()
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", err)
	}
	var names []string
	for _, l := range links {
		if a := l.Attrs(); a.Alias == Alias {
			names = append(names, a.Name)
		}
	}
	return names, nil
}

// Open creates a TAP device, or attaches to an existing one of ours. It has two queues. The first is disabled at once,
// so that it gets no frames, and only holds the device, which keeps its carrier while it has a queue of either kind.
// Frames that Linux sends before the second queue exists are lost, as are all while no process has the device.
func (Linux) Open(name string, mac [6]byte) (Tap, error) {
	fresh, err := missing(name)
	if err != nil {
		return nil, err
	}
	hold, err := queue(name, fresh, mac, 0)
	if err != nil {
		return nil, err
	}
	if err := disable(hold); err != nil {
		return nil, errors.Join(err, hold.Close())
	}
	f, err := queue(name, false, mac, unix.O_NONBLOCK)
	if err != nil {
		return nil, errors.Join(err, hold.Close())
	}
	return &tap{f, hold, name}, nil
}

// missing reports whether the device does not exist yet. A device of another type, which an earlier version has
// created, is removed.
func missing(name string) (bool, error) {
	link, err := netlink.LinkByName(name)
	if none := (netlink.LinkNotFoundError{}); err != nil {
		if errors.As(err, &none) {
			return true, nil
		}
		return false, err
	}
	if link.Attrs().Alias != Alias {
		return false, fmt.Errorf("there is an interface of this name (%s) which is no host interface of tamtam's: "+
			"rename or remove it", link.Type())
	}
	switch t, ok := link.(*netlink.Tuntap); {
	case !ok || t.Flags&netlink.TUNTAP_MULTI_QUEUE == 0:
		return true, netlink.LinkDel(link)
	case t.Queues > 0:
		return false, errors.New("another process has this host interface: a second syncd?")
	}
	return false, nil
}

func queue(name string, fresh bool, mac [6]byte, mode int) (*os.File, error) {
	fd, err := unix.Open(tun, unix.O_RDWR|unix.O_CLOEXEC|mode, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", tun, err)
	}
	if err := attach(fd, name, fresh, mac); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), tun), nil
}

// disable stops frames to a queue.
func disable(f *os.File) error {
	ask, err := unix.NewIfreq("")
	if err != nil {
		return err
	}
	ask.SetUint16(unix.IFF_DETACH_QUEUE)
	if err := unix.IoctlIfreq(int(f.Fd()), unix.TUNSETQUEUE, ask); err != nil {
		return fmt.Errorf("disable a queue of a TAP device: %w", err)
	}
	return nil
}

// anyName makes the kernel choose a name.
const anyName = "hostif%d"

// attach makes a file the queue of a TAP device, which persists when the file is closed. A fresh device gets its name
// only after it is marked as ours, so that programs which watch interfaces see it marked.
func attach(fd int, name string, fresh bool, mac [6]byte) error {
	first := name
	if fresh {
		first = anyName
	}
	ask, err := unix.NewIfreq(first)
	if err != nil {
		return fmt.Errorf("name of an interface: %w", err)
	}
	ask.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_MULTI_QUEUE)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, ask); err != nil {
		return fmt.Errorf("make a TAP device (CAP_NET_ADMIN is needed): %w", err)
	}
	if fresh {
		if err := mark(ask.Name(), name, mac); err != nil {
			return err // the device is removed with the file
		}
	}
	if err := unix.IoctlSetInt(fd, unix.TUNSETPERSIST, 1); err != nil {
		return fmt.Errorf("make a TAP device last: %w", err)
	}
	return nil
}

// mark marks a device as ours, sets its address unless that is zero, and names it.
func mark(is, name string, mac [6]byte) error {
	link, err := netlink.LinkByName(is)
	if err == nil && mac != [6]byte{} {
		err = netlink.LinkSetHardwareAddr(link, mac[:])
	}
	if err == nil {
		err = netlink.LinkSetAlias(link, Alias)
	}
	if err == nil {
		err = netlink.LinkSetName(link, name)
	}
	if err != nil {
		return fmt.Errorf("name a TAP device: %w", err)
	}
	return nil
}

type tap struct {
	*os.File
	hold *os.File
	name string
}

// Hold returns the queue that gets no frames.
func (t *tap) Hold() *os.File { return t.hold }

// Close closes both queues.
func (t *tap) Close() error { return errors.Join(t.File.Close(), t.hold.Close()) }

// SetCarrier sets whether the device has a carrier.
func (t *tap) SetCarrier(on bool) error {
	value := 0
	if on {
		value = 1
	}
	raw, err := t.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = unix.IoctlSetPointerInt(int(fd), unix.TUNSETCARRIER, value) })
	if err = errors.Join(err, failed); err != nil {
		return fmt.Errorf("set the carrier: %w", err)
	}
	// Linux reports carrier changes once a second, which is too late for zebra. Since Linux 6.8, it reports pending
	// changes before it answers a request such as this one.
	_, _ = netlink.LinkByName(t.name)
	return nil
}

// Remove removes a device if it is marked as ours.
func (Linux) Remove(name string) error {
	link, err := netlink.LinkByName(name)
	if missing := (netlink.LinkNotFoundError{}); errors.As(err, &missing) {
		return nil
	}
	if err != nil || link.Attrs().Alias != Alias {
		return err
	}
	return netlink.LinkDel(link)
}
