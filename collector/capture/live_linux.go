package capture

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// liveBuffer is the size in bytes of the buffer for frames that arrive during processing. A dozen jumbo frames fill
	// Linux's default buffer.
	liveBuffer = 16 << 20
	// liveLength is the maximum length of a frame that is read completely. The kernel delivers merged frames of 64 kB
	// and more.
	liveLength = 256 << 10
)

// Live reads the frames of an interface of this host as they arrive.
type Live struct {
	name   string
	file   *os.File // the socket
	socket syscall.RawConn
	frame  []byte
	notes  []byte // the kernel's ancillary data of a frame
	number int64
}

// Listen opens an interface for all frames in both directions, including those for other hosts. It needs CAP_NET_RAW.
func Listen(name string) (*Live, error) {
	l, err := listen(name)
	if err != nil {
		return nil, fmt.Errorf("interface %s: %w", name, err)
	}
	return l, nil
}

func listen(name string) (*Live, error) {
	itf, err := net.InterfaceByName(name)
	if err != nil {
		return nil, err
	}
	// With protocol 0 nothing is received before the socket is bound to the interface.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open a raw socket: %w", err)
	}
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, liveBuffer) != nil { // fails without CAP_NET_ADMIN
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, liveBuffer) // buffer as large as the kernel grants
	}
	err = errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1),
		unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP,
			&unix.PacketMreq{Ifindex: int32(itf.Index), Type: unix.PACKET_MR_PROMISC}),
		unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: networkOrder(unix.ETH_P_ALL), Ifindex: itf.Index}))
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	l := &Live{name: name, file: os.NewFile(uintptr(fd), name), frame: make([]byte, liveLength), notes: make([]byte, 128)}
	if l.socket, err = l.file.SyscallConn(); err != nil {
		l.file.Close()
		return nil, err
	}
	return l, nil
}

func networkOrder(v uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, v))
}

// Next waits for the next frame, until ctx ends. The frame lacks a VLAN tag that the kernel removed.
func (l *Live) Next(ctx context.Context) (Packet, error) {
	stop := context.AfterFunc(ctx, func() { _ = l.file.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	var n, notes int
	var err error
	failed := l.socket.Read(func(fd uintptr) bool {
		n, notes, _, _, err = unix.Recvmsg(int(fd), l.frame, l.notes, unix.MSG_TRUNC)
		return err != unix.EAGAIN && err != unix.EINTR
	})
	if err := ctx.Err(); err != nil {
		return Packet{}, err
	}
	if err := errors.Join(failed, err); err != nil {
		return Packet{}, fmt.Errorf("interface %s: %w", l.name, err)
	}
	at, ok := arrival(l.notes[:notes])
	if !ok {
		return Packet{}, fmt.Errorf("interface %s: the kernel reports no receive times of frames", l.name)
	}
	l.number++
	data := slices.Clone(l.frame[:min(n, len(l.frame))])
	return Packet{Time: at, Data: data, Len: n, Number: l.number}, nil
}

// arrival returns the time at which the kernel received a frame.
func arrival(notes []byte) (time.Time, bool) {
	messages, _ := unix.ParseSocketControlMessage(notes)
	for _, m := range messages {
		if m.Header.Level != unix.SOL_SOCKET || m.Header.Type != unix.SCM_TIMESTAMPNS {
			continue
		}
		order := binary.NativeEndian
		switch len(m.Data) { // size of the kernel's timespec
		case 16:
			return time.Unix(int64(order.Uint64(m.Data)), int64(order.Uint64(m.Data[8:]))).UTC(), true
		case 8:
			return time.Unix(int64(order.Uint32(m.Data)), int64(order.Uint32(m.Data[4:]))).UTC(), true
		}
	}
	return time.Time{}, false
}

// Lost returns the number of frames dropped since the last call because this process was too slow. It can be called
// until Close.
func (l *Live) Lost() (uint64, error) {
	var stats *unix.TpacketStats
	var err error
	failed := l.socket.Control(func(fd uintptr) {
		stats, err = unix.GetsockoptTpacketStats(int(fd), unix.SOL_PACKET, unix.PACKET_STATISTICS)
	})
	if err := errors.Join(failed, err); err != nil {
		return 0, fmt.Errorf("interface %s: ask what was lost: %w", l.name, err)
	}
	return uint64(stats.Drops), nil
}

// Close closes the socket.
func (l *Live) Close() error { return l.file.Close() }
