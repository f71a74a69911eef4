package orch_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/drift"
	"tamtam/swss/swsstest"
)

// A comparing daemon consumes PORT of CONFIG_DB and PORT_TABLE of APPL_DB, to which it adds oper_status itself.
type comparing struct {
	*testing.T
	d     *orch.Daemon
	r     *swss.Redis
	now   time.Time
	tasks []string // tasks handled since the last check
}

func newComparing(t *testing.T, r *swss.Redis) *comparing {
	c := &comparing{T: t, r: r, now: start, d: orch.NewDaemon("orchagent", r, orch.Options{})}
	t.Cleanup(func() { c.d.Close() })
	handler := orch.Each(func(_ context.Context, task orch.Task) error {
		c.tasks = append(c.tasks, strings.TrimSpace(task.Op.String()+" "+task.Table+" "+task.Key+" "+task.Fields["mtu"]))
		return nil
	})
	c.d.Consume(func(l *swss.Listener) swss.Source { return swss.NewSubscriber(l, r.DB(swss.ConfigDB), "PORT") }, "PORT",
		handler, orch.Reporting{None: true})
	c.d.Consume(func(l *swss.Listener) swss.Source { return swss.NewConsumerState(l, r.DB(swss.ApplDB), "PORT_TABLE") },
		"PORT_TABLE", handler,
		orch.Reporting{None: true, Adds: func(_, field string) bool { return field == "oper_status" }})
	return c
}

// want checks the handled tasks, in any order.
func (c *comparing) want(what string, tasks ...string) {
	c.Helper()
	if _, err := c.d.Step(c.Context(), c.now); err != nil {
		c.Fatal(err)
	}
	slices.Sort(c.tasks)
	if !slices.Equal(c.tasks, tasks) {
		c.Errorf("%s: tasks %q, want %q", what, c.tasks, tasks)
	}
	c.tasks = nil
}

// compare compares once in each of n seconds.
func (c *comparing) compare(n int) drift.State {
	c.Helper()
	for range n {
		c.now = c.now.Add(time.Second)
		if err := c.d.Compare(c.Context(), c.now); err != nil {
			c.Fatal(err)
		}
	}
	return c.d.Watch().State()
}

func (c *comparing) do(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// A row of CONFIG_DB whose event was lost is handled nevertheless, once it has been seen twice.
func TestLostEventIsDrift(t *testing.T) {
	server := swsstest.StartServer(t)
	c := newComparing(t, server.Open())
	config := c.r.DB(swss.ConfigDB)
	c.do(swss.NewTable(config, "PORT").Set(t.Context(), "Ethernet0", swss.FieldValues{"mtu": "1"}))
	c.want("a row", "SET PORT Ethernet0 1")
	c.do(config.Client().ConfigSet(t.Context(), "notify-keyspace-events", "").Err())
	c.do(config.Client().HSet(t.Context(), "PORT|Ethernet0", "mtu", "2").Err())
	c.do(config.Client().HSet(t.Context(), "PORT|Ethernet4", "mtu", "3").Err())
	c.want("no event")
	c.compare(1)
	c.want("seen once")
	if s := c.compare(1); s.Drift != 2 || !strings.Contains(s.Reason,
		"CONFIG_DB PORT|Ethernet0 is not as it was handed over; "+
			"CONFIG_DB PORT|Ethernet4 is there and was never handed over") {
		t.Errorf("%+v", s)
	}
	c.want("seen twice", "SET PORT Ethernet0 2", "SET PORT Ethernet4 3")
	if s := c.compare(1); s.Word() != drift.Consistent || s.Healed != 2 {
		t.Errorf("it is over: %+v", s)
	}
	c.do(config.Client().Del(t.Context(), "PORT|Ethernet0").Err())
	c.compare(2)
	c.want("a row is gone", "DEL PORT Ethernet0")
	if s := c.compare(2); s.Word() != drift.Consistent || s.Drift != 3 || s.Healed != 3 {
		t.Errorf("%+v", s)
	}
}

// Fields that the daemon itself adds, and rows in flight, are not drift. Another daemon is the author of some rows. A
// change of such a row is handled once its author has compared all rows and has not corrected the change.
func TestRowsOfAnotherDaemon(t *testing.T) {
	c := newComparing(t, swsstest.Start(t))
	appl := c.r.DB(swss.ApplDB)
	passes := 0
	c.d.Watch().Author = func(_ context.Context, daemon string) (int, bool) { return passes, daemon == orch.Manager }
	producer := swss.NewProducerState(appl, "PORT_TABLE")
	c.do(producer.Set(t.Context(), "Ethernet0", swss.Pairs(swss.FieldValues{"mtu": "1"})))
	c.want("a row", "SET PORT_TABLE Ethernet0 1")
	c.do(appl.Client().HSet(t.Context(), "PORT_TABLE:Ethernet0", "oper_status", "up").Err())
	if s := c.compare(3); s.Word() != drift.Consistent {
		t.Errorf("what the daemon adds: %+v", s)
	}
	c.do(appl.Client().HSet(t.Context(), "PORT_TABLE:Ethernet0", "mtu", "2").Err())
	c.do(producer.Set(t.Context(), "Ethernet0", swss.Pairs(swss.FieldValues{"mtu": "1"})))
	if s := c.compare(5); s.Drift > 0 {
		t.Errorf("what is on its way: %+v", s)
	}
	c.want("it arrives", "SET PORT_TABLE Ethernet0 1")
	c.compare(2)
	c.do(appl.Client().Del(t.Context(), "PORT_TABLE:Ethernet0").Err())
	if s := c.compare(5); s.Drift != 1 || s.Reason != "APPL_DB PORT_TABLE:Ethernet0 is gone and was not removed" {
		t.Errorf("%+v", s)
	}
	c.want("its author has not looked")
	passes += 2
	c.compare(2)
	c.want("its author has left it", "DEL PORT_TABLE Ethernet0")
	if s := c.compare(2); s.Word() != drift.Consistent || s.Healed != 1 {
		t.Errorf("%+v", s)
	}
}
