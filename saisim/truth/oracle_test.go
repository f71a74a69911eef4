package truth

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"tamtam/internal/randtest"
	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/profile"
)

// newChip returns a small chip (8 ports at 10 Gb/s, 1.25 GHz) whose ports are up in one VLAN.
func newChip(t testing.TB) *saisim.Chip {
	t.Helper()
	c, err := saisim.New(saisim.Config{Profile: profile.Small(), Start: time.Unix(0, 0)})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	sw, err := c.Create(ctx, sai.ObjectTypeSwitch, []sai.Attr{{ID: sai.SwitchAttrInitSwitch, Value: sai.Bool(true)}})
	if err != nil {
		t.Fatal(err)
	}
	list, err := c.Get(ctx, sai.Obj(sai.ObjectTypeSwitch, sw), []sai.Attr{sai.Want(sai.SwitchAttrPortList, 8)})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list[0].Value.(sai.OIDs) {
		if err := c.Set(ctx, sai.Obj(sai.ObjectTypePort, p), sai.Attr{ID: sai.PortAttrAdminState,
			Value: sai.Bool(true)}); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func name(p saisim.PortID) string {
	if p == saisim.CPUPort {
		return "CPU"
	}
	return fmt.Sprintf("Ethernet%d", p)
}

// udp returns a frame of n bytes from host a to host b.
func udp(a, b byte, sport, dport uint16, n int) []byte {
	f := []byte{2, 0, 0, 0, 0, b, 2, 0, 0, 0, 0, a, 8, 0, 0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, a, 10, 0, 0,
		b}
	binary.BigEndian.PutUint16(f[16:], uint16(n-14))
	f = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(f, sport), dport)
	return append(append(f, 0, 0, 0, 0), make([]byte, n-42)...)
}

func drain(c *saisim.Chip) {
	for at, ok := c.NextEvent(); ok; at, ok = c.NextEvent() {
		c.Advance(at)
	}
}

func filter(t testing.TB, pairs ...string) Filter {
	t.Helper()
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	f, err := ParseFilter(m)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Two frames to one port arrive together. The delays are computed by hand. 64 bytes take 64 cycles. The first frame
// then passes (17 to the queue, 11 and 8 to the timestamp point: 100 cycles of 0.8 ns). The second waits for 84 bytes,
// less the cycle by which it came later.
func TestDelays(t *testing.T) {
	c := newChip(t)
	_ = c.Receive(2, 0, saisim.Frame{Data: udp(3, 9, 1, 1, 60)}) // host 3 is at port 2
	drain(c)
	o := New(Group{Name: "all", KeepDelays: 10}, Group{Name: "port 53", Filter: filter(t, "L4_DST_PORT", "53"),
		Flows: By5Tuple})
	c.SetObserver(o.Chip("sw", c.Profile().ClockHz, name).See)
	now := c.Now()
	_ = c.Receive(0, now, saisim.Frame{Data: udp(1, 3, 1000, 53, 60), ID: 1})
	_ = c.Receive(1, now, saisim.Frame{Data: udp(2, 3, 1000, 80, 60), ID: 2})
	drain(c)
	r := o.Reports()
	all, dns := r["all"], r["port 53"]
	if d := all.Delay; d.Count != 2 || d.MinPs != 80_000 || d.MaxPs != 80_000+84*800 || d.SumPs != 2*80_000+84*800 ||
		d.MeanPs != d.SumPs/2 {
		t.Errorf("delays %+v, want 80 ns and 147.2 ns", d)
	}
	if len(all.Deliveries) != 2 || all.Deliveries[0].Frame != 1 || all.Deliveries[1].DelayPs != 147_200 {
		t.Errorf("deliveries %+v", all.Deliveries)
	}
	if dns.Frames != 1 || dns.Bytes != 64 || dns.Delivered != 1 || dns.Delay.MaxPs != 80_000 || dns.Delay.P50Ps < 80_000 ||
		dns.Delay.P50Ps > 85_000 {
		t.Errorf("port 53: %+v", dns)
	}
	want := Flow{Src: "10.0.0.1", Dst: "10.0.0.3", Protocol: 17, SrcPort: 1000, DstPort: 53, Frames: 1, Bytes: 64,
		Delivered: 1,
		Delay:     Delay{Count: 1, MinPs: 80_000, MeanPs: 80_000, MaxPs: 80_000, SumPs: 80_000}}
	if len(dns.Flows) != 1 || !reflect.DeepEqual(dns.Flows[0], want) {
		t.Errorf("flows %+v, want %+v", dns.Flows, want)
	}
	if want := []PathCount{{"sw:Ethernet0>Ethernet2", 1}}; !slices.Equal(dns.Paths, want) {
		t.Errorf("paths %v, want %v", dns.Paths, want)
	}
}

// A group without deliveries has no delays in a report, since they would read as 0.
func TestNoDelaysAreNotZero(t *testing.T) {
	text, err := json.Marshal(New(Group{Name: "none"}).Reports()["none"].Delay)
	if want := `{"count":0}`; err != nil || string(text) != want {
		t.Errorf("%s, %v, want %s", text, err, want)
	}
}

// Copies for mirror sessions are not deliveries, at ingress and egress. Their histories are complete.
func TestMirrorCopiesDoNotCount(t *testing.T) {
	for _, attr := range []sai.AttrID{sai.PortAttrIngressMirrorSession, sai.PortAttrEgressMirrorSession} {
		c := newChip(t)
		ctx := context.Background()
		ports := map[saisim.PortID]sai.OID{}
		for _, row := range c.Tables().Ports {
			ports[row.Port] = sai.OID(row.ID)
		}
		session, err := c.Create(ctx, sai.ObjectTypeMirrorSession, []sai.Attr{
			{ID: sai.MirrorSessionAttrType, Value: sai.MirrorSessionTypeLocal},
			{ID: sai.MirrorSessionAttrMonitorPort, Value: ports[7]}})
		if err != nil {
			t.Fatal(err)
		}
		on := map[sai.AttrID]saisim.PortID{sai.PortAttrIngressMirrorSession: 0, sai.PortAttrEgressMirrorSession: 2}[attr]
		if err := c.Set(ctx, sai.Obj(sai.ObjectTypePort, ports[on]),
			sai.Attr{ID: attr, Value: sai.OIDs{session}}); err != nil {
			t.Fatal(err)
		}
		_ = c.Receive(2, 0, saisim.Frame{Data: udp(3, 9, 1, 1, 60)})
		drain(c)
		o, h := New(Group{Name: "all"}), NewHistories()
		n := o.Chip("sw", c.Profile().ClockHz, name)
		mirrored := 0
		c.SetObserver(func(m saisim.Moment) {
			if m.What == saisim.MomentMirrored {
				mirrored++
			}
			n.See(m)
			h.See(m)
		})
		_ = c.Receive(0, c.Now(), saisim.Frame{Data: udp(1, 3, 1000, 53, 60), ID: 1})
		drain(c)
		r := o.Reports()["all"]
		if mirrored != 1 || r.Frames != 1 || r.Delivered != 1 || r.Copies != 0 || r.InFlight != 0 || r.Delay.Count != 1 ||
			len(n.visits) != 0 {
			t.Errorf("%d mirrored; %+v", mirrored, r)
		}
	}
}

// The equation of the package comment holds at every step, and the oracle agrees with the chip's accounts. At the end
// it holds no frames.
func TestEveryFrameIsAccountedFor(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 11}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		c := newChip(t)
		o := New(Group{Name: "all"}, Group{Name: "some", Filter: filter(t, "SRC_IP", "10.0.0.0/30"), Flows: BySrc,
			MaxFlows: 2})
		n := o.Chip("sw", c.Profile().ClockHz, name)
		c.SetObserver(n.See)
		for i := range uint64(3000) {
			from := byte(rnd.IntN(6))
			f := udp(from+1, byte(rnd.IntN(8)), 1, 2, 60+rnd.IntN(1400))
			switch rnd.IntN(10) {
			case 0:
				f = f[:rnd.IntN(16)]
			case 1:
				copy(f, []byte{1, 0x80, 0xc2, 0, 0, 2})
			}
			_ = c.Receive(saisim.PortID(from), c.Now(), saisim.Frame{Data: f, ID: i})
			if rnd.IntN(20) == 0 {
				_ = c.Inject(saisim.PortID(from), saisim.Frame{Data: udp(1, 2, 3, 4, 60)})
			}
			c.SetLink(5, i%100 < 90)
			c.Advance(c.Now() + saisim.Cycle(rnd.IntN(200)))
			if i%50 == 0 {
				accounted(t, o, c.FrameCounts())
			}
		}
		drain(c)
		accounted(t, o, c.FrameCounts())
		if len(n.visits) != 0 || len(o.trips) != 0 {
			t.Errorf("%d visits and %d trips left", len(n.visits), len(o.trips))
		}
		some := o.Reports()["some"]
		flows := uint64(0)
		for _, f := range some.Flows {
			flows += f.Frames
		}
		if len(some.Flows) != 2 || some.FlowsLeftOut == 0 || flows+some.FlowsLeftOut != some.Frames {
			t.Errorf("%d flows of %d frames, %d left out of %d", len(some.Flows), flows, some.FlowsLeftOut, some.Frames)
		}
	})
}

