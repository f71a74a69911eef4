package parquet

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"tamtam/collector/result"
)

// Options configure a store.
type Options struct {
	Dir   string
	Bytes int64         // size limit; 0 means DefaultBytes
	Age   time.Duration // maximum time since a file was written; 0 means no limit
}

// DefaultBytes is the default size limit of a store.
const DefaultBytes = 8 << 30

// A process tidies the store after every tidyEvery batches. While no batch can be kept it does so every tidyAgain,
// since expired files may use up the space.
const (
	tidyEvery = 64
	tidyAgain = time.Second
)

// A Store keeps batches as Parquet files. Several processes may share one folder.
type Store struct {
	dir   string
	most  int64
	age   time.Duration
	kinds []kind
	looks looks

	scanning chan struct{} // held by the scan that is running

	mu        sync.Mutex
	puts      int               // number of batches since the last tidy
	failed    bool              // true if a Put has failed since the last tidy
	tidied    time.Time         // time of the last tidy
	tried     map[string]string // batch by partition whose mark the last Put tried to link
	forgotten Forgotten
}

// Forgotten counts the files that this process removed for age or size.
type Forgotten struct {
	Files, Bytes int64
}

// Folders of a store, in addition to the folder of each kind.
const (
	marks   = "marks"  // last batch of each partition: marks/PARTITION/FIRST
	written = "unseen" // files of batches that are not marked yet; a file under its final name hides its batch
)

// Open opens a store, and creates missing folders.
func Open(o Options) (*Store, error) {
	if o.Dir == "" || o.Bytes < 0 || o.Age < 0 {
		return nil, fmt.Errorf("the store: folder %q, %d bytes, age %s: want a folder, and nothing negative",
			o.Dir, o.Bytes, o.Age)
	}
	if o.Bytes == 0 {
		o.Bytes = DefaultBytes
	}
	s := &Store{dir: o.Dir, most: o.Bytes, age: o.Age, kinds: kinds(), tried: map[string]string{},
		scanning: make(chan struct{}, 1)}
	for _, dir := range append(s.folders(), marks, written) {
		if err := os.MkdirAll(filepath.Join(s.dir, dir), 0o755); err != nil {
			return nil, fmt.Errorf("the store: %w", err)
		}
	}
	if err := s.writeEmpty(); err != nil {
		return nil, fmt.Errorf("the store: %w", err)
	}
	return s, s.tidy(time.Now())
}

// noRows is a file of each kind without rows, so that a reader of KIND/*.parquet finds a file, and the columns.
const noRows = "none.parquet"

// writeEmpty writes the files without rows, since existing ones may lack new columns. If the disk is full it continues:
// only other programs need them.
func (s *Store) writeEmpty() error {
	for _, k := range s.kinds {
		unseen := s.unseen(k.name, mark{Batch: rand.Text()})
		err := k.empty(unseen)
		if err == nil {
			err = os.Rename(unseen, filepath.Join(s.dir, k.name, noRows))
		}
		if err != nil {
			_ = os.Remove(unseen)
			if err = s.away(err); !errors.Is(err, result.ErrAway) {
				return err
			}
		}
	}
	return nil
}

func (s *Store) folders() (names []string) {
	for _, k := range s.kinds {
		names = append(names, k.name)
	}
	return names
}

// A mark records that a batch is kept, and the files of its rows.
type mark struct {
	Batch    string // its files are written as unseen/KIND.Batch
	Name     string // and then renamed to KIND/Name
	Kinds    []string
	Position result.Position
	first    uint64
}

// away wraps an error of the file system as a temporary one: disk space and unmounted file systems can come back.
func (s *Store) away(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return fmt.Errorf("the store in %s %w: %w", s.dir, result.ErrAway, err)
	}
	return err
}

// Put implements result.Store.
func (s *Store) Put(_ context.Context, b *result.Batch) (kept bool, err error) {
	if err = s.tidyIfDue(); err == nil {
		kept, err = s.put(b)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.failed = true
		return false, s.away(err)
	}
	delete(s.tried, b.Partition)
	s.puts++
	return kept, nil
}

func (s *Store) tidyIfDue() error {
	now := time.Now()
	s.mu.Lock()
	due := s.puts >= tidyEvery || s.failed && now.Sub(s.tidied) >= tidyAgain
	if due {
		s.puts, s.failed, s.tidied = 0, false, now
	}
	s.mu.Unlock()
	if due {
		return s.tidy(now)
	}
	return nil
}

func (s *Store) put(b *result.Batch) (kept bool, err error) {
	last, err := s.last(b.Partition)
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	ours := last.Batch != "" && last.Batch == s.tried[b.Partition] && last.first == b.First
	s.mu.Unlock()
	if ours {
		return true, syncDir(filepath.Join(s.dir, marks, b.Partition))
	}
	if err := b.Check(last.Position.Last); err != nil {
		return false, err
	}
	if b.First <= last.Position.Last {
		return false, nil
	}
	m := mark{Batch: rand.Text(), Name: nameOf(b), Position: b.Position, first: b.First}
	if m.Kinds, err = s.write(b, m); err == nil {
		kept, err = s.mark(b.Partition, m)
	}
	if !kept {
		s.discard(m)
		return false, err
	}
	if err == nil {
		err = s.show(b.Partition, m)
	}
	return true, err
}

// write writes the files of a batch, one for each kind with rows.
func (s *Store) write(b *result.Batch, m mark) (kinds []string, err error) {
	for _, k := range s.kinds {
		n, err := k.write(s.unseen(k.name, m), b)
		if err != nil {
			return nil, fmt.Errorf("batch %d of partition %s: %w", b.First, b.Partition, err)
		}
		if n > 0 {
			kinds = append(kinds, k.name)
		}
	}
	return kinds, syncDir(filepath.Join(s.dir, written))
}

