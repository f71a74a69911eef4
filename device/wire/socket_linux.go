package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A socket is an AF_PACKET socket on a live interface. Frames arrive through a ring that the kernel and this process
// share. Frames too long for a slot (uncut TCP, jumbo frames) arrive through the socket. Not goroutine-safe.
type socket struct {
	fd    int
	name  string
	port  string // port of the switch
	index int    // index of the interface that it is bound to; 0 means none
	claim claim  // claim to that interface
	ring  []byte
	slots int
	next  int // index of the next slot
	held  int // slots before next that the kernel has not received back
	long  []byte
	send  sender
	ask   *unix.Ifreq // for queries about the interface

	blocks int    // number of blocks of the ring
	reads  uint64 // frames read from the ring
	seen   uint64 // value of reads at the last look
}

const (
	// allProtocols is ETH_P_ALL in network byte order.
	allProtocols = unix.ETH_P_ALL << 8
	// slotBytes is enough for a frame of 1,522 bytes with a small number of stamps, and for the kernel's header
	// before it.
	slotBytes = 2048
	blockSize = 1 << 16
	// waitingRoom is the size, in bytes, of the buffer for long frames and of that for frames to be sent. They fill
	// while this process gets no processor.
	waitingRoom = 8 << 20
)

// Permitted returns an error unless this process may have wires.
func Permitted() error {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("live interfaces: open a raw socket (CAP_NET_RAW is needed): %w", err)
	}
	return unix.Close(fd)
}

// openSocket makes a socket that is not yet bound to an interface, with a ring of ringBytes. It requires CAP_NET_RAW.
func openSocket(port, name string, ringBytes int) (*socket, error) {
	// The protocol is 0, so that no frame arrives before the socket is bound.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("interface %s: open a raw socket (CAP_NET_RAW is needed): %w", name, err)
	}
	ask, err := unix.NewIfreq(name)
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("interface %q: %w", name, err)
	}
	s := &socket{fd: fd, name: name, port: port, claim: noClaim, long: make([]byte, longest), ask: ask}
	s.send.out = newOutlet(fd, *ask)
	if err := s.prepare(ringBytes); err != nil {
		s.close()
		return nil, fmt.Errorf("interface %s: %w", name, err)
	}
	return s, nil
}

func (s *socket) prepare(ringBytes int) error {
	s.blocks = max(1, ringBytes/blockSize)
	packet := func(option, value int) error { return unix.SetsockoptInt(s.fd, unix.SOL_PACKET, option, value) }
	steps := []struct {
		what string
		do   func() error
	}{
		{"ask for what is left undone", func() error { return packet(unix.PACKET_VNET_HDR, 1) }},
		{"ignore outgoing frames", func() error { return packet(unix.PACKET_IGNORE_OUTGOING, 1) }},
		// Slots, not blocks (TPACKET_V3). The kernel hands over a block when it is full or after its timer of at
		// least a millisecond. A switch that adds such a delay to every frame is unusable for TCP.
		{"choose the ring's version", func() error { return packet(unix.PACKET_VERSION, unix.TPACKET_V2) }},
		{"have long frames come whole", func() error { return packet(unix.PACKET_COPY_THRESH, longest) }},
		{"make a ring", s.makeRing},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	for _, o := range []struct{ force, plain int }{
		{unix.SO_RCVBUFFORCE, unix.SO_RCVBUF}, {unix.SO_SNDBUFFORCE, unix.SO_SNDBUF},
	} {
		if unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, o.force, waitingRoom) != nil { // needs CAP_NET_ADMIN
			// as much as the kernel's limits permit
			_ = unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, o.plain, waitingRoom)
		}
	}
	return nil
}

func (s *socket) makeRing() (err error) {
	const perBlock = blockSize / slotBytes
	err = unix.SetsockoptTpacketReq(s.fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &unix.TpacketReq{
		Block_size: blockSize, Block_nr: uint32(s.blocks), Frame_size: slotBytes, Frame_nr: uint32(s.blocks * perBlock),
	})
	if err != nil {
		return err
	}
	s.ring, err = unix.Mmap(s.fd, 0, s.blocks*blockSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("map it: %w", err)
	}
	s.slots, s.next, s.held = s.blocks*perBlock, 0, 0
	return nil
}

