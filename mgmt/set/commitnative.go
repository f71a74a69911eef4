package set

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tamtam/swss"
)

// commitScript writes the rows of a Set. An embedded server runs it without Lua, which for 20,000 rows would delay all
// other clients several times as long.
var commitScript = swss.NewScript(commitText).Natively(commitNatively)

// A commitRow is a row as it was read, and its changes. read and set hold fields and values alternately.
type commitRow struct {
	key       string
	read, set []string
	gone      bool
	del       []string
}

// commitNatively does the same as commit.lua for the embedded server.
func commitNatively(r *swss.ScriptRun) (reply string, ok bool) {
	if len(r.Keys) != 0 || len(r.Args) != 1 {
		return "", false
	}
	u := unpacker{rest: r.Args[0]}
	marks, began, mine := u.next(), u.next(), u.next()
	var rows []commitRow
	for u.rest != "" && !u.bad {
		row := commitRow{key: u.next(), read: u.words(2 * u.number())}
		set := u.number()
		row.gone = set < 0
		row.set, row.del = u.words(2*set), u.words(u.number())
		rows = append(rows, row)
	}
	if u.bad {
		return "", false
	}
	turn := ""
	if is := r.HMGet(marks, "turn")[0]; is != nil {
		turn = *is
	}
	if turn != began {
		return bulk(marks), true
	}
	for _, row := range rows {
		if !row.still(r) {
			return bulk(row.key), true
		}
	}
	r.Do("HSET", marks, "turn", mine)
	for _, row := range rows {
		if row.gone {
			r.Do("DEL", row.key)
		}
		for part := range slices.Chunk(row.set, 1000) {
			r.Do("HSET", append([]string{row.key}, part...)...)
		}
		for part := range slices.Chunk(row.del, 1000) {
			r.Do("HDEL", append([]string{row.key}, part...)...)
		}
	}
	return bulk(""), true
}

// still reports whether a row is as it was read.
func (c commitRow) still(r *swss.ScriptRun) bool {
	n := len(c.read) / 2
	if r.Do("HLEN", c.key) != fmt.Sprintf(":%d\r\n", n) {
		return false
	}
	fields := make([]string, n)
	for i := range fields {
		fields[i] = c.read[2*i]
	}
	if n == 0 {
		return true
	}
	for i, v := range r.HMGet(c.key, fields...) {
		if v == nil || *v != c.read[2*i+1] {
			return false
		}
	}
	return true
}

func bulk(text string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }

// An unpacker decodes the output of pack.
type unpacker struct {
	rest string
	bad  bool
}

func (u *unpacker) next() string {
	size, rest, found := strings.Cut(u.rest, ":")
	n, err := strconv.Atoi(size)
	if !found || err != nil || n < 0 || n > len(rest) {
		u.bad, u.rest = true, ""
		return ""
	}
	u.rest = rest[n:]
	return rest[:n]
}

func (u *unpacker) number() int {
	n, err := strconv.Atoi(u.next())
	u.bad = u.bad || err != nil
	return n
}

// words returns the next n items, or none if n is negative.
func (u *unpacker) words(n int) (list []string) {
	for range max(n, 0) {
		if u.bad {
			break
		}
		list = append(list, u.next())
	}
	return list
}
