package mgmt

import (
	"context"
	"runtime"
	"testing"

	"tamtam/mgmt/auth"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// A client with 90 subscriptions to everything delays another client's Get by one piece of work, not by 90.
func TestFairShares(t *testing.T) {
	b := staffed(t, "")
	s := b.server.reading
	for range auth.Places() {
		if err := s.Enter(b.ctx, "192.0.2.7"); err != nil {
			t.Fatal(err)
		}
	}
	subscribed := make(chan error)
	ctx, end := context.WithCancel(b.ctx)
	for range 90 {
		go func() {
			c := &feedClient{ctx: auth.WithCaller(ctx, auth.Caller{Name: "op", From: "192.0.2.7:1"}),
				sent: make(chan *gpb.SubscribeResponse)}
			c.request = &gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Subscribe{
				Subscribe: streamOf(&gpb.Subscription{Path: path("/"), Mode: gpb.SubscriptionMode_SAMPLE, SampleInterval: 1e9})}}
			subscribed <- b.server.Subscribe(c)
		}()
	}
	waits := func(client string, n int) bool {
		held, waiting := s.Of(client)
		return held+waiting > 0 && waiting == n
	}
	for !waits("192.0.2.7", 90) {
		runtime.Gosched()
	}
	got := make(chan error)
	go func() {
		_, err := b.server.Get(b.as("root"), &gpb.GetRequest{Path: []*gpb.Path{path("/")}})
		got <- err
	}()
	for !waits("user root", 1) {
		runtime.Gosched()
	}
	s.Leave("192.0.2.7") // one piece of work ends
	if err := <-got; err != nil {
		t.Error(err)
	}
	if waits("192.0.2.7", 0) {
		t.Error("all others went first")
	}
	end()
	for range 90 {
		<-subscribed
	}
	for range auth.Places() - 1 {
		s.Leave("192.0.2.7")
	}
	for _, client := range []string{"192.0.2.7", "user root"} {
		if held, waiting := s.Of(client); held+waiting > 0 {
			t.Errorf("at the end %s has %d places, and waits for %d", client, held, waiting)
		}
	}
}

// A feedClient is a client of Subscribe that accepts nothing.
type feedClient struct {
	gpb.GNMI_SubscribeServer
	ctx     context.Context
	request *gpb.SubscribeRequest
	sent    chan *gpb.SubscribeResponse
}

func (c *feedClient) Context() context.Context { return c.ctx }

func (c *feedClient) Recv() (*gpb.SubscribeRequest, error) {
	if r := c.request; r != nil {
		c.request = nil
		return r, nil
	}
	<-c.ctx.Done()
	return nil, c.ctx.Err()
}

func (c *feedClient) Send(m *gpb.SubscribeResponse) error {
	select {
	case c.sent <- m:
		return nil
	case <-c.ctx.Done():
		return c.ctx.Err()
	}
}
