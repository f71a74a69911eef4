package interp

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
)

const standard = "standard_metadata."

// A clone at ingress has the bytes as they arrived, metadata of 0, the fields of its list as they are at the end of
// ingress, and instance type 1.
func TestCloneAtIngress(t *testing.T) {
	r := parts{
		ingress: []string{"assign " + standard + "egress_spec 2", "clone_ingress_pkt_to_egress 5 1", "assign h.a 9",
			"assign scalars.x 66"},
		egress: []string{"assign h.b " + standard + "instance_type", "assign h.n " + standard + "ingress_port",
			"add_header header:e", "assign e.v scalars.x"},
	}.rig(t)
	if err := r.SetSession(5, Session{Port: 4, Group: -1}); err != nil {
		t.Fatal(err)
	}
	want := []string{"4: 01112233440000000100" + "0042", "2: 01000000090000000003" + "0042"}
	if got := r.send(3, 0, op(1)); !slices.Equal(got, want) {
		t.Errorf("sent %q, want %q", got, want)
	}
	if a := r.Accounts(); a.Copies != 1 {
		t.Errorf("%d copies, want 1", a.Copies)
	}
}

// A session that does not exist makes no copy, and the last call of an action counts.
func TestCloneSessions(t *testing.T) {
	r := parts{ingress: []string{"clone_ingress_pkt_to_egress 5 1", "clone_ingress_pkt_to_egress 6 1"}}.rig(t)
	if err := r.SetSession(5, Session{Port: 4, Group: -1}); err != nil {
		t.Fatal(err)
	}
	if got := r.send(3, 0, op(1)); len(got) != 1 {
		t.Errorf("sent %q, want one packet", got)
	}
	if got := r.kinds("undefined"); len(got) != 1 {
		t.Errorf("undefined %q, want the session", got)
	}
	if err := r.SetSession(1<<15, Session{Port: 4}); err == nil {
		t.Error("a session above 32767 was accepted")
	}
}

// A clone at egress has the headers as they are, and passes egress again.
func TestCloneAtEgress(t *testing.T) {
	first := x("b2d", "", x("==", standard+"instance_type", "0"))
	r := parts{
		ingress: []string{"assign " + standard + "egress_spec 2", "assign scalars.x 66"},
		egress: []string{"_jump_if_zero " + first + " 3", "clone_egress_pkt_to_egress 5 1", "_jump 5",
			"assign h.b " + standard + "instance_type", "assign h.a scalars.x"},
	}.rig(t)
	if err := r.SetSession(5, Session{Port: 4, Group: -1}); err != nil {
		t.Fatal(err)
	}
	want := []string{"2: " + strings.ReplaceAll(op(1), " ", ""), "4: 010000004200000002ff"}
	if got := r.send(3, 0, op(1)); !slices.Equal(got, want) {
		t.Errorf("sent %q, want %q", got, want)
	}
}

// A resubmitted packet has its bytes as they arrived, and a recirculated one those that would leave. Both lose the
// port where they arrived, and keep the fields of the list.
func TestPassAgain(t *testing.T) {
	fresh := x("b2d", "", x("==", standard+"instance_type", "0"))
	again := []string{"assign h.b " + standard + "instance_type", "assign h.n " + standard + "ingress_port",
		"add_header header:e", "assign e.v scalars.x"}
	first := func(what string) []string {
		return append([]string{"_jump_if_zero " + fresh + " 4", "assign h.a 9", "assign scalars.x 66", what}, append(
			[]string{"_jump_if_zero " + x("b2d", "", x("!=", standard+"instance_type", "0")) + " 9"}, again...)...)
	}
	t.Run("resubmit", func(t *testing.T) {
		r := parts{ingress: first("resubmit 1")}.rig(t)
		if got, want := r.send(3, 0, op(1)), "0: 01112233440000000600"+"0042"; len(got) != 1 || got[0] != want {
			t.Errorf("sent %q, want %q", got, want)
		}
	})
	t.Run("recirculate", func(t *testing.T) {
		r := parts{ingress: first("recirculate 1")}.rig(t)
		if got, want := r.send(3, 0, op(1)), "0: 01000000090000000400"+"0042"; len(got) != 1 || got[0] != want {
			t.Errorf("sent %q, want %q", got, want)
		}
	})
	t.Run("list 0 asks for nothing", func(t *testing.T) {
		r := parts{ingress: []string{"resubmit 0", "recirculate 0"}}.rig(t)
		if got := r.send(3, 0, op(1)); len(got) != 1 {
			t.Errorf("sent %q, want one packet", got)
		}
	})
}

