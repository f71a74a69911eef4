package tsorch

import (
	"flag"
	"strconv"
	"strings"
	"testing"

	"tamtam/orch/feature/featuretest"
	"tamtam/orch/orchtest"
	"tamtam/sai/saitest"
	"tamtam/saisim/tailstamp"
	"tamtam/swss"
	"tamtam/swss/schema"
)

var update = flag.Bool("update", false, "write the results into the transcripts")

// Each transcript reproduces its recorded output. A switch may have a limit on the entries of each table, and the
// extension that clamps. The invariants of features hold after each step.
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
			b.Check = func() { featuretest.Whole(b.Bench, b.ts.Feature) }
			return b.Bench, b.line
		},
		State: []string{
			schema.StatePort, schema.StateLAG, schema.StateLAGMember, schema.StateACLTable, schema.StateACLRule,
			schema.StateTAMFeature, schema.StateTAMTailStamp,
		},
		Counters: []string{schema.CountersTailStamp, schema.CountersACLRuleMap},
		Update:   *update,
	}.Run(t)
}

// line handles lines that are not rows. "stale" writes rows of COUNTERS_DB as a previous run can leave them.
func (b *bench) line(line string) {
	b.T.Helper()
	switch line {
	case "stale":
		for table, row := range map[string]swss.FieldValues{
			schema.CountersTailStamp + ":gone": {"MATCHED_PACKETS": "1"},
			schema.CountersACLRuleMap + ":":    {"TAM:old": "oid:0x9000000000abc"},
		} {
			name, key, _ := strings.Cut(table, ":")
			if err := swss.NewTable(b.Redis.DB(swss.CountersDB), name).Set(b.Ctx, key, row); err != nil {
				b.T.Fatal(err)
			}
		}
	case "restart":
		b.restart()
	default:
		b.T.Fatalf("unknown line %q", line)
	}
}
