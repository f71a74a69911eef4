package debugcounter

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
			return b.Bench, func(line string) { b.ports.Line(b.Bench, line) }
		},
		State:    []string{schema.AppDebugCounter, schema.AppDebugReason},
		Counters: []string{schema.CountersDebugPortMap, schema.CountersDebugSwitchMap},
		Update:   *update,
	}.Run(t)
}
