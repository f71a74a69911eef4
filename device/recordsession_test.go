package device

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket/layers"

	"tamtam/collector"
	"tamtam/internal/racetest"
	"tamtam/saisim/profile"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// recordedPorts is a switch that bridges between two ports and sends records of what comes in
// at the first by a third, to a collector.
func recordedPorts(fields ...string) ConfigDB {
	c := twoPorts()
	session := swss.FieldValues{"flowgroup": "all", "collector": "c"}
	for i := 0; i < len(fields); i += 2 {
		session[fields[i]] = fields[i+1]
	}
	delete(c, schema.CfgTAMTailStamp)
	c[schema.CfgPort]["Ethernet2"] = swss.FieldValues{"lanes": "2", "speed": "10000", "admin_status": "up"}
	c["INTERFACE"] = map[string]swss.FieldValues{"Ethernet2": {"NULL": "NULL"}, "Ethernet2|10.8.0.1/24": {"NULL": "NULL"}}
	c["NEIGH"] = map[string]swss.FieldValues{"Ethernet2|10.8.0.2": {"neigh": "02:00:00:00:00:77"}}
	c[schema.CfgTAMCollector] = map[string]swss.FieldValues{"c": {"ipaddress": "10.8.0.2", "port": "4739"}}
	c[schema.CfgTAMFeature] = map[string]swss.FieldValues{schema.FeatureTableRecord: {"status": "ACTIVE"}}
	c[schema.CfgTAMTableRecord] = map[string]swss.FieldValues{"s": session}
	return c
}

// someFrames are frames of one flow, 10 microseconds apart.
func someFrames(t *testing.T, n int) (list []packet) {
	data := frame(t, eth(layers.EthernetTypeIPv4), ip4(layers.IPProtocolUDP),
		&layers.UDP{SrcPort: 5000, DstPort: 6000}, payload(100))
	for i := range n {
		list = append(list, packet{time.Unix(1_000_000_000, int64(10_000*i)), data, len(data)})
	}
	return list
}

// From a configured session to decoded paths: every packet of the flow group has a record
// at the collector, by UDP or ERSPAN, sampled or not, and the plan's file tells its path.
func TestRecordingSession(t *testing.T) {
	racetest.Stepped(t)
	const bridged = "chip.port > chip.trap > chip.learning > chip.router_mac miss > chip.fdb > chip.mtu hit"
	for _, c := range []struct {
		name    string
		fields  []string
		records int
		paths   map[string]int64 // of packets that left at Ethernet1
	}{
		{"udp", nil, 20, map[string]int64{bridged: 20}},
		{"erspan", []string{"encapsulation", "erspan"}, 20, map[string]int64{bridged: 20}},
		{"one in eight", []string{"sampler", "eighth"}, 3, map[string]int64{bridged: 3}},
		{"hits", []string{"mode", "exec+hit", "phv", "32", "truncate", "64"}, 20, map[string]int64{
			"chip.port hit > chip.trap miss > chip.learning miss > chip.router_mac miss > chip.fdb miss > chip.mtu hit": 1,
			// what the first has taught
			"chip.port hit > chip.trap miss > chip.learning hit > chip.router_mac miss > chip.fdb miss > chip.mtu hit": 19,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			in := filepath.Join(dir, "in.pcap")
			writeCapture(t, in, someFrames(t, 20)...)
			r := Replay{Inputs: []Input{{"Ethernet0", in}}, Out: filepath.Join(dir, "out")}
			r.Config = recordedPorts(c.fields...)
			r.Config[schema.CfgTAMSampler] = map[string]swss.FieldValues{"eighth": {"sampling-rate": "8"}}
			r.Profile = profile.Small()
			report, err := r.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got := report.TableRecord["s"]
			n := uint64(c.records)
			if got.Status != schema.StatusActive || got.Matched != 20 || got.NotSampled != 20-n ||
				got.Recorded != n || got.Lost != 0 || got.PlanID == 0 {
				t.Fatalf("%+v, %v", got, report.Problems)
			}
			if want := []string{"record-s.plan.json"}; !slices.Equal(got.Plans, want) {
				t.Fatalf("plans %v, want %v", got.Plans, want)
			}
			plan, err := collector.ReadPlan(filepath.Join(r.Out, got.Plans[0]))
			if err != nil {
				t.Fatal(err)
			}
			decoded, err := collector.ReadRecords(t.Context(), filepath.Join(r.Out, "Ethernet2.pcap"), plan)
			if err != nil {
				t.Fatal(err)
			}
			if len(decoded.Plans) != 1 || len(decoded.Unknown) > 0 ||
				decoded.Plans[0].Packets != int64(n) || decoded.Plans[0].Impossible > 0 {
				t.Fatalf("decoded %+v", decoded)
			}
			paths := map[string]int64{}
			for _, p := range decoded.Plans[0].Paths {
				paths[p.Path] = p.Fates["Ethernet1"]
			}
			if diff := cmp.Diff(c.paths, paths); diff != "" || decoded.Plans[0].Exact != int64(n) {
				t.Errorf("%d of %d paths are exact; want (-), got (+):\n%s", decoded.Plans[0].Exact, n, diff)
			}
		})
	}
}

// Whoever is restarted, the session is there again, and says so.
func TestRecordingSurvivesRestarts(t *testing.T) {
	s := testSim(t, SimConfig{Config: recordedPorts()})
	settle(t, s)
	wantStatus := func(after string) {
		t.Helper()
		row, _, err := swss.NewTable(s.Redis.DB(swss.StateDB), schema.StateTAMTableRecord).Get(t.Context(), "s")
		if err != nil || row["status"] != schema.StatusActive {
			t.Fatalf("after %s: %v, %v", after, row, err)
		}
	}
	wantStatus("the start")
	before := view(t, s)
	for _, c := range []struct {
		name    string
		restart func() error
	}{
		{"a restart of tammgrd", func() error { return s.RestartManagers(t.Context()) }},
		{"a restart of orchagent", func() error { return s.RestartOrchagent(t.Context()) }},
		{"a restart of syncd", func() error { return s.RestartSyncd(t.Context()) }},
	} {
		if err := c.restart(); err != nil {
			t.Fatal(err)
		}
		settle(t, s)
		wantStatus(c.name)
		if after := view(t, s); after != before {
			t.Errorf("after %s:\n%s", c.name, cmp.Diff(strings.Split(before, "\n"), strings.Split(after, "\n")))
		}
	}
}
