package mgmt

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"tamtam/internal/randtest"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// A client with 90 subscriptions of everything keeps another's Get waiting for one piece of its work, not for 90.
func TestFairShares(t *testing.T) {
	b := staffed(t, "")
	s := b.server.reading
	for range places() {
		if err := s.enter(b.ctx, "user op"); err != nil {
			t.Fatal(err)
		}
	}
	subscribed := make(chan error)
	ctx, end := context.WithCancel(b.ctx)
	for range 90 {
		go func() {
			c := &feedClient{ctx: WithCaller(ctx, Caller{Name: "op", user: true}), sent: make(chan *gpb.SubscribeResponse)}
			c.request = &gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Subscribe{Subscribe: streamOf(&gpb.Subscription{Path: path("/"), Mode: gpb.SubscriptionMode_SAMPLE, SampleInterval: 1e9})}}
			subscribed <- b.server.Subscribe(c)
		}()
	}
	waits := func(client string, n int) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.clients[client] != nil && len(s.clients[client].waiting) == n
	}
	for !waits("user op", 90) {
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
	s.leave("user op") // one piece of work ends
	if err := <-got; err != nil {
		t.Error(err)
	}
	if waits("user op", 0) {
		t.Error("all others went first")
	}
	end()
	for range 90 {
		<-subscribed
	}
	for range places() - 1 {
		s.leave("user op")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free != places() || len(s.clients) != 0 {
		t.Errorf("at the end %d of %d places are free, and %d clients remembered", s.free, places(), len(s.clients))
	}
}

// A feedClient is a client of Subscribe that takes nothing.
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

// TestRandomShares: while a client waits, none that has more places gets one, and each of those with as many one at most;
// no place is lost, and none stays free while somebody waits.
func TestRandomShares(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 200, Short: 50}, func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0))
		most := 1 + rng.IntN(4)
		s := newShares(most)
		type wait struct {
			client string
			end    context.CancelFunc
			done   chan error
			passed map[string]int // places that others got meanwhile, with as many
		}
		var waiting []*wait
		held := map[string]int{}
		total := func() (n int) {
			for _, h := range held {
				n += h
			}
			return n
		}
		given := func() { // notes who was given a place
			for i := 0; i < len(waiting); i++ {
				w := waiting[i]
				select {
				case err := <-w.done:
					if err != nil {
						t.Fatal(err)
					}
				default:
					continue
				}
				waiting = append(waiting[:i], waiting[i+1:]...)
				i--
				for _, o := range waiting {
					if o.client == w.client {
						clear(o.passed)
						continue
					}
					if held[w.client] > held[o.client] {
						t.Fatalf("%s has %d places and gets one, while %s waits with %d", w.client, held[w.client], o.client, held[o.client])
					}
					if held[w.client] < held[o.client] {
						continue
					}
					if o.passed[w.client]++; o.passed[w.client] > 1 {
						t.Fatalf("%s gets a second place while %s waits with as many", w.client, o.client)
					}
				}
				held[w.client]++
			}
		}
		settled := func() {
			for {
				given()
				s.mu.Lock()
				taken, queued := most-s.free, 0
				for _, c := range s.clients {
					queued += len(c.waiting)
				}
				s.mu.Unlock()
				if taken == total() && queued == len(waiting) {
					if queued > 0 && taken < most {
						t.Fatalf("%d wait while %d of %d places are taken", queued, taken, most)
					}
					return
				}
				runtime.Gosched()
			}
		}
		for range 60 {
			switch client := fmt.Sprint("c", rng.IntN(3)); {
			case rng.IntN(2) == 0:
				ctx, end := context.WithCancel(t.Context())
				w := &wait{client, end, make(chan error, 1), map[string]int{}}
				waiting = append(waiting, w)
				go func() { w.done <- s.enter(ctx, client) }()
			case held[client] > 0:
				held[client]--
				s.leave(client)
			case len(waiting) > 0 && rng.IntN(4) == 0:
				i := rng.IntN(len(waiting))
				w := waiting[i]
				w.end()
				if err := <-w.done; err == nil {
					t.Fatal("who went away got a place")
				}
				waiting = append(waiting[:i], waiting[i+1:]...)
			}
			settled()
		}
	})
}
