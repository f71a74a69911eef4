package cli

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// mostHistory is the maximum number of lines in the history.
const mostHistory = 500

// history keeps lines, the newest last, and appends them to a file.
type history struct {
	lines []string
	file  *os.File
}

// search returns the index of the newest line that contains a text and is older than the line at an index. It skips
// lines that equal that line. It returns -1 if there is none.
func (h *history) search(text string, before int) int {
	for i := before - 1; i >= 0; i-- {
		if strings.Contains(h.lines[i], text) && (before == len(h.lines) || h.lines[i] != h.lines[before]) {
			return i
		}
	}
	return -1
}

// openHistory reads the lines of earlier sessions. Without a file, or if the file fails, the history is only in memory.
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

// Add implements term.History. It omits blank lines and repetitions.
func (h *history) Add(line string) {
	if strings.TrimSpace(line) == "" || len(h.lines) > 0 && h.lines[len(h.lines)-1] == line {
		return
	}
	h.remember(line)
	if h.file != nil {
		fmt.Fprintln(h.file, line)
	}
}

// Len implements term.History.
func (h *history) Len() int { return len(h.lines) }

// At implements term.History. 0 is the newest line.
func (h *history) At(i int) string { return h.lines[len(h.lines)-1-i] }

func (h *history) close() {
	if h.file != nil {
		h.file.Close()
	}
}
