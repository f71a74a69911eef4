package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"tamtam/device/devicetest"
	"tamtam/internal/randtest"
	"tamtam/saisim"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
	"tamtam/tam/altmark"
)

// A daemon's process writes its vitals beside its record, several times per second. They contain its resources, and for
// syncd the fates of the frames that it sent through its chips.
type vitals struct {
	Goroutines int
	Heap       uint64 // size of the heap in bytes
	Fates      []traffic
}

// A traffic counts the fates of the frames through one chip: those of the sessions "kept" and "marked".
type traffic struct {
	Kept    uint64 // frames that left
	Stamped uint64
	Bare    uint64 // number of frames that left without a stamp after the first stamped frame
	BareAt  string // times at which the first and the last of these frames left
	Marked  map[uint64]uint64
}

const vitalsPeriod = 100 * time.Millisecond

// quietFile is a file that stops the traffic while it exists.
const quietFile = "quiet"

// A generator sends frames through every chip of a process: one per millisecond of each session.
type generator struct {
	dir string

	mu    sync.Mutex
	fates []traffic
}

// writeVitals writes vitals until the process ends, each time atomically.
func (g *generator) writeVitals(name string) {
	for range time.Tick(vitalsPeriod) {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		g.mu.Lock()
		text, err := json.Marshal(vitals{runtime.NumGoroutine(), m.HeapAlloc, g.fates})
		g.mu.Unlock()
		path := filepath.Join(g.dir, name+".vitals")
		if err == nil {
			err = os.WriteFile(path+".new", text, 0o600)
		}
		if err == nil {
			err = os.Rename(path+".new", path)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
}

// Settings of the sessions that are never touched.
const (
	keptInterval = altmark.Interval(-2) // a quarter of a second
	keptID       = 1                    // id of the frames of the session "kept"
	markedID     = 2
)

func keptRows() map[string]swss.FieldValues {
	port := func(n string) swss.FieldValues {
		return swss.FieldValues{"lanes": n, "speed": "10000", "admin_status": "up"}
	}
	untagged := swss.FieldValues{"tagging_mode": "untagged"}
	rule := func(net string) swss.FieldValues { return swss.FieldValues{"SRC_IP": net, "PRIORITY": "900"} }
	return map[string]swss.FieldValues{
		"PORT|Ethernet4": port("4"), "PORT|Ethernet5": port("5"), "VLAN|Vlan30": {"vlanid": "30"},
		"VLAN_MEMBER|Vlan30|Ethernet4": untagged, "VLAN_MEMBER|Vlan30|Ethernet5": untagged,
		"TAM_FEATURES_TABLE|TAILSTAMPING": {"status": "ACTIVE"}, "TAM_FEATURES_TABLE|ALTMARK": {"status": "ACTIVE"},
		"TAM_FLOWGROUP_TABLE|kept": {"id": "91"}, "ACL_RULE|TAM|kept": rule("172.16.0.0/16"),
		"TAM_TAILSTAMPING_TABLE|kept": {"flowgroup": "kept"},
		"TAM_FLOWGROUP_TABLE|marked":  {"id": "92"}, "ACL_RULE|TAM|marked": rule("172.17.0.0/16"),
		"TAM_ALTMARK_TABLE|marked": {
			"flowgroup": "marked", "role": "initiator", "method": "step", "interval": "-2", "mark": "ipv4-reserved",
		},
	}
}

// trafficFrame returns a frame from A.B.0.1.
func trafficFrame(a, b byte) []byte {
	ip := &layers.IPv4{
		Version: 4, IHL: 5, TTL: 9, Protocol: layers.IPProtocolUDP, SrcIP: net.IP{a, b, 0, 1}, DstIP: net.IP{a, b, 1, 1},
	}
	udp := &layers.UDP{SrcPort: 1000, DstPort: 2000}
	_ = udp.SetNetworkLayerForChecksum(ip)
	eth := &layers.Ethernet{SrcMAC: devicetest.HostMAC(1), DstMAC: devicetest.HostMAC(0x33),
		EthernetType: layers.EthernetTypeIPv4}
	buf := gopacket.NewSerializeBuffer()
	opts := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	if err := gopacket.SerializeLayers(buf, opts, eth, ip, udp, gopacket.Payload(make([]byte, 40))); err != nil {
		panic(err) // all inputs are constants
	}
	return buf.Bytes()
}

// drive drives a chip instead of live interfaces.
func (g *generator) drive(ctx context.Context, chip *saisim.Chip, start time.Time) error {
	kept, marked := trafficFrame(172, 16), trafficFrame(172, 17)
	g.mu.Lock()
	g.fates = append(g.fates, traffic{Marked: map[uint64]uint64{}})
	last := len(g.fates) - 1
	g.mu.Unlock()
	var to atomic.Uint32
	chip.SetOutput(func(o *saisim.Out) {
		if o.ID != keptID || uint32(o.Port) != to.Load() {
			return
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		t := &g.fates[last]
		t.Kept++
		switch now := time.Now().UTC().Format("15:04:05.000"); {
		case o.Stamped:
			t.Stamped++
		case t.Stamped > 0:
			if t.Bare == 0 {
				t.BareAt = now
			}
			t.Bare++
			t.BareAt = t.BareAt[:12] + " to " + now
		}
	})
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now := chip.CycleAt(time.Since(start))
		chip.Advance(now)
		in, ok := chip.PortByName("Ethernet4")
		if out, ok := chip.PortByName("Ethernet5"); ok {
			to.Store(uint32(out))
		}
		if _, err := os.Stat(filepath.Join(g.dir, quietFile)); err == nil || !ok {
			continue
		}
		for _, id := range chip.Ports() {
			chip.SetLink(id, true)
		}
		_ = chip.Receive(in, now, saisim.Frame{Data: kept, ID: keptID}) // a down port accepts none
		at := altmark.At(chip.TimeOfDay(now))
		k := keptInterval.Period(at)
		if edge := altmark.At(chip.TimeOfDay(now).Add(time.Millisecond)); keptInterval.Period(edge) != k {
			continue // too close to the end of a period to be certain of the frame's period
		}
		if chip.Receive(in, now+200, saisim.Frame{Data: marked, ID: markedID}) == nil {
			g.mu.Lock()
			g.fates[last].Marked[k]++
			g.mu.Unlock()
		}
	}
}

// A trafficChaos is a chaos with sessions that are never touched, and traffic through them, from syncd's process or
// from hosts.
type trafficChaos struct {
	*chaos
	hosts trafficHosts // nil means syncd
}

// A trafficHosts counts the fates of the frames that its hosts sent.
type trafficHosts interface {
	now() traffic
	// account reports frames that are missing.
	account(c trafficChaos)
}

// fates returns the fates of the frames, per chip.
func (c trafficChaos) fates() []traffic {
	c.Helper()
	if c.hosts != nil {
		return []traffic{c.hosts.now()}
	}
	return c.vitals("syncd").Fates
}

// vitals reads the last vitals of a process.
func (c *chaos) vitals(name string) (v vitals) {
	c.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, name+".vitals"))
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		c.Fatal(err)
	}
	return v
}

