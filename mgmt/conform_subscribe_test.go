package mgmt

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"tamtam/mgmt/tree"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

const (
	onceMode = gpb.SubscriptionList_ONCE
	pollMode = gpb.SubscriptionList_POLL
)

// subscribingChecks returns the checks of Subscribe in general, of ONCE and of POLL.
func subscribingChecks() map[string]func(*bed) {
	return map[string]func(*bed){
		"B1": func(b *bed) {
			rpc, err := b.client.Subscribe(b.ctx)
			if err != nil {
				b.t.Fatal(err)
			}
			s := &sub{b.t, rpc}
			s.poll()
			s.wantEnd("InvalidArgument", "SubscriptionList")
		},
		"B2": func(b *bed) {
			other := b.subscribe(streamOf(subOf(onChange, rates)))
			other.want("S")
			for _, mode := range []gpb.SubscriptionList_Mode{gpb.SubscriptionList_STREAM, pollMode} {
				s := b.subscribe(listOf(mode, subOf(onChange, rates)))
				s.want("S")
				again := &gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Subscribe{
					Subscribe: streamOf(subOf(onChange, rates))}}
				if err := s.rpc.Send(again); err != nil {
					b.t.Fatal(err)
				}
				s.wantEnd("InvalidArgument")
			}
			b.rows(samplers("1", ""))
			other.want("U " + rateA + " 1")
		},
		"B3": func(b *bed) { b.subscribe(streamOf()).wantEnd("InvalidArgument", "subscription") },
		"B4": func(b *bed) {
			s := b.subscribe(&gpb.SubscriptionList{Encoding: asIETF, Subscription: []*gpb.Subscription{{Path: path(rates)}}})
			s.want("S")
			b.rows(samplers("1", ""))
			s.want("U " + rateA + " 1")
		},
		"B5": func(b *bed) {
			s := b.subscribe(streamOf(subOf(onChange, rateA)))
			s.want("S")
			b.rows(samplers("1", ""))
			s.want("U " + rateA + " 1")
		},
		"B6": func(b *bed) {
			for _, mode := range []gpb.SubscriptionList_Mode{gpb.SubscriptionList_STREAM, onceMode, pollMode} {
				list := listOf(mode, subOf(0, "/tam/nowhere"), subOf(0, rateA), subOf(0, "/system/ntps"))
				b.subscribe(list).wantEnd("Unimplemented", "/tam/nowhere", "\n/system/ntps")
			}
		},
		"B7": checkLeaves,
		"B8": func(b *bed) {
			b.rows(samplers("1", "2"))
			s := b.subscribe(streamOf(subOf(onChange, "/tam/samplers/sampler/config")))
			s.want("U "+entryA+`/config/name "a"`, "U "+rateA+" 1", "U "+entryB+`/config/name "b"`, "U "+rateB+" 2", "S")
			b.mustSet(deleting(entryA))
			s.want("D " + entryA + "/config")
			b.mustSet(deleting(entryB))
			s.want("D " + entryB + "/config")
		},
		"B9": func(b *bed) {
			b.mustSet(replacing(update(portE0+"/config", `{"description":"x","enabled":true,"mtu":9000}`)))
			s := b.subscribe(streamOf(subOf(onChange, portE0+"/config")))
			for s.next()[0] != "S" {
			}
			b.mustSet(replacing(update(portE0+"/config", `{"enabled":false,"mtu":9000}`)))
			if got := fmt.Sprint(s.next()); got != "[D "+portE0+"/config/description U "+portE0+"/config/enabled false]" {
				b.t.Error(got)
			}
		},
		"B10": checkTimes, "B11": checkNoPathTwice, "B12": checkSlowClient, "B13": checkLeaving, "B14": checkValuesOfStream,
		"B15": func(b *bed) {
			list := listOf(onceMode, subOf(0, portE0+"/config/mtu"))
			list.Qos = &gpb.QOSMarking{Marking: 63}
			b.subscribe(list).want("U "+portE0+"/config/mtu 9100", "S")
		},
		"B16": func(b *bed) {
			list := listOf(onceMode, subOf(0, portE0+"/state"))
			list.UseModels = []*gpb.ModelData{{Name: "openconfig-interfaces"}}
			s := b.subscribe(list)
			for line := s.next()[0]; line != "S"; line = s.next()[0] {
				if strings.Contains(line, "/alias") { // it is in tamtam-interfaces
					b.t.Error(line)
				}
			}
			list.UseModels[0].Name = "nope"
			b.subscribe(list).wantEnd("InvalidArgument", "nope")
		},
		"B17": func(b *bed) {
			b.rows(samplers("1", ""))
			s := b.subscribe(streamOf(subOf(onChange, rates), subOf(onChange, rateA), subOf(onChange, entryA+"/config")))
			seen := false
			for line := s.next(); line[0] != "S"; line = s.next() {
				seen = seen || slices.Contains(line, "U "+rateA+" 1")
			}
			if !seen {
				b.t.Error("a leaf did not come")
			}
		},
		"O1": func(b *bed) {
			b.rows(samplers("1", "2"))
			s := b.subscribe(listOf(onceMode, subOf(0, rates)))
			s.want("U "+rateA+" 1", "U "+rateB+" 2", "S")
			s.wantEnd("OK")
		},
		"O2": func(b *bed) {
			list := listOf(onceMode, subOf(0, portE0))
			list.UpdatesOnly = true
			s := b.subscribe(list)
			s.want("S")
			s.wantEnd("OK")
		},
		"O3": func(b *bed) {
			s := b.subscribe(listOf(onceMode, subOf(0, rates), subOf(0, c1)))
			s.want("S")
			s.wantEnd("OK")
		},
		"L1": checkPoll, "L2": checkPoll, "L3": checkPoll,
		"L4": func(b *bed) {
			b.rows(samplers("1", ""))
			list := listOf(pollMode, subOf(0, rates))
			list.UpdatesOnly = true
			s := b.subscribe(list)
			s.want("S")
			s.poll()
			s.want("U "+rateA+" 1", "S")
		},
		"L5": func(b *bed) {
			s := b.subscribe(streamOf(subOf(onChange, rates)))
			s.want("S")
			s.poll()
			s.wantEnd("InvalidArgument", "Poll")
		},
	}
}

