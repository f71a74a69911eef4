package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"tamtam/device"
	"tamtam/device/daemons"
	"tamtam/lab/bench/chipload"
	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/flymon"
)

// A Deployment holds how soon tasks of an algorithm start counting.
type Deployment struct {
	Redis     string // embedded or redis-server
	Algorithm flymon.Algorithm
	Attribute string
	Groups    int // number of CMU groups that it uses
	Rules     int // runtime rules, as the paper counts them
	// Times from the HSET in CONFIG_DB to the first counted packet, through every daemon.
	Times []time.Duration // sorted
	// Cycles is the maximum number of cycles from the SAI call to the first counted copy's entry into the egress pipe.
	// There is one packet per cycle.
	Cycles uint64
}

// Quantile returns the time that the given share of the deployments did not exceed.
func (d *Deployment) Quantile(part float64) time.Duration {
	return d.Times[min(len(d.Times)-1, int(part*float64(len(d.Times))))]
}

// deployed lists the algorithms of table 3, in its order, and the others: algorithm, key, attribute.
var deployed = [][3]string{
	{string(flymon.CMS), "5-tuple", "frequency"},
	{string(flymon.BeauCoup), "dst-ip", "distinct(src-ip)"},
	{string(flymon.Bloom), "none", "existence(5-tuple)"},
	{string(flymon.SuMaxMax), "5-tuple", "max(queue-length)"},
	{string(flymon.HyperLogLog), "none", "distinct(5-tuple)"},
	{string(flymon.SuMaxSum), "5-tuple", "frequency"},
	{string(flymon.MRAC), "5-tuple", "frequency"},
	{string(flymon.Tower), "5-tuple", "frequency"},
	{string(flymon.CounterBraids), "5-tuple", "frequency"},
	{string(flymon.LinearCounting), "none", "distinct(5-tuple)"},
	{string(flymon.MaxInterArr), "5-tuple", "max(interval)"},
	{string(flymon.OddSketch), "none", "similarity(5-tuple)"},
}

// Deployments deploys n tasks of each algorithm one after the other while packets pass through the switch. It uses an
// embedded Redis and, if the program redis-server exists, a real one.
func Deployments(ctx context.Context, n int) ([]Deployment, error) {
	return onEachRedis(ctx, func(name, addr string) ([]Deployment, error) {
		return deploymentsOn(ctx, name, addr, n)
	})
}

const deployConfig = `{
	"DEVICE_METADATA": {"localhost": {"hostname": "bench", "mac": "02:00:00:00:07:e4"}},
	"PORT": {"Ethernet0": {"lanes": "1,2,3,4", "speed": "100000", "admin_status": "up"},
		"Ethernet4": {"lanes": "5,6,7,8", "speed": "100000", "admin_status": "up"}},
	"VLAN": {"Vlan10": {"vlanid": "10"}},
	"VLAN_MEMBER": {"Vlan10|Ethernet0": {"tagging_mode": "untagged"}, "Vlan10|Ethernet4": {"tagging_mode": "untagged"}},
	"TAM_FEATURES_TABLE": {"FLYMON": {"status": "ACTIVE"}}}`

func deploymentsOn(ctx context.Context, name, addr string, n int) ([]Deployment, error) {
	config, err := device.ParseConfigDB([]byte(deployConfig))
	if err != nil {
		return nil, err
	}
	start := time.Now()
	chip, err := saisim.New(saisim.Config{
		Profile: profile.Default(), Start: start.UTC(), Notify: func(sai.Notification) {},
	})
	if err != nil {
		return nil, err
	}
	watch := &taskWatch{API: chip, chip: chip, counted: make(chan counted, 64), removed: make(chan struct{}, 64)}
	syncd := func(ctx context.Context, r *swss.Redis) error {
		g, ctx := errgroup.WithContext(ctx)
		g.Go(func() error { return daemons.RunSyncdOn(ctx, r, watch, daemons.Common{}) })
		g.Go(func() error { return watch.traffic(ctx, start) })
		return g.Wait()
	}
	return onSwitch(ctx, addr, syncd, func(ctx context.Context, r *swss.Redis) (all []Deployment, err error) {
		if err := config.Load(ctx, r); err != nil {
			return nil, err
		}
		for _, task := range deployed {
			d, err := deploy(ctx, r, watch, task, n)
			if err != nil {
				return all, fmt.Errorf("%s on %s: %w", task[0], name, err)
			}
			d.Redis = name
			all = append(all, d)
		}
		return all, nil
	})
}

