package techsupport

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tamtam/device/doctor"
	"tamtam/mgmt/access"
	"tamtam/swss"
)

// itemTime is the time limit for the collection of one file of the archive.
const itemTime = 30 * time.Second

// An Item is one file of the archive.
type Item struct {
	Name string
	// Collect may return both text and err, for a partial file.
	Collect func(ctx context.Context) (text []byte, note string, err error)
}

// A Config describes the content of the archive.
type Config struct {
	Doctor doctor.Config
	Tails  []string // files of which only the end is packed: recordings and logs
	More   []Item
}

// A Manifest lists the files in the archive, and those that could not be collected.
type Manifest struct {
	Time    time.Time `json:"time"`
	Version string    `json:"version"`
	Secrets string    `json:"secrets"`
	Files   []File    `json:"files"`
	Failed  []Failure `json:"failed"`
}

// A File is a file of the archive.
type File struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes"`
	Note  string `json:"note,omitempty"` // what was cut
}

// A Failure describes a file that could not be collected.
type Failure struct {
	Name  string `json:"name"`
	Error string `json:"error"`
}

// Save writes the archive to a file atomically. Only its owner may read the file.
func Save(ctx context.Context, path string, cfg Config) (Manifest, error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".techsupport-*") // mode 0600
	if err != nil {
		return Manifest{}, err
	}
	defer os.Remove(f.Name()) // has no effect after the rename
	m, err := Write(ctx, f, cfg)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return m, err
}

// Write writes the archive: a tar, compressed by gzip. The same installation at the same time gives the same bytes.
func Write(ctx context.Context, w io.Writer, cfg Config) (Manifest, error) {
	c := &collection{manifest: Manifest{
		Time: cfg.Doctor.Now().UTC().Truncate(time.Second), Version: cfg.Doctor.Version,
		Secrets: fmt.Sprintf("replaced by %s; those of fewer than %d characters only where their field's name says "+
			"what they are", hiddenText, leastSecret),
		Failed: []Failure{},
	}, files: map[string][]byte{}, mostKeys: mostKeys}
	r := swss.Look(cfg.Doctor.Redis)
	defer r.Close()
	c.learnUsers(cfg.Doctor.Users)
	c.redis(ctx, r, cfg.Doctor)
	for _, item := range slices.Concat(hostItems(), tailItems(cfg.Tails), cfg.More) {
		c.collect(ctx, item)
	}
	c.doctor(ctx, cfg.Doctor)
	if err := ctx.Err(); err != nil {
		return c.manifest, err
	}
	return c.manifest, c.pack(w)
}

// A collection is the archive under construction.
type collection struct {
	manifest Manifest
	files    map[string][]byte
	secrets  secrets
	mostKeys int // limit for one database
}

// learnUsers adds the users' passwords to the secrets. The file itself is not packed.
func (c *collection) learnUsers(name string) {
	if name == "" {
		return
	}
	f, err := os.Open(name)
	if err != nil {
		c.failed("users", err)
		return
	}
	defer f.Close()
	list, err := access.ReadUsers(f)
	if err != nil {
		c.failed("users", fmt.Errorf("%s cannot be read: their passwords are not known as secrets", name))
	}
	for _, u := range list {
		c.secrets.learn(u.Password)
	}
}

func (c *collection) failed(name string, err error) {
	c.manifest.Failed = append(c.manifest.Failed, Failure{name, swss.Why(err)})
}

// collect adds a file. After a time limit it abandons the file.
func (c *collection) collect(ctx context.Context, item Item) {
	text, note, err := bounded(ctx, item)
	if err != nil {
		c.failed(item.Name, err)
	}
	if text != nil {
		c.add(item.Name, text, note)
	}
}

func (c *collection) add(name string, text []byte, note string) {
	c.files[name] = text
	c.manifest.Files = append(c.manifest.Files, File{Name: name, Note: note})
}

func bounded(ctx context.Context, item Item) (text []byte, note string, err error) {
	ctx, cancel := context.WithTimeout(ctx, itemTime)
	defer cancel()
	type result struct {
		text []byte
		note string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, note, err := item.Collect(ctx)
		done <- result{text, note, err}
	}()
	late := time.NewTimer(itemTime + itemTime/4)
	defer late.Stop()
	select {
	case r := <-done:
		return r.text, r.note, r.err
	case <-late.C:
		return nil, "", fmt.Errorf("nothing within %v", itemTime)
	}
}

func (c *collection) doctor(ctx context.Context, cfg doctor.Config) {
	report := doctor.Run(ctx, cfg)
	var text bytes.Buffer
	_ = report.WriteText(&text) // cannot fail: it writes into memory
	c.add("doctor.txt", text.Bytes(), "")
	c.add("doctor.json", encode(report), "")
}

// encode returns indented JSON; all values passed to it can be encoded.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return []byte(err.Error())
	}
	return b.Bytes()
}

// pack hides the secrets, all of which are known now, and writes the archive.
func (c *collection) pack(w io.Writer) error {
	for name, text := range c.files {
		c.files[name] = c.secrets.hide(text)
	}
	for i := range c.manifest.Files {
		f := &c.manifest.Files[i]
		f.Bytes = len(c.files[f.Name])
	}
	for i := range c.manifest.Failed {
		f := &c.manifest.Failed[i]
		f.Error = string(c.secrets.hide([]byte(f.Error)))
	}
	slices.SortFunc(c.manifest.Files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	c.files["manifest.json"] = encode(c.manifest)
	names := make([]string, 0, len(c.files))
	for name := range c.files {
		names = append(names, name)
	}
	slices.Sort(names)

	zip := gzip.NewWriter(w)
	out := tar.NewWriter(zip)
	for _, name := range names {
		header := &tar.Header{Name: "techsupport/" + name, Mode: 0o600, Size: int64(len(c.files[name])),
			ModTime: c.manifest.Time, Format: tar.FormatPAX}
		if err := out.WriteHeader(header); err != nil {
			return err
		}
		if _, err := out.Write(c.files[name]); err != nil {
			return err
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	return zip.Close()
}
