package schema

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const nameWords = "1 to 255 visible ASCII characters without | : and ,"

// ValidName reports whether s can name a row: 1 to 255 visible ASCII characters, none of them a separator of the
// databases or of lists.
func ValidName(s string) bool {
	if len(s) == 0 || len(s) > 255 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c > '~' || c == '|' || c == ':' || c == ',' {
			return false
		}
	}
	return true
}

func rangeWords(lo, hi uint64) string { return fmt.Sprintf("a number in %d..%d", lo, hi) }

// decimal parses a decimal or 0x number. Leading zeros have no meaning.
func decimal(s string) (uint64, bool) {
	if h, ok := cutHex(s); ok {
		n, err := strconv.ParseUint(h, 16, 64)
		return n, err == nil
	}
	n, err := strconv.ParseUint(s, 10, 64)
	return n, err == nil && s[0] != '+'
}

// cNumber parses a number as C's strtoull with base 0 does: 0x means hexadecimal, a leading 0 octal. It accepts no
// sign and nothing around the digits.
func cNumber(s string) (uint64, bool) {
	if h, ok := cutHex(s); ok {
		n, err := strconv.ParseUint(h, 16, 64)
		return n, err == nil
	}
	base := 10
	if len(s) > 1 && s[0] == '0' {
		base = 8
	}
	n, err := strconv.ParseUint(s, base, 64)
	return n, err == nil
}

func cutHex(s string) (string, bool) {
	if len(s) > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X') {
		return s[2:], true
	}
	return "", false
}

// MAC is an Ethernet address or a mask of one.
type MAC [6]byte

// ParseMAC parses six hexadecimal octets separated by colons or dashes.
func ParseMAC(s string) (MAC, bool) {
	var m MAC
	if len(s) != 17 {
		return m, false
	}
	for i := range m {
		if i > 0 && s[3*i-1] != ':' && s[3*i-1] != '-' {
			return MAC{}, false
		}
		if _, err := hex.Decode(m[i:i+1], []byte(s[3*i:3*i+2])); err != nil {
			return MAC{}, false
		}
	}
	return m, true
}

// String returns the address in lower case with colons.
func (m MAC) String() string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

// IsZero reports whether all bits are zero, which means no address.
func (m MAC) IsZero() bool { return m == MAC{} }

// Low16 returns the last two octets, from which SONiC's TAM derives its default ids.
func (m MAC) Low16() uint16 { return uint16(m[4])<<8 | uint16(m[5]) }

// CompareNames compares names as people do, with numbers inside them by value. For example, Ethernet4 comes before
// Ethernet12. It is a total order.
func CompareNames(a, b string) int {
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		if !digit(a[i]) || !digit(b[j]) {
			if a[i] != b[j] {
				return cmp.Compare(a[i], b[j])
			}
			i, j = i+1, j+1
			continue
		}
		x, y := digits(a[i:]), digits(b[j:])
		tx, ty := strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
		if c := cmp.Or(cmp.Compare(len(tx), len(ty)), strings.Compare(tx, ty)); c != 0 {
			return c
		}
		i, j = i+len(x), j+len(y)
	}
	return cmp.Or(cmp.Compare(len(a)-i, len(b)-j), strings.Compare(a, b))
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func digits(s string) string {
	n := 0
	for n < len(s) && digit(s[n]) {
		n++
	}
	return s[:n]
}

// SortNames sorts names by CompareNames.
func SortNames(names []string) { slices.SortFunc(names, CompareNames) }

// numbered returns N of prefixN. N must have no leading zeros and at most 9 digits.
func numbered(name, prefix string) (uint32, bool) {
	s, ok := strings.CutPrefix(name, prefix)
	if !ok || s == "" || len(s) > 9 || digits(s) != s || len(s) > 1 && s[0] == '0' {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 32)
	return uint32(n), err == nil
}

// PortNumber returns N of EthernetN.
func PortNumber(name string) (uint32, bool) { return numbered(name, "Ethernet") }

// IsPortName reports whether name has the form EthernetN of a physical port.
func IsPortName(name string) bool { _, ok := PortNumber(name); return ok }

// IsPortChannelName reports whether name has the form PortChannelN of a LAG. As in SONiC N has one to four digits,
// and PortChannel1 and PortChannel01 differ.
func IsPortChannelName(name string) bool {
	n, ok := strings.CutPrefix(name, "PortChannel")
	return ok && n != "" && len(n) <= 4 && digits(n) == n
}

// VLANNumber returns N of VlanN, 1..4094.
func VLANNumber(name string) (uint16, bool) {
	n, ok := numbered(name, "Vlan")
	return uint16(n), ok && n >= 1 && n <= 4094
}

// SubPort returns the port or PortChannel of a sub-port, such as Ethernet4 of Ethernet4.10 or Eth4.10, and the number
// after the point, 1..4094. PortChannel1.10 may be written Po1.10. A longer name than 15 characters would not be that
// of a Linux device.
func SubPort(name string) (on string, number uint16, ok bool) {
	on, _, _ = strings.Cut(name, ".")
	n, ok := numbered(name, on+".")
	if rest, short := strings.CutPrefix(on, "Eth"); short && !IsPortName(on) {
		on = "Ethernet" + rest
	} else if rest, short := strings.CutPrefix(on, "Po"); short && !IsPortChannelName(on) {
		on = "PortChannel" + rest
	}
	ok = ok && n >= 1 && n <= 4094 && len(name) <= 15 && (IsPortName(on) || IsPortChannelName(on))
	return on, uint16(n), ok
}

// ConfigKey converts a key of two parts of APPL_DB to that of CONFIG_DB and STATE_DB.
func ConfigKey(applKey string) string { return strings.Replace(applKey, ":", "|", 1) }

func utoa[T ~uint8 | ~uint16 | ~uint32 | ~uint64](n T) string {
	return strconv.FormatUint(uint64(n), 10)
}
