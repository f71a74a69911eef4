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

// Options bound a store.
type Options struct {
	Dir   string
	Bytes int64         // 0: DefaultBytes
	Age   time.Duration // since a file was written; 0: for ever
}

// DefaultBytes is what a store keeps unless it is told.
const DefaultBytes = 8 << 30

// A process looks whether the store has grown too large every so many batches; and while no batch can be kept, every so
// often: what is too old may be what takes the room.
const (
	tidyEvery = 64
	tidyAgain = time.Second
)

// A Store keeps batches as Parquet files. Several processes may keep theirs in one folder.
type Store struct {
	dir   string
	most  int64
	age   time.Duration
	kinds []kind
	looks looks

	mu        sync.Mutex
	puts      int               // since it was tidied
	failed    bool              // the last Put did, or one since
	tidied    time.Time         // when
	tried     map[string]string // by partition, the batch that was marked, as far as its last Put could tell
	forgotten Forgotten
}

// Forgotten is what was dropped for age or size, by this process.
type Forgotten struct {
	Files, Bytes int64
}

// Folders of a store besides those of the kinds.
const (
	marks   = "marks"  // each partition's last batch: marks/PARTITION/FIRST
	written = "unseen" // files of batches that are not marked yet
)

// Open opens a store, and makes what is missing of its folders.
func Open(o Options) (*Store, error) {
	if o.Dir == "" || o.Bytes < 0 || o.Age < 0 {
		return nil, fmt.Errorf("the store: folder %q, %d bytes, age %s: want a folder, and nothing negative",
			o.Dir, o.Bytes, o.Age)
	}
	if o.Bytes == 0 {
		o.Bytes = DefaultBytes
	}
	s := &Store{dir: o.Dir, most: o.Bytes, age: o.Age, kinds: kinds(), tried: map[string]string{}}
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

// noRows is a file of each kind without rows, so that whoever reads KIND/*.parquet finds a file, and the columns.
const noRows = "none.parquet"

// writeEmpty writes the files without rows: those that are there may be from before a column came. Without room it goes
// on: only others miss them.
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

// A mark says that a batch is kept, and which files have its rows.
type mark struct {
	Batch    string // its files are written as unseen/KIND.Batch
	Name     string // and then KIND/Name
	Kinds    []string
	Position result.Position
	first    uint64
}

// away returns an error of the file system as one that may pass: room comes back, and so does a file system that was
// away.
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

// tidyIfDue tidies up now and then.
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

// write writes the files of a batch, of those kinds that it has.
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

// discard removes what was written of a batch that is not kept.
func (s *Store) discard(m mark) {
	for _, k := range s.kinds {
		_ = os.Remove(s.unseen(k.name, m)) // else tidy does
	}
}

// mark marks a batch. One that comes when its mark, or a later one, is there is not kept. It is kept if there is an
// error behind which the mark may be there.
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
	// The mark of this batch may have gone since we looked, and others have come behind it: then it was kept before.
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

// show gives the files of a batch that is marked their names, and then takes older marks away. It does no harm twice.
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

// firsts returns the first messages of the batches of a partition that are marked, in order.
func (s *Store) firsts(partition string) (firsts []uint64, err error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, marks, partition))
	if errors.Is(err, fs.ErrNotExist) {
		_, err := os.Stat(filepath.Join(s.dir, marks)) // else it is not the partition that is new, but the store is away
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

// last returns the last mark of a partition, whose files it shows if a process died before it could.
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
			continue // a later one has come
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

// Forgotten is what was dropped for age or size.
func (s *Store) Forgotten() Forgotten {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.forgotten
}

// showAll shows what was marked by processes that died before they could.
func (s *Store) showAll() error {
	entries, err := os.ReadDir(filepath.Join(s.dir, marks))
	for _, e := range entries {
		_, lastErr := s.last(e.Name())
		err = errors.Join(err, lastErr)
	}
	return err
}

// checkPartition holds the name of a partition to what may be part of a file's.
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

// number writes a number so that names sort as numbers do.
func number(n uint64) string { return fmt.Sprintf("%020d", n) }

// nameOf is the name of a batch's files: partition, first and last message, and the time that its rows are about.
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
