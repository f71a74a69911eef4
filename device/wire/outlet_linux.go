package wire

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An outlet sends parcels to an interface: with its caller, or with a goroutine of its own. What the kernel does with
// a frame, for a virtual interface all that the receiver's stack does, it does before it returns from the call that
// sends it; so it is half of the work of long frames, which another processor can do.
type outlet struct {
	fd   int
	ask  *unix.Ifreq // of the interface
	vec  [sendBatch]unix.Iovec
	msgs [sendBatch]mmsghdr

	away  atomic.Int32 // parcels that the goroutine has; while there are none, what is above is the caller's
	work  chan parcel
	spare chan parcel
	ended chan struct{}

	mu    sync.Mutex
	lost  []lostFrames
	fresh atomic.Bool // there are some in lost
}

// lostFrames are the frames of one message that the interface has not taken.
type lostFrames struct {
	frames, bytes int
	why           Loss
	err           error
}

// mmsghdr is Linux's struct mmsghdr.
type mmsghdr struct {
	hdr unix.Msghdr
	n   uint32
	_   [4]byte
}

// parcels is how many wait to be sent before their sender has to.
const parcels = 4

// newOutlet returns the outlet of a socket; ask names its interface.
func newOutlet(fd int, ask unix.Ifreq) *outlet {
	o := &outlet{
		fd: fd, ask: &ask, work: make(chan parcel, parcels), spare: make(chan parcel, parcels+1),
		ended: make(chan struct{}),
	}
	go func() {
		defer close(o.ended)
		for p := range o.work {
			o.send(p)
			o.away.Add(-1)
			select {
			case o.spare <- parcel{p.buf[:0], p.frames[:0]}:
			default:
			}
		}
	}()
	return o
}

// close sends what it still has, and ends.
func (o *outlet) close() {
	close(o.work)
	<-o.ended
}

// busy says that parcels are on their way, which others must not overtake.
func (o *outlet) busy() bool { return o.away.Load() > 0 }

// hand has a parcel sent beside the caller, and returns an empty one. It waits where too many are on their way.
func (o *outlet) hand(p parcel) parcel {
	o.away.Add(1)
	o.work <- p
	select {
	case empty := <-o.spare:
		return empty
	default:
		return parcel{}
	}
}

// losses returns what was lost since it was last asked.
func (o *outlet) losses() []lostFrames {
	if !o.fresh.Load() {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	lost := o.lost
	o.lost = nil
	o.fresh.Store(false)
	return lost
}

func (o *outlet) lose(q queued, why Loss, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lost = append(o.lost, lostFrames{q.frames, q.to - q.from - offloadBytes, why, err})
	o.fresh.Store(true)
}

// send sends a parcel. Without a carrier it sends nothing: Linux takes frames for such an interface and says that it
// has sent them.
func (o *outlet) send(p parcel) {
	for rest := p.frames; len(rest) > 0; {
		some := rest[:min(sendBatch, len(rest))]
		if !running(o.fd, o.ask) {
			for _, q := range some {
				o.lose(q, LinkDown, unix.ENETDOWN)
			}
			rest = rest[len(some):]
			continue
		}
		n, err := o.sendSome(p.buf, some)
		if err != nil && err != unix.EINTR {
			o.lose(rest[n], o.why(err), err)
			n++
		}
		rest = rest[n:]
	}
}

// why says what a frame was lost for.
func (o *outlet) why(err error) Loss {
	switch err {
	case unix.EMSGSIZE:
		return ExceedsMTU
	case unix.ENETDOWN, unix.ENXIO, unix.ENODEV:
		return LinkDown
	case unix.ENOBUFS, unix.EAGAIN:
		if !running(o.fd, o.ask) {
			return LinkDown
		}
		return InterfaceFull
	}
	return SendFailed
}

// sendSome sends up to sendBatch messages, and says how many went out before one failed.
func (o *outlet) sendSome(buf []byte, some []queued) (int, error) {
	for i, q := range some {
		o.vec[i].Base = &buf[q.from]
		o.vec[i].SetLen(q.to - q.from)
		o.msgs[i].hdr.Iov = &o.vec[i]
		o.msgs[i].hdr.SetIovlen(1)
	}
	n, errno := o.sendmmsg(len(some))
	if errno == unix.ENETDOWN { // may be outdated: the socket reports once that the link was down
		n, errno = o.sendmmsg(len(some))
	}
	if errno != 0 {
		return 0, errno
	}
	return n, nil
}

func (o *outlet) sendmmsg(n int) (int, unix.Errno) {
	done, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(o.fd), uintptr(unsafe.Pointer(&o.msgs)), uintptr(n),
		unix.MSG_DONTWAIT, 0, 0)
	return int(done), errno
}

// carrier is how the flags of an interface say that it is up and has one.
const carrier = unix.IFF_UP | unix.IFF_RUNNING

// running says that an interface is up and has a carrier, as far as the kernel has noticed.
func running(fd int, ask *unix.Ifreq) bool {
	return unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, ask) == nil && ask.Uint16()&carrier == carrier
}
