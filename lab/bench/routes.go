package bench

import (
	"context"
	"fmt"
	"slices"

	"tamtam/device"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Targets of [Routes].
const (
	aimOneMore   = 5.0 // ms
	aimRouteSize = 4.0 // kB
)

// routeChanges is how many routes are added, changed and removed one by one.
const routeChanges = 50

// Routes measures the cost of static routes for a whole switch. The switch and its embedded Redis run in this process.
// It measures the processor time, on all cores together, from the first write in CONFIG_DB until all routes are active
// in STATE_DB. It also measures the processor time to add one more route, to change the next hop of one, and to remove
// one, each awaited. The memory is what the routes keep in the databases, the daemons and the chip. The chip has
// capacity for them.
func Routes(ctx context.Context, o Options) ([]Result, error) {
	var all []Result
	for n := min(1000, o.Most); ; n = min(10*n, o.Most) {
		p := profile.Default()
		p.IPv4Routes = max(p.IPv4Routes, uint32(n+routeChanges+100))
		results, err := onSwitch(ctx, "embedded", runSyncd(p), func(ctx context.Context, r *swss.Redis) ([]Result, error) {
			return (&routesBench{r, n}).cost(ctx)
		})
		if err != nil {
			return nil, err
		}
		if all = append(all, results...); n == o.Most {
			return all, nil
		}
	}
}

// A routesBench has routes configured on a running switch.
type routesBench struct {
	*swss.Redis
	n int
}

// cost configures routes, all at once and one by one.
func (b *routesBench) cost(ctx context.Context) ([]Result, error) {
	base, neighbors := onePort(), map[string]swss.FieldValues{}
	base[schema.CfgInterface] = map[string]swss.FieldValues{"Ethernet0": {"NULL": "NULL"},
		"Ethernet0|10.0.0.1/24": {"NULL": "NULL"}}
	for _, n := range []string{"2", "3"} {
		neighbors["Ethernet0|10.0.0."+n] = swss.FieldValues{"neigh": "02:00:00:00:00:0" + n, "family": "IPv4"}
	}
	base[schema.CfgNeigh] = neighbors
	// The first route shows that all daemons run.
	if err := loadAll(ctx, b.Redis, base); err != nil {
		return nil, err
	}
	if err := b.more(ctx, b.n+routeChanges); err != nil {
		return nil, err
	}
	rows, names := map[string]swss.FieldValues{}, make([]string, b.n)
	for i := range names {
		names[i] = routeName(i)
		rows[names[i]] = swss.FieldValues{"nexthop": "10.0.0.2"}
	}
	c, err := costOf(ctx, b.Redis, []device.ConfigDB{{schema.CfgStaticRoute: rows}}, schema.StateStaticRoute, names)
	if err != nil {
		return nil, err
	}
	results := []Result{
		{Name: fmt.Sprintf("%d static routes, processor time", b.n), Value: c.busy.Seconds(), Unit: "s"},
		{Name: fmt.Sprintf("%d static routes, memory of each, databases to chip", b.n), Value: c.held / float64(b.n) / 1e3,
			Unit: "kB", Aim: aimRouteSize},
	}
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
		results = append(results, Result{Name: fmt.Sprintf(change.name+", processor time, median", b.n),
			Value: times[len(times)/2], Unit: "ms", Aim: aimOneMore})
	}
	return results, nil
}

// routeName returns the prefix of route i.
func routeName(i int) string { return fmt.Sprintf("%d.%d.%d.0/24", 20+i>>16, i>>8&0xff, i&0xff) }

// via writes route i with a next hop.
func (b *routesBench) via(ctx context.Context, i int, hop string) error {
	return device.ConfigDB{schema.CfgStaticRoute: {routeName(i): {"nexthop": hop}}}.Load(ctx, b.Redis)
}

// more adds route i.
func (b *routesBench) more(ctx context.Context, i int) error {
	if err := b.via(ctx, i, "10.0.0.2"); err != nil {
		return err
	}
	return awaitActive(ctx, b.Redis, schema.StateStaticRoute, routeName(i))
}

// move changes the next hop of route i, and waits until its row in APPL_DB shows it.
func (b *routesBench) move(ctx context.Context, i int) error {
	const hop = "10.0.0.3"
	if err := b.via(ctx, i, hop); err != nil {
		return err
	}
	appl := swss.NewTable(b.DB(swss.ApplDB), schema.AppRoute)
	err := poll(ctx, often, func() (bool, error) {
		row, _, err := appl.Get(ctx, routeName(i))
		return row["nexthop"] == hop, err
	})
	if err != nil {
		return err
	}
	return awaitActive(ctx, b.Redis, schema.StateStaticRoute, routeName(i))
}

// less removes route i.
func (b *routesBench) less(ctx context.Context, i int) error {
	if err := swss.NewTable(b.DB(swss.ConfigDB), schema.CfgStaticRoute).Del(ctx, routeName(i)); err != nil {
		return err
	}
	state := swss.NewTable(b.DB(swss.StateDB), schema.StateStaticRoute)
	return poll(ctx, often, func() (bool, error) {
		_, ok, err := state.Get(ctx, routeName(i))
		return !ok, err
	})
}
