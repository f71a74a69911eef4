package debugcounter

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A persistent is a bench with a counter LOST of two ports. The orch looks every minute.
type persistent struct {
	*bench
	counts map[string]uint64 // of the chip, by port
}

// newPersistent returns a bench whose counter has these fields.
func newPersistent(t *testing.T, fields ...string) *persistent {
	t.Helper()
	p := &persistent{bench: newBench(t), counts: map[string]uint64{}}
	p.Daemon.Release()
	p.global("status", "enabled")
	p.counter(fields...)
	return p
}

// global writes DEBUG_DROP_MONITOR|CONFIG; without fields it deletes the row.
func (p *persistent) global(fields ...string) {
	p.T.Helper()
	table, row := swss.NewTable(p.Redis.DB(swss.ConfigDB), schema.CfgPersistentDrops), swss.FieldValues{}
	for i := 0; i < len(fields); i += 2 {
		row[fields[i]] = fields[i+1]
	}
	if err := table.Del(p.Ctx, schema.PersistentDropsKey); err != nil {
		p.T.Fatal(err)
	}
	if len(row) > 0 {
		if err := table.Set(p.Ctx, schema.PersistentDropsKey, row); err != nil {
			p.T.Fatal(err)
		}
	}
	p.Step()
}

func (p *persistent) counter(fields ...string) {
	p.T.Helper()
	p.Set(schema.AppDebugCounter, "LOST", append([]string{"type", schema.PortIngressDrops}, fields...)...)
	p.Set(schema.AppDebugReason, "LOST:L3_ANY", "NULL", "NULL")
	p.Step()
}

// drop counts further drops at a port.
func (p *persistent) drop(port string, n uint64) {
	p.counts[port] += n
	stat := p.orch.counters["LOST"].id
	p.Fake.PokeStat(sai.Obj(sai.ObjectTypePort, p.ports.OIDs[port]), stat, p.counts[port])
}

// known returns the row of DEBUG_DROP_MONITOR_STATS of a port: the count, and the times of the incidents.
func (p *persistent) known(port string) (count string, incidents []int64) {
	p.T.Helper()
	stats, list := schema.DropStats("LOST", port)
	db := p.Redis.DB(swss.CountersDB).Client()
	for _, at := range db.LRange(p.Ctx, list, 0, -1).Val() {
		n, err := strconv.ParseInt(at, 10, 64)
		if err != nil {
			p.T.Fatal(err)
		}
		incidents = append(incidents, n)
	}
	return db.HGet(p.Ctx, stats, schema.FieldLastCount).Val(), incidents
}

// alerts returns the alerts as "second text", sorted.
func (p *persistent) alerts() (list []string) {
	p.T.Helper()
	for name, text := range p.Row(swss.CountersDB, schema.CountersDropAlerts, "") {
		counter, at, _ := strings.Cut(name, "|")
		n, err := strconv.ParseInt(at, 10, 64)
		if err != nil || counter != "LOST" {
			p.T.Fatalf("alert %q", name)
		}
		list = append(list, fmt.Sprintf("%d %s", n-1700000000, text))
	}
	slices.Sort(list)
	return list
}

// standing returns the keys of the alarms that stand.
func (p *persistent) standing() []string {
	p.T.Helper()
	rows, err := swss.NewTable(p.Redis.DB(swss.StateDB), schema.StatePersistentDrops).Dump(p.Ctx)
	if err != nil {
		p.T.Fatal(err)
	}
	return slices.Sorted(maps.Keys(rows))
}

func watched(drops, incidents, window string) []string {
	return []string{"drop_monitor_status", "enabled", "drop_count_threshold", drops, "incident_count_threshold", incidents,
		"window", window}
}

// A look is a minute in which Ethernet0 drops packets, and what is known after it.
type look struct {
	drops     uint64
	incidents []int64 // seconds since the first look
	alert     bool
}

