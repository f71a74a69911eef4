package fates

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"tamtam/collector"
	"tamtam/collector/capture"
	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/internal/racetest"
	"tamtam/internal/randtest"
	"tamtam/saisim"
	"tamtam/saisim/pipe"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/record"
	"tamtam/tam/recordplan"
)

// recordingConfig is devicetest.RoutedConfig with table recording of packets received at Ethernet0, by UDP, and at
// Ethernet1, by ERSPAN. An ACL drops packets to port 23.
const recordingConfig = `{
	"TAM_FEATURES_TABLE": {"TABLERECORD": {"status": "ACTIVE"}},
	"TAM_FLOWGROUP_TABLE": {"zero": {"id": "1"}, "one": {"id": "2"}},
	"ACL_TABLE": {"DATA": {"type": "L3", "stage": "ingress", "ports@": "Ethernet0,Ethernet1"}},
	"ACL_RULE": {
		"TAM|zero": {"IN_PORTS": "Ethernet0"}, "TAM|one": {"IN_PORTS": "Ethernet1"},
		"DATA|telnet": {"PRIORITY": "20", "L4_DST_PORT": "23", "PACKET_ACTION": "DROP"}},
	"TAM_COLLECTORS_TABLE": {"c": {"ipaddress": "10.9.0.5", "port": "9070"}},
	"TAM_TABLERECORD_TABLE": {
		"s0": {"flowgroup": "zero", "collector": "c", "mode": "exec+hit"},
		"s1": {"flowgroup": "one", "collector": "c", "mode": "exec+hit", "encapsulation": "erspan"}}}`

// collectorPort is the port towards the collector.
const collectorPort = 2

// A recorder is a switch that records, with the true fate of every copy.
type recorder struct {
	*testing.T
	*device.Sim
	raw    map[uint64][]byte // packets as received, by number
	ends   []saisim.Moment
	frames [][]byte // frames that left for the collector
}

// newRecording returns a recorder whose first session has these fields.
func newRecording(t *testing.T, profile profile.Profile, program *pipe.Program, fields swss.FieldValues) *recorder {
	t.Helper()
	return newRecordingWith(t, profile, program, fields, func(device.ConfigDB) {})
}

// newRecordingWith acts like newRecording, and also changes the rest of the configuration.
func newRecordingWith(t *testing.T, profile profile.Profile, program *pipe.Program, fields swss.FieldValues,
	change func(device.ConfigDB)) *recorder {
	t.Helper()
	c, err := device.ParseConfigDB([]byte(devicetest.RoutedConfig))
	if err != nil {
		t.Fatal(err)
	}
	more, err := device.ParseConfigDB([]byte(recordingConfig))
	if err != nil {
		t.Fatal(err)
	}
	for table, rows := range more {
		if c[table] == nil {
			c[table] = rows
			continue
		}
		maps.Copy(c[table], rows)
	}
	maps.Copy(c[schema.CfgTAMTableRecord]["s0"], fields)
	change(c)
	r := &recorder{T: t, Sim: devicetest.NewSim(t, device.SimConfig{Config: c, Profile: profile,
		Start: time.Unix(1000, 0)}),
		raw: map[uint64][]byte{}}
	if program != nil {
		devicetest.NoError(t, r.Chip.Control(r.Chip.Now(), saisim.Batch{Batch: pipe.Batch{Program: program}}))
	}
	devicetest.RunUntilIdle(t, r.Sim)
	r.Chip.SetObserver(r.see)
	r.Chip.SetOutput(func(o *saisim.Out) {
		if o.Port == collectorPort {
			r.frames = append(r.frames, bytes.Clone(o.Data))
		}
	})
	return r
}

// see stores how each copy ends, except for mirror copies, which have no trail.
func (r *recorder) see(m saisim.Moment) {
	switch {
	case m.What == saisim.MomentReceived:
		r.raw[m.Number] = bytes.Clone(m.Data)
	case m.Trail.Graph != 0:
		m.Data = nil
		r.ends = append(r.ends, m)
	}
}

// send sends frames into ports, some time apart.
func (r *recorder) send(frames ...devicetest.SentFrame) {
	r.Helper()
	for _, f := range frames {
		devicetest.NoError(r.T, r.Chip.Receive(f.Port, r.Chip.Now(), saisim.Frame{Data: f.Data}))
		devicetest.NoError(r.T, r.Advance(r.Context(), r.Chip.Now()+500))
	}
	devicetest.Drain(r.T, r.Sim)
}

// plan returns the recording plan of a session from COUNTERS_DB.
func (r *recorder) plan(session string) *record.Plan {
	r.Helper()
	f := devicetest.Row(r.T, r.Redis, swss.CountersDB, schema.CountersRecordPlan, session)
	var p record.Plan
	if err := json.Unmarshal([]byte(f["PLAN"]), &p); err != nil {
		state, _, _ := swss.NewTable(r.Redis.DB(swss.StateDB), schema.StateTAMTableRecord).Get(r.Context(), session)
		r.Fatalf("session %s has no plan (%v): %v", session, err, state)
	}
	return &p
}

