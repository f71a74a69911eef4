package mgmt

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"tamtam/mgmt/tree"
	"tamtam/swss"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/redis/go-redis/v9"
)

// An afterRead calls f once, when a row with this key has been read.
type afterRead struct {
	key  string
	done atomic.Bool
	f    func()
}

func (h *afterRead) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *afterRead) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		h.look(cmd)
		return err
	}
}

// look calls f if the row was read, either directly or by a script.
func (h *afterRead) look(cmd redis.Cmder) {
	reads := strings.HasPrefix(cmd.Name(), "eval") || cmd.Name() == "hgetall"
	if reads && cmd.Err() == nil && slices.Contains(cmd.Args(), any(h.key)) && h.done.CompareAndSwap(false, true) {
		h.f()
	}
}

func (h *afterRead) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, c := range cmds {
			h.look(c)
		}
		return err
	}
}

// A Get returns the state before a Set or after it, however many paths and tables it requests. The Set is sent when
// half of the Get has been read. The lock prefers waiting writers to later readers, so that paths read under separate
// locks would see different sides of the Set.
func TestGetOfOneInstant(t *testing.T) {
	set := func(port string) *gpb.SetRequest {
		return &gpb.SetRequest{Update: []*gpb.Update{
			update(c1, `{"config":{"name":"c1","ip":"10.0.0.1","port":`+port+`}}`),
			update("/tam/samplers/sampler[name=x]", `{"name":"x","config":{"sampling-rate":`+port+`}}`),
		}}
	}
	const rate = "/tam/samplers/sampler[name=x]/config/sampling-rate"
	for name, paths := range map[string][]string{
		"two paths":                        {c1 + "/config/port", rate},
		"two paths, the other way round":   {rate, c1 + "/config/port"},
		"one path over two tables":         {"/tam"},
		"one path with a wildcard in it":   {"/tam/*"},
		"one path to whatever is below it": {"/tam/.../config"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, nil)
			b.mustSet(set("1"))
			key := "TAM_COLLECTORS_TABLE|c1"
			if paths[0] == rate {
				key = "TAM_SAMPLINGRATE_TABLE|x"
			}
			done := make(chan error, 1)
			h := &afterRead{key: key, f: func() {
				go func() {
					_, err := b.server.Set(b.ctx, set("2"))
					done <- err
				}()
				for b.server.snapshot.TryRLock() { // until the Set waits for the Get
					b.server.snapshot.RUnlock()
					runtime.Gosched()
				}
			}}
			req := &gpb.GetRequest{Encoding: gpb.Encoding_PROTO, Type: gpb.GetRequest_CONFIG}
			for _, p := range paths {
				req.Path = append(req.Path, path(p))
			}
			b.redis.DB(swss.ConfigDB).Client().AddHook(h)
			resp, err := b.server.Get(b.ctx, req)
			if err != nil {
				t.Fatal(err)
			}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			values := 0
			for _, n := range resp.GetNotification() {
				for _, u := range n.GetUpdate() {
					text := tree.PathText(u.GetPath())
					if !strings.HasSuffix(text, "/port") && !strings.HasSuffix(text, "/sampling-rate") {
						continue
					}
					if values++; u.GetVal().GetUintVal() != 1 {
						t.Errorf("half a Set is seen: %s is %s", text, u.GetVal())
					}
				}
				if n.GetTimestamp() != resp.GetNotification()[0].GetTimestamp() {
					t.Errorf("two instants: %v", resp)
				}
			}
			if values != 2 {
				t.Errorf("%d values: %v", values, resp)
			}
		})
	}
}

// While a client repeatedly sets two leaves of two lists to the same number, each ONCE and each Get returns equal
// numbers.
func TestOnceOfOneInstant(t *testing.T) {
	b := newBed(t, nil)
	set := func(n int) *gpb.SetRequest {
		rate := fmt.Sprint(n + 1)
		return &gpb.SetRequest{Update: []*gpb.Update{
			update(c1, `{"config":{"name":"c1","ip":"10.0.0.1","port":`+rate+`}}`),
			update("/tam/samplers/sampler[name=x]", `{"name":"x","config":{"sampling-rate":`+rate+`}}`),
		}}
	}
	b.mustSet(set(0))
	const rounds = 100
	done := make(chan error, 1)
	go func() {
		for i := range rounds {
			if _, err := b.server.Set(b.ctx, set(i)); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	paths := []string{c1 + "/config/port", "/tam/samplers/sampler[name=x]/config/sampling-rate"}
	whole := func(values []string) {
		t.Helper()
		if len(values) != 2 || values[0] != values[1] {
			t.Errorf("half a Set is seen: %q", values)
		}
	}
	for ended := false; !ended; {
		select {
		case err := <-done:
			if ended = true; err != nil {
				t.Fatal(err)
			}
		default:
		}
		list := streamOf(subOf(onChange, paths[0]), subOf(onChange, paths[1]))
		list.Mode = gpb.SubscriptionList_ONCE
		s := b.subscribe(list)
		var values []string
		for m, err := s.rpc.Recv(); !m.GetSyncResponse(); m, err = s.rpc.Recv() {
			if err != nil {
				t.Fatal(err)
			}
			for _, u := range m.GetUpdate().GetUpdate() {
				values = append(values, string(u.GetVal().GetJsonIetfVal()))
			}
		}
		whole(values)
		values = nil
		resp, err := b.client.Get(b.ctx, &gpb.GetRequest{Path: []*gpb.Path{path(paths[0]), path(paths[1])},
			Encoding: gpb.Encoding_JSON_IETF})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range resp.GetNotification() {
			values = append(values, string(n.GetUpdate()[0].GetVal().GetJsonIetfVal()))
		}
		whole(values)
	}
}