func accounted(t *testing.T, o *Oracle, b saisim.FrameCounts) {
	t.Helper()
	for name, r := range o.Reports() {
		lost := uint64(0)
		for _, l := range r.Lost {
			lost += l.Count
		}
		if int64(r.Frames)+r.Copies != int64(r.Delivered+r.ToCPU+lost)+r.InFlight {
			t.Fatalf("%s: %+v", name, r)
		}
		if name == "all" && (r.Frames != b.Received+b.Injected || uint64(r.Copies) != b.Copies || r.Delivered != b.Sent ||
			r.ToCPU != b.ToCPU || uint64(r.InFlight) != b.InFlight) {
			t.Fatalf("%+v, books %+v", r, b)
		}
	}
}

// Two chips are connected, with a host at each end. One link delays, loses and duplicates frames. Another link ends at
// a chip that is restarted.
func TestNetwork(t *testing.T) {
	a, b := newChip(t), newChip(t)
	o := New(Group{Name: "all"})
	h1, h2 := o.Host("h1"), o.Host("h2")
	na, nb := o.Chip("a", 1_250_000_000, name), o.Chip("b", 1_250_000_000, name)
	o.Connect(End{h1, 0}, End{na, 0})
	o.Connect(End{na, 1}, End{nb, 0})
	o.Connect(End{nb, 1}, End{h2, 0})
	a.SetObserver(na.See)
	b.SetObserver(nb.See)
	// All ports without a link are down, so every frame has one path.
	for p := saisim.PortID(2); p < 8; p++ {
		a.SetLink(p, false)
		b.SetLink(p, false)
	}
	const link = 1250 // cycles of 0.8 ns: 1 µs
	type arrival struct {
		at saisim.Cycle
		f  saisim.Frame
	}
	var onLink []arrival
	lost, doubled := 0, 0
	a.SetOutput(func(out *saisim.Out) {
		// The output comes after the moment: the frame is on the link.
		f := saisim.Frame{Data: slices.Clone(out.Data), ID: out.ID}
		switch out.ID % 10 {
		case 3:
			lost++
			o.LinkLost(out.ID, End{nb, 0}, "lost")
			return
		case 7:
			doubled++
			o.LinkDoubled(out.ID, End{nb, 0})
			onLink = append(onLink, arrival{out.At + link, f})
		}
		onLink = append(onLink, arrival{out.At + link, f})
	})
	arrived := 0
	b.SetOutput(func(out *saisim.Out) {
		arrived++
		h2.Arrive(out.ID, At(uint64(out.At)+link, 0, 1, 1_250_000_000), out.Len)
	})
	for i := range uint64(100) {
		at := saisim.Cycle(10_000 + 2000*i)
		f := udp(1, 2, 1, 2, 60)
		h1.Send(i, At(uint64(at-link), 0, 1, 1_250_000_000), f, 60)
		if err := a.Receive(0, at, saisim.Frame{Data: f, ID: i}); err != nil {
			t.Fatal(err)
		}
	}
	drain(a)
	for _, x := range onLink {
		if err := b.Receive(0, max(x.at, b.Now()), x.f); err != nil {
			t.Fatal(err)
		}
	}
	last := onLink[len(onLink)-1].at
	b.Advance(last + 10) // the last frame is arriving
	nb.Restart(At(uint64(last), 0, 1, 1_250_000_000))
	r := o.Reports()["all"]
	// Each chip floods each frame to 7 ports, of which six are down.
	sent := uint64(100 + doubled - lost)
	wantLost := uint64(100*6+lost) + (sent-1)*6 + 1
	got := uint64(0)
	for _, l := range r.Lost {
		got += l.Count
	}
	if r.Frames != 100 || r.Delivered != sent-1 || uint64(arrived) != sent-1 || got != wantLost || r.InFlight != 0 {
		t.Errorf("%d frames, %d delivered (host: %d), %d lost (%v), %d in flight; want 100, %d, %d lost", r.Frames,
			r.Delivered, arrived, got, r.Lost, r.InFlight, sent-1, wantLost)
	}
	if len(r.Paths) != 1 || r.Paths[0].Path != "a:Ethernet0>Ethernet1 b:Ethernet0>Ethernet1" {
		t.Errorf("paths %+v", r.Paths)
	}
	// Three links of 1 µs and two chips of 80 ns. A duplicate waits for its twin.
	if r.Delay.MinPs != 3_160_000 || r.Delay.MaxPs != 3_160_000+84*800 {
		t.Errorf("delays %+v", r.Delay)
	}
	if len(o.trips) != 0 || len(na.visits)+len(nb.visits) != 0 {
		t.Errorf("%d trips, %d and %d visits left", len(o.trips), len(na.visits), len(nb.visits))
	}
}

