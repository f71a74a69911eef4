package fates

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/collector"
	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/internal/racetest"
	"tamtam/internal/randtest"
	"tamtam/saisim"
	"tamtam/saisim/drop"
	"tamtam/saisim/profile"
	"tamtam/saisim/truth"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/record"
)

// A fated is a switch that records all received packets, with a model of it.
type fated struct {
	*recorder
	config device.ConfigDB
	model  *fateModel
	plans  map[uint32]*record.Plan
	oracle *truth.Oracle
	sent   map[string]*fatedFrame // sent frames by the part of a frame that a record contains
	order  []*fatedFrame
	drops  fateCounts // drops according to the model
	left   uint64
	toCPU  uint64
	saw    map[string]int
	// chipDrops counts the drops that the chip reported. It includes frames that only the CPU receives, with the reason
	// why no port sends them.
	chipDrops fateCounts
	why       map[string]string // reason by the part of a frame that a record contains
	// discards counts the drops that sFlow reported.
	discards  fateCounts // by sFlow
	datagrams uint32
	shows     func(line string) string
	flows     [][2]netip.Addr

	removed string                   // the removed port
	reasons map[string][]drop.Reason // reasons of the debug counters, by name
}

// A fatedFrame is a sent frame with the model's prediction.
type fatedFrame struct {
	in    string
	data  []byte
	fates [][]modelEnd
	ends  []modelEnd // fates of its copies, as records report them
}

// fateCollector is the port towards the collector, which is not part of the test.
const fateCollector = "Ethernet7"

// newFated starts a switch that records packets received at some ports.
func newFated(t *testing.T, c device.ConfigDB, ports string, saw map[string]int) *fated {
	t.Helper()
	c["INTERFACE"][fateCollector] = swss.FieldValues{}
	c["INTERFACE"][fateCollector+"|10.8.0.1/24"] = swss.FieldValues{}
	c["NEIGH"][fateCollector+"|10.8.0.2"] = swss.FieldValues{"neigh": "02:00:00:00:08:02"}
	c[schema.CfgTAMFeature] = map[string]swss.FieldValues{schema.FeatureTableRecord: {"status": "ACTIVE"}}
	c[schema.CfgTAMFlowGroup] = map[string]swss.FieldValues{"all": {"id": "1"}}
	c[schema.CfgTAMCollector] = map[string]swss.FieldValues{"c": {"ipaddress": "10.8.0.2", "port": "4739"}}
	c[schema.CfgTAMTableRecord] = map[string]swss.FieldValues{"s0": {"flowgroup": "all", "collector": "c",
		"mode": record.ModeHit, "phv": "32+32", "identities": "true"}}
	c[schema.CfgACLRule]["TAM|all"] = swss.FieldValues{"IN_PORTS": ports}
	fateReaders(c)
	reasons := debugConfig(c)
	prof := profile.Small()
	// The capacity is sufficient, so that no table is full.
	prof.FDB, prof.Neighbors, prof.IPv4Routes, prof.IPv6Routes, prof.ACL.Tables = 128, 64, 64, 64, 8
	f := &fated{config: c, model: newFateModel(c), plans: map[uint32]*record.Plan{}, sent: map[string]*fatedFrame{},
		drops: fateCounts{}, discards: fateCounts{}, saw: saw, reasons: reasons}
	f.recorder = &recorder{T: t, raw: map[uint64][]byte{}}
	f.Sim = devicetest.NewSim(t, device.SimConfig{Config: c, Profile: prof, Start: time.Unix(1000, 0), SFlow: f.sflowed})
	devicetest.RunUntilIdle(t, f.Sim)
	problems, err := device.Problems(t.Context(), f.Redis)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if p.Status != schema.StatusPending {
			t.Errorf("%v", p)
		}
	}
	f.chipDrops, f.why = fateCounts{}, map[string]string{}
	names := map[saisim.PortID]string{saisim.CPUPort: "CPU"}
	for _, id := range f.Chip.Ports() {
		names[id] = f.Chip.PortName(id)
	}
	filter, err := truth.ParseFilter(c[schema.CfgACLRule]["TAM|all"])
	if err != nil {
		t.Fatal(err)
	}
	f.oracle = truth.New(truth.Group{Name: "all", Filter: filter})
	node := f.oracle.Chip("switch", f.Chip.Profile().ClockHz, func(id saisim.PortID) string { return names[id] })
	f.Chip.SetObserver(node.See)
	f.Chip.OnDrop(func(d *saisim.Drop) {
		switch {
		case d.Mirror:
		case d.Punted:
			f.why[head(d.Data)] = d.Why.String()
		default:
			f.chipDrops[[2]string{names[d.Port], d.Why.String()}]++
		}
	})
	to, _ := f.Chip.PortByName(fateCollector)
	f.Chip.SetOutput(func(o *saisim.Out) {
		if o.Port == to {
			f.frames = append(f.frames, bytes.Clone(o.Data))
		}
	})
	f.shows = devicetest.StartShows(t, f.Sim)
	return f
}

