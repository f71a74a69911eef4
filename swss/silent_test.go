package swss_test

import (
	"testing"
	"time"

	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// A listener notices that its connection is dead though nobody says so, connects anew, and hears what is published then.
func TestDeadConnection(t *testing.T) {
	t.Parallel()
	server := swsstest.StartServer(t)
	direct := server.Open()
	g := swsstest.StartProxy(t, server.Addr)
	r, err := swss.Open(t.Context(), g.Addr)
	if err != nil {
		t.Fatal(err)
	}
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
	if err := swss.NewTable(direct.DB(swss.ConfigDB), "T").Set(t.Context(), "k", swss.FieldValues{"f": "1"}); err != nil {
		t.Fatal(err)
	}
	if got := popAll(t, l, sub); len(got) != 1 || got[0] != "SET k map[f:1]" {
		t.Errorf("heard %v", got)
	}
}
