package hft

import (
	"fmt"
	"strings"

	"tamtam/tam/ipfix"
)

// Numbers of SAI as an enterprise number holds them: 15 bits each, and a bit for extensions.
const (
	// MaxLabel is the greatest label of an object.
	MaxLabel = 0x7fff

	extensions = 0x20000000 // the first number of SAI's extensions
	half       = 0x7fff
	extended   = 0x8000
)

// A Statistic is a statistic of an object of a stream.
type Statistic struct {
	Label uint16 // number of the object in its stream, up to MaxLabel
	Type  uint32 // SAI's number of the object type
	ID    uint32 // SAI's number of the statistic
}

// A Column is a statistic with its names.
type Column struct {
	Statistic
	Object string // name of the object, such as Ethernet0; empty if it is unknown
	Name   string // SAI's name of the statistic, such as SAI_PORT_STAT_IF_IN_OCTETS; empty if it is unknown
}

// Enterprise returns the enterprise number of the statistic in SONiC's format. An error names the number that does not
// fit.
func (s Statistic) Enterprise() (uint32, error) {
	t, ok := pack(s.Type)
	if !ok {
		return 0, fmt.Errorf("hft: object type %d, want at most %d, or an extension from %d to %d",
			s.Type, half, extensions, extensions+half)
	}
	id, ok := pack(s.ID)
	if !ok {
		return 0, fmt.Errorf("hft: statistic %d of object type %d, want at most %d, or an extension from %d to %d",
			s.ID, s.Type, half, extensions, extensions+half)
	}
	return t<<16 | id, nil
}

func pack(number uint32) (packed uint32, ok bool) {
	if number <= half {
		return number, true
	}
	return number - extensions | extended, number >= extensions && number <= extensions+half
}

func unpack(packed uint32) uint32 {
	if packed&extended != 0 {
		return packed&half + extensions
	}
	return packed
}

// statisticOf returns the statistic of a field in SONiC's format.
func statisticOf(enterprise uint32, element uint16) Statistic {
	return Statistic{element, unpack(enterprise >> 16), unpack(enterprise & 0xffff)}
}

// Numbers of elements in conforming streams: the code of the object type, and the statistic in 12 bits. Code 0 is left
// to tamtam's other elements.
const statisticBits = 12

// objectTypes holds the object types of SAI whose statistics are in conforming streams, by code: port, queue, buffer
// pool, ingress priority group.
var objectTypes = [...]uint32{1: 1, 2: 21, 3: 24, 4: 26}

// element returns the number of the statistic's element in conforming streams.
func (s Statistic) element() (uint16, error) {
	for code, t := range objectTypes {
		if code > 0 && t == s.Type && s.ID < 1<<statisticBits {
			return uint16(code)<<statisticBits | uint16(s.ID), nil
		}
	}
	return 0, fmt.Errorf("hft: statistic %d of object type %d has no number in a conforming stream: want one below %d of "+
		"a port, queue, buffer pool or ingress priority group", s.ID, s.Type, 1<<statisticBits)
}

// typeOfElement returns object type and statistic of an element in conforming streams.
func typeOfElement(element uint16) (objectType, id uint32, ok bool) {
	code := element >> statisticBits
	if code == 0 || int(code) >= len(objectTypes) {
		return 0, 0, false
	}
	return objectTypes[code], uint32(element) & (1<<statisticBits - 1), true
}

// A Kind is the meaning of a statistic's values.
type Kind uint8

// The kinds of statistics.
const (
	Counter   Kind = iota // grows until it restarts
	Level                 // the present value
	Watermark             // the highest level since it was cleared
)

// String returns the kind in lower case.
func (k Kind) String() string {
	return [...]string{"counter", "level", "watermark"}[k]
}

// KindOf returns the kind of a statistic by SAI's name of it.
func KindOf(name string) Kind {
	switch {
	case strings.Contains(name, "WATERMARK"):
		return Watermark
	case strings.Contains(name, "CURR_OCCUPANCY"), strings.HasSuffix(name, "_QLEN"):
		return Level
	}
	return Counter
}

// semantics returns the semantics of a statistic by RFC 5610.
func (k Kind) semantics() ipfix.Semantics {
	if k == Counter {
		return ipfix.TotalCounter
	}
	return ipfix.Quantity
}

// UnitsOf returns the units of a statistic by SAI's name of it.
func UnitsOf(name string) ipfix.Units {
	_, name, _ = strings.Cut(name, "_STAT_")
	words := strings.Split(name, "_")
	switch words[len(words)-1] {
	case "OCTETS", "BYTES":
		return ipfix.Octets
	case "PKTS", "PACKETS", "DISCARDS", "QLEN":
		return ipfix.Packets
	case "NS":
		return ipfix.Nanoseconds
	}
	return ipfix.None
}

// elementName returns the name of a statistic as IPFIX writes names: saiPortStatIfInOctets.
func elementName(name string) string {
	var b strings.Builder
	for i, word := range strings.Split(strings.ToLower(name), "_") {
		if i > 0 && word != "" {
			word = strings.ToUpper(word[:1]) + word[1:]
		}
		b.WriteString(word)
	}
	return b.String()
}
