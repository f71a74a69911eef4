package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"tamtam/device"
	"tamtam/device/daemons"
	"tamtam/lab/bench/chipload"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Aims of [Routes].
const (
	aimOneMore   = 5.0 // ms
	aimRouteSize = 4.0 // kB
)

// routeChanges is how many routes are added, changed and removed one by one.
const routeChanges = 50

// Routes measures what static routes cost a whole switch with an embedded Redis, all in this process: the processor
// time, on all cores together, of so many, from the first write in CONFIG_DB until all are active in STATE_DB; that
// of one more, of another next hop for one, and of one less, each waited for; and the memory that they take for good,
// in the databases, the daemons and the chip. The chip has room for them.
func Routes(ctx context.Context, most int) ([]Result, error) {
	var all []Result
	for n := min(1000, most); ; n = min(10*n, most) {
		results, err := routesOf(ctx, n)
		if err != nil {
			return nil, err
		}
		if all = append(all, results...); n == most {
			return all, nil
		}
	}
}

func routesOf(ctx context.Context, n int) ([]Result, error) {
	r, err := openRedis(ctx, "embedded")
	if err != nil {
		return nil, err
	}
	defer r.Close()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Minute)
	defer cancel()
	runCtx, stop := context.WithCancel(ctx)
	g, runCtx := errgroup.WithContext(runCtx)
	p := profile.Default()
	p.IPv4Routes = max(p.IPv4Routes, uint32(n+routeChanges+100))
	chip, common := daemons.ChipConfig{Profile: p}, daemons.Common{}
	g.Go(func() error { return daemons.RunSyncd(runCtx, r, chip, common) })
	g.Go(func() error { return daemons.RunManagers(runCtx, r, common) })
	g.Go(func() error { return daemons.RunOrchagent(runCtx, r, common) })
	results, err := (&routesBench{r: r, n: n}).cost(runCtx)
	stop()
	return results, errors.Join(err, g.Wait())
}

// A routesBench has routes configured on a switch that runs.
type routesBench struct {
	r       *swss.Redis
	n       int
	results []Result
}

func (b *routesBench) cost(ctx context.Context) ([]Result, error) {
	// The first route shows that all daemons run.
	if err := loadAll(ctx, b.r, routesBase(), routes(b.n+routeChanges, 1)); err != nil {
		return nil, err
	}
	if err := b.await(ctx, b.n+routeChanges, 1); err != nil {
		return nil, err
	}
	before, held0 := processorTime(), held()
	if err := loadAll(ctx, b.r, routes(0, b.n)); err != nil {
		return nil, err
	}
	if err := b.await(ctx, 0, b.n); err != nil {
		return nil, err
	}
	b.add("%d static routes, processor time", Result{Value: (processorTime() - before).Seconds(), Unit: "s"})
	size := (held() - held0) / float64(b.n) / 1e3
	b.add("%d static routes, memory of each, databases to chip", Result{Value: size, Unit: "kB", Aim: aimRouteSize})
	for _, change := range []struct {
		name string
		do   func(context.Context, int) error
	}{{"one more of %d", b.more}, {"another next hop for one of %d", b.move}, {"one less of %d", b.less}} {
		var times []float64
		for i := range routeChanges {
			before := processorTime()
			if err := change.do(ctx, b.n+i); err != nil {
				return nil, err
			}
			times = append(times, float64(processorTime()-before)/1e6)
		}
		slices.Sort(times)
		b.add(change.name+", processor time, median", Result{Value: times[len(times)/2], Unit: "ms", Aim: aimOneMore})
	}
	return b.results, nil
}

func (b *routesBench) add(name string, r Result) {
	r.Name = fmt.Sprintf(name, b.n)
	b.results = append(b.results, r)
}

// processorTime is that of this process so far; where it is not told, 0.
func processorTime() time.Duration {
	t, _ := chipload.ProcessorTime()
	return t
}

