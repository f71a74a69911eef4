// Package northbound measures mgmtd for "tamtam bench gnmi": the cost of reporting many changes to many clients, of
// reading everything, and of a Set with ten thousand changes.
//
// mgmtd runs in its own process, whose processor time the kernel reports. The databases are those of redis-server, or
// embedded in this process if that program does not exist. The process that writes to them, and the clients, are this
// one. So the measured costs are only those of mgmtd, including its connections to clients and to Redis.
package northbound

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"time"

	"tamtam/device"
	"tamtam/device/daemons"
	"tamtam/lab/bench"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A Config configures the measurement.
type Config struct {
	Mgmtd    []string // the command that runs mgmtd, to which --redis, --gnmi, --data and --insecure are added
	Shell    []string // the command of the shell, to which --data and -c are added; nil means that no shell is measured
	Sessions int      // number of flow groups with a tail-stamping session each
	Changing int      // number of these sessions that change while there are many subscribers
	Events   int      // number of link events of the chip, one by one
}

// many is the number of subscribers in measurements with many.
const many = 100

// Run runs all measurements.
func Run(ctx context.Context, cfg Config) ([]bench.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Minute)
	defer cancel()
	results, err := cfg.sessions(ctx)
	if err != nil || cfg.Events == 0 {
		return results, err
	}
	events, err := cfg.events(ctx)
	return append(results, events...), err
}

// sessions measures mgmtd on databases with many sessions. No other process uses these databases.
func (cfg Config) sessions(ctx context.Context) ([]bench.Result, error) {
	r, end, err := databases(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	if err := fill(ctx, r, cfg.Sessions); err != nil {
		return nil, err
	}
	silent := vouch(ctx, r)
	m, err := start(ctx, cfg.Mgmtd, r)
	if err != nil {
		return nil, errors.Join(err, silent())
	}
	var all []bench.Result
	for _, measure := range []func(context.Context, *process, *swss.Redis) ([]bench.Result, error){
		cfg.onChange, cfg.sample, cfg.get, cfg.shell, cfg.set,
	} {
		results, err := measure(ctx, m, r)
		if err != nil {
			return nil, errors.Join(err, silent(), m.stop())
		}
		all = append(all, results...)
	}
	return all, errors.Join(silent(), m.stop())
}

// vouch reports in place of orchagent and syncd that they run, until end is called. Otherwise mgmtd would soon set the
// status of all rows to unknown.
func vouch(ctx context.Context, r *swss.Redis) (end func() error) {
	ctx, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		rows := swss.NewTable(r.DB(swss.StateDB), schema.StateHealth)
		for {
			for _, name := range []string{"orchagent", "syncd"} {
				ready := swss.FieldValues{"state": daemons.StateReady}
				if err := rows.SetFor(ctx, name, ready, 4*time.Second); err != nil && ctx.Err() == nil {
					done <- err
					return
				}
			}
			select {
			case <-ctx.Done():
				done <- nil
				return
			case <-time.After(time.Second):
			}
		}
	}()
	return func() error { stop(); return <-done }
}

// databases returns the empty databases of a switch, which other processes can reach.
func databases(ctx context.Context) (r *swss.Redis, end func(), err error) {
	addr, stop, err := bench.StartRedisServer(ctx)
	if errors.Is(err, exec.ErrNotFound) {
		r, err := swss.OpenEmbedded("127.0.0.1:0")
		return r, func() { r.Close() }, err
	}
	if err != nil {
		return nil, nil, err
	}
	cfg, err := swss.DefaultConfig(addr)
	if err == nil {
		r, err = device.WaitRedis(ctx, cfg, slog.New(slog.DiscardHandler))
	}
	if err != nil {
		stop()
		return nil, nil, err
	}
	return r, func() { r.Close(); stop() }, nil
}

