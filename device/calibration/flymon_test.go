package calibration

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/internal/racetest"
	"tamtam/internal/randtest"
	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/flymon"
)

// sketchConfig is a switch that forwards from Ethernet0 to Ethernet1.
const sketchConfig = `{
	"PORT": {
		"Ethernet0": {"lanes": "0", "speed": "10000", "admin_status": "up"},
		"Ethernet1": {"lanes": "1", "speed": "10000", "admin_status": "up"}},
	"VLAN": {"Vlan10": {"vlanid": "10"}},
	"VLAN_MEMBER": {
		"Vlan10|Ethernet0": {"tagging_mode": "untagged"}, "Vlan10|Ethernet1": {"tagging_mode": "untagged"}},
	"FDB": {"Vlan10|02:00:00:00:00:33": {"port": "Ethernet1"}},
	"TAM_FEATURES_TABLE": {"FLYMON": {"status": "ACTIVE"}}}`

// sketched is a switch with sketches, in simulated time.
type sketched struct {
	*testing.T
	*device.Sim
}

// sketchStart is the middle of epoch 1000 of 100 ms.
var sketchStart = time.Unix(100, 50_000_000)

func newSketched(t *testing.T, changes ...func(*device.SimConfig)) *sketched {
	t.Helper()
	c, err := device.ParseConfigDB([]byte(sketchConfig))
	if err != nil {
		t.Fatal(err)
	}
	cfg := device.SimConfig{Config: c, Start: sketchStart, Oracle: 1000, Profile: profile.Small()}
	for _, f := range changes {
		f(&cfg)
	}
	s := &sketched{T: t, Sim: devicetest.NewSim(t, cfg)}
	devicetest.RunUntilIdle(t, s.Sim)
	return s
}

func (s *sketched) config(table, key string, fields swss.FieldValues) {
	s.Helper()
	db := s.Redis.DB(swss.ConfigDB).Client()
	devicetest.NoError(s.T, db.Del(s.Context(), table+"|"+key).Err())
	if fields != nil {
		devicetest.NoError(s.T, db.HSet(s.Context(), table+"|"+key, fields).Err())
	}
	devicetest.RunUntilIdle(s.T, s.Sim)
}

// task configures a task that counts packets by source in 3 * 64 buckets and epochs of 100 ms. The given fields
// override these values.
func (s *sketched) task(name string, fields ...string) {
	s.Helper()
	row := swss.FieldValues{"key": "src-ip", "attribute": "frequency", "memory": "192", "epoch": "100"}
	for i := 0; i < len(fields); i += 2 {
		row[fields[i]] = fields[i+1]
	}
	s.config(schema.CfgTAMFlyMonTask, name, row)
}

func (s *sketched) row(db swss.DBName, table, key string) swss.FieldValues {
	s.Helper()
	f, _, err := swss.NewTable(s.Redis.DB(db), table).Get(s.Context(), key)
	if err != nil {
		s.Fatal(err)
	}
	return f
}

func (s *sketched) wantStatus(table, name, want string) {
	s.Helper()
	if r := s.row(swss.StateDB, table, name); strings.TrimSuffix(r["status"]+": "+r["reason"], ": ") != want {
		s.Errorf("%s|%s: %v, want %q", table, name, r, want)
	}
}

func (s *sketched) result(task string) schema.FlyMonResult {
	s.Helper()
	r, err := schema.ParseFlyMonResult(task, s.row(swss.CountersDB, schema.CountersFlyMonResult, task))
	if err != nil {
		s.Fatal(err)
	}
	return r
}

// wantResult checks "epoch: packets flags" of a task's last epoch, also against the oracle.
func (s *sketched) wantResult(task, want string) {
	s.Helper()
	r := s.result(task)
	m := r.Metrics[flymon.MetricPackets]
	if got := strings.TrimSpace(fmt.Sprintf("%d: %v %s", r.Epoch, m.Value, r.Flags)); got != want {
		s.Errorf("the last epoch of %s is %q, want %q", task, got, want)
	}
}