// records decodes the frames that left for the collector.
func (r *recorder) records(plans ...*record.Plan) (*collector.Records, []collector.DecodedPacket) {
	r.Helper()
	c, err := collector.NewRecords(plans...)
	if err != nil {
		r.Fatal(err)
	}
	var list []collector.DecodedPacket
	for _, f := range r.frames {
		if d, ok := c.Add(f, len(f)); ok {
			list = append(list, d)
		}
	}
	return c, list
}

// fate returns a key for a packet and the fate of a copy of it, which both moments and records contain.
func fate(raw []byte, in uint16, why uint8, sent, punted bool) string {
	return fmt.Sprintf("%x in %d why %d sent %v punted %v", raw[:min(len(raw), schema.DefaultTruncate)], in, why, sent,
		punted)
}

// check compares records with the truth. Every copy that ended has one record, wherever it ended. Its bits are those
// of its path, and if the decoder reports an exact path, it is that path.
func (r *recorder) check(plans map[uint16]*record.Plan, packets []collector.DecodedPacket) (exact int) {
	r.Helper()
	truth := map[string][][]record.Step{}
	left := 0
	for _, m := range r.ends {
		path := r.Chip.Path(m.Trail)
		if path == nil {
			r.Fatalf("no path: %+v", m)
		}
		if plans[uint16(m.In)] == nil {
			continue
		}
		why := uint8(0)
		if m.What == saisim.MomentDropped {
			why = uint8(m.Why)
		}
		key := fate(r.raw[m.Number], uint16(m.In), why, m.What == saisim.MomentSent, m.What == saisim.MomentPunted)
		truth[key] = append(truth[key], path)
		left++
	}
	for i := range packets {
		p := &packets[i]
		key := fate(p.Frame, p.InPort, p.Why, p.Why == 0 && p.OutPort != record.NoPort,
			p.Why == 0 && p.OutPort == record.NoPort)
		k := -1
		for j, path := range truth[key] {
			if bytes.Equal(recordBits(r.T, plans[p.InPort], path), p.Bits) {
				k = j
			}
		}
		if k < 0 {
			r.Fatalf("record % x, %s\n%s\nhas no packet: %v", p.Bits, p.Path(), key, truth[key])
		}
		path := truth[key][k]
		truth[key] = append(truth[key][:k:k], truth[key][k+1:]...)
		left--
		if p.Answer.Impossible {
			r.Fatalf("%s, but the packet went %v", p.Path(), path)
		}
		if p.Answer.Exact {
			exact++
			checkPath(r.T, p, path)
		}
	}
	if left != 0 {
		r.Errorf("%d copies have no record", left)
	}
	return exact
}

// recordBits returns the bits of a packet's record at the end of a path.
func recordBits(t *testing.T, p *record.Plan, path []record.Step) []byte {
	t.Helper()
	marks, err := p.Marks()
	if err != nil {
		t.Fatal(err)
	}
	c, _ := p.Containers()
	var word uint64
	for _, m := range marks {
		for _, s := range path {
			if s.Table == m.Table && (s.Hit || !m.Hit) {
				word |= 1 << m.Bit
			}
		}
	}
	b := make([]byte, c.Bytes())
	c.Put(b, word)
	return b
}

// checkPath compares the only decoded path of a record with the truth.
func checkPath(t *testing.T, p *collector.DecodedPacket, path []record.Step) {
	t.Helper()
	got := p.Answer.Paths[0]
	same := len(got.Path) == len(path)
	for i := range path {
		same = same && got.Path[i].Table == path[i].Table && (!got.HitKnown[i] || got.Path[i].Hit == path[i].Hit)
	}
	if !same {
		t.Fatalf("record % x was read as %s, but the packet went %v", p.Bits, got, path)
	}
}

// ipPacket returns a frame. Its IP header has a checksum, without which the packet is not routed.
func ipPacket(t *testing.T, list ...gopacket.SerializableLayer) []byte {
	t.Helper()
	devicetest.NoError(t, list[2].(*layers.UDP).SetNetworkLayerForChecksum(list[1].(gopacket.NetworkLayer)))
	buf := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
		list...); err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(buf.Bytes())
}

