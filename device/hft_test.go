package device_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/internal/racetest"
	"tamtam/saisim"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/hft"
	"tamtam/tamtamtest"
)

// A streamed is a switch whose stream of statistics is read.
type streamed struct {
	*tamtamtest.Switch
	t       *testing.T
	decoder *hft.Decoder
	events  []string
}

func newStreamed(t *testing.T, configDB string) *streamed {
	racetest.Stepped(t)
	s := &streamed{Switch: tamtamtest.Start(t, configDB), t: t}
	d, err := hft.NewDecoder(0, 0, func(e hft.Event) { s.events = append(s.events, e.Text()) })
	devicetest.NoError(t, err)
	s.decoder = d
	return s
}

// session reads the session of a group, as readers do.
func (s *streamed) session(group string) schema.HFTSession {
	row := s.Row(swss.StateDB, schema.StateHFTSession+"|"+group)
	session, err := schema.ParseHFTSession(group, row)
	devicetest.NoError(s.t, err)
	names := map[uint16]string{}
	for i, label := range session.Labels {
		names[label] = session.Objects[i]
	}
	devicetest.NoError(s.t, s.decoder.Session(session.Templates, names))
	return session
}

// records returns the records since the last call: the time since the start, and each value with its object.
func (s *streamed) records() (lines []string) {
	for _, m := range s.Sim().Chip.StreamMessages() {
		devicetest.NoError(s.t, s.decoder.Messages(m.Bytes, func(r *hft.Record) {
			line := time.Duration(r.At).String()
			for i, c := range r.Columns {
				line += fmt.Sprintf(" %s=%d", c.Object, r.Values[i])
			}
			lines = append(lines, line)
		}))
	}
	return lines
}

const streamedPorts = `{
	"PORT": {
		"Ethernet0": {"lanes": "0", "speed": "10000", "admin_status": "up"},
		"Ethernet1": {"lanes": "1", "speed": "10000", "admin_status": "up"}},
	"VLAN": {"Vlan10": {"vlanid": "10"}},
	"VLAN_MEMBER": {"Vlan10|Ethernet0": {"tagging_mode": "untagged"}, "Vlan10|Ethernet1": {"tagging_mode": "untagged"}},
	"HIGH_FREQUENCY_TELEMETRY_PROFILE": {"p": {"stream_state": "enabled", "poll_interval": "10"}},
	"HIGH_FREQUENCY_TELEMETRY_GROUP": {"p|PORT": {"object_names": "Ethernet0", "object_counters": "IF_IN_UCAST_PKTS"}}}`

// Rows as SONiC has them start a stream. It gets another port while it runs, pauses, goes on and ends, and the session
// follows.
func TestHighFrequencyTelemetryFollowsRows(t *testing.T) {
	s := newStreamed(t, streamedPorts)
	if got := s.session("p|PORT"); !got.Enabled || !slices.Equal(got.Objects, []string{"Ethernet0"}) {
		t.Fatalf("session %+v, want Ethernet0, enabled", got)
	}
	shown := strings.Join(strings.Fields(s.CLI("show hft")), " ")
	if want := "p PORT 10 Active enabled Ethernet0 IF_IN_UCAST_PKTS"; !strings.Contains(shown, want) {
		t.Errorf("show hft: %s, want %s", shown, want)
	}
	s.CLI("configure", "hft profile q stream-state enabled",
		"hft group q QUEUE object-names Ethernet0|1 object-counters PACKETS")
	if got := s.session("q|QUEUE"); !slices.Equal(got.Objects, []string{"Ethernet0|1"}) {
		t.Errorf("session %+v of what the shell has configured", got)
	}
	s.CLI("configure", "no hft group q QUEUE",
		"hft group q INGRESS_PRIORITY_GROUP object-names Ethernet1|3 object-counters SHARED_WATERMARK_BYTES")
	if got := s.session("q|INGRESS_PRIORITY_GROUP"); !got.Enabled || !slices.Equal(got.Objects, []string{"Ethernet1|3"}) {
		t.Errorf("session %+v of a priority group", got)
	}
	s.CLI("configure", "no hft group q INGRESS_PRIORITY_GROUP", "no hft profile q")
	s.records()
	s.Send("Ethernet0", devicetest.IPv4Frame(t, 17, devicetest.Payload(50)))
	s.Advance(25 * time.Microsecond)
	got := s.records()
	if len(got) < 2 || !strings.HasSuffix(got[len(got)-1], " Ethernet0=1") {
		t.Fatalf("records %q, want some with one packet", got)
	}

	const group = "HIGH_FREQUENCY_TELEMETRY_GROUP|p|PORT"
	set := func(names string) { s.Set(group, "object_names", names, "object_counters", "IF_IN_UCAST_PKTS") }
	set("Ethernet0,Ethernet1")
	if got := s.session("p|PORT"); !slices.Equal(got.Labels, []uint16{1, 2}) {
		t.Errorf("session %+v, want the labels 1 and 2", got)
	}
	set("Ethernet1")
	if got := s.session("p|PORT"); !slices.Equal(got.Labels, []uint16{2}) {
		t.Errorf("session %+v, want that Ethernet1 keeps its label", got)
	}
	s.Advance(30 * time.Microsecond)
	if got = s.records(); !strings.HasSuffix(got[len(got)-1], " Ethernet1=0") {
		t.Errorf("records %q, want Ethernet1 at the end", got)
	}
	for _, e := range s.events {
		if !strings.Contains(e, "replaces template") {
			t.Error(e)
		}
	}

	state := func(to string) {
		s.Set("HIGH_FREQUENCY_TELEMETRY_PROFILE|p", "stream_state", to, "poll_interval", "10")
	}
	state("disabled")
	s.records()
	s.Advance(time.Millisecond)
	if got := s.records(); len(got) > 0 || s.session("p|PORT").Enabled {
		t.Errorf("records %q of a disabled profile", got)
	}
	state("enabled")
	s.Advance(35 * time.Microsecond)
	if got := s.records(); len(got) < 3 || !s.session("p|PORT").Enabled {
		t.Errorf("records %q, want some again", got)
	}
	s.Delete(group)
	s.records()
	s.Advance(time.Millisecond)
	if got, row := s.records(), s.Row(swss.StateDB, schema.StateHFTSession+"|p|PORT"); len(got)+len(row) > 0 {
		t.Errorf("records %q, session %v of a group that is gone", got, row)
	}
	if c := s.Sim().Chip.StreamCounts(); len(c) > 0 {
		t.Errorf("the chip has streams %v", c)
	}
	if p := s.Problems(); len(p) > 0 {
		t.Errorf("problems %+v", p)
	}
}

