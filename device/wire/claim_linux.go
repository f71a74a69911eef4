package wire

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/sys/unix"
)

// A claim is one switch's exclusive right to an interface. It is the name of a Unix socket in the interface's network
// namespace. The kernel gives such a name to one process only, and frees it when the process ends, however it ends.
// Nothing is ever sent over these sockets: the holder is found in the list of sockets.
type claim struct{ lock, sign int }

var noClaim = claim{-1, -1}

// A takenError reports that another switch has an interface, and which one.
type takenError struct{ name, by string }

func (e *takenError) Error() string { return "interface " + e.name + " is taken by " + e.by }

// claimPrefix returns the start of the names of an interface's two sockets. In the second name it is followed by a
// description of the holder. Such a name is abstract: there is no file.
func claimPrefix(index int) string { return fmt.Sprintf("@tamtam-wire/%d", index) }

// claimInterface claims an interface of the calling thread's network namespace for a port.
func claimInterface(name string, index int, port string) (claim, error) {
	lock, err := bindName(claimPrefix(index))
	switch {
	case errors.Is(err, unix.EADDRINUSE):
		return noClaim, &takenError{name, holder(index)}
	case err != nil:
		return noClaim, fmt.Errorf("interface %s: claim it: %w", name, err)
	}
	host, _ := os.Hostname()
	by := fmt.Sprintf("%s/process %d of %s, for its port %s", claimPrefix(index), os.Getpid(), host, port)
	sign, err := bindName(by[:min(len(by), mostName)])
	if err != nil {
		sign = -1 // the claim holds, but others cannot see the holder
	}
	return claim{lock, sign}, nil
}

// mostName is the largest length of an abstract name, with the character that stands for its leading zero.
const mostName = 108

func bindName(name string) (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	err = unix.Shutdown(fd, unix.SHUT_RD) // otherwise datagrams sent to it would stay in the kernel
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrUnix{Name: name})
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// mostSockets is the largest number of bytes read from the list of sockets, some 10,000 of them. It is limited since
// frames wait during the read. mostHolders is the largest number of possible holders that are reported.
const (
	mostSockets = 1 << 20
	mostHolders = 3
)

// holder returns a description of the process that has claimed an interface. The description is not reliable, since any
// process can bind the name and describe itself as it likes.
func holder(index int) string {
	f, err := os.Open("/proc/thread-self/net/unix")
	if err != nil {
		return unsigned(index)
	}
	defer f.Close()
	return holderIn(io.LimitReader(f, mostSockets), index)
}

// holderIn finds the holder of an interface in a list of sockets, which has one line for each with its name at the
// end.
func holderIn(list io.Reader, index int) string {
	var all []string
	for lines := bufio.NewScanner(list); lines.Scan() && len(all) < mostHolders; {
		_, by, ok := strings.Cut(lines.Text(), " "+claimPrefix(index)+"/")
		if by = plain(by); ok && by != "" && !slices.Contains(all, by) {
			all = append(all, by)
		}
	}
	if len(all) == 0 {
		return unsigned(index)
	}
	return strings.Join(all, ", or by ")
}

// unsigned returns the description of a holder that does not describe itself.
func unsigned(index int) string {
	return "a process that cannot be identified: it has the abstract Unix socket " + claimPrefix(index) +
		" (ss -xap shows whose it is)"
}

// plain returns the printable characters of a name.
func plain(name string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, name[:min(len(name), mostName)]))
}

func (c *claim) release() {
	for _, fd := range []int{c.lock, c.sign} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
	*c = noClaim
}
