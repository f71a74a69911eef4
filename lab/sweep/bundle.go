package sweep

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tamtam/fleet/stream"
)

// Bounds of the bundle that is posted with a sweep.
const (
	maxBundle = 64 << 20 // bytes of files
	maxChunks = 2*maxBundle/stream.MaxData + 1
)

// A bundle holds everything that a worker needs for a sweep, except the program. The worker opens the experiment's
// files in a separate folder that contains nothing else.
type bundle struct {
	Sweep *File `json:"sweep"`
	// Path is the experiment's file where it was packed, for messages. It is empty if the experiment comes with tamtam.
	Path       string            `json:"path,omitempty"`
	Experiment []byte            `json:"experiment,omitempty"`
	Files      map[string][]byte `json:"files,omitempty"` // files that the experiment names
}

// pack returns the bundle of a sweep. The files that the experiment names must be in its folder or below it.
func (f *File) pack() ([]byte, error) {
	b := bundle{Sweep: f}
	if f.isFile() {
		b.Path = f.topology()
		var err error
		if b.Experiment, err = f.text(); err != nil {
			return nil, err
		}
	}
	set := slices.Clone(f.Set)
	for _, v := range f.Vary {
		for _, value := range v.Values {
			set = append(set, v.Path+"="+value)
		}
	}
	dir := filepath.Dir(f.topology())
	named, err := f.named.of(dir, b.Experiment, set)
	if err != nil {
		return nil, err
	}
	size := len(b.Experiment)
	b.Files = map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		switch {
		case !f.isFile():
			return nil, fmt.Errorf("experiment: %q: a setting names the file %q: want that of an experiment which is a file, "+
				"so that workers elsewhere have both", f.Experiment, name)
		case !filepath.IsLocal(name):
			return nil, fmt.Errorf("experiment: %q: it names the file %q: want files in its folder or below it, "+
				"so that workers elsewhere have them", f.Experiment, name)
		}
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		if size += int(min(info.Size(), maxBundle+1)); size > maxBundle {
			return nil, fmt.Errorf("experiment: %q: it and the files that it names, up to %q, have %d bytes and more: "+
				"want at most %d", f.Experiment, name, size, maxBundle)
		}
		if b.Files[name], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	return json.Marshal(b)
}

// unpack writes a bundle to a folder, and returns its sweep. The error is a damage, or an error of the disk.
func unpack(data []byte, dir string) (*unpacked, error) {
	var b bundle
	if err := strict(data, &b); err != nil {
		return nil, damage{"the sweep: " + err.Error()}
	}
	f := b.Sweep
	if f == nil {
		return nil, damage{"the sweep: there is none"}
	}
	if err := f.check(); err != nil {
		return nil, damage{"the sweep: " + err.Error()}
	}
	if f.isFile() != (b.Path != "") || len(b.Files) > 0 && b.Path == "" {
		return nil, damage{fmt.Sprintf("the sweep: experiment: %q, its file %q, %d files: want a file, "+
			"or a name and no files",
			f.Experiment, b.Path, len(b.Files))}
	}
	u := &unpacked{file: f, dir: dir, path: b.Path}
	if b.Path == "" {
		return u, nil
	}
	for name, text := range b.Files {
		if !filepath.IsLocal(name) {
			return nil, damage{fmt.Sprintf("the sweep: files: %q: want one in the experiment's folder or below it", name)}
		}
		if err := write(filepath.Join(dir, name), text); err != nil {
			return nil, err
		}
	}
	base := filepath.Base(b.Path)
	if !filepath.IsLocal(base) || base == "." {
		return nil, damage{fmt.Sprintf("the sweep: path: %q: want that of a file", b.Path)}
	}
	f.at = filepath.Join(dir, base)
	return u, write(f.at, b.Experiment)
}

func write(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

// unpacked is a sweep that a worker has written to a folder.
type unpacked struct {
	file  *File
	dir   string
	path  string // path of the experiment where it was packed
	users int
}

// withPackedPaths replaces the worker's paths in a message with those where the sweep was packed. So all workers report
// the same text.
func (u *unpacked) withPackedPaths(message string) string {
	if u.path == "" {
		return message
	}
	dir := filepath.Dir(u.path)
	beside := dir + string(filepath.Separator)
	if dir == "." {
		beside = ""
	}
	return strings.NewReplacer(u.file.at, u.path, u.dir+string(filepath.Separator), beside, u.dir, dir).Replace(message)
}

// putBundle appends a bundle to the log. Its messages are consecutive.
func (b *Board) putBundle(ctx context.Context, data []byte) (chunks, error) {
	sum := sha256.Sum256(data)
	for {
		c := chunks{Sum: hex.EncodeToString(sum[:])}
		for chunk := range slices.Chunk(data, stream.MaxData) {
			seq, err := b.Log.Append(ctx, b.Name+topicFiles, "", chunk)
			if err != nil {
				return c, err
			}
			if c.Count == 0 {
				c.First = seq
			}
			if seq != c.First+uint64(c.Count) {
				break // another sweep, which has not noticed yet that its turn is over
			}
			c.Count++
		}
		if c.Count*stream.MaxData >= len(data) {
			return c, nil
		}
	}
}

// getBundle reads a bundle.
func (b *Board) getBundle(ctx context.Context, c chunks) ([]byte, error) {
	var data []byte
	for n := 0; n < c.Count; {
		entries, err := b.Log.Read(ctx, b.Name+topicFiles, c.First+uint64(n), c.Count-n)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			data = append(data, e.Data...)
		}
		n += len(entries)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != c.Sum {
		return nil, damage{fmt.Sprintf("the sweep in messages %d to %d of topic %s has the sum %x: want %.80q",
			c.First, c.First+uint64(c.Count)-1, b.Name+topicFiles, sum, c.Sum)}
	}
	return data, nil
}
