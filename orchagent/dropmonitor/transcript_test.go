package dropmonitor

import (
	"flag"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tamtam/orch/orchtest"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/dropreport"
)

var update = flag.Bool("update", false, "write the results into the transcripts")

// The transcripts hold. "with no-stage" has a chip without a pre-ingress stage, "with no-counters" a chip that reports
// no counters. The invariants of features hold after each step.
func TestTranscripts(t *testing.T) {
	orchtest.Transcript{
		Start: func(t *testing.T, with []string) (*orchtest.Bench, func(string)) {
			var opts saitest.Options
			if slices.Contains(with, "no-stage") {
				opts.Unsupported = []sai.AttrID{sai.SwitchAttrPreIngressACL}
			}
			b := newBench(t, opts)
			b.orch.counts = !slices.Contains(with, "no-counters")
			b.Check = b.whole
			return b.Bench, b.line
		},
		State:    []string{schema.StateTAMFeature, schema.StateTAMDropMonitor, schema.StateTAMDestination},
		Counters: []string{schema.CountersDropMonitor},
		Reads:    []string{dropreport.ObjectReports},
		Update:   *update,
	}.Run(t)
}

// line handles lines that are not rows. "way 10.9.0.1 7" makes the path to a collector lead to a neighbour, and "way-
// 10.9.0.1" ends it. "wants" lists the addresses whose paths are resolved. "drops s 9 4" makes the chip count 9 drops
// of the only stream of a session, and the host 4 messages of it. "counters" reads the counters of sessions. "empty"
// checks that nothing is left.
func (b *bench) line(line string) {
	b.T.Helper()
	words := strings.Fields(line)
	number := func(i int) uint64 {
		n, err := strconv.ParseUint(words[i], 10, 8)
		if err != nil {
			b.T.Fatal(err)
		}
		return n
	}
	switch words[0] {
	case "way":
		b.setPath(words[1], byte(number(2)))
	case "way-":
		b.removePath(words[1])
	case "wants":
		for _, a := range b.world.wants {
			b.Noted = append(b.Noted, "wants "+a.String())
		}
	case "drops":
		b.reported(words[1], number(2))
		if len(words) > 3 {
			b.hostSent(words[1], number(3))
		}
	case "counters":
		if err := b.orch.PollCounters(b.Ctx); err != nil {
			b.T.Fatal(err)
		}
	case "empty":
		b.empty()
	case "restart":
		b.run()
	default:
		b.T.Fatalf("unknown line %q", line)
	}
}

// stream returns the name of the only stream of a session.
func (b *bench) stream(session string) string {
	plan := b.orch.Sessions[session].InASIC.plan
	return stream(plan.targets[0], plan.port)
}

// reported makes the chip count drops of a session's only stream.
func (b *bench) reported(session string, drops uint64) {
	w := [dropreport.NumWords]uint64{dropreport.WordDrops: drops, dropreport.WordSent: drops}
	b.chip.words[b.stream(session)] = w
}

// hostSent makes the host report messages of a session's only stream.
func (b *bench) hostSent(session string, messages uint64) {
	b.T.Helper()
	row := schema.ManagementReports{Messages: messages}
	sent := swss.NewTable(b.Redis.DB(swss.CountersDB), schema.CountersManagementReports)
	if err := sent.Set(b.Ctx, b.stream(session), row.Fields()); err != nil {
		b.T.Fatal(err)
	}
}
