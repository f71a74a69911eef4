package auth

import (
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Files of users, roles and certificates are read again while the server runs. They are checked when their content is
// needed, at most once per rereadPeriod. Their content is compared, because a modification time may stay the same. The
// files are small. If a file is unreadable or invalid, the former content stays in force. The log and
// [mgmt.Server.Troubles] report that until it is corrected.

// rereadPeriod bounds the age of the content of files.
const rereadPeriod = time.Second

// maxSettings bounds the size of a file of users, roles or certificates, in bytes.
const maxSettings = 4 << 20

// A reread is the parsed content of files.
type reread[T any] struct {
	what     string // name of the files in the log
	files    []string
	parse    func(texts [][]byte) (T, error)
	now      func() time.Time
	log      *slog.Logger
	reported func(what string, err error) // is called for every change, accepted or refused; may be nil

	mu      sync.Mutex
	looked  time.Time
	sum     [sha256.Size]byte
	value   T
	since   time.Time // time when value came into force
	trouble string    // why the present content of the files is not in force; empty if it is
}

// begin reads the files for the first time.
func (r *reread[T]) begin() error {
	texts, sum, err := r.read()
	if err != nil {
		return err
	}
	value, err := r.parse(texts)
	if err != nil {
		return err
	}
	r.value, r.sum, r.since, r.looked = value, sum, r.now(), r.now()
	return nil
}

// get returns the value in force.
func (r *reread[T]) get() T {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if d := now.Sub(r.looked); len(r.files) == 0 || d >= 0 && d < rereadPeriod {
		return r.value
	}
	r.looked = now
	texts, sum, err := r.read()
	if err == nil && sum == r.sum {
		r.applied()
		return r.value
	}
	var value T
	if err == nil {
		value, err = r.parse(texts)
	}
	if err != nil {
		r.refuse(err)
		return r.value
	}
	r.value, r.sum, r.since, r.trouble = value, sum, now, ""
	r.log.Info(r.what+" read again", "files", r.files)
	r.report(nil)
	return r.value
}

// applied records that the files hold the value in force.
func (r *reread[T]) applied() {
	if r.trouble == "" {
		return
	}
	r.trouble = ""
	r.log.Info(r.what+" are again what is in force", "files", r.files)
}

// refuse records an error of the files, and logs it once.
func (r *reread[T]) refuse(err error) {
	text := fmt.Sprintf("%s: %v; what was read at %s stays in force", r.what, err, r.since.UTC().Format(time.RFC3339))
	if text == r.trouble {
		return
	}
	r.trouble = text
	r.log.Error(text)
	r.report(err)
}

func (r *reread[T]) report(err error) {
	if r.reported != nil {
		r.reported(r.what, err)
	}
}

// problem returns why the content of the files is not in force, or "" if it is.
func (r *reread[T]) problem() string {
	r.get()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.trouble
}

func (r *reread[T]) read() (texts [][]byte, sum [sha256.Size]byte, err error) {
	h := sha256.New()
	for _, name := range r.files {
		text, err := readSettings(name)
		if err != nil {
			return nil, sum, err
		}
		fmt.Fprintf(h, "%d:", len(text))
		h.Write(text)
		texts = append(texts, text)
	}
	return texts, [sha256.Size]byte(h.Sum(nil)), nil
}

func readSettings(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSettings+1))
	if err == nil && len(text) > maxSettings {
		err = fmt.Errorf("it has more than %d bytes", maxSettings)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return text, nil
}
