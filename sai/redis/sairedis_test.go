package sairedis

import (
	"context"
	"testing"

	"tamtam/sai"
	"tamtam/sai/redis/protocol"
	"tamtam/sai/saitest"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// The lists of ASIC_DB.
const (
	requestList  = "ASIC_STATE_KEY_VALUE_OP_QUEUE"
	responseList = "GETRESPONSE_KEY_VALUE_OP_QUEUE"
)

// A rig is a client and a server over one Redis. The backend of the server is a Fake.
type rig struct {
	*testing.T
	redis  *swss.Redis
	server *Server
	client *Client
	agent  *Agent // nil means that calls go through the client
	fake   *saitest.Fake
	chip   sai.API // the server's backend; nil means fake
	stop   func()
}

// redises runs a test on both kinds of servers.
func redises(t *testing.T, f func(t *testing.T, r *swss.Redis)) {
	t.Run("embedded", func(t *testing.T) { f(t, swsstest.Start(t)) })
	t.Run("real", func(t *testing.T) { f(t, swsstest.StartServer(t).Open()) })
}

func newRig(t *testing.T, r *swss.Redis, fake *saitest.Fake, opts ServerOptions) *rig {
	t.Helper()
	g := &rig{T: t, redis: r, fake: fake}
	g.restartServer(opts)
	g.restartClient()
	t.Cleanup(func() { g.stop() })
	return g
}

// restartServer stops the server, if there is one, and starts one in front of g.fake.
func (g *rig) restartServer(opts ServerOptions) {
	if g.stop != nil {
		g.stop()
	}
	ctx, cancel := context.WithCancel(context.Background())
	chip := g.chip
	if chip == nil {
		chip = g.fake
	}
	g.server = NewServer(g.redis, chip, opts)
	done := make(chan struct{})
	go func(s *Server) {
		defer close(done)
		if err := s.Serve(ctx); err != nil && err != ErrShutdown {
			g.Errorf("Serve: %v", err)
		}
	}(g.server)
	g.stop = func() {
		cancel()
		<-done
	}
}

func (g *rig) restartClient() {
	g.Helper()
	c, err := NewClient(context.Background(), g.redis, ClientOptions{})
	if err != nil {
		g.Fatal(err)
	}
	g.client = c
}

// restartAgent does restartClient, and adds an agent.
func (g *rig) restartAgent() {
	g.Helper()
	g.restartClient()
	g.agent = NewAgent(g.redis, g.client)
}

func (g *rig) api() sai.API {
	if g.agent != nil {
		return g.agent
	}
	return g.client
}

// attrs returns attributes built from alternating ids and values.
func attrs(pairs ...any) []sai.Attr {
	var l []sai.Attr
	for i := 0; i < len(pairs); i += 2 {
		l = append(l, sai.Attr{ID: pairs[i].(sai.AttrID), Value: pairs[i+1].(sai.Value)})
	}
	return l
}

func (g *rig) must(what string, err error) {
	g.Helper()
	if err != nil {
		g.Fatalf("%s: %v", what, err)
	}
}

func (g *rig) create(t sai.ObjectType, a []sai.Attr) sai.OID {
	g.Helper()
	o, err := g.api().Create(context.Background(), t, a)
	g.must("create "+t.String(), err)
	return o
}

func (g *rig) createSwitch() {
	g.Helper()
	g.create(sai.ObjectTypeSwitch, attrs(sai.SwitchAttrInitSwitch, sai.Bool(true),
		sai.SwitchAttrPortStateChangeNotify, sai.Pointer(1),
		sai.SwitchAttrSrcMACAddress, sai.MAC{2, 0, 0, 0, 0, 1}))
}

func (g *rig) get(k sai.Key, id sai.AttrID) sai.Value {
	g.Helper()
	got, err := g.api().Get(context.Background(), k, []sai.Attr{sai.Want(id, 256)})
	g.must("get "+id.String(), err)
	return got[0].Value
}

func (g *rig) ports() sai.OIDs {
	g.Helper()
	return g.get(sai.Obj(sai.ObjectTypeSwitch, protocol.SwitchVID), sai.SwitchAttrPortList).(sai.OIDs)
}

// A client, a server and the database between them form a backend like any other.
func TestContract(t *testing.T) {
	redises(t, func(t *testing.T, r *swss.Redis) {
		stop := func() {}
		saitest.Contract(t, func() sai.API {
			stop()
			noError(t, r.DB(swss.ASICDB).Client().FlushAll(context.Background()).Err())
			g := newRig(t, r, saitest.NewFake(), ServerOptions{})
			stop = g.stop
			return g.client
		})
	})
}

// entry returns an operation with the given key, body and op.
func entry(words []string) swss.Entry { return swss.Entry{Key: words[0], Body: words[1], Op: words[2]} }

// noError ends a test on an error.
func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// need returns a function that returns v, or ends the test if err is not nil.
func need[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		noError(t, err)
		return v
	}
}