// Multicast makes one copy per port of each node, and one for each link aggregation group. The packet itself ends.
func TestMulticast(t *testing.T) {
	r := parts{
		ingress: []string{"assign " + standard + "mcast_grp 9"},
		egress:  []string{"assign h.a " + standard + "egress_rid", "assign h.b " + standard + "instance_type"},
	}.rig(t)
	if err := r.AddMulticastGroup(9); err != nil {
		t.Fatal(err)
	}
	r.SetLag(2, []uint32{8, 7})
	for _, n := range []Node{{RID: 5, Ports: []uint32{3, 1}}, {RID: 6, Ports: []uint32{1}, Lags: []int{2}}} {
		if err := r.Associate(9, r.AddNode(n), true); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"1: 010000000500000005ff", "3: 010000000500000005ff", "1: 010000000600000005ff",
		"7: 010000000600000005ff"}
	got := r.send(2, 0, op(1))
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("sent %q, want %q", got, want)
	}
	if a := r.Accounts(); a.Copies != 3 {
		t.Errorf("%d copies added, want 3: four copies less the original", a.Copies)
	}
}

// A digest has the values at the end of ingress.
func TestDigest(t *testing.T) {
	r := parts{ingress: []string{"generate_digest 0 1", "assign h.a 9"}}.rig(t)
	r.send(3, 0, op(1))
	d := r.Digests()
	if len(d) != 1 || d[0].List.Name != "learn" || d[0].Values[0].Cmp(num(9)) != 0 {
		t.Errorf("digests %+v, want one of learn with 9", d)
	}
}

// Times are whole microseconds, rounded down.
func TestTimes(t *testing.T) {
	r := parts{ingress: []string{"assign h.a " + standard + "ingress_global_timestamp"}}.rig(t)
	for cycle, want := range map[uint64]string{999: "00000000", 1000: "00000001"} {
		r := parts{ingress: []string{"assign h.a " + standard + "ingress_global_timestamp"}}.rig(t)
		if got := r.send(0, cycle, op(1)); got[0][5:13] != want {
			t.Errorf("cycle %d: %s, want %s", cycle, got[0][5:13], want)
		}
	}
	if err := r.Receive(0, 5, nil); err != nil {
		t.Error(err)
	}
	if err := r.Receive(0, 4, nil); err == nil {
		t.Error("a packet before the current cycle was accepted")
	}
}

// A queue of 2 packets that sends one per millisecond: times, depths, and the packet that finds it full.
func TestQueue(t *testing.T) {
	r := parts{egress: []string{"assign h.a " + standard + "enq_qdepth", "assign h.b " + standard + "deq_timedelta",
		"assign h.n " + standard + "deq_qdepth"}}.rig(t)
	r.Ideal().SetRate(1000, -1, -1)
	r.Ideal().SetSize(2, 0, -1)
	const ms = 1_000_000
	var got []string
	keep := func() {
		for _, f := range r.Sent() {
			got = append(got, fmt.Sprintf("%d: %x", f.Cycle, f.Data))
		}
	}
	for i := range uint64(4) {
		if err := r.Receive(0, 2*ms+i*ms/10, []byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0}); err != nil {
			t.Fatal(err)
		}
		keep()
	}
	if r.Drain(4*ms-1) || !r.Drain(4*ms) {
		t.Error("the last packet does not leave at 4 ms")
	}
	keep()
	want := []string{"2000000: 01000000000000000000", "3000000: 01000000000000038401", "4000000: 01000000010000070800"}
	if !slices.Equal(got, want) {
		t.Errorf("sent %q, want %q", got, want)
	}
	if n := r.Accounts().Dropped[DropQueueFull]; n != 1 {
		t.Errorf("%d packets found the queue full, want 1", n)
	}
}

// RFC 2698, colour-blind: a token bucket of the peak rate, and one of the committed rate. The colours follow from exact
// arithmetic: tokens are not rounded to whole ones, and time not to microseconds.
func TestMeterIsExact(t *testing.T) {
	// 1/3 of a byte per microsecond committed with a bucket of 10 bytes, 1 byte per microsecond peak with 20 bytes.
	rates := []Rate{{big.NewRat(1, 3), 10}, {big.NewRat(1, 1), 20}}
	r := parts{ingress: []string{"execute_meter meter_array:bytes 1 h.a"}}.rig(t)
	m := r.Program.Meters[0]
	if err := r.SetMeter(m, 1, rates); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		cycle uint64
		want  int // 0 green, 1 yellow, 2 red; each packet has 10 bytes
	}{
		{0, 0},       // peak 20 -> 10, committed 10 -> 0
		{0, 1},       // peak 10 -> 0
		{9_999, 2},   // peak 9.999: red takes no tokens
		{10_000, 1},  // peak 10 -> 0; committed 10/3
		{29_999, 1},  // peak 19.999 -> 9.999; committed 9.99967
		{30_000, 0},  // peak 10 -> 0; committed exactly 10 -> 0
		{30_001, 2},  // peak 0.001
		{100_000, 0}, // peak 20, full; committed 10, full
	}
	for i, tt := range tests {
		if got, want := r.send(0, tt.cycle, op(1))[0][5:13], fmt.Sprintf("%08x", tt.want); got != want {
			t.Errorf("packet %d at cycle %d: colour %s, want %s", i, tt.cycle, got, want)
		}
	}
}

