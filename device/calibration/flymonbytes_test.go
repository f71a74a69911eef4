package calibration

import (
	"testing"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/saisim"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/flymon"
)

// Bytes and sizes include the FCS, but queues hold frames without it. A task without a key reports the maximum over all
// packets.
func TestFlyMonBytesAndMaximum(t *testing.T) {
	s := newSketched(t, func(c *device.SimConfig) {
		c.Config["PORT"]["Ethernet2"] = swss.FieldValues{"lanes": "2", "speed": "10000", "admin_status": "up"}
		c.Config["VLAN_MEMBER"]["Vlan10|Ethernet2"] = swss.FieldValues{"tagging_mode": "untagged"}
	})
	frame := sketchFrame(t, 1, 1000, 80) // 96 bytes, and 4 of FCS
	s.task("bytes", "attribute", "frequency(bytes)")
	s.task("size", "attribute", "max(size)", "key", "none")
	s.task("queue", "attribute", "max(queue-length)", "key", "none", "translation", "shift")
	s.task("delay", "attribute", "max(queue-delay)", "key", "none")
	for _, name := range []string{"bytes", "size", "queue", "delay"} {
		s.wantStatus(schema.StateTAMFlyMonTask, name, "active")
	}
	for i := range 20 { // two ports into one: half of the frames wait
		devicetest.NoError(t, s.Chip.Receive(saisim.PortID(i%2*2), s.at(1001, 0.5), saisim.Frame{Data: frame}))
	}
	if err := s.Chip.Receive(0, s.at(1001, 0.9), saisim.Frame{Data: append(sketchFrame(t, 2, 1000, 80),
		make([]byte, 200)...)}); err != nil {
		t.Fatal(err)
	}
	s.advance(1002, 0.2)
	want := func(task, metric string, value float64) {
		t.Helper()
		e := s.result(task).Metrics[metric]
		if e.Exact == nil || *e.Exact != value || e.Lower > value || e.Upper < value || e.Confidence != 1 || e.Saturated {
			t.Errorf("%s: %s is %+v, want %v", task, metric, e, value)
		}
	}
	if n := s.result("bytes").Metrics[flymon.MetricBytes].Value; n != 20*100+300 {
		t.Errorf("%v bytes", n)
	}
	want("size", flymon.MetricMaximum, 300)
	queue, delay := s.result("queue").Metrics[flymon.MetricMaximum], s.result("delay").Metrics[flymon.MetricMaximum]
	if queue.Exact == nil || *queue.Exact < 5*96 || int(*queue.Exact)%96 != 0 || queue.Lower > *queue.Exact ||
		queue.Upper < *queue.Exact {
		t.Errorf("the longest queue is %+v, want a multiple of 96 bytes", queue)
	}
	if delay.Exact == nil || *delay.Exact < 500 || delay.Lower > *delay.Exact || delay.Upper < *delay.Exact {
		t.Errorf("the longest delay is %+v", delay)
	}
	if place := s.row(swss.CountersDB, schema.CountersFlyMonPlace, "queue"); place["BUCKETS"] != "32" ||
		place["ROWS"] != "1" || place["TCAM_ENTRIES"] != "1" {
		t.Errorf("placement %v", place)
	}
}
