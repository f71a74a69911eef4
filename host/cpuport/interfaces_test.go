package cpuport

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
)

type fakeKeeper struct {
	refuse error
	lines  chan *Line

	mu   sync.Mutex
	kept []Interface
}

func newKeeper() *fakeKeeper { return &fakeKeeper{lines: make(chan *Line, 4)} }

func (k *fakeKeeper) Begin(l *Line) error {
	if k.refuse == nil {
		k.lines <- l
	}
	return k.refuse
}

func (k *fakeKeeper) Set(i Interface) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept = append(k.kept, i)
	if i.Name == "taken" {
		return errors.New("there is an interface of this name")
	}
	return nil
}

// Host interfaces of a client receive all frames, and continue when it disconnects, for the next such client. The
// client receives what they forward, and may send. A client of another kind is refused meanwhile, and ends them later.
func TestHostInterfaces(t *testing.T) {
	h, path := serving(t)
	if _, err := DialInterfaces(path, "hostifd", nil); err == nil || !strings.Contains(err.Error(), "no host interfaces") {
		t.Fatalf("no keeper: %v", err)
	}
	k := newKeeper()
	k.refuse = errors.New("no devices here")
	h.Keep(k)
	if _, err := DialInterfaces(path, "hostifd", nil); err == nil || !strings.Contains(err.Error(), "no devices here") {
		t.Fatalf("a keeper that refuses: %v", err)
	}
	k.refuse = nil
	dial := func() *Conn {
		t.Helper()
		c, err := DialInterfaces(path, "hostifd", nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := dial()
	host := <-k.lines
	punted := func(what string, c client, want string) {
		t.Helper()
		if p, err := c.Receive(t.Context()); err != nil || string(p.Data) != want {
			t.Errorf("%s received %q, %v, want %q", what, p.Data, err, want)
		}
	}
	h.Punt(Packet{Data: []byte("first"), Len: 5}, 4)
	punted("Linux", host, "first")
	host.Forward(Packet{Port: "Ethernet4", Data: []byte("forwarded"), Len: 9})
	p, err := c.Receive(t.Context())
	if want := (Packet{Port: "Ethernet4", Data: []byte("forwarded"), Len: 9}); err != nil || p.Port != want.Port ||
		!slices.Equal(p.Data, want.Data) {
		t.Errorf("hostifd received %+v, %v, want %+v", p, err, want)
	}
	for _, sender := range []client{c, host} {
		if err := sender.Send(Frame{Port: "Ethernet0", Data: frameOfBytes(60, 1)}); err != nil {
			t.Fatal(err)
		}
		f := <-h.Frames()
		h.Done(f, errors.New("no such port"))
		var refused *Refusal
		if _, err := sender.Receive(t.Context()); !errors.As(err, &refused) || refused.Reason != "no such port" {
			t.Errorf("the sender has %v, want the refusal", err)
		}
	}
	for _, dialer := range []func() (*Conn, error){
		func() (*Conn, error) { return Dial(path, "another") },
		func() (*Conn, error) { return DialInterfaces(path, "another", nil) },
	} {
		if _, err := dialer(); err == nil || !strings.Contains(err.Error(), `"hostifd"`) {
			t.Errorf("another client: %v, want a refusal that names hostifd", err)
		}
	}
	asked := Interface{Name: "PortChannel1", LAG: true, LACP: true, Members: []string{"Ethernet0"},
		Senders: []string{"Ethernet0"}, Up: true}
	var refused *Refusal
	for _, i := range []Interface{asked, {Name: "taken"}} {
		if err := c.Set(i); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Receive(t.Context()); !errors.As(err, &refused) ||
		!strings.Contains(refused.Reason, "there is an interface") {
		t.Errorf("a device that cannot be made: %v", err)
	}
	if k.mu.Lock(); !reflect.DeepEqual(k.kept[0], asked) {
		t.Errorf("asked for is %+v, want %+v", k.kept[0], asked)
	}
	k.mu.Unlock()

	c.Close()
	h.wait(t, func() bool { return h.line == nil })
	h.Punt(Packet{Data: []byte("second"), Len: 6}, 4)
	punted("Linux, without hostifd", host, "second")
	c = dial()
	if h.Punt(Packet{Data: []byte("third"), Len: 5}, 4); len(k.lines) > 0 {
		t.Error("host interfaces began once more")
	}
	punted("Linux, with the next hostifd", host, "third")
	c.Close()
	h.wait(t, func() bool { return h.line == nil })
	l, err := h.Attach("hostd")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := host.Receive(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("the host interfaces have %v, want that hostd has the CPU port", err)
	}
	h.Punt(Packet{Data: []byte("fourth"), Len: 6}, 4)
	punted("hostd", l, "fourth")
}

func (h *Hub) wait(t *testing.T, is func() bool) {
	t.Helper()
	for {
		h.mu.Lock()
		now := is()
		h.mu.Unlock()
		if now {
			return
		}
		if t.Context().Err() != nil {
			t.Fatal("the test is over")
		}
	}
}

// An invalid interface is refused, and the line stays open.
func TestBadInterfaces(t *testing.T) {
	h, path := serving(t)
	h.Keep(newKeeper())
	plain, err := Dial(path, "hostd")
	if err != nil {
		t.Fatal(err)
	}
	refused := func(c *Conn, b []byte, want string) {
		t.Helper()
		if _, err := c.c.Write(b); err != nil {
			t.Fatal(err)
		}
		var r *Refusal
		if _, err := c.Receive(t.Context()); !errors.As(err, &r) || !strings.Contains(r.Reason, want) {
			t.Errorf("%q: %v, want a refusal with %q", b, err, want)
		}
	}
	refused(plain, appendInterface(nil, &Interface{Name: "Vlan10"}), "Vlan10: this client has no host interfaces")
	plain.Close()
	h.wait(t, func() bool { return h.line == nil })
	c, err := DialInterfaces(path, "hostifd", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	refused(c, []byte{kindInterface, '{'}, `a message "interface"`)
	for _, bad := range []Interface{{}, {Name: strings.Repeat("x", maxDevice+1)}, {Name: "Vlan4095", VLAN: 4095}} {
		want := fmt.Sprint(bad.Check())
		if err := c.Set(bad); err == nil || err.Error() != want {
			t.Errorf("%+v: %v, want %q", bad, err, want)
		}
		refused(c, appendInterface(nil, &bad), want)
	}
	many := Interface{Name: "PortChannel1", Members: slices.Repeat([]string{strings.Repeat("x", 200)}, 100)}
	if err := c.Set(many); err == nil || !strings.Contains(err.Error(), "100 members") {
		t.Errorf("too many members: %v", err)
	}
	if err := c.Set(Interface{Name: "Vlan10", VLAN: 10}); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Receive(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("after a good one there is %v", err)
	}
}

// Each client of host interfaces receives the files of existing devices, and of later ones. It still has them when the
// process of the chip, here the line, is gone.
func TestHeldDevices(t *testing.T) {
	h, path := serving(t)
	k := newKeeper()
	h.Keep(k)
	type held struct {
		name string
		f    *os.File
	}
	got := make(chan held, 1)
	dial := func() *Conn {
		t.Helper()
		c, err := DialInterfaces(path, "hostifd", func(name string, f *os.File) { got <- held{name, f} })
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = c.Receive(context.Background()) }()
		return c
	}
	// says expects a file of a device whose other end yields words when it is written to; "" means that the device is
	// gone.
	says := func(name string, end *os.File, words string) {
		t.Helper()
		n := <-got
		if n.name != name || (n.f == nil) != (words == "") {
			t.Fatalf("handed %s, file %v, want %s %q", n.name, n.f, name, words)
		}
		if n.f == nil {
			return
		}
		if _, err := n.f.WriteString(words); err != nil {
			t.Fatal(err)
		}
		n.f.Close()
		b := make([]byte, 64)
		if size, err := end.Read(b); err != nil || string(b[:size]) != words {
			t.Errorf("%s: its other end has %q, %v, want %q", name, b[:size], err, words)
		}
	}
	pipe := func() (end, f *os.File) {
		t.Helper()
		end, f, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { end.Close(); f.Close() })
		return end, f
	}
	c := dial()
	host := <-k.lines
	end, f := pipe()
	host.Hold("Ethernet0", f)
	says("Ethernet0", end, "first")
	end4, f4 := pipe()
	host.Hold("Ethernet4", f4)
	says("Ethernet4", end4, "beside")
	c.Close()
	h.wait(t, func() bool { return h.line == nil })
	c = dial()
	says("Ethernet0", end, "next client")
	says("Ethernet4", end4, "of both")
	host.Hold("Ethernet4", nil)
	says("Ethernet4", nil, "")
	end, f = pipe()
	host.Hold("Ethernet0", f)
	says("Ethernet0", end, "made anew")
	closed, gone := pipe()
	closed.Close()
	gone.Close()
	host.Hold("Ethernet8", gone)
	host.Hold("Ethernet0", nil)
	says("Ethernet0", nil, "")
	c.Close()

	bad := &Conn{}
	if err := bad.held([]byte{1, 9, 'E'}, f); err == nil || !strings.Contains(err.Error(), `"held"`) {
		t.Errorf("a message that ends early: %v", err)
	}
	if err := bad.held(appendName([]byte{1}, "Ethernet0"), nil); err == nil ||
		!strings.Contains(err.Error(), "Ethernet0 did not arrive") {
		t.Errorf("a file that is lost: %v", err)
	}
}

// Host interfaces can start without a client: Linux receives frames at once, and a later client uses the same devices.
func TestHostInterfacesWithoutClient(t *testing.T) {
	h, path := serving(t)
	if err := h.BeginInterfaces(); err == nil || !strings.Contains(err.Error(), "no host interfaces") {
		t.Fatalf("no keeper: %v", err)
	}
	k := newKeeper()
	h.Keep(k)
	if err := errors.Join(h.BeginInterfaces(), h.BeginInterfaces()); err != nil {
		t.Fatal(err)
	}
	host := <-k.lines
	h.Punt(Packet{Data: []byte("punted"), Len: 6}, 4)
	if p, err := host.Receive(t.Context()); err != nil || string(p.Data) != "punted" {
		t.Errorf("Linux received %q, %v", p.Data, err)
	}
	c, err := DialInterfaces(path, "hostifd", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	host.Forward(Packet{Port: "Ethernet4", Data: []byte("forwarded"), Len: 9})
	if p, err := c.Receive(t.Context()); err != nil || string(p.Data) != "forwarded" {
		t.Errorf("the client received %q, %v", p.Data, err)
	}
	if len(k.lines) != 0 {
		t.Error("the client began other host interfaces")
	}
}
