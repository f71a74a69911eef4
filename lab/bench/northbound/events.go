package northbound

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"tamtam/device"
	"tamtam/lab/bench"
	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/swss/schema"

	"tamtam/device/daemons"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// A links is a chip whose links can be set.
type links interface {
	SetLink(id saisim.PortID, up bool) bool
}

// events measures the time from a link change in the chip to a client, through syncd, orchagent and mgmtd.
func (cfg Config) events(ctx context.Context) ([]bench.Result, error) {
	r, end, err := databases(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	runCtx, stop := context.WithCancel(ctx)
	defer stop()
	g, runCtx := errgroup.WithContext(runCtx)
	var chip links
	common := daemons.Common{Backend: func(c sai.API) sai.API { chip, _ = c.(links); return c }}
	g.Go(func() error {
		return daemons.RunSyncd(runCtx, r, daemons.ChipConfig{Profile: profile.Default()}, common)
	})
	g.Go(func() error { return daemons.RunManagers(runCtx, r, daemons.Common{}) })
	g.Go(func() error { return daemons.RunOrchagent(runCtx, r, daemons.Common{}) })
	config := device.ConfigDB{
		schema.CfgDeviceMetadata: {"localhost": {"hostname": "bench", "mac": "02:00:00:00:07:e4"}},
		schema.CfgPort:           {"Ethernet0": {"lanes": "0,1,2,3", "speed": "100000", "admin_status": "up", "mtu": "9100"}},
	}
	if err := config.Load(ctx, r); err != nil {
		return nil, err
	}
	m, err := start(ctx, cfg.Mgmtd, r)
	if err != nil {
		return nil, err
	}
	took, err := m.flap(ctx, func(up bool) { chip.SetLink(0, up) }, cfg.Events)
	if err := errors.Join(err, m.stop()); err != nil {
		return nil, err
	}
	stop()
	return []bench.Result{
		{Name: "from an event of the chip to the client, p50", Value: percentile(took, 50), Unit: "ms"},
		{Name: "from an event of the chip to the client, p99", Value: percentile(took, 99), Unit: "ms", Aim: aimEvent},
	}, g.Wait()
}

// flap sets a link down and up, and waits each time until a client has received the change.
func (m *process) flap(ctx context.Context, set func(up bool), n int) ([]time.Duration, error) {
	conn, err := m.dial()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	rpc, err := gpb.NewGNMIClient(conn).Subscribe(ctx)
	if err != nil {
		return nil, err
	}
	p := path("interfaces", "interface", "state", "oper-status")
	p.Elem[1].Key = map[string]string{"name": "Ethernet0"}
	err = rpc.Send(&gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Subscribe{Subscribe: &gpb.SubscriptionList{
		Encoding: gpb.Encoding_PROTO, Subscription: []*gpb.Subscription{{Path: p, Mode: gpb.SubscriptionMode_ON_CHANGE}}}}})
	if err != nil {
		return nil, err
	}
	await := func(word string) error {
		for {
			resp, err := rpc.Recv()
			if err != nil {
				return fmt.Errorf("until oper-status is %s: %w", word, err)
			}
			for _, u := range resp.GetUpdate().GetUpdate() {
				if u.GetVal().GetStringVal() == word {
					return nil
				}
			}
		}
	}
	if err := await("UP"); err != nil {
		return nil, err
	}
	var took []time.Duration
	for i := range n {
		up := i%2 == 1
		start := time.Now()
		set(up)
		if err := await(map[bool]string{true: "UP", false: "DOWN"}[up]); err != nil {
			return nil, err
		}
		took = append(took, time.Since(start))
	}
	return took, nil
}
