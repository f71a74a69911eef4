package lacp

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func sys(n byte) System { return System{SystemPriority, [6]byte{2, 0, 0, 0, 0, n}} }

// A bench is one agent with an aggregation of two ports, and a partner that the test simulates.
type bench struct {
	*testing.T
	a    *Agent
	c    Aggregate
	now  time.Time
	sent []Frame
}

func newBench(t *testing.T, change ...func(*Aggregate)) *bench {
	b := &bench{T: t, a: New(), now: noon, c: Aggregate{Name: "PortChannel1", System: sys(1), Key: 11, Up: true,
		Members: []Member{
			{Name: "Ethernet0", Number: 1, MAC: sys(1).MAC, Up: true}, {Name: "Ethernet4", Number: 5, MAC: sys(1).MAC, Up: true},
		}}}
	for _, f := range change {
		f(&b.c)
	}
	b.configure()
	return b
}

func fast(c *Aggregate)     { c.Fast = true }
func fallback(c *Aggregate) { c.Fallback = true }

func (b *bench) configure() {
	b.a.Configure(b.now, []Aggregate{b.c})
	b.after()
}

func (b *bench) up(i int, up bool) {
	b.c.Members = slices.Clone(b.c.Members)
	b.c.Members[i].Up, b.c.Members[i].Before = up, nil
	b.configure()
}

// after puts into force what the ports may do.
func (b *bench) after() {
	for _, s := range b.a.Statuses(b.now) {
		b.a.InForce(b.now, s.Name, s.Mux >= MuxCollecting)
	}
	b.sent = append(b.sent, b.a.Frames()...)
}

// pass advances the time, and runs all timers when they are due.
func (b *bench) pass(d time.Duration) {
	for end := b.now.Add(d); ; {
		at, ok := b.a.Next()
		if !ok || at.After(end) {
			b.now = end
			return
		}
		if at.Before(b.now) {
			b.Fatalf("due at %v, which is past", at.Sub(noon))
		}
		b.now = at
		b.a.Advance(b.now)
		b.after()
	}
}

// partner returns the information that system n sends at a port.
func (b *bench) partner(n byte, port string, state State) Info {
	i := Info{System: sys(n), Key: 7, PortPriority: PortPriority, Port: 1 + uint16(len(port)),
		State: state | Activity | Aggregation}
	if port == "Ethernet4" {
		i.Port++
	}
	return i
}

func (b *bench) says(i Info, port string, change ...func(knows *Info)) {
	b.Helper()
	knows := Info{}
	for _, s := range b.a.Statuses(b.now) {
		if s.Name == port {
			knows = s.Actor
		}
	}
	for _, f := range change {
		f(&knows)
	}
	if err := b.a.Receive(b.now, port, format(i.System.MAC, i, knows)); err != nil {
		b.Fatal(err)
	}
	b.after()
}

// both sends the same information of the partner at both ports, as at the end of a negotiation.
func (b *bench) both(n byte, state State) {
	b.Helper()
	for _, port := range []string{"Ethernet0", "Ethernet4"} {
		b.says(b.partner(n, port, state), port)
	}
}

func (b *bench) want(text string) {
	b.Helper()
	var all []string
	for _, s := range b.a.Statuses(b.now) {
		line := fmt.Sprintf("%s %s", s.Receiver, s.Mux)
		if s.Reason != "" {
			line += " (" + s.Reason + ")"
		}
		all = append(all, line)
	}
	if got := strings.Join(all, "; "); got != text {
		b.Errorf("after %v\n     %q\nwant %q", b.now.Sub(noon), got, text)
	}
}

// spoke returns the number of LACPDUs of each port since the last call.
func (b *bench) spoke() string {
	n := map[string]int{}
	for _, f := range b.sent {
		n[f.Port]++
	}
	b.sent = nil
	return fmt.Sprintf("%d %d", n["Ethernet0"], n["Ethernet4"])
}

func (b *bench) wantSpoke(want string) {
	b.Helper()
	if got := b.spoke(); got != want {
		b.Errorf("after %v spoke %s times, want %s", b.now.Sub(noon), got, want)
	}
}

const allSync = Synchronization | Collecting | Distributing

