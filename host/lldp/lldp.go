// Package lldp is the Link Layer Discovery Protocol (IEEE 802.1AB) of a switch: it announces the switch on every port
// that is up, and keeps the announcements of neighbours until they expire. Like [tamtam/host] it is a value that is
// stepped: frames and time go in, frames come out.
//
// What belongs here: LLDP. What does not: databases and chips.
package lldp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// EtherType is that of LLDP frames.
const EtherType = 0x88cc

// Group is the destination address of LLDP frames, which bridges do not forward.
var Group = [6]byte{0x01, 0x80, 0xc2, 0, 0, 0x0e}

// Interval is the time between two announcements of a port (msgTxInterval of IEEE 802.1AB-2016, 9.2.5). TTL is their
// lifetime (interval * msgTxHold + 1 in the standard, 120 s in lldpd and SONiC). MaxNeighbors is the maximum number of
// neighbours of a port.
const (
	Interval     = 30 * time.Second
	TTL          = 120 * time.Second
	MaxNeighbors = 4
)

// Subtypes of chassis and port ids that are used here.
const (
	ChassisMAC  = 4
	PortLocal   = 7
	portMAC     = 3
	chassisAddr = 5
	portAddr    = 4
)

// Capabilities, 8.5.8.
const (
	Bridge = 1 << 2
	Router = 1 << 4
)

// A System describes the switch in its announcements.
type System struct {
	MAC               [6]byte
	Name, Description string
}

// A Port is a port that is up.
type Port struct{ Name, Alias string }

// A Neighbor is the announcement of a neighbour at a port.
type Neighbor struct {
	Port                        string
	ChassisSubtype, PortSubtype uint8
	ChassisID, PortID           string // MAC and network addresses in their usual form, other binary ids in hexadecimal
	PortDescription             string
	SystemName                  string
	SystemDescription           string
	Supported, Enabled          uint16 // capabilities
	Management                  netip.Addr
	Received                    time.Time // time of the last announcement
	Expires                     time.Time
	Index                       uint32 // number of the neighbour, in the order in which new ones came
}

// A Frame is an outgoing Ethernet frame, without FCS.
type Frame struct {
	Port string
	Data []byte
}

// Counts are the counters of an agent: frames and neighbours.
type Counts struct {
	Sent, Received, Discarded uint64 // discarded frames are not LLDP, or lack mandatory parts
	TooMany                   uint64 // neighbours beyond the limit of a port
	Expired                   uint64 // neighbours that expired
}

// An Agent runs LLDP at the ports of a switch. It is used by one goroutine at a time.
type Agent struct {
	system    System
	ports     map[string]Port
	due       map[string]time.Time // time of the next announcement by port
	neighbors map[id]*Neighbor
	index     uint32
	out       []Frame
	counts    Counts
}

type id struct {
	port, chassis, portID string // identity of the neighbour; chassis and portID begin with their subtypes
}

// New returns an agent without ports.
func New() *Agent {
	return &Agent{ports: map[string]Port{}, due: map[string]time.Time{}, neighbors: map[id]*Neighbor{}}
}

// Configure sets the description of the switch and the ports that are up. New ports send at once, and so do all ports
// if the system has changed. Neighbours at ports that are down are removed.
func (a *Agent) Configure(now time.Time, s System, up []Port) {
	next := map[string]Port{}
	for _, p := range up {
		next[p.Name] = p
		if a.ports[p.Name] != p || a.system != s {
			a.due[p.Name] = now
		}
	}
	a.system, a.ports = s, next
	for name := range a.due {
		if _, ok := next[name]; !ok {
			delete(a.due, name)
		}
	}
	for k := range a.neighbors {
		if _, ok := next[k.port]; !ok {
			delete(a.neighbors, k)
		}
	}
	a.Advance(now)
}

// Advance runs the timers that are due.
func (a *Agent) Advance(now time.Time) {
	for _, name := range slices.Sorted(maps.Keys(a.due)) {
		if !a.due[name].After(now) {
			a.out = append(a.out, Frame{name, a.frame(a.ports[name])})
			a.counts.Sent++
			a.due[name] = now.Add(Interval)
		}
	}
	for k, n := range a.neighbors {
		if !n.Expires.After(now) {
			a.counts.Expired++
			delete(a.neighbors, k)
		}
	}
}

