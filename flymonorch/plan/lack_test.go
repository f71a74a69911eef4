package plan_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tamtam/flymonorch/plan"
	"tamtam/tam/flymon"
)

// A request is a task of a test table, as text.
type request struct {
	name, filter, key, attribute string
	algorithm                    flymon.Algorithm
	memory                       uint32
	threshold                    uint64
}

func (r *request) task(t *testing.T) flymon.Task {
	return task(t, r.filter, r.key, r.attribute, r.algorithm, r.memory, r.threshold)
}

// An error names the missing resource, the needed and the available amount, the place, and the task in the way.
func TestLacks(t *testing.T) {
	one := geometry()
	one.Groups, one.Spliced = 1, 0
	five := geometry()
	five.Groups, five.Spliced, five.CMUs = 5, 0, 3
	tcam := one
	tcam.MapEntries = 40
	for _, tt := range []struct {
		what   string
		geo    flymon.Geometry
		before []request
		last   request
		want   []string
	}{
		{
			"memory", one, []request{{"a", "src-ip=1.0.0.0/8", "src-ip", "frequency", flymon.CMS, 3 * 32768, 0},
				{"b", "src-ip=2.0.0.0/8", "src-ip", "frequency", flymon.MRAC, 2048, 0}},
			request{"c", "src-ip=3.0.0.0/8", "src-ip", "frequency", flymon.CMS, 3 * 32768, 0},
			[]string{"cms needs 3 CMUs of one group; group 0: 2 of 3 CMUs will do; buckets in one piece: 32768 needed, the " +
				"others have 16384"},
		},
		{
			"filters", one, []request{{"a", "src-ip=10.0.0.0/8", "src-ip", "frequency", flymon.MRAC, 2048, 0},
				{"b", "dst-port=53", "dst-ip", "frequency", flymon.MRAC, 2048, 0}},
			request{"c", "any", "src-ip", "frequency", flymon.CMS, 3 * 2048, 0},
			[]string{"1 of 3 CMUs will do; in 2 a filter meets this one's: of task a, b"},
		},
		{
			"hash units", one, []request{
				{"a", "src-ip=1.0.0.0/8", "src-ip", "frequency", flymon.MRAC, 2048, 0},
				{"b", "src-ip=2.0.0.0/8", "src-port", "frequency", flymon.MRAC, 2048, 0},
				{"c", "src-ip=3.0.0.0/8", "protocol", "frequency", flymon.MRAC, 2048, 0},
			},
			request{"d", "src-ip=4.0.0.0/8", "dst-ip", "distinct(src-ip)", flymon.BeauCoup, 3 * 2048, 100},
			[]string{"beaucoup needs 3 CMUs of one group; group 0: hash units for dst-ip and src-ip: the group's make src-ip, " +
				"src-port, protocol"},
		},
		{
			"TCAM entries", tcam, []request{{"a", "src-ip=1.0.0.0/8", "none", "existence(src-ip)", flymon.Bloom, 3 * 2048, 0}},
			request{"b", "src-ip=2.0.0.0/8", "none", "existence(src-ip)", flymon.Bloom, 3 * 2048, 0},
			[]string{"TCAM entries for parameters: 32 needed, the others have 8, 8, 8"},
		},
		{
			"groups apart", five, []request{
				{"c", "any", "src-ip", "frequency", flymon.CMS, 3 * 65536, 0},
				{"d", "any", "dst-ip", "frequency", flymon.CMS, 3 * 65536, 0},
				{"e", "any", "protocol", "frequency", flymon.CMS, 3 * 65536, 0},
				{"a", "any", "src-ip", "frequency", flymon.CMS, 3 * 65536, 0},
			},
			request{"b", "any", "src-ip", "frequency", flymon.CounterBraids, 49152, 0},
			[]string{"counter-braids needs 2 groups at least 4 apart with 3 CMUs each; group 0: 0 of 3 CMUs will do; in 3 a " +
				"filter meets this one's: of task a"},
		},
	} {
		p := plan.New(tt.geo)
		for _, r := range tt.before {
			if _, err := p.Add(r.name, r.task(t)); err != nil {
				t.Fatalf("%s: %s: %v", tt.what, r.name, err)
			}
		}
		_, err := p.Add(tt.last.name, tt.last.task(t))
		var lack *plan.Lack
		if !errors.As(err, &lack) || lack.Task.Algorithm != tt.last.algorithm {
			t.Errorf("%s: %v, want a lack", tt.what, err)
			continue
		}
		for _, want := range tt.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", tt.what, err, want)
			}
		}
		for _, r := range tt.before { // without these the task fits
			p.Remove(r.name)
		}
		if _, err := p.Add(tt.last.name, tt.last.task(t)); err != nil {
			t.Errorf("%s: alone: %v", tt.what, err)
		}
	}
}