// at returns the cycle of an instant.
func (s *sketched) at(epoch int, part float64) saisim.Cycle {
	at := time.Duration((float64(epoch) + part) * 1e8)
	return s.Chip.CycleAt(time.Unix(0, 0).Add(at).Sub(s.Chip.TrueTime(0)))
}

func (s *sketched) advance(epoch int, part float64) {
	s.Helper()
	devicetest.NoError(s.T, s.Advance(s.Context(), s.at(epoch, part)))
}

// sketchFrame returns a datagram of 100 bytes with FCS, from host n of 10.0.0.0/16.
func sketchFrame(t *testing.T, n int, sport, dport uint16) []byte {
	t.Helper()
	ip := &layers.IPv4{Version: 4, IHL: 5, TTL: 9, Protocol: layers.IPProtocolUDP,
		SrcIP: net.IP{10, 0, byte(n >> 8), byte(n)}, DstIP: net.IP{10, 9, 0, byte(n % 7)}}
	udp := &layers.UDP{SrcPort: layers.UDPPort(sport), DstPort: layers.UDPPort(dport)}
	devicetest.NoError(t, udp.SetNetworkLayerForChecksum(ip))
	buf := gopacket.NewSerializeBuffer()
	err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
		&layers.Ethernet{SrcMAC: devicetest.HostMAC(1), DstMAC: devicetest.HostMAC(0x33),
			EthernetType: layers.EthernetTypeIPv4}, ip, udp,
		gopacket.Payload(make([]byte, 96-42)))
	if err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// traffic sends n frames at even distances in each of these epochs, except for the elapsed part of the first. Host k
// sends less for higher k.
func (s *sketched) traffic(from, to, n int) (sent map[int]map[int]int) {
	s.Helper()
	rnd := rand.New(rand.NewPCG(uint64(from), 7))
	sent = map[int]map[int]int{}
	for e := from; e <= to; e++ {
		sent[e] = map[int]int{}
		for i := range n {
			host := int(float64(40) * rnd.Float64() * rnd.Float64() * rnd.Float64())
			at := s.at(e, (float64(i)+0.5)/float64(n))
			if at <= s.Chip.Now() {
				continue
			}
			devicetest.NoError(s.T, s.Chip.Receive(0, at, saisim.Frame{Data: sketchFrame(s.T, host, 1000+uint16(i%3), 80)}))
			sent[e][host]++
		}
	}
	return sent
}

// registers returns all current words of a task in the chip, by unit and bank.
func (s *sketched) registers(task string) [][]uint32 {
	s.Helper()
	var all [][]uint32
	for _, l := range s.Chip.Tables().Sketches {
		if l.Task != task {
			continue
		}
		for i, u := range l.Units {
			for bank := range l.Banks() {
				all = append(all, s.words(map[string]any{"task": task, "unit": i, "bank": bank, "from": 0, "count": u.Size}))
			}
		}
	}
	return all
}

func (s *sketched) words(what map[string]any) []uint32 {
	s.Helper()
	entry, err := json.Marshal(map[string]any{"attributes": []any{map[string]any{"read": map[string]any{"value": what}}}})
	if err != nil {
		s.Fatal(err)
	}
	oid, err := s.Chip.Create(s.Context(), sai.ObjectTypeGenericProgrammable, []sai.Attr{
		{ID: sai.GenericProgrammableAttrObjectName, Value: sai.Bytes(flymon.ObjectRegisters)},
		{ID: sai.GenericProgrammableAttrEntry, Value: sai.Bytes(entry)},
	})
	if err != nil {
		s.Fatal(err)
	}
	k := sai.Obj(sai.ObjectTypeGenericProgrammable, oid)
	got, err := s.Chip.Get(s.Context(), k, []sai.Attr{sai.Want(sai.GenericProgrammableAttrEntry, 1<<16)})
	if err != nil {
		s.Fatal(err)
	}
	devicetest.NoError(s.T, s.Chip.Remove(s.Context(), k))
	var said struct {
		Attributes []map[string]struct{ Value json.RawMessage }
	}
	devicetest.NoError(s.T, json.Unmarshal(got[0].Value.(sai.Bytes), &said))
	for _, a := range said.Attributes {
		if v, ok := a["words"]; ok {
			b, err := base64.StdEncoding.DecodeString(strings.Trim(string(v.Value), `"`))
			if err != nil {
				s.Fatal(err)
			}
			words := make([]uint32, len(b)/4)
			for i := range words {
				words[i] = binary.LittleEndian.Uint32(b[4*i:])
			}
			return words
		}
	}
	s.Fatal("no words")
	return nil
}

