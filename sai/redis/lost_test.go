package sairedis

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"tamtam/sai"
	"tamtam/sai/redis/protocol"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// soon is the maximum time of a call after its context has ended: it must not hang, however busy the machine is.
const soon = 30 * time.Second

var aTable = attrs(sai.ACLTableAttrACLStage, sai.ACLStageIngress)

// unknownState checks that an error reports that the state of the ASIC is unknown.
func unknownState(t *testing.T, what string, err error) {
	t.Helper()
	if _, ok := sai.StatusOf(err); ok || !errors.Is(err, ErrUnknown) {
		t.Errorf("%s: %v; want an error without status that says the state is unknown", what, err)
	}
}

// lostBy checks that Lost returns now with a reason, and that no more requests are sent.
func lostBy(t *testing.T, c *Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	unknownState(t, "Lost", c.Lost(ctx))
	_, err := c.Create(ctx, sai.ObjectTypeACLTable, aTable)
	unknownState(t, "the next call", err)
	for _, err := range c.BulkRemove(ctx, make([]sai.Key, 0)) {
		unknownState(t, "the next bulk call", err)
	}
}

// within runs f and checks that it returns in time.
func within(t *testing.T, d time.Duration, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(d):
		t.Fatalf("%s hangs", what)
	}
}

// Syncd dies in the middle of a call. The call ends at its time limit, or with its context, and the client is lost.
func TestSyncdDies(t *testing.T) {
	redises(t, func(t *testing.T, r *swss.Redis) {
		for _, how := range []string{"time-out", "cancelled", "deadline"} {
			t.Run(how, func(t *testing.T) {
				g := newRig(t, r, newFake(), ServerOptions{TempView: true})
				c, err := NewClient(context.Background(), r, ClientOptions{})
				g.must("client", err)
				g.client = c
				g.must("INIT_VIEW", c.InitView(context.Background()))
				g.createSwitch()
				g.stop()
				if how == "time-out" {
					c.timeout = 50 * time.Millisecond // only now, since syncd's earlier answers may be slow
				}
				ctx, cancel := context.WithCancel(context.Background())
				if how == "deadline" {
					ctx, cancel = context.WithTimeout(ctx, 50*time.Millisecond)
				}
				defer cancel()
				lost := make(chan error, 1)
				go func() { lost <- c.Lost(context.Background()) }()
				if how == "cancelled" {
					go func() {
						for q := swss.NewQueue(r.DB(swss.ASICDB), protocol.ASICState); ; { // until the request was sent
							if n, _ := q.Len(context.Background()); n > 0 {
								break
							}
						}
						cancel()
					}()
				}
				within(t, soon, "create", func() { _, err = c.Create(ctx, sai.ObjectTypeACLTable, aTable) })
				unknownState(t, "create", err)
				within(t, soon, "Lost", func() { unknownState(t, "Lost", <-lost) })
				lostBy(t, c)
				g.fake = newFake()
				g.restartServer(ServerOptions{TempView: true}) // its answer is ignored by the next client
				g.restartClient()
				g.must("INIT_VIEW", g.client.InitView(context.Background()))
				g.createSwitch()
				g.must("APPLY_VIEW", g.client.ApplyView(context.Background()))
				noError(t, r.DB(swss.ASICDB).Client().FlushDB(context.Background()).Err())
			})
		}
	})
}

// slowly runs a syncd that only dequeues requests. It returns the requests and sends no answers.
func slowly(ctx context.Context, r *swss.Redis) <-chan swss.Entry {
	out := make(chan swss.Entry)
	go func() {
		defer close(out)
		for q := swss.NewQueue(r.DB(swss.ASICDB), protocol.ASICState); ctx.Err() == nil; {
			entries, _ := q.Pop(ctx)
			for _, e := range entries {
				out <- e
			}
		}
	}()
	return out
}

