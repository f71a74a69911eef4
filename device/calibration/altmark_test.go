package calibration

import (
	"bytes"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/internal/racetest"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/altmark"
)

// markConfig is a switch that forwards from Ethernet0 to Ethernet1, with one session, m, on the flow group web.
const markConfig = `{
	"PORT": {
		"Ethernet0": {"lanes": "0", "speed": "10000", "admin_status": "up"},
		"Ethernet1": {"lanes": "1", "speed": "10000", "admin_status": "up"}},
	"VLAN": {"Vlan10": {"vlanid": "10"}},
	"VLAN_MEMBER": {
		"Vlan10|Ethernet0": {"tagging_mode": "untagged"}, "Vlan10|Ethernet1": {"tagging_mode": "untagged"}},
	"FDB": {"Vlan10|02:00:00:00:00:33": {"port": "Ethernet1"}},
	"TAM_FEATURES_TABLE": {"ALTMARK": {"status": "ACTIVE"}},
	"TAM_FLOWGROUP_TABLE": {"web": {"id": "1"}},
	"ACL_RULE": {"TAM|web": {"PRIORITY": "100", "IP_PROTOCOL": "253", "DSCP": "8/0x38", "IN_PORTS": "Ethernet0"}},
	"TAM_ALTMARK_TABLE": {"m": {"flowgroup": "web", "interval": "-10"}}}`

// marked is a switch in the middle of its period 1000, in simulated time.
type marked struct {
	*testing.T
	*device.Sim
	outs []saisim.Out
}

// markPeriod is the period in the middle of which a run begins.
const markPeriod = 1000

const markInterval = altmark.Interval(-10)

// newMarked returns a switch whose session m has these fields.
func newMarked(t *testing.T, profile profile.Profile, fields ...string) *marked {
	t.Helper()
	c, err := device.ParseConfigDB([]byte(markConfig))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(fields); i += 2 {
		if fields[i] == "DSCP" {
			c[schema.CfgACLRule]["TAM|web"]["DSCP"] = fields[i+1]
			continue
		}
		c[schema.CfgTAMAltMark]["m"][fields[i]] = fields[i+1]
	}
	m := &marked{T: t, Sim: devicetest.NewSim(t, device.SimConfig{Config: c, Profile: profile,
		Start: markInterval.Middle(markPeriod).Std()})}
	devicetest.RunUntilIdle(t, m.Sim)
	m.Chip.SetOutput(func(o *saisim.Out) {
		kept := *o
		kept.Data = bytes.Clone(o.Data)
		m.outs = append(m.outs, kept)
	})
	if s := m.row(swss.StateDB, schema.StateTAMAltMark, "m"); s["status"] != "active" {
		t.Fatalf("session is %v", s)
	}
	return m
}

func (m *marked) row(db swss.DBName, table, key string) swss.FieldValues {
	m.Helper()
	f, _, err := swss.NewTable(m.Redis.DB(db), table).Get(m.Context(), key)
	if err != nil {
		m.Fatal(err)
	}
	return f
}

// history returns m's periods in COUNTERS_DB, by number.
func (m *marked) history() map[uint64]altmark.Period {
	m.Helper()
	periods := map[uint64]altmark.Period{}
	for field, value := range m.row(swss.CountersDB, schema.CountersAltMarkPast, "m") {
		p, err := schema.ParseAltMarkPeriod("m", field, value)
		if err != nil {
			m.Fatal(err)
		}
		periods[p.Number] = p
	}
	return periods
}

// into returns the cycle at a fraction of a period: part is 0 at its start and 1 at its end.
func (m *marked) into(period uint64, part float64) saisim.Cycle {
	at := markInterval.Start(period).Std().Sub(m.Chip.TrueTime(0))
	return m.Chip.CycleAt(at + time.Duration(part*float64(markInterval.Duration())))
}

func (m *marked) advance(to saisim.Cycle) {
	m.Helper()
	devicetest.NoError(m.T, m.Advance(m.Context(), to))
}

