package configfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Note records when, by which user and why a configuration was archived.
type Note struct {
	Time    time.Time `json:"time"`
	User    string    `json:"user"`              // the requesting user
	Kind    string    `json:"kind"`              // start, save, commit, before: see the operations of package mgmt
	Comment string    `json:"comment,omitempty"` // the user's words
	Rows    int       `json:"rows"`              // number of rows of CONFIG_DB

	Seq uint64 `json:"-"` // the number in its file's name; later ones have higher numbers
}

// An Archive is a directory of configurations, the newest first. The oldest are removed when there are more than Most.
// Each is a file of its own: a line with its [Note], followed by a config_db.json.
type Archive struct {
	Dir  string
	Most int
}

const archived = ".config"

// List returns the notes of the archived configurations, the newest first. An invalid file is omitted.
func (a Archive) List() ([]Note, error) {
	files, err := os.ReadDir(a.Dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var notes []Note
	for _, f := range files {
		name, ok := strings.CutSuffix(f.Name(), archived)
		seq, err := strconv.ParseUint(name, 10, 64)
		if !ok || err != nil {
			continue
		}
		if n, _, err := a.read(seq, maxNote); err == nil {
			notes = append(notes, n)
		}
	}
	slices.SortFunc(notes, func(x, y Note) int { return -compare(x.Seq, y.Seq) })
	return notes, nil
}

func compare(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// maxNote bounds the line with a note, in bytes.
const maxNote = 64 << 10

func (a Archive) file(seq uint64) string {
	return filepath.Join(a.Dir, fmt.Sprintf("%012d%s", seq, archived))
}

// read returns the note of a file, and the configuration that follows it. It reads at most the first most bytes of the
// file, so that rest may be incomplete.
func (a Archive) read(seq uint64, most int64) (n Note, rest []byte, err error) {
	f, err := os.Open(a.file(seq))
	if err != nil {
		return n, nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return n, nil, err
	}
	line, rest, whole := bytes.Cut(text, []byte("\n"))
	if !whole {
		return n, nil, fmt.Errorf("%s: no line with a note", f.Name())
	}
	if err := json.Unmarshal(line, &n); err != nil {
		return n, nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	n.Seq = seq
	return n, rest, nil
}

// Load returns a configuration of the archive.
func (a Archive) Load(seq uint64) (Note, Rows, error) {
	n, text, err := a.read(seq, MaxFile+maxNote)
	if err != nil {
		return n, nil, err
	}
	rows, err := Parse(text)
	if err != nil {
		return n, nil, fmt.Errorf("%s: %w", a.file(seq), err)
	}
	return n, rows, nil
}

// Add archives a configuration and returns its number. It removes the oldest configurations beyond the bound, but never
// the one with number except.
func (a Archive) Add(n Note, rows Rows, except uint64) (seq uint64, err error) {
	notes, err := a.List()
	if err != nil {
		return 0, err
	}
	if len(notes) > 0 {
		seq = notes[0].Seq + 1
	}
	n.Rows = rows.Count()
	line, err := json.Marshal(n)
	if err != nil {
		return 0, err
	}
	text, err := rows.JSON()
	if err != nil {
		return 0, err
	}
	if len(line) >= maxNote {
		return 0, fmt.Errorf("a comment of %d bytes: want fewer", len(n.Comment))
	}
	if err := os.MkdirAll(a.Dir, 0o700); err != nil {
		return 0, err
	}
	whole := io.MultiReader(bytes.NewReader(line), strings.NewReader("\n"), bytes.NewReader(text), strings.NewReader("\n"))
	if err := Write(a.file(seq), whole, 0o600); err != nil {
		return 0, err
	}
	for i, old := range notes {
		if i+1 >= a.Most && old.Seq != except {
			err = errors.Join(err, os.Remove(a.file(old.Seq)))
		}
	}
	return seq, err
}

// Count returns the number of rows.
func (c Rows) Count() (n int) {
	for _, rows := range c {
		n += len(rows)
	}
	return n
}
