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

// other is the end of the name of a second result of a job that is not the first one: jobs are deterministic, so that
// one of the two is wrong.
const other = ".other"

// text is what a result's file has.
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

// parseOutcome reads what [Outcome.text] wrote of a job.
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

// read returns the result of a job that is there; nil if there is none.
func (f *File) read(path string, j Job) (*Outcome, error) {
	if _, err := os.Lstat(path + other); err == nil {
		return nil, differ(path)
	}
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

// errDiffer is in the error of a job that gave two results.
var errDiffer = errors.New("two results of one job differ")

func differ(path string) error {
	return fmt.Errorf("%w, %s and %[2]s%s: one is wrong, so neither is counted; remove both to run the job again",
		errDiffer, path, other)
}

// leave writes a result, and gives it its name when it is whole on the disk. What has the name already stays: if it is
// something else, the result is left beside it, and that is an error.
func leave(path string, text []byte) error {
	err := link(path, text)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	there, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if bytes.Equal(there, text) {
		return nil
	}
	return errors.Join(differ(path), leaveOther(path, text))
}

// leaveOther leaves a second result, unless there is one.
func leaveOther(path string, text []byte) error {
	if err := link(path+other, text); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// link writes a file, and gives it its name when it is whole. Unlike a rename it takes no other's place.
func link(path string, text []byte) error { return named(path, text, os.Link) }

// replace writes a file, which takes the place of what has its name when it is whole.
func replace(path string, text []byte) error {
	return named(path, text, func(from, to string) error {
		return errors.Join(os.Chmod(from, 0o644), os.Rename(from, to)) // a table is for others, too
	})
}

// named writes a file under another name, and names it when it is whole on the disk.
func named(path string, text []byte, name func(from, to string) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".job-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return name(f.Name(), path)
}