// From CONFIG_DB to the answers of each epoch, with the oracle's exact values: a count-min sketch is never too low,
// and here rarely too high.
func TestFlyMonWholePath(t *testing.T) {
	s := newSketched(t)
	s.task("t1", "threshold", "10")
	for k := range 3 {
		s.config(schema.CfgTAMFlyMonQuery, fmt.Sprint("q", k), swss.FieldValues{"task": "t1",
			"flow": fmt.Sprintf("10.0.0.%d", k)})
		s.wantStatus(schema.StateTAMFlyMonQuery, fmt.Sprint("q", k), "active")
	}
	s.wantStatus(schema.StateTAMFlyMonTask, "t1", "active")
	sent := s.traffic(1001, 1004, 200)
	for e := 1001; e <= 1004; e++ {
		s.advance(e+1, 0.2)
		s.wantResult("t1", strings.TrimSpace(fmt.Sprintf("%d: 200", e)))
		r := s.result("t1")
		if x := r.Metrics[flymon.MetricPackets].Exact; x == nil || *x != 200 || r.Flows != "digests,queries" ||
			r.Start != int64(e)*1e8 || r.End != int64(e+1)*1e8 {
			t.Errorf("epoch %d: %+v", e, r)
		}
		flows := s.row(swss.CountersDB, schema.CountersFlyMonFlows, "t1")
		for host, n := range sent[e] {
			name := fmt.Sprintf("10.0.0.%d", host)
			est, err := schema.ParseFlyMonEstimate(flows[name])
			switch {
			case n < 10 && flows[name] == "":
			case err != nil || est.Exact == nil || *est.Exact != float64(n) || est.Value < float64(n) ||
				est.Value > float64(n)+2*200/64:
				t.Errorf("epoch %d: flow %s: %q, want %d", e, name, flows[name], n)
			}
		}
		for k := range 3 {
			row := s.row(swss.CountersDB, schema.CountersFlyMonAnswer, fmt.Sprint("q", k))
			est, err := schema.ParseFlyMonEstimate(row["ESTIMATE"])
			if err != nil || row["EPOCH"] != fmt.Sprint(e) || est.Exact == nil || int(*est.Exact) != sent[e][k] {
				t.Errorf("epoch %d: query %d: %v, want %d", e, k, row, sent[e][k])
			}
		}
	}
}

