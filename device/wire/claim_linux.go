package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// A claim is the right to an interface, of one switch at a time: the name of a Unix socket in the interface's network
// namespace, which the kernel gives to one alone and takes back when its process ends, however that ends.
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
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: name}); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// holder says who has claimed an interface, as far as that can be seen.
func holder(index int) string {
	text, _ := os.ReadFile("/proc/thread-self/net/unix")
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if _, by, ok := strings.Cut(lines.Text(), claimPrefix(index)+"/"); ok {
			return by
		}
	}
	return "another process"
}

func (c *claim) release() {
	for _, fd := range []int{c.lock, c.sign} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
	*c = noClaim
}
