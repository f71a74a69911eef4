// Package printable makes texts of unknown origin safe to print on a terminal, and measures their width there.
//
// What belongs here: rules about characters that every program's output shares. Layout is cli/kit's.
package printable

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Line returns a text in which each character without a visible form is replaced by its escape sequence in Go, such as
// \x1b or \u202e. These are control characters, line breaks, characters that change the direction of text, and others
// of no width. Invalid UTF-8 becomes U+FFFD.
func Line(text string) string {
	return escaped(text, func(r rune) bool { return !unicode.IsGraphic(r) })
}

// Lines does the work of [Line], and leaves line feeds.
func Lines(text string) string { return escaped(text, hidden) }

func escaped(text string, hidden func(rune) bool) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, hidden) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if hidden(r) {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Document returns a document of JSON, or of YAML with such strings in double quotes, in which the characters without a
// visible form are escaped. It has the same value. Line feeds stay, since both encoders escape those within strings.
func Document(text []byte) []byte {
	if !bytes.ContainsFunc(text, hidden) {
		return text
	}
	var b []byte
	for _, r := range string(text) {
		if !hidden(r) {
			b = utf8.AppendRune(b, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			b = fmt.Appendf(b, `\u%04x`, unit)
		}
	}
	return b
}

func hidden(r rune) bool { return r != '\n' && !unicode.IsGraphic(r) }

// Width returns the number of columns that a text without hidden characters has on a terminal. East Asian wide
// characters have two columns, and marks that combine with the character before them have none.
func Width(text string) (columns int) {
	for _, r := range text {
		switch {
		case r < utf8.RuneSelf:
			columns++
		case unicode.In(r, unicode.Mn, unicode.Me), r >= 0x1160 && r <= 0x11ff: // the latter complete a Hangul syllable
		case wide(r):
			columns += 2
		default:
			columns++
		}
	}
	return columns
}

func wide(r rune) bool {
	kind := width.LookupRune(r).Kind()
	return kind == width.EastAsianWide || kind == width.EastAsianFullwidth
}

// Pad returns a text with blanks after it, up to a number of columns.
func Pad(text string, columns int) string {
	return text + strings.Repeat(" ", max(columns-Width(text), 0))
}
