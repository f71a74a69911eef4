package zmq

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tamtam/sai/redis/protocol"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// A peer is the other end of a connection, as SONiC's orchagent is one.
type peer struct {
	*testing.T
	*conn
}

func connect(t *testing.T, path string) peer {
	t.Helper()
	raw, err := net.Dial("unix", path)
	noError(t, err)
	c, err := open(raw, typeReq, typeRep)
	noError(t, err)
	t.Cleanup(func() { c.Close() })
	noError(t, c.SetDeadline(time.Now().Add(30*time.Second)))
	return peer{t, c}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (p peer) ask(request string) string {
	p.Helper()
	noError(p.T, p.send(nil, []byte(request)))
	frames, err := p.receive()
	noError(p.T, err)
	if len(frames) != 2 || len(frames[0]) > 0 {
		p.Fatalf("an answer of %d frames", len(frames))
	}
	return string(frames[1])
}

// A relay under test, and the syncd behind it, which answers each request with its own words.
type rig struct {
	redis  *swss.Redis
	socket string
	notes  string
	log    bytes.Buffer
}

func newRig(t *testing.T) *rig {
	t.Helper()
	dir := t.TempDir()
	g := &rig{redis: swsstest.Start(t), socket: filepath.Join(dir, "ep"), notes: filepath.Join(dir, "ntf")}
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: g.socket, Net: "unix"}) // by a killed process
	noError(t, err)
	left.SetUnlinkOnClose(false)
	noError(t, left.Close())
	open := make(chan struct{})
	relay := &Relay{Redis: g.redis, Requests: "ipc://" + g.socket, Notifications: "ipc://" + g.notes,
		Logger: slog.New(slog.NewTextHandler(&g.log, nil)), Opened: func() { close(open) }}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- relay.Run(ctx) }()
	go func() { ended <- g.syncd(ctx) }()
	t.Cleanup(func() {
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
	select {
	case <-open:
	case err := <-ended:
		t.Fatal(err)
	}
	return g
}

// syncd answers each request. A request "twice" is preceded by an answer that is not its own.
func (g *rig) syncd(ctx context.Context) error {
	asic := g.redis.DB(swss.ASICDB)
	answers := swss.NewQueue(asic, protocol.GetResponse)
	requests := swss.NewInbox(swss.NewQueue(asic, protocol.ASICState))
	defer requests.Close()
	entries, err := requests.Open(ctx)
	for err == nil {
		for _, e := range entries {
			m, err := protocol.Decode(e)
			if err != nil {
				return err
			}
			if m.Key == "twice" {
				stray := protocol.Message{Key: "SAI_STATUS_FAILURE", Op: "attribute_capability_response"}
				if err := answers.Push(ctx, stray.Entry()); err != nil {
					return err
				}
			}
			answer := protocol.Message{Key: "SAI_STATUS_SUCCESS", Op: protocol.AnswerOp(m.Op),
				Fields: append([]swss.Pair{{Field: m.Key, Value: m.Op}}, m.Fields...)}
			if err := answers.Push(ctx, answer.Entry()); err != nil {
				return err
			}
		}
		entries, err = requests.Wait(ctx, time.Second)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// Requests reach syncd's queue and answers come back, in the format of SONiC's channel, however long they are. A client
// that ends without reading its answer does not disturb the next.
func TestRequests(t *testing.T) {
	g := newRig(t)
	long := strings.Repeat("x", 1<<17)
	first := connect(t, g.socket)
	for _, c := range []struct{ name, ask, want string }{
		{"notify", `["INIT_VIEW","notify"]`, `["SAI_STATUS_SUCCESS","notify","INIT_VIEW","notify"]`},
		{"get", `["SAI_OBJECT_TYPE_SWITCH:oid:0x21000000000000","get","SAI_SWITCH_ATTR_CPU_PORT","oid:0x0"]`,
			`["SAI_STATUS_SUCCESS","getresponse","SAI_OBJECT_TYPE_SWITCH:oid:0x21000000000000","get",` +
				`"SAI_SWITCH_ATTR_CPU_PORT","oid:0x0"]`},
		{"flush", `["X","flush"]`, `["SAI_STATUS_SUCCESS","flushresponse","X","flush"]`},
		{"long", `["X","set","a","` + long + `"]`, `["SAI_STATUS_SUCCESS","getresponse","X","set","a","` + long + `"]`},
		{"an answer to no request before it", `["twice","set"]`, `["SAI_STATUS_SUCCESS","getresponse","twice","set"]`},
	} {
		if got := first.ask(c.ask); got != c.want {
			t.Errorf("%s: answer %.200s, want %.200s", c.name, got, c.want)
		}
	}
	rude := connect(t, g.socket)
	noError(t, rude.send(nil, []byte(`["rude","set"]`)))
	rude.Close()
	want := `["SAI_STATUS_SUCCESS","getresponse","next","set"]`
	if got := connect(t, g.socket).ask(`["next","set"]`); got != want {
		t.Errorf("after a rude client: %s, want %s", got, want)
	}
}

// What is no request ends the connection with a reason in the log, and others are served.
func TestNoRequest(t *testing.T) {
	g := newRig(t)
	for _, frames := range [][][]byte{{[]byte("[]")}, {nil, []byte("[")}, {nil, []byte(`[]`)}, {nil, nil, nil}} {
		c := connect(t, g.socket)
		noError(t, c.send(frames...))
		if _, err := c.receive(); err == nil {
			t.Errorf("%q is answered", frames)
		}
	}
	raw, err := net.Dial("unix", g.socket)
	noError(t, err)
	defer raw.Close()
	if _, err := open(raw, typePush, typeRep); err == nil {
		if _, err := (&conn{Conn: raw}).Read(make([]byte, 1)); err == nil {
			t.Error("a socket of type PUSH is served")
		}
	}
	if got := connect(t, g.socket).ask(`["X","set"]`); !strings.HasPrefix(got, `["SAI_STATUS_SUCCESS"`) {
		t.Errorf("then a request is answered by %s", got)
	}
}

// Notifications reach the client's endpoint, in order, also those from before it was open.
func TestNotifications(t *testing.T) {
	g := newRig(t)
	ctx := context.Background()
	publish := func(note string) {
		noError(t, g.redis.DB(swss.ASICDB).Client().Publish(ctx, protocol.Notifications, note).Err())
	}
	receive := func(l net.Listener, want ...string) {
		t.Helper()
		raw, err := l.Accept()
		noError(t, err)
		defer raw.Close()
		c, err := open(raw, typePull, typePush)
		noError(t, err)
		for _, w := range want {
			frames, err := c.receive()
			noError(t, err)
			if len(frames) != 1 || string(frames[0]) != w {
				t.Errorf("notification %q, want %q", frames, w)
			}
		}
	}
	publish(`["port_state_change","1"]`)
	publish(`["port_state_change","2"]`)
	l, err := net.Listen("unix", g.notes)
	noError(t, err)
	defer l.Close()
	receive(l, `["port_state_change","1"]`, `["port_state_change","2"]`)
}

// The bytes of a connection are those of ZMTP 3.0.
func TestWireFormat(t *testing.T) {
	a, b := net.Pipe()
	defer b.Close()
	result := make(chan error, 1)
	go func() {
		c, err := open(a, typeRep, typeReq)
		if err == nil {
			err = c.send(nil, bytes.Repeat([]byte{7}, 256))
		}
		result <- err
	}()
	read := func(n int) string {
		got := make([]byte, n)
		for at := 0; at < n; {
			k, err := b.Read(got[at:])
			noError(t, err)
			at += k
		}
		return string(got)
	}
	want := "\xff\x00\x00\x00\x00\x00\x00\x00\x00\x7f\x03\x00NULL" + strings.Repeat("\x00", 16+1+31)
	if got := read(64); got != want {
		t.Errorf("greeting %q", got)
	}
	_, err := b.Write([]byte(want))
	noError(t, err)
	if got, want := read(2+25), "\x04\x19\x05READY\x0bSocket-Type\x00\x00\x00\x03REP"; got != want {
		t.Errorf("ready %q, want %q", got, want)
	}
	_, err = b.Write([]byte("\x04\x26\x05READY\x0bSocket-Type\x00\x00\x00\x03REQ\x08Identity\x00\x00\x00\x00"))
	noError(t, err)
	message := "\x01\x00\x02\x00\x00\x00\x00\x00\x00\x01\x00" + strings.Repeat("\x07", 256)
	if got, want := read(2+9+256), message; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
	noError(t, <-result)
}
