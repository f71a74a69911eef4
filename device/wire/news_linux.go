package wire

import (
	"context"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A listener hears from the kernel of interfaces that come, go, or change, in a goroutine of its own: an answer may
// have to wait until others have changed theirs. What it is told is not read: whoever hears of anything looks at all
// interfaces, so that nothing depends on a message that was lost.
type listener struct {
	news int // a socket of netlink; -1: there is none
	ask  int // a socket, for questions
	stop *waker
	buf  [1 << 14]byte
}

const (
	// lookPeriod is how often the interfaces are asked how they are where the kernel tells nothing: its word may be lost.
	lookPeriod = 200 * time.Millisecond
	// newsPeriod is how often they are asked at most.
	newsPeriod = time.Millisecond
	// mostNews bounds how many messages are taken at once.
	mostNews = 1000
)

// newListener makes a listener in the network namespace of the calling thread, or one that hears nothing, for a reason,
// and only looks.
func newListener() (l *listener, deaf, err error) {
	l = &listener{}
	if l.stop, err = newWaker(); err != nil {
		return nil, nil, err
	}
	// One of any kind will do, and for this kind nobody needs a capability: a switch without wires has none.
	if l.ask, err = unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err != nil {
		l.stop.close()
		return nil, nil, fmt.Errorf("wires: open a socket: %w", err)
	}
	l.news, deaf = openNews()
	return l, deaf, nil
}

// openNews is a variable for tests of what there is without.
var openNews = func() (fd int, err error) {
	fd, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
	if err != nil {
		return -1, fmt.Errorf("netlink: open a socket: %w", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: unix.RTMGRP_LINK}); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("netlink: hear of interfaces: %w", err)
	}
	// The other end of a pair, in another network, is told of there first, and here when the kernel comes to it, which it
	// puts off by up to a second. Needs CAP_NET_BROADCAST.
	_ = unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_LISTEN_ALL_NSID, 1)
	return fd, nil
}

// run calls tell whenever an interface may have changed, and once in a while, until ctx ends.
func (l *listener) run(ctx context.Context, names []string, tell func()) {
	defer context.AfterFunc(ctx, l.stop.wake)()
	polls := []unix.PollFd{{Fd: int32(l.stop.fd), Events: unix.POLLIN}, {Fd: int32(l.news), Events: unix.POLLIN}}
	for ctx.Err() == nil {
		await(polls, lookPeriod)
		if l.news >= 0 {
			l.changed()
		}
		for _, name := range names {
			l.settle(name)
		}
		tell()
		polls[1].Fd = int32(l.news)
		await(polls[:1], newsPeriod)
	}
}

// await waits until one of some descriptors has something, but no longer than d.
func await(polls []unix.PollFd, d time.Duration) {
	left := unix.NsecToTimespec(int64(d)) // the kernel counts it down
	_, _ = unix.Ppoll(polls, &left, nil)
}

// changed says whether the kernel has told of anything since the last time, or had no room for it.
func (l *listener) changed() bool {
	told := false
	for range mostNews {
		switch got, err := unix.Read(l.news, l.buf[:]); {
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			return told
		case err == unix.ENOBUFS || err == nil && got > 0:
			told = true
		default: // there will be no more
			unix.Close(l.news)
			l.news = -1
			return told
		}
	}
	return told
}

// settle has the kernel bring an interface's flags up to date with its carrier, which else it does when it likes to, up
// to a second later. Not every kind of interface can be asked.
func (l *listener) settle(name string) {
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