const (
	entryA = "/tam/samplers/sampler[name=a]"
	entryB = "/tam/samplers/sampler[name=b]"
)

func checkPoll(b *bed) {
	b.rows(samplers("1", "2"))
	s := b.subscribe(listOf(pollMode, subOf(0, rates)))
	s.want("U "+rateA+" 1", "U "+rateB+" 2", "S")
	for range 2 {
		s.poll()
		s.want("U "+rateA+" 1", "U "+rateB+" 2", "S")
	}
	b.rows(samplers("3", ""))
	s.poll()
	s.want("U "+rateA+" 3", "S")
	if err := s.rpc.CloseSend(); err != nil {
		b.t.Fatal(err)
	}
	s.wantEnd("OK")
}

// initial returns the Notifications before the sync_response.
func (s *sub) initial() []*gpb.Notification {
	s.t.Helper()
	var all []*gpb.Notification
	for {
		m, err := s.rpc.Recv()
		if err != nil {
			s.t.Fatal(err)
		}
		if m.GetSyncResponse() {
			return all
		}
		all = append(all, m.GetUpdate())
	}
}

func checkLeaves(b *bed) {
	for _, aggregate := range []bool{false, true} {
		list := listOf(onceMode, subOf(0, "/"))
		list.Encoding, list.AllowAggregation = asPROT, aggregate
		for _, n := range b.subscribe(list).initial() {
			for _, u := range n.GetUpdate() {
				ts, err := b.server.model.Resolve(nil, u.GetPath(), 0)
				if err != nil || len(ts) != 1 || ts[0].Wild() || ts[0].Node.Type == nil {
					b.t.Errorf("%v is no leaf: %v", u, err)
				}
			}
		}
	}
}

