package saisim_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/pipe"
)

// countingBy returns a program that counts packets by the hash of some fields, in three stages: before ACL, behind it,
// and the last.
func countingBy(stages [3]uint8, fields ...string) *pipe.Program {
	p := &pipe.Program{Name: "counting"}
	var inputs []pipe.Input
	for _, f := range fields {
		inputs = append(inputs, pipe.Input{Field: f})
	}
	for i, stage := range stages {
		n := fmt.Sprint(i)
		p.Ingress.Hashes = append(p.Ingress.Hashes, pipe.Hash{Name: "hash" + n, Stage: stage, CRC: "crc32", Inputs: inputs})
		p.Ingress.Registers = append(p.Ingress.Registers, pipe.Register{
			Name: "register" + n, Stage: stage, Width: 32, Depth: 4096,
			Instructions: []pipe.Instruction{{Name: "increment", Updates: []pipe.Update{{Do: "adds",
				A: pipe.Source{From: "mem"}, B: pipe.Source{From: "const", Const: 1}}}}},
		})
		index := pipe.Operand{Hash: "hash" + n, Bits: 12}
		count := pipe.Call{Register: "register" + n, Instruction: "increment", Index: index}
		p.Ingress.Tables = append(p.Ingress.Tables, pipe.Table{
			Name: "table" + n, Stage: stage, Match: "always", Default: pipe.Choice{Action: "count"},
			Actions: []pipe.Action{{Name: "count", Calls: []pipe.Call{count}}},
		})
	}
	return p
}

// readCounting reads and clears the registers of such a program at a cycle.
func (r *rig) readCounting(at saisim.Cycle) *saisim.BatchResult {
	r.Helper()
	var b pipe.Batch
	for i := range 3 {
		b.Reads = append(b.Reads, pipe.RegisterRead{Pipe: "ingress", Register: fmt.Sprint("register", i), Count: 4096,
			Clear: true})
	}
	return r.control(at, b)
}

// passivePrograms are the fields that programs read which only count.
var passivePrograms = map[string][]string{
	"tuple": {
		"ipv4.src", "ipv4.dst", "l4.src", "l4.dst", "ip.proto", "tcp.flags", "ip.ttl", "ip.dscp", "ip.ecn", "is.tcp",
	},
	"times":   {"now.cycle", "rx.cycle", "now.ns"},
	"classes": {"pkt.tc", "acl.meta", "in.port", "pkt.length", "vlan.id", "flow.hash"},
}

// A program that only counts packets counts the same on the shortcuts as event by event, up to each control batch.
func TestPassivePrograms(t *testing.T) {
	seen := uint64(0)
	same := func(t *testing.T, slow, fast *rig, a, b []*saisim.BatchResult) {
		same(t, slow, fast)
		if !reflect.DeepEqual(a, b) { // cmp.Diff is slow on thousands of registers
			t.Errorf("registers: -event by event +shortcuts\n%s", cmp.Diff(a, b))
		}
		for _, x := range fast.Shortcuts() {
			if x.Name == "passive program" {
				seen += x.Packets
			}
		}
	}
	for what, fields := range passivePrograms {
		for _, name := range []string{
			"nothing", "an ingress ACL that counts", "an ingress ACL that drops", "an ingress ACL of classes",
			"two ingress ACLs", "an address that drops", "no link to leave by", "classes by DSCP", "metadata",
		} {
			t.Run(what+"/"+name, func(t *testing.T) {
				var rigs [2]*rig
				var reads [2][]*saisim.BatchResult
				for i, vector := range []int{0, 64} {
					r := newTwisted(t, vector)
					rigs[i] = r
					if name == "metadata" {
						r.ingressACL(1, sai.ACLEntryAttrActionSetACLMetaData, sai.Do(sai.Uint(77)))
					} else {
						twists[name](r)
					}
					r.load(countingBy([3]uint8{0, 8, 11}, fields...))
					for n := range saisim.Cycle(4) {
						r.burst()
						reads[i] = append(reads[i], r.readCounting(r.Now()+250+90*n))
						r.Advance(r.Now() + 700)
					}
				}
				same(t, rigs[0], rigs[1], reads[0], reads[1])
			})
		}
		t.Run(what+"/routed", func(t *testing.T) {
			var all [2]*history
			var reads [2][]*saisim.BatchResult
			for i, vector := range []int{0, 64} {
				h := newHistory(t, vector)
				all[i] = h
				h.load(countingBy([3]uint8{0, 2, 3}, fields...))
				for n := range saisim.Cycle(3) {
					h.burst()
					reads[i] = append(reads[i], h.readCounting(h.Now()+250+90*n))
					h.Advance(h.Now() + 700)
				}
			}
			same(t, all[0].rig, all[1].rig, reads[0], reads[1])
		})
	}
	if seen < 1000 {
		t.Errorf("%d packets on the shortcut, want at least 1000", seen)
	}
}