// The rules of SONiC's plug-in: drops above the threshold are an incident, incidents older than the window count no
// longer, more incidents than the threshold are an alert, and then counting begins again. The design's own example is
// the second.
func TestPersistentDropRules(t *testing.T) {
	for _, tt := range []struct {
		name                     string
		drops, incidents, window string
		looks                    []look
	}{
		{"a threshold itself is no incident, nor is that number of incidents an alert", "10", "1", "300", []look{
			{10, nil, false}, {11, []int64{60}, false}, {10, []int64{60}, false}, {11, nil, true}, {0, nil, false},
		}},
		{"more than 100 drops at least twice in five minutes", "100", "1", "300", []look{
			{101, []int64{0}, false}, {0, []int64{0}, false}, {0, []int64{0}, false}, {500, nil, true},
		}},
		{"an incident counts as long as the window, to the second", "0", "2", "120", []look{
			{1, []int64{0}, false}, {1, []int64{0, 60}, false}, {0, []int64{0, 60}, false}, {1, []int64{60, 180}, false},
			{0, []int64{180}, false}, {0, []int64{180}, false}, {0, nil, false},
		}},
		{"a window below the time between two looks", "0", "1", "59", []look{
			{1, []int64{0}, false}, {1, []int64{60}, false}, {1, []int64{120}, false},
		}},
		{"all thresholds zero: any drop is an alert", "0", "0", "0", []look{{0, nil, false}, {1, nil, true}, {1, nil, true}}},
		{"after an alert all incidents are needed again", "0", "1", "600", []look{
			{1, []int64{0}, false}, {1, nil, true}, {1, []int64{120}, false}, {1, nil, true}, {1, []int64{240}, false},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPersistent(t, watched(tt.drops, tt.incidents, tt.window)...)
			var first int64
			var want []string
			for i, l := range tt.looks {
				p.drop("Ethernet0", l.drops)
				p.Pass(time.Minute)
				now := p.orchNow()
				if i == 0 {
					first = now
				}
				if l.alert {
					want = append(want, fmt.Sprintf("%d Persistent packet drops detected on Ethernet0", now-1700000000))
				}
				count, incidents := p.known("Ethernet0")
				for j := range incidents {
					incidents[j] -= first
				}
				if count != strconv.FormatUint(p.counts["Ethernet0"], 10) || !slices.Equal(incidents, l.incidents) {
					t.Errorf("look %d: count %s of %d, incidents %v, want %v", i, count, p.counts["Ethernet0"], incidents,
						l.incidents)
				}
				if got := p.alerts(); !slices.Equal(got, want) {
					t.Errorf("look %d: alerts %q, want %q", i, got, want)
				}
				if count, incidents := p.known("Ethernet4"); count != "0" || incidents != nil {
					t.Errorf("look %d: the other port has %s and %v", i, count, incidents)
				}
			}
		})
	}
}

// orchNow returns the second of the last look.
func (p *persistent) orchNow() int64 { return p.Daemon.Now().Unix() }

// SONiC's test of the switch for the whole feature: it is off at first, and is turned on and off. A row that is not
// valid is refused with the reason. Unlike SONiC, which then keeps what it did before until it restarts, it is off.
func TestPersistentDropsToggle(t *testing.T) {
	p := &persistent{bench: newBench(t), counts: map[string]uint64{}}
	p.Daemon.Release()
	p.counter(watched("0", "0", "60")...)
	const off = "active: persistent drops raise no alerts: "
	for _, tt := range []struct {
		fields []string
		global string // status of DEBUG_DROP_MONITOR|CONFIG
		status string // of the counter
	}{
		{nil, "", off + "status of DEBUG_DROP_MONITOR|CONFIG is not enabled"},
		{[]string{"status", "enabled"}, "active", "active"},
		{[]string{"status", "turnoff"}, `failed: status "turnoff": want enabled or disabled`, off},
		{[]string{"status", "enabled"}, "active", "active"},
		{[]string{"status", "enabled", "enable", "false"}, `failed: enable "false": `, off},
		{[]string{"status", "enabled"}, "active", "active"},
		{[]string{"status", "disabled"}, "active", off},
		{[]string{"NULL", "NULL"}, "active", off},
	} {
		p.global(tt.fields...)
		p.drop("Ethernet0", 1)
		before := len(p.alerts())
		p.Pass(time.Minute)
		p.WantStatus(schema.CfgPersistentDrops, schema.PersistentDropsKey, tt.global)
		p.WantStatus(schema.AppDebugCounter, "LOST", tt.status)
		if got := len(p.alerts()) > before; got != (tt.status == "active") {
			t.Errorf("%q: an alert %v, though the counter is %q", tt.fields, got, tt.status)
		}
	}
}

