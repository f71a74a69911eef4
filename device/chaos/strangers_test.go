package chaos

import (
	"regexp"
	"testing"
	"time"

	"tamtam/device/daemons"
	"tamtam/device/devicetest"
	"tamtam/swss"
)

// Another client repeatedly makes requests in ASIC_DB. orchagent reports their number, and does not start again for
// each of them. The state of the ASIC is unknown. When the requests end, the switch matches its configuration.
func TestForgedRequestsGoOn(t *testing.T) {
	p := startLoaded(t)
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		requests := swss.NewQueue(p.redis.DB(swss.ASICDB), "ASIC_STATE")
		for i := 0; ; i++ {
			forged := []swss.Entry{
				{Key: "INIT_VIEW", Body: "[]", Op: "Snotify"},
				{Key: "SAI_OBJECT_TYPE_VLAN:oid:0x26000000000777", Body: `["SAI_VLAN_ATTR_VLAN_ID","7"]`, Op: "Screate"},
				{Key: "APPLY_VIEW", Body: "[]", Op: "Snotify"},
			}[i%3]
			if err := requests.Push(p.Context(), forged); err != nil {
				ended <- err
				return
			}
			select {
			case <-stop:
				ended <- nil
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	p.awaitUnknown("another process makes requests in ASIC_DB")
	many := regexp.MustCompile(`^the state of the ASIC is unknown: another process makes requests in ASIC_DB: ` +
		`[1-9]\d+ in the last minute`)
	p.until("orchagent says how many there are", func() bool {
		state, _, err := daemons.ReadState(p.Context(), p.redis, "orchagent")
		return err == nil && state.State == daemons.StateWaiting && many.MatchString(state.Reason)
	})
	if n := p.ended.Load(); n != 1 {
		t.Errorf("orchagent has begun anew %d times", n)
	}
	if p.active("s") {
		t.Error("the session is in force, though somebody else works on the ASIC")
	}
	close(stop)
	devicetest.NoError(t, <-ended)
	p.sure()
	p.same(devicetest.TwoPorts())
}
