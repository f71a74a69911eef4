package cpuport

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/netip"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 5, time.UTC)

func frameOfBytes(n int, b byte) []byte { return bytes.Repeat([]byte{b}, n) }

func names(port uint16) string { return map[uint16]string{0: "Ethernet0", 4: "Ethernet4"}[port] }

// A client is the common interface of Line and Conn.
type client interface {
	Receive(context.Context) (Packet, error)
	Send(Frame) error
	Counts(context.Context) (Counts, error)
	Close() error
}

func serving(t *testing.T) (*Hub, string) { t.Helper(); return servingHub(t, New()) }

func servingHub(t *testing.T, h *Hub) (*Hub, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cpu.sock")
	h.SetNames(names)
	l, err := Listen(path)
	if err != nil {
		t.Skipf("no sockets of this kind here: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return h, path
}

// bothClients runs a test with a client in the process and with one at the socket.
func bothClients(t *testing.T, test func(*testing.T, *Hub, client)) {
	t.Run("line", func(t *testing.T) {
		h := New()
		h.SetNames(names)
		l, err := h.Attach("a test")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		test(t, h, l)
	})
	t.Run("socket", func(t *testing.T) {
		h, path := serving(t)
		c, err := Dial(path, "a test")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		test(t, h, c)
	})
}

func TestPuntedFrameCarriesWhatTheChipKnows(t *testing.T) {
	bothClients(t, func(t *testing.T, h *Hub, c client) {
		data := frameOfBytes(60, 7)
		h.Punt(Packet{VLAN: 10, Trap: "arp_req", Time: noon, Data: data, Len: 60}, 4)
		data[0] = 0 // the chip reuses its buffer
		h.Punt(Packet{Trap: "ip2me", Time: noon, Data: frameOfBytes(20, 8), Len: 1500}, 9)
		want := []Packet{
			{Port: "Ethernet4", VLAN: 10, Trap: "arp_req", Time: noon, Data: frameOfBytes(60, 7), Len: 60},
			{Port: "", VLAN: 0, Trap: "ip2me", Time: noon, Data: frameOfBytes(20, 8), Len: 1500},
		}
		for _, w := range want {
			got, err := c.Receive(t.Context())
			if err != nil || !reflect.DeepEqual(got, w) {
				t.Errorf("received %+v, %v, want %+v", got, err, w)
			}
		}
	})
}

// A sample is delivered with all its fields, in the process and over the socket. The next one contains the number of
// samples lost for lack of space.
func TestSamples(t *testing.T) {
	bothClients(t, func(t *testing.T, h *Hub, c client) {
		for _, hop := range []string{"", "10.0.0.1", "2001:db8::1", "::ffff:10.0.0.1"} {
			want := Packet{VLAN: 10, Trap: "sample_packet", Time: noon, Data: frameOfBytes(60, 7), Len: 60, Sample: Sample{
				Rate: 256, Pool: 1 << 40, Lost: 3, Copies: 1, OutVLAN: 9, Why: "acl", Queued: true, Queue: 7, Depth: 1e6}}
			if hop != "" {
				want.Sample.NextHop, want.Sample.Prefix = netip.MustParseAddr(hop), 24
			}
			for _, want.Sample.Rule = range []string{"", "T|web"} {
				want.Port, want.Sample.Out = "", ""
				h.PuntSample(want, 0, 4)
				want.Port, want.Sample.Out = "Ethernet0", "Ethernet4"
				if got, err := c.Receive(t.Context()); err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("received %+v, %v, want %+v", got, err, want)
				}
			}
		}
	})
	h := New()
	l, err := h.Attach("a test")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	sample := Packet{Data: frameOfBytes(60, 1), Len: 60, Sample: Sample{Rate: 1, Lost: 5}}
	for range Queue + 2 {
		h.PuntSample(sample, 0, 4)
	}
	if _, err := l.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.PuntSample(sample, 0, 4)
	last := Packet{}
	for range Queue {
		last, _ = l.Receive(t.Context())
	}
	if last.Sample.Lost != 7 {
		t.Errorf("the last one knows of %d that are lost, want 7", last.Sample.Lost)
	}
	sample.Sample.Rule = "T|web" // the hub has lost none of this rule's samples
	h.PuntSample(sample, 0, 4)
	if last, err = l.Receive(t.Context()); err != nil || last.Sample.Lost != 5 {
		t.Errorf("one of a rule knows of %d that are lost, %v, want 5", last.Sample.Lost, err)
	}
}

func TestFrameGetsToTheChip(t *testing.T) {
	bothClients(t, func(t *testing.T, h *Hub, c client) {
		for _, f := range []Frame{{Port: "Ethernet0", Data: frameOfBytes(60, 1)}, {VLAN: 4094, Data: frameOfBytes(14, 2)}} {
			if err := c.Send(f); err != nil {
				t.Fatal(err)
			}
			got := <-h.Frames()
			if h.Done(got, nil); got.Port != f.Port || got.VLAN != f.VLAN || !bytes.Equal(got.Data, f.Data) {
				t.Errorf("the chip has %+v, want %+v", got, f)
			}
		}
		if n := h.Counts().Sent; n != 2 {
			t.Errorf("counted %d sent, want 2", n)
		}
	})
}

func TestRefusalIsReportedAndTheLineGoesOn(t *testing.T) {
	bothClients(t, func(t *testing.T, h *Hub, c client) {
		if err := c.Send(Frame{Port: "Ethernet9", Data: frameOfBytes(60, 1)}); err != nil {
			t.Fatal(err)
		}
		h.Done(<-h.Frames(), errors.New("no port Ethernet9"))
		var refused *Refusal
		if _, err := c.Receive(t.Context()); !errors.As(err, &refused) || refused.Reason != "no port Ethernet9" {
			t.Errorf("received %v, want the refusal", err)
		}
		h.Punt(Packet{Time: noon, Data: frameOfBytes(60, 3), Len: 60}, 0)
		if p, err := c.Receive(t.Context()); err != nil || p.Port != "Ethernet0" {
			t.Errorf("received %+v, %v, want the next frame", p, err)
		}
		if n := h.Counts(); n.Refused != 1 || n.Sent != 0 {
			t.Errorf("counts %+v, want one refused", n)
		}
	})
}

func TestFramesThatAreNone(t *testing.T) {
	bothClients(t, func(t *testing.T, _ *Hub, c client) {
		for want, f := range map[string]Frame{
			"neither port nor VLAN": {Data: frameOfBytes(60, 1)},
			"want one of them":      {Port: "Ethernet0", VLAN: 1, Data: frameOfBytes(60, 1)},
			"want 1 to 4094":        {VLAN: 4095, Data: frameOfBytes(60, 1)},
			"want 14 to 16383":      {VLAN: 1, Data: frameOfBytes(13, 1)},
			"of 16384 bytes":        {VLAN: 1, Data: frameOfBytes(MaxFrame+1, 1)},
			"want at most 255":      {Port: strings.Repeat("x", 256), Data: frameOfBytes(60, 1)},
		} {
			if err := c.Send(f); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("sent a frame for %q, VLAN %d of %d bytes: %v, want %q", f.Port, f.VLAN, len(f.Data), err, want)
			}
		}
	})
}

