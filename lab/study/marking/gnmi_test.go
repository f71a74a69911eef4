package marking

import (
	"context"
	"path/filepath"
	"testing"

	"tamtam/fleet/dial"
	"tamtam/mgmt"
	"tamtam/swss/schema"
	"tamtam/tam/altmark"
)

// sameByGNMI checks that gNMI gives a collector the same settings and periods of all points as those joined in the lab.
func sameByGNMI(t *testing.T, m *marking) {
	t.Helper()
	points := map[*markSwitch][]*markPoint{}
	for _, path := range m.paths {
		for _, p := range path.points {
			points[p.node] = append(points[p.node], p)
		}
	}
	for n, list := range points {
		sessions := askSwitch(t, n, list)
		for _, p := range list {
			got := sessions[p.session.Name]
			if got.settings != p.session.Session {
				t.Errorf("%v: by gNMI its settings are %+v, want %+v", p, got.settings, p.session.Session)
			}
			for number, value := range p.fields {
				if number == "NULL" {
					continue
				}
				want, err := schema.ParseAltMarkPeriod(p.session.Name, number, value)
				if err != nil {
					t.Fatal(err)
				}
				if got.periods[want.Number] != want {
					t.Errorf("%v: by gNMI period %d is %+v, want %+v", p, want.Number, got.periods[want.Number], want)
				}
			}
		}
	}
}

// A gnmiSession holds what gNMI reports of a session.
type gnmiSession struct {
	settings altmark.Session
	periods  map[uint64]altmark.Period
}

// askSwitch subscribes as tamtam collect does, and returns once everything that exists has been sent.
func askSwitch(t *testing.T, n *markSwitch, list []*markPoint) map[string]*gnmiSession {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "gnmi")
	server, err := mgmt.NewServer(mgmt.Config{Redis: n.Sim().Redis, Socket: socket})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx) }()
	sessions := map[string]*gnmiSession{}
	var names []string
	for _, p := range list {
		if sessions[p.session.Name] == nil {
			names = append(names, p.session.Name)
			sessions[p.session.Name] = &gnmiSession{periods: map[uint64]altmark.Period{}}
		}
	}
	watching, enough := context.WithCancel(ctx)
	err = dial.Watch(watching, "unix:"+socket, names, dial.Options{}, func(e dial.Event) {
		switch e.Kind {
		case dial.Settings:
			sessions[e.Session].settings = e.Settings
		case dial.Period:
			sessions[e.Session].periods[e.Period.Number] = e.Period
		case dial.Synced:
			enough()
		case dial.Bad:
			t.Errorf("%s %s: %v", n.Name(), e.Session, e.Err)
		}
	})
	enough()
	cancel()
	if err != nil {
		t.Error(err)
	}
	<-served
	server.Close()
	return sessions
}
