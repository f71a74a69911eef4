package fates

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"testing"

	"github.com/gopacket/gopacket/layers"

	"tamtam/device/devicetest"
	"tamtam/internal/randtest"
	"tamtam/saisim"
	"tamtam/saisim/pipe"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/tam/record"
)

// dscpClasses returns a program whose table has an action for each of some DSCPs. Each action has an entry by
// destination port, and one entry has no action.
func dscpClasses() *pipe.Program {
	t := pipe.Table{Name: "class", Match: "exact", Key: []pipe.Input{{Field: "l4.dst"}}, Size: 16,
		Default: pipe.Choice{Action: "a9"}}
	for _, dscp := range []uint64{9, 10, 20, 30, 40, 50} {
		t.Actions = append(t.Actions, pipe.Action{Name: fmt.Sprint("a", dscp),
			Ops: []pipe.Op{{Do: "set", To: "ip.dscp", A: pipe.Operand{Const: dscp}}}})
	}
	for i, action := range []string{"a10", "a20", "a30", "a40", "a50", "a9", ""} {
		t.Entries = append(t.Entries, pipe.Entry{ID: uint32(i + 1), Key: []pipe.Match{{Value: uint64(100 + i)}},
			Choice: pipe.Choice{Action: action}})
	}
	return &pipe.Program{Name: "classes", Ingress: pipe.Pipe{Tables: []pipe.Table{t}}}
}

// The action of a packet determines its DSCP on output: its record must name the same action, starting from
// CONFIG_DB.
func TestRecordedActionsAreTheTruth(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 4}, func(t *testing.T, seed uint64) {
		for _, tt := range []struct {
			phv      string
			complete bool // whether the record has bits for every action
		}{{"32", true}, {"8", false}} {
			r := newRecording(t, profile.Small(), dscpClasses(), swss.FieldValues{"mode": record.ModeAction, "phv": tt.phv,
				"must-record": "ingress.class"})
			sent := map[uint16]uint8{} // DSCPs, by source port
			r.Chip.SetOutput(func(o *saisim.Out) {
				switch {
				case o.Port == collectorPort:
					r.frames = append(r.frames, bytes.Clone(o.Data))
				case len(o.Data) > 38 && o.Data[12] == 8:
					sent[binary.BigEndian.Uint16(o.Data[34:])] = o.Data[15] >> 2
				}
			})
			rnd := rand.New(rand.NewPCG(seed, 1))
			for i := range 60 {
				r.send(devicetest.SentFrame{Port: 0, Data: ipPacket(t, &layers.Ethernet{SrcMAC: devicetest.HostMAC(77),
					DstMAC:       devicetest.RouterMAC,
					EthernetType: layers.EthernetTypeIPv4},
					&layers.IPv4{Version: 4, TTL: 9, Protocol: layers.IPProtocolUDP, SrcIP: []byte{10, 0, 0, 9},
						DstIP: net.IP{10, 3, 0, 2}},
					&layers.UDP{SrcPort: layers.UDPPort(1000 + i), DstPort: layers.UDPPort(99 + rnd.IntN(9))})})
			}
			plan := r.plan("s0")
			if plan.Mode != record.ModeAction || tt.complete != slices.ContainsFunc(plan.Recorded,
				func(x record.Recorded) bool { return x.Table == "ingress.class" && x.Actions != nil }) {
				t.Fatalf("mode %s, recorded %+v", plan.Mode, plan.Recorded)
			}
			_, packets := r.records(plan)
			said, open := 0, 0
			for _, p := range packets {
				if p.Answer.Impossible {
					t.Fatal(p.Answer.Why)
				}
				l := p.Answer.Paths[0]
				k := slices.IndexFunc(l.Path, func(s record.Step) bool { return s.Table == "ingress.class" })
				src, dst := binary.BigEndian.Uint16(p.Frame[34:]), binary.BigEndian.Uint16(p.Frame[36:])
				dscp, ok := sent[src]
				if k < 0 || !ok {
					t.Fatalf("%s, sent %v: %s, port %d", l, ok, plan.Graph.End(&p.Record), dst)
				}
				is := fmt.Sprint("a", dscp)
				if dscp == 0 {
					is = ""
				}
				entry := dst >= 100 && dst <= 106
				switch acts := l.Actions[k]; {
				case l.HitKnown[k] && l.Path[k].Hit != entry, acts != nil && !entry, acts != nil && !slices.Contains(acts, is):
					t.Fatalf("port %d left with DSCP %d, its record: %s", dst, dscp, l)
				case len(acts) == 1 && (l.Path[k].Action != is):
					t.Fatalf("action %q, want %q", l.Path[k].Action, is)
				case len(acts) == 1:
					said++
				case entry:
					open++
				}
			}
			if len(packets) != 60 || tt.complete != (said > 0) || tt.complete != (open == 0) {
				t.Errorf("phv %s: of %d packets the actions of %d were told, and of %d not", tt.phv, len(packets), said, open)
			}
		}
	})
}
