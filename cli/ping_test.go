package cli

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// A pingHost acts as hostd: it writes the answers that a test prescribes.
type pingHost struct {
	*testing.T
	redis *swss.Redis

	mu    sync.Mutex
	asked []string // requests, as "OPERATION INPUT"
}

// serve answers requests by f until the test ends.
func (h *pingHost) serve(f func(op, name, input string)) {
	l := swss.NewListener(h.redis)
	requests := swss.NewNotificationConsumer(l, h.redis.DB(swss.StateDB), schema.PingChannel)
	if err := l.Sync(h.Context()); err != nil {
		h.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-l.Ready():
			}
			all, _ := requests.Pops(ctx) // Pops never fails here
			for _, q := range all {
				input := q.FieldValues()[schema.PacketTraceRequest]
				h.mu.Lock()
				h.asked = append(h.asked, strings.TrimSpace(q.Op+" "+input))
				h.mu.Unlock()
				f(q.Op, strings.TrimPrefix(q.Key, schema.PacketTraceAnswers), input)
			}
		}
	}()
	h.Cleanup(func() {
		stop()
		<-done
		l.Close()
	})
}

func (h *pingHost) requests() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.asked, "; ")
}

func (h *pingHost) write(name, answer string) {
	row := swss.FieldValues{schema.PacketTraceJSON: answer}
	err := swss.NewTable(h.redis.DB(swss.StateDB), schema.StatePacketTrace).SetFor(context.Background(), name, row,
		schema.PacketTraceTTL)
	if err != nil {
		h.Error(err)
	}
}

func (h *pingHost) publish(name, word, text string) {
	fields := swss.EncodeFields([]swss.Pair{{Field: word, Value: text}})
	err := h.redis.DB(swss.StateDB).Client().Publish(context.Background(), schema.PacketTraceAnswers+name, fields).Err()
	if err != nil {
		h.Error(err)
	}
}

// pingAnswer returns an answer of hostd with the given members.
func pingAnswer(members string) string {
	return `{"operation":"ping","destination":"10.0.0.5","source":"10.0.0.1","size":56,"timeout-ns":2000000000,` +
		members + `}`
}

// The output of ping is as that of iputils. Errors are shown with their source, and what is unknown is no loss.
func TestPingOutput(t *testing.T) {
	for _, tt := range []struct{ name, line, input, answer, want, err string }{
		{
			"all kinds of answers", "ping 10.0.0.5 count 7 timeout 2s source 10.0.0.1 size 56 interval 500ms ttl 9",
			`ping {"count":7,"destination":"10.0.0.5","interval":500,"size":56,"source":"10.0.0.1","timeout":2000,"ttl":9}`,
			pingAnswer(`"done":true,"sent":6,"received":2,"errors":2,"no-reply":2,"waiting":0,"not-sent":1,"duplicates":1,` +
				`"strange":0,"rtt":{"min-ns":310000,"avg-ns":755155000,"max-ns":1510000000},"events-before":0,"events":[` +
				`{"number":1,"sequence":1,"kind":"reply","from":"10.0.0.5","ttl":64,"bytes":64,"rtt-ns":310000},` +
				`{"number":2,"sequence":1,"kind":"reply","from":"10.0.0.5","ttl":64,"bytes":64,"rtt-ns":12340000,` +
				`"duplicate":true},` +
				`{"number":3,"sequence":2,"kind":"no-reply"},` +
				`{"number":4,"sequence":3,"kind":"ttl-exceeded","from":"10.1.0.1","text":"Time to live exceeded"},` +
				`{"number":5,"sequence":4,"kind":"no-neighbor","from":"10.0.0.1","rtt-ns":3000000000,` +
				`"text":"neighbour 10.0.0.5 at Ethernet0 does not answer ARP requests"},` +
				`{"number":6,"sequence":5,"kind":"not-sent","text":"no route to 10.0.0.5"},` +
				`{"number":7,"sequence":6,"kind":"no-reply"},` +
				`{"number":8,"sequence":7,"kind":"reply","from":"10.0.0.5","ttl":64,"bytes":64,"rtt-ns":1510000000,` +
				`"late":true}],` +
				`"notes":["a hint"]`),
			`PING 10.0.0.5 from 10.0.0.1: 56 data bytes
64 bytes from 10.0.0.5: icmp_seq=1 ttl=64 time=0.310 ms
64 bytes from 10.0.0.5: icmp_seq=1 ttl=64 time=12.34 ms (DUP!)
no reply: icmp_seq=2 within 2000 ms
From 10.1.0.1: icmp_seq=3 Time to live exceeded
From 10.0.0.1: icmp_seq=4 neighbour 10.0.0.5 at Ethernet0 does not answer ARP requests
not sent: icmp_seq=5: no route to 10.0.0.5
no reply: icmp_seq=6 within 2000 ms
64 bytes from 10.0.0.5: icmp_seq=7 (late) ttl=64 time=1510 ms

--- 10.0.0.5 ping statistics ---
6 packets transmitted, 2 received, +1 duplicates, +2 errors, 1 not sent, 66.7% packet loss
rtt min/avg/max = 0.310/755/1510 ms
Note: a hint
`, "",
		},
		{
			"no reply at all", "ping 10.0.0.5 count 1", `ping {"count":1,"destination":"10.0.0.5"}`,
			pingAnswer(`"done":true,"sent":1,"received":0,"errors":0,"no-reply":1,"waiting":0,"not-sent":0,"duplicates":0,` +
				`"strange":0,"events-before":300,"events":[{"number":301,"sequence":1,"kind":"no-reply"}]`),
			`PING 10.0.0.5 from 10.0.0.1: 56 data bytes
(300 more answers are not shown)
no reply: icmp_seq=1 within 2000 ms

--- 10.0.0.5 ping statistics ---
1 packets transmitted, 0 received, 100% packet loss
`, "%Error: No reply from 10.0.0.5",
		},
		{
			"traceroute", "traceroute 10.0.0.5 probes 3 max-hops 9 interface Ethernet0",
			`traceroute {"destination":"10.0.0.5","interface":"Ethernet0","max-hops":9,"probes":3}`,
			strings.Replace(pingAnswer(`"done":true,"received":1,"no-reply":4,"hops":[`+
				`{"hop":1,"complete":true,"probes":[{"kind":"ttl-exceeded","from":"10.1.0.1","rtt-ns":310000,"text":"x"},`+
				`{"kind":"no-reply"},{"kind":"ttl-exceeded","from":"10.1.0.2","rtt-ns":320000}]},`+
				`{"hop":2,"complete":true,"probes":[{"kind":"no-reply"},{"kind":"no-reply"},{"kind":"no-reply"}]},`+
				`{"hop":3,"complete":true,"probes":[{"kind":"reply","from":"10.0.0.5","rtt-ns":410000},`+
				`{"kind":"unreachable","from":"10.3.0.1","rtt-ns":420000,"text":"Packet filtered"},`+
				`{"kind":"not-sent","text":"no route to 10.0.0.5"}]}]`), `"ping"`, `"traceroute"`, 1),
			`TRACEROUTE 10.0.0.5 from 10.0.0.1: 56 data bytes
 1  10.1.0.1  0.310 ms  *  10.1.0.2  0.320 ms
 2  *  *  *
 3  10.0.0.5  0.410 ms  10.3.0.1  0.420 ms (Packet filtered)  not sent: no route to 10.0.0.5
Note: * means no reply; routers limit the rate of their errors, and some send none
`, "",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, r := newSwitch(t)
			h := &pingHost{T: t, redis: r}
			h.serve(func(_, name, _ string) {
				h.write(name, tt.answer)
				h.publish(name, schema.PacketTraceDone, name)
			})
			err := s.Exec(t.Context(), tt.line)
			if got := s.out.String(); got != tt.want {
				t.Errorf("printed\n%s\nwant\n%s", got, tt.want)
			}
			if fmt.Sprint(err) != tt.err && (err != nil || tt.err != "") {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			if got := h.requests(); got != tt.input {
				t.Errorf("asked %s, want %s", got, tt.input)
			}
		})
	}
}