// A meter without rates is green, and rates that fall are refused.
func TestMeterRates(t *testing.T) {
	r := parts{ingress: []string{"assign h.a 9", "execute_meter meter_array:packets 3 h.a"}}.rig(t)
	if got := r.send(0, 0, op(1))[0][5:13]; got != "00000000" {
		t.Errorf("colour %s, want green", got)
	}
	m := r.Program.Meters[1]
	falling := []Rate{{big.NewRat(2, 1), 1}, {big.NewRat(1, 1), 1}}
	if err := r.SetMeters(m, falling); err == nil || !strings.Contains(err.Error(), "INVALID_INFO_RATE_VALUE") {
		t.Errorf("error %v, want one about the falling rate", err)
	}
	if err := r.SetMeters(m, falling[:1]); err == nil {
		t.Error("one rate for two buckets was accepted")
	}
	if err := r.SetMeter(m, 4, falling); err == nil || !strings.Contains(err.Error(), "INVALID_INDEX") {
		t.Errorf("error %v, want one about the index", err)
	}
}

// Counters count the bytes at arrival. An index outside has no effect.
func TestCounters(t *testing.T) {
	r := parts{ingress: []string{"add_header header:e", "count counter_array:count 1",
		"count counter_array:count 4"}}.rig(t)
	r.send(0, 0, op(1))
	if c, err := r.Counter(r.Program.Counters[0], 1); err != nil || c != (Count{1, 10}) {
		t.Errorf("counted %+v (%v), want one packet of 10 bytes", c, err)
	}
	if n := r.Accounts().Undefined; n != 1 {
		t.Errorf("%d undefined operations, want 1", n)
	}
}

// Random numbers are within their limits, and a function of the seed.
func TestRandom(t *testing.T) {
	values := func(seed uint64) (all []string) {
		p := parts{ingress: []string{"modify_field_rng_uniform h.a 10 12"}}.program(t)
		sw, err := New(p, Config{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		r := &rig{Switch: sw, t: t}
		for range 30 {
			all = append(all, r.send(0, 0, op(1))[0][5:13])
		}
		return all
	}
	a, b := values(1), values(1)
	if !slices.Equal(a, b) || slices.Equal(a, values(2)) {
		t.Error("the numbers are not a function of the seed")
	}
	seen := map[string]bool{}
	for _, v := range a {
		seen[v] = true
	}
	if len(seen) != 3 || !seen["0000000a"] || !seen["0000000b"] || !seen["0000000c"] {
		t.Errorf("values %v, want 10 to 12", seen)
	}
}

// A priority selects a queue; one that does not exist drops the packet.
func TestPriority(t *testing.T) {
	p := parts{ingress: []string{"assign standard_metadata.priority h.op"}}.program(t)
	sw, err := New(p, Config{Priorities: 2})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{Switch: sw, t: t}
	r.send(0, 0, op(1))
	r.send(0, 0, op(2))
	if a := r.Accounts(); a.Sent[0].Packets != 1 || a.Dropped[DropPriority] != 1 {
		t.Errorf("accounts %+v, want one packet sent, and one dropped for its priority", a)
	}
}

// A frame that became too long is dropped.
func TestLongFrame(t *testing.T) {
	r := parts{ingress: []string{"add_header header:e"}}.rig(t)
	if err := r.Receive(0, 0, make([]byte, 65533)); err != nil {
		t.Fatal(err)
	}
	if err := r.Receive(0, 0, make([]byte, 65534)); err != nil {
		t.Fatal(err)
	}
	if err := r.Receive(0, 0, make([]byte, 65536)); err == nil {
		t.Error("a packet of 65536 bytes was accepted")
	}
	if a := r.Accounts(); a.Sent[0].Packets != 1 || a.Dropped[DropTooLong] != 1 {
		t.Errorf("accounts %+v, want one packet sent, and one dropped for its length", a)
	}
}