// remakeRing makes a new ring. Until that succeeds, no frame is ready. The frames in the old ring are lost.
func (s *socket) remakeRing() error {
	s.slots, s.held = 0, 0
	if s.ring != nil {
		if err := unix.Munmap(s.ring); err != nil {
			return fmt.Errorf("unmap the ring: %w", err)
		}
		s.ring = nil
	}
	err := unix.SetsockoptTpacketReq(s.fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &unix.TpacketReq{})
	if err == nil {
		err = s.makeRing()
	}
	return err
}

func (s *socket) close() {
	s.send.out.close()
	if s.ring != nil {
		_ = unix.Munmap(s.ring)
	}
	unix.Close(s.fd)
	s.claim.release() // only now, so that no other process gets the same frames
}

// bind claims an interface, binds the socket to it and makes it promiscuous.
func (s *socket) bind(index int) error {
	mine, err := claimInterface(s.name, index, s.port)
	if err != nil {
		return err
	}
	if err := s.bindTo(index); err != nil {
		mine.release()
		return err
	}
	s.claim.release() // releases the claim to the previous interface
	s.claim = mine
	return nil
}

func (s *socket) bindTo(index int) error {
	if err := unix.Bind(s.fd, &unix.SockaddrLinklayer{Protocol: allProtocols, Ifindex: index}); err != nil {
		return fmt.Errorf("interface %s: bind: %w", s.name, err)
	}
	s.index = index
	err := unix.SetsockoptPacketMreq(s.fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP,
		&unix.PacketMreq{Ifindex: int32(index), Type: unix.PACKET_MR_PROMISC})
	if err != nil {
		return fmt.Errorf("interface %s: set promiscuous mode: %w", s.name, err)
	}
	return nil
}

// An interfaceState is the state of a socket's interface.
type interfaceState struct {
	there, up bool
	set       bool // set up by its administrator, regardless of its carrier
	mtu       int
}

// look returns the interface's state, and binds to a new interface that is up. If an interface were set up during bind,
// the kernel might never deliver its frames. The queries use the socket, which stays in its network namespace.
func (s *socket) look() (interfaceState, error) {
	var is interfaceState
	ask := s.ask
	if s.index != 0 && !s.bound() {
		s.index = 0
		s.claim.release()
	}
	if unix.IoctlIfreq(s.fd, unix.SIOCGIFINDEX, ask) != nil {
		return is, nil
	}
	is.there = true
	index, flags := int(ask.Uint32()), uint16(0)
	if unix.IoctlIfreq(s.fd, unix.SIOCGIFFLAGS, ask) == nil {
		flags = ask.Uint16()
	}
	is.set = flags&unix.IFF_UP != 0
	if index != s.index && flags&unix.IFF_UP != 0 {
		if err := s.bind(index); err != nil {
			return is, err
		}
	}
	is.up = index == s.index && flags&carrier == carrier
	if unix.IoctlIfreq(s.fd, unix.SIOCGIFMTU, ask) == nil {
		is.mtu = int(ask.Uint32())
	}
	return is, nil
}

// bound reports whether the socket is still bound in the kernel. The kernel unbinds it from an interface that
// disappears or moves to another network namespace. An interface that reappears may have the same index.
func (s *socket) bound() bool {
	a, err := unix.Getsockname(s.fd)
	at, ok := a.(*unix.SockaddrLinklayer)
	return err == nil && ok && at.Ifindex == s.index
}

// lost returns how many frames were lost at the ring since the last look, and whether the ring is stuck. Linux drops
// a frame for which it has no offload header (uncut SCTP or UDP fragments), but leaves its slot reserved. It then
// never writes to the ring again, so all frames are lost although the ring is empty.
func (s *socket) lost() (frames uint64, stuck bool) {
	stuck = s.reads == s.seen && !s.ready()
	s.seen = s.reads
	var st unix.TpacketStats
	size := uint32(unsafe.Sizeof(st))
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(s.fd), unix.SOL_PACKET, unix.PACKET_STATISTICS,
		uintptr(unsafe.Pointer(&st)), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		return 0, false
	}
	return uint64(st.Drops), stuck && st.Drops > 0
}