// An interrupt ends a ping at the switch, and the shell prints what came of it. Requests that were not waited for are
// no loss.
func TestPingInterrupted(t *testing.T) {
	s, r := newSwitch(t)
	h := &pingHost{T: t, redis: r}
	ctx, interrupt := context.WithCancel(t.Context())
	const first = `"events-before":0,"events":[` +
		`{"number":1,"sequence":1,"kind":"reply","from":"10.0.0.5","ttl":64,"bytes":64,"rtt-ns":310000}],` +
		`"rtt":{"min-ns":310000,"avg-ns":310000,"max-ns":310000},"errors":0,"no-reply":0,"not-sent":0,"duplicates":0,` +
		`"strange":0,"received":1,"sent":2,"waiting":1`
	h.serve(func(op, name, _ string) {
		if op == schema.PingAsk {
			h.write(name, pingAnswer(`"done":false,`+first))
			interrupt()
			return
		}
		h.write(name, pingAnswer(`"done":true,"stopped":true,`+first))
	})
	if err := s.Exec(ctx, "ping 10.0.0.5 count 100"); err != nil {
		t.Error(err)
	}
	const want = `PING 10.0.0.5 from 10.0.0.1: 56 data bytes
64 bytes from 10.0.0.5: icmp_seq=1 ttl=64 time=0.310 ms

--- 10.0.0.5 ping statistics ---
2 packets transmitted, 1 received, 1 not waited for, 0% packet loss
rtt min/avg/max = 0.310/0.310/0.310 ms
`
	if got := s.out.String(); got != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
	if got := h.requests(); got != `ping {"count":100,"destination":"10.0.0.5"}; cancel` {
		t.Errorf("asked %s", got)
	}
}

// The reason of the switch, and a switch that is no host, are errors.
func TestPingRefused(t *testing.T) {
	s, r := newSwitch(t)
	if got := s.fails(t, "ping 10.0.0.5"); !strings.Contains(got, "neither hostd nor hostifd is running") {
		t.Error(got)
	}
	h := &pingHost{T: t, redis: r}
	h.serve(func(_, name, _ string) { h.publish(name, schema.PacketTraceRefused, "no route to 192.0.2.1") })
	if got := s.fails(t, "traceroute 192.0.2.1"); got != "%Error: Traceroute: no route to 192.0.2.1" {
		t.Error(got)
	}
	if got := s.out.String(); got != "" {
		t.Errorf("printed %q", got)
	}
}
