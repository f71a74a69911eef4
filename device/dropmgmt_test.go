package device_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/host/reports"
	"tamtam/internal/racetest"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/ipfix"
)

// A behindHost is a switch whose collector is reached by the management interface.
type behindHost struct {
	*testing.T
	*device.Sim
	got  []reports.Datagram
	fail error
}

func newBehindHost(t *testing.T, row swss.FieldValues) *behindHost {
	t.Helper()
	x := &behindHost{T: t}
	row["vrf"] = "mgmt"
	port := swss.FieldValues{"lanes": "0", "speed": "10000", "admin_status": "up"}
	racetest.Stepped(t)
	s, err := device.NewSim(t.Context(), device.SimConfig{Profile: profile.Small(), Host: true, Config: device.ConfigDB{
		schema.CfgDeviceMetadata: {"localhost": {"mac": "02:00:00:00:00:aa"}}, schema.CfgPort: {"Ethernet0": port},
		"TAM_COLLECTOR": {"c1": row}, "TAM_SESSION": {"drops": {"type": "drop-monitor", "collector": "c1"}},
	}, Reports: func(d reports.Datagram) error {
		d.Payload = bytes.Clone(d.Payload)
		x.got = append(x.got, d)
		return x.fail
	}})
	if err != nil {
		t.Fatal(err)
	}
	x.Sim = s
	t.Cleanup(func() { s.Close() })
	s.Chip.SetOutput(s.Punt)
	devicetest.NoError(t, s.RunUntilIdle(t.Context()))
	return x
}

// drops sends frames that are dropped since they have no VLAN, and lets time pass.
func (x *behindHost) drops(n int, d time.Duration) {
	x.Helper()
	port, _ := x.Chip.PortByName("Ethernet0")
	for range n {
		frame := append([]byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5}, make([]byte, 50)...)
		devicetest.NoError(x.T, x.Chip.Receive(port, x.Chip.Now(), saisim.Frame{Data: frame}))
		x.pass(100 * time.Microsecond)
	}
	x.pass(d)
}

func (x *behindHost) pass(d time.Duration) {
	x.Helper()
	devicetest.NoError(x.T, x.Advance(x.Context(), x.Chip.Now()+x.Chip.CycleAt(d)))
}

func (x *behindHost) row(db swss.DBName, table, key string) swss.FieldValues {
	x.Helper()
	row, _, err := swss.NewTable(x.Redis.DB(db), table).Get(x.Context(), key)
	if err != nil {
		x.Fatal(err)
	}
	return row
}

func (x *behindHost) detail() string {
	x.Helper()
	row := x.row(swss.StateDB, schema.StateTAMDropMonitor, "drops")
	return strings.TrimSpace(row["status"] + " " + row["status_detail"])
}

// The host sends reports to a collector of VRF mgmt unchanged: each dropped frame once, in sequence. Reports that the
// host cannot send are counted and reported. If the host sends nothing, that is reported too.
func TestReportsByManagement(t *testing.T) {
	for _, tt := range []struct{ src, dst, from string }{
		{"", "192.0.2.7", "127.0.0.1"}, {"192.0.2.1", "192.0.2.7", "192.0.2.1"}, {"", "2001:db8::7", "::1"},
	} {
		row := swss.FieldValues{"dst_ip": tt.dst, "dst_port": "4739", "dscp_value": "10"}
		if tt.src != "" {
			row["src_ip"] = tt.src
		}
		x := newBehindHost(t, row)
		x.drops(5, 2*time.Second)
		d, drops := ipfix.NewDecoder(0), 0
		for _, m := range x.got {
			if m.To != netip.AddrPortFrom(netip.MustParseAddr(tt.dst), 4739) || m.DSCP != 10 ||
				m.From.Addr() != netip.MustParseAddr(tt.from) {
				t.Errorf("from %s to %s with DSCP %d", m.From, m.To, m.DSCP)
			}
			if err := d.Message(m.Payload, func(r *ipfix.DataRecord) {
				if r.Scope == 0 {
					drops++
				}
			}); err != nil {
				t.Error(err)
			}
		}
		if c := d.Counts(); drops != 5 || c.Lost+c.Late+c.Bad+c.WithoutTemplate > 0 || x.detail() != "active" {
			t.Errorf("%d drops of 5, %+v, %s", drops, c, x.detail())
		}
		x.fail = errors.New("network is unreachable")
		x.drops(1, 3*time.Second)
		if got, want := x.detail(),
			`inactive collector "c1": the host could not send the last report: network is unreachable`; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		x.fail = nil
		x.drops(1, 3*time.Second)
		counts := x.row(swss.CountersDB, schema.CountersDropMonitor, "drops")
		if x.detail() != "active" || counts["MESSAGES"] != "7" || counts["UNSENDABLE"] != "1" || counts["LOST"] != "0" {
			t.Errorf("%s, %v", x.detail(), counts)
		}
		x.Chip.SetOutput(func(*saisim.Out) {}) // no client is attached to the CPU port
		x.drops(1, 10*time.Second)
		if got := x.detail(); !strings.Contains(got, "hostd or hostifd is to have the switch's CPU port") {
			t.Errorf("without a host: %s", got)
		}
	}
}

// Reports above the CPU's rate limit are counted as lost, and their sequence numbers are missing.
func TestReportsByManagementAreLimited(t *testing.T) {
	x := newBehindHost(t, swss.FieldValues{"dst_ip": "192.0.2.7", "dst_port": "4739"})
	port, _ := x.Chip.PortByName("Ethernet0")
	for range 2000 {
		frame := append([]byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5}, make([]byte, 50)...)
		devicetest.NoError(t, x.Chip.Receive(port, x.Chip.Now(), saisim.Frame{Data: frame}))
	}
	x.pass(3 * time.Second)
	c := x.row(swss.CountersDB, schema.CountersDropMonitor, "drops")
	sent := x.row(swss.CountersDB, schema.CountersManagementReports, schema.DropStream(x.got[0].From, x.got[0].To))
	if n := len(x.got); n < 512 || n > 600 || sent["MESSAGES"] != fmt.Sprint(n) || c["MESSAGES"] != "2000" ||
		c["LOST"] == "0" {
		t.Errorf("%d datagrams, %v, %v", n, sent, c)
	}
}