func markFrame(t *testing.T, tos uint8) []byte {
	t.Helper()
	buf := gopacket.NewSerializeBuffer()
	err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
		&layers.Ethernet{SrcMAC: devicetest.HostMAC(1), DstMAC: devicetest.HostMAC(0x33),
			EthernetType: layers.EthernetTypeIPv4},
		&layers.IPv4{Version: 4, IHL: 5, TOS: tos, TTL: 9, Protocol: 253, SrcIP: net.IP{10, 0, 0, 1},
			DstIP: net.IP{10, 0, 0, 2}},
		gopacket.Payload(make([]byte, 60-34)))
	if err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// markParts lists the parts of a period at which frames are sent: no frame in the guard time, and one early in the
// third quarter.
var markParts = []float64{0.2, 0.3, 0.4, 0.55, 0.6, 0.7, 0.9}

// Two switches, one after the other, report the same frames, with each method: the first marks them, the second reads
// and clears the marks. Every fifth frame is lost between them in period 1003. The measured delay is the delay of the
// first switch plus 800 ns.
func TestAltMarkTwoSwitches(t *testing.T) {
	racetest.Stepped(t)
	for _, tt := range []struct {
		name   string
		fields []string
		delay  bool
	}{
		{"step", []string{"method", "step", "mark", "dscp0"}, false},
		{"pulse", []string{"method", "pulse", "mark", "dscp2"}, true},
		{"double", []string{"method", "double", "mark", "dscp0", "mark2", "dscp1"}, true},
		{"muxed", []string{"method", "muxed", "mark", "dscp1"}, true},
		{"muxed in the reserved flag", []string{"method", "muxed", "mark", "ipv4-reserved"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			first := newMarked(t, profile.Small(), append(tt.fields, "role", "initiator")...)
			second := newMarked(t, profile.Small(), append(tt.fields, "role", "terminator", "clear", "true")...)
			const last = markPeriod + 6
			frame := markFrame(t, 8<<2)
			for k := uint64(markPeriod + 1); k < last; k++ {
				for _, part := range markParts {
					devicetest.NoError(t, first.Chip.Receive(0, first.into(k, part), saisim.Frame{Data: frame}))
				}
			}
			first.advance(first.into(last+1, 0.6))
			sent := len(first.outs)
			lost := map[uint64]uint64{}
			for i, o := range first.outs {
				k := markInterval.Period(altmark.At(first.Chip.TrueTime(o.At)))
				if k == markPeriod+3 && i%5 == 0 {
					lost[k]++
					continue
				}
				devicetest.NoError(t, second.Chip.Receive(0, o.At+1000, saisim.Frame{Data: o.Data}))
			}
			second.advance(second.into(last+1, 0.6))
			for _, o := range second.outs {
				if !bytes.Equal(o.Data, frame) {
					t.Fatalf("a frame left as %x, want %x", o.Data, frame)
				}
			}
			if n := len(markParts) * (last - markPeriod - 1); sent != n || len(lost) == 0 {
				t.Fatalf("%d frames left, want %d; lost %v", sent, n, lost)
			}
			a, b := first.history(), second.history()
			for k := uint64(markPeriod + 1); k < last; k++ {
				p, q := a[k], b[k]
				if p.Flags|q.Flags != 0 || p.Packets != uint64(len(markParts)) || p.Packets-q.Packets != lost[k] ||
					p.Bytes != 64*p.Packets {
					t.Errorf("period %d: %+v and %+v, want 7 packets and a loss of %d", k, p, q, lost[k])
				}
				if tt.delay && p.Captures == 1 && q.Captures == 1 {
					if d := q.Timestamp.Sub(p.Timestamp); d < 800*time.Nanosecond || d > 1000*time.Nanosecond {
						t.Errorf("period %d: delay %v", k, d)
					}
				} else if tt.delay && k != markPeriod+3 {
					t.Errorf("period %d: %d and %d captures", k, p.Captures, q.Captures)
				}
			}
		})
	}
}

