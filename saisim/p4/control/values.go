package control

import (
	"fmt"
	"math/big"
	"net/netip"
	"strconv"
	"strings"

	"tamtam/saisim/p4"
	"tamtam/saisim/p4/interp"
)

// maxDigits bounds the text of a number.
const maxDigits = 20000

// integer returns a number that is decimal, or has the prefix 0x, 0b or 0o.
func integer(text string) (*big.Int, bool) {
	if len(text) > maxDigits || strings.ContainsAny(text, "_+ ") {
		return nil, false
	}
	digits, base := text, 10
	if len(text) > 2 && text[0] == '0' {
		switch text[1] {
		case 'x', 'X':
			digits, base = text[2:], 16
		case 'b', 'B':
			digits, base = text[2:], 2
		case 'o', 'O':
			digits, base = text[2:], 8
		}
	}
	if base != 10 && strings.HasPrefix(digits, "-") {
		return nil, false
	}
	return new(big.Int).SetString(digits, base)
}

// value returns a number of at most so many bits. A number of 32 bits can be an IPv4 address, one of 48 bits a MAC
// address, and one of 128 bits an IPv6 address.
func value(text string, width int) (*big.Int, error) {
	if v := address(text, width); v != nil {
		return v, nil
	}
	v, ok := integer(text)
	if !ok {
		kind := map[int]string{32: " or an IPv4 address", 48: " or a MAC address", 128: " or an IPv6 address"}[width]
		return nil, fmt.Errorf("%.80q is not a number, want one like 10, 0x0a or 0b1010%s", text, kind)
	}
	if v.Sign() < 0 || v.BitLen() > width {
		return nil, fmt.Errorf("%.80q does not fit, want 0 to %#x (%d bits)", text, limit(width), width)
	}
	return v, nil
}

func limit(width int) *big.Int {
	v := new(big.Int).Lsh(big.NewInt(1), uint(width))
	return v.Sub(v, big.NewInt(1))
}

// address returns the number of an address, or nil.
func address(text string, width int) *big.Int {
	switch {
	case width == 48 && strings.Count(text, ":") == 5:
		v := new(big.Int)
		for part := range strings.SplitSeq(text, ":") {
			b, err := strconv.ParseUint(part, 16, 8)
			if err != nil {
				return nil
			}
			v.Lsh(v, 8).Or(v, new(big.Int).SetUint64(b))
		}
		return v
	case width == 32 && strings.Contains(text, "."), width == 128 && strings.Contains(text, ":"):
		if a, err := netip.ParseAddr(text); err == nil && a.Is4() == (width == 32) && a.Zone() == "" {
			return new(big.Int).SetBytes(a.AsSlice())
		}
	}
	return nil
}

// matchValue returns the value of a key: exact is a number, lpm is value/length, ternary is value&&&mask, range is
// start->end.
func matchValue(text string, k p4.Key) (m p4.Match, err error) {
	m.Kind = k.Kind
	width := k.Field.Width()
	pair := func(separator, what string) (string, string, error) {
		a, b, ok := strings.Cut(text, separator)
		if !ok {
			return "", "", fmt.Errorf("%.80q, want %s", text, what)
		}
		return a, b, nil
	}
	var a, b string
	switch k.Kind {
	case p4.Exact:
		m.Value, err = value(text, width)
	case p4.LPM:
		if a, b, err = pair("/", "value/length"); err == nil {
			m.Value, err = value(a, width)
		}
		if err == nil {
			if m.Prefix, err = strconv.Atoi(b); err != nil || m.Prefix < 0 || m.Prefix > width {
				err = fmt.Errorf("%.80q has prefix length %.20q, want 0 to %d", text, b, width)
			}
		}
	case p4.Ternary:
		if a, b, err = pair("&&&", "value&&&mask"); err == nil {
			m.Value, err = value(a, width)
		}
		if err == nil {
			m.Mask, err = value(b, width)
		}
	case p4.Range:
		if a, b, err = pair("->", "start->end"); err == nil {
			m.Value, err = value(a, width)
		}
		if err == nil {
			m.High, err = value(b, width)
		}
		if err == nil && m.Value.Cmp(m.High) > 0 {
			err = fmt.Errorf("%.80q begins after its end, want start->end", text)
		}
	}
	if err != nil {
		err = fmt.Errorf("key %s (%s, %d bits): %w", k.Name, k.Kind, width, err)
	}
	return m, err
}

// arguments returns the arguments of an action.
func arguments(texts []string, a *p4.Action) ([]*big.Int, error) {
	if len(texts) != len(a.Params) {
		var names []string
		for _, p := range a.Params {
			names = append(names, fmt.Sprintf("%s (%d bits)", p.Name, p.Width))
		}
		return nil, fmt.Errorf("action %s: %d arguments, want %d: %s", a.Name, len(texts), len(a.Params),
			strings.Join(names, ", "))
	}
	var data []*big.Int
	for i, text := range texts {
		v, err := value(text, a.Params[i].Width)
		if err != nil {
			return nil, fmt.Errorf("action %s, argument %s: %w", a.Name, a.Params[i].Name, err)
		}
		data = append(data, v)
	}
	return data, nil
}

// number returns a decimal or prefixed integer within limits.
func number(text, name string, low, high int) (int, error) {
	v, ok := integer(text)
	if !ok || !v.IsInt64() || v.Int64() < int64(low) || v.Int64() > int64(high) {
		return 0, fmt.Errorf("%s %.80q, want an integer from %d to %d", name, text, low, high)
	}
	return int(v.Int64()), nil
}

// rates returns the rates of a meter, each as tokens per microsecond, a colon and the burst in tokens.
func rates(texts []string) ([]interp.Rate, error) {
	var all []interp.Rate
	for _, text := range texts {
		r, b, ok := strings.Cut(text, ":")
		burst, err := strconv.ParseUint(b, 10, 62)
		if !ok || err != nil || r == "" || len(r) > 40 || strings.Trim(r, "0123456789.") != "" {
			return nil, fmt.Errorf("rate %.80q, want RATE:BURST like 0.5:1500 (per microsecond)", text)
		}
		rate, ok := new(big.Rat).SetString(r)
		if !ok {
			return nil, fmt.Errorf("rate %.80q, want RATE:BURST like 0.5:1500 (per microsecond)", text)
		}
		all = append(all, interp.Rate{PerMicrosecond: rate, Burst: burst})
	}
	return all, nil
}

// find returns the object whose name is the text, or ends in a dot and the text if there is only one.
func find[T any](text, kind string, all []T, name func(T) string) (T, error) {
	var found []T
	for _, o := range all {
		if name(o) == text {
			return o, nil
		}
		if strings.HasSuffix(name(o), "."+text) {
			found = append(found, o)
		}
	}
	var none T
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return none, fmt.Errorf("%s %.80q means %s and %s, want the whole name", kind, text, name(found[0]), name(found[1]))
	}
	var names []string
	for _, o := range all[:min(len(all), 20)] {
		names = append(names, name(o))
	}
	if len(names) == 0 {
		return none, fmt.Errorf("%s %.80q: the program has none", kind, text)
	}
	return none, fmt.Errorf("%s %.80q, want one of %s", kind, text, strings.Join(names, ", "))
}