// A counter is watched only if both its own row and that of the switch enable it. While it is not, nothing is noted.
// The drops of that time count at the first look after it, as in SONiC.
func TestPersistentDropsOfOneCounter(t *testing.T) {
	p := newPersistent(t, "drop_count_threshold", "5", "window", "600")
	p.drop("Ethernet0", 6)
	p.Pass(10 * time.Minute)
	if count, incidents := p.known("Ethernet0"); count != "" || incidents != nil || p.alerts() != nil {
		t.Errorf("disabled, but %s, %v and %q are noted", count, incidents, p.alerts())
	}
	p.counter(watched("5", "1", "600")...)
	p.Pass(time.Minute)
	if count, incidents := p.known("Ethernet0"); count != "6" || len(incidents) != 1 {
		t.Errorf("enabled: %s and %v are noted, want 6 and an incident", count, incidents)
	}
	p.drop("Ethernet0", 3)
	p.counter("drop_count_threshold", "5", "window", "600")
	p.Pass(10 * time.Minute)
	if count, incidents := p.known("Ethernet0"); count != "6" || len(incidents) != 1 {
		t.Errorf("disabled again: %s and %v are noted, want what was known", count, incidents)
	}
}

// An alarm stands from an alert until a window without one has passed, or until the counter is no longer watched.
func TestPersistentDropsStand(t *testing.T) {
	p := newPersistent(t, watched("0", "0", "300")...)
	p.drop("Ethernet0", 1)
	p.Pass(time.Minute)
	p.drop("Ethernet4", 1)
	p.Pass(time.Minute)
	both := []string{"LOST|Ethernet0", "LOST|Ethernet4"}
	for minute, want := range [][]string{both, both, both, both, both, both[1:], nil} {
		if got := p.standing(); !slices.Equal(got, want) {
			t.Errorf("%d minutes after: %q stand, want %q", minute, got, want)
		}
		p.Pass(time.Minute)
	}
	for what, end := range map[string]func(){
		"switched off":    func() { p.global("status", "disabled") },
		"row removed":     func() { p.global() },
		"not watched":     func() { p.counter("window", "300") },
		"counter removed": func() { p.do("-LOST", "-LOST:L3_ANY") },
	} {
		p.global("status", "enabled")
		p.counter(watched("0", "0", "300")...)
		p.counts["Ethernet0"] += 100
		p.drop("Ethernet0", 1)
		p.Pass(time.Minute)
		if got := p.standing(); !slices.Contains(got, "LOST|Ethernet0") {
			t.Errorf("before %s: %q stand", what, got)
		}
		if end(); len(p.standing()) > 0 {
			t.Errorf("%s: %q stand", what, p.standing())
		}
	}
}

// Ports whose drops persist at the same second have one row of SONiC's table together.
func TestPersistentDropsOfSeveralPorts(t *testing.T) {
	p := newPersistent(t, watched("0", "0", "300")...)
	p.drop("Ethernet0", 1)
	p.drop("Ethernet4", 1)
	p.Pass(time.Minute)
	if got := p.alerts(); len(got) != 1 || !strings.HasSuffix(got[0], "detected on Ethernet0, Ethernet4") {
		t.Errorf("alerts %q", got)
	}
}

// COUNTERS_DB keeps the last alerts only.
func TestPersistentDropsBounded(t *testing.T) {
	p := newPersistent(t, watched("0", "0", "300")...)
	row := swss.FieldValues{}
	for i := range maxAlerts {
		row[fmt.Sprintf("LOST|%d", 1600000000+i)] = "old"
	}
	if err := swss.NewTable(p.Redis.DB(swss.CountersDB), schema.CountersDropAlerts).Set(p.Ctx, "", row); err != nil {
		t.Fatal(err)
	}
	p.drop("Ethernet0", 1)
	p.Pass(time.Minute)
	got := p.Row(swss.CountersDB, schema.CountersDropAlerts, "")
	if len(got) != maxAlerts || got["LOST|1600000000"] != "" || got["LOST|1600000001"] == "" {
		t.Errorf("%d alerts, the oldest is %q", len(got), got["LOST|1600000000"])
	}
}

