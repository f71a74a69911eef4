package query

import (
	"slices"
	"strconv"
	"strings"
)

// protocols holds the names of IP protocols by their number. A protocol without a name has its number as text.
var protocols = func() (names [256]string) {
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	for i, name := range map[uint8]string{1: "icmp", 2: "igmp", 6: "tcp", 17: "udp", 47: "gre", 50: "esp", 51: "ah",
		58: "icmpv6", 89: "ospf", 103: "pim", 112: "vrrp", 132: "sctp"} {
		names[i] = name
	}
	return names
}()

// protocolNumbers holds the numbers of named protocols.
var protocolNumbers = func() map[string]uint8 {
	numbers := map[string]uint8{}
	for i, name := range protocols {
		numbers[name] = uint8(i)
	}
	return numbers
}()

// Protocol returns a field named protocol. Its values are the names of IP protocols. Filters may contain their numbers.
func Protocol[R any](get func(*R) (uint8, bool)) Field[R] {
	f := Field[R]{Name: "protocol", Help: "protocol behind the IP header, by name or number", Kind: Text, Closed: true,
		Spelling: &Spelling{Want: "a number from 0 to 255", Value: func(word string) (string, bool) {
			n, named := protocolNumbers[strings.ToLower(word)]
			if !named {
				number, err := strconv.ParseUint(word, 10, 8)
				if err != nil {
					return "", false
				}
				n = uint8(number)
			}
			return protocols[n], true
		}},
		Text: One(func(r *R) (string, bool) {
			n, ok := get(r)
			return protocols[n], ok
		})}
	for i, name := range protocols {
		if name != strconv.Itoa(i) {
			f.Words = append(f.Words, name)
		}
	}
	slices.Sort(f.Words)
	return f
}
