package live

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"tamtam/internal/netns"
)

// flood sends frames of the given size from one interface to a MAC address for a time, as fast as one thread can.
func flood(n *netns.Namespace, name string, from, to net.HardwareAddr, size int, d time.Duration) error {
	fd, err := n.Socket(name, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	frame := floodFrame(from, to, size)
	const batch = 64
	type message struct {
		hdr unix.Msghdr
		n   uint32
		_   [4]byte
	}
	vec := unix.Iovec{Base: &frame[0]}
	vec.SetLen(len(frame))
	var all [batch]message
	for i := range all {
		all[i].hdr.Iov = &vec
		all[i].hdr.SetIovlen(1)
	}
	for end := time.Now().Add(d); time.Now().Before(end); {
		_, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(&all)), batch, 0, 0, 0)
		if errno != 0 && errno != unix.ENOBUFS && errno != unix.EINTR {
			return fmt.Errorf("send to %s: %w", name, errno)
		}
	}
	return nil
}

// floodFrame returns a UDP frame with size bytes, FCS included.
func floodFrame(from, to net.HardwareAddr, size int) []byte {
	b := append(append(make([]byte, 0, size), to...), from...)
	b = append(b, 0x08, 0)
	b = append(b, 0x45, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(size-4-14))
	b = append(b, 0, 0, 0, 0, 64, 17, 0, 0, 10, 9, 0, 1, 10, 9, 0, 99) // an unused address, so the host drops it
	sum := uint32(0)
	for ip := b[14:]; len(ip) > 0; ip = ip[2:] {
		sum += uint32(binary.BigEndian.Uint16(ip))
	}
	binary.BigEndian.PutUint16(b[24:], ^uint16(sum+sum>>16))
	b = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(b, 1000), 2000)
	b = binary.BigEndian.AppendUint16(b, uint16(size-4-14-20))
	return b[:size-4]
}

// offloads enables or disables the offloads of an interface: checksums, segmentation and receive coalescing.
func offloads(n *netns.Namespace, name string, on bool) error {
	return n.Do(func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		value := struct{ cmd, data uint32 }{}
		if on {
			value.data = 1
		}
		for _, value.cmd = range []uint32{
			unix.ETHTOOL_STXCSUM, unix.ETHTOOL_SSG, unix.ETHTOOL_STSO, unix.ETHTOOL_SGSO, unix.ETHTOOL_SGRO,
		} {
			var ask struct {
				name  [unix.IFNAMSIZ]byte
				value unsafe.Pointer
				_     [16]byte
			}
			copy(ask.name[:], name)
			ask.value = unsafe.Pointer(&value)
			_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&ask)))
			if errno != 0 && errno != unix.EOPNOTSUPP {
				return fmt.Errorf("interface %s: offload %#x: %w", name, value.cmd, errno)
			}
		}
		return nil
	})
}

// A stream holds the bytes and retransmits of one TCP connection.
type stream struct {
	bytes       int64
	retransmits uint32
}

// tcp sends from one namespace to an address in another for a time.
func tcp(from, to *netns.Namespace, address string, d time.Duration) (s stream, err error) {
	var l net.Listener
	err = to.Do(func() (err error) { l, err = net.Listen("tcp4", address+":0"); return err })
	if err != nil {
		return s, err
	}
	defer l.Close()
	got := make(chan int64, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			got <- 0
			return
		}
		defer c.Close()
		n, _ := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{c}, make([]byte, 1<<18))
		got <- n
	}()
	var c net.Conn
	err = from.Do(func() (err error) {
		c, err = net.DialTimeout("tcp4", l.Addr().String(), 5*time.Second)
		return err
	})
	if err != nil {
		return s, err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(d)); err != nil {
		return s, err
	}
	for b := make([]byte, 1<<17); err == nil; {
		_, err = c.Write(b)
	}
	if timeout, ok := errors.AsType[net.Error](err); !ok || !timeout.Timeout() {
		return s, err
	}
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		return s, err
	}
	var info *unix.TCPInfo
	ask := func(fd uintptr) { info, _ = unix.GetsockoptTCPInfo(int(fd), unix.SOL_TCP, unix.TCP_INFO) }
	if err := raw.Control(ask); err != nil {
		return s, err
	}
	if info != nil {
		s.retransmits = info.Total_retrans
	}
	c.Close()
	s.bytes = <-got
	return s, nil
}

// rounds sends a datagram of 18 bytes, a frame of 64, there and back count times. It returns the times in ascending
// order.
func rounds(from, to *netns.Namespace, address string, count int) ([]time.Duration, error) {
	var echo, c net.PacketConn
	err := to.Do(func() (err error) { echo, err = net.ListenPacket("udp4", address+":0"); return err })
	if err != nil {
		return nil, err
	}
	defer echo.Close()
	go func() {
		for b := make([]byte, 64); ; {
			n, who, err := echo.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = echo.WriteTo(b[:n], who)
		}
	}()
	if err := from.Do(func() (err error) { c, err = net.ListenPacket("udp4", ":0"); return err }); err != nil {
		return nil, err
	}
	defer c.Close()
	times := make([]time.Duration, count)
	for i := range times {
		b, began := make([]byte, 18), time.Now()
		if _, err := c.WriteTo(b, echo.LocalAddr()); err != nil {
			return nil, err
		}
		if err := c.SetReadDeadline(began.Add(time.Second)); err != nil {
			return nil, err
		}
		if _, _, err := c.ReadFrom(b); err != nil {
			return nil, fmt.Errorf("round trip %d of %d: %w", i+1, count, err)
		}
		times[i] = time.Since(began)
	}
	slices.Sort(times)
	return times, nil
}
