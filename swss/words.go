package swss

import (
	"hash/maphash"
	"strings"
)

// words are strings that were lately stored in hashes: rows of a table have the same fields, and often the
// same values, which are kept once.
type words struct{ fields, values [1024]string }

var wordSeed = maphash.MakeSeed()

// share replaces fields and values of a command that stores some by equal ones that are stored already.
func (w *words) share(cmd string, args []string) {
	if cmd != "HSET" && cmd != "HMSET" {
		return
	}
	for i := 1; i < len(args); i++ {
		table := &w.fields
		if i%2 == 0 {
			table = &w.values
		}
		if len(args[i]) > 128 {
			args[i] = strings.Clone(args[i])
			continue
		}
		at := &table[maphash.String(wordSeed, args[i])%uint64(len(table))]
		if *at != args[i] {
			*at = strings.Clone(args[i]) // it may be a part of a long one
		}
		args[i] = *at
	}
}
