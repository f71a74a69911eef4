package device_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/ygot/ygot"

	"tamtam/device/devicetest"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Trimming is configured and read by gNMI. The state is what is in force, and a bad value is refused before anything
// is written.
func TestTrimmingByGNMI(t *testing.T) {
	s := newTrim(t)
	server, _, _ := devicetest.StartNorthbound(t, s.Sim)
	at := func(path string) *gpb.Path {
		p, err := ygot.StringToStructuredPath(path)
		devicetest.NoError(t, err)
		return p
	}
	get := func(path string) string {
		t.Helper()
		got, err := server.Get(t.Context(), &gpb.GetRequest{Path: []*gpb.Path{at(path)}, Encoding: gpb.Encoding_JSON_IETF})
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		var v any
		devicetest.NoError(t, json.Unmarshal(got.Notification[0].Update[0].Val.GetJsonIetfVal(), &v))
		return fmt.Sprint(v)
	}
	set := func(leaf, value string) error {
		_, err := server.Set(t.Context(), &gpb.SetRequest{Update: []*gpb.Update{{Path: at("/switch-trimming/config/" + leaf),
			Val: &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: []byte(value)}}}}})
		devicetest.RunUntilIdle(t, s.Sim)
		return err
	}
	s.fill(3)
	devicetest.NoError(t, set("size", "300"))
	devicetest.NoError(t, set("dscp-value", `"10"`))
	s.trimmed("by gNMI", 10, trimFrame{size: 1500, dscp: 8, to: 3}, 300, 10)
	for leaf, bad := range map[string]string{"size": `-1`, "dscp-value": `"64"`, "tc-value": `256`, "queue-index": `"x"`} {
		if err := set(leaf, bad); err == nil || !strings.Contains(err.Error(), leaf) {
			t.Errorf("%s %s: %v", leaf, bad, err)
		}
	}
	want := swss.FieldValues{"size": "300", "dscp_value": "10", "queue_index": "6"}
	row := devicetest.Row(t, s.Redis, swss.ConfigDB, schema.CfgTrimming, "GLOBAL")
	if fmt.Sprint(row) != fmt.Sprint(want) {
		t.Errorf("CONFIG_DB has %v, want %v", row, want)
	}
	queue := s.counters(schema.CountersQueueNameMap, "Ethernet3:1")
	port := s.counters(schema.CountersPortNameMap, "Ethernet3")
	whole := s.counters(schema.CountersSwitchNameMap, schema.SwitchName)
	const output = "/qos/interfaces/interface[interface-id=Ethernet3]/output/queues/queue[name=1]/state/"
	const counters = "/interfaces/interface[name=Ethernet3]/state/counters/"
	for path, want := range map[string]any{
		"/switch-trimming/state/size": 300, "/switch-trimming/state/dscp-value": 10,
		"/switch-trimming/state/queue-index": 6, "/switch-trimming/state/status": "active",
		"/switch-trimming/capabilities/state/capable":             true,
		"/switch-trimming/capabilities/state/dscp-mode":           "[DSCP_VALUE FROM_TC]",
		"/switch-trimming/capabilities/state/traffic-classes":     16,
		"/switch-trimming/state/counters/out-trim-pkts":           whole("SAI_SWITCH_STAT_TX_TRIM_PACKETS"),
		"/switch-trimming/state/counters/dropped-trim-pkts":       whole("SAI_SWITCH_STAT_DROPPED_TRIM_PACKETS"),
		output + "trim-pkts":                                      queue("SAI_QUEUE_STAT_TRIM_PACKETS"),
		output + "out-trim-pkts":                                  queue("SAI_QUEUE_STAT_TX_TRIM_PACKETS"),
		counters + "trim-pkts":                                    port("SAI_PORT_STAT_TRIM_PACKETS"),
		counters + "dropped-trim-pkts":                            port("SAI_PORT_STAT_DROPPED_TRIM_PACKETS"),
		"/queues/queue[name=Ethernet3:1]/state/trimmed-packets":   queue("SAI_QUEUE_STAT_TRIM_PACKETS"),
		"/queues/queue[name=Ethernet3:1]/state/trim-sent-packets": queue("SAI_QUEUE_STAT_TX_TRIM_PACKETS"),
	} {
		if got := get(path); got != fmt.Sprint(want) {
			t.Errorf("%s is %s, want %v", path, got, want)
		}
	}
}
