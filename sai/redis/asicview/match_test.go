package asicview

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"tamtam/internal/randtest"
	"tamtam/sai"
	"tamtam/sai/redis/protocol"
)

// similarSlowly does the same as [matcher.similar], by comparing each candidate with each object.
func (m *matcher) similarSlowly(nodes []*Node) {
	t := protocol.KeyType(nodes[0].Key)
	groups := map[string][]*Node{}
	for _, c := range m.free[t] {
		s := m.text(c, true, false)
		groups[s] = append(groups[s], c)
	}
	for _, n := range nodes {
		if n.Match != nil {
			continue
		}
		s := m.text(n, false, false)
		if best := m.nearestSlowly(n, groups[s]); best != nil {
			n.Match, best.Match = best, n
			groups[s] = slices.DeleteFunc(groups[s], func(c *Node) bool { return c == best })
		}
	}
}

func (m *matcher) nearestSlowly(n *Node, list []*Node) *Node {
	var best *Node
	score := -1
	for _, c := range list {
		s := 0
		for id, v := range c.Attrs {
			w, given := n.Attrs[id]
			switch {
			case !given && sai.Meta(id).Default == nil && sai.Meta(id).Has(sai.CreateAndSet):
				s = -1 << 20 // cannot be reset
			case given && EqualValues(id, v, m.value(w, false)):
				s++
			}
		}
		if s > score {
			best, score = c, s
		}
	}
	return best
}

// alike returns objects of one type with random values: some attributes have a small number of different values,
// others many.
func alike(r *rand.Rand, n int, first int64) (list []*Node) {
	type field struct {
		id     sai.AttrID
		values int
		value  func(int) sai.Value
	}
	number := func(i int) sai.Value { return sai.Uint(i) }
	fields := []field{
		{sai.MirrorSessionAttrType, 2, func(i int) sai.Value {
			return []sai.Value{sai.MirrorSessionTypeLocal, sai.MirrorSessionTypeEnhancedRemote}[i]
		}},
		{sai.MirrorSessionAttrMonitorPort, 3, func(i int) sai.Value { return sai.OID(0x100000000 + i) }},
		{sai.MirrorSessionAttrTruncateSize, 2, number}, {sai.MirrorSessionAttrSampleRate, 40, number},
		{sai.MirrorSessionAttrTC, 3, number}, {sai.MirrorSessionAttrVLANID, 4000, number},
		{sai.MirrorSessionAttrTTL, 200, number},
		{sai.MirrorSessionAttrTOS, 1, number}, {sai.MirrorSessionAttrGREProtocolType, 5, number},
	}
	for i := range n {
		vid, _ := protocol.NewVID(sai.ObjectTypeMirrorSession, first+int64(i))
		c := &Node{Key: sai.Obj(sai.ObjectTypeMirrorSession, vid), Attrs: map[sai.AttrID]sai.Value{}}
		for _, f := range fields {
			if f.id == sai.MirrorSessionAttrType || r.IntN(8) > 0 {
				c.Attrs[f.id] = f.value(r.IntN(f.values))
			}
		}
		list = append(list, c)
	}
	return list
}

// The nearest candidates are the same as those found by comparing each candidate with each object.
func TestSimilarAsSlowly(t *testing.T) {
	matched, left := 0, 0
	fixed := randtest.Cases{Count: 60, Short: 10}
	c := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		var pairs [2][]string
		for way := range pairs {
			r := rand.New(rand.NewPCG(seed, 12))
			current, wanted := alike(r, 1+r.IntN(300), 1), alike(r, 1+r.IntN(300), 10_000)
			m := &matcher{next: NewGraph(), free: map[sai.ObjectType][]*Node{sai.ObjectTypeMirrorSession: current}}
			if way == 0 {
				m.similarSlowly(wanted)
			} else {
				m.similar(wanted)
			}
			for _, n := range wanted {
				text := fmt.Sprint(n.Key, " is new")
				if n.Match != nil {
					matched++
					text = fmt.Sprint(n.Key, " was ", n.Match.Key)
				} else {
					left++
				}
				pairs[way] = append(pairs[way], text)
			}
		}
		if !slices.Equal(pairs[0], pairs[1]) {
			for i := range pairs[0] {
				if pairs[0][i] != pairs[1][i] {
					t.Fatalf("%s, want %s", pairs[1][i], pairs[0][i])
				}
			}
		}
	})
	if c.Whole(fixed) && (matched < 1000 || left < 100) {
		t.Errorf("%d matched, %d not: the test shows little", matched, left)
	}
}

