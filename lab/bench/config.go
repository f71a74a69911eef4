package bench

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"tamtam/device"
	"tamtam/device/daemons"
	"tamtam/sai"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A configLoad describes a configuration: a feature, the table and row of its sessions, and the number of rules per
// session in the ASIC.
type configLoad struct {
	feature  string
	sessions string // table of the sessions
	session  swss.FieldValues
	rules    int
}

// tailStamping is a load of sessions of tail-stamping.
var tailStamping = configLoad{schema.FeatureTailStamping, schema.CfgTAMTailStamp, swss.FieldValues{}, 1}

// Config measures how long configuration takes, through every daemon. It uses an embedded Redis and, if the program
// redis-server exists, a real one. First it writes a number of flow groups with a session each at once. The time is
// from the first write in CONFIG_DB to the last rule in the ASIC. Then it makes changes one by one, each timed from its
// HSET in CONFIG_DB to its rule in the ASIC.
func Config(ctx context.Context, o Options) ([]Result, error) { return tailStamping.measure(ctx, o) }

// Sessions measures the cost of flow groups with a tail-stamping session each for a whole switch. The switch and its
// embedded Redis run in this process. The cost is the processor time, on all cores together, from the first write in
// CONFIG_DB until all are active in STATE_DB. The cost also includes the memory that they keep in the databases, the
// daemons and the chip.
func Sessions(ctx context.Context, o Options) ([]Result, error) {
	l := tailStamping
	return onSwitch(ctx, "embedded", runSyncd(profile.Default()),
		func(ctx context.Context, r *swss.Redis) ([]Result, error) {
			// The first session shows that all daemons run.
			first, firstRule := l.groups("W", o.Groups, 1)
			if err := loadAll(ctx, r, l.base(), first, firstRule); err != nil {
				return nil, err
			}
			if err := awaitActive(ctx, r, schema.StateTAMTailStamp, device.SortedKeys(first[l.sessions])...); err != nil {
				return nil, err
			}
			sessions, rules := l.groups("F", 0, o.Groups)
			c, err := costOf(ctx, r, []device.ConfigDB{sessions, rules}, schema.StateTAMTailStamp,
				device.SortedKeys(sessions[l.sessions]))
			return []Result{
				{Name: fmt.Sprintf("%d flow groups with sessions, processor time", o.Groups), Value: c.busy.Seconds(), Unit: "s"},
				{Name: "memory of each, databases to chip", Value: c.held / float64(o.Groups) / 1e3, Unit: "kB"},
				{Name: "memory that the process took, garbage included", Value: c.process / 1e6, Unit: "MB"},
			}, err
		})
}

// runSyncd returns a function that runs the daemon with a chip of a profile.
func runSyncd(p profile.Profile) func(context.Context, *swss.Redis) error {
	return func(ctx context.Context, r *swss.Redis) error {
		return daemons.RunSyncd(ctx, r, daemons.ChipConfig{Profile: p}, daemons.Common{})
	}
}

// A ruleWatch sits between syncd and the chip and counts the created ACL entries.
type ruleWatch struct {
	sai.API
	entries chan int // number of entries created by each call
}

// Create forwards the call to the chip, and counts an ACL entry.
func (w *ruleWatch) Create(ctx context.Context, t sai.ObjectType, attrs []sai.Attr) (sai.OID, error) {
	oid, err := w.API.Create(ctx, t, attrs)
	if err == nil && t == sai.ObjectTypeACLEntry {
		w.entries <- 1
	}
	return oid, err
}

// BulkCreate forwards the call to the chip, and counts the ACL entries.
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

// measure configures the load on each available Redis.
func (l configLoad) measure(ctx context.Context, o Options) ([]Result, error) {
	return onEachRedis(ctx, func(name, addr string) ([]Result, error) {
		watch := &ruleWatch{entries: make(chan int, l.rules*(o.Groups+o.Changes+1))}
		common := daemons.Common{Backend: func(chip sai.API) sai.API { watch.API = chip; return watch }}
		syncd := func(ctx context.Context, r *swss.Redis) error {
			return daemons.RunSyncd(ctx, r, daemons.ChipConfig{Profile: profile.Default()}, common)
		}
		return onSwitch(ctx, addr, syncd, func(ctx context.Context, r *swss.Redis) ([]Result, error) {
			return l.run(ctx, r, watch, name, o.Groups, o.Changes)
		})
	})
}

// run writes the load, and waits for its rules.
func (l configLoad) run(
	ctx context.Context, r *swss.Redis, watch *ruleWatch, name string, groups, changes int,
) ([]Result, error) {
	put := func(rules int, configs ...device.ConfigDB) (time.Duration, error) {
		start := time.Now()
		if err := loadAll(ctx, r, configs...); err != nil {
			return 0, err
		}
		err := watch.wait(ctx, l.rules*rules)
		return time.Since(start), err
	}
	// The first rule warms everything up and shows that all daemons run.
	first, firstRule := l.groups("W", groups+changes, 1)
	if _, err := put(1, l.base(), first, firstRule); err != nil {
		return nil, err
	}
	sessions, rules := l.groups("F", 0, groups)
	bulk, err := put(groups, sessions, rules)
	if err != nil {
		return nil, err
	}
	single, singleRules := l.groups("S", groups, changes)
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
	return []Result{
		{Name: fmt.Sprintf("%s: %d flow groups with sessions", name, groups), Value: bulk.Seconds(), Unit: "s"},
		{Name: fmt.Sprintf("%s: one change, p50", name), Value: milliseconds(took[len(took)/2]), Unit: "ms"},
		{Name: fmt.Sprintf("%s: one change, p99", name), Value: milliseconds(took[len(took)*99/100]), Unit: "ms"},
	}, nil
}

// base returns the configuration of a switch with one port and the feature.
func (l configLoad) base() device.ConfigDB {
	c := onePort()
	c[schema.CfgTAMFeature] = map[string]swss.FieldValues{l.feature: {"status": "ACTIVE"}}
	return c
}

// onePort returns the configuration of a switch with one port.
func onePort() device.ConfigDB {
	return device.ConfigDB{
		schema.CfgDeviceMetadata: {"localhost": {"hostname": "bench", "mac": "02:00:00:00:07:e4"}},
		schema.CfgPort:           {"Ethernet0": {"lanes": "0,1,2,3", "speed": "100000", "admin_status": "up", "mtu": "9100"}},
	}
}

// groups returns n flow groups with a session each, and their rules. Their numbers start at from.
func (l configLoad) groups(prefix string, from, n int) (sessions, rules device.ConfigDB) {
	sessions = device.ConfigDB{schema.CfgTAMFlowGroup: {}, l.sessions: {}}
	rules = device.ConfigDB{schema.CfgACLRule: {}}
	for i := from; i < from+n; i++ {
		name := fmt.Sprintf("%s%05d", prefix, i)
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
