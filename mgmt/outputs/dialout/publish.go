// Package dialout sends the messages of a gNMI Subscribe to a collector that the switch connects to. It speaks SONiC's
// gNMIDialOut, and the protocol that gnmic accepts when it listens.
//
// What belongs here: the subscriptions of TELEMETRY_CLIENT as gNMI lists, and the stream to a collector. The values are
// those of the gNMI server, whose Subscribe is called as if by a client.
//
// A slow collector delays only its own subscription, which then sends the newest values instead of all. If a collector
// is unavailable, messages that do not fit into the spool are lost and counted. When it is available again, the
// subscription restarts and sends all values. So the collector's values are correct whatever it has missed.
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
	// Follow sends the messages that a client of Subscribe would get, until ctx ends.
	Follow(ctx context.Context, list *gpb.SubscriptionList, send func(*gpb.SubscribeResponse) error) error
}

// A Publisher sends a subscription to an output.
type Publisher struct {
	From Subscriber
	List *gpb.SubscriptionList
	Out  *outputs.Output
	// Room is the number of bytes that may wait in the spool before the subscription waits for a slow collector. 0
	// means no limit.
	Room int

	// Fails is called with the reason if the subscription fails, and with nil when it works. It may be nil.
	Fails func(error)
}

// again is the delay after a subscription has failed.
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
	sending, stop := context.WithCancel(context.WithoutCancel(ctx)) // it ends after the subscription
	defer stop()
	sent := make(chan error, 1)
	go func() { sent <- p.Out.Run(sending) }()
	p.subscribe(ctx, connected)
	stop()
	return <-sent
}

// subscribe maintains a subscription. The first begins immediately, so that changes before the first connection are
// sent. A new one replaces it after each further connection, after lost values, and some time after a failure.
func (p *Publisher) subscribe(ctx context.Context, connected <-chan struct{}) {
	for first := true; ctx.Err() == nil; {
		live, end := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- p.From.Follow(live, p.List, (&sending{ctx: live, p: p}).send) }()
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
			case <-connected: // the new subscription repeats lost values
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

// send puts a message into the spool. If the spool is full and the collector accepts messages, it waits for space.
// Meanwhile the subscription keeps only the newest values.
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

// look is the interval at which send checks for space in the spool.
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

// lost reports whether some message was never sent.
func (p *Publisher) lost() bool {
	_, _, _, l := p.Out.Fill(time.Now())
	return l.Total() > 0
}
