package switchpage

import (
	"fmt"
	"testing"
	"time"

	"tamtam/collector/result"
	"tamtam/mgmt/web"
)

// The history has the readings of the last hour, without those of unknown age. Readings of another syncd are of another
// run, since its counters start again.
func TestHistory(t *testing.T) {
	var h history
	began := time.Unix(1_000_000, 0)
	got := ""
	for i, by := range []string{"a", "a", "", "a", "b", "b"} {
		at := began.Add(time.Duration(i) * 20 * time.Minute)
		h.add(sample{at: at, old: time.Second, by: by}, []web.Port{{Name: "Ethernet0", Mbps: 10,
			Counters: map[string]uint64{"in": uint64(i), "in bytes": 7, "out": 1}}})
		got += "|"
		for _, r := range h.ports[0].Readings {
			got += fmt.Sprint(" ", (r.Time-began.UnixNano())/60e9, "min run ", r.Run)
		}
	}
	const want = "| 0min run 1| 0min run 1 20min run 1| 0min run 1 20min run 1" +
		"| 0min run 1 20min run 1 60min run 1| 20min run 1 60min run 1 80min run 2| 60min run 1 80min run 2 100min run 2"
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
	last := h.ports[0].Readings[2]
	if last.In != (result.Traffics{Known: true, Packets: 5, Bytes: 7}) || last.Out.Known || last.Age != 1e9 ||
		last.Queued != -1 {
		t.Errorf("%+v", last)
	}
	answer := func(minutes int64) []result.Sketch {
		return []result.Sketch{{Time: began.UnixNano() + minutes*60e9, Task: "t", Key: "cardinality"}}
	}
	for _, minutes := range []int64{0, 0, 30, 61} {
		h.addSketches(answer(minutes), began.Add(time.Duration(minutes)*time.Minute))
	}
	if len(h.sketches) != 2 || h.sketches[0].Time != answer(30)[0].Time {
		t.Errorf("%+v: want the answers of the last hour, each once", h.sketches)
	}
}
