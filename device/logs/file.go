package logs

import (
	"fmt"
	"os"
	"sync"
)

// Limits of an audit trail: the current file, and earlier ones beside it, of which FILE.1 is the newest.
const (
	FileBytes = 10 << 20 // maximum size of a file in bytes
	FilesKept = 5        // maximum number of earlier files
)

// A File is a bounded file for appending. When it reaches FileBytes, it is renamed to FILE.1, FILE.1 to FILE.2, and so
// on. It may be renamed or removed at any time, for example by logrotate. The next line is then written to a new file.
// Only its owner can read it.
type File struct {
	name string
	most int64

	mu   sync.Mutex
	file *os.File
	info os.FileInfo
	size int64
}

// OpenFile opens a bounded file for appending.
func OpenFile(name string) (*File, error) {
	f := &File{name: name, most: FileBytes}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f, f.open()
}

func (f *File) open() (err error) {
	if f.file, err = os.OpenFile(f.name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
		f.file = nil
		return err
	}
	if f.info, err = f.file.Stat(); err != nil {
		return err
	}
	f.size = f.info.Size()
	return nil
}

// Write implements io.Writer; each call writes one line.
func (f *File) Write(line []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.prepare(int64(len(line))); err != nil {
		return 0, err
	}
	n, err := f.file.Write(line)
	f.size += int64(n)
	return n, err
}

// prepare makes sure that there is an open file with space for a line.
func (f *File) prepare(more int64) error {
	info, err := os.Stat(f.name)
	moved := err != nil || f.info == nil || !os.SameFile(info, f.info)
	full := !moved && f.size > 0 && f.size+more > f.most
	if f.file != nil && !moved && !full {
		return nil
	}
	if f.file != nil {
		f.file.Close()
		f.file, f.info = nil, nil
	}
	if full {
		for i := FilesKept - 1; i > 0; i-- {
			os.Rename(f.numbered(i), f.numbered(i+1)) // the file may not exist
		}
		if err := os.Rename(f.name, f.numbered(1)); err != nil {
			return err
		}
	}
	return f.open()
}

func (f *File) numbered(i int) string { return fmt.Sprintf("%s.%d", f.name, i) }

// Close closes the file.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		return nil
	}
	file := f.file
	f.file, f.info = nil, nil
	return file.Close()
}
