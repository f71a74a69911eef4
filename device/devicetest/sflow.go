package devicetest

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"
	"time"

	"tamtam/device"
	"tamtam/internal/racetest"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/schema"
	wire "tamtam/tam/sflow"
)

// An SFlowTest is a switch with sFlow, and the datagrams that its collectors received.
type SFlowTest struct {
	*testing.T
	*device.Sim
	Got map[netip.AddrPort][]wire.Sample // samples, by collector
	n   map[netip.AddrPort]uint32
	Raw [][]byte // datagrams to collectors with IPv4 addresses
}

// SFlowConfig returns the configuration of a switch with sFlow.
func SFlowConfig() device.ConfigDB {
	port := func(lane string) swss.FieldValues {
		return swss.FieldValues{"lanes": lane, "speed": "10000", "admin_status": "up"}
	}
	return device.ConfigDB{
		schema.CfgDeviceMetadata: {"localhost": {"mac": "02:00:00:00:00:aa"}},
		schema.CfgPort:           {"Ethernet0": port("0"), "Ethernet1": port("1"), "Ethernet2": port("2")},
		schema.CfgVLAN:           {"Vlan10": {"vlanid": "10"}},
		schema.CfgVLANMember: {
			"Vlan10|Ethernet0": {"tagging_mode": "untagged"}, "Vlan10|Ethernet1": {"tagging_mode": "untagged"},
		},
		schema.CfgLoopbackInterface: {"Loopback0": {}, "Loopback0|10.0.0.9/32": {}},
		schema.CfgSFlow:             {"global": {"admin_state": "up", "polling_interval": "5", "drop_monitor_limit": "10"}},
		schema.CfgSFlowCollector: {"a": {"collector_ip": "192.0.2.1"},
			"b": {"collector_ip": "2001:db8::1", "collector_port": "7000"}, "c": {"collector_ip": "192.0.2.3"}},
		schema.CfgSFlowSession: {
			"all": {"sample_direction": "both"}, "Ethernet0": {"sample_rate": "256"},
			"Ethernet1": {"sample_direction": "tx", "sample_rate": "300"},
			"Ethernet2": {"admin_state": "down"}, "Ethernet9": {"sample_rate": "256"}, "Ethernet8": {"sample_rate": "9"},
		},
	}
}

// NewSFlowTest starts a switch with SFlowConfig.
func NewSFlowTest(t *testing.T) *SFlowTest { return NewSFlowTestOn(t, SFlowConfig()) }

// NewSFlowTestOn starts a switch with a configuration.
func NewSFlowTestOn(t *testing.T, config device.ConfigDB) *SFlowTest {
	t.Helper()
	x := &SFlowTest{T: t, Got: map[netip.AddrPort][]wire.Sample{}, n: map[netip.AddrPort]uint32{}}
	racetest.Stepped(t)
	s, err := device.NewSim(t.Context(), device.SimConfig{Profile: profile.Small(), Config: config, SFlow: x.receive})
	if err != nil {
		t.Fatal(err)
	}
	x.Sim = s
	t.Cleanup(func() { s.Close() })
	s.Chip.SetOutput(func(o *saisim.Out) { s.Punt(o) })
	NoError(t, s.RunUntilIdle(t.Context()))
	return x
}

// receive receives a datagram as a collector does, and checks that none is missing.
func (x *SFlowTest) receive(to netip.AddrPort, b []byte) error {
	d, err := wire.Decode(bytes.Clone(b))
	if x.n[to]++; err != nil || d.Sequence != x.n[to] || d.Agent != netip.MustParseAddr("10.0.0.9") {
		x.Errorf("datagram %d to %s: %+v, %v", x.n[to], to, d, err)
		return nil
	}
	x.Got[to] = append(x.Got[to], d.Samples...)
	if to.Addr().Is4() {
		x.Raw = append(x.Raw, bytes.Clone(b))
	}
	return nil
}

// Pass lets time pass.
func (x *SFlowTest) Pass(d time.Duration) {
	x.Helper()
	NoError(x.T, x.Advance(x.Context(), x.Chip.Now()+x.Chip.CycleAt(d)))
}

// Send makes Ethernet0 receive frames. Good frames leave by Ethernet1, bad frames are dropped for their source address.
func (x *SFlowTest) Send(good, bad int) {
	x.Helper()
	in, _ := x.Chip.PortByName("Ethernet0")
	frame := append(
		[]byte("\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02\x08\x00\x45\x00\x00\x56\x00\x00\x00\x00\x40\x11\x65\x93"+
			"\x0a\x01\x00\x01\x0a\x01\x00\x02\x03\xe8\x00\x50\x00\x42\x00\x00"), make([]byte, 58)...)
	for i := range good + bad {
		frame[6] = 2
		if i >= good {
			frame[6] = 3 // a group address
		}
		NoError(x.T, x.Chip.Receive(in, x.Chip.Now()+200, saisim.Frame{Data: frame}))
		x.Chip.Advance(x.Chip.Now() + 200)
		if i%500 == 0 {
			x.Pass(time.Microsecond)
		}
	}
	x.Pass(time.Millisecond)
}

// WantFlows checks the flow samples of Ethernet0 for received packets, and of Ethernet1 for sent ones.
func (x *SFlowTest) WantFlows(flows map[uint32][]*wire.FlowSample, good, bad int) {
	x.Helper()
	in, out := flows[1], flows[2]
	if len(flows) != 2 || len(in) < 4 || len(in) > 30 {
		x.Fatalf("samples of %d ports, %d of Ethernet0, want about %d", len(flows), len(in), (good+bad)/256)
	}
	for _, f := range in {
		if f.Rate != 256 || f.Input.Value != 1 || f.Output.Format == wire.Single && f.Output.Value != 2 || f.Drops != 0 ||
			f.Header.Length != 104 || f.Header.Stripped != 4 || len(f.Header.Bytes) != 100 || int(f.Pool) > good+bad {
			x.Errorf("%+v of %+v", f, f.Header)
		}
	}
	if len(out) < 3 || len(out) > 30 {
		x.Errorf("%d samples of Ethernet1, want about %d", len(out), good/300)
	}
	for _, f := range out {
		if f.Rate != 300 || int(f.Pool) > good || f.Input.Value != 1 || f.Output.Value != 2 {
			x.Errorf("%+v", f)
		}
	}
}

// WantReported checks, in rows of STATE_DB, the status and the beginning of the reason.
func (x *SFlowTest) WantReported(want map[string]string) {
	x.Helper()
	for key, reported := range want {
		table, name, _ := strings.Cut(key, "|")
		row, _, err := swss.NewTable(x.Redis.DB(swss.StateDB), table).Get(x.Context(), name)
		if got := row["status"] + " " + row["reason"]; err != nil || !strings.HasPrefix(got, reported) ||
			reported[len(reported)-1] == ' ' &&
				reported != "failed " && got != reported {
			x.Errorf("%s: %q, want %q; %v", key, got, reported, err)
		}
	}
}
