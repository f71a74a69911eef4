package kit

import (
	"fmt"
	"strings"
	"unicode"
)

// Nearest returns the word that a mistyped one is most likely meant to be, or "" if none resembles it. A third of the
// letters may be wrong, missing, extra or swapped with their neighbour. Case and dashes have no meaning.
func Nearest(typed string, words []string) string {
	best, found, plain := (len(typed)+1)/3, "", plainWord(typed)
	for _, w := range words {
		if d := distance(plain, plainWord(w)); d <= best && (found == "" || d < best) {
			best, found = d, w
		}
	}
	return found
}

// Suggest returns the end of an error about an unknown word: the word that may be meant or, if there are few words, all
// of them. It returns "" if neither helps.
func Suggest(typed string, words []string) string {
	const few = 8
	// Another number is not a mistyped word.
	if near := Nearest(typed, words); near != "" && strings.Trim(near, digits) != strings.Trim(typed, digits) {
		return fmt.Sprintf(": did you mean %q?", near)
	}
	switch n := len(words); {
	case n == 1:
		return ": there is only " + words[0]
	case n > 1 && n <= few:
		return ": there are " + strings.Join(words, ", ")
	}
	return ""
}

const digits = "0123456789"

// plainWord returns a word in lower case without dashes and underscores.
func plainWord(w string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' {
			return -1
		}
		return unicode.ToLower(r)
	}, w)
}

// distance returns the number of letters to insert, delete, replace or swap with their neighbour to turn a into b.
func distance(a, b string) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, now := rows[0], rows[1], rows[2]
		now[0] = i
		for j := 1; j <= len(b); j++ {
			now[j] = min(last[j]+1, now[j-1]+1, last[j-1]+IntOf(a[i-1] != b[j-1]))
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				now[j] = min(now[j], before[j-2]+1)
			}
		}
		rows = [3][]int{last, now, before}
	}
	return rows[1][len(b)]
}
