package sflow

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/internal/randtest"
	"tamtam/orch/orchtest"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/swss/schema"
)

// bench is an orchagent's samplers on a fake ASIC with two ports.
type bench struct {
	*orchtest.Bench
	ports *orchtest.Ports
	orch  *Orch
}

func newBench(t testing.TB, opts saitest.Options) *bench {
	t.Helper()
	opts.Ports = 2
	b := &bench{Bench: orchtest.New(t, opts)}
	b.run()
	return b
}

// start starts an orchagent with a new ASIC on the rows in Redis. Its first view is not applied.
func (b *bench) start() {
	b.T.Helper()
	b.Start()
	_, ports := b.CreateSwitch()
	b.ports = orchtest.NewPorts(ports)
	b.orch = New(Config{SAI: b.Rec, Daemon: b.Daemon, Redis: b.Redis, Ports: b.ports})
	b.Step()
}

// run does the same as start, and applies the view.
func (b *bench) run() {
	b.T.Helper()
	b.start()
	b.apply()
	b.Rec.Reset()
}

// apply applies the view.
func (b *bench) apply() {
	b.T.Helper()
	if err := b.orch.ViewApplied(b.Ctx); err != nil {
		b.T.Fatal(err)
	}
	b.Step()
}

// do applies lines: "Ethernet0 sample_rate=1000" sets a row of SFLOW_SESSION_TABLE, and "-Ethernet0" deletes it.
func (b *bench) do(lines ...string) {
	b.T.Helper()
	for _, line := range lines {
		name, gone := strings.CutPrefix(line, "-")
		line = schema.AppSFlowSession + ":" + name
		if gone {
			line = "-" + line
		}
		b.Write(line)
		b.Step()
	}
}

func (b *bench) want(port, status string) {
	b.T.Helper()
	b.WantStatus(schema.AppSFlowSession, port, status)
}

// asic returns what the ASIC samples, for example "Ethernet0 rx 1000", and whether a sampler is unused.
func (b *bench) asic() string {
	b.T.Helper()
	var is []string
	rate, used := map[sai.Value]sai.Value{}, map[sai.Value]bool{}
	for _, k := range b.Fake.Created() {
		if k.Type == sai.ObjectTypeSamplepacket {
			rate[k.OID] = b.Attr(k, sai.SamplepacketAttrSampleRate)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.ports.All)) {
		for _, of := range []struct {
			word string
			attr sai.AttrID
		}{{"rx", sai.PortAttrIngressSamplepacketEnable}, {"tx", sai.PortAttrEgressSamplepacketEnable}} {
			port := sai.Obj(sai.ObjectTypePort, b.ports.All[name])
			has, err := b.Fake.Get(b.Ctx, port, []sai.Attr{sai.Want(of.attr, 1)})
			if err != nil { // the ASIC has no such attribute
				continue
			}
			if n, ok := rate[has[0].Value]; ok {
				used[has[0].Value] = true
				is = append(is, fmt.Sprint(name, " ", of.word, " ", n))
			}
		}
	}
	if len(used) < len(rate) {
		is = append(is, fmt.Sprint(len(rate)-len(used), " of nobody"))
	}
	return strings.Join(is, ", ")
}

func (b *bench) wantASIC(want string) {
	b.T.Helper()
	if got := b.asic(); got != want {
		b.T.Errorf("the ASIC samples %q, want %q", got, want)
	}
}

// Rows, ports and the end of the view may arrive in any order. Afterwards the ports are sampled as the rows request.
// Rows and ports may also be removed in any order, and no sampler is left.
func TestAnyOrder(t *testing.T) {
	randtest.Run(t, randtest.Cases{Count: 20, Short: 10}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		b := newBench(t, saitest.Options{})
		b.start() // again, without the view
		b.ports.Turn(b.Ctx, "Ethernet0", false)
		come := []func(){
			func() { b.do("Ethernet0 sample_rate=1000 sample_direction=both") },
			func() { b.do("Ethernet4 sample_rate=1000 sample_direction=tx") },
			func() { b.ports.Turn(b.Ctx, "Ethernet0", true) },
			b.apply,
		}
		for _, i := range rnd.Perm(len(come)) {
			if b.Rec.Reset(); !b.orch.applied && len(b.Rec.Lines()) > 0 {
				t.Errorf("while the view is made: %v", b.Rec.Lines())
			}
			come[i]()
			b.Step()
		}
		b.wantASIC("Ethernet0 rx 1000, Ethernet0 tx 1000, Ethernet4 tx 1000")
		b.want("Ethernet0", "active")
		b.want("Ethernet4", "active")
		if n := len(b.Rec.LiveOf(sai.ObjectTypeSamplepacket)); n != 1 {
			t.Errorf("%d samplers of one rate", n)
		}
		gone := []func(){
			func() { b.do("-Ethernet0") }, func() { b.do("-Ethernet4") },
			func() { b.ports.Turn(b.Ctx, "Ethernet0", false) }, func() { b.ports.Turn(b.Ctx, "Ethernet4", false) },
		}
		for _, i := range rnd.Perm(len(gone)) {
			gone[i]()
			b.Step()
		}
		b.wantASIC("")
		b.want("Ethernet0", "")
		b.want("Ethernet4", "")
	})
}

