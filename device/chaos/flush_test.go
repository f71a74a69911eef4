package chaos

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"tamtam/device/daemons"
	"tamtam/device/devicetest"
	"tamtam/internal/racetest"
	"tamtam/swss"
)

// Before a cold start, Flush deletes everything that daemons have made of CONFIG_DB, and nothing else. It keeps other
// programs' rows in STATE_DB, and deletes nothing for a warm restart or while daemons run. The switch that starts
// then has a new chip that matches its configuration.
func TestFlush(t *testing.T) {
	racetest.Live(t)
	t.Parallel()
	p := startPlant(t)
	config := devicetest.TwoPorts()
	p.load(config)
	p.until("the session", func() bool { return p.active("s") })
	state := p.redis.DB(swss.StateDB)
	foreign := swss.NewTable(state, "WARM_RESTART_TABLE")
	devicetest.NoError(t, foreign.Set(t.Context(), "orchagent", swss.FieldValues{"restore_count": "1"}))
	flush := func(now bool) string {
		done, err := daemons.Flush(t.Context(), p.redis, now)
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	if done := flush(false); done != "nothing is emptied: tammgrd works" {
		t.Errorf("below daemons that work: %s", done)
	}
	for _, name := range slices.Sorted(maps.Keys(p.stops)) { // syncd last, or orchagent would report that it is gone
		p.stops[name]()
	}
	warm := swss.NewTable(state, "WARM_RESTART_ENABLE_TABLE")
	for _, name := range []string{"system", "swss"} {
		devicetest.NoError(t, warm.Set(t.Context(), name, swss.FieldValues{"enable": "true"}))
		if done := flush(true); !strings.Contains(done, "nothing") ||
			!strings.Contains(done, "|"+name+" asks for a warm restart") {
			t.Errorf("for a warm restart: %s", done)
		}
		devicetest.NoError(t, warm.Set(t.Context(), name, swss.FieldValues{"enable": "false"}))
	}
	if n := p.chips.Load(); !p.active("s") || n != 1 {
		t.Fatalf("the session is no longer there, syncd has had %d chips", n)
	}
	if done := flush(true); !strings.Contains(done, "emptied [APPL_DB ASIC_DB COUNTERS_DB FLEX_COUNTER_DB]") {
		t.Errorf("of a switch that is stopped: %s", done)
	}
	for _, db := range []swss.DBName{swss.ApplDB, swss.ASICDB, swss.CountersDB, swss.FlexCounterDB} {
		if keys, err := p.redis.DB(db).AllKeys(t.Context()); err != nil || len(keys) > 0 {
			t.Errorf("%s still has %v %v", db, keys, err)
		}
	}
	want := []string{"WARM_RESTART_ENABLE_TABLE|swss", "WARM_RESTART_ENABLE_TABLE|system", "WARM_RESTART_TABLE|orchagent"}
	if keys, err := state.AllKeys(t.Context()); err != nil || !slices.Equal(slices.Sorted(slices.Values(keys)), want) {
		t.Errorf("STATE_DB has %v, %v; want %v", keys, err, want)
	}
	for _, name := range []string{"tammgrd", "orchagent", "syncd"} {
		p.stops[name] = p.start(name)
	}
	p.ready()
	p.same(config)
}
