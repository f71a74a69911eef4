package sweep

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"
)

// namedFiles holds the checksums of the files that an experiment names: configurations, captures, programs. Results
// depend on their contents. A file is read again only if its size or time has changed. If its content has changed then,
// that is an error, since all results of a sweep must be of the same files.
type namedFiles struct {
	mu   sync.Mutex
	sums map[string]fileSum
}

type fileSum struct {
	size int64
	at   time.Time
	sum  string
}

// forget clears the checksums before another sweep, since files may change between sweeps.
func (f *namedFiles) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sums = nil
}

// of returns the checksums of all regular files in dir that are named by values of an experiment or of settings, in any
// field. An unnecessary file only causes an unnecessary run. A missing one would confuse two different results.
func (f *namedFiles) of(dir string, experiment []byte, set []string) (map[string]string, error) {
	texts := [][]byte{experiment}
	for _, s := range set {
		if _, value, ok := strings.Cut(s, "="); ok {
			texts = append(texts, []byte(value))
		}
	}
	all := map[string]string{}
	for _, text := range texts {
		var root yaml.Node
		if yaml.Unmarshal(text, &root) != nil {
			continue // a setting may be a text that is not YAML, and has opened
		}
		for _, name := range scalars(nil, &root) {
			path := name
			if !filepath.IsAbs(name) {
				path = filepath.Join(dir, name)
			}
			sum, err := f.sum(path)
			if err != nil {
				return nil, err
			}
			if sum != "" {
				all[name] = sum
			}
		}
	}
	return all, nil
}

func scalars(all []string, n *yaml.Node) []string {
	if n.Kind == yaml.ScalarNode && n.Value != "" && len(n.Value) < 4096 && !strings.ContainsAny(n.Value, "\n\x00") {
		all = append(all, n.Value)
	}
	for _, child := range n.Content {
		all = scalars(all, child)
	}
	return all
}

// sum returns the checksum of a file, or "" if it is not a regular file.
func (f *namedFiles) sum(path string) (string, error) {
	info, err := os.Stat(path)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil || !info.Mode().IsRegular() {
		if _, was := f.sums[path]; was {
			return "", fmt.Errorf("%s is gone since the sweep began: want it as it was then", path)
		}
		return "", nil // the name is not that of a regular file
	}
	if s, ok := f.sums[path]; ok && s.size == info.Size() && s.at.Equal(info.ModTime()) {
		return s.sum, nil
	}
	now, err := sumOf(path)
	if err != nil {
		return "", err
	}
	if f.sums == nil {
		f.sums = map[string]fileSum{}
	}
	was := f.sums[path].sum
	if was != "" && was != now {
		return "", fmt.Errorf("%s was changed while the sweep ran: want it as it was when the sweep "+
			"began, or start the sweep again when it has ended", path)
	}
	f.sums[path] = fileSum{info.Size(), info.ModTime(), now}
	return now, nil
}

// sumOf returns the checksum of a file's content.
func sumOf(path string) (string, error) {
	in, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer in.Close()
	h := sha256.New()
	if _, err := io.Copy(h, in); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
