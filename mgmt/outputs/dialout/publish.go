// Package dialout sends what a gNMI Subscribe gives to a collector that the switch calls, instead of one that calls it:
// as SONiC's gNMIDialOut does, and as gnmic takes it when it listens.
//
// What belongs here: the subscriptions of TELEMETRY_CLIENT as gNMI has them, and the stream to a collector. The values
// are those of the gNMI server, whose Subscribe is called as if a client had.
//
// A collector that reads slowly slows its own subscription down, which then sends the newest values and not all. One
// that is away loses what its spool has no room for, counted; when it is back the subscription begins anew, and all
// values are sent once more, so that what a collector has is right whatever it has missed.
package dialout

import (
	"context"
	"errors"
	"time"

	"tamtam/mgmt/outputs"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/protobuf/proto"
)

// A Subscriber serves subscriptions: the gNMI server.
type Subscriber interface {
	// Follow sends what a client of Subscribe would get, until ctx ends.
	Follow(ctx context.Context, list *gpb.SubscriptionList, send func(*gpb.SubscribeResponse) error) error
}

// A Publisher has a subscription, and the output that it goes to.
type Publisher struct {
	From Subscriber
	List *gpb.SubscriptionList
	Out  *outputs.Output
	// Room is how much of the spool may be full before the subscription waits for a collector that reads slowly.
	Room int

	// Fails hears why there is no subscription, and nil when there is one; nil: nobody does.
	Fails func(error)
}

// again is how long is waited after a subscription has failed.
const again = 5 * time.Second

// Run publishes until ctx ends; a subscription of mode ONCE is sent once per connection.
func (p *Publisher) Run(ctx context.Context) error {
	connected := make(chan struct{}, 1)
	p.Out.Connected = func() {
		select {
		case connected <- struct{}{}:
		default:
		}
	}
	sending, stop := context.WithCancel(context.WithoutCancel(ctx)) // it ends behind the subscription
	defer stop()
	sent := make(chan error, 1)
	go func() { sent <- p.Out.Run(sending) }()
	p.subscribe(ctx, connected)
	stop()
	return <-sent
}

// subscribe keeps a subscription: the first at once, so that what happens before there is a collector is told, and a
// new one behind each further connection.
func (p *Publisher) subscribe(ctx context.Context, connected <-chan struct{}) {
	for first := true; ctx.Err() == nil; {
		life, end := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- p.From.Follow(life, p.List, (&sending{ctx: life, p: p}).send) }()
		var err error
		anew := false
		for running := true; !anew; {
			var retry <-chan time.Time
			var over <-chan error
			if running {
				over = ended
			} else if err != nil {
				retry = time.After(again)
			}
			select {
			case <-ctx.Done():
				anew = true
			case <-connected: // what was lost before, the new one sends
				anew, first = !first || p.lost(), false
			case err = <-over:
				running = false
				if err != nil && ctx.Err() == nil && p.Fails != nil {
					p.Fails(err)
				}
			case <-retry:
				anew = true
			}
			if anew && running {
				end()
				<-ended
			}
		}
		end()
	}
}

// A sending is one subscription of a publisher.
type sending struct {
	ctx   context.Context
	p     *Publisher
	began bool
}

// send puts a message into the spool. While the collector takes some, it waits for room: meanwhile the subscription
// forgets what is not the newest.
func (r *sending) send(m *gpb.SubscribeResponse) error {
	data, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	if !r.began && r.p.Fails != nil {
		r.began = true
		r.p.Fails(nil)
	}
	for {
		now := time.Now()
		s := r.p.Out.Status(now)
		if s.State != outputs.Active || s.WaitingBytes <= r.p.Room || r.p.Room == 0 {
			r.p.Out.Put(now, data)
			return nil
		}
		if !r.wait() {
			return errors.New("the subscription has ended")
		}
	}
}

// look is how often is looked whether there is room.
const look = 50 * time.Millisecond

func (r *sending) wait() bool {
	t := time.NewTimer(look)
	defer t.Stop()
	select {
	case <-r.ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// lost reports whether something was never sent.
func (p *Publisher) lost() bool {
	_, _, _, l := p.Out.Fill(time.Now())
	return l.Total() > 0
}