// fill writes n flow groups with an active session each, in the state in which all daemons leave them.
func fill(ctx context.Context, r *swss.Redis, n int) error {
	type rows = map[string]swss.FieldValues
	tables := map[swss.DBName]map[string]rows{
		swss.ConfigDB: {
			schema.CfgTAMFlowGroup: {}, schema.CfgACLRule: {}, schema.CfgTAMTailStamp: {},
			schema.CfgTAMFeature: {schema.FeatureTailStamping: {"status": "ACTIVE"}},
			// Otherwise counters are sampled only every 10 s.
			schema.CfgFlexCounter: {"ACL": {"POLL_INTERVAL": "1000"}},
		},
		swss.ApplDB:     {schema.AppACLRule: {}, schema.AppTAMTailStamp: {}},
		swss.StateDB:    {schema.StateTAMFlowGroup: {}, schema.StateTAMTailStamp: {}},
		swss.CountersDB: {schema.CountersTailStamp: {}, schema.CountersTable: {}},
	}
	counters := swss.FieldValues{}
	state := swss.FieldValues{"status": "active", "reason": "", "since": "2026-01-02T03:04:05Z", "by": "orchagent"}
	for i := range n {
		name, oid := session(i), fmt.Sprintf("oid:0x9%012x", i)
		rule := swss.FieldValues{"PRIORITY": "100", "SRC_IP": fmt.Sprintf("10.%d.%d.0/24", i>>8&0xff, i&0xff),
			"IP_PROTOCOL": "6", "L4_DST_PORT": fmt.Sprint(1024 + i%60000)}
		tables[swss.ConfigDB][schema.CfgTAMFlowGroup][name] = swss.FieldValues{"id": fmt.Sprint(i + 1),
			"table-name": schema.TAMTable}
		tables[swss.ConfigDB][schema.CfgACLRule][schema.TAMTable+"|"+name] = rule
		tables[swss.ConfigDB][schema.CfgTAMTailStamp][name] = swss.FieldValues{"flowgroup": name}
		tables[swss.ApplDB][schema.AppACLRule][schema.TAMTable+":"+name] = rule
		tables[swss.ApplDB][schema.AppTAMTailStamp][name] = swss.FieldValues{"acl-table-name": schema.TAMTable,
			"acl-rule-name": name}
		tables[swss.StateDB][schema.StateTAMFlowGroup][name] = state
		tables[swss.StateDB][schema.StateTAMTailStamp][name] = state
		tables[swss.CountersDB][schema.CountersTailStamp][name] = counted(1)
		tables[swss.CountersDB][schema.CountersTable][oid] = swss.FieldValues{
			"SAI_ACL_COUNTER_ATTR_PACKETS": "1", "SAI_ACL_COUNTER_ATTR_BYTES": "64"}
		counters[schema.TAMTable+":"+name] = oid
	}
	for db, ts := range tables {
		for table, rows := range ts {
			if err := swss.NewTable(r.DB(db), table).SetMany(ctx, rows); err != nil {
				return err
			}
		}
	}
	return swss.NewTable(r.DB(swss.CountersDB), schema.CountersACLRuleMap).Set(ctx, "", counters)
}

func session(i int) string { return fmt.Sprintf("s%05d", i) }

// counted returns a row of counters of a session.
func counted(n int) swss.FieldValues {
	packets := fmt.Sprint(n)
	return swss.FieldValues{"MATCHED_PACKETS": packets, "MATCHED_BYTES": fmt.Sprint(64 * n), "STAMPED_PACKETS": packets,
		"NOT_STAMPED_NOT_TCP_UDP": packets, "NOT_STAMPED_NOT_ETHERNET_II": packets, "NOT_STAMPED_CUT": packets,
		"NOT_STAMPED_MTU": packets}
}

// write sets fields in the rows of the first n sessions of a table.
func write(ctx context.Context, r *swss.Redis, db swss.DBName, table string, n int, fields swss.FieldValues) error {
	rows := make(map[string]swss.FieldValues, n)
	for i := range n {
		rows[session(i)] = fields
	}
	return swss.NewTable(r.DB(db), table).SetMany(ctx, rows)
}

// A cost is the processor time for n operations.
type cost struct {
	cpu time.Duration
	n   int
}

// of measures the processor time that mgmtd uses while f runs. f returns how many operations it did.
func (m *process) of(f func() (int, error)) (cost, error) {
	before, err := m.processorTime()
	if err != nil {
		return cost{}, err
	}
	n, err := f()
	if err != nil {
		return cost{}, err
	}
	after, err := m.processorTime()
	return cost{after - before, n}, err
}

func (c cost) perSecond() float64 { return float64(c.n) / max(c.cpu.Seconds(), 1e-6) }

// percentile returns a percentile of durations, in ms.
func percentile(took []time.Duration, percent int) float64 {
	slices.Sort(took)
	return float64(took[(len(took)-1)*percent/100].Microseconds()) / 1000
}

// tempDir creates a directory for mgmtd. Its path is short, since it will contain a socket.
func tempDir() (string, error) { return os.MkdirTemp(cmp.Or(os.Getenv("TMPDIR"), "/tmp"), "tamtam") }