// Resume reports that for a duration nothing could be received: lifetimes are extended by it.
func (a *Agent) Resume(d time.Duration) {
	for _, n := range a.neighbors {
		n.Expires = n.Expires.Add(d)
	}
}

// Next returns the time of the next timer, false if there is none.
func (a *Agent) Next() (at time.Time, ok bool) {
	earlier := func(t time.Time) {
		if !ok || t.Before(at) {
			at, ok = t, true
		}
	}
	for _, t := range a.due {
		earlier(t)
	}
	for _, n := range a.neighbors {
		earlier(n.Expires)
	}
	return at, ok
}

// Frames returns the frames to send, and clears them.
func (a *Agent) Frames() []Frame {
	out := a.out
	a.out = nil
	return out
}

// Counts returns the counters.
func (a *Agent) Counts() Counts { return a.counts }

// Neighbors returns the neighbours, by port and in the order in which they came.
func (a *Agent) Neighbors() []Neighbor {
	all := make([]Neighbor, 0, len(a.neighbors))
	for _, n := range a.neighbors {
		all = append(all, *n)
	}
	slices.SortFunc(all, func(x, y Neighbor) int {
		if c := strings.Compare(x.Port, y.Port); c != 0 {
			return c
		}
		return int(x.Index) - int(y.Index)
	})
	return all
}

// Receive processes a frame that came in at a port; the data is only read, during the call. It returns an error if the
// frame is not valid LLDP.
func (a *Agent) Receive(now time.Time, port string, data []byte) error {
	a.Advance(now)
	a.counts.Received++
	if _, up := a.ports[port]; !up || len(data) < 14 || binary.BigEndian.Uint16(data[12:]) != EtherType {
		a.counts.Discarded++
		return fmt.Errorf("LLDP at %s: no frame of a port that is up", port)
	}
	n, k, ttl, err := parse(port, data[14:])
	if err != nil {
		a.counts.Discarded++
		return fmt.Errorf("LLDP at %s: %w", port, err)
	}
	old := a.neighbors[k]
	switch {
	case ttl == 0: // the neighbour shuts down
		delete(a.neighbors, k)
		return nil
	case old != nil:
		n.Index = old.Index
	case a.at(port) >= MaxNeighbors:
		a.counts.TooMany++
		return nil
	default:
		a.index++
		n.Index = a.index
		a.due[port] = now // this switch may be new to the neighbour too: 9.2.5.19, txFast
	}
	n.Received, n.Expires = now, now.Add(time.Duration(ttl)*time.Second)
	a.neighbors[k] = &n
	a.Advance(now)
	return nil
}

func (a *Agent) at(port string) (n int) {
	for k := range a.neighbors {
		if k.port == port {
			n++
		}
	}
	return n
}

// Types of TLVs (IEEE 802.1AB, 8.4).
const (
	tlvEnd = iota
	tlvChassis
	tlvPort
	tlvTTL
	tlvPortDescription
	tlvSystemName
	tlvSystemDescription
	tlvCapabilities
	tlvManagement
)

func appendTLV(b []byte, kind int, value ...[]byte) []byte {
	v := bytes.Join(value, nil)
	v = v[:min(len(v), 511)]
	b = binary.BigEndian.AppendUint16(b, uint16(kind<<9|len(v)))
	return append(b, v...)
}

func (a *Agent) frame(p Port) []byte {
	alias := p.Alias
	if alias == "" {
		alias = p.Name
	}
	text := func(s string) []byte { return []byte(s[:min(len(s), 255)]) }
	b := append(append([]byte{}, Group[:]...), a.system.MAC[:]...)
	b = binary.BigEndian.AppendUint16(b, EtherType)
	b = appendTLV(b, tlvChassis, []byte{ChassisMAC}, a.system.MAC[:])
	b = appendTLV(b, tlvPort, []byte{PortLocal}, text(alias))
	b = appendTLV(b, tlvTTL, binary.BigEndian.AppendUint16(nil, uint16(TTL/time.Second)))
	b = appendTLV(b, tlvPortDescription, text(p.Name))
	b = appendTLV(b, tlvSystemName, text(a.system.Name))
	b = appendTLV(b, tlvSystemDescription, text(a.system.Description))
	b = appendTLV(b, tlvCapabilities, binary.BigEndian.AppendUint32(nil, (Bridge|Router)<<16|Bridge|Router))
	b = appendTLV(b, tlvEnd)
	for len(b) < 60 {
		b = append(b, 0)
	}
	return b
}

