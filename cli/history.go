package cli

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// mostHistory is how many lines the history keeps.
const mostHistory = 500

// history remembers lines, the newest last, and appends them to a file.
type history struct {
	lines []string
	file  *os.File

	wanted, shown string // what is searched for, and the line that was found last
	at            int    // where it is in lines
}

// search finds the newest line that holds a text, and, asked again with what it has found, the one before that; false:
// there is none (more).
func (h *history) search(text string) (string, bool) {
	if text != h.shown || h.shown == "" {
		h.wanted, h.at = text, len(h.lines)
	}
	for i := h.at - 1; i >= 0; i-- {
		if l := h.lines[i]; strings.Contains(l, h.wanted) && l != text {
			h.at, h.shown = i, l
			return l, true
		}
	}
	return "", false
}

// openHistory reads an earlier session's lines. Without a file, or if the file fails, the history
// is only in memory.
func openHistory(name string) (*history, error) {
	h := &history{}
	if name == "" {
		return h, nil
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return h, err
	}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		h.remember(lines.Text())
	}
	h.file = f
	return h, nil
}

func (h *history) remember(line string) {
	if h.lines = append(h.lines, line); len(h.lines) > mostHistory {
		h.lines = h.lines[1:]
	}
}

// Add is part of term.History. Blank lines and repeats are not kept.
func (h *history) Add(line string) {
	if strings.TrimSpace(line) == "" || len(h.lines) > 0 && h.lines[len(h.lines)-1] == line {
		return
	}
	h.remember(line)
	if h.file != nil {
		fmt.Fprintln(h.file, line)
	}
}

// Len is part of term.History.
func (h *history) Len() int { return len(h.lines) }

// At is part of term.History; 0 is the newest line.
func (h *history) At(i int) string { return h.lines[len(h.lines)-1-i] }

func (h *history) close() {
	if h.file != nil {
		h.file.Close()
	}
}
