package chaos

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"tamtam/device/daemons"
	"tamtam/device/devicetest"
	"tamtam/swss"
)

// SONiC's orchagent makes 10,000 routes on tamtam's syncd and chip, and on SONiC's syncd with its virtual SAI, which
// forwards nothing. Both take turns, so that other load of the machine meets both. Ours may need 1.2 times the time.
func TestStockOrchagentSpeed(t *testing.T) {
	if os.Getenv(orchagentVariable) == "" {
		t.Skip(orchagentVariable + " names no program that is SONiC's orchagent")
	}
	skipWithoutStock(t)
	const rounds, limit = 5, 1.2
	took := map[string][]time.Duration{}
	for round := range rounds {
		names := []string{"tamtam", "SONiC"}
		if round%2 == 1 {
			slices.Reverse(names)
		}
		for _, name := range names {
			t.Run(fmt.Sprint(name, round+1), func(t *testing.T) {
				took[name] = append(took[name], newRoutes(t, name == "SONiC", 10_000))
			})
		}
	}
	for _, list := range took {
		slices.Sort(list)
	}
	ours, theirs := took["tamtam"], took["SONiC"]
	if len(ours) < rounds || len(theirs) < rounds {
		t.Fatal("a round has failed")
	}
	ratio := float64(ours[rounds/2]) / float64(theirs[rounds/2])
	t.Logf("10,000 routes: tamtam %v, SONiC's virtual SAI %v, medians %.2f", ours, theirs, ratio)
	if ratio > limit {
		t.Errorf("the median is %.2f times that of SONiC's virtual SAI, want at most %.1f", ratio, limit)
	}
}

// newRoutes returns the time in which n routes of APPL_DB reach ASIC_DB.
func newRoutes(t *testing.T, stock bool, n int) time.Duration {
	s := newForeign(t, daemons.ChipConfig{}, daemons.Common{}, "-s")
	if stock {
		s.syncd = s.stockSyncd
	}
	s.stops["syncd"] = s.syncd(s.server.Open())
	s.metadata()
	s.start()
	s.configured(0)
	var rows []*stockRow
	for i := range n {
		rows = append(rows, &stockRow{swss.ApplDB, "ROUTE_TABLE", fmt.Sprintf("30.%d.%d.0/24", i>>8, i&255),
			words("nexthop=10.12.0.2 ifname=Ethernet12"), nil})
	}
	db := s.redis.DB(swss.ASICDB).Client()
	size := func() int64 {
		all, err := db.DBSize(t.Context()).Result()
		devicetest.NoError(t, err)
		return all
	}
	s.within(stockPatience, "ASIC_DB is constant", func() bool {
		before := size()
		<-time.After(2 * time.Second)
		return size() == before
	})
	want, start := size()+int64(n), time.Now()
	s.writeAppl(rows...)
	for size() < want {
		s.alive()
		<-time.After(5 * time.Millisecond)
		if time.Since(start) > stockPatience {
			t.Fatalf("%d of %d routes after %v", int64(n)-want+size(), n, stockPatience)
		}
	}
	return time.Since(start)
}

// stockSyncd starts SONiC's syncd.
func (s *foreignSwitch) stockSyncd(*swss.Redis) (stop func()) {
	s.Helper()
	log, err := os.Create(filepath.Join(s.dir, "syncd.out"))
	devicetest.NoError(s.T, err)
	defer log.Close()
	cmd := exec.Command(os.Getenv(stockVariable), s.server.Addr)
	cmd.Stdout, cmd.Stderr = log, log
	devicetest.NoError(s.T, cmd.Start())
	return sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // the error reports that the process was killed
	})
}