// Nothing is left of a removed counter or port. A counter that is made again begins with 0.
func TestPersistentDropsForgotten(t *testing.T) {
	p := newPersistent(t, watched("5", "1", "600")...)
	p.drop("Ethernet0", 6)
	p.drop("Ethernet4", 6)
	p.Pass(time.Minute)
	p.ports.Line(p.Bench, "port- Ethernet4")
	p.Step()
	if count, incidents := p.known("Ethernet4"); count != "" || incidents != nil {
		t.Errorf("of a removed port %s and %v are known", count, incidents)
	}
	p.do("-LOST", "-LOST:L3_ANY")
	if count, incidents := p.known("Ethernet0"); count != "" || incidents != nil {
		t.Errorf("of a removed counter %s and %v are known", count, incidents)
	}
}

// A restart between two looks changes nothing: neither incidents nor alarms, and no drop is counted twice or missed.
func TestPersistentDropsRestart(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		p := newPersistent(t, watched("3", "2", "600")...)
		var times []int64
		for i := range 12 {
			p.drop("Ethernet0", uint64(2+i%3))
			p.Pass(time.Minute)
			if restarts {
				standing, alerts := p.standing(), p.alerts()
				p.again()
				if got := p.standing(); !slices.Equal(got, standing) || !slices.Equal(p.alerts(), alerts) {
					t.Errorf("look %d: after the restart %q stand, before %q", i, got, standing)
				}
			}
			_, incidents := p.known("Ethernet0")
			times = append(times, int64(len(incidents)))
		}
		if want := []int64{0, 0, 1, 1, 1, 2, 2, 2, 0, 0, 0, 1}; !slices.Equal(times, want) || len(p.alerts()) != 1 {
			t.Errorf("with restarts %v: incidents %v, want %v; alerts %q", restarts, times, want, p.alerts())
		}
	}
}

// again starts another orch on the same databases and ASIC.
func (p *persistent) again() {
	p.T.Helper()
	fake := p.Fake
	p.Layer = func(sai.API) sai.API { return fake }
	p.Start()
	p.Fake = fake
	p.Poller.Lax = true
	old := p.orch
	var err error
	p.orch, err = New(p.Ctx, Config{SAI: p.Rec, Daemon: p.Daemon, Redis: p.Redis, Ports: p.ports, Switch: p.sw,
		Poller: p.Poller})
	if err != nil {
		p.T.Fatal(err)
	}
	p.Step()                       // reads the rows
	p.orch.counters = old.counters // sairedis would find them again
	if err := p.orch.ViewApplied(p.Ctx); err != nil {
		p.T.Fatal(err)
	}
	p.Step()
	p.Daemon.Release()
	p.Step()
}

// While the ASIC does not answer, what stands remains, and nothing is judged.
func TestPersistentDropsUnread(t *testing.T) {
	p := newPersistent(t, watched("0", "0", "60")...)
	p.drop("Ethernet0", 1)
	p.Pass(time.Minute)
	if got := p.standing(); !slices.Equal(got, []string{"LOST|Ethernet0"}) {
		t.Fatalf("%q stand", got)
	}
	port := p.ports.OIDs["Ethernet0"]
	p.ports.OIDs["Ethernet0"] = 0xdead // the fake ASIC has no such port
	p.Pass(10 * time.Minute)
	if got := p.standing(); !slices.Equal(got, []string{"LOST|Ethernet0"}) {
		t.Errorf("while the ASIC does not answer %q stand", got)
	}
	p.ports.OIDs["Ethernet0"] = port
	if p.Pass(time.Minute); len(p.standing()) > 0 {
		t.Errorf("%q stand", p.standing())
	}
}