// gentle applies one random fault that must not affect a session: the chip and the configuration stay.
func (c trafficChaos) gentle() string {
	ctx, cancel := context.WithTimeout(c.Context(), time.Second)
	defer cancel()
	name := c.Pick("orchagent", "orchagent", "tammgrd")
	redis := c.redis.DB(swss.ConfigDB).Client()
	switch c.IntN(12) {
	case 0, 1:
		c.kill(name)
		return "kill " + name
	case 2, 3, 4:
		if c.procs[name] == nil {
			c.launch(name)
		}
		return "start " + name
	case 5:
		name = c.Pick(killable...)
		c.signal(name, syscall.SIGSTOP)
		c.frozen[name] = true
		return "stop " + name
	case 6:
		c.goOn()
		return "go on"
	case 7:
		room := c.IntN(2)
		redis.ConfigSet(ctx, "maxmemory", strconv.Itoa(1-room))
		return []string{"Redis is full", "Redis has room"}[room]
	case 8:
		redis.ClientKillByFilter(ctx, "TYPE", "normal", "SKIPME", "yes")
		return "cut all connections"
	case 9:
		redis.ClientPause(ctx, time.Duration(200+c.IntN(800))*time.Millisecond)
		return "Redis answers nobody for a while"
	case 10:
		// APPLY_VIEW is not gentle: it applies half of a view that orchagent is making.
		e := swss.Entry{Key: "INIT_VIEW", Body: "[]", Op: "Snotify"}
		_ = swss.NewQueue(c.redis.DB(swss.ASICDB), "ASIC_STATE").Push(ctx, e)
		return "somebody asks syncd for " + e.Key
	}
	c.server.Kill()
	c.server.Start()
	return "kill Redis, which keeps its data"
}

