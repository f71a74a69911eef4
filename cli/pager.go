package cli

import (
	"bytes"
	"io"

	"tamtam/internal/printable"
)

// A pager shows text a screen at a time.
type pager struct {
	con  console
	keys io.Reader
	out  io.Writer // destination of the text
}

// more is the prompt below a screen if more text follows.
const more = "--More--"

// show writes text, and waits for a key after each screen. Blank or f shows the next screen, enter or j a line, and G
// the rest. q or Ctrl-C ends it.
func (p *pager) show(text []byte) error {
	width, height := p.con.size()
	page := max(height-1, 1)
	room, keys := page, make([]byte, 1)
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		if rows := rowsOf(line, width); room < rows && room < page { // the screen has lines, and this line does not fit
			next, err := p.ask(keys, page)
			switch {
			case err != nil || next == 0:
				return err
			case next < 0:
				_, err := p.out.Write(text)
				return err
			}
			room = next - rows
		} else {
			room -= rows
		}
		if _, err := p.out.Write(text[:len(text)-len(rest)]); err != nil {
			return err
		}
		text = rest
	}
	return nil
}

// rowsOf returns the number of rows of a screen that a line needs.
func rowsOf(line []byte, width int) int {
	return max((printable.Width(string(line))+width-1)/width, 1)
}

// ask waits for a key, and returns how many more rows to show. -1 means all, and 0 means the end.
func (p *pager) ask(keys []byte, page int) (int, error) {
	restore, err := p.con.raw()
	if err != nil {
		return -1, nil // no key can be read
	}
	defer restore()
	if _, err := io.WriteString(p.con, more); err != nil {
		return 0, err
	}
	defer func() { _, _ = io.WriteString(p.con, "\r        \r") }()
	for {
		if _, err := io.ReadFull(p.keys, keys); err != nil {
			return 0, nil // the input has ended
		}
		switch keys[0] {
		case ' ', 'f':
			return page, nil
		case '\r', '\n', 'j':
			return 1, nil
		case 'G':
			return -1, nil
		case 'q', 'Q', keyCtrlC:
			return 0, nil
		}
	}
}