// From no partner to traffic, 6.4.12 and 6.4.15 (independent control): a port collects when the partner is in sync, and
// distributes when the partner collects.
func TestNegotiation(t *testing.T) {
	b := newBench(t)
	b.want("expired detached (no LACPDU has come in yet); expired detached (no LACPDU has come in yet)")
	b.wantSpoke("1 1")
	b.both(2, 0)
	waits := "waits up to 2s for others to be aggregated with"
	b.want("current waiting (" + waits + "); current waiting (" + waits + ")")
	b.pass(2 * time.Second)
	out := "partner 02:00:00:00:00:02 is not in sync"
	b.want("current attached (" + out + "); current attached (" + out + ")")
	b.says(b.partner(2, "Ethernet0", Synchronization), "Ethernet0")
	b.want("current collecting (partner 02:00:00:00:00:02 does not collect); current attached (" + out + ")")
	b.both(2, Synchronization|Collecting)
	b.want("current distributing; current distributing")
	if s := b.a.Statuses(b.now)[0]; s.Actor.State != Activity|Aggregation|allSync || s.Actor.Port != 1 ||
		s.Actor.Key != 11 {
		t.Errorf("says %+v", s.Actor)
	}
	b.both(2, Synchronization)
	b.want("current collecting (partner 02:00:00:00:00:02 does not collect); current collecting (partner " +
		"02:00:00:00:00:02 does not collect)")
	b.both(2, 0)
	b.want("current attached (" + out + "); current attached (" + out + ")")
}

// negotiated returns a bench with traffic on both ports.
func negotiated(t *testing.T, change ...func(*Aggregate)) *bench {
	t.Helper()
	b := newBench(t, change...)
	b.both(2, 0)
	b.pass(2 * time.Second)
	b.both(2, allSync)
	b.want("current distributing; current distributing")
	b.pass(time.Second)
	b.spoke()
	return b
}

// 6.4.12: received information is valid for 90 seconds, or 3 if fast transmission is requested; then the partner has 3
// seconds more.
func TestReceiveMachineTimes(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Aggregate)
		life   time.Duration
	}{{"slow", func(*Aggregate) {}, LongTime}, {"fast", fast, ShortTime}} {
		t.Run(tt.name, func(t *testing.T) {
			b := negotiated(t, tt.change)
			b.both(2, allSync)
			b.pass(tt.life - 1)
			b.want("current distributing; current distributing")
			b.pass(1)
			gone := "expired attached (nothing more was heard of partner 02:00:00:00:00:02)"
			b.want(gone + "; " + gone)
			b.pass(ShortTime)
			b.want("defaulted detached (no LACPDU has come in); defaulted detached (no LACPDU has come in)")
			if c := b.a.Statuses(b.now)[0].Counts; c.Expired != 2 || c.Defaulted != 1 || c.Changed != 2 {
				t.Errorf("counted %+v", c)
			}
		})
	}
}

// A partner that returns before the port has defaulted needs no wait, and a partner that returns later does.
func TestPartnerComesBack(t *testing.T) {
	b := negotiated(t)
	b.pass(LongTime)
	b.both(2, allSync)
	b.want("current distributing; current distributing")
	b.pass(LongTime + ShortTime)
	b.both(2, allSync)
	b.pass(AggregateWait)
	b.want("current distributing; current distributing")
}

// 6.4.13: a port sends every second if the partner requests fast transmission, otherwise every 30 seconds. Without a
// partner it is fast.
func TestPeriodicTransmission(t *testing.T) {
	b := newBench(t)
	b.pass(ShortTime)
	b.spoke()
	b = negotiated(t)
	b.pass(59 * time.Second)
	b.wantSpoke("2 2")
	b.both(2, allSync|ShortTimeout)
	b.wantSpoke("1 1")
	b.pass(10 * time.Second)
	b.wantSpoke("10 10")
	b.both(2, allSync)
	b.pass(29 * time.Second)
	b.wantSpoke("0 0")
}

// A partner with wrong information receives a LACPDU at once (6.4.9, update_NTT), but at most three in a second
// (6.4.16).
func TestTransmitLimit(t *testing.T) {
	b := negotiated(t)
	for range 10 {
		b.says(b.partner(2, "Ethernet0", allSync), "Ethernet0", func(i *Info) { i.Key = 99 })
	}
	b.wantSpoke("3 0")
	b.pass(999 * time.Millisecond)
	b.wantSpoke("0 0")
	b.pass(time.Millisecond)
	b.wantSpoke("1 0")
}

