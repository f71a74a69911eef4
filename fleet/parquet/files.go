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

// list returns the files of all batches, in the order of partitions and messages.
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
	var all []*files
	for _, f := range by {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b *files) int {
		return cmp.Or(cmp.Compare(a.partition, b.partition), cmp.Compare(a.first, b.first))
	})
	return all, nil
}

// Each implements result.Store. If a batch expires in the meantime, the caller may get only a part of it, or nothing.
// Batches without rows are left out, and so are the gaps of each batch's position, which Last returns.
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
		b, parts := &result.Batch{Partition: f.partition, First: f.first}, 0
		for _, k := range f.kinds {
			path := filepath.Join(s.dir, k.name, f.name)
			err := k.read(path, b)
			if err == nil {
				parts++
			} else if !errors.Is(err, fs.ErrNotExist) {
				unread.Add(err)
				s.looks.failed(path, err)
			}
		}
		if parts > 0 && !yield(b) {
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

// tidy removes the oldest batches, by age and size, and files that were left behind. A batch is removed with all its
// files: with some of them it would seem to be complete.
func (s *Store) tidy(now time.Time) error {
	unshown := s.showAll() // the disk may be full: then it is even more important to remove the oldest
	type file struct {
		path string
		size int64
	}
	type batch struct {
		name  string
		at    time.Time // time of its first file
		files []file
	}
	by := map[string]*batch{}
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
			f, at := file{filepath.Join(s.dir, dir, e.Name()), info.Size()}, info.ModTime()
			if _, ok := parseName(e.Name()); ok {
				b := by[e.Name()]
				if b == nil {
					b = &batch{name: e.Name(), at: at}
					by[b.name] = b
				}
				if at.Before(b.at) {
					b.at = at
				}
				b.files = append(b.files, f)
				total += f.size
			} else if dir == written && unshown == nil && now.Sub(at) > strayAfter {
				_ = os.Remove(f.path) // if this fails, the next call retries it
			}
		}
	}
	all := slices.SortedFunc(maps.Values(by), func(a, b *batch) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.name, b.name))
	})
	for _, b := range all {
		if total <= s.most && (s.age == 0 || now.Sub(b.at) <= s.age) {
			break
		}
		for _, f := range b.files {
			total -= f.size
			switch err := os.Remove(f.path); {
			case err == nil:
				s.mu.Lock()
				s.forgotten.Files++
				s.forgotten.Bytes += f.size
				s.mu.Unlock()
			case !errors.Is(err, fs.ErrNotExist):
				return err
			}
		}
	}
	return unshown
}