// Dropped frames are counted: without a client, with one that does not receive, and with one that sends too much.
func TestQueuesAreBoundedAndCounted(t *testing.T) {
	h := New()
	punt := func(n int) {
		for range n {
			h.Punt(Packet{Time: noon, Data: frameOfBytes(60, 1), Len: 60}, 0)
		}
	}
	punt(3)
	l, err := h.Attach("a test")
	if err != nil {
		t.Fatal(err)
	}
	punt(Queue + 5)
	for range SendQueue + 7 {
		_ = l.Send(Frame{VLAN: 1, Data: frameOfBytes(60, 1)}) // 7 of these calls fail
	}
	if _, err := l.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := Counts{Punted: 3 + Queue + 5, NoClient: 3, Full: 5, SendFull: 7}
	if got := h.Counts(); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	want.Full += Queue - 1
	if got := h.Counts(); got != want {
		t.Errorf("when the client has gone: counts %+v, want %+v", got, want)
	}
}

func TestOneClientAtATime(t *testing.T) {
	h, path := serving(t)
	c, err := Dial(path, "the first")
	if err != nil {
		t.Fatal(err)
	}
	var refused *Refusal
	if _, err := Dial(path, "the second"); !errors.As(err, &refused) || !strings.Contains(err.Error(), `"the first"`) ||
		!strings.Contains(err.Error(), "never both") {
		t.Errorf("a second client: %v, want a refusal that names the first", err)
	}
	if _, err := h.Attach("in the process"); err == nil || !strings.Contains(err.Error(), `"the first"`) {
		t.Errorf("a second client in the process: %v, want an error that names the first", err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	for { // wait until the hub has detected it
		l, err := h.Attach("in the process")
		if err == nil {
			if _, err := Dial(path, "the third"); !errors.As(err, &refused) {
				t.Errorf("a client at the socket beside one in the process: %v", err)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	if _, err := Dial(path, "the fourth"); err != nil {
		t.Error(err)
	}
}

// A client that sends invalid messages gets a refusal each time, keeps its line, and does not affect others.
func TestHostileMessagesAreRefusedInWords(t *testing.T) {
	h, path := serving(t)
	c, err := Dial(path, "a fool")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for want, b := range map[string][]byte{
		"begins with 9":         {9, 1, 2, 3},
		"ends within its vlan":  {kindFrame, 0},
		"ends within its port":  {kindFrame, 0, 1, 200, 'x'},
		"neither port nor VLAN": append([]byte{kindFrame, 0, 0, 0}, frameOfBytes(60, 1)...),
		"want 14 to 16383":      {kindFrame, 0, 1, 0, 1},
		"more than":             frameOfBytes(60000, kindFrame),
		"begins with 5":         {kindCounts, 1},
		"begins with 1":         appendHello(nil, kindHello, "again"),
	} {
		if _, err := c.c.Write(b); err != nil {
			t.Fatal(err)
		}
		var refused *Refusal
		if _, err := c.Receive(t.Context()); !errors.As(err, &refused) || !strings.Contains(refused.Reason, want) {
			t.Errorf("%.20x: %v, want a refusal with %q", b, err, want)
		}
	}
	go func() {
		h.Punt(Packet{Time: noon, Data: frameOfBytes(60, 3), Len: 60}, 0)
	}()
	if p, err := c.Receive(t.Context()); err != nil || p.Port != "Ethernet0" {
		t.Errorf("received %+v, %v, want the frame", p, err)
	}
	if n := h.Counts(); n.Refused != 8 {
		t.Errorf("counted %d refused, want 8", n.Refused)
	}
}

func TestStrangersAreTurnedAway(t *testing.T) {
	_, path := serving(t)
	for want, hello := range map[string][]byte{
		`to be "hello"`:        {kindFrame},
		"version 7":            {kindHello, 7, 0},
		"ends within its name": {kindHello, Version},
	} {
		c, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: path, Net: "unixpacket"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write(hello); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 300)
		if n, err := c.Read(b); err != nil || b[0] != kindRefused || !strings.Contains(string(b[1:n]), want) {
			t.Errorf("%x: %q, %v, want a refusal with %q", hello, b[:n], err, want)
		}
		c.Close()
	}
}

// A connection that sends nothing is refused, so that it does not use up a place.
func TestSilentConnectionsAreTurnedAway(t *testing.T) {
	h := New()
	h.hello = time.Nanosecond
	_, path := servingHub(t, h)
	for range 3 {
		c, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: path, Net: "unixpacket"})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		b := make([]byte, 300)
		n, err := c.Read(b)
		if err != nil || b[0] != kindRefused || !strings.Contains(string(b[1:n]), "no message in 1ns") {
			t.Fatalf("%q, %v", b[:n], err)
		}
	}
}

// A syncd that hangs does not make its client hang.
func TestSendDoesNotWait(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cpu.sock")
	l, err := Listen(path)
	if err != nil {
		t.Skipf("no sockets of this kind here: %v", err)
	}
	defer l.Close()
	hangs := make(chan struct{})
	go func() {
		defer close(hangs)
		c, err := l.AcceptUnix()
		if err != nil {
			return
		}
		_, _ = c.Read(make([]byte, 300)) // the hello, and no more
		_, _ = c.Write(appendHello(nil, kindHello, ""))
		hangs <- struct{}{}
		c.Close()
	}()
	c, err := Dial(path, "a test")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for err == nil {
		err = c.Send(Frame{VLAN: 1, Data: frameOfBytes(1500, 1)})
	}
	if errors.Is(err, ErrClosed) || !strings.Contains(err.Error(), "full") {
		t.Errorf("%v, want to hear that the socket is full", err)
	}
	<-hangs
	<-hangs
}

func TestCountsAreAskedFor(t *testing.T) {
	h, path := serving(t)
	h.Punt(Packet{Time: noon, Data: frameOfBytes(60, 3), Len: 60}, 0)
	c, err := Dial(path, "a test")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	received := make(chan struct{})
	go func() {
		defer close(received)
		_, _ = c.Receive(ctx) // until the end: nothing is punted
	}()
	if got, err := c.Counts(t.Context()); err != nil || got != (Counts{Punted: 1, NoClient: 1}) {
		t.Errorf("counts %+v, %v, want one punted to nobody", got, err)
	}
	cancel()
	<-received
}

// The chip punts from its packet path, which allocates nothing.
func TestPuntAllocatesNothing(t *testing.T) {
	h := New()
	l, err := h.Attach("a test")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := Packet{Trap: "arp_req", Time: noon, Data: frameOfBytes(60, 1), Len: 60}
	for range Queue {
		h.Punt(p, 0)
	}
	h.mu.Lock()
	l.first, l.len = 0, 0 // as if the samples had been received
	h.mu.Unlock()
	if n := testing.AllocsPerRun(Queue/2, func() { h.Punt(p, 0) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

// An old socket does not prevent syncd from starting, unless another process still serves it.
func TestListenReplacesWhatIsLeftOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cpu.sock")
	l, err := Listen(path)
	if err != nil {
		t.Skipf("no sockets of this kind here: %v", err)
	}
	if _, err := Listen(path); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("a second listener: %v, want to hear that there is one", err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	again, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

func FuzzMessages(f *testing.F) {
	p := Packet{Port: "Ethernet0", VLAN: 10, Trap: "arp_req", Time: noon, Data: frameOfBytes(60, 7), Len: 60}
	f.Add(appendPunted(nil, &p))
	p.Sample = Sample{Rate: 256, Pool: 1 << 40, Lost: 3, Copies: 2, Out: "Ethernet4", OutVLAN: 9, Why: "acl", Queued: true,
		Queue: 7, Depth: 1e6}
	f.Add(appendPunted(nil, &p))
	p.Sample.NextHop, p.Sample.Prefix = netip.MustParseAddr("2001:db8::1"), 64
	f.Add(appendPunted(nil, &p))
	p.Sample.Rule = "T|web"
	f.Add(appendPunted(nil, &p))
	p.Sample.NextHop, p.Sample.Prefix = netip.Addr{}, 0
	f.Add(appendPunted(nil, &p))
	f.Add(appendFrame(nil, &Frame{VLAN: 10, Data: frameOfBytes(60, 7)}))
	f.Add(appendHello(nil, kindHello, "hostd"))
	f.Add(appendCounts(nil, Counts{Punted: 1}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 {
			return
		}
		if fr, err := frameOf(b); err == nil && !bytes.Equal(appendFrame(nil, &fr), b) {
			t.Errorf("frame %+v is another message than it came in", fr)
		}
		if b[0] == kindSampled || b[0] == kindRouted || b[0] == kindRuled {
			if p, err := parsePunted(b[0], b[1:]); err == nil && p.Sample != (Sample{}) {
				again := appendPunted(nil, &p)
				if q, err := parsePunted(again[0], again[1:]); err != nil || !reflect.DeepEqual(p, q) {
					t.Errorf("sample %+v is %+v once more, %v", p, q, err)
				}
			}
		}
		if b[0] == kindPunted {
			if p, err := parsePunted(kindPunted, b[1:]); err == nil && !bytes.Equal(appendPunted(nil, &p), b) {
				t.Errorf("packet %+v is another message than it came in", p)
			}
		}
		_, _ = parseHello(b[1:])
		_, _ = parseCounts(b[1:])
	})
}
