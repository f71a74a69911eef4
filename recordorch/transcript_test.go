package recordorch

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"tamtam/orch/orchtest"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/record"
)

var update = flag.Bool("update", false, "write the results into the transcripts")

// The transcripts hold. After each step, exactly the active sessions are completely in the ASIC.
func TestTranscripts(t *testing.T) {
	orchtest.Transcript{
		Start: func(t *testing.T, _ []string) (*orchtest.Bench, func(string)) {
			b := newBench(t)
			b.Check = b.wantWhole
			return b.Bench, b.line
		},
		State:    []string{schema.StateTAMFeature, schema.StateTAMTableRecord},
		Counters: []string{schema.CountersRecord},
		Reads:    []string{record.ObjectGraph, record.ObjectCounters},
		Update:   *update,
	}.Run(t)
}

// line handles lines that are not rows. "session s1 F1 phv=16" writes a session of a flow group, with one container of
// 8 bits if the line has no phv. "way Ethernet0 3 4" makes paths to collectors leave a port, from and to MAC addresses
// that end in these bytes, and "way" ends them. "id 7" sets the switch's id. "graph 2 e f" gives the chip a graph with
// further tables. "says {}" makes register reads return a text, and "says" ends that. "counts tr:s1 10 2 9 1" sets the
// counters of a label. "read" reads the counters. "plan s1" lists the plan in COUNTERS_DB. "looks" lists how often the
// chip was read. "wants" lists the addresses whose paths are resolved.
func (b *bench) line(line string) {
	b.T.Helper()
	words := strings.Fields(line)
	number := func(word string) uint64 {
		n, err := strconv.ParseUint(word, 10, 64)
		if err != nil {
			b.T.Fatal(err)
		}
		return n
	}
	note := func(format string, args ...any) { b.Noted = append(b.Noted, fmt.Sprintf(format, args...)) }
	switch words[0] {
	case "session":
		var fields []string
		for _, w := range words[3:] {
			name, value, _ := strings.Cut(w, "=")
			fields = append(fields, name, value)
		}
		b.session(words[1], words[2], fields...)
	case "way":
		b.world.path = nil
		if len(words) > 1 {
			b.world.path = &Path{Port: words[1], Source: mac(byte(number(words[2]))), MAC: mac(byte(number(words[3]))),
				Address: b.world.address()}
		}
		b.world.Routed.Publish(b.Ctx, struct{}{})
	case "id":
		b.world.setID(uint32(number(words[1])))
		b.world.Renamed.Publish(b.Ctx, struct{}{})
	case "graph":
		b.chip.graph = graphOf(number(words[1]), words[2:]...)
	case "says":
		b.chip.says = []byte(strings.TrimPrefix(strings.TrimPrefix(line, "says"), " "))
		if len(b.chip.says) == 0 {
			b.chip.says = nil
		}
	case "counts":
		var c [record.CounterWords]uint64
		for i, w := range words[2:] {
			c[i] = number(w)
		}
		b.chip.counters[words[1]] = c
	case "read":
		if err := b.rr.PollCounters(b.Ctx); err != nil {
			b.T.Fatal(err)
		}
	case "plan":
		row := b.Row(swss.CountersDB, schema.CountersRecordPlan, words[1])
		note("plan %s: id=%s tables=%s, with its graph: %v", words[1], row["ID"], row["TABLES"],
			strings.Contains(row["PLAN"], `"graph"`))
	case "looks":
		note("looks %d", b.chip.Reads)
	case "wants":
		note("wants %v", b.world.wants)
	case "restart":
		b.run()
	default:
		b.T.Fatalf("unknown line %q", line)
	}
}
