package ports

import (
	"context"
	"flag"
	"strings"
	"testing"

	"tamtam/orch/orchtest"
	"tamtam/swss/schema"
)

var update = flag.Bool("update", false, "write the results into the transcripts")

func TestTranscripts(t *testing.T) {
	orchtest.Transcript{
		Start: func(t *testing.T, _ []string) (*orchtest.Bench, func(string)) {
			b := newSwitch(t)
			b.orch.Changes().Subscribe(func(_ context.Context, names []string) {
				b.Noted = append(b.Noted, "changed "+strings.Join(names, " "))
			})
			return b.Bench, func(line string) { b.T.Fatalf("unknown line %q", line) }
		},
		State: []string{
			schema.StatePort, schema.StateLAG, schema.StateLAGMember, schema.StateVLAN, schema.StateVLANMember,
		},
		Counters: []string{schema.CountersPortNameMap},
		Update:   *update,
	}.Run(t)
}
