package acl

import (
	"flag"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"tamtam/orch/orchtest"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/swss/schema"
)

var update = flag.Bool("update", false, "write the results into the transcripts")

// The transcripts hold. A bench can have rules with labels, and a limit on the entries of each table.
func TestTranscripts(t *testing.T) {
	orchtest.Transcript{
		Start: func(t *testing.T, with []string) (*orchtest.Bench, func(string)) {
			var opts saitest.Options
			labels := false
			for _, word := range with {
				entries, few := strings.CutPrefix(word, "entries=")
				opts.ACLEntries, _ = strconv.Atoi(entries)
				labels = labels || !few
			}
			b := newBenchWith(t, opts, labels)
			return b.Bench, b.line
		},
		State: []string{
			schema.StateACLTableType, schema.StateACLTable, schema.StateACLRule, schema.StateACLHolders,
			schema.StateFlexCounter, schema.StateCRM,
		},
		Counters: []string{schema.CountersACLRuleMap, schema.CountersCRM},
		Update:   *update,
	}.Run(t)
}

// line handles lines that are not rows. "lag PortChannel1 Ethernet0" makes a LAG with members. "mirror+ s1" makes a
// mirror session, and "mirror- s1" ends it. "hop- 10.0.0.9" ends a next hop. After "actions NAME ..." rules have only
// these actions at ingress.
func (b *bench) line(line string) {
	b.T.Helper()
	words := strings.Fields(line)
	var err error
	switch words[0] {
	case "lag":
		b.ports.LAGs[words[1]], err = b.Fake.Create(b.Ctx, sai.ObjectTypeLAG, nil)
		for _, member := range words[2:] {
			b.ports.LAGOf[member] = words[1]
		}
	case "mirror+":
		b.session(words[1])
	case "mirror-":
		oid := b.sessions.oids[words[1]]
		delete(b.sessions.oids, words[1])
		b.sessions.changes.Publish(b.Ctx, words[1:])
		err = b.Fake.Remove(b.Ctx, sai.Obj(sai.ObjectTypeMirrorSession, oid))
	case "hop-":
		ip := netip.MustParseAddr(words[1])
		oid := b.hops.oids[ip]
		delete(b.hops.oids, ip)
		b.hops.changes.Publish(b.Ctx, struct{}{})
		err = b.Fake.Remove(b.Ctx, sai.Obj(sai.ObjectTypeNextHop, oid))
	case "actions":
		var actions sai.Enums
		for _, name := range words[1:] {
			v, err := sai.ParseValue(sai.ACLTableAttrACLActionTypeList, "1:"+name)
			if err != nil {
				b.T.Fatal(err)
			}
			actions = append(actions, v.(sai.Enums)...)
		}
		b.orch.terms.capability[schema.StageIngress] = sai.ACLCapability{Actions: actions}
	default:
		b.T.Fatalf("unknown line %q", line)
	}
	if err != nil {
		b.T.Fatal(err)
	}
}
