package marking

import (
	"context"
	"path/filepath"
	"testing"

	"tamtam/collector/dial"
	"tamtam/mgmt"
	"tamtam/schema"
	"tamtam/tam/altmark"
)

// sameByGNMI holds what a collector reads of all points by gNMI, settings and periods, equal to
// what is joined in the lab.
func sameByGNMI(t *testing.T, m *marking) {
	t.Helper()
	points := map[*markSwitch][]*markPoint{}
	for _, path := range m.paths {
		for _, p := range path.points {
			points[p.node] = append(points[p.node], p)
		}
	}
	for n, list := range points {
		told := askSwitch(t, n, list)
		for _, p := range list {
			got := told[p.session.Name]
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

// A toldSession is what gNMI says of one.
type toldSession struct {
	settings altmark.Session
	periods  map[uint64]altmark.Period
}

// askSwitch subscribes as tamtam collect does, until all has been told that there is.
func askSwitch(t *testing.T, n *markSwitch, list []*markPoint) map[string]*toldSession {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "gnmi")
	server, err := mgmt.NewServer(mgmt.Config{Redis: n.Sim().Redis, Socket: socket})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx) }()
	told := map[string]*toldSession{}
	var names []string
	for _, p := range list {
		if told[p.session.Name] == nil {
			names = append(names, p.session.Name)
			told[p.session.Name] = &toldSession{periods: map[uint64]altmark.Period{}}
		}
	}
	watching, enough := context.WithCancel(ctx)
	err = dial.Watch(watching, "unix:"+socket, names, dial.Options{}, func(e dial.Event) {
		switch e.Kind {
		case dial.Settings:
			told[e.Session].settings = e.Settings
		case dial.Period:
			told[e.Session].periods[e.Period.Number] = e.Period
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
	return told
}
