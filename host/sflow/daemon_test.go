package sflow

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
	wire "tamtam/tam/sflow"
)

// A socketTest simulates the socket of a collector.
type socketTest struct {
	sent         int
	err, refused error
	closed       *int
}

func (s *socketTest) Send([]byte) error {
	s.sent++
	return s.err
}

func (s *socketTest) Refused() error {
	err := s.refused
	s.refused = nil
	return err
}
func (s *socketTest) Local() netip.Addr { return netip.MustParseAddr("192.0.2.99") }
func (s *socketTest) Close() error      { *s.closed++; return nil }

// A daemon without an address of its own uses the host's. An error of a collector is shown until it has worked for a
// while. Rows of an earlier daemon and sockets of removed collectors are removed.
func TestDaemon(t *testing.T) {
	r := swsstest.Start(t)
	set := func(db swss.DBName, table, key string, row swss.FieldValues) {
		t.Helper()
		if err := swss.NewTable(r.DB(db), table).Set(t.Context(), key, row); err != nil {
			t.Fatal(err)
		}
	}
	set(swss.CountersDB, schema.CountersSFlowCollector, "old", swss.FieldValues{"datagrams": "9"})
	set(swss.ApplDB, schema.AppSFlow, "global", swss.FieldValues{"admin_state": "up"})
	set(swss.ApplDB, schema.AppSFlowCollector, "a", swss.FieldValues{"collector_ip": "192.0.2.1"})
	closed, socket := 0, (*socketTest)(nil)
	d := orch.NewDaemon("sflowd", r, orch.Options{})
	defer d.Close()
	s := New(Config{Daemon: d, Redis: r, Lost: func() (uint64, bool) { return 0, false },
		Dial: func(netip.AddrPort) (Socket, error) {
			socket = &socketTest{closed: &closed}
			return socket, nil
		}})
	now := time.Unix(1700000000, 0)
	pass := func() {
		t.Helper()
		now = now.Add(time.Second)
		if _, err := d.Step(t.Context(), now); err != nil {
			t.Fatal(err)
		}
	}
	row := func(table, key string) swss.FieldValues {
		t.Helper()
		got, _, err := swss.NewTable(r.DB(swss.CountersDB), table).Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	sample := func() {
		s.agent.Counters("Ethernet0", &wire.Generic{}, nil, now)
		pass()
		pass()
	}
	want := func(datagrams, errors, last string) {
		t.Helper()
		got := row(schema.CountersSFlowCollector, "a")
		if got["datagrams"] != datagrams || got["errors"] != errors || got["last-error"] != last {
			t.Errorf("%v, want %s datagrams, %s errors, %q", got, datagrams, errors, last)
		}
	}
	pass()
	pass()
	if old, own := row(schema.CountersSFlowCollector, "old"), row(schema.CountersSFlow, schema.SFlowAgent); len(old) > 0 ||
		own["agent-address"] != "192.0.2.99" || own["drop-queue-full"] != "unknown" {
		t.Errorf("of an earlier daemon %v, of this one %v", old, own)
	}
	want("0", "0", "")
	sample()
	want("1", "0", "")
	socket.refused = errors.New("refused")
	pass()
	want("1", "1", "refused")
	sample() // while the error is still shown
	want("2", "1", "refused")
	pass()
	sample()
	want("3", "1", "")
	socket.err = errors.New("no route") // the new socket works
	sample()
	if want("4", "2", "no route"); closed != 1 {
		t.Errorf("%d sockets closed, want the one that failed", closed)
	}
	if err := swss.NewTable(r.DB(swss.ApplDB), schema.AppSFlowCollector).Del(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	pass()
	pass()
	if got := row(schema.CountersSFlowCollector, "a"); len(got) > 0 || closed != 2 {
		t.Errorf("a collector that is gone has %v; %d sockets closed", got, closed)
	}
}
