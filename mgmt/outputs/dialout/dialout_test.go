package dialout

import (
	"context"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"tamtam/mgmt/outputs"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// A collector accepts messages of one of the services.
type collector struct {
	addr string
	stop func()
	got  chan string // a value, "sync", or the name of a subscription that begins
}

// listen starts a collector at an address, or at any.
func listen(t *testing.T, addr, service string) *collector {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	c := &collector{addr: l.Addr().String(), got: make(chan string, 10000)}
	s := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, st grpc.ServerStream) error {
		if m, _ := grpc.MethodFromServerStream(st); m != methods[service] {
			return status.Errorf(codes.Unimplemented, "no method %s", m)
		}
		md, _ := metadata.FromIncomingContext(st.Context())
		c.got <- "begin " + md.Get("subscription-name")[0]
		for {
			m := &gpb.SubscribeResponse{}
			if err := st.RecvMsg(m); err != nil {
				return err
			}
			if m.GetSyncResponse() {
				c.got <- "sync"
				continue
			}
			c.got <- m.GetUpdate().GetUpdate()[0].GetVal().GetStringVal()
		}
	}))
	go s.Serve(l)
	c.stop = s.Stop
	return c
}

// want waits for the collector's next message.
func (c *collector) want(t *testing.T, want string) {
	t.Helper()
	select {
	case got := <-c.got:
		if got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	case <-time.After(time.Minute):
		t.Fatalf("nothing came, want %q", want)
	}
}

// A source is a gNMI server with one value.
type source struct {
	mu     sync.Mutex
	value  int
	change chan struct{}
	begun  int
	refuse error
	last   bool // true if it sends one more value when its context ends, like a value that was being sent
}

func (s *source) set(v int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.value = v
	close(s.change)
	s.change = make(chan struct{})
}

func (s *source) read() (int, chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.value, s.change
}

func (s *source) Follow(
	ctx context.Context, list *gpb.SubscriptionList, send func(*gpb.SubscribeResponse) error,
) error {
	if list.GetPrefix().GetTarget() != "leaf1" {
		return status.Errorf(codes.InvalidArgument, "%v", list)
	}
	s.mu.Lock()
	s.begun++
	s.mu.Unlock()
	if s.refuse != nil {
		return s.refuse
	}
	for first := true; ; first = false {
		v, changed := s.read()
		val := &gpb.TypedValue{Value: &gpb.TypedValue_StringVal{StringVal: strconv.Itoa(v)}}
		update := &gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_Update{
			Update: &gpb.Notification{Update: []*gpb.Update{{Val: val}}}}}
		if err := send(update); err != nil {
			return err
		}
		if first {
			if err := send(&gpb.SubscribeResponse{
				Response: &gpb.SubscribeResponse_SyncResponse{SyncResponse: true}}); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			if s.last {
				return send(update)
			}
			return ctx.Err()
		case <-changed:
		}
	}
}

