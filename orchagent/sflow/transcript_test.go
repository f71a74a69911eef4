package sflow

import (
	"flag"
	"strings"
	"testing"

	"tamtam/orch/orchtest"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/swss/schema"
)

var update = flag.Bool("update", false, "write the results into the transcripts")

func TestTranscripts(t *testing.T) {
	orchtest.Transcript{
		Start: func(t *testing.T, with []string) (*orchtest.Bench, func(string)) {
			var opts saitest.Options
			for _, word := range with {
				id, _ := sai.LookupAttr(strings.TrimPrefix(word, "without="))
				opts.Unsupported = append(opts.Unsupported, id)
			}
			b := newBench(t, opts)
			return b.Bench, func(line string) { b.ports.Line(b.Bench, line) }
		},
		State:  []string{schema.AppSFlowSession},
		Update: *update,
	}.Run(t)
}