func (s *Store) unseen(kind string, m mark) string {
	return filepath.Join(s.dir, written, kind+"."+m.Batch)
}

func (s *Store) discard(m mark) {
	for _, k := range s.kinds {
		_ = os.Remove(s.unseen(k.name, m)) // if this fails, tidy removes it
	}
}

// mark marks a batch. kept is false if its mark, or a later one, exists already. On an error kept is true if the mark
// may exist.
func (s *Store) mark(partition string, m mark) (kept bool, err error) {
	dir := filepath.Join(s.dir, marks, partition)
	text, err := json.Marshal(m)
	if err != nil {
		return false, err
	}
	scratch := s.unseen("mark", m)
	defer os.Remove(scratch)
	if err := writeSynced(scratch, text); err != nil {
		return false, err
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return false, err
	}
	if err := syncDir(filepath.Join(s.dir, marks)); err != nil {
		return false, err
	}
	s.mu.Lock()
	s.tried[partition] = m.Batch
	s.mu.Unlock()
	path := filepath.Join(dir, number(m.first))
	switch err := os.Link(scratch, path); {
	case errors.Is(err, fs.ErrExist):
		return false, nil
	case err != nil:
		_, there := os.Lstat(path)
		return !errors.Is(there, fs.ErrNotExist), err
	}
	// The mark of this batch may have been removed since the check, and later ones added: then it was kept before.
	firsts, err := s.firsts(partition)
	if err != nil {
		return true, err
	}
	if firsts[len(firsts)-1] > m.first {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return true, err
		}
		return false, nil
	}
	return true, syncDir(dir)
}

// show renames the files of a marked batch to their final names, and then removes older marks. It may be repeated.
func (s *Store) show(partition string, m mark) error {
	for _, k := range m.Kinds {
		to := filepath.Join(s.dir, k, m.Name)
		if err := os.Rename(s.unseen(k, m), to); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the store: %w", err)
		}
		if err := syncDir(filepath.Join(s.dir, k)); err != nil {
			return err
		}
	}
	firsts, err := s.firsts(partition)
	if err != nil {
		return err
	}
	for _, first := range firsts {
		if first < m.first {
			err := os.Remove(filepath.Join(s.dir, marks, partition, number(first)))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("the store: %w", err)
			}
		}
	}
	return nil
}

// firsts returns the first messages of the marked batches of a partition, in order.
func (s *Store) firsts(partition string) (firsts []uint64, err error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, marks, partition))
	if errors.Is(err, fs.ErrNotExist) {
		_, err := os.Stat(filepath.Join(s.dir, marks)) // otherwise the partition is not new, but the store is away
		return nil, err
	}
	for _, e := range entries {
		n, err := strconv.ParseUint(e.Name(), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("the store: %s/%s/%s/%s: the name is no number", s.dir, marks, partition, e.Name())
		}
		firsts = append(firsts, n)
	}
	slices.Sort(firsts)
	return firsts, err
}

// last returns the last mark of a partition, and shows its files if a process died before it could.
func (s *Store) last(partition string) (mark, error) {
	if err := checkPartition(partition); err != nil {
		return mark{}, err
	}
	for {
		firsts, err := s.firsts(partition)
		if err != nil || len(firsts) == 0 {
			return mark{}, err
		}
		first := firsts[len(firsts)-1]
		path := filepath.Join(s.dir, marks, partition, number(first))
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a later mark has replaced it
		}
		m := mark{first: first}
		if err == nil {
			err = json.Unmarshal(text, &m)
		}
		if err != nil {
			return mark{}, fmt.Errorf("the store: mark %s: %w", path, err)
		}
		return m, s.show(partition, m)
	}
}

// Last implements result.Store.
func (s *Store) Last(_ context.Context, partition string) (result.Position, error) {
	m, err := s.last(partition)
	return m.Position, s.away(err)
}

// Forgotten returns the counts of the files removed for age or size.
func (s *Store) Forgotten() Forgotten {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.forgotten
}

// showAll shows the batches of processes that died after they marked them. It returns the names of the files that could
// not all be shown.
func (s *Store) showAll() (hidden map[string]bool, err error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, marks))
	hidden = map[string]bool{}
	for _, e := range entries {
		m, lastErr := s.last(e.Name())
		err = errors.Join(err, lastErr)
		hidden[m.Name] = lastErr != nil
	}
	return hidden, err
}

// checkPartition returns an error if the name of a partition cannot be part of a file name.
func checkPartition(name string) error {
	ok := name != "" && len(name) <= 64
	for _, c := range []byte(name) {
		ok = ok && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-')
	}
	if !ok {
		return fmt.Errorf("the store: partition %.80q: want 1 to 64 of the characters a-z, 0-9 and -", name)
	}
	return nil
}

// number formats a number so that names sort as numbers do.
func number(n uint64) string { return fmt.Sprintf("%020d", n) }

// nameOf returns the name of a batch's files: partition, first and last message, and the time span of its rows.
func nameOf(b *result.Batch) string {
	from, to, ok := b.Span()
	if !ok {
		from, to = b.Closed, b.Closed
	}
	return strings.Join([]string{
		b.Partition, number(b.First), number(b.Last), strconv.FormatInt(from, 10), strconv.FormatInt(to, 10), "parquet",
	}, ".")
}

func writeSynced(path string, data []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Sync(), file.Close())
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
