package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"tamtam/device"
	"tamtam/device/daemons"
	"tamtam/lab/bench/chipload"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Sessions measures what a number of flow groups with a tail-stamping session each cost a whole
// switch with an embedded Redis, all in this process: the processor time from the first write in CONFIG_DB
// until all are active in STATE_DB, on all cores together; and the memory that they take for good,
// in the databases, the daemons and the chip.
func Sessions(ctx context.Context, groups int) ([]Result, error) {
	load := configLoad{schema.FeatureTailStamping, schema.CfgTAMTailStamp, swss.FieldValues{}, 1}
	r, err := openRedis(ctx, "embedded")
	if err != nil {
		return nil, err
	}
	defer r.Close()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	runCtx, stop := context.WithCancel(ctx)
	g, runCtx := errgroup.WithContext(runCtx)
	chip, common := daemons.ChipConfig{Profile: profile.Default()}, daemons.Common{}
	g.Go(func() error { return daemons.RunSyncd(runCtx, r, chip, common) })
	g.Go(func() error { return daemons.RunManagers(runCtx, r, common) })
	g.Go(func() error { return daemons.RunOrchagent(runCtx, r, common) })
	results, err := load.cost(runCtx, r, groups)
	stop()
	return results, errors.Join(err, g.Wait())
}

// cost configures the load on a switch that runs.
func (l configLoad) cost(ctx context.Context, r *swss.Redis, groups int) ([]Result, error) {
	// The first session shows that all daemons run.
	first, firstRule := l.groups("W", groups, 1)
	if err := loadAll(ctx, r, l.base(), first, firstRule); err != nil {
		return nil, err
	}
	if err := awaitActive(ctx, r, "W", groups, 1); err != nil {
		return nil, err
	}
	heapBefore := held()
	before, err := chipload.ProcessorTime()
	if err != nil {
		return nil, err
	}
	sessions, rules := l.groups("F", 0, groups)
	if err := loadAll(ctx, r, sessions, rules); err != nil {
		return nil, err
	}
	if err := awaitActive(ctx, r, "F", 0, groups); err != nil {
		return nil, err
	}
	after, err := chipload.ProcessorTime()
	if err != nil {
		return nil, err
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m) // with the garbage that the sessions made
	heapAfter := held()
	return []Result{
		{Name: fmt.Sprintf("%d flow groups with sessions, processor time", groups),
			Value: (after - before).Seconds(), Unit: "s"},
		{Name: "memory of each, databases to chip", Value: (heapAfter - heapBefore) / float64(groups) / 1e3, Unit: "kB"},
		{Name: "memory that the process took, garbage included", Value: float64(m.Sys-m.HeapReleased) / 1e6, Unit: "MB"},
	}, nil
}

func loadAll(ctx context.Context, r *swss.Redis, configs ...device.ConfigDB) error {
	for _, c := range configs {
		if err := c.Load(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// awaitActive returns when n sessions of [configLoad.groups] are active. It asks for one that is not, and for
// all when that one is: waiting is to cost little of what is measured.
func awaitActive(ctx context.Context, r *swss.Redis, prefix string, from, n int) error {
	table := swss.NewTable(r.DB(swss.StateDB), schema.StateTAMTailStamp)
	for missing := groupName(prefix, from+n-1); ; {
		row, _, err := table.Get(ctx, missing)
		if err != nil {
			return err
		}
		if row[schema.FieldStatus] == schema.StatusActive {
			rows, err := table.Dump(ctx)
			if err != nil {
				return err
			}
			i := from
			for i < from+n && rows[groupName(prefix, i)][schema.FieldStatus] == schema.StatusActive {
				i++
			}
			if i == from+n {
				return nil
			}
			missing = groupName(prefix, i)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("session %s is %q: %w", missing, row[schema.FieldStatus], ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// held returns the bytes that this process holds: the least of some moments, for a poll of counters
// that is under way holds as much as the sessions.
func held() float64 {
	var m runtime.MemStats
	least := math.MaxFloat64
	for range 5 {
		runtime.GC()
		runtime.ReadMemStats(&m)
		least = min(least, float64(m.HeapAlloc))
		<-time.After(100 * time.Millisecond)
	}
	return least
}
