package chaos

import (
	"context"
	"strings"
	"sync"
	"testing"

	"tamtam/device/devicetest"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// awaitUnknown waits until STATE_DB reports for every row in force that the state of the ASIC is unknown, with a
// reason.
func (p *liveSwitch) awaitUnknown(reason string) {
	p.Helper()
	p.until("the state of the ASIC is unknown, for: "+reason, func() bool {
		row := p.row(swss.StateDB, schema.StateTAMTailStamp, "s")
		return row["status"] == schema.StatusUnknown && strings.Contains(row["reason"], "the state of the ASIC is unknown") &&
			strings.Contains(row["reason"], reason) &&
			p.row(swss.StateDB, schema.StateTAMFeature, schema.FeatureTailStamping)["op-status"] == schema.FeatureUnknown &&
			p.row(swss.StateDB, schema.StatePort, "Ethernet0")["oper_status"] == schema.OperUnknown &&
			p.row(swss.ApplDB, schema.AppPort, "Ethernet0")["oper_status"] == schema.OperUnknown
	})
	p.none("in force", func(status string) bool { return strings.EqualFold(status, schema.StatusActive) })
}

// none checks that is returns false for the status of every row of orchagent.
func (p *liveSwitch) none(what string, is func(status string) bool) {
	p.Helper()
	for _, t := range schema.StatusTables() {
		rows, err := swss.NewTable(p.redis.DB(swss.StateDB), t.State).Dump(p.Context())
		if err != nil {
			p.Fatal(err)
		}
		for key, row := range rows {
			if row["by"] == schema.ByOrchAgent && is(row[t.Status]) {
				p.Errorf("%s|%s is %s: %v", t.State, key, what, row)
			}
		}
	}
}

// sure waits until everything that was unknown is in force again.
func (p *liveSwitch) sure() {
	p.Helper()
	p.until("the session is in force, and the port has a state", func() bool {
		return p.active("s") && p.row(swss.StateDB, schema.StatePort, "Ethernet0")["oper_status"] != schema.OperUnknown &&
			len(p.unknown()) == 0
	})
	p.ready()
}

func startLoaded(t *testing.T) *liveSwitch {
	t.Helper()
	if testing.Short() {
		t.Skip("processes that wait for each other: nothing for the race detector")
	}
	t.Parallel()
	p := startPlant(t)
	p.load(devicetest.TwoPorts())
	p.until("the session", func() bool { return p.active("s") })
	p.ready()
	return p
}

// When syncd dies, STATE_DB reports the state of the ASIC as unknown, whether orchagent runs or starts then. When a
// syncd runs again, the rows are restored.
func TestSyncdDies(t *testing.T) {
	p := startLoaded(t)
	p.stops["syncd"]()
	p.awaitUnknown("syncd is gone")
	p.stops["orchagent"]()
	p.stops["orchagent"] = p.start("orchagent")
	p.unhealthy("orchagent", "syncd is gone")
	p.awaitUnknown("syncd is gone")
	p.stops["syncd"] = p.start("syncd")
	p.sure()
	p.same(devicetest.TwoPorts())
}

// An orchagent that dies leaves its reports, since the ASIC continues. If syncd does not run either, mgmtd reports the
// state as unknown.
func TestOrchagentAndSyncdDie(t *testing.T) {
	p := startLoaded(t)
	p.stops["mgmtd"] = p.start("mgmtd")
	p.stops["orchagent"]()
	p.until("orchagent is silent", func() bool {
		row := p.row(swss.StateDB, schema.StateAlarm, "orchagent-silent")
		return row[schema.AlarmText] != ""
	})
	if !p.active("s") {
		t.Error("without orchagent, what the ASIC does is not known any more")
	}
	p.stops["syncd"]()
	p.awaitUnknown("nothing is heard of orchagent, nor of syncd")
	p.stops["syncd"] = p.start("syncd")
	p.stops["orchagent"] = p.start("orchagent")
	p.sure()
	p.same(devicetest.TwoPorts())
}

// A hangingChip is a chip that tests can make hang and continue.
type hangingChip struct {
	sai.API
	mu *sync.Mutex // held while the chip hangs
}

func (h hangingChip) Create(ctx context.Context, t sai.ObjectType, attrs []sai.Attr) (sai.OID, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.API.Create(ctx, t, attrs)
}

// A syncd that hangs in a request makes the state of the ASIC unknown. When it continues, so does orchagent, without
// starting again.
func TestSyncdHangs(t *testing.T) {
	if testing.Short() {
		t.Skip("processes that wait for each other: nothing for the race detector")
	}
	t.Parallel()
	var mu sync.Mutex
	p := startPlant(t)
	layer := func(chip sai.API) sai.API { return hangingChip{chip, &mu} }
	p.backend.Store(&layer)
	p.stops["syncd"]()
	p.stops["syncd"] = p.start("syncd")
	p.load(devicetest.TwoPorts())
	p.until("the session", func() bool { return p.active("s") })
	p.ready()
	before := p.ended.Load()
	mu.Lock()
	p.load(more("new"))
	p.awaitUnknown("syncd has not answered for 5s")
	p.unhealthy("orchagent", "syncd has not answered for 5s")
	mu.Unlock()
	p.until("the new session", func() bool { return p.active("new") })
	p.sure()
	p.same(devicetest.Merge(devicetest.TwoPorts(), more("new")))
	if n := p.ended.Load() - before; n > 0 {
		t.Errorf("orchagent has begun anew %d times", n)
	}
}