// On a switch without time matching, orchagent switches the colours. Step marking measures the same values, and the row
// names orchagent.
func TestAltMarkByOrchestrator(t *testing.T) {
	small := profile.Small()
	small.AltMark = profile.AltMarkCapacity{}
	fields := []string{"method", "step", "mark", "dscp0", "DSCP", "8"}
	first := newMarked(t, small, append(fields, "role", "initiator")...)
	second := newMarked(t, small, append(fields, "role", "terminator", "clear", "true")...)
	const last = markPeriod + 6
	frame := markFrame(t, 8<<2)
	for k := uint64(markPeriod + 1); k < last; k++ {
		for _, part := range markParts {
			devicetest.NoError(t, first.Chip.Receive(0, first.into(k, part), saisim.Frame{Data: frame}))
		}
	}
	first.advance(first.into(last+1, 0.6))
	var tos []uint8
	for i, o := range first.outs {
		tos = append(tos, o.Data[15])
		if i%7 == 3 {
			continue
		}
		devicetest.NoError(t, second.Chip.Receive(0, o.At+1000, saisim.Frame{Data: o.Data}))
	}
	second.advance(second.into(last+1, 0.6))
	want := []uint8{}
	for k := markPeriod + 1; k < last; k++ {
		want = append(want, bytes.Repeat([]byte{8<<2 | byte(k&1)<<2}, len(markParts))...)
	}
	if !slices.Equal(tos, want) {
		t.Errorf("left with\n%v, want\n%v", tos, want)
	}
	a, b := first.history(), second.history()
	for k := uint64(markPeriod + 2); k < last; k++ {
		if p, q := a[k], b[k]; p.Flags|q.Flags != 0 || p.Packets != 7 || q.Packets != 6 {
			t.Errorf("period %d: %+v and %+v, want 7 and 6 packets", k, p, q)
		}
	}
	row := first.row(swss.CountersDB, schema.CountersAltMark, "m")
	if row["ENGINE"] != schema.AltMarkByOrchestrator ||
		row["TIMING"] != "switched by orchestrator, at most 0s late so far; packets that come marked are not seen" {
		t.Errorf("row %v", row)
	}
}

// A switch without time matching reports the settings that it does not support.
func TestAltMarkRefused(t *testing.T) {
	bare := profile.Small()
	bare.AltMark = profile.AltMarkCapacity{}
	const only = "the switch cannot match time, so orchestrator switches colours: "
	for _, tt := range []struct {
		name    string
		profile profile.Profile
		fields  []string
		want    string
	}{
		{"muxed", bare, []string{"method", "muxed", "mark", "dscp0"}, only + "method is muxed, want step"},
		{"reserved flag", bare, []string{"method", "step", "mark", "ipv4-reserved"},
			only + "mark is ipv4-reserved, want dscp0 to dscp5"},
		{"any DSCP", bare, []string{"method", "step", "mark", "dscp0"},
			only + "it sets the whole DSCP, and flow group web does not say which: want a rule that matches one DSCP exactly"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := device.ParseConfigDB([]byte(markConfig))
			if err != nil {
				t.Fatal(err)
			}
			c[schema.CfgTAMAltMark]["m"]["role"] = "initiator"
			for i := 0; i < len(tt.fields); i += 2 {
				c[schema.CfgTAMAltMark]["m"][tt.fields[i]] = tt.fields[i+1]
			}
			m := &marked{T: t, Sim: devicetest.NewSim(t, device.SimConfig{Config: c, Profile: tt.profile})}
			devicetest.RunUntilIdle(t, m.Sim)
			if s := m.row(swss.StateDB, schema.StateTAMAltMark, "m"); s["status"] != "failed" || s["reason"] != tt.want {
				t.Errorf("%v, want %s", s, tt.want)
			}
		})
	}
}
