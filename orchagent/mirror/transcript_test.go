package mirror

import (
	"flag"
	"testing"

	"tamtam/orch/orchtest"
	"tamtam/swss/schema"
)

var update = flag.Bool("update", false, "write the results into the transcripts")

func TestTranscripts(t *testing.T) {
	orchtest.Transcript{
		Start: func(t *testing.T, _ []string) (*orchtest.Bench, func(string)) {
			b := newBench(t)
			return b.Bench, func(line string) { b.do(line) }
		},
		State:  []string{schema.AppMirrorSession},
		Update: *update,
	}.Run(t)
}