// A received frame is valid until the slots are released. A long frame is valid until the next one is received.
type received struct {
	data    []byte
	long    bool
	at      time.Time // when the kernel received it, by its clock
	offload offload
}

// The layout of a slot: struct tpacket2_hdr.
const (
	slotStatus, slotLen, slotSnapLen, slotMAC, slotSec, slotNsec, slotTCI, slotTPID = 0, 4, 8, 12, 16, 20, 24, 26
	tagBytes                                                                        = 4
)

var errTooLong = errors.New("longer than a slot of the ring, and no room beside it")

func (s *socket) status(slot int) *uint32 {
	return (*uint32)(unsafe.Pointer(&s.ring[slot*slotBytes+slotStatus]))
}

// ready reports whether the ring has a frame. It costs no system call.
func (s *socket) ready() bool {
	return s.held < s.slots && atomic.LoadUint32(s.status(s.next))&unix.TP_STATUS_USER != 0
}

// waitsSince returns when the kernel received the next frame of the ring. It requires that ready is true.
func (s *socket) waitsSince() time.Time { return timeOf(s.ring[s.next*slotBytes:][:slotBytes]) }

func timeOf(slot []byte) time.Time {
	n := binary.NativeEndian
	return time.Unix(int64(n.Uint32(slot[slotSec:])), int64(n.Uint32(slot[slotNsec:])))
}

// receive returns the next frame of the ring, if ready. It puts the VLAN tag back, which the kernel removes from the
// frame. An error concerns only that frame, which is lost.
func (s *socket) receive(f *received) error {
	slot := s.ring[s.next*slotBytes:][:slotBytes]
	status := atomic.LoadUint32(s.status(s.next))
	f.long = false
	s.next = (s.next + 1) % s.slots
	s.held++
	s.reads++
	n := binary.NativeEndian
	at, length := int(n.Uint16(slot[slotMAC:])), int(n.Uint32(slot[slotSnapLen:]))
	tci, tpid := n.Uint16(slot[slotTCI:]), uint16(unix.ETH_P_8021Q)
	if status&unix.TP_STATUS_VLAN_TPID_VALID != 0 {
		tpid = n.Uint16(slot[slotTPID:])
	}
	f.at = timeOf(slot)
	if at < offloadBytes || at+length > slotBytes { // a correct kernel never does this
		return fmt.Errorf("a slot of %d bytes has %d bytes from byte %d", slotBytes, length, at)
	}
	f.offload, f.data = parseOffload(slot[at-offloadBytes:]), slot[at-tagBytes:at+length]
	switch {
	case status&unix.TP_STATUS_COPY != 0:
		got, err := unix.Read(s.fd, s.long[tagBytes:])
		if err != nil { // the socket reports once that the link was down; the frame still follows
			got, err = unix.Read(s.fd, s.long[tagBytes:])
		}
		if err != nil || got < offloadBytes {
			return fmt.Errorf("read a long frame: %d bytes, %w", got, err)
		}
		f.offload, f.data, f.long = parseOffload(s.long[tagBytes:]), s.long[offloadBytes:tagBytes+got], true
	case int(n.Uint32(slot[slotLen:])) > length:
		return errTooLong
	}
	if status&unix.TP_STATUS_VLAN_VALID == 0 || len(f.data) < tagBytes+ethernetHeader {
		f.data = f.data[tagBytes:]
		return nil
	}
	copy(f.data, f.data[tagBytes:tagBytes+12])
	binary.BigEndian.PutUint16(f.data[12:], tpid)
	binary.BigEndian.PutUint16(f.data[14:], tci)
	if f.offload.flags&needsSum != 0 {
		f.offload.sumStart += tagBytes
	}
	return nil
}

const ethernetHeader = 14

// release returns the slots of all received frames to the kernel.
func (s *socket) release() {
	for ; s.held > 0; s.held-- {
		slot := (s.next - s.held + s.slots) % s.slots
		atomic.StoreUint32(s.status(slot), unix.TP_STATUS_KERNEL)
	}
}
