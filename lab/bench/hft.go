package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tamtam/device"
	"tamtam/device/daemons"
	"tamtam/lab/bench/chipload"
	"tamtam/mgmt/hftrecords"
	"tamtam/sai"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Ports and load of each in the benchmarks of high-frequency telemetry.
const (
	hftPorts = 64
	hftLoad  = 0.1 // of the rate of each port
)

// HFT measures high-frequency telemetry of 30 statistics of each of 64 ports. For the simulated chip, packets at a
// tenth of the ports' rate alternate with the same packets while the chip streams, every 1 ms and every 10 us. Records
// are collected as syncd does. Then a whole switch streams every 1 ms for the duration, at least a second: how many of
// the records arrive, how regularly, and how late. There, the clock is the machine's, whose other work delays records.
func HFT(ctx context.Context, o Options) ([]Result, error) {
	b := chipBench{ctx: ctx, d: o.Duration}
	without := chipload.Load{Ports: hftPorts, Pause: chipload.PauseFor(hftPorts, hftLoad)}
	for _, every := range []time.Duration{time.Millisecond, 10 * time.Microsecond} {
		with := without
		with.Streamed = every
		b.besideFor(without.Within(time.Millisecond), fmt.Sprintf("%d x %d every %s", hftPorts, chipload.Statistics, every),
			without, with)
	}
	if b.err != nil {
		return nil, b.err
	}
	p := chipload.WithPorts(profile.Default(), hftPorts)
	stats, err := chipload.Streamed(ctx)
	if err != nil {
		return nil, err
	}
	var store *hftrecords.Store
	syncd := func(ctx context.Context, r *swss.Redis) error {
		cfg := daemons.ChipConfig{Profile: p, Streams: []daemons.StreamReader{daemons.StoreReader(store)}}
		return daemons.RunSyncd(ctx, r, cfg, daemons.Common{})
	}
	r, err := openRedis(ctx, "embedded")
	if err != nil {
		return nil, err
	}
	defer r.Close()
	store = hftrecords.New(hftrecords.SessionsOf(r), time.Now)
	live, err := onRedis(ctx, r, syncd, func(ctx context.Context, r *swss.Redis) ([]Result, error) {
		if err := streamedPorts(p, stats).Load(ctx, r); err != nil {
			return nil, err
		}
		if err := awaitActive(ctx, r, schema.AppHFTGroup, "bench|PORT"); err != nil {
			return nil, err
		}
		return liveStream(ctx, store, max(o.Duration, time.Second))
	})
	return append(b.results, live...), err
}

// streamedPorts returns the configuration of a switch that streams statistics of all ports every millisecond.
func streamedPorts(p profile.Profile, stats []sai.StatID) device.ConfigDB {
	c := onePort()
	c[schema.CfgPort] = map[string]swss.FieldValues{}
	var names, counters []string
	for i := range int(p.Default[0].Count) {
		first := int(p.Default[0].First) + i*int(p.Default[0].Lanes)
		lanes := []string{}
		for lane := range int(p.Default[0].Lanes) {
			lanes = append(lanes, fmt.Sprint(first+lane))
		}
		name := fmt.Sprint("Ethernet", i*len(lanes))
		c[schema.CfgPort][name] = swss.FieldValues{"lanes": strings.Join(lanes, ","), "admin_status": "up",
			"speed": fmt.Sprint(p.Default[0].Mbps)}
		names = append(names, name)
	}
	for _, s := range stats {
		counters = append(counters, strings.TrimPrefix(s.String(), "SAI_PORT_STAT_"))
	}
	c[schema.CfgHFTProfile] = map[string]swss.FieldValues{
		"bench": {"stream_state": "enabled", "poll_interval": "1000"}}
	c[schema.CfgHFTGroup] = map[string]swss.FieldValues{"bench|PORT": {
		"object_names": strings.Join(names, ","), "object_counters": strings.Join(counters, ",")}}
	return c
}

// settling is how long records do not count: at first the chip catches up with the time that its start took, all at
// once, and drops records.
const settling = time.Second

// liveStream measures the arrival of the records of a live switch.
func liveStream(ctx context.Context, store *hftrecords.Store, d time.Duration) ([]Result, error) {
	const group, interval = "bench|PORT", time.Millisecond
	ready := make(chan struct{}, 1)
	f := store.Follow(false, ready)
	defer f.Close()
	var began time.Time       // arrival of the first record
	var begin, last time.Time // arrival of the first record that counts, and of the last one
	var first, at int64       // their times
	var gaps, late []time.Duration
	for begin.IsZero() || time.Since(begin) < d {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Minute):
			return nil, errors.New("no record within a minute")
		case <-ready:
		}
		for {
			blocks, missed := f.Next(group)
			if missed > 0 {
				return nil, fmt.Errorf("%d records were missed", missed)
			}
			if len(blocks) == 0 {
				break
			}
			for i := range blocks {
				for _, t := range blocks[i].At {
					now := time.Now()
					if began.IsZero() {
						began = now
					}
					if now.Sub(began) < settling {
						continue
					}
					if begin.IsZero() {
						begin, first = now, t
					} else {
						gaps = append(gaps, now.Sub(last))
					}
					last, at = now, t
					late = append(late, now.Sub(time.Unix(0, t)))
				}
			}
		}
	}
	slices.Sort(late)
	within := 0
	for _, gap := range gaps {
		if gap >= interval/2 && gap <= interval*3/2 {
			within++
		}
	}
	sampled := (at-first)/int64(interval) + 1 // by the times of the records
	return []Result{
		{Name: "live: records that arrived, of those sampled", Value: float64(len(late)) / float64(sampled), Unit: "times"},
		{Name: "live: records in a second", Value: float64(len(gaps)) / last.Sub(begin).Seconds(), Unit: "per second"},
		{Name: "live: arrived between 0.5 and 1.5 intervals", Value: float64(within) / float64(len(gaps)), Unit: "times"},
		{Name: "live: time to arrival, p50", Value: milliseconds(late[len(late)/2]), Unit: "ms"},
		{Name: "live: time to arrival, p99", Value: milliseconds(late[len(late)*99/100]), Unit: "ms"},
	}, nil
}