const streamedPool = `{
	"PORT": {
		"Ethernet0": {"lanes": "0", "speed": "10000", "admin_status": "up"},
		"Ethernet1": {"lanes": "1", "speed": "1000", "admin_status": "up"}},
	"VLAN": {"Vlan10": {"vlanid": "10"}},
	"VLAN_MEMBER": {"Vlan10|Ethernet0": {"tagging_mode": "untagged"}, "Vlan10|Ethernet1": {"tagging_mode": "untagged"}},
	"BUFFER_POOL": {"egress": {"type": "egress", "mode": "dynamic", "size": "40000"}},
	"BUFFER_PROFILE": {"usual": {"pool": "egress", "size": "0", "dynamic_th": "0"}},
	"BUFFER_QUEUE": {"Ethernet1|0-3": {"profile": "usual"}},
	"HIGH_FREQUENCY_TELEMETRY_PROFILE": {"p": {"stream_state": "enabled", "poll_interval": "10"}},
	"HIGH_FREQUENCY_TELEMETRY_GROUP": {
		"p|BUFFER_POOL": {"object_names": "egress", "object_counters": "CURR_OCCUPANCY_BYTES,WATERMARK_BYTES"}}}`

// A buffer pool streams. One that has to be made again, because its mode changes, ends its group, which begins again
// with the new one. One that is removed ends its group.
func TestHighFrequencyTelemetryOfPools(t *testing.T) {
	s := newStreamed(t, streamedPool)
	if got := s.session("p|BUFFER_POOL"); !got.Enabled || !slices.Equal(got.Objects, []string{"egress"}) {
		t.Fatalf("session %+v, want the pool, enabled; problems %+v", got, s.Problems())
	}
	for range 20 {
		s.Send("Ethernet0", devicetest.IPv4Frame(t, 17, devicetest.Payload(1000)))
	}
	s.Advance(300 * time.Microsecond)
	most, last := uint64(0), ""
	for _, line := range s.records() {
		var level, watermark uint64
		if _, err := fmt.Sscanf(line[strings.Index(line, " "):], " egress=%d egress=%d", &level, &watermark); err != nil {
			t.Fatal(line, err)
		}
		if most = max(most, level); watermark < level {
			t.Errorf("%s: the watermark is below the level", line)
		}
		last = line
	}
	if most < 10_000 || !strings.Contains(last, " egress=0 egress=") || strings.HasSuffix(last, " egress=0") {
		t.Errorf("the level is at most %d, and the last record %s; want waiting packets, and in the end none", most, last)
	}
	s.Set("BUFFER_POOL|egress", "type", "egress", "mode", "static", "size", "30000")
	s.Set("BUFFER_PROFILE|usual", "pool", "egress", "size", "0", "static_th", "20000")
	if p := s.Problems(); len(p) > 0 {
		t.Errorf("problems %+v", p)
	}
	s.session("p|BUFFER_POOL")
	s.Advance(100 * time.Microsecond)
	if got := s.records(); len(got) < 9 || !strings.HasSuffix(got[len(got)-1], " egress=0 egress=0") {
		t.Errorf("records %q of the new pool, want some, without a watermark", got)
	}
	s.Delete("BUFFER_QUEUE|Ethernet1|0-3")
	s.Delete("BUFFER_PROFILE|usual")
	s.Delete("BUFFER_POOL|egress")
	s.records()
	s.Advance(100 * time.Microsecond)
	if got := s.records(); len(got) > 0 || len(s.Sim().Chip.StreamCounts()) > 0 {
		t.Errorf("records %q of a pool that is gone", got)
	}
	s.Set("BUFFER_POOL|egress", "type", "egress", "mode", "static", "size", "30000")
	s.session("p|BUFFER_POOL")
	s.Advance(100 * time.Microsecond)
	if got := s.records(); len(got) < 9 || len(s.Problems()) > 0 {
		t.Errorf("records %q of a pool that is there again; problems %+v", got, s.Problems())
	}
}