// publish starts a publisher to addresses.
func publish(t *testing.T, from Subscriber, scheme string, addrs ...string) (*Publisher, func()) {
	t.Helper()
	var to []outputs.Target
	for _, a := range addrs {
		target, err := outputs.ParseTarget(scheme+"://"+a, Schemes())
		if err != nil {
			t.Fatal(err)
		}
		to = append(to, target)
	}
	list, err := Subscription{Target: "leaf1", Paths: []string{"/"}, Interval: time.Second}.List()
	if err != nil {
		t.Fatal(err)
	}
	out := outputs.New(NewLink(to, "all", nil), outputs.DefaultBounds())
	out.Least = time.Millisecond
	p := &Publisher{From: from, List: list, Out: out, Room: 1 << 20}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	return p, func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// A message that a subscription was sending when the switch ended is still sent, since the output ends later.
func TestLastOfASubscription(t *testing.T) {
	c := listen(t, "localhost:0", "sonic")
	defer c.stop()
	_, end := publish(t, &source{change: make(chan struct{}), last: true}, "sonic", c.addr)
	for _, want := range []string{"begin all", "0", "sync"} {
		c.want(t, want)
	}
	end()
	c.want(t, "0")
}

// A collector of either service gets the messages of a subscription. A collector that reconnects gets all values again.
// If the first of two collectors does not answer, the second is used.
func TestPublish(t *testing.T) {
	for service := range methods {
		c := listen(t, "127.0.0.1:0", service)
		s := &source{change: make(chan struct{})}
		none, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		none.Close()
		_, end := publish(t, s, service, none.Addr().String(), c.addr)
		for _, want := range []string{"begin all", "0", "sync"} {
			c.want(t, want)
		}
		s.set(1)
		c.want(t, "1")
		c.stop()
		again := listen(t, c.addr, service)
		for _, want := range []string{"begin all", "1", "sync"} {
			again.want(t, want)
		}
		s.set(2)
		again.want(t, "2")
		end()
		again.stop()
	}
}

// A refused subscription is reported, and tried again.
func TestRefused(t *testing.T) {
	s := &source{change: make(chan struct{}), refuse: status.Error(codes.InvalidArgument, "no such path")}
	c := listen(t, "127.0.0.1:0", "sonic")
	defer c.stop()
	why := make(chan error, 1)
	out := outputs.New(NewLink([]outputs.Target{{Scheme: "sonic", Host: "127.0.0.1", Port: c.addr[10:]}}, "all", nil),
		outputs.DefaultBounds())
	list, err := Subscription{Target: "leaf1", Paths: []string{"/a"}}.List()
	if err != nil {
		t.Fatal(err)
	}
	p := &Publisher{From: s, List: list, Out: out, Fails: func(err error) { why <- err }}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	if err := <-why; status.Code(err) != codes.InvalidArgument {
		t.Error(err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestSubscription(t *testing.T) {
	list, err := Subscription{
		Target: "leaf1", Database: "COUNTERS_DB", Paths: []string{"COUNTERS/Ethernet0"}, Interval: time.Second,
	}.List()
	if err != nil {
		t.Fatal(err)
	}
	want := &gpb.SubscriptionList{
		Prefix: &gpb.Path{Target: "leaf1", Origin: "sonic-db"}, Encoding: gpb.Encoding_JSON_IETF,
		Subscription: []*gpb.Subscription{{
			Path: &gpb.Path{Elem: []*gpb.PathElem{{Name: "COUNTERS_DB"}, {Name: "localhost"}, {Name: "COUNTERS"},
				{Name: "Ethernet0"}}},
			Mode: gpb.SubscriptionMode_SAMPLE, SampleInterval: 1e9,
		}},
	}
	if !proto.Equal(list, want) {
		t.Errorf("%v", list)
	}
	if _, err := (Subscription{}).List(); err == nil {
		t.Error("a subscription to nothing")
	}
}

// Paths of a row may lack the first slash, and have keys with all of gNMI's quoting.
func TestPathsOfRows(t *testing.T) {
	for text, want := range map[string]string{
		"/": "", "/a/b": "a b", "a[k=v]/b": "a[k:v] b", `/a[k=x\]y/z]`: "a[k:x]y/z]", "/a[k=1][l=2]": "a[k:1 l:2]",
		"/a/*/b": "a * b", "//": "-", "/a[": "-", "/a[k": "-", "/a[k=v": "-", "/a[=v]": "-", "/a[k=v]b": "-",
		"/a[k=v][k=w]": "-", "/a/": "-",
	} {
		list, err := Subscription{Paths: []string{text}}.List()
		got := ""
		if err != nil {
			got = "-"
		} else {
			for i, el := range list.Subscription[0].Path.GetElem() {
				if i > 0 {
					got += " "
				}
				got += el.Name
				if len(el.Key) > 0 {
					got += "[" + "k:" + el.Key["k"]
					if l := el.Key["l"]; l != "" {
						got += " l:" + l
					}
					got += "]"
				}
			}
		}
		if got != want {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}