// storm returns frames that use all functions of the switch.
func storm(t *testing.T, r *rand.Rand, n int) []devicetest.SentFrame {
	t.Helper()
	var list []devicetest.SentFrame
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	mac := func(s string) net.HardwareAddr { m, _ := net.ParseMAC(s); return m }
	for i := range n {
		l2 := &layers.Ethernet{SrcMAC: mac(pick("02:00:00:00:00:09", "02:00:00:00:00:11", "02:00:00:00:00:12",
			"02:00:00:00:00:12", "03:00:00:00:00:01")),
			DstMAC: mac(pick("02:00:00:00:07:e4", "02:00:00:00:07:e4", "02:00:00:00:07:e4", "02:00:00:00:00:09",
				"02:00:00:00:00:11", "02:00:00:00:00:55", "ff:ff:ff:ff:ff:ff", "01:80:c2:00:00:0e")),
			EthernetType: layers.EthernetTypeIPv4}
		udp := &layers.UDP{SrcPort: layers.UDPPort(1000 + i), DstPort: layers.UDPPort(
			[]uint16{23, 80, 5201, 4791}[r.IntN(4)])}
		var l3 gopacket.SerializableLayer = &layers.IPv4{Version: 4, TTL: uint8(1 + 63*r.IntN(2)), Id: uint16(i),
			Protocol: layers.IPProtocolUDP, SrcIP: net.IP{10, 0, 0, 9},
			DstIP: net.ParseIP(pick("10.2.0.2", "10.8.1.1", "10.7.0.1", "10.6.0.1", "10.0.0.1", "10.0.0.9", "10.0.0.77",
				"192.0.2.1", "10.9.0.5"))}
		if r.IntN(5) == 0 {
			l2.EthernetType = layers.EthernetTypeIPv6
			l3 = &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: layers.IPProtocolUDP, SrcIP: net.ParseIP("2001:db8::9"),
				DstIP: net.ParseIP(pick("2001:db8:9::1", "2001:db8:8::1"))}
		}
		list = append(list, devicetest.SentFrame{Port: saisim.PortID(r.IntN(2)),
			Data: ipPacket(t, l2, l3, udp, devicetest.Payload(20+r.IntN(200)))})
	}
	return list
}

// captured returns the frames of the demo's capture, which enter at Ethernet0.
func captured(t *testing.T) []devicetest.SentFrame {
	t.Helper()
	in, err := capture.Open("../../cmd/tamtam/demo/client.pcap")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var list []devicetest.SentFrame
	for {
		p, err := in.Next()
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, devicetest.SentFrame{Port: 0, Data: bytes.Clone(p.Data)})
	}
}

// Records of the packets of a capture, and of a storm, contain their true fates.
func TestRecordsAreTheTruth(t *testing.T) {
	racetest.Stepped(t)
	fixed := randtest.Cases{Seed: 11}
	randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		for _, tt := range []struct {
			name   string
			fields swss.FieldValues
			least  int // records that are exact with the gate's seed
		}{
			{"32 bits tell every path", nil, 667},
			{"8 bits do not", swss.FieldValues{"mode": record.ModeExecution, "phv": "8"}, 300},
		} {
			t.Run(tt.name, func(t *testing.T) {
				r := newRecording(t, profile.Small(), nil, tt.fields)
				r.send(captured(t)...)
				r.send(storm(t, rand.New(rand.NewPCG(seed, 0)), 600)...)
				plans := map[uint16]*record.Plan{0: r.plan("s0"), 1: r.plan("s1")}
				_, packets := r.records(plans[0], plans[1])
				exact := r.check(plans, packets)
				if certain := plans[0].Recovery > 1-1e-9; seed == fixed.Seed && exact < tt.least ||
					certain && exact < len(packets) {
					t.Errorf("%d of %d records are exact, want %d", exact, len(packets), tt.least)
				}
				paths := map[string]bool{}
				for _, m := range r.ends {
					paths[fmt.Sprint(r.Chip.Path(m.Trail))] = true
				}
				if len(paths) < 12 {
					t.Errorf("packets took %d paths only", len(paths))
				}
			})
		}
	})
}

// The records of a dropped flow explain the drops.
func TestRecordsSayWhyAFlowIsDropped(t *testing.T) {
	r := newRecording(t, profile.Small(), nil, swss.FieldValues{"must-record": "chip.acl"})
	telnet := func(dst string, port layers.UDPPort) devicetest.SentFrame {
		return devicetest.SentFrame{Port: 0, Data: ipPacket(t, &layers.Ethernet{SrcMAC: devicetest.HostMAC(9),
			DstMAC:       devicetest.RouterMAC,
			EthernetType: layers.EthernetTypeIPv4},
			&layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolUDP, SrcIP: net.IP{10, 0, 0, 9},
				DstIP: net.ParseIP(dst)},
			&layers.UDP{SrcPort: 7, DstPort: port}, devicetest.Payload(20))}
	}
	r.send(telnet("10.2.0.2", 23), telnet("10.7.0.1", 80), telnet("10.2.0.2", 80))
	c, _ := r.records(r.plan("s0"), r.plan("s1"))
	var text bytes.Buffer
	report := c.Report()
	devicetest.NoError(t, report.WriteText(&text))
	for _, want := range []string{
		"UDP 10.0.0.9:7 > 10.2.0.2:23: 1 packet, acl;",
		"UDP 10.0.0.9:7 > 10.7.0.1:80: 1 packet, ",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
}

