package sairedis

import (
	"bytes"
	"context"
	"io"
	"net"
	"regexp"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"tamtam/sai"
	"tamtam/sai/redis/protocol"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// A scissors is a connection to Redis. It can be cut after Redis has executed a command and before the client receives
// the reply.
type scissors struct {
	redis  string
	word   atomic.Pointer[string] // a text; the next command that contains it is the last one to pass
	before atomic.Bool            // true if the cut is made before Redis has received the command
}

// start returns the address to connect to.
func (s *scissors) start(t *testing.T) string {
	l := need(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", s.redis)
			if err != nil {
				in.Close()
				continue
			}
			go s.forward(in, out)
		}
	}()
	return l.Addr().String()
}

func (s *scissors) forward(in, out net.Conn) {
	defer in.Close()
	defer out.Close()
	var last atomic.Bool
	go func() {
		defer in.Close()
		b := make([]byte, 1<<16)
		for {
			n, err := out.Read(b)
			if err != nil || last.Load() {
				return // the reply of Redis is lost
			}
			if _, err := in.Write(b[:n]); err != nil {
				return
			}
		}
	}()
	b := make([]byte, 1<<16)
	for {
		n, err := in.Read(b)
		if err != nil {
			return
		}
		if w := s.word.Load(); w != nil && bytes.Contains(b[:n], []byte(*w)) && s.word.CompareAndSwap(w, nil) {
			last.Store(true)
		}
		if err := s.pass(out, b[:n], last.Load()); err != nil {
			return
		}
	}
}

// pass forwards a command to Redis, unless it is the last and the cut is before it.
func (s *scissors) pass(out io.Writer, b []byte, last bool) error {
	if last && s.before.Load() {
		return io.ErrClosedPipe
	}
	_, err := io.Copy(out, bytes.NewReader(b))
	return err
}

func (s *scissors) cutAfter(word string) { s.word.Store(&word) }

// The server cannot find out whether its answer was sent. It does not repeat the answer, so that the client never
// mistakes an old answer for a new one.
func TestAnswerIsNotDoubled(t *testing.T) {
	ctx := context.Background()
	redis := swsstest.StartServer(t)
	cut := &scissors{redis: redis.Addr}
	theirs := need(swss.Open(ctx, cut.start(t)))(t)
	defer theirs.Close()
	g := newRig(t, theirs, newFake(), ServerOptions{})
	g.redis = redis.Open()
	g.restartClient()
	g.createSwitch()
	sw := sai.Obj(sai.ObjectTypeSwitch, protocol.SwitchVID)
	for range 3 {
		cut.cutAfter("exec")
		table := g.create(sai.ObjectTypeACLTable, aTable)
		// A surplus answer would make this succeed.
		bad := sai.Attr{ID: sai.SwitchAttrDefaultVLANID, Value: table}
		if _, err := g.client.Get(ctx, sw, []sai.Attr{sai.Want(sai.SwitchAttrPortList, 1), bad}); err == nil {
			t.Fatal("a get without room succeeds")
		}
		g.ports()
		g.must("remove", g.client.Remove(ctx, sai.Obj(sai.ObjectTypeACLTable, table)))
		if cut.word.Load() != nil {
			t.Fatal("nothing was cut")
		}
	}
	if n := g.redis.DB(swss.ASICDB).Client().LLen(ctx, responseList).Val(); n != 0 || len(g.fake.Created()) != 0 {
		t.Errorf("%d elements of answers and %v are left", n, g.fake.Created())
	}
}

// The client cannot find out whether its request was sent. It does not repeat the request, and is lost.
func TestRequestIsNotDoubled(t *testing.T) {
	ctx := context.Background()
	redis := swsstest.StartServer(t)
	cut := &scissors{redis: redis.Addr}
	ours, err := swss.Open(ctx, cut.start(t))
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	g := newRig(t, redis.Open(), newFake(), ServerOptions{})
	g.redis = ours
	g.restartClient()
	g.createSwitch()
	cut.cutAfter("Screate")
	_, err = g.client.Create(ctx, sai.ObjectTypeACLTable, aTable)
	unknownState(t, "create", err)
	lostBy(t, g.client)
	g.restartClient()
	g.must("INIT_VIEW", g.client.InitView(ctx)) // answered after the earlier request
	if n := len(g.fake.Created()); n != 1 {
		t.Errorf("%d objects in the backend, want 1", n)
	}
}

// The server detects that the connection that announces requests is dead, although nothing reports it, and opens
// another. Otherwise each request would wait for the server's next look.
func TestServerLeavesDeadConnection(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	t.Parallel()
	redis := swsstest.StartServer(t)
	gate := swsstest.StartProxy(t, redis.Addr)
	theirs := need(swss.Open(t.Context(), gate.Addr))(t)
	defer theirs.Close()
	g := newRig(t, theirs, newFake(), ServerOptions{})
	db := redis.Open().DB(swss.ASICDB)
	listeners := func() (ids []string) { // the server has one, subscribed to several channels
		list := db.Client().ClientList(t.Context()).Val()
		for _, found := range regexp.MustCompile(`\b(id=\d+) [^\n]*\bsub=([2-9]|\d\d)`).FindAllStringSubmatch(list, -1) {
			ids = append(ids, found[1])
		}
		slices.Sort(ids)
		return ids
	}
	await := func(what string, ok func(ids []string) bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !ok(listeners()); {
			if time.Now().After(end) {
				t.Fatalf("not within a minute: %s", what)
			}
			select {
			case <-t.Context().Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
	g.createSwitch()
	await("the server listens", func(ids []string) bool { return len(ids) == 1 })
	first := listeners()
	gate.Forget()
	await("it listens anew", func(ids []string) bool { return len(ids) > 0 && !slices.Equal(ids, first) })
}