// Redis dies in the middle of a call, with or without its data. The call ends immediately, and the client is lost.
func TestRedisDies(t *testing.T) {
	for _, how := range []string{"killed", "stopped"} {
		t.Run(how, func(t *testing.T) {
			redis := swsstest.StartServer(t)
			r := redis.Open()
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			c := need(NewClient(ctx, r, ClientOptions{}))(t)
			requests := slowly(ctx, r)
			failed := make(chan error, 1)
			go func() { failed <- c.InitView(context.Background()) }()
			<-requests
			cancel()
			for range requests {
			}
			if how == "killed" {
				redis.Kill()
			} else {
				redis.Stop()
			}
			within(t, soon, "INIT_VIEW", func() { unknownState(t, "INIT_VIEW", <-failed) })
			lostBy(t, c)
		})
	}
}

// While Redis is away nothing is sent. The state of the ASIC stays known, the client is not lost, and it works again
// when Redis is back. If Redis has lost the scripts, no request is lost or doubled.
func TestRedisComesBack(t *testing.T) {
	ctx := context.Background()
	redis := swsstest.StartServer(t)
	r := redis.Open()
	g := newRig(t, r, newFake(), ServerOptions{})
	g.createSwitch()
	for i := range 3 {
		redis.Stop()
		_, err := g.client.Create(ctx, sai.ObjectTypeACLTable, aTable)
		if _, ok := sai.StatusOf(err); ok || err == nil || errors.Is(err, ErrUnknown) ||
			!errors.Is(err, swss.ErrUnavailable) {
			t.Fatalf("create without Redis: %v", err)
		}
		redis.Start()
		g.create(sai.ObjectTypeACLTable, aTable)
		if n := len(g.fake.Created()); n != i+1 {
			t.Fatalf("%d objects in the backend, want %d", n, i+1)
		}
	}
}

// Scripts are lost all the time, but each request is made once and answered once.
func TestScriptsForgotten(t *testing.T) {
	redis := swsstest.StartServer(t)
	r := redis.Open()
	g := newRig(t, r, newFake(), ServerOptions{})
	g.createSwitch()
	ctx, cancel := context.WithCancel(context.Background())
	flushed := make(chan int)
	go func() {
		n := 0
		for ; ctx.Err() == nil; n++ {
			r.DB(swss.ASICDB).Client().ScriptFlush(ctx)
		}
		flushed <- n
	}()
	for i := range 100 {
		table := g.create(sai.ObjectTypeACLTable, aTable)
		if n := len(g.fake.Created()); n != 1 {
			t.Fatalf("round %d: %d objects in the backend, want 1", i, n)
		}
		g.must("remove", g.client.Remove(ctx, sai.Obj(sai.ObjectTypeACLTable, table)))
	}
	cancel()
	if n := <-flushed; n < 100 {
		t.Errorf("only %d times forgotten", n)
	}
	for _, list := range []string{requestList, responseList} {
		if n := r.DB(swss.ASICDB).Client().LLen(context.Background(), list).Val(); n != 0 {
			t.Errorf("%d elements are left in %s", n, list)
		}
	}
}

// When Redis hangs, calls whose context has ended still return, including those that wait for their turn.
func TestRedisHangs(t *testing.T) {
	redis := swsstest.StartServer(t)
	r := redis.Open()
	g := newRig(t, r, newFake(), ServerOptions{})
	g.createSwitch()
	g.stop()
	g.stop = func() {}
	redis.Signal(syscall.SIGSTOP)
	defer redis.Signal(syscall.SIGCONT)
	ctx, cancel := context.WithCancel(context.Background())
	calls := map[string]func(context.Context) error{
		"create": func(ctx context.Context) error {
			_, err := g.client.Create(ctx, sai.ObjectTypeACLTable, aTable)
			return err
		},
		"set": func(ctx context.Context) error {
			return g.client.Set(ctx, sai.Obj(sai.ObjectTypeSwitch, protocol.SwitchVID),
				sai.Attr{ID: sai.SwitchAttrSrcMACAddress, Value: sai.MAC{2}})
		},
		"bulk": func(ctx context.Context) error {
			_, errs := g.client.BulkCreate(ctx, sai.ObjectTypeACLTable, [][]sai.Attr{aTable})
			return errs[0]
		},
		"apply view": func(ctx context.Context) error { return g.client.ApplyView(ctx) },
		"new client": func(ctx context.Context) error {
			_, err := NewClient(ctx, r, ClientOptions{})
			return err
		},
	}
	ended := make(chan string, len(calls))
	for name, call := range calls {
		go func() {
			if err := call(ctx); err == nil {
				name += " (which succeeded)"
			}
			ended <- name
		}()
	}
	time.AfterFunc(50*time.Millisecond, cancel) // the calls wait for Redis when their context ends
	within(t, 50*time.Millisecond+soon, fmt.Sprint("one of ", len(calls), " calls"), func() {
		for range calls {
			if name := <-ended; calls[name] == nil {
				t.Error(name)
			}
		}
	})
}

