package fdb

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
			return b.Bench, b.write
		},
		State:  []string{schema.StateFDB, schema.StateStaticFDB},
		Update: *update,
	}.Run(t)
}
