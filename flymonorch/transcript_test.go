package flymonorch

import (
	"flag"
	"strconv"
	"strings"
	"testing"

	"tamtam/orch/feature/featuretest"
	"tamtam/orch/orchtest"
	"tamtam/swss/schema"
	"tamtam/tam/flymon"
)

var update = flag.Bool("update", false, "write the results into the transcripts")

// The transcripts hold. Words after "with" change the chip, which has 2 groups: "groups=9", and "digests=2" for the
// number of digests that it keeps. The invariants of features hold after each step.
func TestTranscripts(t *testing.T) {
	orchtest.Transcript{
		Start: func(t *testing.T, with []string) (*orchtest.Bench, func(string)) {
			b := newBench(t, func(b *bench) {
				for _, word := range with {
					name, value, _ := strings.Cut(word, "=")
					n, err := strconv.Atoi(value)
					switch {
					case err == nil && name == "groups":
						b.geo.Groups = n
					case err == nil && name == "digests":
						b.geo.Digests = n
					default:
						t.Fatalf("unknown word %q", word)
					}
				}
			})
			b.Check = func() { featuretest.Whole(b.Bench, b.fm.Feature) }
			return b.Bench, b.line
		},
		State: []string{schema.StateTAMFeature, schema.StateTAMFlyMonTask, schema.StateTAMFlyMonQuery},
		Counters: []string{
			schema.CountersFlyMonPlace, schema.CountersFlyMonGroup, schema.CountersFlyMonResult,
			schema.CountersFlyMonFlows, schema.CountersFlyMonChange, schema.CountersFlyMonAnswer,
		},
		Reads: []string{
			flymon.ObjectGroups, flymon.ObjectStatus, flymon.ObjectRegisters, flymon.ObjectDigests, flymon.ObjectTruth,
			flymon.ObjectClear,
		},
		Update: *update,
	}.Run(t)
}

// line handles lines that are not rows. "task t1 memory=384" writes the row of [bench.task] with these fields, and
// "send 10.0.0.1 5" makes packets arrive. "epoch" lets time pass until shortly after the end of an epoch.
func (b *bench) line(line string) {
	b.T.Helper()
	words := strings.Fields(line)
	switch words[0] {
	case "task":
		var fields []string
		for _, w := range words[2:] {
			name, value, _ := strings.Cut(w, "=")
			fields = append(fields, name, value)
		}
		b.task(words[1], fields...)
	case "send":
		n, err := strconv.Atoi(words[2])
		if err != nil {
			b.T.Fatal(err)
		}
		b.send(words[1], n)
	case "epoch":
		b.epoch(nil)
	case "restart":
		b.run()
	default:
		b.T.Fatalf("unknown line %q", line)
	}
}
