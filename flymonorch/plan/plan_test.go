package plan_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tamtam/flymonorch/plan"
	"tamtam/tam/flymon"
)

func geometry() flymon.Geometry {
	return flymon.Geometry{Groups: 9, Spliced: 3, Units: 3, CMUs: 3, Width: 32, Depth: 65536, Partitions: 32,
		MapEntries: 256, Digests: 16}
}

// task returns a task with these values; filter, key and attribute are parsed.
func task(t testing.TB, filter, key, attribute string, algorithm flymon.Algorithm, memory uint32,
	threshold uint64) flymon.Task {
	t.Helper()
	f, err1 := flymon.ParseFilter(filter)
	k, err2 := flymon.ParseKey(key)
	a, err3 := flymon.ParseAttribute(attribute)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	return flymon.Task{Filter: f, Key: k, Attribute: a, Algorithm: algorithm, Memory: memory, Accurate: true,
		Threshold: threshold}
}

// The number of groups of each algorithm matches table 3.
func TestGroupsOfAlgorithms(t *testing.T) {
	geo := geometry()
	for _, tt := range []struct {
		key, attribute string
		algorithm      flymon.Algorithm
		groups, units  int
	}{
		{"5-tuple", "frequency", flymon.CMS, 1, 3},
		{"dst-ip", "distinct(src-ip)", flymon.BeauCoup, 1, 3},
		{"none", "existence(src-ip)", flymon.Bloom, 1, 3},
		{"5-tuple", "max(queue-length)", flymon.SuMaxMax, 1, 3},
		{"none", "distinct(5-tuple)", flymon.HyperLogLog, 1, 1},
		{"5-tuple", "frequency", flymon.SuMaxSum, 3, 3},
		{"5-tuple", "frequency", flymon.MRAC, 1, 1},
		{"5-tuple", "frequency", flymon.Tower, 1, 3},
		{"5-tuple", "frequency", flymon.CounterBraids, 2, 6},
		{"5-tuple", "max(interval)", flymon.MaxInterArr, 3, 9},
		{"none", "distinct(5-tuple)", flymon.LinearCounting, 1, 1},
		{"none", "distinct(5-tuple)", flymon.BeauCoup, 1, 3},
		{"none", "similarity(5-tuple)", flymon.OddSketch, 2, 2},
	} {
		for _, epoch := range []time.Duration{0, time.Second} {
			task := task(t, "any", tt.key, tt.attribute, tt.algorithm, 24576, 512)
			task.Epoch = epoch
			p, err := plan.New(geo).Add("t", task)
			if err != nil {
				t.Errorf("%s: %v", tt.algorithm, err)
				continue
			}
			groups := map[int]bool{}
			for _, u := range p.Layout.Units {
				groups[u.Group] = true
			}
			if len(groups) != tt.groups || len(p.Layout.Units) != tt.units {
				t.Errorf("%s: %d groups, %d units, want %d, %d", tt.algorithm, len(groups), len(p.Layout.Units), tt.groups,
					tt.units)
			}
			if err := p.Layout.Check(&geo); err != nil {
				t.Errorf("%s: %v", tt.algorithm, err)
			}
		}
	}
}

// The example of figure 10 can be placed: three tasks in one group, a fourth whose key is the XOR of two, and one with
// memory in another group.
func TestFigure10(t *testing.T) {
	p := plan.New(geometry())
	add := func(name, filter, key, attribute string, rows uint8, memory uint32) *plan.Placed {
		t.Helper()
		x := task(t, filter, key, attribute, flymon.Auto, memory, 100)
		x.Rows = rows
		placed, err := p.Add(name, x)
		if err != nil {
			t.Fatal(err)
		}
		return placed
	}
	add("size", "src-ip=10.0.0.0/8", "src-ip", "frequency", 3, 3*16384)
	add("ddos", "dst-ip=192.168.0.0/24,src-ip=11.0.0.0/8", "dst-ip", "distinct(src-ip)", 3, 3*16384)
	pair := add("queue", "src-ip=172.10.0.0/16", "ip-pair", "max(queue-length)", 1, 32768)
	if u := pair.Layout.Units[0]; u.Group != 3 || u.Key.B == 0 || len(pair.Layout.Masks) != 2 {
		t.Errorf("IP pair is %+v in group %d, want the XOR of both in group 3", u.Key, u.Group)
	}
	if keys := p.Group(3); keys.Used[2] {
		t.Errorf("the third hash unit makes %s", keys.Keys[2])
	}
	ports := add("ports", "src-ip=12.0.0.0/8", "src-ip,src-port", "frequency", 1, 2048)
	if u := ports.Layout.Units[0]; u.Group != 3 || u.Key.A != 2 {
		t.Errorf("src-ip,src-port is made by %+v in group %d", u.Key, u.Group)
	}
	if more := add("more", "src-ip=13.0.0.0/8", "src-ip", "frequency", 3, 3*16384); more.Layout.Units[0].Group != 5 {
		t.Errorf("3 * 16384 more buckets are in group %d", more.Layout.Units[0].Group)
	}
	x := task(t, "src-ip=10.9.0.0/16", "src-ip", "frequency", flymon.Auto, 6144, 0)
	if placed, err := p.Add("meets", x); err != nil || placed.Layout.Units[0].Group == 3 {
		t.Errorf("a filter that meets another's is in group 3: %v", err)
	}
}

