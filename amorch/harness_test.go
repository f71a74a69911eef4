package amorch

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/orch"
	"tamtam/orch/feature"
	"tamtam/orch/feature/featuretest"
	"tamtam/orch/orchtest"
	aclorch "tamtam/orchagent/acl"
	"tamtam/orchagent/orchagenttest"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/altmark"
)

// A chip is a fake ASIC with register reads of flows. Tests set its counters.
type chip struct {
	*featuretest.Extensions[struct{}]
	most    int              // largest number of flows in one read
	now     func() time.Time // time of day of the chip
	steps   uint64
	started uint64
	program bool     // true if the chip reports that a program runs
	kernel  []uint64 // state of the kernel's clock that the chip follows; nil if it follows none
	flows   map[uint32]*[2]altmark.ChipCounts
	born    map[uint32]uint64 // generations of the flows, by index
	late    []uint64          // periods of the first and the last late packet of every flow; nil if there are none
	dumb    bool              // true if the ingress ACLs can only count
	// uncounted is true if the ACL counters cannot be read.
	uncounted bool
}

func newChip(lanes, flows uint64, now func() time.Time) *chip {
	c := &chip{now: now, flows: map[uint32]*[2]altmark.ChipCounts{}, born: map[uint32]uint64{}}
	c.Extensions = &featuretest.Extensions[struct{}]{Read: c.window, Room: map[string]uint64{
		altmark.ObjectProfile: lanes, altmark.ObjectFlows: flows,
	}}
	return c
}

func (c *chip) Get(ctx context.Context, k sai.Key, want []sai.Attr) ([]sai.Attr, error) {
	if k.Type == sai.ObjectTypeSwitch && c.dumb && want[0].ID == sai.SwitchAttrACLStageIngress {
		counter := sai.ACLCapability{Actions: []sai.Enum{sai.ACLActionTypeCounter}}
		return []sai.Attr{{ID: want[0].ID, Value: counter}}, nil
	}
	if k.Type == sai.ObjectTypeACLCounter && c.uncounted {
		return nil, &sai.CallError{Op: "get", Type: k.Type, Status: sai.StatusNotImplemented}
	}
	return c.Extensions.Get(ctx, k, want)
}

// window returns the content of a register read for the requested flows.
func (c *chip) window(x *featuretest.Extension[struct{}]) (sai.Bytes, error) {
	list, err := feature.Value[[]uint32](x.Entry, altmark.AttrFlows)
	if err != nil {
		return nil, err
	}
	c.most = max(c.most, len(list))
	now := altmark.At(c.now())
	words, born := []uint64{}, []uint64{}
	var arrivals []uint64
	summed := false
	for _, index := range list {
		f := c.flow(index)
		for _, n := range f {
			words, arrivals = n.Words(words), n.Arrivals.Words(arrivals)
			summed = summed || n.Arrivals != altmark.ChipArrivals{}
		}
		born = append(born, c.born[index])
	}
	values := map[string]any{
		"flows": list, "time": []uint64{now.Seconds, uint64(now.Nanoseconds), 1, c.steps, c.started},
		"generations": born, "counters": words,
	}
	if summed {
		values["arrivals"] = arrivals
	}
	if c.late != nil {
		values["late"] = slices.Repeat(c.late, len(list))
	}
	if c.kernel != nil {
		values["kernel"] = c.kernel
	}
	if c.program {
		values["program"] = []uint64{1}
	}
	return featuretest.Entry(values)
}

func (c *chip) flow(index uint32) *[2]altmark.ChipCounts {
	if c.flows[index] == nil {
		c.flows[index] = &[2]altmark.ChipCounts{}
	}
	return c.flows[index]
}

// fakeRoutes holds a test's values for the switch's addresses and its route.
type fakeRoutes struct {
	own     map[netip.Addr]bool
	mtu     uint32 // MTU of the route; 0 if there is no route
	changes orch.Topic[struct{}]
}

func (w *fakeRoutes) Owns(a netip.Addr) bool { return w.own[a] }

func (w *fakeRoutes) Exit(to netip.Addr) (string, uint32, error) {
	if w.mtu == 0 {
		return "", 0, orch.Wait("route", to.String(), "no route to %s", to)
	}
	return "Ethernet4", w.mtu, nil
}

