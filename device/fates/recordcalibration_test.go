package fates

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tamtam/collector"
	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/internal/racetest"
	"tamtam/internal/randtest"
	"tamtam/saisim"
	"tamtam/saisim/pipe"
	"tamtam/saisim/pipe/pipetest"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/record"
	"tamtam/tam/recordplan/check"
)

// randomSwitches are the cases of the gate.
var randomSwitches = randtest.Cases{Seed: 1, Count: 6}

// A random switch with a random program records packets by random sessions, from CONFIG_DB to the collector's
// decoding of the received frames. The true path of a copy, according to the chip, is among those decoded from its
// record. If a path is decoded as exact, it is the true one. The decoded paths are those that the plan's checker
// lists, which shares no code with the decoder.
func TestRecordsOfRandomSwitches(t *testing.T) {
	racetest.Stepped(t)
	t.Parallel()
	saw := map[string]int{}
	c := randtest.Run(t, randomSwitches, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 13))
		r := newRandomRecording(t, rnd)
		if r == nil {
			saw["switches without room for a plan"]++
			return
		}
		r.storms(rnd)
		r.judge(saw)
	})
	t.Logf("%v", saw)
	if c.Whole(randomSwitches) {
		for _, what := range []string{"exact", "several", "listed", record.EndSent, record.EndCPU, "acl", "egress-acl",
			"no-route", "blackhole", "same-port", "queue-limit", "told by a trap"} {
			if saw[what] == 0 {
				t.Errorf("%q never happened in %d switches", what, c.Count)
			}
		}
	}
}

// A randomRecording is a switch that records, with all its recording plans.
type randomRecording struct {
	*recorder
	plans map[uint32]*record.Plan
}

