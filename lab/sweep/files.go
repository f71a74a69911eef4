package sweep

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"
)

// NamedFiles are those that an experiment names: configurations, captures, programs. What is in them is of what a
// result depends on. A file is read again only when its size or time has changed.
type namedFiles struct {
	mu   sync.Mutex
	sums map[string]fileSum
}

type fileSum struct {
	size int64
	at   time.Time
	sum  string
}

// of sums up all regular files in dir that values of an experiment or of settings name, whatever the field: one too
// many makes a run that need not be, one too few would take a result for another's.
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
			continue // a setting may be a text that is no YAML, and has opened
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

// sum is "" for what is no regular file.
func (f *namedFiles) sum(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return "", nil // a name of something else
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if s, ok := f.sums[path]; ok && s.size == info.Size() && s.at.Equal(info.ModTime()) {
		return s.sum, nil
	}
	in, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer in.Close()
	h := sha256.New()
	if _, err := io.Copy(h, in); err != nil {
		return "", err
	}
	if f.sums == nil {
		f.sums = map[string]fileSum{}
	}
	f.sums[path] = fileSum{info.Size(), info.ModTime(), hex.EncodeToString(h.Sum(nil))}
	return f.sums[path].sum, nil
}
