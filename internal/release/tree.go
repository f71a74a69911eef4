package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"maps"
	"os"
	"path"
	"slices"
	"time"
)

// An entry is a file, a directory or a symbolic link of an archive.
type entry struct {
	kind     byte // one of archive/tar's types
	mode     int64
	uid, gid int
	text     []byte
	link     string
}

// A tree is the content of an archive, by path without a slash in front.
type tree map[string]entry

func (t tree) add(name string, mode int64, text []byte) {
	t[name] = entry{kind: tar.TypeReg, mode: mode, text: text}
}

func (t tree) addDir(name string, mode int64, uid, gid int) {
	t[name] = entry{kind: tar.TypeDir, mode: mode, uid: uid, gid: gid}
}

// addFile adds a file of the source tree.
func (t tree) addFile(name string, mode int64, source string) error {
	text, err := os.ReadFile(source)
	t.add(name, mode, text)
	return err
}

// tar returns the archive: sorted, with all directories, and with the same time everywhere.
func (t tree) tar(at time.Time) ([]byte, error) {
	all := maps.Clone(t)
	for name := range t {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, ok := all[dir]; !ok {
				all.addDir(dir, 0o755, 0, 0)
			}
		}
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		e := all[name]
		h := &tar.Header{Typeflag: e.kind, Name: name, Mode: e.mode, Uid: e.uid, Gid: e.gid, ModTime: at,
			Size: int64(len(e.text)), Linkname: e.link, Format: tar.FormatGNU}
		if e.kind == tar.TypeDir {
			h.Name += "/"
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.text); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

// zipped compresses with gzip, whose header then has neither a name nor a time.
func zipped(text []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(text) // a buffer takes everything
	_ = w.Close()
	return out.Bytes()
}
