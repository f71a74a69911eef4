package mgmt

import (
	"context"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

const inOctets = "/interfaces/interface[name=Ethernet0]/state/counters/in-octets"

// ethernet0 returns the rows of a port with a counter that is polled every poll milliseconds. If poll is empty, there
// is no row for the poll interval.
func ethernet0(poll, octets string) map[string]string {
	rows := map[string]string{
		"CONFIG_DB PORT|Ethernet0":                 "lanes=0 speed=100000",
		"APPL_DB PORT_TABLE:Ethernet0":             "lanes=0 speed=100000",
		"COUNTERS_DB COUNTERS_PORT_NAME_MAP":       "Ethernet0=oid:0x1000000000002",
		"COUNTERS_DB COUNTERS:oid:0x1000000000002": "SAI_PORT_STAT_IF_IN_OCTETS=" + octets,
		"CONFIG_DB FLEX_COUNTER_TABLE|PORT":        "",
	}
	if poll != "" {
		rows["CONFIG_DB FLEX_COUNTER_TABLE|PORT"] = "POLL_INTERVAL=" + poll
	}
	return rows
}

// every returns a STREAM that samples paths at an interval.
func every(mode gpb.SubscriptionMode, interval time.Duration, paths ...string) *gpb.SubscriptionList {
	list := streamOf()
	for _, p := range paths {
		s := subOf(mode, p)
		s.SampleInterval = uint64(interval)
		list.Subscription = append(list.Subscription, s)
	}
	return list
}

// Counters may be sampled as fast as they are polled, all other leaves every 100 ms. A refusal names the setting that
// determines the minimum.
func TestSampleFloor(t *testing.T) {
	b := newBed(t, nil)
	const ms = time.Millisecond
	for _, c := range []struct {
		name, poll, path string
		interval         time.Duration
		words            []string // nil if the interval is accepted
	}{
		{"as polled", "10", inOctets, 10 * ms, nil},
		{"below", "10", inOctets, 10*ms - 1, []string{inOctets, "9.999999ms", "below the least, 10ms",
			"FLEX_COUNTER_TABLE|PORT has POLL_INTERVAL 10"}},
		{"polled slowly", "2000", inOctets, 1999 * ms, []string{"1.999s", "least, 2s", "PORT has POLL_INTERVAL 2000"}},
		{"by default", "", inOctets, 999 * ms, []string{"least, 1s",
			"FLEX_COUNTER_TABLE|PORT has no valid POLL_INTERVAL, and 1000"}},
		{"wrong row", "9", inOctets, 999 * ms, []string{"least, 1s", "no valid POLL_INTERVAL"}},
		{"no counter", "10", "/interfaces/interface/state/mtu", 99 * ms,
			[]string{"least, 100ms", "/interfaces/interface/state/mtu is no counter"}},
		{"a mixture", "10", "/interfaces/interface[name=Ethernet0]/state", 99 * ms,
			[]string{"least, 100ms", "is no counter that is polled"}},
		{"a mixture that is slow", "2000", "/interfaces/interface[name=Ethernet0]/state", 100 * ms, nil},
		{"another group", "10", "/queues/queue/state/transmitted-packets", 100 * ms,
			[]string{"least, 10s", "FLEX_COUNTER_TABLE|QUEUE has no valid POLL_INTERVAL"}},
	} {
		b.rows(ethernet0(c.poll, "1"))
		s := b.subscribe(every(sample, c.interval, c.path))
		if c.words == nil {
			s.initial()
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			s.t = t
			s.wantEnd("InvalidArgument", c.words...)
		})
	}
	list := every(sample, 99*ms, "/")
	list.Subscription[0].Path = raw("/COUNTERS_DB/localhost/COUNTERS")
	b.subscribe(list).wantEnd("InvalidArgument", "COUNTERS", "sample_interval 99ms", "least, 100ms")
}

// Interval 0 means the poll interval at the start of the stream, and does not change later.
func TestSamplePolled(t *testing.T) {
	clock := newHandClock()
	b := newBed(t, func(c *Config) { c.Clock, c.After = clock.now, clock.after })
	b.rows(ethernet0("10", "1"))
	s := b.subscribe(every(sample, 0, inOctets))
	s.want("U "+inOctets+` "1"`, "S")
	b.rows(ethernet0("5000", "2"))
	for range 3 {
		clock.advance(10 * time.Millisecond)
		s.want("U " + inOctets + ` "2"`)
	}
	b.subscribe(every(sample, 10*time.Millisecond, inOctets)).wantEnd("InvalidArgument", "5s", "POLL_INTERVAL 5000")
}

// A client gives no interval for TARGET_DEFINED. An output of the switch may, and gets the poll interval if that is
// longer.
func TestDefinedFloor(t *testing.T) {
	clock := newHandClock()
	b := newBed(t, func(c *Config) { c.Clock, c.After = clock.now, clock.after })
	b.rows(ethernet0("5000", "1"))
	list := every(gpb.SubscriptionMode_TARGET_DEFINED, time.Second, inOctets)
	b.subscribe(list).wantEnd("InvalidArgument", inOctets, "sample_interval 1s", "SAMPLE")

	got := make(chan string, 1)
	next := func(want string) {
		t.Helper()
		if is := <-got; is != want {
			t.Errorf("%s came, want %s", is, want)
		}
	}
	ctx, cancel := context.WithCancel(b.ctx)
	done := make(chan error, 1)
	go func() {
		done <- b.server.Follow(ctx, list, func(m *gpb.SubscribeResponse) error {
			if m.GetSyncResponse() {
				got <- "S"
			} else {
				got <- string(m.GetUpdate().GetUpdate()[0].GetVal().GetJsonIetfVal())
			}
			return nil
		})
	}()
	next(`"1"`)
	next("S")
	b.rows(ethernet0("5000", "2"))
	clock.advance(5 * time.Second) // at 1 s, four would have been missed
	next(`"2"`)
	cancel()
	<-done
}
