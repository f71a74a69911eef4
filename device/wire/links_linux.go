package wire

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Links sets interfaces up and down as their ports are, so that a peer sees its link go when a port is shut down. It
// outlives the chip: a process has one, of which each [Run] in turn makes use.
type Links struct {
	mu     sync.Mutex
	fd     int             // a socket of the interfaces' network namespace; -1 until the first Run
	raised map[string]bool // interfaces that were set up here
}

// NewLinks returns links of which none was set up.
func NewLinks() *Links { return &Links{fd: -1, raised: map[string]bool{}} }

// downGrace is how long a port is not up, without having been, before its interface is set down: a chip that has just
// begun has all ports down until it is configured, and that is no reason to take links from peers.
const downGrace = 10 * time.Second

// open opens the socket, in the network namespace of the calling thread.
func (l *Links) open() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fd >= 0 {
		return nil
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("wires: open a socket: %w", err)
	}
	l.fd = fd
	return nil
}

// set sets an interface up or down. It needs CAP_NET_ADMIN.
func (l *Links) set(name string, up bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := setFlag(l.fd, name, up)
	switch {
	case err != nil:
		return fmt.Errorf("interface %s: set it %s (CAP_NET_ADMIN is needed): %w", name, upOrDown(up), err)
	case up:
		l.raised[name] = true
	default:
		delete(l.raised, name)
	}
	return nil
}

func setFlag(fd int, name string, up bool) error {
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

func upOrDown(up bool) string {
	if up {
		return "up"
	}
	return "down"
}

// Close ends the use of the interfaces. Those that were set up here are set down, so that no peer sends into a switch
// that has ended, unless they are to be kept for the next one.
func (l *Links) Close(keep bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fd < 0 {
		return nil
	}
	var errs []error
	if !keep {
		for _, name := range slices.Sorted(maps.Keys(l.raised)) {
			if err := setFlag(l.fd, name, false); err != nil && !errors.Is(err, unix.ENODEV) {
				errs = append(errs, fmt.Errorf("interface %s: set it down: %w", name, err))
			}
		}
	}
	clear(l.raised)
	err := unix.Close(l.fd)
	l.fd = -1
	return errors.Join(append(errs, err)...)
}

// A follower is what the interface of one line is to be.
type follower struct {
	known   bool      // the chip has had the port
	admin   bool      // the port is not shut down
	since   time.Time // of the last change of that
	shut    bool      // the interface is to be down
	raise   bool      // the interface is to be set up, once
	refused string    // why it could not be set; "": it could
}

// follow takes what the chip has: whether there is the port, and whether it is not shut down.
func (f *follower) follow(now time.Time, present, admin bool) {
	switch {
	case !f.known && !present:
		return
	case !f.known:
		f.known, f.since = true, now
	}
	if admin = admin && present; admin != f.admin {
		f.admin, f.since = admin, now
		f.raise, f.shut = admin, !admin && present
	}
	if !f.admin && now.Sub(f.since) >= downGrace {
		f.shut = true
	}
}

// act sets the interface as it is to be, if it is another. What an operator does with the interface of a port that is
// up stays.
func (f *follower) act(l *Links, s *socket, is interfaceState) error {
	var err error
	switch {
	case !is.there:
		return nil
	case f.shut && is.set:
		err = l.set(s.name, false)
	case f.raise && !is.set:
		if err = s.mayHave(); err == nil {
			err = l.set(s.name, true)
		}
	}
	if err == nil {
		f.raise, f.refused = false, ""
		return nil
	}
	if f.refused == err.Error() {
		return nil // that was logged
	}
	f.refused = err.Error()
	return err
}

// mayHave returns an error if another switch has the interface, which is not bound here.
func (s *socket) mayHave() error {
	if s.index != 0 || unix.IoctlIfreq(s.fd, unix.SIOCGIFINDEX, s.ask) != nil {
		return nil
	}
	mine, err := claimInterface(s.name, int(s.ask.Uint32()), s.port)
	if err == nil {
		mine.release()
	}
	return err
}
