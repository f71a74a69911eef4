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

// A claim is the right to an interface, of one switch at a time: the name of a Unix socket in the interface's network
// namespace, which the kernel gives to one alone and takes back when its process ends, however that ends. Nothing is
// ever said over these sockets: nobody can send to them, and who has them is not asked but seen.
type claim struct{ lock, sign int }

var noClaim = claim{-1, -1}

// A takenError says that an interface is another switch's, and whose.
type takenError struct{ name, by string }

func (e *takenError) Error() string { return "interface " + e.name + " is taken by " + e.by }

// claimPrefix begins the names of the two sockets for an interface; in the second's it is followed by whose it is. Such
// a name is abstract: there is no file.
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
		sign = -1 // the claim holds, but nobody knows whose it is
	}
	return claim{lock, sign}, nil
}

// mostName bounds an abstract name, with what stands for its leading zero.
const mostName = 108

func bindName(name string) (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	err = unix.Shutdown(fd, unix.SHUT_RD) // else what somebody sends would lie in the kernel for good
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrUnix{Name: name})
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// mostSockets bounds what is read of the list of sockets, some 10,000 of them, since it is read where frames wait; and
// mostHolders of how many it is said that they may have claimed an interface.
const (
	mostSockets = 1 << 20
	mostHolders = 3
)

// holder says who has claimed an interface, as far as that can be seen: any process can have the name, and give itself
// any other.
func holder(index int) string {
	f, err := os.Open("/proc/thread-self/net/unix")
	if err != nil {
		return unsigned(index)
	}
	defer f.Close()
	return holderIn(io.LimitReader(f, mostSockets), index)
}

// holderIn finds who has claimed an interface in a list of sockets, which has a line for each with its name at the
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

// unsigned is who has a claim and does not say who it is.
func unsigned(index int) string {
	return "a process that cannot be identified: it has the abstract Unix socket " + claimPrefix(index) +
		" (ss -xap shows whose it is)"
}

// plain is what there is of a name that can be shown.
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