// parse decodes an LLDPDU, 9.2.7.7: it begins with chassis id, port id and TTL, and has none of these twice.
func parse(port string, b []byte) (n Neighbor, k id, ttl uint16, err error) {
	n.Port = port
	for i := 0; ; i++ {
		if len(b) < 2 {
			return n, k, 0, errors.New("it ends without an end")
		}
		head := binary.BigEndian.Uint16(b)
		kind, length := int(head>>9), int(head&511)
		if len(b) < 2+length {
			return n, k, 0, fmt.Errorf("a TLV of type %d with %d bytes of %d", kind, len(b)-2, length)
		}
		v := b[2 : 2+length]
		b = b[2+length:]
		switch must := i + 1; {
		case i < 3 && kind != must:
			return n, k, 0, fmt.Errorf("TLV %d has type %d, want %d", must, kind, must)
		case i >= 3 && kind >= tlvChassis && kind <= tlvTTL:
			return n, k, 0, fmt.Errorf("a second TLV of type %d", kind)
		case kind == tlvEnd:
			return n, k, ttl, nil
		}
		if kind == tlvTTL {
			if length < 2 {
				return n, k, 0, fmt.Errorf("a TTL of %d bytes, want 2", length)
			}
			ttl = binary.BigEndian.Uint16(v)
			continue
		}
		if err := n.decode(&k, kind, v); err != nil {
			return n, k, 0, err
		}
	}
}

// decode decodes a TLV other than the TTL.
func (n *Neighbor) decode(k *id, kind int, v []byte) error {
	switch kind {
	case tlvChassis, tlvPort:
		if len(v) < 2 || len(v) > 256 {
			return fmt.Errorf("an id of %d bytes, want 1 to 255", len(v)-1)
		}
		if kind == tlvChassis {
			n.ChassisSubtype, n.ChassisID = v[0], idText(v, ChassisMAC, chassisAddr)
			k.port, k.chassis = n.Port, string(v)
		} else {
			n.PortSubtype, n.PortID = v[0], idText(v, portMAC, portAddr)
			k.portID = string(v)
		}
	case tlvPortDescription:
		n.PortDescription = printable(v)
	case tlvSystemName:
		n.SystemName = printable(v)
	case tlvSystemDescription:
		n.SystemDescription = printable(v)
	case tlvCapabilities:
		if len(v) < 4 {
			return fmt.Errorf("capabilities of %d bytes, want 4", len(v))
		}
		n.Supported, n.Enabled = binary.BigEndian.Uint16(v), binary.BigEndian.Uint16(v[2:])
	case tlvManagement:
		if len(v) >= 2 && len(v) >= 1+int(v[0]) && !n.Management.IsValid() {
			n.Management = address(v[1 : 1+int(v[0])])
		}
	}
	return nil
}

// idText returns an id, which begins with its subtype, as text.
func idText(v []byte, mac, addr uint8) string {
	b := v[1:]
	switch {
	case v[0] == mac && len(b) == 6:
		return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3], b[4], b[5])
	case v[0] == addr:
		if a := address(b); a.IsValid() {
			return a.String()
		}
	}
	return printable(b)
}

// address decodes a network address, which begins with its IANA family: 1 is IPv4, 2 IPv6.
func address(b []byte) netip.Addr {
	if len(b) == 5 && b[0] == 1 || len(b) == 17 && b[0] == 2 {
		a, _ := netip.AddrFromSlice(b[1:])
		return a
	}
	return netip.Addr{}
}

// printable returns text if all of it can be printed, otherwise hexadecimal digits.
func printable(b []byte) string {
	s := string(bytes.TrimRight(b, "\x00"))
	for _, r := range s {
		if r == 0xfffd || r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return fmt.Sprintf("%x", b)
		}
	}
	return s
}
