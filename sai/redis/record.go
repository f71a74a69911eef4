package sairedis

import (
	"io"
	"strings"
	"time"

	"tamtam/swss"
)

// A recorder writes sairedis.rec. The nil recorder writes nothing.
type recorder struct {
	out io.Writer
	now func() time.Time
}

func newRecorder(out io.Writer, now func() time.Time) *recorder {
	if out == nil {
		return nil
	}
	if now == nil {
		now = time.Now
	}
	return &recorder{out, now}
}

// line writes time|letter|words. An error of the file is ignored, so that it does not stop the ASIC.
func (r *recorder) line(letter string, words ...string) {
	if r == nil {
		return
	}
	s := r.now().UTC().Format("2006-01-02.15:04:05.000000") + "|" + letter + "|" + strings.Join(words, "|") + "\n"
	_, _ = io.WriteString(r.out, s)
}

func (r *recorder) attrs(letter, key string, pairs []swss.Pair) {
	if r == nil {
		return
	}
	words := append(make([]string, 0, len(pairs)+1), key)
	for _, p := range pairs {
		words = append(words, p.Field+"="+p.Value)
	}
	r.line(letter, words...)
}