// set writes a row of CONFIG_DB, or deletes it if fields is nil. The switch keeps its learned addresses.
func (f *fated) set(row string, fields swss.FieldValues) {
	f.Helper()
	table, key, _ := strings.Cut(row, "|")
	db := f.Redis.DB(swss.ConfigDB).Client()
	devicetest.NoError(f.T, db.Del(f.Context(), row).Err())
	if f.config[table] == nil {
		f.config[table] = map[string]swss.FieldValues{}
	}
	delete(f.config[table], key)
	if fields != nil {
		f.config[table][key] = fields
		devicetest.NoError(f.T, db.HSet(f.Context(), row, map[string]string(fields)).Err())
	}
	devicetest.RunUntilIdle(f.T, f.Sim)
	old := f.model
	f.model = newFateModel(f.config)
	f.model.fateBeyond = old.fateBeyond
	for k, e := range old.fdb {
		if _, there := f.model.fdb[k]; !there && !e.static {
			f.model.fdb[k] = e
		}
	}
}

// head returns the part of a frame that a record contains.
func head(frame []byte) string { return string(frame[:min(len(frame), schema.DefaultTruncate)]) }

// come sends frames into a port, at such intervals that each has left the switch before the next enters.
func (f *fated) come(in string, frames ...[]byte) {
	f.Helper()
	for _, data := range frames {
		f.begin(in, data)
		f.Chip.Advance(f.Chip.Now() + 20_000) // without work for the daemons
	}
}

// begin starts sending a frame into a port.
func (f *fated) begin(in string, data []byte) {
	f.Helper()
	id, _ := f.Chip.PortByName(in)
	x := &fatedFrame{in: in, data: data, fates: f.model.fates(in, data)}
	if f.sent[head(data)] != nil {
		f.Fatalf("two frames that records do not tell apart: %x", data)
	}
	f.sent[head(data)] = x
	f.order = append(f.order, x)
	devicetest.NoError(f.T, f.Chip.Receive(id, f.Chip.Now(), saisim.Frame{Data: data}))
}

func (f *fated) wait(cycles saisim.Cycle) {
	f.Helper()
	devicetest.NoError(f.T, f.Advance(f.Context(), f.Chip.Now()+cycles))
}

// judge compares records, counters, accounts and the oracle with the model.
func (f *fated) judge() {
	f.Helper()
	devicetest.Drain(f.T, f.Sim)
	f.wait(f.Chip.CycleAt(time.Second)) // sFlow has then sent everything
	f.planned()
	_, packets := f.records(slices.Collect(maps.Values(f.plans))...)
	for i := range packets {
		p := &packets[i]
		plan := f.plans[p.Plan]
		x := f.sent[string(p.Frame)]
		if x == nil || f.Chip.PortName(saisim.PortID(p.InPort)) != x.in {
			f.Fatalf("a record of a frame that nobody sent at port %d: %x", p.InPort, p.Frame)
		}
		x.ends = append(x.ends, f.read(plan, p))
	}
	for _, x := range f.order {
		for j := range x.ends {
			if x.ends[j].what == record.EndCPU {
				x.ends[j].why = f.why[head(x.data)]
			}
		}
		f.account(x)
	}
	if !f.Failed() {
		f.counters()
	}
}

