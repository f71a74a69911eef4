package parquet

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/parquet-go/parquet-go"

	"tamtam/collector/result"
)

// looks caches for each file whether it can be read, so that one check is enough until it changes.
type looks struct {
	mu   sync.Mutex
	seen map[string]look
}

type look struct {
	size int64
	at   time.Time
	err  error // nil if its columns and metadata can be read, and no reader has failed
}

// lookAt returns the current size and time of a file, without a check.
func lookAt(path string) (look, error) {
	info, err := os.Stat(path)
	if err != nil {
		return look{}, err
	}
	return look{size: info.Size(), at: info.ModTime()}, nil
}

// lasts reports whether an error is about the contents of a file. Errors of the file system may be temporary.
func lasts(err error) bool {
	var errno syscall.Errno
	return !errors.As(err, &errno)
}

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

// Unread returns an error with the files that cannot be read: their end or columns are wrong, or Each failed on them.
// It returns nil if there are none. An error of another type concerns the folder.
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
				return k.open(path, &result.Batch{Partition: f.partition, First: f.first},
					func(*parquet.File) error { return nil })
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

// look checks a file if it has changed since the last check. The caller holds the lock.
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
