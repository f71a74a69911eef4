package parquet

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"tamtam/collector/result"
)

// looks remembers of each file whether it can be read, so that one look at each is enough until it changes.
type looks struct {
	mu   sync.Mutex
	seen map[string]look
}

type look struct {
	size int64
	at   time.Time
	err  error // nil: it can be, as far as its columns and what it says of itself tell, and whoever read it
}

// lookAt is the look at a file as it is now, without whether it can be read.
func lookAt(path string) (look, error) {
	info, err := os.Stat(path)
	if err != nil {
		return look{}, err
	}
	return look{size: info.Size(), at: info.ModTime()}, nil
}

// lasts reports whether an error is of what a file has in it. What the file system says may pass.
func lasts(err error) bool {
	var errno syscall.Errno
	return !errors.As(err, &errno)
}

// failed notes that a file could not be read.
func (l *looks) failed(path string, err error) {
	now, gone := lookAt(path)
	if gone != nil || !lasts(err) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.err = err; l.seen == nil {
		l.seen = map[string]look{}
	}
	l.seen[path] = now
}

// Unread returns which files cannot be read: those whose end or columns are not as they must be, and those that Each
// failed at; nil if there are none. An error of another type is of the folder.
func (s *Store) Unread() error {
	all, err := s.list()
	if err != nil {
		return err
	}
	s.looks.mu.Lock()
	defer s.looks.mu.Unlock()
	var unread result.Unread
	seen := map[string]look{}
	for _, f := range all {
		for _, k := range f.kinds {
			path := filepath.Join(s.dir, k.name, f.name)
			now := s.looks.look(path, func() error {
				return k.check(path, &result.Batch{Partition: f.partition, First: f.first})
			})
			if now.err == nil || lasts(now.err) {
				seen[path] = now
			}
			if now.err != nil && !errors.Is(now.err, fs.ErrNotExist) {
				unread.Add(now.err)
			}
		}
	}
	s.looks.seen = seen
	return unread.Err()
}

// look checks a file if it is not the one that was looked at before. The lock is held.
func (l *looks) look(path string, check func() error) look {
	now, err := lookAt(path)
	before, known := l.seen[path]
	switch {
	case err != nil:
		now.err = err
	case known && before.size == now.size && before.at.Equal(now.at):
		return before
	default:
		now.err = check()
	}
	return now
}
