package wire

import (
	"context"
	"net"
	"testing"
	"time"

	"tamtam/sai"
)

// shut sets the admin state of a port.
func (r *rig) shut(t testing.TB, port int, down bool) {
	t.Helper()
	a := sai.Attr{ID: sai.PortAttrAdminState, Value: sai.Bool(!down)}
	if err := r.chip.Set(context.Background(), sai.Obj(sai.ObjectTypePort, r.oids[port]), a); err != nil {
		t.Fatal(err)
	}
}

// isSet reports whether an interface of the switch is set up.
func (r *rig) isSet(t testing.TB, name string) (up bool) {
	t.Helper()
	err := r.place.Do(func() error {
		i, err := net.InterfaceByName(name)
		up = err == nil && i.Flags&net.FlagUp != 0
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return up
}

// A port that is shut down sets its interface down, so that the peer loses its link, and up again with it. An
// operator's change to the interface of a port that is up stays. At the end, interfaces that were set up here are set
// down, unless they must be kept.
func TestLinksFollowPorts(t *testing.T) {
	t.Parallel()
	for _, keep := range []bool{false, true} {
		r := newRig(t)
		if err := r.place.IP("link set eth1 down"); err != nil {
			t.Fatal(err)
		}
		r.follow = NewLinks()
		end := r.start(t)
		up := func(p Port) bool { return p.Up }
		r.wait(t, 0, up)
		r.wait(t, 1, up) // the port is up, so its interface was set up
		if !keep {
			r.shut(t, 1, true)
			got := r.wait(t, 1, func(p Port) bool { return !p.Up && p.Reason != "" && p.Reason[:8] == "the port" })
			if want := "the port is shut down, and interface eth1 with it"; got.Reason != want || r.isSet(t, "eth1") {
				t.Errorf("it is shut down: %+v", got)
			}
			r.shut(t, 1, false)
			r.wait(t, 1, up)
			if err := r.place.IP("link set eth0 down"); err != nil {
				t.Fatal(err)
			}
			r.wait(t, 0, func(p Port) bool { return !p.Up })
			for range 2 { // the second look is one second later
				r.wait(t, 0, func(Port) bool { return true })
			}
			if r.isSet(t, "eth0") {
				t.Error("what an operator set down was set up")
			}
			if err := r.place.IP("link set eth0 up"); err != nil {
				t.Fatal(err)
			}
			r.wait(t, 0, up)
		}
		end()
		if err := r.follow.Close(keep); err != nil {
			t.Error(err)
		}
		if !r.isSet(t, "eth0") || r.isSet(t, "eth1") != keep {
			t.Errorf("keep %v: at the end eth0 is set up: %v, eth1: %v", keep, r.isSet(t, "eth0"), r.isSet(t, "eth1"))
		}
	}
}

// A port that was never up, like all of a new chip, does not affect its interface for a while. A port that was up
// does so immediately.
func TestFollower(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(1000+s), 0) }
	var f follower
	for _, step := range []struct {
		at             int
		present, admin bool
		shut, raise    bool
	}{
		{0, false, false, false, false}, // not configured
		{60, false, false, false, false},
		{70, true, false, false, false}, // configured and down: it may still come up
		{79, true, false, false, false},
		{80, true, false, true, false}, // the port did not come up
		{81, true, true, false, true},
		{82, true, false, true, false}, // shut down
		{83, true, true, false, true},
		{84, false, false, false, false}, // the chip starts again
		{85, true, false, false, false},
		{88, true, true, false, true},
		{89, false, false, false, false}, // the port is no longer configured
		{99, false, false, true, false},
	} {
		f.raise = false
		f.follow(at(step.at), step.present, step.admin)
		if f.shut != step.shut || f.raise != step.raise {
			t.Errorf("at %d: down %v, set up %v; want %v, %v", step.at, f.shut, f.raise, step.shut, step.raise)
		}
	}
}
