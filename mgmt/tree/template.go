package tree

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Glob returns Redis' pattern for the keys that match.
func (t Template) Glob(pattern []string) string {
	var b strings.Builder
	for _, p := range t.parts {
		switch {
		case p.key == partText:
			b.WriteString(GlobEscape(p.text))
		case p.key >= 0 && pattern[p.key] != Wildcard:
			b.WriteString(GlobEscape(p.inRow(pattern[p.key])))
		default:
			b.WriteString("*")
		}
	}
	return b.String()
}

// GlobEscape returns the Redis pattern that matches a text literally.
func GlobEscape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

// A row with {*} in its key is all matching rows combined. Examples are the VLANs of a port, and the members of a port
// channel.

// Shared returns the keys of the entry that the row's key contains, as one text. Entries with equal texts share the
// row.
func (t Template) Shared(keys []string) string {
	var b strings.Builder
	for _, k := range t.Keys {
		if k >= 0 {
			b.WriteString(keys[k])
			b.WriteByte(0)
		}
	}
	return b.String()
}

// WithDefaults returns the template for entries that no longer have a row of their own.
func (t Template) WithDefaults() Template {
	t.parts = slices.Clone(t.parts)
	for i, p := range t.parts {
		if p.key == partField {
			t.parts[i] = part{text: p.value, key: partText}
		}
	}
	return t
}

// A Template is a compiled Row.Key.
type Template struct {
	parts  []part
	re     func() *regexp.Regexp // finds the keys in a row's key; group i+1 is placeholder i
	Keys   []int                 // placeholder -> index of the list key; negative for a field or {*}
	Gather int                   // which placeholder is {*}; -1 if none

	simple  bool   // an optional text followed by one key, which is matched without re
	before  string // if simple, the text before the key
	without string // if simple, the separator that the key must not contain; empty if it may contain anything
}

type part struct {
	text  string // literal, or name of the field
	key   int    // index of the list key, or one of the constants below
	value string // default of a field
	host  bool   // a network, which the row's key has without length if it is a host
}

const (
	partText  = -1
	partField = -2
	partAny   = -3
)

// compileTemplate parses a Row.Key for a group with the given keys. If whole, its last part is all the rest of the
// row's key.
func compileTemplate(text, separator string, keys []string, whole bool) (Template, error) {
	t := Template{Gather: -1}
	expr := "^"
	for text != "" {
		lit, rest, found := strings.Cut(text, "{")
		if lit != "" {
			t.parts = append(t.parts, part{text: lit, key: partText})
			expr += regexp.QuoteMeta(lit)
		}
		if !found {
			break
		}
		name, after, ok := strings.Cut(rest, "}")
		if !ok {
			return t, fmt.Errorf("key %q: } is missing", text)
		}
		text = after
		p := part{key: partField}
		name, p.host = strings.CutSuffix(name, "/host")
		p.text, p.value, _ = strings.Cut(name, "=")
		for i, k := range keys {
			if k == name {
				p.key = i
			}
		}
		switch {
		case name == "*" && t.Gather >= 0:
			return t, fmt.Errorf("{*} is there twice")
		case name == "*":
			p.key, t.Gather = partAny, len(t.Keys)
		case p.key == partField && p.value == "":
			return t, fmt.Errorf("{%s} is neither a key of the list nor a field with a default", name)
		}
		t.parts = append(t.parts, p)
		t.Keys = append(t.Keys, p.key)
		if text == "" && (whole || p.key == partAny && len(t.parts) == 1) {
			expr += "(.+)" // {*} alone matches every key
		} else {
			expr += placeholder(text, separator)
		}
	}
	if !whole {
		t.simplify(separator)
	}
	t.re = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("(?s)" + expr + "$") })
	return t, nil
}

// simplify sets simple if the key can be matched without the regular expression.
func (t *Template) simplify(separator string) {
	n := len(t.parts)
	if t.simple = n > 0 && n <= 2 && t.parts[n-1].key >= 0; !t.simple {
		return
	}
	if n == 2 {
		t.before, t.simple = t.parts[0].text, t.parts[0].key == partText
	}
	if separator == "|" { // see placeholder
		t.without = separator
	}
}

// inRow returns a list key in the form that it has in the row's key.
func (p part) inRow(key string) string {
	if !p.host {
		return key
	}
	if prefix, err := netip.ParsePrefix(key); err == nil && prefix.IsSingleIP() {
		return prefix.Addr().String()
	}
	return key
}

// withLength returns an address as a network of that address alone; other text is returned unchanged.
func withLength(text string) string {
	if a, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(a, a.BitLen()).String()
	}
	return text
}

// placeholder returns the regular expression of a placeholder that is followed by some text.
func placeholder(behind, separator string) string {
	switch {
	case behind == "" && separator == "|":
		return "([^|]+)" // a row with more parts belongs to another list
	case behind == "":
		return "(.+)" // an IPv6 address contains colons
	case strings.HasPrefix(behind, separator) || behind[0] == '{':
		return "([^" + regexp.QuoteMeta(separator) + "]+?)"
	}
	return "([^" + regexp.QuoteMeta(behind[:1]) + "]+)" // an address before its prefix length
}

// Expand returns the row's key for an entry; own is the entry's own row.
func (t Template) Expand(keys []string, own map[string]string) string {
	var b strings.Builder
	for _, p := range t.parts {
		switch {
		case p.key >= 0:
			b.WriteString(p.inRow(keys[p.key]))
		case p.key == partText:
			b.WriteString(p.text)
		case p.key == partAny:
			b.WriteString(Wildcard)
		case own[p.text] != "":
			b.WriteString(own[p.text])
		default:
			b.WriteString(p.value)
		}
	}
	return b.String()
}

// Complete reports whether the pattern fixes all keys of the template.
func (t Template) Complete(pattern []string) bool {
	for _, k := range t.Keys {
		if k < 0 || pattern[k] == Wildcard {
			return false
		}
	}
	return true
}

// Match returns the list keys in a row's key. List keys that the row's key does not contain are wildcards. A key that
// is not UTF-8 does not match, because gNMI cannot name it.
func (t Template) Match(rowKey string, n int) ([]string, bool) {
	keys, _, ok := t.Parse(rowKey, n)
	return keys, ok
}

// find returns a row's key and the matches of its placeholders, or nil if it does not match.
func (t Template) find(rowKey string) []string {
	if !t.simple {
		return t.re().FindStringSubmatch(rowKey)
	}
	rest, ok := strings.CutPrefix(rowKey, t.before)
	if !ok || rest == "" || t.without != "" && strings.Contains(rest, t.without) {
		return nil
	}
	return []string{rowKey, rest}
}

// Parse returns the list keys as Match does, and the part that {*} matched.
func (t Template) Parse(rowKey string, n int) (keys []string, part string, ok bool) {
	m := t.find(rowKey)
	if m == nil || !utf8.ValidString(rowKey) || slices.Contains(m[1:], Wildcard) {
		return nil, "", false
	}
	keys = make([]string, n)
	for i := range keys {
		keys[i] = Wildcard
	}
	for i, k := range t.Keys {
		if k >= 0 {
			keys[k] = m[i+1]
		}
	}
	for _, p := range t.parts {
		if p.host {
			keys[p.key] = withLength(keys[p.key])
		}
	}
	if t.Gather >= 0 {
		part = m[t.Gather+1]
	}
	return keys, part, true
}
