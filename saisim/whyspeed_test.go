package saisim_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/drop"
	"tamtam/saisim/pipe"
	"tamtam/saisim/profile"
)

// keepers returns two chips with a load, one that keeps drops and one that does not.
func keepers(t testing.TB, load func(*rig) *load) (keeps, forgets *load) {
	of := func(forgetful bool) *rig {
		return newRigOf(t, saisim.Config{Profile: profile.Default(), Start: start, Forgetful: forgetful})
	}
	return load(of(false)), load(of(true))
}

func keptLoads() []struct {
	name string
	load func(*rig) *load
} {
	return []struct {
		name string
		load func(*rig) *load
	}{
		{"bridge", func(r *rig) *load { return r.bridgedLoad(0, false) }},
		{"bridge+1000 rules+stamp", func(r *rig) *load { return r.bridgedLoad(1000, true) }},
		{"route", func(r *rig) *load { return r.routedLoad(0, false) }},
		{"program of 6 tables a pipe", func(r *rig) *load { return r.tabledLoad() }},
		{"egress ACL", func(r *rig) *load { return r.egressRuledLoad() }},
		{"every packet dropped", func(r *rig) *load { return r.droppedLoad() }},
	}
}

// tabledLoad returns a load with a program of tables with keys in both pipes. Each packet hits in all of these tables.
func (r *rig) tabledLoad() *load {
	l := r.bridgedLoad(0, false)
	tables := func(first string) (all []pipe.Table) {
		for i := range 6 {
			all = append(all, pipe.Table{
				Name: fmt.Sprintf("%s%d", first, i), Stage: uint8(i % 2), Match: "exact", Size: 4,
				Key:     []pipe.Input{{Field: "ip.proto"}},
				Entries: []pipe.Entry{{ID: uint32(i + 1), Key: []pipe.Match{{Value: 17}}}},
			})
		}
		return all
	}
	p := &pipe.Program{Name: "tables"}
	p.Ingress.Tables, p.Egress.Tables = tables("in"), tables("out")
	l.load(p)
	return l
}

// egressRuledLoad returns a load whose packets hit a rule in the egress pipe that forwards them.
func (r *rig) egressRuledLoad() *load {
	l := r.bridgedLoad(0, false)
	table := l.acl(sai.ACLStageEgress, sai.ACLTableAttrFieldSrcIP, sai.Bool(true))
	l.entry(table, 1, sai.ACLEntryAttrActionPacketAction, sai.Do(sai.PacketActionForward))
	l.set(sai.ObjectTypeSwitch, l.sw, sai.SwitchAttrEgressACL, table)
	return l
}

// droppedLoad returns a load in which a rule drops every packet.
func (r *rig) droppedLoad() *load {
	l := r.bridgedLoad(0, false)
	table := l.acl(sai.ACLStageIngress, sai.ACLTableAttrFieldSrcIP, sai.Bool(true))
	l.entry(table, 1, sai.ACLEntryAttrActionPacketAction, sai.Do(sai.PacketActionDrop))
	l.set(sai.ObjectTypeSwitch, l.sw, sai.SwitchAttrIngressACL, table)
	return l
}

// BenchmarkKeeping measures the cost of keeping drops, in percent of the time, by comparison with a chip that does not
// keep them. The chips run alternately for 2,560 packets, each pair in another order. Only the fastest tenth of the
// turns count, to exclude other load on the machine. Without drops it measures the cost of readiness.
func BenchmarkKeeping(b *testing.B) {
	for _, tt := range keptLoads() {
		b.Run(tt.name, func(b *testing.B) {
			keeps, forgets := keepers(b, tt.load)
			var took [2][]float64
			turn := func(i int) {
				begin := time.Now()
				[]*load{keeps, forgets}[i].step(2560)
				took[i] = append(took[i], float64(time.Since(begin)))
			}
			n := 0
			for b.Loop() {
				turn(n % 2)
				turn(1 - n%2)
				n++
			}
			fast := func(all []float64) (sum float64) {
				slices.Sort(all)
				for _, x := range all[:max(1, len(all)/10)] {
					sum += x
				}
				return sum
			}
			b.ReportMetric(100*(fast(took[0])/fast(took[1])-1), "%")
		})
	}
}

// Keeping drops allocates nothing except the memory of the ring as it fills.
func TestKeepingDoesNotAllocate(t *testing.T) {
	countsAllocations(t)
	l := newRig(t, profile.Default()).droppedLoad()
	l.allocatesNothing(t, saisim.KeptDrops+5000)
	l.drain()
	var state saisim.RingState
	l.Why(func(v *saisim.WhyView) {
		all, _ := v.Dropped()
		if state = v.Drops; state.Forgotten == 0 || all[drop.ACL] != state.Kept {
			t.Errorf("%+v of %d drops", state, all[drop.ACL])
		}
	})
	n, last := uint64(0), saisim.Cycle(0)
	had := l.EachDrop(0, state.Kept, func(k *saisim.Kept) bool {
		if n++; k.At < last {
			t.Errorf("a drop at %d behind one at %d", k.At, last)
		}
		last = k.At
		return true
	})
	if n != saisim.KeptDrops || had != n {
		t.Errorf("%d drops are kept, %d", n, had)
	}
}