// routesBase is a router interface with two neighbours.
func routesBase() device.ConfigDB {
	neighbor := func(mac string) swss.FieldValues { return swss.FieldValues{"neigh": mac, "family": "IPv4"} }
	return device.ConfigDB{
		schema.CfgDeviceMetadata: {"localhost": {"hostname": "bench", "mac": "02:00:00:00:07:e4"}},
		schema.CfgPort:           {"Ethernet0": {"lanes": "0,1,2,3", "speed": "100000", "admin_status": "up", "mtu": "9100"}},
		schema.CfgInterface:      {"Ethernet0": {"NULL": "NULL"}, "Ethernet0|10.0.0.1/24": {"NULL": "NULL"}},
		schema.CfgNeigh: {
			"Ethernet0|10.0.0.2": neighbor("02:00:00:00:00:02"), "Ethernet0|10.0.0.3": neighbor("02:00:00:00:00:03"),
		},
	}
}

// routeName is the prefix of route i.
func routeName(i int) string { return fmt.Sprintf("%d.%d.%d.0/24", 20+i>>16, i>>8&0xff, i&0xff) }

var routeFields = swss.FieldValues{"nexthop": "10.0.0.2"}

// routes makes n static routes, from number from on.
func routes(from, n int) device.ConfigDB {
	rows := map[string]swss.FieldValues{}
	for i := range n {
		rows[routeName(from+i)] = routeFields
	}
	return device.ConfigDB{schema.CfgStaticRoute: rows}
}

// more adds route i, and move gives it another next hop: another row of APPL_DB shows that it is done.
func (b *routesBench) more(ctx context.Context, i int) error {
	if err := routes(i, 1).Load(ctx, b.r); err != nil {
		return err
	}
	return b.await(ctx, i, 1)
}

func (b *routesBench) move(ctx context.Context, i int) error {
	c := device.ConfigDB{schema.CfgStaticRoute: {routeName(i): {"nexthop": "10.0.0.3"}}}
	if err := c.Load(ctx, b.r); err != nil {
		return err
	}
	appl := swss.NewTable(b.r.DB(swss.ApplDB), schema.AppRoute)
	err := poll(ctx, func() (bool, error) {
		row, _, err := appl.Get(ctx, routeName(i))
		return row["nexthop"] == "10.0.0.3", err
	})
	return errors.Join(err, b.await(ctx, i, 1))
}

// less removes route i.
func (b *routesBench) less(ctx context.Context, i int) error {
	db := b.r.DB(swss.ConfigDB)
	if err := db.Client().Del(ctx, schema.CfgStaticRoute+db.Separator()+routeName(i)).Err(); err != nil {
		return err
	}
	state := swss.NewTable(b.r.DB(swss.StateDB), schema.StateStaticRoute)
	return poll(ctx, func() (bool, error) {
		_, ok, err := state.Get(ctx, routeName(i))
		return !ok, err
	})
}

// await returns when n routes from number from on are active.
func (b *routesBench) await(ctx context.Context, from, n int) error {
	state := swss.NewTable(b.r.DB(swss.StateDB), schema.StateStaticRoute)
	for i := from; i < from+n; i++ {
		if n > 1 && i < from+n-1 && i%1024 != 0 { // they come in order: a few tell of all, and the last row of all
			continue
		}
		if err := poll(ctx, func() (bool, error) {
			row, _, err := state.Get(ctx, routeName(i))
			return row[schema.FieldStatus] == schema.StatusActive, err
		}); err != nil {
			return fmt.Errorf("route %s: %w", routeName(i), err)
		}
	}
	if n == 1 {
		return nil
	}
	return poll(ctx, func() (bool, error) {
		rows, err := state.Dump(ctx)
		for i := from; i < from+n && err == nil; i++ {
			if rows[routeName(i)][schema.FieldStatus] != schema.StatusActive {
				return false, nil
			}
		}
		return err == nil, err
	})
}

// poll waits until something is done, at little cost.
func poll(ctx context.Context, done func() (bool, error)) error {
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * time.Millisecond):
		}
	}
}
