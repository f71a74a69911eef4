package swss_test

import (
	"testing"
	"time"

	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// A listener detects that its connection is dead although nothing reports it. It reconnects, and receives what is
// published then.
func TestDeadConnection(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a silence: nothing for the race detector")
	}
	t.Parallel()
	server := swsstest.StartServer(t)
	direct := server.Open()
	g := swsstest.StartProxy(t, server.Addr)
	r := need(swss.Open(t.Context(), g.Addr))(t)
	defer r.Close()
	l := swss.NewListener(r)
	defer l.Close()
	sub := swss.NewSubscriber(l, r.DB(swss.ConfigDB), "T")
	popAll(t, l, sub)
	before := l.Connections()
	g.Forget()
	for end := time.Now().Add(time.Minute); l.Connections() == before; {
		if time.Now().After(end) {
			t.Fatal("the dead connection is still listened to")
		}
		select {
		case <-l.Ready():
		case <-time.After(100 * time.Millisecond):
		}
	}
	noError(t, swss.NewTable(direct.DB(swss.ConfigDB), "T").Set(t.Context(), "k", swss.FieldValues{"f": "1"}))
	if got := popAll(t, l, sub); len(got) != 1 || got[0] != "SET k map[f:1]" {
		t.Errorf("heard %v", got)
	}
}

// If the network has lost the state of all connections, they are found dead together: once one command has waited in
// vain, no command waits on another dead connection.
func TestDeadConnectionsAreFoundTogether(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a silence: nothing for the race detector")
	}
	t.Parallel()
	server := swsstest.StartServer(t)
	proxy := swsstest.StartProxy(t, server.Addr)
	r := need(swss.Open(t.Context(), proxy.Addr))(t)
	defer r.Close()
	databases := []swss.DBName{swss.ApplDB, swss.ASICDB, swss.CountersDB, swss.ConfigDB, swss.StateDB, swss.FlexCounterDB}
	ping := func(db swss.DBName) error { return r.DB(db).Client().Ping(t.Context()).Err() }
	for _, db := range databases {
		noError(t, ping(db))
	}
	proxy.Forget()
	if err := ping(databases[0]); !swss.IsTimeout(err) {
		t.Fatalf("an answer through a connection that is forgotten: %v", err)
	}
	for _, db := range databases {
		if err := ping(db); err != nil && swss.IsTimeout(err) {
			t.Errorf("%s waited for a connection that was known to be dead: %v", db, err)
		}
		if err := ping(db); err != nil {
			t.Errorf("%s: %v", db, err)
		}
	}
}
