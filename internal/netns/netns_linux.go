// Package netns creates network namespaces that serve as hosts on this machine, with virtual interfaces between them.
// Tests and benchmarks of a switch with live interfaces use them. It needs root and iproute2.
//
// This package holds namespaces and their interfaces.
package netns

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A Namespace is a network namespace that ends with its last process and descriptor.
type Namespace struct{ fd int }

// New creates a namespace.
func New() (*Namespace, error) {
	n := &Namespace{}
	return n, elsewhere(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("make a network namespace (needs root): %w", err)
		}
		fd, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		n.fd = fd
		return err
	})
}

// elsewhere calls f on a separate thread, which is in this process's own network namespace before and after the call.
func elsewhere(f func() error) error {
	runtime.LockOSThread()
	own, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer unix.Close(own)
	failed := f()
	if err := unix.Setns(own, unix.CLONE_NEWNET); err != nil {
		return err // the thread stays locked, and ends with its goroutine
	}
	runtime.UnlockOSThread()
	return failed
}

// Do calls f in the namespace. Sockets that f opens and processes that it starts belong to the namespace.
func (n *Namespace) Do(f func() error) error {
	return elsewhere(func() error {
		if err := unix.Setns(n.fd, unix.CLONE_NEWNET); err != nil {
			return err
		}
		return f()
	})
}

// Socket opens a raw socket on an interface in the namespace. It sends frames out of the interface. It receives the
// frames of a protocol, given in the machine's byte order: unix.ETH_P_ALL means all frames, 0 means none.
func (n *Namespace) Socket(name string, protocol uint16) (fd int, err error) {
	err = n.Do(func() error {
		ifi, err := net.InterfaceByName(name)
		if err != nil {
			return err
		}
		if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
			return err
		}
		order := binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, protocol)) // in network byte order
		at := &unix.SockaddrLinklayer{Ifindex: ifi.Index, Protocol: order}
		if err := unix.Bind(fd, at); err != nil {
			unix.Close(fd)
			return err
		}
		return nil
	})
	return fd, err
}

// Close closes the descriptor. The namespace ends once no process is in it.
func (n *Namespace) Close() { unix.Close(n.fd) }

// IP runs commands of iproute2 in the namespace, one for each line.
func (n *Namespace) IP(lines ...string) error {
	for _, line := range lines {
		err := n.Do(func() error {
			if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
				return fmt.Errorf("ip %s: %w: %s", line, err, bytes.TrimSpace(out))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Path returns the namespace's path for ip.
func (n *Namespace) Path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.fd) }

// Counts returns the counters of an interface: frames received and sent.
func (n *Namespace) Counts(name string) (received, sent uint64, err error) {
	err = n.Do(func() error {
		text, err := os.ReadFile("/proc/thread-self/net/dev")
		if err != nil {
			return err
		}
		for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
			dev, rest, ok := strings.Cut(strings.TrimSpace(lines.Text()), ":")
			fields := strings.Fields(rest)
			if !ok || dev != name || len(fields) < 10 {
				continue
			}
			if received, err = strconv.ParseUint(fields[1], 10, 64); err == nil {
				sent, err = strconv.ParseUint(fields[9], 10, 64)
			}
			return err
		}
		return fmt.Errorf("there is no interface %s", name)
	})
	return received, sent, err
}