// Each algorithm answers, for one flow or for all flows together. If an answer has bounds, the oracle's value is within
// twice their distance. Of so many 95 % bounds, some are missed.
func TestFlyMonEachAlgorithm(t *testing.T) {
	racetest.Stepped(t)
	s := newSketched(t, func(c *device.SimConfig) { c.Profile.FlyMon.Groups = 14 })
	tasks := []struct {
		name, flow, metric string
		row                []string
	}{
		{"interval", "10.0.0.0", "", []string{"attribute", "max(interval)", "memory", "576"}},
		{"cms", "10.0.0.0", flymon.MetricCardinality, []string{"algorithm", "cms"}},
		{"sumax", "10.0.0.0", "", []string{"algorithm", "sumax-sum"}},
		{"tower", "10.0.0.0", "", []string{"algorithm", "tower"}},
		{"braids", "10.0.0.0", "", []string{"algorithm", "counter-braids", "rows", "2", "memory", "512"}},
		{"mrac", "10.0.0.0", flymon.MetricEntropy, []string{"algorithm", "mrac"}},
		{"bytes", "10.0.0.0", flymon.MetricBytes, []string{"attribute", "frequency(bytes)"}},
		{"size", "10.0.0.0", "", []string{"attribute", "max(size)"}},
		{"hll", "", flymon.MetricCardinality, []string{"attribute", "distinct(dst-ip)", "key", "none"}},
		{"lc", "", flymon.MetricCardinality, []string{"attribute", "distinct(dst-ip)", "key", "none", "algorithm",
			"linear-counting"}},
		{"beaucoup", "10.0.0.0", "", []string{"attribute", "distinct(src-port)", "key", "src-ip", "threshold", "50"}},
		{"bloom", "10.0.0.0", flymon.MetricMembers, []string{"attribute", "existence(src-ip)", "key", "none"}},
		{"odd", "", flymon.MetricJaccard, []string{"attribute", "similarity(src-ip)", "key", "none"}},
	}
	for _, tt := range tasks {
		s.task(tt.name, tt.row...)
		s.wantStatus(schema.StateTAMFlyMonTask, tt.name, "active")
		if tt.flow != "" {
			s.config(schema.CfgTAMFlyMonQuery, tt.name, swss.FieldValues{"task": tt.name, "flow": tt.flow})
			s.wantStatus(schema.StateTAMFlyMonQuery, tt.name, "active")
		}
	}
	s.traffic(1001, 1002, 200)
	s.advance(1003, 0.2)
	check := func(what string, e flymon.Estimate) {
		if e.Exact != nil && e.Confidence > 0 && math.Abs(*e.Exact-e.Value) > 2*max(e.Upper-e.Value, e.Value-e.Lower) ||
			e.Saturated {
			t.Errorf("%s is %+v, exactly %v", what, e, *e.Exact)
		}
	}
	for _, tt := range tasks {
		s.wantResult(tt.name, "1002: 200")
		r := s.result(tt.name)
		if _, ok := r.Metrics[tt.metric]; !ok && tt.metric != "" {
			t.Errorf("%s: no %s in %+v", tt.name, tt.metric, r.Metrics)
		}
		for name, e := range r.Metrics {
			check(tt.name+" "+name, e)
		}
		if tt.flow != "" {
			row := s.row(swss.CountersDB, schema.CountersFlyMonAnswer, tt.name)
			e, err := schema.ParseFlyMonEstimate(row["ESTIMATE"])
			if err != nil || e.Exact == nil || e.Value == 0 {
				t.Errorf("%s: %v", tt.name, row)
			}
			check(tt.name, e)
		}
	}
	if n := len(s.row(swss.CountersDB, schema.CountersFlyMonSizes, "mrac")); n < 5 {
		t.Errorf("a distribution of %d sizes", n)
	}
}

// Whatever happens to other tasks while traffic runs, a task's registers and answers are always those of a switch
// without these changes.
func TestFlyMonOtherTasksUntouched(t *testing.T) {
	racetest.Stepped(t)
	fixed, tasks := randtest.Cases{Seed: 11}, 0
	c := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		alone, amid := newSketched(t), newSketched(t)
		for _, s := range []*sketched{alone, amid} {
			s.task("x", "threshold", "5")
			s.traffic(1001, 1005, 150)
		}
		rnd := rand.New(rand.NewPCG(seed, 12))
		pick := func(of ...string) string { return of[rnd.IntN(len(of))] }
		changes := 0
		for e := 1001; e < 1005; e++ {
			for part := range 12 {
				for _, s := range []*sketched{alone, amid} {
					s.advance(e, float64(part)/12+0.01)
				}
				if a, b := alone.registers("x"), amid.registers("x"); !slices.EqualFunc(a, b, slices.Equal) || len(a) != 6 {
					t.Fatalf("epoch %d, %d/12: the registers differ after %d changes:\n%v\n%v", e, part, changes, a, b)
				}
				if a, b := alone.row(swss.CountersDB, schema.CountersFlyMonResult, "x"),
					amid.row(swss.CountersDB, schema.CountersFlyMonResult, "x"); !maps.Equal(a, b) {
					t.Fatalf("epoch %d, %d/12: the answers differ after %d changes:\n%v\n%v", e, part, changes, a, b)
				}
				name := pick("a", "b", "c")
				if changes++; rnd.IntN(4) == 0 {
					amid.config(schema.CfgTAMFlyMonTask, name, nil)
					continue
				}
				amid.task(name, "memory", pick("96", "192", "384", "768"), "key", pick("src-ip", "dst-ip", "5-tuple"), "filter",
					pick("any", "src-ip=10.0.0.0/28"),
					"epoch", pick("100", "50", "0"), "algorithm", pick("cms", "tower", "auto"), "readout", "banked")
			}
		}
		if r := alone.result("x"); r.Epoch != 1003 || r.Metrics[flymon.MetricPackets].Value != 150 {
			t.Errorf("the last result is %+v", r)
		}
		tasks += len(amid.Chip.Tables().Sketches)
	})
	if c.Whole(fixed) && tasks < 2*c.Count {
		t.Errorf("%d tasks at the end", tasks)
	}
}

