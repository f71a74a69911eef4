package mgmt

import (
	"slices"
	"strings"
	"time"

	"tamtam/mgmt/tree"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// timed returns a new bed with a clock that the check moves.
func (b *bed) timed() (*bed, *handClock) {
	clock := newHandClock()
	return newBed(b.t, func(c *Config) { c.Clock, c.After = clock.now, clock.after }), clock
}

// sampled returns a STREAM of one path that is sampled each second.
func sampled(p string, edit func(*gpb.Subscription)) *gpb.SubscriptionList {
	s := subOf(sample, p)
	s.SampleInterval = uint64(time.Second)
	if edit != nil {
		edit(s)
	}
	return streamOf(s)
}

// streamingChecks returns the checks of STREAM.
func streamingChecks() map[string]func(*bed) {
	return map[string]func(*bed){
		"T1": func(b *bed) {
			b.rows(samplers("1", "2"))
			s := b.subscribe(streamOf(subOf(onChange, rates)))
			s.want("U "+rateA+" 1", "U "+rateB+" 2", "S")
			b.rows(samplers("1", ""))
			b.rows(samplers("1", "3"))
			// There is no update of a, which is unchanged. The stream may have read b while its row was missing, which
			// causes one more update.
			got := s.next()
			if got[0] == "D "+rateB {
				got = s.next()
			}
			b.wantText(strings.TrimSuffix(got[0], " +1"), "U "+rateB+" 3")
			b.mustSet(deleting(entryA))
			s.want("D " + rateA)
		},
		"T2": checkHeartbeat,
		"T3": func(b *bed) {
			x, clock := b.timed()
			x.rows(counters("1", "1"))
			s := x.subscribe(streamOf(subOf(onChange, sessionS)))
			var got []string
			for len(got) == 0 || got[len(got)-1] != "S" {
				got = append(got, s.next()...)
			}
			for _, want := range []string{"U " + matched + ` "1"`, "U " + sessionS + `/config/flowgroup "f1"`} {
				if !slices.Contains(got, want) {
					b.t.Errorf("the initial updates lack %s: %q", want, got)
				}
			}
			x.rows(counters("2", "1"))
			clock.advance(time.Second) // the poll interval of the group
			s.want("U " + matched + ` "2"`)
			x.rows(map[string]string{"CONFIG_DB TAM_TAILSTAMPING_TABLE|s1": "flowgroup=f2"})
			if got := s.next(); got[0] != "U "+sessionS+`/config/flowgroup "f2"` {
				b.t.Errorf("got %q", got)
			}
		},
		"T4": checkSample,
		"T5": func(b *bed) {
			x, clock := b.timed()
			x.rows(samplers("1", ""))
			s := x.subscribe(sampled(rateA, func(s *gpb.Subscription) { s.SampleInterval = 0 }))
			s.want("U "+rateA+" 1", "S")
			clock.advance(100 * time.Millisecond)
			s.want("U " + rateA + " 1")
			x, clock = b.timed()
			x.rows(counters("1", "1"))
			s = x.subscribe(sampled(matched, func(s *gpb.Subscription) { s.SampleInterval = 0 }))
			s.want("U "+matched+` "1"`, "S")
			clock.advance(time.Second)
			s.want("U " + matched + ` "1"`)
		},
		"T6": func(b *bed) {
			list := sampled(rateA, func(s *gpb.Subscription) { s.SampleInterval = 1 })
			b.subscribe(list).wantEnd("InvalidArgument", rateA, "sample_interval", "100ms")
			b.rows(counters("1", "1"))
			list = sampled(matched, func(s *gpb.Subscription) { s.SampleInterval-- })
			b.subscribe(list).wantEnd("InvalidArgument", matched, "least, 1s", "FLEX_COUNTER_TABLE|ACL", "POLL_INTERVAL 1000")
		},
		"T7": checkSuppressed, "T8": checkSuppressed, "T9": checkSampleOfList, "T10": checkTargetDefined,
		"T11": func(b *bed) {
			b.rows(samplers("1", ""))
			list := streamOf(subOf(onChange, rates))
			list.UpdatesOnly = true
			s := b.subscribe(list)
			s.want("S")
			b.rows(samplers("2", ""))
			s.want("U " + rateA + " 2")
		},
		"T12": func(b *bed) {
			x, clock := b.timed()
			x.rows(samplers("1", ""))
			list := sampled(rateA, nil)
			list.UpdatesOnly = true
			s := x.subscribe(list)
			s.want("S")
			clock.advance(time.Second)
			s.want("U " + rateA + " 1")
		},
		"T13": checkOneSync, "T14": checkOneSync,
		"T15": checkShortHeartbeat,
		"T16": func(b *bed) {
			for _, p := range []string{rates, "/tam/samplers/sampler/config/sampling-rate"} {
				b.rows(samplers("", ""))
				s := b.subscribe(streamOf(subOf(onChange, p)))
				s.want("S")
				b.mustSet(updating(update(rateB, "4")))
				s.want("U " + rateB + " 4")
			}
		},
		"T17": func(b *bed) {
			b.rows(map[string]string{"CONFIG_DB DEVICE_METADATA|localhost": "hostname=leaf1",
				"APPL_DB ROUTE_TABLE:10.1.0.0/16": "blackhole=true"})
			for _, n := range b.subscribe(listOf(onceMode, subOf(0, "/"))).initial() {
				entry := strings.HasSuffix(tree.PathText(n.GetPrefix()), "/ipv4-entry[prefix=10.1.0.0/16]")
				if n.GetAtomic() != entry || entry && len(n.GetUpdate()) != 2 {
					b.t.Errorf("atomic, of two leaves, is only the route: %v", n)
				}
			}
		},
	}
}

func checkHeartbeat(b *bed) {
	x, clock := b.timed()
	x.rows(samplers("1", ""))
	list := streamOf(subOf(onChange, rates))
	list.Subscription[0].HeartbeatInterval = uint64(time.Minute)
	s := x.subscribe(list)
	s.want("U "+rateA+" 1", "S")
	for range 2 {
		clock.advance(time.Minute)
		s.want("U " + rateA + " 1")
	}
	list.Subscription[0].HeartbeatInterval = uint64(time.Millisecond)
	x.subscribe(list).wantEnd("InvalidArgument", "heartbeat_interval", "1s")
}

func checkSample(b *bed) {
	x, clock := b.timed()
	x.rows(counters("1", "1"))
	s := x.subscribe(sampled(sessionS+"/state/counters", nil))
	s.want("U "+matched+` "1"`, "U "+stamped+` "1"`, "S")
	for range 2 {
		clock.advance(time.Second)
		s.want("U "+matched+` "1"`, "U "+stamped+` "1"`)
	}
}

// checkSuppressed checks that unchanged values are sent only with the heartbeat, and vanished ones as a delete.
func checkSuppressed(b *bed) {
	x, clock := b.timed()
	x.rows(counters("1", "1"))
	s := x.subscribe(sampled(sessionS+"/state/counters", func(s *gpb.Subscription) {
		s.SuppressRedundant, s.HeartbeatInterval = true, uint64(4*time.Second)
	}))
	s.want("U "+matched+` "1"`, "U "+stamped+` "1"`, "S")
	clock.advance(time.Second)
	x.rows(counters("2", "1"))
	clock.advance(time.Second)
	s.want("U " + matched + ` "2"`)
	clock.advance(time.Second)
	clock.advance(time.Second)
	s.want("U "+matched+` "2"`, "U "+stamped+` "1"`)
	x.rows(map[string]string{"CONFIG_DB TAM_TAILSTAMPING_TABLE|s1": ""})
	clock.advance(time.Second)
	s.want("D " + sessionS + "/state/counters")
}

func checkSampleOfList(b *bed) {
	x, clock := b.timed()
	x.rows(samplers("1", "2"))
	s := x.subscribe(sampled(rates, nil))
	s.want("U "+rateA+" 1", "U "+rateB+" 2", "S")
	x.rows(samplers("", "2"))
	clock.advance(time.Second)
	s.wantInAnyOrder("D "+rateA, "U "+rateB+" 2")
	clock.advance(time.Second)
	s.want("U " + rateB + " 2")
}

func checkTargetDefined(b *bed) {
	x, clock := b.timed()
	x.rows(counters("1", "1"))
	x.rows(map[string]string{"STATE_DB TAM_STATE_TAILSTAMPING_TABLE|s1": "status=pending"})
	s := x.subscribe(streamOf(subOf(gpb.SubscriptionMode_TARGET_DEFINED, sessionS+"/state")))
	for s.next()[0] != "S" {
	}
	x.rows(map[string]string{"STATE_DB TAM_STATE_TAILSTAMPING_TABLE|s1": "status=active"})
	s.want("U "+sessionS+`/state/status "active"`, "U "+sessionS+"/state/status-number 1")
	<-clock.set // wait for the timer that was set before the change
	clock.advance(10 * time.Second)
	s.want("U "+matched+` "1"`, "U "+stamped+` "1"`)
}

// checkOneSync checks that each subscription has its own mode, and that one sync_response follows all first values.
func checkOneSync(b *bed) {
	x, clock := b.timed()
	x.rows(counters("1", "1"))
	x.rows(samplers("1", ""))
	list := sampled(matched, nil)
	list.Subscription = append(list.Subscription, subOf(onChange, rates))
	s := x.subscribe(list)
	s.want("U "+matched+` "1"`, "U "+rateA+" 1", "S")
	x.rows(samplers("2", ""))
	s.want("U " + rateA + " 2")
	<-clock.set // wait for the timer that was set before the change
	clock.advance(time.Second)
	s.want("U " + matched + ` "1"`)
	x.rows(samplers("3", ""))
	s.want("U " + rateA + " 3")
}

// checkShortHeartbeat checks that a heartbeat is one update, whether longer or shorter than the interval.
func checkShortHeartbeat(b *bed) {
	x, clock := b.timed()
	x.rows(samplers("1", ""))
	s := x.subscribe(sampled(rateA, func(s *gpb.Subscription) { s.HeartbeatInterval = uint64(1500 * time.Millisecond) }))
	s.want("U "+rateA+" 1", "S")
	for range 3 {
		clock.advance(time.Second)
		s.want("U " + rateA + " 1")
	}
	x, clock = b.timed()
	x.rows(samplers("1", ""))
	s = x.subscribe(sampled(rateA, func(s *gpb.Subscription) {
		s.SampleInterval, s.HeartbeatInterval = uint64(3*time.Second), uint64(2*time.Second)
	}))
	s.want("U "+rateA+" 1", "S")
	for _, wait := range []time.Duration{2, 1, 1, 2} { // at 2, 3, 4 and, both, 6 seconds
		clock.advance(wait * time.Second)
		s.want("U " + rateA + " 1")
	}
}