// A restarted syncd has a new chip, and other templates. The session has them before the first record.
func TestHighFrequencyTelemetryOutlivesRestarts(t *testing.T) {
	sim := devicetest.NewSim(t, device.SimConfig{Config: configOf(t, streamedPorts)})
	devicetest.RunUntilIdle(t, sim)
	look := func(after string) {
		t.Helper()
		devicetest.RunUntilIdle(t, sim)
		to := sim.Chip.Now() + saisim.Cycle(sim.Chip.Profile().ClockHz/10_000)
		devicetest.NoError(t, sim.Advance(t.Context(), to))
		row := devicetest.Row(t, sim.Redis, swss.StateDB, schema.StateHFTSession, "p|PORT")
		session, err := schema.ParseHFTSession("p|PORT", row)
		devicetest.NoError(t, err)
		d, err := hft.NewDecoder(0, 0, nil)
		devicetest.NoError(t, err)
		devicetest.NoError(t, d.Session(session.Templates, nil))
		records := 0
		for _, m := range sim.Chip.StreamMessages() {
			devicetest.NoError(t, d.Messages(m.Bytes, func(*hft.Record) { records++ }))
		}
		if records < 9 || !session.Enabled {
			t.Errorf("after %s: %d records, session %+v", after, records, session)
		}
	}
	look("the start")
	devicetest.NoError(t, sim.RestartSyncd(t.Context()))
	look("a restart of syncd")
	devicetest.NoError(t, sim.RestartOrchagent(t.Context()))
	look("a restart of orchagent")
}

func configOf(t *testing.T, text string) device.ConfigDB {
	c, err := device.ParseConfigDB([]byte(text))
	devicetest.NoError(t, err)
	return c
}

// What cannot be streamed is reported, and names what would be right.
func TestHighFrequencyTelemetryProblems(t *testing.T) {
	s := newStreamed(t, streamedPorts)
	for _, tt := range []struct{ row, field, value, want string }{
		{"GROUP|p|PORT", "object_counters", "IF_IN_OCTETS,NO_SUCH", "SAI has no SAI_PORT_STAT_NO_SUCH"},
		{"GROUP|p|PORT", "object_counters", "GREEN_WRED_DROPPED_PACKETS", "the ASIC cannot stream it"},
		{"GROUP|p|PORT", "object_names", "Ethernet7", `port "Ethernet7" does not exist`},
		{"PROFILE|p", "poll_interval", "9", "least interval of IF_IN_UCAST_PKTS is 10 microseconds"},
		{"GROUP|p|QUEUE", "object_names", "Ethernet0|9", "the port has 4 queues"},
	} {
		row := "HIGH_FREQUENCY_TELEMETRY_" + tt.row
		before := s.Row(swss.ConfigDB, row)
		set := func(with map[string]string) {
			var fields []string
			for field, value := range with {
				fields = append(fields, field, value)
			}
			s.Set(row, fields...)
		}
		broken := maps.Clone(before)
		if len(before) == 0 {
			broken = map[string]string{"object_counters": "PACKETS"}
		}
		broken[tt.field] = tt.value
		set(broken)
		found := ""
		for _, p := range s.Problems() {
			found += p.Object + ": " + p.Reason + "\n"
		}
		if !strings.Contains(found, tt.want) {
			t.Errorf("%s %s=%s: %q, want %q", tt.row, tt.field, tt.value, found, tt.want)
		}
		if len(before) == 0 {
			s.Delete(row)
		} else {
			set(before)
		}
		if p := s.Problems(); len(p) > 0 {
			t.Errorf("after %s %s=%s was undone: %+v", tt.row, tt.field, tt.value, p)
		}
	}
}
