package mgmt

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"tamtam/mgmt/tree"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// A client that accepts nothing costs as little at the end as at the beginning. It gets the newest values when it
// continues, and delays no other client.
func TestStalledSubscriber(t *testing.T) {
	b := newBed(t, nil)
	b.rows(samplers("1", ""))
	stalled := &stallingRPC{ctx: b.ctx, gate: make(chan struct{}), got: make(chan *gpb.SubscribeResponse, 1000)}
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(b.ctx)
	stalled.ctx = ctx
	go func() { done <- b.server.Subscribe(stalled) }()
	stalled.gate <- struct{}{} // accept the first value
	stalled.gate <- struct{}{} // accept the sync_response
	live := b.subscribe(streamOf(subOf(onChange, rates)))
	live.want("U "+rateA+" 1", "S")
	const last = 2000
	for i := 2; i <= last; i++ {
		b.rows(samplers(fmt.Sprint(i), ""))
	}
	for want := fmt.Sprintf("U %s %d", rateA, last); !strings.HasPrefix(live.next()[0], want); {
	}
	n := 0
	for value := ""; !strings.HasPrefix(value, fmt.Sprintf("U %s %d", rateA, last)); {
		select {
		case stalled.gate <- struct{}{}:
			n++
		case m := <-stalled.got:
			value = lines(m)[0]
		}
	}
	if n > 10 {
		t.Errorf("%d messages waited for the stalled client", n)
	}
	cancel()
	if err := <-done; err == nil {
		t.Error("a cancelled RPC ended well")
	}
	if got := len(b.server.hub.Subscribers(tree.TableID{DB: "CONFIG_DB", Table: "TAM_SAMPLINGRATE_TABLE"})); got > 1 {
		t.Errorf("%d subscribers are left", got)
	}
}

// A client that accepts nothing for long is disconnected.
func TestStallLimit(t *testing.T) {
	expired := make(chan time.Time)
	close(expired)
	b := newBed(t, func(c *Config) { c.After = func(time.Duration) <-chan time.Time { return expired } })
	b.rows(samplers("1", "2"))
	stalled := &stallingRPC{ctx: b.ctx, gate: make(chan struct{}), got: make(chan *gpb.SubscribeResponse, 10)}
	err := b.server.Subscribe(stalled)
	wantErr(t, err, "ResourceExhausted", "took nothing")
	close(stalled.gate)
}

// A stallingRPC is a client that accepts a message only when the gate permits.
type stallingRPC struct {
	gpb.GNMI_SubscribeServer
	ctx  context.Context
	gate chan struct{}
	got  chan *gpb.SubscribeResponse
	sent bool
	list *gpb.SubscriptionList // nil means changes of the rates
}

func (r *stallingRPC) Context() context.Context { return r.ctx }

func (r *stallingRPC) Recv() (*gpb.SubscribeRequest, error) {
	if r.sent {
		<-r.ctx.Done()
		return nil, r.ctx.Err()
	}
	r.sent = true
	if r.list == nil {
		r.list = streamOf(subOf(onChange, rates))
	}
	return &gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Subscribe{Subscribe: r.list}}, nil
}

func (r *stallingRPC) Send(m *gpb.SubscribeResponse) error {
	select {
	case <-r.gate:
	case <-r.ctx.Done():
		return r.ctx.Err()
	}
	if m.GetUpdate() != nil {
		r.got <- m
	}
	return nil
}