func checkTimes(b *bed) {
	s := b.subscribe(streamOf(subOf(onChange, rates)))
	s.want("S")
	last := b.server.now().UnixNano()
	for i := range 5 {
		b.rows(samplers(fmt.Sprint(i+1), ""))
		m, err := s.rpc.Recv()
		if err != nil {
			b.t.Fatal(err)
		}
		if at := m.GetUpdate().GetTimestamp(); at < last {
			b.t.Errorf("%d is before %d", at, last)
		} else {
			last = at
		}
	}
}

func checkNoPathTwice(b *bed) {
	for _, n := range b.subscribe(listOf(onceMode, subOf(0, "/"))).initial() {
		seen := map[string]bool{}
		for _, u := range n.GetUpdate() {
			p := tree.PathText(u.GetPath())
			if seen[p] {
				b.t.Errorf("%s is there twice", p)
			}
			seen[p] = true
		}
	}
}

// checkSlowClient checks that the number of messages that wait for a stalled client is small. It also checks that an
// update counts its duplicates.
func checkSlowClient(b *bed) {
	b.rows(samplers("1", ""))
	ctx, cancel := context.WithCancel(b.ctx)
	slow := &stallingRPC{ctx: ctx, gate: make(chan struct{}), got: make(chan *gpb.SubscribeResponse, 100)}
	ended := make(chan error, 1)
	go func() { ended <- b.server.Subscribe(slow) }()
	defer func() { cancel(); <-ended }()
	slow.gate <- struct{}{} // accept the first value
	slow.gate <- struct{}{} // accept the sync_response
	live := b.subscribe(streamOf(subOf(onChange, rates)))
	live.want("U "+rateA+" 1", "S")
	const last = 50
	for i := 2; i <= last; i++ {
		b.rows(samplers(fmt.Sprint(i), ""))
		want := fmt.Sprintf("U %s %d", rateA, i)
		for !strings.HasPrefix(live.next()[0], want) { // the slow client delays no other
		}
	}
	taken := 0
	for value := ""; value != fmt.Sprint(last); {
		select {
		case slow.gate <- struct{}{}:
			taken++
		case m := <-slow.got:
			value = string(m.GetUpdate().GetUpdate()[0].GetVal().GetJsonIetfVal())
		}
	}
	if taken > 10 {
		b.t.Errorf("%d messages waited for the slow client", taken)
	}
	x, clock := b.timed()
	x.rows(samplers("1", ""))
	s := x.subscribe(sampled(rateA, nil))
	s.want("U "+rateA+" 1", "S")
	clock.advance(4 * time.Second) // three samples were missed
	s.want("U " + rateA + " 1 +3")
}

func checkLeaving(b *bed) {
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	x := *b
	x.ctx = ctx
	s := x.subscribe(streamOf(subOf(onChange, rates)))
	s.want("S")
	if err := s.rpc.CloseSend(); err != nil {
		b.t.Fatal(err)
	}
	b.rows(samplers("1", ""))
	s.want("U " + rateA + " 1")
	cancel()
	for len(b.server.subscribers) > 0 { // each RPC has its place as long as it runs
		if b.ctx.Err() != nil {
			b.t.Fatal("a Subscribe runs on")
		}
		runtime.Gosched()
	}
}

func checkValuesOfStream(b *bed) {
	for enc, want := range map[gpb.Encoding]string{
		asJSON: `json_val:"\"UP\""`, asIETF: `json_ietf_val:"\"UP\""`, asPROT: `string_val:"UP"`,
	} {
		list := listOf(onceMode, subOf(0, portE0+"/state/oper-status"))
		list.Encoding = enc
		got := b.subscribe(list).initial()[0].GetUpdate()[0].GetVal().String()
		b.wantText(strings.ReplaceAll(got, " ", ""), want)
	}
	list := listOf(onceMode, subOf(0, portE0))
	list.Encoding = gpb.Encoding_BYTES
	b.subscribe(list).wantEnd("Unimplemented", "BYTES")
}
