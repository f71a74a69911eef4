package genl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// headersLen is the length of the headers of netlink and generic netlink, in bytes.
const headersLen = unix.SizeofNlMsghdr + 4

// maxGroup is the greatest group that a process can send to: the address of a message has one bit for each.
const maxGroup = 32

// The command and the version in the header of generic netlink. Readers of telemetry do not look at them.
const command, commandVersion = 1, 1

// A Sender sends messages to one group. It must be used by one goroutine only, except for Sent.
type Sender struct {
	fd       int
	to       unix.SockaddrNetlink
	kind     uint16 // id of the family
	sequence uint32
	message  []byte
	sent     atomic.Uint64
}

// Dial opens a sender to a group of a family, in the network namespace of the calling thread. Sending needs
// CAP_NET_ADMIN there. An error names what does not exist.
func Dial(family, group string) (*Sender, error) {
	f, err := netlink.GenlFamilyGet(family)
	if err != nil {
		return nil, fmt.Errorf("generic netlink family %q: %w: want one of those that `genl ctrl list` prints", family, err)
	}
	id := uint32(0)
	for _, g := range f.Groups {
		if g.Name == group {
			id = g.ID
		}
	}
	if id == 0 || id > maxGroup {
		return nil, fmt.Errorf("generic netlink family %s: group %q has number %d, want a group with a number from 1 to %d",
			family, group, id, maxGroup)
	}
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_GENERIC)
	if err != nil {
		return nil, fmt.Errorf("generic netlink: %w", err)
	}
	s := &Sender{fd: fd, kind: f.ID, to: unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: 1 << (id - 1)}}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, errors.Join(fmt.Errorf("generic netlink: %w", err), s.Close())
	}
	return s, nil
}

// Send sends one message to all readers of the group. A reader whose buffer is full loses it, and learns that itself.
func (s *Sender) Send(payload []byte) error {
	b := s.message[:0]
	b = binary.NativeEndian.AppendUint32(b, uint32(headersLen+len(payload)))
	b = binary.NativeEndian.AppendUint16(b, s.kind)
	b = binary.NativeEndian.AppendUint16(b, 0) // no flags: the kernel does not treat it as a request
	b = binary.NativeEndian.AppendUint32(b, s.sequence)
	b = binary.NativeEndian.AppendUint32(b, 0) // the kernel enters the port
	b = append(b, command, commandVersion, 0, 0)
	s.message = append(b, payload...)
	if err := unix.Sendto(s.fd, s.message, 0, &s.to); err != nil {
		return fmt.Errorf("generic netlink: %d bytes: %w", len(payload), err)
	}
	s.sequence++
	s.sent.Add(1)
	return nil
}

// Sent returns the number of messages that were sent.
func (s *Sender) Sent() uint64 { return s.sent.Load() }

// Close closes the socket.
func (s *Sender) Close() error { return unix.Close(s.fd) }
