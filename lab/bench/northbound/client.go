package northbound

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// path returns the path with the given element names.
func path(names ...string) *gpb.Path {
	p := &gpb.Path{}
	for _, n := range names {
		p.Elem = append(p.Elem, &gpb.PathElem{Name: n})
	}
	return p
}

// ofSessions returns the path of leaves or containers of all sessions.
func ofSessions(names ...string) *gpb.Path {
	return path(append([]string{"tam", "tailstamping-sessions", "tailstamping-session"}, names...)...)
}

func ofFlowGroup(name string, names ...string) *gpb.Path {
	p := path(append([]string{"tam", "flowgroups", "flowgroup"}, names...)...)
	p.Elem[2].Key = map[string]string{"name": name}
	return p
}

// A counter is a subscriber that counts what it receives without decoding it, since it must cost little.
type counter struct {
	updates, bytes, syncs, messages atomic.Int64
	stop                            context.CancelFunc
	done                            chan error
}

// counting is a codec that counts the updates in the messages instead of decoding them.
type counting struct{ c *counter }

func (counting) Name() string { return "proto" }

func (counting) Marshal(v any) ([]byte, error) { return proto.Marshal(v.(proto.Message)) }

// Field numbers of SubscribeResponse and Notification.
const (
	responseUpdate     = 1
	responseSync       = 3
	notificationUpdate = 4
)

func (x counting) Unmarshal(data []byte, _ any) error {
	x.c.bytes.Add(int64(len(data)))
	x.c.messages.Add(1)
	return eachField(data, func(n protowire.Number, v []byte) error {
		switch n {
		case responseSync:
			x.c.syncs.Add(1)
		case responseUpdate:
			return eachField(v, func(n protowire.Number, _ []byte) error {
				if n == notificationUpdate {
					x.c.updates.Add(1)
				}
				return nil
			})
		}
		return nil
	})
}

// eachField calls f for the fields of a message. Fields of type bytes have their value.
func eachField(data []byte, f func(protowire.Number, []byte) error) error {
	for len(data) > 0 {
		num, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return protowire.ParseError(n)
		}
		data = data[n:]
		var v []byte
		if kind == protowire.BytesType {
			v, n = protowire.ConsumeBytes(data)
		} else {
			n = protowire.ConsumeFieldValue(num, kind, data)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		data = data[n:]
		if err := f(num, v); err != nil {
			return err
		}
	}
	return nil
}

// subscribe begins a subscription over its own connection, from its own address, since the number per address is
// limited.
func (m *process) subscribe(ctx context.Context, host byte, sub *gpb.Subscription) (*counter, error) {
	c := &counter{done: make(chan error, 1)}
	from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, host)}}
	dial := func(ctx context.Context, addr string) (net.Conn, error) { return from.DialContext(ctx, "tcp", addr) }
	conn, err := m.dial(grpc.WithContextDialer(dial), grpc.WithDefaultCallOptions(grpc.ForceCodec(counting{c})))
	if err != nil {
		return nil, err
	}
	ctx, c.stop = context.WithCancel(ctx)
	rpc, err := gpb.NewGNMIClient(conn).Subscribe(ctx)
	if err == nil {
		err = rpc.Send(&gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Subscribe{Subscribe: &gpb.SubscriptionList{
			Encoding: gpb.Encoding_PROTO, Subscription: []*gpb.Subscription{sub}}}})
	}
	if err != nil {
		c.stop()
		return nil, err
	}
	go func() {
		defer conn.Close()
		for err := error(nil); ; {
			if _, err = rpc.Recv(); err != nil {
				c.done <- err
				return
			}
		}
	}()
	return c, nil
}

// until waits until there returns true for all counters.
func until(ctx context.Context, what string, counters []*counter, there func(*counter) bool) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for _, c := range counters {
		for !there(c) {
			select {
			case err := <-c.done:
				return fmt.Errorf("%s: %w", what, err)
			case <-ctx.Done():
				return fmt.Errorf("%s: %d updates in %d messages came: %w", what, c.updates.Load(), c.messages.Load(), ctx.Err())
			case <-time.After(2 * time.Millisecond):
			}
		}
	}
	return nil
}

// subscribers begins n subscriptions, and waits until they have received everything that exists. If the machine is so
// busy that mgmtd is not ready, it tries again.
func (m *process) subscribers(ctx context.Context, n int, sub *gpb.Subscription) ([]*counter, func(), error) {
	for tries := 1; ; tries++ {
		all, end, err := m.trySubscribers(ctx, n, sub)
		if status.Code(err) != codes.Unavailable || tries == 10 {
			return all, end, err
		}
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

func (m *process) trySubscribers(ctx context.Context, n int, sub *gpb.Subscription) ([]*counter, func(), error) {
	var all []*counter
	end := func() {
		for _, c := range all {
			c.stop()
		}
	}
	for i := range n {
		c, err := m.subscribe(ctx, byte(i+1), sub)
		if err != nil {
			end()
			return nil, nil, err
		}
		all = append(all, c)
	}
	if err := until(ctx, "the first values", all, func(c *counter) bool { return c.syncs.Load() > 0 }); err != nil {
		end()
		return nil, nil, err
	}
	return all, end, nil
}
