// Package glob matches texts against the patterns of Redis.
package glob

import "strings"

// Match reports whether s matches a pattern of Redis: "*", "?", "[a-z]", "[^a]", and "\" before
// a literal character.
func Match(pattern, s string) bool {
	for len(pattern) > 0 {
		switch pattern[0] {
		case '*':
			pattern = strings.TrimLeft(pattern, "*")
			if pattern == "" {
				return true
			}
			for i := 0; i <= len(s); i++ {
				if Match(pattern, s[i:]) {
					return true
				}
			}
			return false
		case '?':
			if s == "" {
				return false
			}
			pattern, s = pattern[1:], s[1:]
		case '[':
			if s == "" {
				return false
			}
			ok, rest := classMatch(pattern[1:], s[0])
			if !ok {
				return false
			}
			pattern, s = rest, s[1:]
		case '\\':
			if len(pattern) > 1 {
				pattern = pattern[1:]
			}
			fallthrough
		default:
			if s == "" || s[0] != pattern[0] {
				return false
			}
			pattern, s = pattern[1:], s[1:]
		}
	}
	return s == ""
}

// classMatch matches c against a character class, which starts after its "[". It returns the pattern after the "]".
func classMatch(class string, c byte) (ok bool, rest string) {
	not := strings.HasPrefix(class, "^")
	if not {
		class = class[1:]
	}
	for class != "" && class[0] != ']' {
		lo := class[0]
		if lo == '\\' && len(class) > 1 {
			class = class[1:]
			lo = class[0]
		}
		hi := lo
		if len(class) > 2 && class[1] == '-' {
			hi = class[2]
			class = class[2:]
		}
		if lo > hi {
			lo, hi = hi, lo
		}
		ok = ok || lo <= c && c <= hi
		class = class[1:]
	}
	return ok != not, strings.TrimPrefix(class, "]")
}

// Prefix returns the common prefix of all matches of a pattern. plain reports that only a "*" follows it.
func Prefix(pattern string) (prefix string, plain bool) {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '*':
			return b.String(), i == len(pattern)-1
		case '?', '[':
			return b.String(), false
		case '\\':
			if i+1 < len(pattern) {
				i++
			}
			b.WriteByte(pattern[i])
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), false
}
