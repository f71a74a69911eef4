package wire

import (
	"context"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A listener receives kernel events about interfaces that appear, disappear, or change. It has its own goroutine,
// since a query may block until others have changed their interfaces. It does not read the events' content: on any
// event it checks all interfaces, so nothing depends on a lost message.
type listener struct {
	news int // a netlink socket; -1 means that there is none
	ask  int // a socket for queries
	stop *waker
	buf  [1 << 14]byte
}

const (
	// lookPeriod is how often the interfaces are checked without events, since events may be lost.
	lookPeriod = 200 * time.Millisecond
	// newsPeriod is the minimum time between two checks.
	newsPeriod = time.Millisecond
	// mostNews is the largest number of messages that are read at once.
	mostNews = 1000
)

// newListener makes a listener in the network namespace of the calling thread. If it cannot receive events, it only
// polls, and deaf is the reason.
func newListener() (l *listener, deaf, err error) {
	l = &listener{}
	if l.stop, err = newWaker(); err != nil {
		return nil, nil, err
	}
	// Any kind of socket can be used. This kind needs no capability, and a switch without wires has none.
	if l.ask, err = unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err != nil {
		l.stop.close()
		return nil, nil, fmt.Errorf("wires: open a socket: %w", err)
	}
	l.news, deaf = openNews()
	return l, deaf, nil
}

// openNews is a variable so that tests can make it fail.
var openNews = func() (fd int, err error) {
	fd, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
	if err != nil {
		return -1, fmt.Errorf("netlink: open a socket: %w", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: unix.RTMGRP_LINK}); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("netlink: hear of interfaces: %w", err)
	}
	// The other end of a veth pair may be in another network namespace. The kernel reports a change there first, and
	// here up to a second later. With this option, the socket receives events of such namespaces too. It requires
	// CAP_NET_BROADCAST.
	_ = unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_LISTEN_ALL_NSID, 1)
	return fd, nil
}

// run calls tell when an interface may have changed, and periodically, until ctx ends.
func (l *listener) run(ctx context.Context, names []string, report func()) {
	defer context.AfterFunc(ctx, l.stop.wake)()
	polls := []unix.PollFd{{Fd: int32(l.stop.fd), Events: unix.POLLIN}, {Fd: int32(l.news), Events: unix.POLLIN}}
	for ctx.Err() == nil {
		await(polls, lookPeriod)
		if l.news >= 0 {
			l.changed()
		}
		for _, name := range names {
			l.refreshFlags(name)
		}
		report()
		polls[1].Fd = int32(l.news)
		await(polls[:1], newsPeriod)
	}
}

// await waits until one of some descriptors is ready, but no longer than d.
func await(polls []unix.PollFd, d time.Duration) {
	left := unix.NsecToTimespec(int64(d)) // the kernel counts it down
	_, _ = unix.Ppoll(polls, &left, nil)
}

// changed reports whether the kernel has sent any event since the last call, or had no space for it.
func (l *listener) changed() bool {
	reported := false
	for range mostNews {
		switch got, err := unix.Read(l.news, l.buf[:]); {
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			return reported
		case err == unix.ENOBUFS || err == nil && got > 0:
			reported = true
		default: // the socket receives nothing more
			unix.Close(l.news)
			l.news = -1
			return reported
		}
	}
	return reported
}

// refreshFlags makes the kernel update an interface's flags from its carrier. Otherwise the kernel may delay this by up
// to a second. Not every kind of interface supports this query.
func (l *listener) refreshFlags(name string) {
	link := struct{ cmd, up uint32 }{cmd: unix.ETHTOOL_GLINK}
	ask := struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte
	}{data: unsafe.Pointer(&link)}
	copy(ask.name[:unix.IFNAMSIZ-1], name)
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(l.ask), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&ask)))
}

func (l *listener) close() {
	if l.news >= 0 {
		unix.Close(l.news)
	}
	unix.Close(l.ask)
	l.stop.close()
}
