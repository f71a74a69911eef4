package sai

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

var (
	zeroIPv4 = netip.IPv4Unspecified()
	zeroIPv6 = netip.IPv6Unspecified()
)

// maxListItems bounds the items of one list on the wire.
const maxListItems = 1 << 16

// A TextError is an attribute value that cannot be parsed from ASIC_DB text, or formatted as such.
type TextError struct {
	Attr AttrID
	Text string // the text, or the Go value that cannot be formatted
	Want string // the valid form
}

func (e *TextError) Error() string {
	return fmt.Sprintf("%s: %.80q is not %s", e.Attr, e.Text, e.Want)
}

// Unwrap returns the status that SAI's own metadata library would return.
func (e *TextError) Unwrap() error { return StatusInvalidParameter }

// FormatValue returns the ASIC_DB text of v as a value of the attribute. It fails if v is not a value of the
// attribute's type.
func FormatValue(id AttrID, v Value) (string, error) {
	m := Meta(id)
	if m == nil {
		return "", fmt.Errorf("%s: unknown attribute: %w", id, StatusFailure)
	}
	s, err := m.append(nil, v)
	return string(s), err
}

// ParseValue parses ASIC_DB text as a value of the attribute.
func ParseValue(id AttrID, text string) (Value, error) {
	m := Meta(id)
	if m == nil {
		return nil, fmt.Errorf("%s: unknown attribute: %w", id, StatusFailure)
	}
	switch m.Form {
	case FormField:
		return m.parseField(text)
	case FormAction:
		if text == "disabled" {
			return Action{}, nil
		}
		v, err := m.parsePlain(text)
		if err != nil {
			return nil, err
		}
		return Do(v), nil
	}
	return m.parsePlain(text)
}

// ParseCount parses the text of a list in a SAI_STATUS_BUFFER_OVERFLOW answer, which is only its length. It returns a
// list of that length.
func ParseCount(id AttrID, text string) (Value, error) {
	m := Meta(id)
	if m == nil || !m.Kind.List() {
		return ParseValue(id, text)
	}
	if (m.Kind == KindACLResources || m.Kind == KindQoSMapList) && strings.HasPrefix(text, "{") {
		var r struct{ Count int }
		if json.Unmarshal([]byte(text), &r) != nil || r.Count < 0 || r.Count > maxListItems {
			return nil, m.textError(text, `a list ({"count":n,"list":null})`)
		}
		return m.zero(r.Count), nil
	}
	if m.Kind == KindACLCapability {
		_, text, _ = strings.Cut(text, ":")
	}
	n, _, _ := strings.Cut(text, ":")
	c, err := parseUint(n, 32)
	if err != nil || c > maxListItems {
		return nil, m.textError(text, "a list length")
	}
	return m.zero(int(c)), nil
}

// FormatCount formats the length of a list, for [ParseCount].
func FormatCount(id AttrID, v Value) (string, error) {
	switch l := v.(type) {
	case Bytes:
		return strconv.Itoa(len(l)), nil
	case OIDs:
		return strconv.Itoa(len(l)), nil
	case Enums:
		return strconv.Itoa(len(l)), nil
	case Uints:
		return strconv.Itoa(len(l)), nil
	case Ranges:
		return strconv.Itoa(len(l)), nil
	case ACLResources:
		return fmt.Sprintf(`{"count":%d,"list":null}`, len(l)), nil
	case QoSMap:
		return fmt.Sprintf(`{"count":%d,"list":null}`, len(l)), nil
	case ACLCapability:
		return fmt.Sprintf("%t:%d", l.ActionListMandatory, len(l.Actions)), nil
	}
	return FormatValue(id, v)
}

// ListLen returns the number of items of a list value, or false for other values.
func ListLen(v Value) (int, bool) {
	switch l := v.(type) {
	case Bytes:
		return len(l), true
	case OIDs:
		return len(l), true
	case Enums:
		return len(l), true
	case Uints:
		return len(l), true
	case Ranges:
		return len(l), true
	case ACLResources:
		return len(l), true
	case QoSMap:
		return len(l), true
	case ACLCapability:
		return len(l.Actions), true
	}
	return 0, false
}