// newRandomRecording returns nil if the plan of no session fits.
func newRandomRecording(t *testing.T, rnd *rand.Rand) *randomRecording {
	t.Helper()
	pick := func(s ...string) string { return s[rnd.IntN(len(s))] }
	prof := profile.Small()
	prof.IngressStages, prof.EgressStages = 1+rnd.Uint32N(6), 1+rnd.Uint32N(6)
	prof.StageCycles = 1 + rnd.Uint32N(3)
	prof.Stage, prof.PHVBits = profile.Default().Stage, 4096
	var program *pipe.Program
	if rnd.IntN(3) > 0 {
		program = pipetest.Program(rnd, pipetest.Options{Limits: prof.Limits(), Tables: 1 + rnd.IntN(6)})
	}
	session := func() swss.FieldValues {
		f := swss.FieldValues{"mode": pick(record.ModeExecution, record.ModeHit),
			"phv":       pick("8", "8+8", "16", "16+16", "32"),
			"algorithm": pick(record.Greedy, record.GreedyRestarts), "encapsulation": pick("udp", "erspan"),
			"truncate": pick("0", "64", "128", "200"), "identities": pick("true", "false")}
		if rnd.IntN(3) == 0 {
			f["sampler"] = "some"
		}
		if rnd.IntN(3) == 0 {
			f["must-record"] = pick("chip.fdb", "chip.router_mac", "chip.egress_acl", "chip.next_hop")
		}
		return f
	}
	r := newRecordingWith(t, prof, program, session(), func(c device.ConfigDB) {
		for k, v := range session() {
			c[schema.CfgTAMTableRecord]["s1"][k] = v
		}
		c[schema.CfgTAMSampler] = map[string]swss.FieldValues{"some": {"sampling-rate": strconv.Itoa(2 + rnd.IntN(3))}}
		c[schema.CfgACLTable]["OUT"] = swss.FieldValues{"type": "L3", "stage": "egress",
			"ports@": pick("Ethernet3", "Ethernet1", "Ethernet1,Ethernet3")}
		c[schema.CfgACLRule]["OUT|quic"] = swss.FieldValues{"PRIORITY": "9", "L4_DST_PORT": "5201", "PACKET_ACTION": "DROP"}
		if rnd.IntN(2) == 0 { // all queues are full soon, except the queue to the collector
			c["BUFFER_POOL"] = map[string]swss.FieldValues{"P": {"type": "egress", "mode": "static", "size": "20000"}}
			c["BUFFER_PROFILE"] = map[string]swss.FieldValues{"F": {"pool": "P", "size": "0", "static_th": "200"}}
			c["BUFFER_QUEUE"] = map[string]swss.FieldValues{"Ethernet0,Ethernet1,Ethernet3|0": {"profile": "F"}}
		}
		c[schema.CfgACLRule]["DATA|late"] = swss.FieldValues{"PRIORITY": "7", "L4_DST_PORT": pick("80", "4791"),
			"PACKET_ACTION": pick("DROP", "FORWARD", "FORWARD")}
	})
	x := &randomRecording{r, map[uint32]*record.Plan{}}
	rows, err := swss.NewTable(r.Redis.DB(swss.CountersDB), schema.CountersRecordPlan).Dump(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range rows {
		var p record.Plan
		devicetest.NoError(t, json.Unmarshal([]byte(f["PLAN"]), &p))
		if err := check.Plan(&p); err != nil && p.Graph != nil && len(p.Graph.Nodes) < 60 {
			t.Fatal(err)
		}
		x.plans[p.ID] = &p
	}
	if len(x.plans) == 0 {
		return nil
	}
	return x
}

// storms sends packets, sometimes so many at once that queues are full.
func (r *randomRecording) storms(rnd *rand.Rand) {
	r.Helper()
	for range 2 {
		frames := storm(r.T, rnd, 60)
		r.send(frames[:30]...)
		at := r.Chip.Now()
		for _, f := range frames[30:] {
			devicetest.NoError(r.T, r.Chip.Receive(f.Port, at, saisim.Frame{Data: f.Data}))
			at += saisim.Cycle(rnd.IntN(20))
		}
		devicetest.Drain(r.T, r.Sim)
	}
}

// A copyEnd identifies the frame of a copy, and how the copy ended.
type copyEnd struct {
	head string
	in   uint16
	end  string
}

// headOf returns a prefix of a frame that identifies it and that every session keeps.
func headOf(frame []byte) string { return string(frame[:min(len(frame), 62)]) }

// judge compares every record with the fates of its packet's copies.
func (r *randomRecording) judge(saw map[string]int) {
	r.Helper()
	truth := map[copyEnd][][]record.Step{}
	for _, m := range r.ends {
		end := record.EndSent
		switch m.What {
		case saisim.MomentPunted:
			end = record.EndCPU
		case saisim.MomentDropped:
			end = m.Why.String()
		}
		k := copyEnd{headOf(r.raw[m.Number]), uint16(m.In), end}
		truth[k] = append(truth[k], r.Chip.Path(m.Trail))
	}
	var plans []*record.Plan
	for _, p := range r.plans {
		plans = append(plans, p)
	}
	_, packets := r.records(plans...)
	listed := map[string][][]string{}
	for i := range packets {
		p := &packets[i]
		plan := r.plans[p.Plan]
		end := plan.Graph.End(&p.Record)
		saw[end]++
		k := copyEnd{headOf(p.Frame), p.InPort, end}
		was := slices.IndexFunc(truth[k], func(path []record.Step) bool {
			return bytes.Equal(recordBits(r.T, plan, path), p.Bits)
		})
		if was < 0 {
			r.Fatalf("a record % x, %s, %s, of a packet of which no copy went so: %v", p.Bits, end, p.Path(), truth[k])
		}
		path := truth[k][was]
		truth[k] = slices.Delete(truth[k], was, was+1)
		known := knownOf(plan.Graph, p)
		key := fmt.Sprintf("%d %x %v", p.Plan, p.Bits, known)
		if len(known.Labels) > 0 {
			saw["told by ports and queues"]++
		}
		if t, ok := plan.Graph.Trap(&p.Record); ok && t.Table != "" {
			saw["told by a trap"]++
		}
		if len(p.Found) > 0 {
			saw["told by identities"]++
		}
		paths, before := listed[key]
		if !before {
			var ok bool
			if paths, ok = check.Paths(plan, p.Bits, known, 100_000); !ok {
				paths = nil
				saw["too many to list"]++
			} else if saw["listed"]++; fmt.Sprint(len(paths)) != p.Answer.Total {
				r.Fatalf("record % x, %s, has %s paths, the checker lists %d", p.Bits, end, p.Answer.Total, len(paths))
			}
			listed[key] = paths
		}
		r.among(p, path, paths, saw)
	}
}

// knownOf returns the facts that a record contains besides its bits.
func knownOf(g *record.Graph, p *collector.DecodedPacket) check.Known {
	k := check.Known{End: g.End(&p.Record), Not: record.NotOf(p.Frame), Labels: map[string]string{}}
	if t, ok := g.Trap(&p.Record); ok {
		k.Met = append(k.Met, t)
	}
	for _, x := range p.Found {
		if table, outcome := x.Says(); table != "" {
			k.Met = append(k.Met, record.Trap{Table: table, Outcome: outcome})
		}
	}
	for i, x := range g.Outcomes(&p.Record) {
		if x != '?' {
			k.Labels[g.Tests[i].From] = map[rune]string{'t': "true", 'f': "false"}[x]
		}
	}
	return k
}

// among checks that the decoded paths of a packet include the true one.
func (r *randomRecording) among(p *collector.DecodedPacket, path []record.Step, listed [][]string, saw map[string]int) {
	r.Helper()
	if p.Answer.Impossible {
		r.Fatalf("%s, but the packet went %v", p.Path(), path)
	}
	if p.Answer.Exact {
		saw["exact"]++
		checkPath(r.T, p, path)
		return
	}
	saw["several"]++
	var ids []string
	for _, s := range path {
		ids = append(ids, s.Table)
	}
	if listed != nil && !slices.ContainsFunc(listed, func(l []string) bool { return slices.Equal(l, ids) }) {
		r.Fatalf("record % x: the packet went %v, which is none of its paths", p.Bits, path)
	}
	if p.Answer.Total != strconv.Itoa(len(p.Answer.Paths)) {
		return
	}
	for _, l := range p.Answer.Paths {
		if strings.Join(l.Steps(), " ") == stepsAs(l.HitKnown, path) {
			return
		}
	}
	r.Fatalf("record % x: the packet went %v, which is none of %v", p.Bits, path, p.Answer.Paths)
}

// stepsAs writes a path with the hits that are known.
func stepsAs(known []bool, path []record.Step) string {
	var list []string
	for i, s := range path {
		word := s.Table
		switch {
		case i >= len(known) || !known[i]:
		case s.Hit:
			word += " hit"
		default:
			word += " miss"
		}
		list = append(list, word)
	}
	return strings.Join(list, " ")
}