// planned keeps the plan by which packets are currently recorded.
func (f *fated) planned() {
	f.Helper()
	p := f.plan("s0")
	f.plans[p.ID] = p
}

// read returns the end described by a record.
func (f *fated) read(plan *record.Plan, p *collector.DecodedPacket) modelEnd {
	f.Helper()
	e := modelEnd{what: plan.Graph.End(&p.Record)}
	switch {
	case p.OutPort != record.NoPort:
		e.port = fmt.Sprint("Ethernet", p.OutPort)
	case e.what == drop.PortRemoved.String(): // the host interface that gives the port its name was removed first
		e.port = f.removed
	}
	if !p.Answer.Exact {
		f.Fatalf("%s paths have the record of %x: %s", p.Answer.Total, p.Frame, p.Path())
	}
	var steps []string
	for i, s := range p.Answer.Paths[0].Path {
		switch {
		case !p.Answer.Paths[0].HitKnown[i]:
			steps = append(steps, s.Table)
		case s.Hit:
			steps = append(steps, s.Table+" hit")
		default:
			steps = append(steps, s.Table+" miss")
		}
	}
	e.path = strings.Join(steps, " > ")
	var by []string
	for _, x := range p.Found {
		if x.Kind != record.IdentityQueue {
			by = append(by, x.Kind.String()+" "+x.Text())
		} else if empty := fmt.Sprintf("%d, 0 bytes in it", p.Queue); x.Text() != empty &&
			!slices.Contains(queueReasons, e.what) {
			f.Errorf("a frame that is alone found the queue %s", x.Text())
		}
	}
	if e.by = modelBy(by); p.NoRoom {
		f.Errorf("identities are left out of %s", e.by)
	}
	return e
}

func sortEnds(ends []modelEnd) {
	slices.SortFunc(ends, func(a, b modelEnd) int {
		return cmp.Or(strings.Compare(a.what, b.what), strings.Compare(a.port, b.port), strings.Compare(a.path, b.path),
			strings.Compare(a.by, b.by))
	})
}

// queueReasons lists the drop reasons that depend on earlier packets in the queue.
var queueReasons = []string{drop.Buffer.String(), drop.QueueLimit.String(), drop.WRED.String()}

// atMAC lists the drop reasons of the ingress MAC. Frames that it drops have no record.
var atMAC = []string{drop.PortDown.String(), drop.Runt.String(), drop.Oversize.String()}

// account compares the records of a frame with the model, and adds the frame to the model's counts.
func (f *fated) account(x *fatedFrame) {
	f.Helper()
	sortEnds(x.ends)
	for _, ends := range x.fates {
		sortEnds(ends)
		if slices.Equal(ends, x.ends) || len(ends) == 1 && len(x.ends) == 0 && slices.Contains(atMAC, ends[0].what) {
			for _, e := range ends {
				f.count(x, e)
			}
			return
		}
	}
	text := func(ends []modelEnd) string {
		var b strings.Builder
		for _, e := range ends {
			fmt.Fprintf(&b, "\n    %s %s%s: %s; by %s", e.what, e.port, e.why, e.path, e.by)
		}
		return b.String()
	}
	f.Errorf("at %s: %s\n  records:%s\n  model, one of %d:%s", x.in, hex.EncodeToString(x.data[:min(len(x.data), 64)]),
		text(x.ends), len(x.fates), text(x.fates[0]))
}

func (f *fated) count(x *fatedFrame, e modelEnd) {
	f.saw[e.what]++
	switch e.what {
	case record.EndSent:
		f.left++
	case record.EndCPU:
		f.toCPU++
	default:
		f.drops[[2]string{cmp.Or(e.port, x.in), e.what}]++
	}
}

