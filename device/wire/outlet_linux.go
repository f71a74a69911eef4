package wire

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An outlet sends parcels to an interface, in its caller's goroutine or its own. For a virtual interface, the sending
// call returns only after the kernel has run the receiver's whole stack. That is half of the work for long frames,
// which another processor can do.
type outlet struct {
	fd   int
	ask  *unix.Ifreq // for queries about the interface
	vec  [sendBatch]unix.Iovec
	msgs [sendBatch]mmsghdr

	away  atomic.Int32 // parcels in the goroutine; while it is 0, the fields above belong to the caller
	work  chan parcel
	spare chan parcel
	ended chan struct{}

	mu    sync.Mutex
	lost  []lostFrames
	fresh atomic.Bool // lost is not empty
}

// lostFrames holds the frames of one message that the interface did not accept.
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

// parcels is how many parcels may wait to be sent before their sender has to wait.
const parcels = 4

// allParcels is how many parcels exist at most: those that wait, one being sent and one being filled. All are spare if
// the goroutine has sent the last one before its sender takes an empty one.
const allParcels = parcels + 2

// newOutlet returns the outlet of a socket; ask contains the name of its interface.
func newOutlet(fd int, ask unix.Ifreq) *outlet {
	o := &outlet{
		fd: fd, ask: &ask, work: make(chan parcel, parcels), spare: make(chan parcel, allParcels),
		ended: make(chan struct{}),
	}
	go func() {
		defer close(o.ended)
		for p := range o.work {
			o.send(p)
			o.away.Add(-1)
			o.spare <- parcel{p.buf[:0], p.frames[:0]} // has space for all
		}
	}()
	return o
}

// close sends the remaining parcels, and ends the goroutine.
func (o *outlet) close() {
	close(o.work)
	<-o.ended
}

// busy reports whether parcels are being sent, which others must not overtake.
func (o *outlet) busy() bool { return o.away.Load() > 0 }

// hand sends a parcel in the outlet's goroutine, and returns an empty one. It waits if too many are being sent.
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

// losses returns the losses since the last call.
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

// send sends a parcel. Without a carrier it sends nothing, since Linux would accept frames for such an interface and
// report them as sent.
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

// why returns the reason for which a frame was lost.
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

// sendSome sends up to sendBatch messages, and returns how many were sent before one failed.
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

// carrier holds the flags of an interface that is up and has a carrier.
const carrier = unix.IFF_UP | unix.IFF_RUNNING

// running reports whether an interface is up and has a carrier, as far as the kernel has noticed.
func running(fd int, ask *unix.Ifreq) bool {
	return unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, ask) == nil && ask.Uint16()&carrier == carrier
}
