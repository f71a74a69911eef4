package fates

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket/layers"

	"tamtam/collector"
	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/internal/racetest"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// someFrames returns frames of one flow, 10 microseconds apart.
func someFrames(t *testing.T, n int) (list []devicetest.Packet) {
	data := devicetest.IPv4Frame(t, layers.IPProtocolUDP, &layers.UDP{SrcPort: 5000, DstPort: 6000},
		devicetest.Payload(100))
	for i := range n {
		list = append(list, devicetest.PacketAt(time.Unix(1_000_000_000, int64(10_000*i)), data))
	}
	return list
}

// The collector receives a record of every packet of a session's flow group by UDP or ERSPAN. With a sampler, it
// receives records of the sampled packets. With the file of the recording plan, each can be decoded to the packet's
// path.
func TestRecordingSession(t *testing.T) {
	racetest.Stepped(t)
	const bridged = "chip.port > chip.trap > chip.learning > chip.router_mac miss > chip.fdb > chip.mtu hit"
	for _, c := range []struct {
		name    string
		fields  []string
		records int
		paths   map[string]int64 // packets that left at Ethernet1, by path
	}{
		{"udp", nil, 20, map[string]int64{bridged: 20}},
		{"erspan", []string{"encapsulation", "erspan"}, 20, map[string]int64{bridged: 20}},
		{"one in eight", []string{"sampler", "eighth"}, 3, map[string]int64{bridged: 3}},
		{"hits", []string{"mode", "exec+hit", "phv", "32", "truncate", "64"}, 20, map[string]int64{
			"chip.port hit > chip.trap miss > chip.learning miss > chip.router_mac miss > chip.fdb miss > chip.mtu hit": 1,
			// the address was learned from the first packet
			"chip.port hit > chip.trap miss > chip.learning hit > chip.router_mac miss > chip.fdb miss > chip.mtu hit": 19,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			in := filepath.Join(dir, "in.pcap")
			devicetest.WriteCapture(t, in, someFrames(t, 20)...)
			r := device.Replay{Inputs: devicetest.Inputs("Ethernet0", in), Out: filepath.Join(dir, "out")}
			r.Config = devicetest.RecordedPorts(c.fields...)
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

// After the restart of any daemon, the session is active again and reports that.
func TestRecordingSurvivesRestarts(t *testing.T) {
	s := devicetest.NewSim(t, device.SimConfig{Config: devicetest.RecordedPorts()})
	devicetest.RunUntilIdle(t, s)
	wantStatus := func(after string) {
		t.Helper()
		row, _, err := swss.NewTable(s.Redis.DB(swss.StateDB), schema.StateTAMTableRecord).Get(t.Context(), "s")
		if err != nil || row["status"] != schema.StatusActive {
			t.Fatalf("after %s: %v, %v", after, row, err)
		}
	}
	wantStatus("the start")
	before := devicetest.View(t, s)
	for _, c := range []struct {
		name    string
		restart func() error
	}{
		{"a restart of tammgrd", func() error { return s.RestartManagers(t.Context()) }},
		{"a restart of orchagent", func() error { return s.RestartOrchagent(t.Context()) }},
		{"a restart of syncd", func() error { return s.RestartSyncd(t.Context()) }},
	} {
		devicetest.NoError(t, c.restart())
		devicetest.RunUntilIdle(t, s)
		wantStatus(c.name)
		if after := devicetest.View(t, s); after != before {
			t.Errorf("after %s:\n%s", c.name, cmp.Diff(strings.Split(before, "\n"), strings.Split(after, "\n")))
		}
	}
}
