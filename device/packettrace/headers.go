package packettrace

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
)

// A header maps names of header fields to their values.
type header map[string]string

// headersOf reads the headers that a chip may rewrite. Fields that are missing or truncated have no entry.
func headersOf(b []byte) header {
	h := header{}
	if len(b) < 14 {
		return h
	}
	h["dst-mac"], h["src-mac"] = net.HardwareAddr(b[:6]).String(), net.HardwareAddr(b[6:12]).String()
	b = b[12:]
	if binary.BigEndian.Uint16(b) == 0x8100 && len(b) >= 6 {
		tci := binary.BigEndian.Uint16(b[2:])
		h["vlan"], h["pcp"] = fmt.Sprint(tci&0xfff), fmt.Sprint(tci>>13)
		b = b[4:]
	}
	kind, ip := binary.BigEndian.Uint16(b), b[2:]
	h["ether-type"] = fmt.Sprintf("0x%04x", kind)
	switch {
	case kind == 0x800 && len(ip) >= 20:
		h["dscp"], h["ecn"], h["ttl"] = fmt.Sprint(ip[1]>>2), fmt.Sprint(ip[1]&3), fmt.Sprint(ip[8])
		h["ip-checksum"], h["ip-flags"] = fmt.Sprintf("0x%x", ip[10:12]), fmt.Sprint(ip[6]>>5)
		h["src"], h["dst"] = address(ip[12:16]), address(ip[16:20])
	case kind == 0x86dd && len(ip) >= 40:
		tos := ip[0]<<4 | ip[1]>>4
		h["dscp"], h["ecn"], h["ttl"] = fmt.Sprint(tos>>2), fmt.Sprint(tos&3), fmt.Sprint(ip[7])
		h["src"], h["dst"] = address(ip[8:24]), address(ip[24:40])
	}
	return h
}

func address(b []byte) string {
	a, _ := netip.AddrFromSlice(b)
	return a.String()
}

// A Rewrite is a header field that differs between input and output; "" means that the field is missing.
type Rewrite struct {
	Field string `json:"field"`
	Was   string `json:"was"`
	Is    string `json:"is"`
}

// rewrites returns the header fields in which two frames differ.
func rewrites(in, out []byte) (all []Rewrite) {
	a, b := headersOf(in), headersOf(out)
	for _, name := range []string{
		"dst-mac", "src-mac", "vlan", "pcp", "ether-type", "src", "dst", "dscp", "ecn", "ttl", "ip-flags", "ip-checksum",
	} {
		if a[name] != b[name] {
			all = append(all, Rewrite{name, a[name], b[name]})
		}
	}
	return all
}
