package chaos

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tamtam/device"
	"tamtam/device/daemons"
	"tamtam/device/devicetest"
	"tamtam/sai/redis/protocol"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A turmoil is a switch whose configuration changes at random, while its user applies faults to the switch.
type turmoil struct {
	*liveSwitch
	devicetest.RandomConfig
	want map[string]swss.FieldValues // the configuration, by key of CONFIG_DB
	log  []string                    // the events so far
	done map[string]int              // number of events by kind
	heal time.Duration               // the longest time from the end of mending until all daemons were ready
}

// newTurmoil starts with a configuration that allows sessions. After a failure it prints the events.
func newTurmoil(p *liveSwitch, rnd *rand.Rand) *turmoil {
	c := &turmoil{liveSwitch: p, RandomConfig: devicetest.RandomConfig{Rand: rnd}, done: map[string]int{}}
	c.want = c.Ground()
	c.want["DEVICE_METADATA|localhost"] = devicetest.Metadata["localhost"]
	p.Cleanup(func() {
		if p.Failed() {
			p.Logf("what happened (-artifacts keeps what the processes recorded):\n%s", strings.Join(c.log, "\n"))
			return
		}
		for kind, n := range c.done {
			p.Logf("happened: %d %s", n, kind)
		}
		if c.heal > 0 {
			p.Logf("healed: %d ms", c.heal.Milliseconds())
		}
	})
	return c
}

// note logs an event with its time.
func (c *turmoil) note(what string) {
	c.log = append(c.log, time.Now().UTC().Format("15:04:05.000 ")+what)
}

// kinds lists the kinds of events, each with the part of a note by which it is recognised.
var kinds = []struct{ part, kind string }{
	{"kill Redis", "Redis is killed and started"},
	{"kill ", "a daemon is killed"},
	{"stop ", "a daemon is stopped"},
	{"empty ", "a database is emptied, or all are"},
	{"Redis is full", "Redis is full"},
	{"Redis answers nobody", "Redis is paused"},
	{"cut all connections", "all connections are cut"},
	{"are forgotten", "the network forgets the connections of a daemon"},
	{"no network to", "the network between a daemon and Redis is parted"},
	{"garbage in", "a key becomes garbage"},
	{"somebody asks", "somebody else makes requests of syncd"},
	{"TAM_FLOWGROUP_TABLE", "a row is too large, most of the time"},
	{"kind:sai-fail", "calls to the chip fail"},
	{"kind:sai-delay", "calls to the chip are late"},
	{"kind:notifications-lose", "notifications are lost"},
	{"kind:notifications-double", "notifications come twice"},
	{"kind:clock-step", "the clock is set"},
}

// happened logs and counts a fault of the switch.
func (c *turmoil) happened(what string) {
	c.note(what)
	for _, k := range kinds {
		if strings.Contains(what, k.part) {
			c.done[k.kind]++
			return
		}
	}
}

// mostHeal is the time limit for the recovery of a switch without any remaining fault.
const mostHeal = time.Minute

// healed waits until all daemons are healthy after the repair, and records the elapsed time.
func (c *turmoil) healed() {
	c.Helper()
	mended := time.Now()
	took := c.steady().Sub(mended)
	if c.heal = max(c.heal, took); took > mostHeal {
		c.Errorf("all daemons are ready for good %s after all was mended, want at most %s", took, mostHeal)
	}
}

// pass lets time pass.
func (c *turmoil) pass(d time.Duration) {
	select {
	case <-c.Context().Done():
	case <-time.After(d):
	}
}

// change changes the configuration, and writes it if Redis accepts it.
func (c *turmoil) change() string {
	key, row := c.RandomConfig.Row()
	// a new switch id waits until no feature is active, so the result depends on history
	for strings.HasPrefix(key, schema.CfgTAMSwitch) {
		key, row = c.RandomConfig.Row()
	}
	return c.write(key, row)
}

// write writes a row, or deletes it.
func (c *turmoil) write(key string, row swss.FieldValues) string {
	ctx, cancel := context.WithTimeout(c.Context(), time.Second)
	defer cancel()
	db := c.redis.DB(swss.ConfigDB).Client()
	db.Del(ctx, key)
	if c.IntN(4) == 0 {
		delete(c.want, key)
		return "delete " + key
	}
	c.want[key] = row
	db.HSet(ctx, key, row)
	return "set " + key
}

