package amorch

import (
	"flag"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"tamtam/orch/feature/featuretest"
	"tamtam/orch/orchtest"
	"tamtam/sai"
	"tamtam/swss/schema"
	"tamtam/tam/altmark"
)

var update = flag.Bool("update", false, "write the results into the transcripts")

// The transcripts hold. Words after "with" change the chip, which has 8 lanes and 100 flows: "lanes=0", "flows=2",
// "ids=2" gives it FlowMonIDs of two flows, "uncounted" ACL counters that cannot be read, and "later=490ms" a later
// start. The invariants of features hold after each step.
func TestTranscripts(t *testing.T) {
	orchtest.Transcript{
		Start: func(t *testing.T, with []string) (*orchtest.Bench, func(string)) {
			chip := map[string]uint64{"lanes": 8, "flows": 100}
			var later time.Duration
			for _, word := range with {
				name, value, _ := strings.Cut(word, "=")
				chip[name], _ = strconv.ParseUint(value, 10, 64)
				if name == "later" {
					later, _ = time.ParseDuration(value)
				}
			}
			b := newBench(t, chip["lanes"], chip["flows"], func(b *bench) {
				_, b.chip.uncounted = chip["uncounted"]
				b.chip.Room[altmark.ObjectFlow] = chip["ids"]
				b.Now = b.Now.Add(later)
			})
			b.Check = func() { featuretest.Whole(b.Bench, b.am.Feature) }
			return b.Bench, b.line
		},
		State:    []string{schema.StateTAMFeature, schema.StateTAMAltMark},
		Counters: []string{schema.CountersAltMark},
		Reads:    []string{altmark.ObjectFlows},
		Update:   *update,
	}.Run(t)
}

// line handles lines that are not rows. "session s1 web mark=dscp3" writes a session of a flow group, which is that of
// initiator apart from these fields. "own A B" sets the addresses of the switch, and "mtu 1500" the MTU of the route to
// any address, 0 for none. "program" starts and ends a program on the switch. "count s1 0 5" makes the chip count
// packets of a colour, and "acl 5 2" sets the ACL counters of the colours of s1. "busy 800ms" makes a step come late.
// "chip-restarts" and "entry-restarts" begin its counters again. "empty" checks that nothing is left.
func (b *bench) line(line string) {
	b.T.Helper()
	words := strings.Fields(line)
	number := func(i int) uint64 {
		n, err := strconv.ParseUint(words[i], 10, 64)
		if err != nil {
			b.T.Fatal(err)
		}
		return n
	}
	switch words[0] {
	case "session":
		row := schema.AltMarkFlow{
			Name: words[1], Rule: schema.ACLRuleKey{Table: "TAM", Rule: words[2]}, Session: initiator(),
		}.Fields()
		for _, w := range words[3:] {
			name, value, _ := strings.Cut(w, "=")
			row[name] = value
		}
		var fields []string
		for name, value := range row {
			fields = append(fields, name, value)
		}
		b.Set(schema.AppTAMAltMark, words[1], fields...)
	case "own":
		b.routes.own = map[netip.Addr]bool{}
		for _, w := range words[1:] {
			b.routes.own[netip.MustParseAddr(w)] = true
		}
		b.routes.changes.Publish(b.Ctx, struct{}{})
	case "mtu":
		b.routes.mtu = uint32(number(1))
		b.routes.changes.Publish(b.Ctx, struct{}{})
	case "program":
		b.chip.program = !b.chip.program
	case "counted":
		b.chip.uncounted = false
	case "count":
		b.count(words[1], int(number(2)), number(3))
	case "acl":
		b.counters(number(1), number(2))
	case "busy":
		late, err := time.ParseDuration(words[1])
		if err != nil {
			b.T.Fatal(err)
		}
		b.Now = b.Now.Add(late)
		b.Step()
		b.Now = b.Now.Add(-late)
	case "chip-restarts":
		b.chip.started = 12345
		clear(b.chip.flows)
	case "entry-restarts":
		b.chip.born[0]++
	case "restart":
		b.run()
	case "empty":
		featuretest.Empty(b.Bench, b.am.Feature)
		if left := b.left(); len(left) > 0 {
			b.T.Errorf("left: %v", left)
		}
	default:
		b.T.Fatalf("unknown line %q", line)
	}
}

// counters sets the ACL counters of the entries of the session s1.
func (b *bench) counters(packets ...uint64) {
	b.T.Helper()
	for colour, n := range packets {
		oid, _, ok := b.acl.VariantCounter(b.am.Sessions["s1"].RowInASIC.Rule, featureName, colours[colour])
		if !ok {
			b.T.Fatal("no counter")
		}
		k := sai.Obj(sai.ObjectTypeACLCounter, oid)
		b.Fake.Poke(k, sai.Attr{ID: sai.ACLCounterAttrPackets, Value: sai.Uint(n)})
		b.Fake.Poke(k, sai.Attr{ID: sai.ACLCounterAttrBytes, Value: sai.Uint(100 * n)})
	}
}