// entries returns a view of n ACL entries in one table, each with a counter. The entries differ in one field, whose
// values begin at from. The counters differ only in the entries that name them.
func entries(n, from int, first int64) *Graph {
	g := NewGraph()
	add := func(t sai.ObjectType, attrs ...sai.Attr) sai.OID {
		vid, _ := protocol.NewVID(t, first)
		first++
		node := g.Add(sai.Obj(t, vid), false)
		for _, a := range attrs {
			node.Attrs[a.ID] = a.Value
		}
		return vid
	}
	table := add(sai.ObjectTypeACLTable, sai.Attr{ID: sai.ACLTableAttrACLStage, Value: sai.ACLStageIngress})
	for i := range n {
		counter := add(sai.ObjectTypeACLCounter, sai.Attr{ID: sai.ACLCounterAttrTableID, Value: table})
		add(sai.ObjectTypeACLEntry, append(rule(table, from+i),
			sai.Attr{ID: sai.ACLEntryAttrActionCounter, Value: sai.Do(counter)})...)
	}
	g.Link()
	return g
}

// cpuTime returns the CPU time of this process on all cores.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Similar objects: none has changed, each has changed, or all are equal and not referenced. The ratio compares the CPU
// times for 10,000 and for 1,000 objects.
func BenchmarkMatchAlike(b *testing.B) {
	equal := func(n int, first int64) *Graph {
		g := NewGraph()
		for i := range n {
			vid, _ := protocol.NewVID(sai.ObjectTypePolicer, first+int64(i))
			g.Add(sai.Obj(sai.ObjectTypePolicer, vid), false).Attrs[sai.PolicerAttrMeterType] = sai.MeterTypeBytes
		}
		g.Link()
		return g
	}
	for _, c := range []struct {
		name  string
		views func(n int) (cur, next *Graph)
	}{
		{"same", func(n int) (cur, next *Graph) { return entries(n, 0, 1), entries(n, 0, 1<<20) }},
		{"changed", func(n int) (cur, next *Graph) { return entries(n, 0, 1), entries(n, 20_000, 1<<20) }},
		{"equal", func(n int) (cur, next *Graph) { return equal(n, 1), equal(n, 1<<20) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			var took [2]time.Duration
			for b.Loop() {
				for i, n := range []int{1000, 10_000} {
					cur, next := c.views(n)
					runtime.GC()
					start := cpuTime(b)
					Match(cur, next)
					took[i] += cpuTime(b) - start
				}
			}
			b.ReportMetric(float64(took[1].Milliseconds())/float64(b.N), "ms/10000")
			b.ReportMetric(float64(took[1])/float64(took[0]), "ratio")
		})
	}
}

// rule returns an ACL entry with a unique match.
func rule(table sai.OID, i int) []sai.Attr {
	return []sai.Attr{
		{ID: sai.ACLEntryAttrTableID, Value: table}, {ID: sai.ACLEntryAttrPriority, Value: sai.Uint(i%16000 + 1)},
		{ID: sai.ACLEntryAttrAdminState, Value: sai.Bool(true)},
		{ID: sai.ACLEntryAttrFieldSrcIP, Value: sai.Match(address("10.0.0.1"), address("255.255.255.255"))},
		{ID: sai.ACLEntryAttrFieldL4DstPort, Value: sai.Match(sai.Uint(i&0xffff), sai.Uint(0xffff))},
		{ID: sai.ACLEntryAttrActionPacketAction, Value: sai.Do(sai.PacketActionForward)},
	}
}

func address(s string) sai.IP { return sai.IP{Addr: netip.MustParseAddr(s)} }
