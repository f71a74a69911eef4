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

// Links sets interfaces up and down like their ports, so that a peer loses its link when a port is shut down. It
// outlives the chip: a process has one, which successive calls of [Run] share.
type Links struct {
	mu     sync.Mutex
	fd     int             // a socket in the interfaces' network namespace; -1 until the first Run
	raised map[string]bool // interfaces that were set up by this process
}

// NewLinks returns a Links that has set no interface up.
func NewLinks() *Links { return &Links{fd: -1, raised: map[string]bool{}} }

// downGrace is how long a port that was never up may stay down before its interface is set down. A new chip has all
// ports down until it is configured, and peers should keep their links meanwhile.
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

// set sets an interface up or down. It requires CAP_NET_ADMIN.
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

// Close ends the use of the interfaces. It sets down the interfaces that it has set up, so that no peer sends to a
// switch that has ended. If keep is set, it leaves them up for the next process.
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

// A follower holds the intended state of one line's interface.
type follower struct {
	known   bool      // the chip has had the port
	admin   bool      // the port is not shut down
	since   time.Time // time of the last change of admin
	shut    bool      // the interface must be down
	raise   bool      // the interface must be set up, but only once
	refused string    // why it could not be set; "" if it could
}

// follow accepts the chip's state: present means that the port exists, admin that it is not shut down.
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

// act sets the interface to its intended state, if that differs. It does not undo an operator's changes to the
// interface of a port that is up.
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
		return nil // already logged
	}
	f.refused = err.Error()
	return err
}

// mayHave returns an error if the interface is not bound here and another switch has it.
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
