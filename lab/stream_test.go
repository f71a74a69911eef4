package lab

import (
	"strings"
	"testing"
)

// streamedTopology sends 100 frames of 1230 bytes, one each microsecond, through a switch that streams each 10 us.
const streamedTopology = `
experiment: streamed
duration: 1ms
switches:
- name: s1
  profile: small
  config:
    PORT:
      Ethernet0: {lanes: "0", speed: "25000", admin_status: up}
      Ethernet1: {lanes: "1", speed: "10000", admin_status: up}
    VLAN: {Vlan10: {vlanid: "10"}}
    VLAN_MEMBER:
      Vlan10|Ethernet0: {tagging_mode: untagged}
      Vlan10|Ethernet1: {tagging_mode: untagged}
    HIGH_FREQUENCY_TELEMETRY_PROFILE: {all: {stream_state: enabled, poll_interval: "10"}}
    HIGH_FREQUENCY_TELEMETRY_GROUP:
      all|PORT: {object_names: Ethernet1, object_counters: "IF_OUT_OCTETS,IF_OUT_UCAST_PKTS"}
hosts:
- {name: h1, ips: [10.0.0.1/24]}
- {name: h2, ips: [10.0.0.2/24]}
links:
- {a: h1, b: "s1:Ethernet0", rate: 25Gbps, delay: 50ns}
- {a: "s1:Ethernet1", b: h2, rate: 10Gbps, delay: 50ns}
traffic:
- {name: load, from: h1, to: h2, rate: 10Gbps, size: 1230, start: 200us, count: 100}
`

func streamedSeries(t *testing.T, more string) (*Result, error) {
	t.Helper()
	top, err := Parse("streamed.yaml", []byte(streamedTopology+more), nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := New(t.Context(), top, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.Run(t.Context(), top.Duration); err != nil {
		return nil, err
	}
	return l.Result(t.Context())
}

// A series of a counter has what was counted since the record before, within its bounds. Its sum is what hosts sent.
func TestStreamedSeries(t *testing.T) {
	r, err := streamedSeries(t, `
measure:
- {name: octets, switch: s1, object: Ethernet1, what: IF_OUT_OCTETS}
- {name: frames, switch: s1, object: Ethernet1, what: IF_OUT_UCAST_PKTS, from: 250us, until: 400us}
`)
	if err != nil {
		t.Fatal(err)
	}
	var octets, frames int64
	all, part := r.Series["octets"], r.Series["frames"]
	for _, v := range all.Values {
		octets += v
	}
	for _, v := range part.Values {
		frames += v
	}
	if octets != 100*1230 || all.Every != 10*Microsecond {
		t.Errorf("%d bytes every %v, want 123000 every 10us", octets, all.Every)
	}
	if n := len(part.Values); n < 15 || n > 16 || part.Start < 250*Microsecond || frames < 50 || frames > 60 {
		t.Errorf("%d values from %v with %d frames, want those from 250us to 400us, with the rest of the load", n, part.Start,
			frames)
	}
}

// A series of what no switch streams is a problem of the run, and one of a stream that pauses ends it.
func TestStreamedSeriesThatIsNone(t *testing.T) {
	r, err := streamedSeries(t, "measure:\n- {name: gone, switch: s1, object: Ethernet0, what: IF_OUT_OCTETS}\n")
	if err != nil {
		t.Fatal(err)
	}
	want := "s1: measure gone: no stream of high-frequency telemetry has IF_OUT_OCTETS of Ethernet0"
	if got := strings.Join(r.problems, "\n"); !strings.Contains(got, want) {
		t.Errorf("problems %q, want %q", got, want)
	}
	_, err = streamedSeries(t, `
measure:
- {name: octets, switch: s1, object: Ethernet1, what: IF_OUT_OCTETS}
events:
- {at: 500us, do: restart, switch: s1, what: syncd}
`)
	if err == nil || !strings.Contains(err.Error(), "IF_OUT_OCTETS of Ethernet1 has a record at") {
		t.Errorf("error %v, want one that names the pause", err)
	}
}