// counters compares the accounts, the ports' counters and the oracle with the model's counts.
func (f *fated) counters() {
	f.Helper()
	got, want := map[[2]string]uint64{}, map[[2]string]uint64{}
	for _, id := range f.Chip.Ports() {
		c, _ := f.Chip.PortCounters(id)
		for r, n := range c.Dropped {
			k := [2]string{f.Chip.PortName(id), drop.Reason(r).String()}
			if n > 0 {
				got[k] = n
			}
			if f.drops[k] > 0 {
				want[k] = f.drops[k]
			}
		}
	}
	if !maps.Equal(got, want) {
		f.Errorf("ports count %v, the model %v", got, want)
	}
	if !maps.Equal(f.chipDrops, f.drops) {
		f.Errorf("the chip tells of %v, the model %v", f.chipDrops, f.drops)
	}
	f.kept()
	f.readers()
	f.debug()
	counts := f.Chip.FrameCounts()
	total := map[string]uint64{}
	for k, n := range f.drops {
		total[k[1]] += n
	}
	for r := range drop.NumReasons {
		if counts.Dropped[r] != total[r.String()] {
			f.Errorf("the books have %d drops for %s, the model %d", counts.Dropped[r], r, total[r.String()])
		}
	}
	t := f.oracle.Reports()["all"]
	lost := map[[2]string]uint64{}
	for _, l := range t.Lost {
		lost[[2]string{l.Port, l.Reason}] = l.Count
	}
	if !maps.Equal(lost, f.drops) || t.Delivered != f.left || t.ToCPU != f.toCPU || t.Frames != uint64(len(f.order)) ||
		t.InFlight != 0 {
		f.Errorf("the oracle has %d frames, %d left, %d to the CPU, lost %v; the model %d, %d, %d, %v",
			t.Frames, t.Delivered, t.ToCPU, lost, len(f.order), f.left, f.toCPU, f.drops)
	}
	if counts.ToCPU != f.toCPU || !counts.Balanced() {
		f.Errorf("books %+v, to the CPU by the model %d", counts, f.toCPU)
	}
}

// fateCases are the cases of the gate, in which all reasons occur.
var fateCases = randtest.Cases{Seed: 5, Count: 4}

// Random packets pass through random switches. Records, counters, accounts and the oracle match a model that uses only
// the rows of CONFIG_DB and the packets' headers.
func TestFates(t *testing.T) {
	racetest.Stepped(t)
	t.Parallel()
	saw := map[string]int{}
	c := randtest.Run(t, fateCases, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 19))
		g := newFateGenerator(rnd)
		f := newFated(t, g.config, "Ethernet0,Ethernet1,Ethernet2,Ethernet3,Ethernet4,Ethernet5,Ethernet6", saw)
		f.beyond(rnd, 3)
		var frames []fateSending
		for i := range 300 {
			in, data := g.frame(i)
			frames = append(frames, fateSending{in, data})
		}
		f.watchFlows(frames)
		for i, x := range frames {
			if f.come(x.in, x.data); i%100 == 99 {
				f.wait(f.Chip.CycleAt(time.Second)) // sFlow's limit is per second
			}
		}
		f.judge()
	})
	t.Run("by hand", func(t *testing.T) {
		// without Ethernet3, which will be removed
		f := newFated(t, fateActs(), "Ethernet0,Ethernet1,Ethernet2,Ethernet5", saw)
		f.act()
		f.judge()
	})
	t.Logf("met: %v", saw)
	if c.Seed == fateCases.Seed && c.Whole(fateCases) {
		for r := range drop.NumReasons {
			if saw[r.String()] == 0 {
				t.Errorf("no frame was dropped for %s", r)
			}
		}
	}
}

// kept compares the drops that the chip keeps for queries with the model, by port and reason.
func (f *fated) kept() {
	f.Helper()
	names := map[saisim.PortID]string{}
	for _, id := range f.Chip.Ports() {
		names[id] = f.Chip.PortName(id)
	}
	drops := map[[2]string]uint64{}
	f.Chip.EachDrop(0, math.MaxUint64, func(k *saisim.Kept) bool {
		if !k.Mirror {
			drops[[2]string{cmp.Or(names[k.Port], f.removed), k.Why.String()}]++
		}
		return true
	})
	if !maps.Equal(drops, f.drops) {
		f.Errorf("kept are %v; the model has %v", drops, f.drops)
	}
}