// reload makes CONFIG_DB match the configuration, as soon as Redis accepts it.
func (c *turmoil) reload() {
	db := c.redis.DB(swss.ConfigDB)
	c.until("the configuration is loaded", func() bool {
		ctx := c.Context()
		if db.Client().ConfigSet(ctx, "maxmemory", "0").Err() != nil {
			return false
		}
		keys, err := db.Client().Keys(ctx, "*").Result()
		if err != nil {
			return false
		}
		for _, key := range keys {
			if _, wanted := c.want[key]; !wanted {
				if db.Client().Del(ctx, key).Err() != nil {
					return false
				}
			}
		}
		for key, row := range c.want {
			is, err := db.Client().HGetAll(ctx, key).Result()
			if err == nil && maps.Equal(is, row) {
				continue
			}
			if db.Client().Del(ctx, key).Err() != nil || db.Client().HSet(ctx, key, row).Err() != nil {
				return false
			}
		}
		return true
	})
}

// freeSwitchID acts like an operator. A switch id that is set while a feature is active waits until no feature is.
// After the loss of a configuration, its rows return in random order.
func (c *turmoil) freeSwitchID() {
	status := func() string {
		return c.liveSwitch.row(swss.StateDB, schema.StateTAMSwitch, schema.TAMGlobalKey)["status"]
	}
	if status() != "pending" {
		return
	}
	db := c.redis.DB(swss.ConfigDB).Client()
	features := func(do func(key string, row swss.FieldValues)) {
		for key, row := range c.want {
			if strings.HasPrefix(key, schema.CfgTAMFeature+"|") {
				do(key, row)
			}
		}
	}
	features(func(key string, _ swss.FieldValues) { db.Del(c.Context(), key) })
	c.until("the switch id is taken", func() bool { return status() == schema.StatusActive })
	features(func(key string, row swss.FieldValues) { db.HSet(c.Context(), key, row) })
	c.steady()
}

// steady waits until all daemons have been ready for longer than they need to notice a fault. It returns the time since
// which they are ready.
func (c *turmoil) steady() (from time.Time) {
	for from = time.Now(); time.Since(from) < 3*time.Second; {
		for _, name := range killable {
			if state, heard, err := daemons.ReadState(c.Context(), c.redis, name); err != nil || !heard ||
				state.State != daemons.StateReady {
				c.ready()
				from = time.Now()
			}
		}
		c.pass(time.Second / 10)
	}
	return from
}

// statuses returns the statuses of rows in STATE_DB.
func statuses(t *testing.T, r *swss.Redis) map[string]string {
	all := map[string]string{}
	for _, table := range schema.StatusTables() {
		rows, err := swss.NewTable(r.DB(swss.StateDB), table.State).Dump(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for key, row := range rows {
			all[table.State+"|"+key] = row[table.Status]
		}
	}
	return all
}

// counted returns the names in the maps of COUNTERS_DB.
func counted(t *testing.T, r *swss.Redis) (names []string) {
	for _, m := range []string{
		schema.CountersPortNameMap, schema.CountersLAGNameMap, schema.CountersQueueNameMap, schema.CountersACLRuleMap,
		schema.CountersACLTableMap,
	} {
		row := devicetest.Row(t, r, swss.CountersDB, m, "")
		for name, oid := range row {
			vid := oid
			if r.DB(swss.ASICDB).Client().HExists(t.Context(), protocol.KeyVIDToRID, vid).Val() {
				vid = "there"
			}
			names = append(names, m+" "+name+" "+vid)
		}
	}
	slices.Sort(names)
	return names
}

// check compares the switch with a new one that has the same configuration.
func (c *turmoil) check() {
	c.Helper()
	fresh := devicetest.NewServedSim(c.T, device.SimConfig{})
	for key, row := range c.want {
		fresh.Redis.DB(swss.ConfigDB).Client().HSet(c.Context(), key, row)
	}
	devicetest.RunUntilIdle(c.T, fresh)
	want := strings.Split(devicetest.ViewOf(c.T, fresh.Redis), "\n")
	var diff string
	for range 100 { // the register read of an orch may be in the view
		if diff = cmp.Diff(want, strings.Split(devicetest.ViewOf(c.T, c.redis), "\n")); diff == "" {
			break
		}
		c.pass(7 * time.Millisecond)
	}
	if diff != "" {
		c.Errorf("all daemons are ready, but the ASIC (+) is not as a fresh one (-):\n%s", diff)
	}
	if diff := cmp.Diff(statuses(c.T, fresh.Redis), statuses(c.T, c.redis)); diff != "" {
		c.Errorf("all daemons are ready, but STATE_DB (+) is not as of a fresh switch (-):\n%s", diff)
	}
	if diff := cmp.Diff(counted(c.T, fresh.Redis), counted(c.T, c.redis)); diff != "" {
		c.Errorf("all daemons are ready, but the maps of COUNTERS_DB (+) are not as of a fresh switch (-):\n%s", diff)
	}
}

// descriptors returns the number of files that a process has open.
func descriptors(t *testing.T, pid int) int {
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Skip(err)
	}
	return len(files)
}