// deploy writes a task and removes it, n times, after a warm-up.
func deploy(ctx context.Context, r *swss.Redis, watch *taskWatch, task [3]string, n int) (Deployment, error) {
	d := Deployment{Algorithm: flymon.Algorithm(task[0]), Attribute: task[2]}
	row := swss.FieldValues{"algorithm": task[0], "key": task[1], "attribute": task[2], "threshold": "512",
		"memory": "24576"}
	table := swss.NewTable(r.DB(swss.ConfigDB), schema.CfgTAMFlyMonTask)
	for i := range n + 1 {
		start := time.Now()
		if err := table.Set(ctx, "bench", row); err != nil {
			return d, err
		}
		select {
		case c := <-watch.counted:
			if c.err != nil {
				return d, c.err
			}
			if i > 0 {
				d.Times = append(d.Times, c.at.Sub(start))
			}
			d.Groups, d.Rules, d.Cycles = c.groups, c.rules, max(d.Cycles, c.cycles)
		case <-ctx.Done():
			state := swss.NewTable(r.DB(swss.StateDB), schema.StateTAMFlyMonTask)
			status, _, _ := state.Get(context.WithoutCancel(ctx), "bench")
			return d, fmt.Errorf("the task does not count (%v): %w", status, context.Cause(ctx))
		}
		if err := table.Del(ctx, "bench"); err != nil {
			return d, err
		}
		select {
		case <-watch.removed:
		case <-ctx.Done():
			return d, context.Cause(ctx)
		}
	}
	slices.Sort(d.Times)
	return d, nil
}

// A taskWatch sits between syncd and the chip. When a task has been created, it sends packets until the task has
// counted one.
type taskWatch struct {
	sai.API
	chip    *saisim.Chip
	mu      sync.Mutex // held while a goroutine sends packets
	task    sai.OID
	counted chan counted
	removed chan struct{}
}

type counted struct {
	at            time.Time
	cycles        uint64
	groups, rules int
	err           error
}

func (w *taskWatch) Create(ctx context.Context, t sai.ObjectType, attrs []sai.Attr) (sai.OID, error) {
	var entry sai.Bytes
	task := false
	for _, a := range attrs {
		switch a.ID {
		case sai.GenericProgrammableAttrObjectName:
			name, _ := a.Value.(sai.Bytes)
			task = t == sai.ObjectTypeGenericProgrammable && string(name) == flymon.ObjectTask
		case sai.GenericProgrammableAttrEntry:
			entry, _ = a.Value.(sai.Bytes)
		}
	}
	if !task {
		return w.API.Create(ctx, t, attrs)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.load(); err != nil {
		w.counted <- counted{err: err}
		return 0, err
	}
	before := w.chip.Now()
	oid, err := w.API.Create(ctx, t, attrs)
	if err != nil {
		w.counted <- counted{err: err}
		return oid, err
	}
	w.task = oid
	w.counted <- w.first(ctx, entry, before)
	return oid, nil
}

func (w *taskWatch) Remove(ctx context.Context, k sai.Key) error {
	err := w.API.Remove(ctx, k)
	if err == nil && w.task != 0 && k == sai.Obj(sai.ObjectTypeGenericProgrammable, w.task) {
		w.task = 0
		w.removed <- struct{}{}
	}
	return err
}

// load fills the pipes with a packet for each of the next cycles. The packets go from one port to the other port, which
// is the CPU's only neighbour.
func (w *taskWatch) load() error {
	now := w.chip.Now()
	frame := chipload.Load{}.Frame(1, 2)
	for i := range saisim.Cycle(400) {
		if err := w.chip.Receive(1, now+i, saisim.Frame{Data: frame}); err != nil {
			return err
		}
	}
	w.chip.Advance(now + 350) // the first are now in the egress pipe
	return nil
}

// first advances the chip cycle by cycle until the task has counted a packet.
func (w *taskWatch) first(ctx context.Context, entry sai.Bytes, before saisim.Cycle) counted {
	l, err := taskOf(entry)
	if err != nil {
		return counted{err: err}
	}
	c := counted{}
	geo := w.chip.Profile().FlyMon
	g := geo.Geometry()
	c.rules = l.Rules(&g)
	groups := map[int]bool{}
	for _, u := range l.Units {
		groups[u.Group] = true
	}
	c.groups = len(groups)
	for range 10_000 {
		s, ok := w.chip.TaskStatus(l.Task)
		if !ok {
			return counted{err: fmt.Errorf("task %q is not in the chip", l.Task)}
		}
		if s.Banks[0].Packets+s.Banks[1].Packets > 0 {
			c.at, c.cycles = time.Now(), uint64(w.chip.Now()-before)
			return c
		}
		w.chip.Advance(w.chip.Now() + 1)
	}
	return counted{err: errors.New("no packet was counted in 10,000 cycles")}
}

// taskOf reads the layout in a task's ENTRY.
func taskOf(entry sai.Bytes) (l flymon.Layout, err error) {
	var e struct {
		Attributes []struct {
			Task struct {
				Value flymon.Layout `json:"value"`
			} `json:"task"`
		} `json:"attributes"`
	}
	if err := json.Unmarshal(entry, &e); err != nil {
		return l, err
	}
	for _, a := range e.Attributes {
		if a.Task.Value.Task != "" {
			return a.Task.Value, nil
		}
	}
	return l, errors.New("ENTRY has no task")
}

// traffic makes the chip's time follow the wall clock, with a packet now and then.
func (w *taskWatch) traffic(ctx context.Context, start time.Time) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	frame := chipload.Load{}.Frame(1, 2)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			w.mu.Lock()
			if len(w.chip.Ports()) > 0 {
				// the port does not exist while syncd restarts
				_ = w.chip.Receive(1, w.chip.Now()+1000, saisim.Frame{Data: frame})
			}
			w.chip.Advance(w.chip.CycleAt(time.Since(start)))
			w.mu.Unlock()
		}
	}
}
