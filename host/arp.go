package host

import (
	"encoding/binary"
	"net/netip"
)

// RFC 826.
const (
	arpRequest = 1
	arpReply   = 2
	arpLength  = 28
)

func (s *Stack) receiveARP(f *received, b []byte) {
	if len(b) < arpLength {
		s.counts[DropShort]++
		return
	}
	op := binary.BigEndian.Uint16(b[6:])
	sha, spa := MAC(b[8:14]), netip.AddrFrom4([4]byte(b[14:18]))
	tpa := netip.AddrFrom4([4]byte(b[24:28]))
	if binary.BigEndian.Uint64(b)>>16 != 0x000108000604 || op != arpRequest && op != arpReply || !sha.isHost() {
		s.counts[DropARP]++
		return
	}
	x := f.in
	if sha == x.MAC { // this interface's own frame, looped back
		s.counts[DropARPOther]++
		return
	}
	if op == arpRequest {
		s.counts[ARPRequests]++
	} else {
		s.counts[ARPReplies]++
	}
	if own := x.addrs[spa]; own != nil {
		s.conflict(own, sha)
		return
	}
	target := x.addrs[tpa]
	if op == arpReply {
		s.received(neighKey{x.Name, spa}, sha, x.mine(f.dst) && target.usable(), false)
		return
	}
	if !target.usable() {
		s.received(neighKey{x.Name, spa}, sha, false, false)
		s.counts[DropARPOther]++
		return
	}
	if !spa.IsUnspecified() { // not a probe, RFC 5227
		s.received(neighKey{x.Name, spa}, sha, false, true)
	}
	s.sendARP(x, arpReply, sha, tpa, sha, spa)
}

// sendARP sends an ARP message with the interface's address from.
func (s *sender) sendARP(x *iface, op uint16, to MAC, from netip.Addr, tha MAC, tpa netip.Addr) {
	b := make([]byte, 0, arpLength)
	b = append(b, 0, 1, 8, 0, 6, 4)
	b = binary.BigEndian.AppendUint16(b, op)
	spa, target := from.As4(), tpa.As4()
	b = append(append(b, x.MAC[:]...), spa[:]...)
	b = append(append(b, tha[:]...), target[:]...)
	if op == arpRequest {
		s.counts[SentARPRequests]++
	} else {
		s.counts[SentARPReplies]++
	}
	s.send(x, to, etherARP, b)
}