// A pinned task keeps its position over a restart, even if another task became larger or got an overlapping filter.
func TestPinnedOverRestart(t *testing.T) {
	racetest.Stepped(t)
	for name, fields := range map[string][]string{
		"larger": {"filter", "protocol=6", "memory", "384"},
		"meets":  {"filter", "any"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSketched(t)
			s.task("a", "filter", "protocol=6")
			s.task("b", "filter", "protocol=17", "pinned", "true")
			units := s.row(swss.CountersDB, schema.CountersFlyMonPlace, "b")["UNITS"]
			if groups := s.row(swss.CountersDB, schema.CountersFlyMonPlace, "a")["GROUPS"]; groups != units[:1] {
				t.Fatalf("a is in group %s, b at %s, want the same group", groups, units)
			}
			s.traffic(1001, 1003, 100)
			s.advance(1002, 0.5)
			row := swss.FieldValues{"key": "src-ip", "attribute": "frequency", "memory": "192", "epoch": "100"}
			for i := 0; i < len(fields); i += 2 {
				row[fields[i]] = fields[i+1]
			}
			for db, key := range map[swss.DBName]string{swss.ConfigDB: schema.CfgTAMFlyMonTask + "|a",
				swss.ApplDB: schema.AppTAMFlyMonTask + ":a"} {
				devicetest.NoError(t, s.Redis.DB(db).Client().HSet(s.Context(), key, row).Err())
			}
			devicetest.NoError(t, s.RestartOrchagent(s.Context()))
			devicetest.RunUntilIdle(t, s.Sim)
			s.wantStatus(schema.StateTAMFlyMonTask, "a", "active")
			if got := s.row(swss.CountersDB, schema.CountersFlyMonPlace, "b")["UNITS"]; got != units {
				t.Errorf("units %s, want %s", got, units)
			}
			s.advance(1003, 0.5)
			s.wantResult("b", "1002: 100")
		})
	}
}

// A new orchagent finds its tasks in the chip, which has continued counting, with their start times, so the restart
// is invisible. A new chip starts again.
func TestFlyMonRestarts(t *testing.T) {
	racetest.Stepped(t)
	for _, tt := range []struct {
		name    string
		restart func(s *sketched) error
		want    []string
		since   float64 // number of packets of t2, which has no epochs
	}{
		{"orchagent", func(s *sketched) error { return s.RestartOrchagent(s.Context()) }, []string{"1003: 100", "1004: 100"},
			430},
		{"syncd", func(s *sketched) error { return s.RestartSyncd(s.Context()) }, []string{"1003: 50 first", "1004: 100"},
			180},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSketched(t)
			s.task("t1")
			s.task("t2", "key", "dst-ip", "epoch", "0")
			s.traffic(1001, 1003, 100)
			s.advance(1003, 0.5)
			s.wantResult("t1", "1002: 100")
			before := devicetest.View(t, s.Sim)
			devicetest.NoError(t, tt.restart(s))
			devicetest.RunUntilIdle(t, s.Sim)
			if after := devicetest.View(t, s.Sim); after != before {
				t.Errorf("another ASIC:\n%s\nbefore:\n%s", after, before)
			}
			if tt.name == "syncd" {
				s.traffic(1003, 1003, 100)
			}
			s.traffic(1004, 1005, 100)
			for i, want := range tt.want {
				s.advance(1004+i, 0.3)
				s.wantResult("t1", want)
			}
			devicetest.NoError(t, s.Poll(t.Context()))
			if n := s.result("t2").Metrics[flymon.MetricPackets].Value; n != tt.since {
				t.Errorf("t2 counted %v packets since, want %v", n, tt.since)
			}
		})
	}
}