// A partner is in sync if it announces that for the link with this port, and one side is active (6.4.9, recordPDU).
func TestWhoIsInSync(t *testing.T) {
	passive := func(i *Info) { i.State &^= Activity }
	for _, tt := range []struct {
		name  string
		state State
		off   State
		knows func(*Info)
		want  Mux
	}{
		{"all is well", allSync, 0, func(*Info) {}, MuxDistributing},
		{"it says that it is not", Collecting, 0, func(*Info) {}, MuxAttached},
		{"it is passive, and knows that we are active", allSync, Activity, func(*Info) {}, MuxDistributing},
		{"it is passive, and thinks that we are", allSync, Activity, passive, MuxAttached},
		{"it knows another port", allSync, 0, func(i *Info) { i.Port++ }, MuxAttached},
		{"another key", allSync, 0, func(i *Info) { i.Key++ }, MuxAttached},
		{"another system", allSync, 0, func(i *Info) { i.System = sys(3) }, MuxAttached},
		{"another priority", allSync, 0, func(i *Info) { i.PortPriority++ }, MuxAttached},
		{"that we do not aggregate", allSync, 0, func(i *Info) { i.State &^= Aggregation }, MuxAttached},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := negotiated(t)
			i := b.partner(2, "Ethernet0", tt.state)
			i.State &^= tt.off
			b.says(i, "Ethernet0", tt.knows)
			if s := b.a.Statuses(b.now)[0]; s.Mux != tt.want {
				t.Errorf("%s (%s), want %s", s.Mux, s.Reason, tt.want)
			}
		})
	}
}

// 6.4.14: ports with another partner, another key, or this switch itself at the other end are not selected. The
// selected partner does not depend on the order of reception.
func TestSelection(t *testing.T) {
	says := func(b *bench, port string, i Info) {
		b.Helper()
		b.says(i, port)
		b.pass(AggregateWait)
		b.says(i, port)
	}
	t.Run("another partner", func(t *testing.T) {
		b := negotiated(t)
		says(b, "Ethernet4", b.partner(1, "Ethernet4", allSync))
		b.want("current distributing; current detached (the partner is this switch itself)")
		says(b, "Ethernet4", b.partner(3, "Ethernet4", allSync))
		b.want("current distributing; current detached (partner 02:00:00:00:00:03 with key 7 is not that of PortChannel1, " +
			"02:00:00:00:00:02 with key 7)")
		// The remaining partner is selected when the other is gone.
		b.up(0, false)
		b.want("disabled detached (the port is down); current waiting (waits up to 2s for others to be aggregated with)")
	})
	t.Run("another key", func(t *testing.T) {
		b := negotiated(t)
		i := b.partner(2, "Ethernet4", allSync)
		i.Key = 8
		says(b, "Ethernet4", i)
		b.want("current distributing; current detached (partner 02:00:00:00:00:02 with key 8 is not that of PortChannel1, " +
			"02:00:00:00:00:02 with key 7)")
	})
	t.Run("one partner that does not aggregate has one port", func(t *testing.T) {
		b := newBench(t)
		for _, port := range []string{"Ethernet0", "Ethernet4"} {
			i := b.partner(2, port, allSync)
			i.State &^= Aggregation
			i.Port = 1
			says(b, port, i)
		}
		b.want("current distributing; current detached (partner 02:00:00:00:00:02 aggregates no ports)")
	})
	t.Run("the partner's port is another now: detached, and attached again", func(t *testing.T) {
		b := negotiated(t)
		i := b.partner(2, "Ethernet4", allSync)
		i.Port = 99
		b.says(i, "Ethernet4")
		b.want("current distributing; current waiting (waits up to 2s for others to be aggregated with)")
		b.pass(AggregateWait)
		b.want("current distributing; current distributing")
	})
}

// A port that goes down carries nothing from that instant on; when it comes back it sends at once.
func TestPortDown(t *testing.T) {
	b := negotiated(t)
	b.up(1, false)
	b.want("current distributing; disabled detached (the port is down)")
	if err := b.a.Receive(b.now, "Ethernet4", format(sys(2).MAC, b.partner(2, "Ethernet4", allSync), Info{})); err == nil {
		t.Error("heard at a port that is down")
	}
	b.pass(10 * time.Second)
	b.wantSpoke("0 0")
	b.up(1, true)
	b.wantSpoke("0 1")
	b.says(b.partner(2, "Ethernet4", allSync), "Ethernet4")
	b.pass(AggregateWait)
	b.want("current distributing; current distributing")
	b.c.Up = false
	b.configure()
	b.want("disabled detached (PortChannel1 is down by configuration); disabled detached (PortChannel1 is down by " +
		"configuration)")
}

