package lacp

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// EtherType is that of the slow protocols, whose first octet is the subtype.
const EtherType = 0x8809

// Group is the destination of LACPDUs and markers, which no bridge forwards.
var Group = [6]byte{0x01, 0x80, 0xc2, 0, 0, 0x02}

// Subtypes of the slow protocols, and the length of their PDUs with the Ethernet header and without FCS.
const (
	subtypeLACP   = 1
	subtypeMarker = 2

	header     = 14
	pduLength  = header + 110
	infoLength = 20 // length of a TLV with the information of an actor or partner
)

// A System is the identity of a switch in LACP: priority, then address, where lower is better.
type System struct {
	Priority uint16
	MAC      [6]byte
}

func (s System) String() string {
	m := s.MAC
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

// A State has the eight bits of a port's state, IEEE 802.1AX-2014, 6.4.2.3.
type State uint8

// The bits of a State.
const (
	Activity State = 1 << iota
	ShortTimeout
	Aggregation
	Synchronization
	Collecting
	Distributing
	Defaulted
	Expired
)

// An Info is the information about an actor, or about its partner as known to it.
type Info struct {
	System       System
	Key          uint16
	PortPriority uint16
	Port         uint16
	State        State
}

// same reports whether i and j are one port of one system with one key. Only the aggregation bit of the state counts.
func (i Info) same(j Info) bool {
	return i.System == j.System && i.Key == j.Key && i.PortPriority == j.PortPriority && i.Port == j.Port &&
		(i.State^j.State)&Aggregation == 0
}

// Discarded is the reason why a frame was discarded; the text is the name of a counter.
type Discarded string

// Reasons for which frames are discarded.
const (
	NoPort Discarded = "no-port" // not a port of an aggregation that is up
	Short  Discarded = "short"   // truncated
	// the source is a group, or the destination is not the address of slow protocols
	BadAddress  Discarded = "bad-address"
	BadType     Discarded = "bad-type"     // not a slow protocol
	BadSubtype  Discarded = "bad-subtype"  // another slow protocol
	BadVersion  Discarded = "bad-version"  // version 0
	BadTLV      Discarded = "bad-tlv"      // the required TLVs are missing or out of order
	MarkerLimit Discarded = "marker-limit" // more markers than are answered
	PDULimit    Discarded = "lacpdu-limit" // more LACPDUs than the standard allows a partner to send
)

// Reasons returns all reasons.
func Reasons() []Discarded {
	return []Discarded{NoPort, Short, BadAddress, BadType, BadSubtype, BadVersion, BadTLV, MarkerLimit, PDULimit}
}

// Error returns the reason as text.
func (d Discarded) Error() string { return "no LACP: " + string(d) }

func appendInfo(b []byte, kind byte, i Info) []byte {
	b = append(b, kind, infoLength)
	b = binary.BigEndian.AppendUint16(b, i.System.Priority)
	b = append(b, i.System.MAC[:]...)
	b = binary.BigEndian.AppendUint16(b, i.Key)
	b = binary.BigEndian.AppendUint16(b, i.PortPriority)
	b = binary.BigEndian.AppendUint16(b, i.Port)
	return append(b, byte(i.State), 0, 0, 0)
}

func infoOf(b []byte) (i Info) {
	i.System.Priority = binary.BigEndian.Uint16(b)
	copy(i.System.MAC[:], b[2:])
	i.Key = binary.BigEndian.Uint16(b[8:])
	i.PortPriority = binary.BigEndian.Uint16(b[10:])
	i.Port = binary.BigEndian.Uint16(b[12:])
	i.State = State(b[14])
	return i
}

// format returns a LACPDU, 6.4.2.3, in its frame.
func format(from [6]byte, actor, partner Info) []byte {
	b := make([]byte, 0, pduLength)
	b = append(append(b, Group[:]...), from[:]...)
	b = append(b, EtherType>>8, EtherType&0xff, subtypeLACP, 1)
	b = appendInfo(b, 1, actor)
	b = appendInfo(b, 2, partner)
	b = append(b, 3, 16) // TLV of the collector: it delays nothing
	return b[:pduLength] // the rest is zero: delay, reserved fields, terminator
}

// subtype checks the common part of LACPDUs and markers, and returns the subtype.
func subtype(b []byte) (byte, error) {
	switch {
	case len(b) < header+2:
		return 0, Short
	case binary.BigEndian.Uint16(b[12:]) != EtherType:
		return 0, BadType
	case [6]byte(b[:6]) != Group, b[6]&1 != 0:
		return 0, BadAddress
	case b[header] != subtypeLACP && b[header] != subtypeMarker:
		return 0, BadSubtype
	case b[header+1] == 0:
		return 0, BadVersion
	}
	return b[header], nil
}

// parse decodes a LACPDU. Additional data of a later version, 6.4.2.4, and reserved fields are ignored.
func parse(b []byte) (actor, partner Info, err error) {
	const first, second = header + 2, header + 2 + infoLength
	switch {
	case len(b) < second+infoLength:
		return actor, partner, Short
	case b[first] != 1, b[first+1] != infoLength, b[second] != 2, b[second+1] != infoLength:
		return actor, partner, BadTLV
	}
	return infoOf(b[first+2:]), infoOf(b[second+2:]), nil
}

var errResponse = errors.New("an answer to a marker")

// answer returns the response to a marker, 6.5.3: the same with another type. It returns errResponse for a response.
func answer(from [6]byte, b []byte) ([]byte, error) {
	const kind, length = header + 2, 16
	switch {
	case len(b) < kind+length:
		return nil, Short
	case b[kind] == 2 && b[kind+1] == length:
		return nil, errResponse
	case b[kind] != 1 || b[kind+1] != length:
		return nil, BadTLV
	}
	r := make([]byte, pduLength)
	copy(r, b[:kind+length])
	copy(r[6:], from[:])
	r[header+1], r[kind] = 1, 2
	return r, nil
}
