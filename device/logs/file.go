package logs

import (
	"fmt"
	"os"
	"sync"
)

// Of an audit trail so much is kept: the file, and earlier ones beside it, FILE.1 the newest.
const (
	FileBytes = 10 << 20 // of one
	FilesKept = 5        // earlier ones
)

// A File is one that is appended to, and bounded: when it has FileBytes it is renamed to FILE.1, and so on. Who renames
// or removes it, as logrotate does, need tell nobody: the next line goes into a new one. It is for its owner alone.
type File struct {
	name string
	most int64

	mu   sync.Mutex
	file *os.File
	info os.FileInfo
	size int64
}

// OpenFile opens such a file.
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

// Write implements io.Writer: each call is a line.
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

// prepare sees to it that there is a file with room for a line.
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
			os.Rename(f.numbered(i), f.numbered(i+1)) // there may be none
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