// Fallback: while no port has a partner, the first that is up carries traffic.
func TestFallback(t *testing.T) {
	b := newBench(t, fallback)
	b.pass(ShortTime + AggregateWait)
	b.want("defaulted distributing; defaulted detached (no LACPDU has come in)")
	b.up(0, false)
	b.pass(AggregateWait)
	b.want("disabled detached (the port is down); defaulted distributing")
	b.up(0, true) // the traffic does not move between ports
	b.pass(ShortTime + AggregateWait)
	b.want("defaulted detached (no LACPDU has come in); defaulted distributing")
	b.says(b.partner(2, "Ethernet0", allSync), "Ethernet0")
	b.pass(AggregateWait)
	b.want("current distributing; defaulted detached (no LACPDU has come in)")
}

// Collecting is announced when it is in force.
func TestCollectingIsSaidWhenInForce(t *testing.T) {
	b := newBench(t)
	b.a.Configure(b.now, []Aggregate{b.c})
	say := func(state State) {
		if err := b.a.Receive(b.now, "Ethernet0", format(sys(2).MAC, b.partner(2, "Ethernet0", state),
			b.a.Statuses(b.now)[0].Actor)); err != nil {
			t.Fatal(err)
		}
	}
	say(0)
	b.a.Advance(noon.Add(ShortTime)) // Ethernet4 has received nothing
	b.now = noon.Add(ShortTime)
	say(Synchronization)
	b.want("current collecting (the switch does not collect yet); defaulted detached (no LACPDU has come in)")
	if s := b.a.Statuses(b.now)[0]; s.Actor.State&Collecting != 0 {
		t.Error("says that it collects")
	}
	b.a.Frames()
	b.a.InForce(b.now, "Ethernet0", true)
	b.a.Advance(b.now.Add(time.Second))
	if f := b.a.Frames(); len(f) == 0 || State(f[0].Data[header+4+14])&Collecting == 0 {
		t.Errorf("does not say that it collects: %x", f)
	}
}

// An agent that starts where another has ended continues, unnoticed by the partner.
func TestRestart(t *testing.T) {
	b := negotiated(t)
	for i, s := range b.a.Statuses(b.now) {
		b.c.Members[i].Before = &Before{s.Partner, s.Mux}
	}
	b.a = New()
	b.configure()
	b.want("current distributing; current distributing")
	for _, f := range b.sent {
		if s := State(f.Data[header+4+14]); s != Activity|Aggregation|allSync {
			t.Errorf("%s says %08b", f.Port, s)
		}
	}
	b.wantSpoke("1 1")
	b.pass(LongTime)
	b.want("expired attached (nothing more was heard of partner 02:00:00:00:00:02); expired attached (nothing more was " +
		"heard of partner 02:00:00:00:00:02)")
	// A port that goes down meanwhile starts again.
	b.a, b.c.Members[1].Up = New(), false
	b.configure()
	b.want("current distributing; disabled detached (the port is down)")
}

// While nothing can be received no partner expires, and LACPDUs are sent as soon as possible.
func TestResume(t *testing.T) {
	b := negotiated(t)
	b.now = b.now.Add(10 * time.Minute)
	b.a.Resume(10 * time.Minute)
	b.a.Advance(b.now)
	b.after()
	b.want("current distributing; current distributing")
	b.wantSpoke("1 1")
}

// 6.4.17: a port that is out of sync for a minute churns.
func TestChurn(t *testing.T) {
	b := newBench(t)
	churns := func(want string) {
		t.Helper()
		s := b.a.Statuses(b.now)[0]
		if got := fmt.Sprint(s.ActorChurned, s.PartnerChurned); got != want {
			t.Errorf("after %v churned: %s, want %s", b.now.Sub(noon), got, want)
		}
	}
	b.pass(ChurnTime - 1)
	churns("false false")
	b.pass(1)
	churns("true true")
	b.both(2, 0)
	b.pass(AggregateWait)
	churns("false true")
	b.both(2, allSync)
	churns("false false")
}

// The LACPDU of a port, octet by octet: 6.4.2.3.
func TestLACPDU(t *testing.T) {
	b := newBench(t, fast)
	b.both(2, Synchronization|ShortTimeout)
	b.sent = nil
	b.pass(time.Second)
	want := []byte{1, 0x80, 0xc2, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 9, 1, 1,
		1, 20, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 0, 11, 0, 255, 0, 1, 0x87, 0, 0, 0,
		2, 20, 0xff, 0xff, 2, 0, 0, 0, 0, 2, 0, 7, 0, 255, 0, 10, 0x05, 0, 0, 0,
		3, 16}
	want[32] = byte(Activity | ShortTimeout | Aggregation)
	want[52] = byte(Activity | Aggregation | Synchronization | ShortTimeout)
	want = append(want, make([]byte, pduLength-len(want))...)
	if got := b.sent[0].Data; !bytes.Equal(got, want) {
		t.Errorf("says\n%x\nwant\n%x", got, want)
	}
}

