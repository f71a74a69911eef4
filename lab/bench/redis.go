package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"tamtam/device"
	"tamtam/device/daemons"
	"tamtam/lab/bench/chipload"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// onEachRedis measures on an embedded Redis and, if the program redis-server exists, on a real one.
func onEachRedis[T any](ctx context.Context, measure func(name, addr string) ([]T, error)) ([]T, error) {
	results, err := measure("embedded", "embedded")
	if err != nil {
		return nil, err
	}
	addr, stop, err := StartRedisServer(ctx)
	if errors.Is(err, exec.ErrNotFound) {
		return results, nil
	}
	if err != nil {
		return nil, err
	}
	defer stop()
	more, err := measure("redis-server", addr)
	return append(results, more...), err
}

// StartRedisServer starts a separate redis-server on a socket in a temporary directory. Without that program it fails
// with [exec.ErrNotFound].
func StartRedisServer(ctx context.Context) (addr string, stop func(), err error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp("", "tamtam-bench")
	if err != nil {
		return "", nil, err
	}
	socket := filepath.Join(dir, "redis.sock")
	cmd := exec.CommandContext(ctx, program, "--port", "0", "--unixsocket", socket, "--databases", "32",
		"--save", "", "--appendonly", "no", "--dir", dir, "--notify-keyspace-events", "AKE")
	if err := cmd.Start(); err != nil {
		os.RemoveAll(dir)
		return "", nil, err
	}
	return "unix:" + socket, func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		os.RemoveAll(dir)
	}, nil
}

// openRedis opens the embedded server, or waits for the one that was started.
func openRedis(ctx context.Context, addr string) (*swss.Redis, error) {
	if addr == "embedded" {
		return swss.Open(ctx, addr)
	}
	cfg, err := swss.DefaultConfig(addr)
	if err != nil {
		return nil, err
	}
	return device.WaitRedis(ctx, cfg, slog.New(slog.DiscardHandler))
}

// onSwitch measures a switch whose daemons all run in this process. syncd runs the daemon with the chip.
func onSwitch[T any](ctx context.Context, addr string, syncd func(context.Context, *swss.Redis) error,
	measure func(context.Context, *swss.Redis) ([]T, error),
) ([]T, error) {
	r, err := openRedis(ctx, addr)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return onRedis(ctx, r, syncd, measure)
}

// onRedis does so with an open Redis.
func onRedis[T any](ctx context.Context, r *swss.Redis, syncd func(context.Context, *swss.Redis) error,
	measure func(context.Context, *swss.Redis) ([]T, error),
) ([]T, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Minute)
	defer cancel()
	runCtx, stop := context.WithCancel(ctx)
	g, runCtx := errgroup.WithContext(runCtx)
	g.Go(func() error { return syncd(runCtx, r) })
	g.Go(func() error { return daemons.RunManagers(runCtx, r, daemons.Common{}) })
	g.Go(func() error { return daemons.RunOrchagent(runCtx, r, daemons.Common{}) })
	results, err := measure(runCtx, r)
	stop()
	return results, errors.Join(err, g.Wait())
}

// loadAll writes configurations, one after the other.
func loadAll(ctx context.Context, r *swss.Redis, configs ...device.ConfigDB) error {
	for _, c := range configs {
		if err := c.Load(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// poll waits until done returns true, checking at intervals, which is cheap.
func poll(ctx context.Context, every time.Duration, done func() (bool, error)) error {
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(every):
		}
	}
}

// often is the interval at which one row is polled.
const often = 2 * time.Millisecond

// awaitActive returns when rows of a table of STATE_DB are active. It polls one row that is not active yet, and reads
// all rows once that one is. So the waiting adds little to the measurement.
func awaitActive(ctx context.Context, r *swss.Redis, table string, names ...string) error {
	rows, missing, every := swss.NewTable(r.DB(swss.StateDB), table), names[len(names)-1], often
	if len(names) > 1 {
		every = 10 * often
	}
	active := func(row swss.FieldValues) bool { return row[schema.FieldStatus] == schema.StatusActive }
	err := poll(ctx, every, func() (bool, error) {
		row, _, err := rows.Get(ctx, missing)
		if err != nil || !active(row) || len(names) == 1 {
			return active(row), err
		}
		all, err := rows.Dump(ctx)
		i := slices.IndexFunc(names, func(name string) bool { return !active(all[name]) })
		if i >= 0 {
			missing = names[i]
		}
		return err == nil && i < 0, err
	})
	if err != nil {
		return fmt.Errorf("%s of %s is not active: %w", missing, table, err)
	}
	return nil
}

// A cost is the cost of a configuration for a switch that is one process.
type cost struct {
	busy    time.Duration // processor time, on all cores together, from the first write until all rows are active
	held    float64       // bytes that remain in use: databases, daemons and chip
	process float64       // bytes by which the process grew, including garbage
}

// costOf loads configurations, and waits until rows of a table of STATE_DB are active.
func costOf(
	ctx context.Context, r *swss.Redis, configs []device.ConfigDB, table string, names []string,
) (c cost, err error) {
	before, begin := held(), processorTime()
	if err := loadAll(ctx, r, configs...); err != nil {
		return c, err
	}
	if err := awaitActive(ctx, r, table, names...); err != nil {
		return c, err
	}
	c.busy = processorTime() - begin
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	c.process, c.held = float64(m.Sys-m.HeapReleased), held()-before
	return c, nil
}

// processorTime returns the processor time of this process so far, or 0 if it is unknown.
func processorTime() time.Duration {
	t, _ := chipload.ProcessorTime()
	return t
}

// held returns the bytes that this process holds. It is the minimum of several samples, since a running poll of
// counters holds as much as the sessions.
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