// branches is a program in which web and other exclude each other.
const branches = `{"name": "branches", "fields": [{"name": "seen", "width": 8}, {"name": "left", "width": 8}],
 "ingress": {"tables": [
	{"name": "classify", "stage": 0, "match": "exact", "size": 8, "key": [{"field": "l4.dst"}],
		"actions": [{"name": "nop"}], "entries": [{"id": 1, "key": [{"value": 80}], "action": "nop"}]},
	{"name": "web", "stage": 1, "match": "always", "gate": [[{"table": "classify", "is": "hit"}]],
		"actions": [{"name": "mark", "ops": [{"do": "set", "to": "seen", "a": {"const": 1}}]}],
		 "default": {"action": "mark"}},
	{"name": "other", "stage": 1, "match": "always", "gate": [[{"table": "classify", "is": "miss"}]],
		"actions": [{"name": "mark", "ops": [{"do": "set", "to": "left", "a": {"const": 2}}]}],
		 "default": {"action": "mark"}}]}}`

// A fault in a program, such as a compiler bug, is found from the records. With 100 frames, one case in 20 has no frame
// that shows the fault. With 800 frames, this is one case in 10^10.
func TestRecordsFindFaults(t *testing.T) {
	racetest.Stepped(t)
	marking, err := os.ReadFile("../../docs/programs/marking.json")
	if err != nil {
		t.Fatal(err)
	}
	randtest.Run(t, randtest.Cases{Seed: 5}, func(t *testing.T, seed uint64) {
		for _, tt := range []struct {
			program, record string
			fault           pipe.Fault
			want            string
		}{
			{string(marking), "ingress.time,ingress.pulse", pipe.Fault{Do: "skip", Table: "ingress.time"},
				"ingress.time is skipped: explains "},
			{string(marking), "ingress.time,ingress.pulse", pipe.Fault{Do: "skip", Table: "ingress.pulse"},
				"ingress.pulse is skipped: explains "},
			{branches, "ingress.web,ingress.other", pipe.Fault{Do: "misplace", Table: "ingress.web", Into: "ingress.other"},
				"ingress.web runs when ingress.other does: explains "},
			{branches, "ingress.web,ingress.other", pipe.Fault{Do: "skip", Table: "ingress.other"},
				"ingress.other is skipped: explains "},
			// The graph has paths past the FDB: only earlier tables reveal the fault.
			{branches, "chip.fdb,chip.router_mac", pipe.Fault{Do: "skip", Table: "chip.fdb"},
				"chip.fdb is skipped, or the switch is configured otherwise: no packet ran it, about "},
			// Without the lookup, routed packets end for lack of a route, and no path of the graph does so.
			{branches, "chip.ipv4_route,chip.router_mac", pipe.Fault{Do: "skip", Table: "chip.ipv4_route"},
				"chip.ipv4_route is skipped: explains "},
		} {
			t.Run(tt.fault.Do+" "+tt.fault.Table, func(t *testing.T) {
				program, err := pipe.Read(strings.NewReader(tt.program))
				if err != nil {
					t.Fatal(err)
				}
				r := newRecording(t, profile.Default(), program, swss.FieldValues{"must-record": tt.record})
				traffic := append(captured(t), storm(t, rand.New(rand.NewPCG(seed, 0)), 800)...)
				r.send(traffic...)
				plan := r.plan("s0")
				c, _ := r.records(plan)
				before := c.Report()
				if p := before.Plans[0]; p.Impossible != 0 || p.Packets == 0 || len(p.Suspicions) > 0 {
					t.Fatalf("without a fault: %+v", p)
				}
				r.frames = nil
				if err := r.Chip.Control(r.Chip.Now(), saisim.Batch{Batch: pipe.Batch{
					Faults: []pipe.Fault{tt.fault}}}); err != nil {
					t.Fatal(err)
				}
				r.send(traffic...)
				c, _ = r.records(plan)
				after := c.Report()
				suspicions := append(after.Plans[0].Suspicions, after.Compare(&before).Suspicions...)
				found := slices.IndexFunc(suspicions, func(s recordplan.Suspicion) bool {
					return strings.HasPrefix(s.String(), tt.want)
				})
				if found < 0 || suspicions[found].Explains != suspicions[0].Explains || suspicions[found].Contradicts > 0 {
					t.Errorf("%d of %d records impossible, suspicions %v, want %q", after.Plans[0].Impossible, after.Records,
						suspicions, tt.want)
				}
			})
		}
	})
}