func (w *fakeRoutes) Changes() *orch.Topic[struct{}] { return &w.changes }

// bench is an orchagent with ports, ACLs and alternate marking on a fake ASIC.
type bench struct {
	routes fakeRoutes
	*orchtest.Bench
	chip  *chip
	acl   *aclorch.Orch
	am    *Orch
	ahead time.Duration // time by which the chip's time of day is ahead of the daemon's
}

// start is the middle of period 1700000000, if a period is one second.
var start = time.Unix(1700000000, 500_000_000)

// newBench makes a switch with the given numbers of lanes and flows of alternate marking, either of which may be 0. The
// feature is active and there is a table of flow groups.
func newBench(t testing.TB, lanes, flows uint64, changes ...func(*bench)) *bench {
	t.Helper()
	extensions := []string{altmark.ObjectProfile, altmark.ObjectFlows, altmark.ObjectFlow}
	b := &bench{Bench: orchtest.New(t, saitest.Options{Ports: 1, Extensions: extensions})}
	b.Now = start
	b.chip = newChip(lanes, flows, func() time.Time { return b.Now.Add(b.ahead) })
	b.Layer = func(api sai.API) sai.API {
		b.chip.API, b.chip.Objects = api, map[sai.OID]*featuretest.Extension[struct{}]{}
		return b.chip
	}
	for _, f := range changes {
		f(b)
	}
	b.Set(schema.AppTAMFeature, featureName, "status", "ACTIVE")
	orchagenttest.WritePorts(b.Bench, 1)
	orchagenttest.WriteTAMTable(b.Bench)
	b.run()
	b.Rec.Reset()
	return b
}

// run starts an orchagent with a new ASIC on the rows in Redis, and applies the first view.
func (b *bench) run() {
	b.T.Helper()
	a := orchagenttest.Start(b.Bench)
	b.acl = a.ACL
	b.am = orchagenttest.Make(a, New, Config{Rules: a.ACL, Routes: &b.routes, Config: a.Config})
	a.Apply(b.am)
}

func (b *bench) rule(name string, fields ...string) {
	b.Set(schema.AppACLRule, "TAM:"+name, append([]string{"PRIORITY", "100"}, fields...)...)
}

// initiator returns a session that marks steps of one second in the lowest bit of the DSCP.
func initiator() altmark.Session {
	return altmark.Session{
		Role: altmark.Initiator, Method: altmark.Step, Mark: altmark.DSCP0, SlotSync: true,
		ClockError: time.Second / 64, MaxDelay: time.Second / 8,
	}
}

func (b *bench) session(name, rule string, s altmark.Session) {
	row := schema.AltMarkFlow{Name: name, Rule: schema.ACLRuleKey{Table: "TAM", Rule: rule}, Session: s}
	var fields []string
	for f, v := range row.Fields() {
		fields = append(fields, f, v)
	}
	b.Set(schema.AppTAMAltMark, name, fields...)
}

func (b *bench) wantSession(name, want string) {
	b.T.Helper()
	b.WantStatus(schema.StateTAMAltMark, name, want)
}

// count makes the chip count packets of 100 bytes for a session.
func (b *bench) count(session string, colour int, packets uint64) {
	b.T.Helper()
	f := &b.chip.flow(b.am.Sessions[session].InASIC.index)[colour]
	f.Packets += packets
	f.Bytes += 100 * packets
}

// last returns a session's last period as "number: packets flags".
func (b *bench) last(session string) string {
	b.T.Helper()
	c, err := schema.ParseAltMarkCounters(session, b.Row(swss.CountersDB, schema.CountersAltMark, session))
	if err != nil {
		b.T.Fatal(err)
	}
	if !c.Has {
		return c.Engine
	}
	return fmt.Sprintf("%d: %d %s", c.Period.Number, c.Period.Packets, c.Period.Flags)
}

func (b *bench) wantLast(session, want string) {
	b.T.Helper()
	if got := strings.TrimSpace(b.last(session)); got != want {
		b.T.Errorf("the last period of %s is %q, want %q", session, got, want)
	}
}

// left returns the objects of sessions that still exist.
func (b *bench) left() []sai.Key {
	return slices.DeleteFunc(b.Fake.Created(), func(k sai.Key) bool { return k.Type == sai.ObjectTypeHostif })
}