// inOrder returns the report of a network whose chips report their frames in a random order.
func inOrder(seed uint64) Report {
	rnd := rand.New(rand.NewPCG(seed, 0))
	o := New(Group{Name: "all", Flows: BySrc, KeepDelays: 5})
	a, b := o.Chip("a", 1000, name), o.Chip("b", 1000, name)
	frames := [2][]uint64{}
	for id := range uint64(60) {
		frames[id%2] = append(frames[id%2], id)
	}
	for len(frames[0])+len(frames[1]) > 0 {
		i := rnd.IntN(2)
		if len(frames[i]) == 0 {
			continue
		}
		id := frames[i][0]
		frames[i] = frames[i][1:]
		n := []*Node{a, b}[i]
		at := saisim.Cycle(id * 10 % 70)
		n.See(saisim.Moment{What: saisim.MomentReceived, ID: id, Number: id + 1, At: at, Data: udp(byte(id%5), 2, 3, 4, 60),
			Len: 60})
		n.See(saisim.Moment{What: saisim.MomentQueued, ID: id, Number: id + 1, Copy: 1, Port: 2})
		n.See(saisim.Moment{What: saisim.MomentReplicated, ID: id, Number: id + 1, Copies: 1})
		n.See(saisim.Moment{What: saisim.MomentSent, ID: id, Number: id + 1, Copy: 1, At: at + saisim.Cycle(id), Port: 2,
			Len: 60})
	}
	return o.Reports()["all"]
}

