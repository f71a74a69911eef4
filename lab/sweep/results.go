package sweep

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// text returns the content of a result's file.
func (out *Outcome) text() ([]byte, error) {
	whole := *out
	whole.Sum = ""
	text, err := json.Marshal(whole)
	if err != nil {
		return nil, err
	}
	whole.Sum = fmt.Sprintf("%08x", crc32.ChecksumIEEE(text))
	text, err = json.MarshalIndent(whole, "", " ")
	return append(text, '\n'), err
}

// parseOutcome decodes what [Outcome.text] wrote for a job.
func (f *File) parseOutcome(text []byte, j Job) (*Outcome, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	var out Outcome
	if err := dec.Decode(&out); err != nil {
		return nil, err
	}
	if len(out.Results) != len(f.Results) {
		return nil, fmt.Errorf("%d results: want %d", len(out.Results), len(f.Results))
	}
	for i, r := range f.Results {
		if out.Results[i].Name != r.Name {
			return nil, fmt.Errorf("results[%d]: name: %q: want %q", i, out.Results[i].Name, r.Name)
		}
	}
	if out.Seed != j.Seed || !slices.Equal(out.Values, j.Values) {
		return nil, fmt.Errorf("it is of seed %d, values %q: want seed %d, values %q", out.Seed, out.Values, j.Seed, j.Values)
	}
	if whole, err := out.text(); err != nil || !bytes.Equal(whole, text) {
		return nil, fmt.Errorf("%.200q: want the form of a result's file, and the sum of what it has", text)
	}
	out.Job, out.Sum = j, ""
	return &out, nil
}

// read returns the existing result of a job, or nil if there is none.
func (f *File) read(path string, j Job) (*Outcome, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out *Outcome
	if err == nil {
		out, err = f.parseOutcome(text, j)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w; remove it to run the job again", path, err)
	}
	return out, nil
}

// replace writes a file. It replaces an existing file only once it is complete on the disk.
func replace(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".job-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()) // tables must be readable for other users
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