func marker(kind byte) []byte {
	f := append(append([]byte{}, Group[:]...), 2, 0, 0, 0, 0, 9, 0x88, 9, 2, 1, kind, 16)
	return append(f, make([]byte, pduLength-len(f))...)
}

// Invalid LACPDUs are counted by reason, and change nothing.
func TestDiscarded(t *testing.T) {
	good := format(sys(2).MAC, Info{State: Activity | Aggregation}, Info{})
	with := func(at int, v byte) []byte {
		f := slices.Clone(good)
		f[at] = v
		return f
	}
	for _, tt := range []struct {
		why   Discarded
		frame []byte
	}{
		{Short, nil}, {Short, good[:15]}, {Short, good[:55]}, {BadType, with(13, 0xcc)}, {BadAddress, with(5, 0)},
		{BadAddress, with(6, 1)},
		{BadSubtype, with(14, 3)}, {BadVersion, with(15, 0)}, {BadTLV, with(16, 2)}, {BadTLV, with(17, 19)},
		{BadTLV, with(36, 1)},
		{BadTLV, with(37, 0)}, {BadTLV, marker(3)}, {Short, marker(1)[:30]},
	} {
		b := newBench(t)
		before := b.a.Statuses(b.now)[0]
		if err := b.a.Receive(b.now, "Ethernet0", tt.frame); err == nil || !strings.Contains(err.Error(), string(tt.why)) {
			t.Errorf("%x: %v, want %s", tt.frame, err, tt.why)
		}
		after := b.a.Statuses(b.now)[0]
		if after.Counts.Discarded[tt.why] != 1 || after.Mux != before.Mux || after.Partner != before.Partner {
			t.Errorf("%x: counted %v, is %+v", tt.frame, after.Counts.Discarded, after)
		}
	}
	b := newBench(t) // a future version has additional data at the end
	if err := b.a.Receive(b.now, "Ethernet0", append(with(15, 2), 9, 9)); err != nil {
		t.Error(err)
	}
	if err := b.a.Receive(b.now, "Ethernet8", good); err == nil || b.a.Nowhere() != 1 {
		t.Errorf("a port of no aggregation: %v", err)
	}
}

// 6.5: markers are answered, up to a limit, and responses are not answered.
func TestMarkers(t *testing.T) {
	b := newBench(t)
	b.sent = nil
	receive := func(kind byte) error {
		err := b.a.Receive(b.now, "Ethernet0", marker(kind))
		b.after()
		return err
	}
	if err := receive(1); err != nil {
		t.Fatal(err)
	}
	want := marker(2)
	copy(want[6:], []byte{2, 0, 0, 0, 0, 1})
	if len(b.sent) != 1 || !bytes.Equal(b.sent[0].Data, want) {
		t.Errorf("answered %x, want %x", b.sent, want)
	}
	for range 20 {
		_ = receive(1)
	}
	if err := receive(2); err != nil {
		t.Error(err)
	}
	c := b.a.Statuses(b.now)[0].Counts
	if c.Markers != 21 || c.Answered != 10 || c.Answers != 1 || c.Discarded[MarkerLimit] != 11 {
		t.Errorf("counted %+v", c)
	}
}

func FuzzReceive(f *testing.F) {
	f.Add(format(sys(2).MAC, Info{System: sys(2), Key: 7, Port: 3, State: 0x3d}, Info{System: sys(1), Key: 11, Port: 1}),
		uint16(1))
	f.Add(marker(1), uint16(5000))
	f.Fuzz(func(t *testing.T, frame []byte, wait uint16) {
		b := newBench(t, fast, fallback)
		for range 2 {
			err := b.a.Receive(b.now, "Ethernet0", frame)
			b.after()
			b.pass(time.Duration(wait) * time.Millisecond)
			c := b.a.Statuses(b.now)[0].Counts
			n := uint64(0)
			for _, v := range c.Discarded {
				n += v
			}
			if err != nil && n == 0 || err == nil && c.Received+c.Markers+c.Answers == 0 {
				t.Errorf("%v, counted %+v", err, c)
			}
		}
	})
}
