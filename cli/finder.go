package cli

import (
	"fmt"
	"io"
	"unicode/utf8"
)

// A finder searches the history while the user types, as Ctrl-R in other shells. It has a row of its own below the line
// that is edited.
type finder struct {
	history *history
	keys    *keyReader
	out     io.Writer
	width   int // columns of the screen

	text string // the text searched for
	at   int    // index of the line found, or the number of lines if none was found
	lost bool   // true if no line contains the text
}

// find returns the line that the user selects, or the edited line if there is none. The search begins with the edited
// line. column is the place of the cursor, in characters from the beginning of the prompt. The key that ends the search
// is left to the editor, so that Enter also runs the line. Ctrl-G gives up.
func (f *finder) find(line string, column int) string {
	f.text, f.at = line, len(f.history.lines)
	f.search(len(f.history.lines))
	f.write("\r\n")
	defer func() { f.write("\r\x1b[K\x1b[A\x1b[%dG", column%f.width+1) }()
	for {
		f.show()
		key, ok := f.key()
		switch {
		case !ok, key == keyCtrlG:
			return line
		case key == keyCtrlR:
			f.search(f.at)
		case key == keyBackspace, key == keyDelete:
			_, n := utf8.DecodeLastRuneInString(f.text)
			f.text = f.text[:len(f.text)-n]
			f.search(len(f.history.lines))
		case key >= ' ':
			f.text += string(key)
			f.search(min(f.at+1, len(f.history.lines))) // the line found may contain the longer text too
		default:
			f.keys.rest = append([]byte(string(key)), f.keys.rest...)
			if f.at < len(f.history.lines) {
				return f.history.lines[f.at]
			}
			return line
		}
	}
}

// search finds the newest line with the text that is older than the line at an index. Without one, it keeps the present
// line.
func (f *finder) search(before int) {
	if f.text == "" {
		f.at, f.lost = len(f.history.lines), false
		return
	}
	i := f.history.search(f.text, before)
	if f.lost = i < 0; !f.lost {
		f.at = i
	}
}

// key returns the next key. It returns false at the end of the input.
func (f *finder) key() (rune, bool) {
	var b []byte
	for one := make([]byte, 1); ; {
		if _, err := io.ReadFull(f.keys, one); err != nil {
			return 0, false
		}
		if b = append(b, one[0]); utf8.FullRune(b) {
			r, _ := utf8.DecodeRune(b)
			return r, true
		}
	}
}

// show writes the text and the line found, cut at the edge of the screen.
func (f *finder) show() {
	found := ""
	if f.at < len(f.history.lines) {
		found = f.history.lines[f.at]
	}
	head := "search"
	if f.lost {
		head = "nothing older has"
	}
	row := []rune(fmt.Sprintf("(%s) %s: %s", head, f.text, found))
	f.write("\r\x1b[K%s", string(row[:min(len(row), f.width-1)]))
}

func (f *finder) write(format string, args ...any) { _, _ = fmt.Fprintf(f.out, format, args...) }
