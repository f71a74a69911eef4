package parquet

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// joined is the file of a store that contains the name of the log whose rows it has.
const joined = "log"

// Joins sets the name of the log whose rows the store keeps. It fails if the store has rows of another log: the
// positions in the marks are for that log, and messages of this one up to there would be skipped.
func (s *Store) Joins(log string) error {
	path := filepath.Join(s.dir, joined)
	scratch := s.unseen(joined, mark{Batch: rand.Text()})
	if err := writeSynced(scratch, []byte(log+"\n")); err != nil {
		return fmt.Errorf("the store: %w", err)
	}
	defer os.Remove(scratch)
	switch err := os.Link(scratch, path); {
	case err == nil:
		return syncDir(s.dir)
	case !errors.Is(err, fs.ErrExist):
		return fmt.Errorf("the store: %w", err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("the store: %w", err)
	}
	if before := strings.TrimSpace(string(text)); before != log {
		return fmt.Errorf("the store %s has the rows of log %s up to its marks, and this is log %s: want that log, or "+
			"another folder; without %s and %s what is there stays, and this log is joined from its beginning",
			s.dir, before, log, path, filepath.Join(s.dir, marks))
	}
	return nil
}