// A task that no chip of a geometry can measure has an error other than Lack.
func TestNever(t *testing.T) {
	small := flymon.Geometry{Groups: 3, Units: 1, CMUs: 2, Width: 8, Depth: 256, Partitions: 8, MapEntries: 4}
	for _, tt := range []struct {
		geo    flymon.Geometry
		key    string
		what   string
		by     flymon.Algorithm
		memory uint32
		reach  uint64
		rows   uint8
		want   string
	}{
		{geometry(), "src-ip", "frequency", flymon.CMS, 3*65536 + 1, 0, 0,
			"memory is 196609, want at most 196608 buckets: 3 partitions of 65536"},
		{geometry(), "src-ip", "frequency", flymon.SuMaxSum, 4, 1 << 32, 0,
			"threshold is 4294967296, want at most 4294967295"},
		{geometry(), "src-ip", "frequency", flymon.MRAC, 4, 0, 2, "rows is 2, want 1 to 1 of mrac"},
		{geometry(), "none", "frequency", flymon.CMS, 4, 0, 0, "key is none"},
		{geometry(), "src-ip", "distinct(dst-ip)", flymon.BeauCoup, 4, 1 << 40, 0,
			"threshold is 1099511627776, want at most"},
		{small, "src-ip", "frequency(bytes)", flymon.CMS, 4, 0, 0,
			"attribute is frequency(bytes), want another: buckets have 8 bits"},
		{small, "src-ip", "max(size)", flymon.SuMaxMax, 4, 0, 0, "attribute is max(size), want another"},
		{small, "src-ip", "frequency", flymon.CounterBraids, 4, 0, 0,
			"counter-braids needs 2 groups at least 4 apart with 2 CMUs each, more than a chip has that does nothing else"},
		{small, "src-ip", "distinct(dst-ip)", flymon.BeauCoup, 4, 3, 0,
			"hash units for dst-ip and src-ip: the group's make free"},
		{small, "none", "existence(dst-ip)", flymon.Bloom, 4, 0, 0,
			"TCAM entries for parameters: 8 needed, the others have 4, 4"},
		{small, "src-ip", "frequency", flymon.CMS, 4, 0, 3, "rows is 3, want 1 to 2"},
		{small, "src-ip", "max(interval)", flymon.MaxInterArr, 4, 0, 0,
			"epoch is 0, want one: buckets have 8 bits, which tell the times of 1h0m0s apart only to 17.179869184s"},
		{small, "src-ip", "max(queue-delay)", flymon.SuMaxMax, 4, 65535, 0,
			"threshold is 65535, want at least 65536: buckets of 8 bits count in steps of that"},
		{small, "src-ip", "frequency", flymon.CMS, 4, 256, 0,
			"threshold is 256, want at most 255: no bucket of cms reaches it"},
	} {
		x := task(t, "any", tt.key, tt.what, tt.by, tt.memory, tt.reach)
		x.Rows = tt.rows
		_, err := plan.New(tt.geo).Add("t", x)
		var lack *plan.Lack
		if err == nil || errors.As(err, &lack) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s by %s: %v, want %q", tt.what, tt.by, err, tt.want)
		}
	}
	unit := geometry()
	unit.Units = 1
	if _, err := plan.New(unit).Add("t", task(t, "any", "src-ip", "frequency", flymon.CounterBraids, 4, 0)); err == nil ||
		!strings.Contains(err.Error(), "groups 4-8: no hash unit has the polynomial of one") {
		t.Error(err)
	}
	broken := plan.New(flymon.Geometry{})
	if _, err := broken.Add("t", task(t, "any", "src-ip", "frequency", flymon.CMS, 4, 0)); err == nil ||
		!strings.Contains(err.Error(), "groups is 0") || broken.Group(0).Tasks != 0 {
		t.Error(err)
	}
	p := plan.New(geometry())
	nothing := task(t, "any", "src-ip", "frequency", flymon.Auto, 4, 0)
	nothing.Attribute.Kind = "weight"
	if _, err := p.Add("t", nothing); err == nil || !strings.Contains(err.Error(), `attribute "weight"`) {
		t.Error(err)
	}
	if u := p.Group(12); u.Keys != nil {
		t.Errorf("%+v", u)
	}
	if _, err := p.Change("t", flymon.Task{}); err == nil || !strings.Contains(err.Error(), `task "t" has no place`) {
		t.Error(err)
	}
	x := task(t, "any", "src-ip", "frequency", flymon.CMS, 4, 0)
	if _, err := p.Add("t", x); err != nil {
		t.Error(err)
	}
	if _, err := p.Add("t", x); err == nil || !strings.Contains(err.Error(), `task "t" has a place already`) {
		t.Error(err)
	}
	if _, err := p.Add(strings.Repeat("t", 65), x); err == nil ||
		!strings.Contains(err.Error(), "want a name of 1 to 64 bytes") {
		t.Error(err)
	}
}

// If a change does not fit beside the old place, it fails and the old place remains.
func TestChangeWithoutRoom(t *testing.T) {
	geo := geometry()
	geo.Groups, geo.Spliced = 1, 0
	p := plan.New(geo)
	was, err := p.Add("t", task(t, "any", "src-ip", "frequency", flymon.CMS, 3*65536, 0))
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Change("t", task(t, "any", "src-ip", "frequency", flymon.CMS, 3*32768, 0))
	var lack *plan.Lack
	if !errors.As(err, &lack) ||
		!strings.Contains(err.Error(), "the others have 0, 0, 0; this is beside the place that the task has now") {
		t.Error(err)
	}
	if p.Get("t") != was {
		t.Error("the old place is gone")
	}
	// With another number of banks nothing is left to read, and the old place is free.
	x := task(t, "any", "src-ip", "frequency", flymon.CMS, 3*32768, 0)
	x.Epoch = time.Second
	if moved, err := p.Change("t", x); err != nil || len(moved.Layout.Frozen) != 0 || moved.Layout.Epoch != 1e9 {
		t.Errorf("%+v, %v", moved, err)
	}
}