// An answer that does not fit its request may belong to another: the client is lost. A bulk request that is refused
// as a whole is not such a case.
func TestMisfits(t *testing.T) {
	ctx := context.Background()
	sw := sai.Obj(sai.ObjectTypeSwitch, protocol.SwitchVID)
	for _, tt := range []struct {
		name   string
		answer [3]string
		call   func(c *Client) error
		status sai.Status // expected error; success means that the client must be lost
	}{
		{"get: too many",
			[3]string{"SAI_STATUS_SUCCESS", `["SAI_SWITCH_ATTR_PORT_LIST","0:null","SAI_SWITCH_ATTR_PORT_LIST","0:null"]`,
				"Sgetresponse"}, getPorts, 0},
		{"get: another attribute", [3]string{"SAI_STATUS_SUCCESS", `["SAI_SWITCH_ATTR_CPU_PORT","oid:0x0"]`, "Sgetresponse"},
			getPorts, 0},
		{"get: no JSON", [3]string{"SAI_STATUS_SUCCESS", `["SAI_SWITCH`, "Sgetresponse"}, getPorts, 0},
		{"get: no status", [3]string{"SAI_STATUS_ODD", `[]`, "Sgetresponse"}, getPorts, 0},
		{"get: refused", [3]string{"SAI_STATUS_NOT_IMPLEMENTED", `[]`, "Sgetresponse"}, getPorts, sai.StatusNotImplemented},
		{"stats", [3]string{"SAI_STATUS_SUCCESS", `[]`, "Sgetresponse"}, func(c *Client) error {
			_, err := c.Stats(ctx, sw, sai.ObjectMeta(sai.ObjectTypeSwitch).Stats[:1])
			return err
		}, 0},
		{"bulk: too few", [3]string{"SAI_STATUS_FAILURE", `["SAI_STATUS_SUCCESS",""]`, "Sgetresponse"}, bulkTables, 0},
		{"bulk: refused", [3]string{"SAI_STATUS_NOT_SUPPORTED", `[]`, "Sgetresponse"}, bulkTables, sai.StatusNotSupported},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := swsstest.Start(t)
			g := newRig(t, r, newFake(), ServerOptions{})
			g.createSwitch()
			g.stop()
			g.stop = func() {}
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			requests := slowly(ctx, r)
			go func() {
				<-requests
				swss.NewQueue(r.DB(swss.ASICDB), protocol.GetResponse).Push(ctx, entry(tt.answer[:]))
				cancel()
				for range requests {
				}
			}()
			err := tt.call(g.client)
			if s, ok := sai.StatusOf(err); tt.status != 0 && (!ok || s != tt.status) {
				t.Errorf("%v, want %s", err, tt.status)
			}
			if tt.status == 0 {
				unknownState(t, tt.name, err)
				lostBy(t, g.client)
			}
		})
	}
}

func getPorts(c *Client) error {
	_, err := c.Get(context.Background(), sai.Obj(sai.ObjectTypeSwitch, protocol.SwitchVID),
		[]sai.Attr{sai.Want(sai.SwitchAttrPortList, 8)})
	return err
}

func bulkTables(c *Client) error {
	_, errs := c.BulkCreate(context.Background(), sai.ObjectTypeACLTable, [][]sai.Attr{aTable, aTable})
	return errs[1]
}