func (m *AttrMeta) textError(text, want string) error { return &TextError{m.ID, text, want} }

// String returns the id in the form of ASIC_DB: oid:0x and lower-case hex.
func (o OID) String() string { return string(o.append(nil)) }

func (o OID) append(b []byte) []byte {
	return strconv.AppendUint(append(b, "oid:0x"...), uint64(o), 16)
}

// ParseOID parses oid:0x...
func ParseOID(text string) (OID, error) {
	rest, ok := strings.CutPrefix(text, "oid:0x")
	if ok && rest != "" && rest[0] != '+' && rest[0] != '-' {
		if n, err := strconv.ParseUint(rest, 16, 64); err == nil {
			return OID(n), nil
		}
	}
	return 0, fmt.Errorf("%.40q is not an object id (oid:0x...): %w", text, StatusInvalidObjectID)
}

// String returns the address in capitals, as in ASIC_DB.
func (a MAC) String() string {
	return fmt.Sprintf("%02X:%02X:%02X:%02X:%02X:%02X", a[0], a[1], a[2], a[3], a[4], a[5])
}

// ParseMAC parses AA:BB:CC:DD:EE:FF, in either case.
func ParseMAC(text string) (MAC, error) {
	var a MAC
	bad := errors.New("not an Ethernet address (AA:BB:CC:DD:EE:FF)")
	if len(text) != 17 {
		return a, bad
	}
	for i := range a {
		n, err := strconv.ParseUint(text[3*i:3*i+2], 16, 8)
		if err != nil || text[3*i] == '+' || (i < 5 && text[3*i+2] != ':') {
			return MAC{}, bad
		}
		a[i] = byte(n)
	}
	return a, nil
}

// FormatText returns the text of a chardata: letters and digits unchanged, the backslash doubled, other bytes as
// \xHH.
func FormatText(t Text) string {
	var b strings.Builder
	for i := 0; i < len(t); i++ {
		c := t[i]
		switch {
		case c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z':
			b.WriteByte(c)
		case c == '\\':
			b.WriteString(`\\`)
		default:
			fmt.Fprintf(&b, `\x%02X`, c)
		}
	}
	return b.String()
}

// MarshalText implements encoding.TextMarshaler with [FormatText].
func (t Text) MarshalText() ([]byte, error) { return []byte(FormatText(t)), nil }

// UnmarshalText implements encoding.TextUnmarshaler with [ParseText].
func (t *Text) UnmarshalText(b []byte) (err error) { *t, err = ParseText(string(b)); return err }

// ParseText parses the output of [FormatText]. Bytes that need no escape may also be unescaped.
func ParseText(s string) (Text, error) {
	bad := errors.New(`not chardata (at most 32 bytes, \\ and \xHH as escapes)`)
	b := make([]byte, 0, 32)
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '\\' {
			switch {
			case strings.HasPrefix(s[i:], `\\`):
				i++
			case strings.HasPrefix(s[i:], `\x`) && len(s) >= i+4:
				n, err := strconv.ParseUint(s[i+2:i+4], 16, 8)
				if err != nil || n == 0 || s[i+2] == '+' {
					return "", bad
				}
				c = byte(n)
				i += 3
			default:
				return "", bad
			}
		}
		if c == 0 || len(b) == 32 {
			return "", bad
		}
		b = append(b, c)
	}
	return Text(b), nil
}

// formatAddr formats an address as inet_ntop does, which differs from netip for IPv4-compatible IPv6 addresses.
func formatAddr(a netip.Addr) string {
	if a.Is6() && !a.Is4In6() {
		b := a.As16()
		for i := 0; i < 12; i++ {
			if b[i] != 0 {
				return a.String()
			}
		}
		if b[12] != 0 || b[13] != 0 {
			return "::" + netip.AddrFrom4([4]byte(b[12:])).String()
		}
	}
	return a.String()
}

func parseAddr(text string) (netip.Addr, error) {
	a, err := netip.ParseAddr(text)
	if err == nil && a.Zone() != "" {
		err = errors.New("zone")
	}
	return a, err
}

func parseUint(text string, bits int) (uint64, error) {
	if text == "" || text[0] == '+' {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseUint(text, 10, bits)
}