// changeOthers changes rows on which the kept sessions do not depend.
func (c trafficChaos) changeOthers() string {
	kept := keptRows()
	for {
		key, row := c.RandomConfig.Row()
		if _, ours := kept[key]; !ours && !strings.HasPrefix(key, schema.CfgTAMSwitch) {
			return c.write(key, row)
		}
	}
}

// holdsLittle checks that the processes hold no more resources than a switch of this size needs.
func (c *chaos) holdsLittle() {
	c.Helper()
	for name, cmd := range c.procs {
		v := c.vitals(name)
		if files := descriptors(c.T, cmd.Process.Pid); files > 100 || v.Goroutines > 100 || v.Heap > 64<<20 {
			c.Errorf("%s has %d files open, %d goroutines and %d bytes", name, files, v.Goroutines, v.Heap)
		}
	}
}

// count compares the counters of the kept sessions with the fates of the frames, after a period without a flag.
func (c trafficChaos) count() {
	c.Helper()
	said := map[uint64]uint64{} // packets of periods without a flag: a row keeps only the most recent periods
	c.until("a period with packets has no flag", func() bool {
		c.unflagged(said)
		return slices.Max(append(slices.Collect(maps.Values(said)), 0)) > 0
	})
	devicetest.NoError(c.T, os.WriteFile(filepath.Join(c.dir, quietFile), nil, 0o600))
	defer os.Remove(filepath.Join(c.dir, quietFile))
	c.pass(2 * vitalsPeriod)
	var t traffic
	c.until("the session has counted the frames that were stamped", func() bool {
		fates := c.fates()
		t = fates[len(fates)-1]
		if len(fates) > 1 || t.Stamped == 0 || t.Bare > 0 {
			c.Fatalf("of %d frames %d left with a stamp, %d without one after the first that had one (%s), of chip %d",
				t.Kept, t.Stamped, t.Bare, t.BareAt, len(fates))
		}
		return c.liveSwitch.row(swss.CountersDB, schema.CountersTailStamp, "kept")["STAMPED_PACKETS"] == fmt.Sprint(t.Stamped)
	})
	if c.hosts != nil {
		c.hosts.account(c)
		t = c.hosts.now()
	}
	c.unflagged(said)
	for number, packets := range said {
		if packets != t.Marked[number] {
			c.Errorf("period %d without a flag has %d packets, but %d were sent", number, packets, t.Marked[number])
		}
	}
}

// unflagged adds the packets of those periods of the marking session that have no flag.
func (c trafficChaos) unflagged(packets map[uint64]uint64) {
	c.Helper()
	for field, value := range c.liveSwitch.row(swss.CountersDB, schema.CountersAltMarkPast, "marked") {
		p, err := schema.ParseAltMarkPeriod("marked", field, value)
		if err != nil {
			c.Error(err)
		} else if p.Flags == 0 {
			if before, ok := packets[p.Number]; ok && before != p.Packets {
				c.Errorf("period %d, long over, had %d packets, and now has %d", p.Number, before, p.Packets)
			}
			packets[p.Number] = p.Packets
		}
	}
}

// Daemons are killed and stopped, and Redis is full, slow, away, and killed with its data. Connections are cut, other
// clients begin views, and other rows change. A session that is never touched still stamps every frame and counts
// each once. A period of alternate marking without a flag has exactly the packets that were sent in it.
func TestChaosUnderTraffic(t *testing.T) {
	if testing.Short() {
		t.Skip("processes: nothing for the race detector")
	}
	t.Parallel()
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 1}, func(t *testing.T, seed uint64) {
		t.Parallel()
		server := swsstest.StartServer(t, "--appendonly", "yes", "--appendfsync", "always", "--save", "")
		c := trafficChaos{chaos: startChaos(t, server, rand.New(rand.NewPCG(seed, 7)))}
		for key, row := range keptRows() {
			c.want[key] = row
		}
		c.mend()
		c.steady()
		c.goThrough(1)
	})
}

// goThrough applies faults until the switch is healthy again, as often as requested.
func (c trafficChaos) goThrough(times int) {
	for range times {
		for range 8 {
			c.note(c.changeOthers())
			c.happened(c.gentle())
			c.pass(time.Duration(c.IntN(int(400 * time.Millisecond))))
		}
		c.note("mend")
		c.mend()
		c.healed()
		c.check()
		c.count()
		if c.Failed() {
			return
		}
	}
	c.holdsLittle()
}
