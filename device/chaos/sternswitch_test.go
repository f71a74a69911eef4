package chaos

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tamtam/device"
	"tamtam/device/daemons"
	"tamtam/device/devicetest"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A strictSwitch is a liveSwitch whose syncd is as strict to its clients as SONiC's.
type strictSwitch struct {
	*liveSwitch
	stern *strictSyncd
	since time.Time         // time of the last restart
	want  map[string]string // expected statuses of rows in STATE_DB
}

func startStrictSwitch(t *testing.T, p profile.Profile, config device.ConfigDB) *strictSwitch {
	t.Helper()
	if testing.Short() {
		t.Skip("processes that wait for each other: nothing for the race detector")
	}
	t.Parallel()
	s := &strictSwitch{liveSwitch: bareplant(t)}
	s.stern = newStrictSyncd(t, s.redis, p)
	t.Cleanup(func() {
		for _, name := range []string{"tammgrd", "orchagent", "syncd"} {
			if stop := s.stops[name]; stop != nil {
				stop()
			}
		}
	})
	s.load(config)
	s.stops["syncd"] = s.stern.start()
	s.stops["orchagent"], s.stops["tammgrd"] = s.start("orchagent"), s.start("tammgrd")
	s.allReady("the first start")
	s.want = s.statuses()
	s.stern.changes()
	return s
}

// allReady waits until orchagent has become ready since the last restart, tammgrd is ready, and no row is unknown.
func (s *strictSwitch) allReady(what string) {
	s.Helper()
	s.until(what+": orchagent and tammgrd are ready", func() bool {
		for _, name := range []string{"orchagent", "tammgrd"} {
			state, heard, err := daemons.ReadState(s.Context(), s.redis, name)
			if err != nil || !heard || state.State != daemons.StateReady || name == "orchagent" && state.Since.Before(s.since) {
				return false
			}
		}
		return len(s.unknown()) == 0
	})
}

// unchanged waits until all statuses are as before and syncd has received all polls. It checks that the ASIC was not
// changed.
func (s *strictSwitch) unchanged(what string) {
	s.Helper()
	s.settled(what)
	if ops := s.stern.changes(); len(ops) > 0 {
		s.Errorf("%s changes the ASIC %d times:\n%s", what, len(ops), strings.Join(ops[:min(20, len(ops))], "\n"))
	}
}

func (s *strictSwitch) settled(what string) {
	s.Helper()
	s.allReady(what)
	s.until(what+": syncd knows what to poll", func() bool { return len(s.stern.lacks()) == 0 })
	s.until(what+": the statuses are what they were", func() bool { return cmp.Equal(s.statuses(), s.want) })
}

func (s *strictSwitch) restart(names ...string) {
	s.since = time.Now()
	for _, name := range names {
		s.stops[name]()
	}
	for _, name := range names {
		if name == "syncd" {
			s.stops[name] = s.stern.start()
		} else {
			s.stops[name] = s.start(name)
		}
	}
}

// forgetView deletes the record of orchagent's view, so that the next orchagent makes its view again.
func (s *strictSwitch) forgetView() {
	s.Helper()
	devicetest.NoError(s.T, s.redis.DB(swss.StateDB).Client().Del(s.Context(), "TAMTAM_VIEW|asic").Err())
}

// startFull starts a strictSwitch with a full configuration.
func startFull(t *testing.T) *strictSwitch {
	t.Helper()
	s := startStrictSwitch(t, profile.Default(), devicetest.FullSwitch(t, 20))
	if n := len(s.inForce()); n < 60 {
		t.Fatalf("only %d rows are in force: %v", n, s.want)
	}
	return s
}

// The switch has a full configuration and a syncd as strict as SONiC's. No restart changes the ASIC or compares
// views, and a syncd that has started receives its polls. No request would stop SONiC's syncd.
//
// orchagent may be killed during a view, or while syncd compares. The next orchagent waits for the answers to the
// earlier requests, however long that is. It queues nothing behind them, and then makes one view.
func TestSternSyncdRestarts(t *testing.T) {
	s := startFull(t)
	s.restart("orchagent")
	s.unchanged("a restart of orchagent")
	s.restart("syncd")
	s.unchanged("a restart of syncd")
	s.restart("syncd", "orchagent")
	s.unchanged("a restart of both")
	if inits, compared := s.stern.counts(); inits+compared > 0 {
		t.Errorf("restarts began %d views and compared %d pairs of objects", inits, compared)
	}

	s.forgetView()
	s.restart("orchagent")
	s.until("a view is being made", func() bool {
		return len(s.redis.DB(swss.ASICDB).Client().Keys(t.Context(), "TEMP_ASIC_STATE:*").Val()) > 10
	})
	s.restart("orchagent")
	s.settled("orchagent was killed in the midst of a view")

	release := s.stern.hold()
	s.forgetView()
	s.restart("orchagent")
	s.until("views are compared", s.stern.isComparing)
	before, compared := s.stern.counts()
	if n := len(s.redis.DB(swss.ASICDB).Client().Keys(t.Context(), "TEMP_ASIC_STATE:*").Val()); compared < n*n {
		t.Errorf("%d comparisons for %d objects", compared, n)
	}
	s.restart("orchagent")
	s.unhealthy("orchagent", "syncd has been busy for")
	requests := swss.NewQueue(s.redis.DB(swss.ASICDB), "ASIC_STATE")
	if n, err := requests.Len(t.Context()); n > 1 || err != nil {
		t.Errorf("%d requests wait behind the comparison (%v)", n, err)
	}
	if rows := s.inForce(); len(rows) > 0 {
		t.Errorf("in force while views are compared: %v", rows)
	}
	release()
	s.settled("orchagent was killed while views were compared")
	if after, _ := s.stern.counts(); after != before+1 {
		t.Errorf("%d views were begun after it, want 1", after-before)
	}
	s.stern.changes()
	s.restart("orchagent")
	s.unchanged("a restart after that")
}

// Objects that do not fit into the ASIC are tried again at a restart, and nothing else changes.
func TestSternSyncdIsFull(t *testing.T) {
	small := profile.Default()
	small.ACL.Entries, small.ACL.TableEntries = 20, 20
	s := startStrictSwitch(t, small, devicetest.FullSwitch(t, 40))
	waits := 0
	for key, status := range s.want {
		if strings.HasPrefix(key, schema.StateTAMTailStamp) && strings.HasPrefix(status, schema.StatusPending) {
			waits++
		}
	}
	if waits == 0 || waits >= 40 {
		t.Fatalf("%d sessions wait for room, want some of 40: %v", waits, s.want)
	}
	before := s.stern.rows()
	s.restart("orchagent")
	s.settled("a restart of orchagent")
	for _, op := range s.stern.changes() {
		for _, key := range before {
			_, id, _ := strings.Cut(strings.TrimPrefix(key, "ASIC_STATE:"), ":")
			if strings.HasPrefix(op, "remove ") && strings.Contains(op, id) {
				t.Errorf("the restart removes what was there: %s", op)
			}
		}
	}
	if diff := cmp.Diff(before, s.stern.rows()); diff != "" {
		t.Errorf("the restart changes which objects there are:\n%s", diff)
	}
}