// The same network with a different order of the chips gives the same report.
func TestOrderDoesNotMatter(t *testing.T) {
	randtest.Run(t, randtest.Cases{Count: 10}, func(t *testing.T, seed uint64) {
		got, want := inOrder(seed), inOrder(seed+1)
		if !reflect.DeepEqual(got, want) || len(want.Deliveries) != 5 || len(want.Flows) != 5 {
			t.Errorf("%+v\nwant %+v", got, want)
		}
	})
}

// Times are only rounded to picoseconds.
func TestTime(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 2, Count: 10}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		for range 500 {
			hz, cycle := 1+rnd.Uint64N(8_000_000_000), rnd.Uint64()>>rnd.IntN(60)
			den := 1 + rnd.Uint64N(6_400_000_000_000)
			early := rnd.Uint64N(den)
			if cycle == 0 {
				early = 0
			}
			at := At(cycle, early, den, hz)
			n := new(big.Int).SetUint64(cycle)
			n.Mul(n, new(big.Int).SetUint64(den)).Sub(n, new(big.Int).SetUint64(early)).Mul(n, big.NewInt(second))
			n.Div(n, new(big.Int).Mul(new(big.Int).SetUint64(den), new(big.Int).SetUint64(hz)))
			got := new(big.Int).Mul(new(big.Int).SetUint64(at.Sec), big.NewInt(second))
			got.Add(got, new(big.Int).SetUint64(at.Ps))
			if d := new(big.Int).Sub(got, n); d.CmpAbs(big.NewInt(1)) > 0 || at.Ps >= second {
				t.Fatalf("cycle %d - %d/%d at %d Hz: %+v, %s ps off", cycle, early, den, hz, at, d)
			}
		}
	})
	if got := (Time{5, 10}).Since(Time{3, second - 1}); got != second+11 {
		t.Errorf("%d", got)
	}
}

func TestBuckets(t *testing.T) {
	end := uint64(0)
	for i := range numBuckets - 1 {
		if i > 0 && bucket(end+1) != i {
			t.Fatalf("%d is in bucket %d, want %d", end+1, bucket(end+1), i)
		}
		end = bucketEnd(i)
		if bucket(end) != i {
			t.Fatalf("%d is in bucket %d, want %d", end, bucket(end), i)
		}
	}
	d := delays{buckets: make([]uint64, numBuckets)}
	for ps := uint64(1); ps <= 1000; ps++ {
		d.add(ps * 1000)
	}
	if got := d.quantile(1, 2); got < 500_000 || got > 500_000*17/16 {
		t.Errorf("median %d", got)
	}
	if d.mean() != 500_500 || d.quantile(1, 1) != 1_000_000 {
		t.Errorf("mean %d, largest %d", d.mean(), d.quantile(1, 1))
	}
}