// Whatever the order of events, the ASIC depends only on the last rows and ports.
func TestConvergence(t *testing.T) {
	lines := []string{
		"sample_rate=1000", "sample_rate=256 sample_direction=tx", "sample_rate=256 sample_direction=both",
		"sample_rate=1000 sample_direction=both", "sample_rate=1000 admin_state=down", "sample_rate=0",
	}
	randtest.Run(t, randtest.Cases{Count: 20, Short: 10}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		b := newBench(t, saitest.Options{})
		for range 40 {
			port := []string{"Ethernet0", "Ethernet4"}[rnd.IntN(2)]
			switch rnd.IntN(5) {
			case 0:
				b.ports.Turn(b.Ctx, port, rnd.IntN(2) == 0)
			case 1:
				b.do("-" + port)
			default:
				b.do(port + " " + lines[rnd.IntN(len(lines))])
			}
		}
		b.Step()
		is, statuses, there := b.asic(), b.Statuses(schema.AppSFlowSession), b.ports.OIDs
		b.start()
		b.ports.OIDs = there
		b.apply()
		if got := b.asic(); got != is {
			t.Errorf("the ASIC samples %q, from the last rows alone %q", is, got)
		}
		if got := b.Statuses(schema.AppSFlowSession); !slices.Equal(got, statuses) {
			t.Errorf("statuses %q, from the last rows alone %q", statuses, got)
		}
	})
}

// Each SAI call fails once. The status of the rows reports it, and failed removals are repeated a moment later. A
// refused row is in force when it is written again.
func TestEveryCallFails(t *testing.T) {
	for n := 1; ; n++ {
		b := newBench(t, saitest.Options{})
		b.Rec.FailAt(n, sai.StatusFailure)
		for _, line := range []string{
			"Ethernet0 sample_rate=1000 sample_direction=both", "Ethernet0 sample_rate=256 sample_direction=both",
			"Ethernet4 sample_rate=256", "Ethernet4 sample_rate=256 admin_state=down", "-Ethernet4",
		} {
			b.do(line)
			b.truth(n)
		}
		failed := b.Rec.Changes() >= n
		b.Rec.FailAt(0, 0)
		b.Pass(2 * time.Second)
		b.truth(n)
		b.do("Ethernet0 sample_rate=256 sample_direction=both", "Ethernet4 sample_rate=256")
		b.want("Ethernet0", "active")
		b.want("Ethernet4", "active")
		b.wantASIC("Ethernet0 rx 256, Ethernet0 tx 256, Ethernet4 rx 256")
		b.do("-Ethernet0", "-Ethernet4")
		b.wantASIC("")
		if _, due := b.Daemon.NextTimer(); due {
			t.Errorf("call %d failed: something is still tried", n)
		}
		if !failed {
			if n < 10 {
				t.Errorf("only %d calls", n)
			}
			return
		}
	}
}

// truth checks what holds after every step. The port of an active row is sampled as requested, and any other port is
// not sampled. Otherwise the row reports the failure, and the removal is repeated.
func (b *bench) truth(n int) {
	b.T.Helper()
	is := b.asic()
	left := strings.Contains(is, "nobody")
	for _, name := range b.orch.ledger.Keys(schema.AppSFlowSession) {
		s, err := schema.ParseSFlowSampling(name, b.orch.ledger.Rows[row(name)])
		if err != nil {
			b.T.Fatal(err)
		}
		status := b.Status(schema.AppSFlowSession + "|" + name)
		still := strings.Contains(status, "the port is still sampled, which is tried again: ")
		left = left || still
		for direction, wanted := range map[string]bool{"rx": s.Received(), "tx": s.Sent()} {
			sampled := strings.Contains(is, name+" "+direction+" ")
			if status == "active" && wanted != strings.Contains(is, fmt.Sprint(name, " ", direction, " ", s.Rate)) ||
				status == "active" && sampled && !wanted || status != "active" && sampled && !still {
				b.T.Errorf("call %d failed: %s is %s, the ASIC samples %q", n, name, status, is)
			}
		}
		if !strings.HasPrefix(status, "active") && !strings.Contains(status, "FAILURE") {
			b.T.Errorf("call %d failed: %s is %s", n, name, status)
		}
	}
	if _, due := b.Daemon.NextTimer(); left && !due {
		b.T.Errorf("call %d failed: the ASIC samples %q, and nobody tries", n, is)
	}
}

// An orchagent that restarts makes the state of the rows in one pass, only when its view is complete.
func TestRestart(t *testing.T) {
	b := newBench(t, saitest.Options{})
	b.do("Ethernet0 sample_rate=1000", "Ethernet4 sample_rate=0")
	statuses := b.Statuses(schema.AppSFlowSession)
	b.start()
	b.want("Ethernet0", "pending: waiting for the ASIC's view to be complete")
	b.wantASIC("")
	b.apply()
	b.wantASIC("Ethernet0 rx 1000")
	if got := b.Statuses(schema.AppSFlowSession); !slices.Equal(got, statuses) {
		t.Errorf("statuses %q, before %q", got, statuses)
	}
	b.ports.Turn(b.Ctx, "Ethernet0", false) // the port is removed and then added again
	b.wantASIC("")
	b.ports.Turn(b.Ctx, "Ethernet0", true)
	b.wantASIC("Ethernet0 rx 1000")
}
