package tsorch

import (
	"flag"
	"strconv"
	"strings"
	"testing"

	"tamtam/orch/orchtest"
	"tamtam/sai/saitest"
	"tamtam/saisim/tailstamp"
	"tamtam/swss/schema"
)

var update = flag.Bool("update", false, "write the results into the transcripts")

// Each transcript reproduces its recorded output. A switch may have a limit on the entries of each table, and the
// extension that clamps.
func TestTranscripts(t *testing.T) {
	orchtest.Transcript{
		Start: func(t *testing.T, with []string) (*orchtest.Bench, func(string)) {
			var opts saitest.Options
			for _, word := range with {
				if entries, few := strings.CutPrefix(word, "entries="); few {
					opts.ACLEntries, _ = strconv.Atoi(entries)
				} else {
					opts.Extensions = []string{tailstamp.ObjectClamp, tailstamp.ObjectSYNs}
				}
			}
			b := newBench(t, opts)
			return b.Bench, func(line string) { b.T.Fatalf("unknown line %q", line) }
		},
		State: []string{
			schema.StatePort, schema.StateLAG, schema.StateLAGMember, schema.StateACLTable, schema.StateACLRule,
			schema.StateTAMFeature, schema.StateTAMTailStamp,
		},
		Counters: []string{schema.CountersTailStamp, schema.CountersACLRuleMap},
		Update:   *update,
	}.Run(t)
}
