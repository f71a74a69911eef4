package swss

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tamtam/swss/glob"
)

func FuzzStrings(f *testing.F) {
	f.Add("SAI_SWITCH_ATTR_INIT_SWITCH", `{"a":"b"}`)
	f.Add("\x00\x1f\"\\\n\t\r\b\f", "ü")
	f.Fuzz(func(t *testing.T, a, b string) {
		text := encodeStrings([]string{a, b})
		got, err := decodeStrings(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		want := []string{strings.ToValidUTF8(a, "\ufffd"), strings.ToValidUTF8(b, "\ufffd")}
		if json.Valid([]byte(text)) && !strings.ContainsRune(a+b, '\ufffd') && a == want[0] && b == want[1] &&
			!slices.Equal(got, want) {
			t.Errorf("%q became %q", want, got)
		}
	})
}

func FuzzReplies(f *testing.F) {
	f.Add("*2\r\n$-1\r\n$3\r\nabc\r\n")
	f.Add("%1\r\n$1\r\na\r\n_\r\n")
	f.Add("*-1\r\n")
	f.Add("*1\r\n$9999999\r\n")
	f.Fuzz(func(t *testing.T, reply string) {
		for _, text := range texts(reply) {
			if text != nil && !strings.Contains(reply, *text) {
				t.Errorf("%q has %q", reply, *text)
			}
		}
	})
}

func TestGlob(t *testing.T) {
	for _, tt := range []struct {
		pattern, s string
		want       bool
	}{
		{"", "", true}, {"", "a", false}, {"a", "a", true}, {"*", "", true}, {"a*", "abc", true}, {"a*c", "abc", true},
		{"a*c", "abd", false}, {"a**b", "ab", true}, {"?", "", false}, {"?b", "ab", true}, {"[ab]", "b", true},
		{"[^ab]", "b", false},
		{"[^ab]", "c", true}, {"[a-c]x", "bx", true}, {"[c-a]x", "bx", true}, {"[a-c]x", "dx", false}, {`\*`, "*", true},
		{`\*`, "a", false},
		{`[\]]`, "]", true}, {"__keyspace@4__:ACL_RULE|*", "__keyspace@4__:ACL_RULE|T|R", true},
		{"__keyspace@4__:ACL_RULE|*", "__keyspace@4__:ACL_RULE", false},
	} {
		if got := glob.Match(tt.pattern, tt.s); got != tt.want {
			t.Errorf("%q matches %q: %v", tt.pattern, tt.s, got)
		}
	}
}

// FuzzGlob: if the prefix of a pattern matches, only the rest remains to be matched.
func FuzzGlob(f *testing.F) {
	f.Add("a*[b-", "abc")
	f.Add(`\`, "x")
	f.Add("[", "[")
	f.Fuzz(func(t *testing.T, pattern, s string) {
		if len(pattern) > 20 || len(s) > 40 || strings.Count(pattern, "*") > 4 {
			return // takes exponential time, as in Redis
		}
		prefix, plain := glob.Prefix(pattern)
		if got := glob.Match(pattern, s); got && !strings.HasPrefix(s, prefix) ||
			plain && got != strings.HasPrefix(s, prefix) {
			t.Errorf("%q matches %q: %v, prefix %q", pattern, s, got, prefix)
		}
		if quoted := globEscape(s); !glob.Match(quoted, s) {
			t.Errorf("%q does not match %q", quoted, s)
		}
	})
}

// TestShapes: a map that grows field by field makes few shapes. A row stays packed if its fields come and go.
func TestShapes(t *testing.T) {
	s, dial := startDirect(t)
	c := dial()
	for n := range 100 {
		c.send("HSET", "map", fmt.Sprint(n), "x")
		c.want(":1")
		c.send("HSET", "T:row", "status", "failed", "reason", "x")
		c.want(map[bool]string{true: ":2", false: ":1"}[n == 0])
		c.send("HDEL", "T:row", "reason")
		c.want(":1")
	}
	c.send("HLEN", "map")
	c.want(":100")
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.packed.shapes); n > maxMade+4 {
		t.Errorf("%d shapes", n)
	}
	if _, packed := s.packed.dbs[0]["T:row"]; !packed {
		t.Error("the row is not packed")
	}
	if _, packed := s.packed.dbs[0]["map"]; packed {
		t.Error("the map is packed")
	}
}
