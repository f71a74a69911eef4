package engine

import (
	"encoding/binary"
	"hash/crc32"

	"tamtam/saisim/config"
)

// Flow hashing. LAGs and next hop groups choose by one hash of the packet, with different salts. So a LAG spreads the
// packets that a next hop group sent to it.
//
//	x = seed<<32 | salt<<16, exclusive or the IP protocol (other frames: the EtherType)
//	for each of the fields: x = (x ^ field) * 0x9e3779b97f4a7c15; x = x ^ x>>32
//	x = (x ^ x>>33) * 0xff51afd7ed558ccd
//	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
//	hash = x>>32
//
// in 64 bits. That is SAI's algorithm CRC, the default, whose polynomial SAI leaves to the chip. Others take the first
// x and the fields as bytes, the most significant first:
//
//	XOR        exclusive or of their words of 16 bits
//	CRC_32LO   lower 16 bits of their CRC-32 of Ethernet (IEEE 802.3)
//	CRC_32HI   upper 16 bits
//	CRC_CCITT  CRC-16 of the polynomial 0x1021 that starts with 0xffff
//	CRC_XOR    exclusive or of CRC_CCITT and XOR
//
// These are linear: with the same fields, another seed or salt changes all hashes by the same bits. The fields of an IP
// packet are the upper and lower 64 bits of the source address, then of the destination address. For IPv4 they are 0
// and the address. Unless the packet is a fragment, there is also L4 source port<<16 | L4 destination port, or 0 if the
// parser found none. So the fragments of a datagram stay together. The fields of other frames are the destination and
// the source MAC address. The protocol is the one after IPv6 extension headers. The hash covers the packet as received,
// without rewrites.
//
// A field that a HASH object of the switch does not list is 0: for LAGs and for next hop groups, not for programs.
// These hash by CRC. If the list has the ingress port, the first x is also exclusive or (port+1)<<17, with the number
// of the physical port, 65535 for the CPU.
//
// seed is SAI_SWITCH_ATTR_LAG_DEFAULT_HASH_SEED, or _ECMP_. salt is 0 for LAGs, 1 for next hop groups. A LAG chooses
// member hash mod n of its n active members in the order of their ports.
const (
	saltLAG  = 0
	saltECMP = 1 << 16
)

// isUsual reports whether [usualHash] has the hash for packets that it can hash.
func isUsual(by *config.Hashing) bool {
	return by.Without == 0 && !by.InPort && by.Algorithm == config.HashCRC
}

// hashOf returns the hash of a packet's flow for LAGs or next hop groups. in is the port where it arrived.
func hashOf(h *headers, in PortID, by *config.Hashing, salt uint64) uint32 {
	h, start := h.without(by.Without), uint64(by.Seed)<<32|salt
	if by.InPort {
		start ^= (uint64(in) + 1) << 17
	}
	if by.Algorithm == config.HashCRC {
		return flowHash(h, start)
	}
	k := hashKey{start ^ uint64(h.etherType), h.dmac, h.smac}
	words := k[:3]
	if h.flags&flagIP != 0 {
		k = hashKey{start ^ uint64(h.proto), h.src[0], h.src[1], h.dst[0], h.dst[1], uint64(h.l4src)<<16 | uint64(h.l4dst)}
		if words = k[:]; h.flags&flagFragment != 0 {
			words = k[:5]
		}
	}
	switch by.Algorithm {
	case config.HashXOR:
		return xorHash(words)
	case config.HashCRC32Low:
		return crc32Hash(words) & 0xffff
	case config.HashCRC32High:
		return crc32Hash(words) >> 16
	case config.HashCRCCCITT:
		return ccittHash(words)
	}
	return ccittHash(words) ^ xorHash(words)
}

// A hashKey holds the words of an IP packet that the linear hashes cover.
type hashKey [6]uint64

func xorHash(words []uint64) uint32 {
	x := uint64(0)
	for _, w := range words {
		x ^= w
	}
	x ^= x >> 32
	return uint32(x^x>>16) & 0xffff
}

func crc32Hash(words []uint64) uint32 {
	crc := ^uint32(0)
	for _, w := range words {
		for at := 56; at >= 0; at -= 8 {
			crc = crc32.IEEETable[byte(crc)^byte(w>>at)] ^ crc>>8
		}
	}
	return ^crc
}

func ccittHash(words []uint64) uint32 {
	table := [16]uint16{0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50a5, 0x60c6, 0x70e7, 0x8108, 0x9129, 0xa14a, 0xb16b,
		0xc18c, 0xd1ad, 0xe1ce, 0xf1ef} // for four bits
	crc := uint16(0xffff)
	for _, w := range words {
		for at := 60; at >= 0; at -= 4 {
			crc = table[crc>>12^uint16(w>>at)&0xf] ^ crc<<4
		}
	}
	return uint32(crc)
}

// flowHash returns the hash of a packet's flow by CRC. start holds the seed and the salt.
func flowHash(h *headers, start uint64) uint32 {
	x := start
	if h.flags&flagIP == 0 {
		x = mixHash(mixHash(x^uint64(h.etherType), h.dmac), h.smac)
	} else {
		x = mixHash(mixHash(mixHash(mixHash(x^uint64(h.proto), h.src[0]), h.src[1]), h.dst[0]), h.dst[1])
		if h.flags&flagFragment == 0 {
			x = mixHash(x, uint64(h.l4src)<<16|uint64(h.l4dst))
		}
	}
	return endHash(x)
}

// without returns the headers for a flow hash that leaves out some fields.
func (h *headers) without(fields config.HashFields) *headers {
	if fields == 0 {
		return h
	}
	of := *h
	clear := func(f config.HashFields, do func()) {
		if fields&f != 0 {
			do()
		}
	}
	clear(config.HashSrcIP, func() { of.src = [2]uint64{} })
	clear(config.HashDstIP, func() { of.dst = [2]uint64{} })
	clear(config.HashProtocol, func() { of.proto = 0 })
	clear(config.HashL4Src, func() { of.l4src = 0 })
	clear(config.HashL4Dst, func() { of.l4dst = 0 })
	clear(config.HashEtherType, func() { of.etherType = 0 })
	clear(config.HashSrcMAC, func() { of.smac = 0 })
	clear(config.HashDstMAC, func() { of.dmac = 0 })
	return &of
}

// usualHash returns the hash of the flow of an IPv4 packet that usualIPv4 accepted.
func usualHash(ip []byte, start uint64) uint32 {
	x := mixHash(start^uint64(ip[9]), 0)
	x = mixHash(mixHash(x, uint64(binary.BigEndian.Uint32(ip[12:]))), 0)
	x = mixHash(x, uint64(binary.BigEndian.Uint32(ip[16:])))
	return endHash(mixHash(x, uint64(binary.BigEndian.Uint32(ip[20:]))))
}

func mixHash(x, v uint64) uint64 {
	x = (x ^ v) * 0x9e3779b97f4a7c15
	return x ^ x>>32
}

func endHash(x uint64) uint32 {
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return uint32(x >> 32)
}