// A group holds 32 tasks in each of its three CMUs, and no further one.
func TestNinetySixTasks(t *testing.T) {
	geo := geometry()
	geo.Groups, geo.Spliced = 1, 0
	p := plan.New(geo)
	for i := range 96 {
		x := task(t, "dst-port="+string(rune('0'+i/10))+string(rune('0'+i%10)), "src-ip", "frequency", flymon.MRAC, 2048, 0)
		if _, err := p.Add(x.Filter.String(), x); err != nil {
			t.Fatalf("task %d: %v", i, err)
		}
	}
	_, err := p.Add("more", task(t, "dst-port=1000", "src-ip", "frequency", flymon.MRAC, 2048, 0))
	var lack *plan.Lack
	if !errors.As(err, &lack) || !strings.Contains(err.Error(), "there are 96 tasks") {
		t.Errorf("%v", err)
	}
	if u := p.Group(0); u.Tasks != 96 || u.Free[0]+u.Free[1]+u.Free[2] != 0 {
		t.Errorf("%+v", u)
	}
	for i := range 96 {
		p.Remove("dst-port=" + string(rune('0'+i/10)) + string(rune('0'+i%10)))
		p.Remove(task(t, "dst-port="+string(rune('0'+i/10))+string(rune('0'+i%10)), "src-ip", "frequency", flymon.MRAC, 2048,
			0).Filter.String())
	}
	if u := p.Group(0); u.Tasks != 0 || u.Largest[2] != 65536 || u.Used[0] {
		t.Errorf("%+v", u)
	}
}

// A resized task occupies its new place beside the old one until the old place is thawed.
func TestFreezeAndDivert(t *testing.T) {
	p := plan.New(geometry())
	old, err := p.Add("t", task(t, "any", "src-ip", "frequency", flymon.CMS, 3*2048, 0))
	if err != nil {
		t.Fatal(err)
	}
	moved, err := p.Change("t", task(t, "any", "src-ip", "frequency", flymon.CMS, 3*8192, 0))
	if err != nil {
		t.Fatal(err)
	}
	geo := geometry()
	if err := moved.Layout.Check(&geo); err != nil || len(moved.Layout.Frozen) != 3 ||
		moved.Layout.Frozen[0].Base != old.Layout.Units[0].Base {
		t.Errorf("%+v, %v", moved.Layout.Frozen, err)
	}
	if u := p.Group(moved.Layout.Units[0].Group); u.Free[0] != 65536-8192-2048 {
		t.Errorf("%+v", u)
	}
	if thawed, ok := p.Thaw("t"); !ok || len(thawed.Layout.Frozen) != 0 || p.Group(3).Free[0] != 65536-8192 {
		t.Errorf("%+v", p.Group(3))
	}
	narrow, err := p.Change("t", task(t, "dst-port=53", "src-ip", "frequency", flymon.CMS, 3*8192, 0))
	if err != nil || len(narrow.Layout.Frozen) != 0 || narrow.Layout.Units[0].Base != moved.Layout.Units[0].Base ||
		narrow.Layout.Filter.String() != "dst-port=53" {
		t.Errorf("another filter: %+v, %v", narrow, err)
	}
	if _, err := p.Change("t", task(t, "any", "src-ip", "frequency", flymon.CMS, 3*65536*2, 0)); err == nil ||
		p.Get("t") != narrow {
		t.Errorf("too much: %v", err)
	}
}

// Tasks with overlapping filters share CMUs by coins.
func TestShares(t *testing.T) {
	geo := geometry()
	geo.Groups, geo.Spliced = 1, 0
	p := plan.New(geo)
	coins := map[uint16]bool{}
	for i := range 5 {
		x := task(t, "any", "src-ip", "frequency", flymon.CMS, 3*2048, 0)
		x.Share = 2
		placed, err := p.Add(string(rune('a'+i)), x)
		if (err == nil) != (i < 4) {
			t.Fatalf("task %d: %v", i, err)
		}
		if err == nil {
			u := placed.Layout.Units[0]
			if u.To-u.From != 64 || coins[u.From] {
				t.Errorf("task %d: coins %d to %d", i, u.From, u.To)
			}
			coins[u.From] = true
		}
	}
	// A task gets a CMU that it can share rather than an unused one.
	p = plan.New(geometry())
	for i, key := range []string{"src-ip", "dst-ip", "protocol", "src-port"} {
		x := task(t, "any", key, "frequency", flymon.CMS, 3*2048, 0)
		x.Share = 2
		placed, err := p.Add(key, x)
		if want := [4]int{3, 3, 3, 5}[i]; err != nil || placed.Layout.Units[0].Group != want { // 3 hash units per group
			t.Errorf("%s: %+v, %v, want group %d", key, placed, err, want)
		}
	}
}
