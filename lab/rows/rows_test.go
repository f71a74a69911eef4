package rows

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tamtam/collector"
	"tamtam/collector/journey"
	"tamtam/collector/result"
	"tamtam/lab"
	"tamtam/lab/experiments"
	"tamtam/mgmt/web"
	"tamtam/tam/record"
)

// ran runs an experiment. It returns the experiment, its output folder, its result, and the Run shown on the page.
func ran(t *testing.T, experiment string) (top *lab.Topology, dir string, r *lab.Result, shown *Run) {
	t.Helper()
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	top, err := experiments.Open(experiment, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	l, err := lab.New(t.Context(), top, lab.Options{Out: dir, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := l.Run(t.Context(), top.RunTime()); err != nil {
		t.Fatal(err)
	}
	if r, err = l.Result(t.Context()); err != nil {
		t.Fatal(err)
	}
	if shown, err = Read(t.Context(), l, r, dir); err != nil {
		t.Fatal(err)
	}
	return top, dir, r, shown
}

// The paths that the collector derives from a lab's records are those that `tamtam path` derives from them. They agree
// hop by hop, with ports, times, tables, and how they ended.
func TestJourneys(t *testing.T) {
	top, dir, r, shown := ran(t, "record-ecmp")
	var got []string
	dropped, rows := 0, int64(0)
	err := shown.Rows.Each(t.Context(), 0, math.MaxInt64, func(b *result.Batch) bool {
		for _, j := range b.Journeys {
			if got = append(got, textOf(&j)); j.Flags&^result.Missing != 0 {
				t.Errorf("%+v: want no flag but that a record is missing", j)
			}
		}
		for _, d := range b.Drops {
			if d.Source == "record" {
				rows += d.Packets
			}
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	var plans []*record.Plan
	for _, text := range r.Plans {
		var p record.Plan
		if err := json.Unmarshal(text, &p); err != nil {
			t.Fatal(err)
		}
		plans = append(plans, &p)
	}
	network, err := top.Network()
	if err != nil {
		t.Fatal(err)
	}
	switches, wiring, err := network.Wiring()
	if err != nil {
		t.Fatal(err)
	}
	j, err := collector.NewJourneys(plans, switches, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Read(t.Context(), filepath.Join(dir, "collector.received.pcap")); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, trip := range j.Join(wiring, journey.Options{}) {
		text := fmt.Sprint(trip.Flow, " from ", trip.From)
		for _, v := range trip.Visits {
			for _, e := range v.Exits {
				if text += fmt.Sprint("; ", v.Switch, " ", v.In, " ", e.Out, " ", int64(v.Arrived), " ",
					strings.ReplaceAll(e.Path, " > ", ", ")); e.End != "" {
					text += "; " + e.End
				}
				if strings.HasPrefix(e.End, "dropped") {
					dropped++
				}
			}
		}
		want = append(want, text)
	}
	slices.Sort(got)
	slices.Sort(want)
	if len(want) != 349 || !slices.Equal(got, want) || dropped == 0 || rows != int64(dropped) {
		t.Errorf("%d ways, %d drops; want 349, %d\n%.3s\nwant\n%.3s", len(got), rows, dropped, got, want)
	}
}

func textOf(j *result.Journey) string {
	text := fmt.Sprint(j.Flow, " from ", j.From)
	for _, h := range j.Hops {
		text += fmt.Sprint("; ", h.Switch, " ", h.In, " ", h.Out, " ", h.Arrival, " ", h.Tables)
	}
	return text + "; " + j.End
}

// If a switch's chip restarted during the run, the bytes that its ports sent before are unknown. Then there is no load,
// and the page reports that.
func TestChipAnew(t *testing.T) {
	_, _, _, shown := ran(t, "link-failure")
	for _, k := range shown.network.Links {
		for _, x := range []struct {
			from, to string
			web.Traffic
		}{{k.A.Node, k.B.Node, k.AB}, {k.B.Node, k.A.Node, k.BA}} {
			if want := x.from == "s1" || x.to == "s1" && x.Lost == 0; x.Counted != want {
				t.Errorf("%s, from %s: %+v: want that its load is known: %v", k.Name, x.from, x.Traffic, want)
			}
		}
	}
	const want = "the chip of s2 started again at 4.0006ms: its counters cover only the time after that"
	if reported := shown.Troubles(); len(reported) != 1 || !strings.Contains(reported[0], want) {
		t.Errorf("%q: want %s", reported, want)
	}
}
