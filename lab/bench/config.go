package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"tamtam/device"
	"tamtam/device/daemons"
	"tamtam/sai"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Config measures how long configuration takes, through every daemon, on an embedded Redis and, if
// the program redis-server is there, on a real one: a number of flow groups with a session each,
// written at once, from the first write in CONFIG_DB to the last rule in the ASIC; then changes one
// by one, each from its HSET in CONFIG_DB to its rule in the ASIC.
func Config(ctx context.Context, groups, changes int) ([]Result, error) {
	load := configLoad{schema.FeatureTailStamping, schema.CfgTAMTailStamp, swss.FieldValues{}, 1}
	return load.measure(ctx, groups, changes)
}

// A configLoad is what is configured: the rows besides the flow groups, those of a session, and how
// many rules a session has in the ASIC.
type configLoad struct {
	feature  string
	sessions string // table
	session  swss.FieldValues
	rules    int
}

// measure configures the load on each Redis that there is.
func (l configLoad) measure(ctx context.Context, groups, changes int) ([]Result, error) {
	return onEachRedis(ctx, func(name, addr string) ([]Result, error) { return l.on(ctx, name, addr, groups, changes) })
}

// A ruleWatch sits between syncd and the chip and counts the ACL entries.
type ruleWatch struct {
	sai.API
	entries chan int // how many were created at once
}

func (w *ruleWatch) Create(ctx context.Context, t sai.ObjectType, attrs []sai.Attr) (sai.OID, error) {
	oid, err := w.API.Create(ctx, t, attrs)
	if err == nil && t == sai.ObjectTypeACLEntry {
		w.entries <- 1
	}
	return oid, err
}

func (w *ruleWatch) BulkCreate(ctx context.Context, t sai.ObjectType, objs [][]sai.Attr) ([]sai.OID, []error) {
	oids, errs := w.API.BulkCreate(ctx, t, objs)
	n := 0
	for _, err := range errs {
		if err == nil {
			n++
		}
	}
	if t == sai.ObjectTypeACLEntry && n > 0 {
		w.entries <- n
	}
	return oids, errs
}

// wait returns when n more entries are in the ASIC.
func (w *ruleWatch) wait(ctx context.Context, n int) error {
	for n > 0 {
		select {
		case k := <-w.entries:
			n -= k
		case <-ctx.Done():
			return fmt.Errorf("%d rules are missing in the ASIC: %w", n, ctx.Err())
		}
	}
	return nil
}

// on starts all daemons on one Redis, and lets the load be configured.
func (l configLoad) on(ctx context.Context, name, addr string, groups, changes int) ([]Result, error) {
	r, err := openRedis(ctx, addr)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	watch := &ruleWatch{entries: make(chan int, l.rules*(groups+changes+1))}
	common := daemons.Common{Backend: func(chip sai.API) sai.API { watch.API = chip; return watch }}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	runCtx, stop := context.WithCancel(ctx)
	g, runCtx := errgroup.WithContext(runCtx)
	chip := daemons.ChipConfig{Profile: profile.Default()}
	g.Go(func() error { return daemons.RunSyncd(runCtx, r, chip, common) })
	g.Go(func() error { return daemons.RunManagers(runCtx, r, common) })
	g.Go(func() error { return daemons.RunOrchagent(runCtx, r, common) })
	results, err := l.run(runCtx, r, watch, name, groups, changes)
	stop()
	return results, errors.Join(err, g.Wait())
}

// run writes the load, and waits for its rules.
func (l configLoad) run(
	ctx context.Context, r *swss.Redis, watch *ruleWatch, name string, groups, changes int,
) ([]Result, error) {
	sessions, rules := l.groups("F", 0, groups)
	single, singleRules := l.groups("S", groups, changes)
	// The first rule warms everything up and shows that all daemons run.
	first, firstRule := l.groups("W", groups+changes, 1)
	for _, c := range []device.ConfigDB{l.base(), first, firstRule} {
		if err := c.Load(ctx, r); err != nil {
			return nil, err
		}
	}
	if err := watch.wait(ctx, l.rules); err != nil {
		return nil, err
	}
	start := time.Now()
	for _, c := range []device.ConfigDB{sessions, rules} {
		if err := c.Load(ctx, r); err != nil {
			return nil, err
		}
	}
	if err := watch.wait(ctx, l.rules*groups); err != nil {
		return nil, err
	}
	bulk := time.Since(start)

	if err := single.Load(ctx, r); err != nil {
		return nil, err
	}
	table := swss.NewTable(r.DB(swss.ConfigDB), schema.CfgACLRule)
	took := make([]time.Duration, 0, changes)
	for _, key := range device.SortedKeys(singleRules[schema.CfgACLRule]) {
		start := time.Now()
		if err := table.Set(ctx, key, singleRules[schema.CfgACLRule][key]); err != nil {
			return nil, err
		}
		if err := watch.wait(ctx, l.rules); err != nil {
			return nil, err
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	return []Result{
		{Name: fmt.Sprintf("%s: %d flow groups with sessions", name, groups), Value: bulk.Seconds(), Unit: "s"},
		{Name: fmt.Sprintf("%s: one change, p50", name), Value: ms(took[len(took)/2]), Unit: "ms"},
		{Name: fmt.Sprintf("%s: one change, p99", name), Value: ms(took[len(took)*99/100]), Unit: "ms"},
	}, nil
}

// base is a switch with one port and the feature.
func (l configLoad) base() device.ConfigDB {
	return device.ConfigDB{
		schema.CfgDeviceMetadata: {"localhost": {"hostname": "bench", "mac": "02:00:00:00:07:e4"}},
		schema.CfgPort:           {"Ethernet0": {"lanes": "0,1,2,3", "speed": "100000", "admin_status": "up", "mtu": "9100"}},
		schema.CfgTAMFeature:     {l.feature: {"status": "ACTIVE"}},
	}
}

// groups makes n flow groups with a session each, and their rules. Their
// numbers start at from.
func (l configLoad) groups(prefix string, from, n int) (sessions, rules device.ConfigDB) {
	sessions = device.ConfigDB{schema.CfgTAMFlowGroup: {}, l.sessions: {}}
	rules = device.ConfigDB{schema.CfgACLRule: {}}
	for i := from; i < from+n; i++ {
		name := groupName(prefix, i)
		sessions[schema.CfgTAMFlowGroup][name] = swss.FieldValues{"id": fmt.Sprint(i + 1), "table-name": schema.TAMTable}
		session := maps.Clone(l.session)
		session["flowgroup"] = name
		sessions[l.sessions][name] = session
		rules[schema.CfgACLRule][schema.TAMTable+"|"+name] = swss.FieldValues{
			"PRIORITY": "100", "SRC_IP": fmt.Sprintf("10.%d.%d.0/24", i>>8&0xff, i&0xff),
			"IP_PROTOCOL": "6", "L4_DST_PORT": fmt.Sprint(1024 + i%60000),
		}
	}
	return sessions, rules
}

// groupName is what groups calls flow group i, and its session.
func groupName(prefix string, i int) string { return fmt.Sprintf("%s%05d", prefix, i) }
