package lldpd

import (
	"testing"
	"time"

	"tamtam/host/cpuport"
	"tamtam/host/lldp"
	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// A line records the ports at which frames were sent.
type line struct{ sent []string }

func (l *line) Send(f cpuport.Frame) error {
	l.sent = append(l.sent, f.Port)
	return nil
}

// A speaker announces the switch at ports that are up, and has rows of its neighbours until they expire. The next
// speaker keeps them until it must have received an announcement itself.
func TestSpeaker(t *testing.T) {
	r, now := swsstest.Start(t), time.Unix(1000, 0)
	ports, heard := swss.NewTable(r.DB(swss.ApplDB), schema.AppPort), swss.NewTable(r.DB(swss.ApplDB), schema.AppLLDPEntry)
	for name, oper := range map[string]string{"Ethernet0": "up", "Ethernet4": "down"} {
		if err := ports.Set(t.Context(), name, swss.FieldValues{"alias": "etp", "oper_status": oper}); err != nil {
			t.Fatal(err)
		}
	}
	var d *orch.Daemon
	step := func() {
		t.Helper()
		for range 2 {
			if _, err := d.Step(t.Context(), now); err != nil {
				t.Fatal(err)
			}
		}
	}
	begin := func(l *line) *Speaker {
		t.Helper()
		d = orch.NewDaemon("test", r, orch.Options{})
		t.Cleanup(func() { d.Close() })
		s := New(Config{Daemon: d, Redis: r, System: lldp.System{MAC: [6]byte{2, 0, 0, 0, 0, 1}, Name: "leaf"}})
		step()
		if err := d.Do(t.Context(), func() { s.SetLine(l) }); err != nil {
			t.Fatal(err)
		}
		step()
		return s
	}
	row := func(what, want string) {
		t.Helper()
		now = now.Add(reportPeriod)
		step()
		fields, _, err := heard.Get(t.Context(), "Ethernet0")
		if got := fields["lldp_rem_sys_name"]; err != nil || got != want {
			t.Errorf("%s: the row has %q, %v, want %q", what, got, err, want)
		}
	}
	l := &line{}
	s := begin(l)
	if len(l.sent) != 1 || l.sent[0] != "Ethernet0" {
		t.Errorf("frames left by %v, want the port that is up", l.sent)
	}
	other := lldp.New()
	other.Configure(now, lldp.System{MAC: [6]byte{2, 0, 0, 0, 0, 9}, Name: "spine"}, []lldp.Port{{Name: "Ethernet40"}})
	frame := other.Frames()[0].Data
	if !Is(frame) || Is(frame[:13]) {
		t.Error("what is LLDP is not known")
	}
	if err := d.Do(t.Context(), func() { s.Receive("Ethernet0", frame) }); err != nil {
		t.Fatal(err)
	}
	row("heard", "spine")
	restarting := swss.FieldValues{"oper_status": schema.OperUnknown}
	if err := ports.Set(t.Context(), "Ethernet0", restarting); err != nil {
		t.Fatal(err)
	}
	row("the state of the port is unknown while syncd restarts", "spine")
	if err := ports.Set(t.Context(), "Ethernet0", swss.FieldValues{"oper_status": schema.OperUp}); err != nil {
		t.Fatal(err)
	}
	begin(&line{})
	row("the next speaker", "spine")
	now = now.Add(lldp.TTL)
	row("it has not heard the other", "")
}
