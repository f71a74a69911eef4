package device_test

import (
	"strings"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/internal/racetest"
	"tamtam/swss"
)

// A deleted entry stays in the tree and in the shell, without config. It disappears when the managers have received
// the deletion and orchagent has removed it from the switch.
func TestEveryDeletionIsReported(t *testing.T) {
	racetest.Stepped(t)
	s := devicetest.NewSim(t, device.SimConfig{Config: variedConfig(t)})
	server, shell, out := devicetest.StartNorthbound(t, s)
	b := inForceBed{t, s, server, shell, out}
	b.settled("the start")
	var group tamList
	for _, l := range tamLists() {
		switch {
		case l.path == "/tam/switch":
			continue
		case len(l.rows) == 0:
			t.Errorf("%s: nothing here says how an entry is deleted; is it told?", l.path)
			continue
		case l.path == "/tam/flowgroups/flowgroup":
			group = l
		}
		b.deletion(l)
	}
	// If only a flow group is deleted, its rule stays in force.
	restore := b.remove(group.rows[:1])
	b.left(group, "it is deleted, and in force still")
	devicetest.RunUntilIdle(t, s)
	b.gone(group)
	restore()
	b.settled("putting back a flow group")
}

// deletion deletes the entry of a list, and restores it.
func (b inForceBed) deletion(l tamList) {
	b.Helper()
	restore := b.remove(l.rows)
	b.left(l, "it is deleted, and in force still")
	if _, err := b.sim.Managers.Step(b.Context(), b.sim.Now()); err != nil { // orchagent does not work, as if it hung
		b.Fatal(err)
	}
	b.left(l, "it is deleted, and ")
	devicetest.RunUntilIdle(b.T, b.sim)
	b.gone(l)
	restore()
	b.settled("putting back " + l.at())
}

// remove deletes rows of CONFIG_DB; restore writes them again.
func (b inForceBed) remove(keys []string) (restore func()) {
	b.Helper()
	client := b.sim.Redis.DB(swss.ConfigDB).Client()
	rows := map[string]map[string]string{}
	for _, key := range keys {
		row, err := client.HGetAll(b.Context(), key).Result()
		if err != nil || len(row) == 0 {
			b.Fatalf("%s: %v %v", key, row, err)
		}
		rows[key] = row
		devicetest.NoError(b, client.Del(b.Context(), key).Err())
	}
	return func() {
		b.Helper()
		for key, row := range rows {
			devicetest.NoError(b, client.HSet(b.Context(), key, row).Err())
		}
	}
}

// left fails unless a deleted entry is reported as still in force and not as configured.
func (b inForceBed) left(l tamList, want string) {
	b.Helper()
	entry := l.at()
	if got := b.reported(entry); !strings.Contains(got, want) {
		b.Errorf("%s: not-in-force is %q, want %q", entry, got, want)
	}
	for path := range b.below(entry) {
		if strings.Contains(path, "/config/") {
			b.Errorf("%s is deleted", path)
		}
	}
	got := strings.Join(strings.Fields(b.show(l)), " ")
	for _, w := range []string{"Pending", want, l.line} {
		if !strings.Contains(got, w) {
			b.Errorf("%s: %q is not shown: %s", entry, w, got)
		}
	}
	b.notConfigured(l)
}

// notConfigured fails if a request for the configuration returns the entry.
func (b inForceBed) notConfigured(l tamList) {
	b.Helper()
	resp, err := b.server.Get(b.Context(), &gpb.GetRequest{Path: []*gpb.Path{gpath("/tam")}, Type: gpb.GetRequest_CONFIG,
		Encoding: gpb.Encoding_PROTO})
	if err != nil {
		b.Fatal(err)
	}
	at := gpath(l.at()).GetElem()
	for _, u := range resp.GetNotification()[0].GetUpdate() {
		if p := u.GetPath().GetElem(); p[1].GetName() == at[1].GetName() && p[2].GetKey()["name"] == at[2].GetKey()["name"] {
			b.Errorf("it is no configuration: %v", u)
		}
	}
}

// gone fails the test if any part of an entry is left.
func (b inForceBed) gone(l tamList) {
	b.Helper()
	entry := l.at()
	for path, v := range b.below(entry) {
		b.Errorf("%s is still there: %s", path, v)
	}
	command := "show tam " + l.show + " " + l.entry
	if err := b.shell.Exec(b.Context(), command); err == nil || !strings.Contains(err.Error(), "does not exist") {
		b.Errorf("%s of what is gone: %v\n%s", command, err, b.out)
	}
}
