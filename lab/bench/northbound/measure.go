package northbound

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"tamtam/lab/bench"
	"tamtam/swss"
	"tamtam/swss/schema"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// Targets for an AMD EPYC of 2 cores.
const (
	aimOnChange = 100_000 // changes per second
	aimSample   = 200_000
	aimJSON     = 0.3 // s
	aimProto    = 0.6
	aimMemory   = 150 // MB
	aimSet      = 2   // s
	aimShell    = 10  // us
	aimEvent    = 10  // ms
)

// onChange measures the cost of reporting changes to subscribers. Each change affects one leaf, so that each is a
// message.
func (cfg Config) onChange(ctx context.Context, m *process, r *swss.Redis) ([]bench.Result, error) {
	var all []bench.Result
	words := []string{"pending", "active"}
	sub := &gpb.Subscription{Path: ofSessions("state", "status"), Mode: gpb.SubscriptionMode_ON_CHANGE}
	for _, load := range []struct{ subscribers, rows, rounds int }{{1, cfg.Sessions, 4}, {many, cfg.Changing, 2}} {
		subs, end, err := m.subscribers(ctx, load.subscribers, sub)
		if err != nil {
			return nil, err
		}
		c, err := m.of(func() (int, error) {
			total := 0
			for i := range load.rounds {
				from := make(map[*counter]int64, len(subs))
				for _, s := range subs {
					from[s] = s.updates.Load()
				}
				fields := swss.FieldValues{"status": words[i%2]}
				if err := write(ctx, r, swss.StateDB, schema.StateTAMTailStamp, load.rows, fields); err != nil {
					return 0, err
				}
				err := until(ctx, "changes", subs, func(c *counter) bool { return c.updates.Load() >= from[c]+int64(load.rows) })
				if err != nil {
					return 0, err
				}
				total += load.rows * len(subs)
			}
			return total, nil
		})
		end()
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("ON_CHANGE, %d subscribers, updates per CPU-second", load.subscribers)
		all = append(all, bench.Result{Name: strings.Replace(name, " 1 subscribers", " 1 subscriber", 1),
			Value: c.perSecond(), Unit: "1/s", Aim: aimOnChange})
		if load.subscribers > 1 {
			continue
		}
		bytes, err := m.memory()
		if err != nil {
			return nil, err
		}
		all = append(all, bench.Result{Name: fmt.Sprintf("memory of mgmtd, %d sessions known", cfg.Sessions),
			Value: bytes / 1e6, Unit: "MB", Aim: aimMemory})
	}
	return all, nil
}

// sample measures samples of counters that have changed since the last sample.
func (cfg Config) sample(ctx context.Context, m *process, r *swss.Redis) ([]bench.Result, error) {
	sub := &gpb.Subscription{Path: ofSessions("state", "counters"), Mode: gpb.SubscriptionMode_SAMPLE,
		SampleInterval: uint64(time.Second)}
	subs, end, err := m.subscribers(ctx, 1, sub)
	if err != nil {
		return nil, err
	}
	defer end()
	leaves := int64(len(counted(0)) * cfg.Sessions)
	c, err := m.of(func() (int, error) {
		from := subs[0].updates.Load()
		const rounds = 3
		for i := range int64(rounds) {
			if err := write(ctx, r, swss.CountersDB, schema.CountersTailStamp, cfg.Sessions, counted(int(i)+2)); err != nil {
				return 0, err
			}
			err := until(ctx, "samples", subs, func(c *counter) bool { return c.updates.Load() >= from+(i+1)*leaves })
			if err != nil {
				return 0, err
			}
		}
		return rounds * int(leaves), nil
	})
	return []bench.Result{{Name: "SAMPLE, 1 subscriber, updates per CPU-second", Value: c.perSecond(), Unit: "1/s",
		Aim: aimSample}}, err
}

// get measures Gets of all sessions and flow groups, including their state. The first reads from the databases, and the
// next ones from the cache.
func (cfg Config) get(ctx context.Context, m *process, _ *swss.Redis) ([]bench.Result, error) {
	conn, err := m.dial()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	var all []bench.Result
	for _, e := range []struct {
		encoding gpb.Encoding
		rounds   int
		what     string
		aim      float64
	}{
		{gpb.Encoding_JSON_IETF, 1, "the first", 0},
		{gpb.Encoding_JSON_IETF, 3, "JSON_IETF", aimJSON}, {gpb.Encoding_PROTO, 3, "PROTO", aimProto},
	} {
		c, err := m.of(func() (int, error) {
			for range e.rounds {
				_, err := gpb.NewGNMIClient(conn).Get(ctx, &gpb.GetRequest{Encoding: e.encoding, Path: []*gpb.Path{path("tam")}})
				if err != nil {
					return 0, err
				}
			}
			return e.rounds, nil
		})
		if err != nil {
			return nil, err
		}
		all = append(all, bench.Result{Name: fmt.Sprintf("Get of %d sessions, %s, processor time", cfg.Sessions, e.what),
			Value: c.cpu.Seconds() / float64(c.n), Unit: "s", Aim: e.aim})
	}
	return all, nil
}

// set measures one Set that changes a leaf of each flow group.
func (cfg Config) set(ctx context.Context, m *process, _ *swss.Redis) ([]bench.Result, error) {
	conn, err := m.dial()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	req := &gpb.SetRequest{}
	for i := range cfg.Sessions {
		req.Update = append(req.Update, &gpb.Update{Path: ofFlowGroup(session(i), "config", "priority"),
			Val: &gpb.TypedValue{Value: &gpb.TypedValue_UintVal{UintVal: uint64(200 + i%100)}}})
	}
	c, err := m.of(func() (int, error) {
		_, err := gpb.NewGNMIClient(conn).Set(ctx, req)
		return len(req.GetUpdate()), err
	})
	return []bench.Result{{Name: fmt.Sprintf("Set of %d changes, processor time", cfg.Sessions), Value: c.cpu.Seconds(),
		Unit: "s", Aim: aimSet}}, err
}

// shell measures the shell's list of all sessions. Both the shell and mgmtd work for it.
func (cfg Config) shell(ctx context.Context, m *process, _ *swss.Redis) ([]bench.Result, error) {
	if len(cfg.Shell) == 0 {
		return nil, nil
	}
	run := func(line string) (shell time.Duration, out []byte, err error) {
		cmd := exec.CommandContext(ctx, cfg.Shell[0], append(cfg.Shell[1:len(cfg.Shell):len(cfg.Shell)],
			"--data", m.dir, "-c", line)...)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		if out, err = cmd.Output(); err != nil {
			return 0, nil, fmt.Errorf("%s: %w\n%s", line, err, errs.String())
		}
		return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), out, nil
	}
	if _, _, err := run("show tam summary"); err != nil { // from then on mgmtd knows how many are active
		return nil, err
	}
	start, _, err := run("show tam switch")
	if err != nil {
		return nil, err
	}
	const rounds = 3
	var took time.Duration
	c, err := m.of(func() (int, error) {
		for range rounds {
			spent, out, err := run("show tam tail-stamping sessions")
			if err == nil && bytes.Count(out, []byte("\n")) < cfg.Sessions {
				err = errors.New("the shell's list is too short")
			}
			if took += spent - start; err != nil {
				return 0, err
			}
		}
		return rounds * cfg.Sessions, nil
	})
	return []bench.Result{{Name: "shell's list of sessions, processor time of shell and mgmtd, each row",
		Value: float64((took + c.cpu).Microseconds()) / float64(rounds*cfg.Sessions), Unit: "us", Aim: aimShell}}, err
}
