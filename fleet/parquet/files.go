package parquet

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tamtam/collector/result"
)

// files describes the files of one batch: their name, and the kinds that have one.
type files struct {
	name      string
	partition string
	first     uint64
	last      uint64
	from, to  int64
	kinds     []kind
}

func parseName(name string) (f files, ok bool) {
	part := strings.Split(name, ".")
	if len(part) != 6 || part[5] != "parquet" || checkPartition(part[0]) != nil {
		return files{}, false
	}
	first, firstErr := strconv.ParseUint(part[1], 10, 64)
	last, lastErr := strconv.ParseUint(part[2], 10, 64)
	from, fromErr := strconv.ParseInt(part[3], 10, 64)
	to, toErr := strconv.ParseInt(part[4], 10, 64)
	f = files{name: name, partition: part[0], first: first, last: last, from: from, to: to}
	return f, errors.Join(firstErr, lastErr, fromErr, toErr) == nil
}

// list returns the files of all batches, in the order of partitions and messages. Batches that are being removed are
// left out.
func (s *Store) list() ([]*files, error) {
	by := map[string]*files{}
	for _, k := range s.kinds {
		entries, err := os.ReadDir(filepath.Join(s.dir, k.name))
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			f, ok := parseName(e.Name())
			if !ok {
				continue // an unknown file
			}
			if by[f.name] == nil {
				by[f.name] = &f
			}
			by[f.name].kinds = append(by[f.name].kinds, k)
		}
	}
	entries, err := os.ReadDir(filepath.Join(s.dir, written)) // after the folders of kinds: see forget
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		delete(by, e.Name())
	}
	all := slices.Collect(maps.Values(by))
	slices.SortFunc(all, func(a, b *files) int {
		return cmp.Or(cmp.Compare(a.partition, b.partition), cmp.Compare(a.first, b.first))
	})
	return all, nil
}

// Each implements result.Store. A batch that is removed in the meantime is left out as a whole. Batches without rows
// are left out, and so are the gaps of each batch's position, which Last returns.
func (s *Store) Each(ctx context.Context, from, to int64, yield func(*result.Batch) bool) error {
	all, err := s.list()
	if err != nil {
		return err
	}
	var unread result.Unread
	for _, f := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		if f.to < from || f.from > to {
			continue
		}
		b, parts, gone := &result.Batch{Partition: f.partition, First: f.first}, 0, false
		for _, k := range f.kinds {
			path := filepath.Join(s.dir, k.name, f.name)
			switch err := k.read(path, b); {
			case err == nil:
				parts++
			case errors.Is(err, fs.ErrNotExist):
				gone = true
			default:
				unread.Add(err)
				s.looks.failed(path, err)
			}
		}
		if parts > 0 && !gone && !yield(b) {
			break
		}
	}
	return unread.Err()
}

// Rows is a store limited to some kinds of rows, for reading.
type Rows struct{ store *Store }

// Losses returns the rows of alternate marking, and their amendments: files of other kinds are not opened.
func (s *Store) Losses() Rows {
	only := slices.DeleteFunc(slices.Clone(s.kinds), func(k kind) bool { return k.name != "losses" && k.name != "amends" })
	return Rows{&Store{dir: s.dir, kinds: only}}
}

// Each reads rows as [Store.Each] does.
func (r Rows) Each(ctx context.Context, from, to int64, yield func(*result.Batch) bool) error {
	return r.store.Each(ctx, from, to, yield)
}

// strayAfter is the age at which a file without a marked batch counts as left behind by a process that died.
const strayAfter = time.Hour

// An expiring batch is one that tidy removes, or may remove.
type expiring struct {
	name  string
	at    time.Time // time of its first file
	begun bool      // true if its removal has begun
	files []expiringFile
}

type expiringFile struct {
	dir, path string
	size      int64
}

// tidy removes the oldest batches, by age and size, and files that were left behind. A batch is removed with all its
// files: with some of them it would seem to be complete.
func (s *Store) tidy(now time.Time) error {
	// The disk may be full: then it is even more important to remove the oldest.
	hidden, unshown := s.showAll()
	by := map[string]*expiring{}
	total := int64(0)
	for _, dir := range append(s.folders(), written) {
		entries, err := os.ReadDir(filepath.Join(s.dir, dir))
		if err != nil {
			return err
		}
		for _, e := range entries {
			info, err := e.Info()
			if err != nil {
				continue // the file is gone
			}
			f, at := expiringFile{dir, filepath.Join(s.dir, dir, e.Name()), info.Size()}, info.ModTime()
			if _, ok := parseName(e.Name()); ok {
				b := by[e.Name()]
				if b == nil {
					b = &expiring{name: e.Name(), at: at}
					by[b.name] = b
				}
				if at.Before(b.at) {
					b.at = at
				}
				b.begun = b.begun || dir == written
				b.files = append(b.files, f)
				total += f.size
			} else if dir == written && unshown == nil && now.Sub(at) > strayAfter {
				_ = os.Remove(f.path) // if this fails, the next call retries it
			}
		}
	}
	all := slices.SortedFunc(maps.Values(by), func(a, b *expiring) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.name, b.name))
	})
	var old []*expiring
	for _, begun := range []bool{true, false} {
		for _, b := range all {
			expired := total > s.most || s.age > 0 && now.Sub(b.at) > s.age
			if b.begun != begun || !begun && (!expired || hidden[b.name]) {
				continue
			}
			for _, f := range b.files {
				total -= f.size
			}
			old = append(old, b)
		}
	}
	return errors.Join(s.forget(old), unshown)
}

// forget removes batches. A process that is killed on the way, or a host that loses its power, must not leave a part of
// a batch, which would seem to be all of it. So the first step makes the whole batch invisible to list: it moves one
// file to the folder of unseen files. That needs no space on a full disk. Whatever is then left is removed by the next
// tidy. The file of amendments, which has the flags of the others, is removed last for other readers of the files.
func (s *Store) forget(old []*expiring) error {
	if len(old) == 0 {
		return nil
	}
	for _, b := range old {
		if !b.begun {
			first := &b.files[0]
			hidden := filepath.Join(s.dir, written, b.name)
			if err := os.Rename(first.path, hidden); err != nil && !errors.Is(err, fs.ErrNotExist) { // another process did
				return err
			}
			first.dir, first.path = written, hidden
		}
	}
	if err := s.syncAll(written); err != nil {
		return err
	}
	for _, last := range []bool{false, true} { // the hiding files last, when the removal of the others is on the disk
		for _, b := range old {
			for _, f := range b.files {
				if (f.dir == written) != last {
					continue
				}
				if err := s.forgetFile(&f); err != nil {
					return err
				}
			}
		}
		if err := s.syncAll(s.folders()...); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) forgetFile(f *expiringFile) error {
	err := os.Remove(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		s.mu.Lock()
		s.forgotten.Files++
		s.forgotten.Bytes += f.size
		s.mu.Unlock()
	}
	return err
}

func (s *Store) syncAll(folders ...string) error {
	for _, dir := range folders {
		if err := syncDir(filepath.Join(s.dir, dir)); err != nil {
			return err
		}
	}
	return nil
}
