package chaos

import (
	"encoding/binary"
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// A rawPort is a live interface that a chip port is wired to. For example, it is an AF_PACKET socket on eth1 for
// Ethernet0.
type rawPort struct {
	fd    int
	name  string
	index int // index of the interface that the socket is bound to
	buf   []byte
	oob   []byte
	lost  uint64 // frames that the interface did not accept
}

// allProtocols is ETH_P_ALL in network byte order.
const allProtocols = unix.ETH_P_ALL << 8

// waitingRoom is how many bytes of frames, with the kernel's overhead, wait while this process gets no processor:
// some thousand small frames.
const waitingRoom = 8 << 20

// openRawPort binds a raw socket to the interface and makes it promiscuous.
// It needs CAP_NET_RAW.
func openRawPort(name string) (*rawPort, error) {
	ifi, err := net.InterfaceByName(name)
	if err != nil {
		return nil, fmt.Errorf("interface %s: %w", name, err)
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, allProtocols)
	if err != nil {
		return nil, fmt.Errorf("interface %s: open a raw socket (CAP_NET_RAW is needed): %w", name, err)
	}
	p := &rawPort{fd: fd, name: name, buf: make([]byte, 1<<16), oob: make([]byte, 256)}
	if err := p.bind(ifi.Index); err != nil {
		unix.Close(fd)
		return nil, err
	}
	steps := []struct {
		what string
		err  error
	}{
		{"ask for VLAN tags", unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_AUXDATA, 1)},
		{"ignore outgoing frames", unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1)},
		// A read returns periodically so that the reader notices when to stop.
		{"set a read time-out", unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 200_000})},
	}
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, waitingRoom) != nil { // needs CAP_NET_ADMIN
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, waitingRoom) // as much as net.core.rmem_max permits
	}
	for _, s := range steps {
		if s.err != nil {
			unix.Close(fd)
			return nil, fmt.Errorf("interface %s: %s: %w", name, s.what, s.err)
		}
	}
	return p, nil
}

// bind binds the socket to an interface and makes that promiscuous.
func (p *rawPort) bind(index int) error {
	if err := unix.Bind(p.fd, &unix.SockaddrLinklayer{Protocol: allProtocols, Ifindex: index}); err != nil {
		return fmt.Errorf("interface %s: bind: %w", p.name, err)
	}
	p.index = index
	err := unix.SetsockoptPacketMreq(p.fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP,
		&unix.PacketMreq{Ifindex: int32(index), Type: unix.PACKET_MR_PROMISC})
	if err != nil {
		return fmt.Errorf("interface %s: set promiscuous mode: %w", p.name, err)
	}
	return nil
}

// link reports whether the interface is up and has a carrier. If an interface was removed and recreated, as with a
// container, the socket is bound again. The queries use the socket, which stays in its network namespace.
func (p *rawPort) link() bool {
	ask, err := unix.NewIfreq(p.name)
	if err != nil || unix.IoctlIfreq(p.fd, unix.SIOCGIFINDEX, ask) != nil {
		return false
	}
	if index := int(ask.Uint32()); index != p.index && p.bind(index) != nil {
		return false
	}
	if unix.IoctlIfreq(p.fd, unix.SIOCGIFFLAGS, ask) != nil {
		return false
	}
	return ask.Uint16()&(unix.IFF_UP|unix.IFF_RUNNING) == unix.IFF_UP|unix.IFF_RUNNING
}

// read returns the next frame. It puts the VLAN tag back, which the kernel removes from the frame. It returns nil if
// nothing arrived for a while.
func (p *rawPort) read() ([]byte, error) {
	const room = 4 // for the VLAN tag
	n, oobn, _, _, err := unix.Recvmsg(p.fd, p.buf[room:], p.oob, 0)
	switch err {
	case nil:
	case unix.EAGAIN, unix.EINTR, unix.ENETDOWN:
		return nil, nil
	default:
		return nil, fmt.Errorf("interface %s: read: %w", p.name, err)
	}
	frame := p.buf[room : room+n]
	tci, tpid, tagged := vlanTag(p.oob[:oobn])
	if !tagged || n < 14 {
		return frame, nil
	}
	frame = p.buf[:room+n]
	copy(frame, frame[room:room+12])
	binary.BigEndian.PutUint16(frame[12:], tpid)
	binary.BigEndian.PutUint16(frame[14:], tci)
	return frame, nil
}

// vlanTag finds the tag in a struct tpacket_auxdata.
func vlanTag(oob []byte) (tci, tpid uint16, ok bool) {
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return 0, 0, false
	}
	for _, m := range msgs {
		if m.Header.Level != unix.SOL_PACKET || m.Header.Type != unix.PACKET_AUXDATA || len(m.Data) < 20 {
			continue
		}
		status := binary.NativeEndian.Uint32(m.Data)
		if status&unix.TP_STATUS_VLAN_VALID == 0 {
			return 0, 0, false
		}
		tci, tpid = binary.NativeEndian.Uint16(m.Data[16:]), 0x8100
		if status&unix.TP_STATUS_VLAN_TPID_VALID != 0 {
			tpid = binary.NativeEndian.Uint16(m.Data[18:])
		}
		return tci, tpid, true
	}
	return 0, 0, false
}

// write sends a frame. A frame that the interface does not accept (down, too long) is lost, as on a wire without a
// peer.
func (p *rawPort) write(frame []byte) error {
	_, err := unix.Write(p.fd, frame)
	if err == unix.ENETDOWN { // may be outdated: the socket reports once that the link was down
		_, err = unix.Write(p.fd, frame)
	}
	return err
}

func (p *rawPort) close() error { return unix.Close(p.fd) }
