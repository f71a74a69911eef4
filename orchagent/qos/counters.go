package qos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// countedKinds contains the kinds of objects that are counted, with their flex counter groups, as in SONiC.
// FLEX_COUNTER_TABLE overrides the intervals.
var countedKinds = [...]countedKind{
	queueKind: {
		object: sai.ObjectTypeQueue, field: "QUEUE_COUNTER_ID_LIST",
		maps: []string{schema.CountersQueueNameMap, schema.CountersQueuePortMap, schema.CountersQueueIndexMap,
			schema.CountersQueueTypeMap},
		groups: []flexGroup{pollGroup("QUEUE",
			sai.QueueStatPackets, sai.QueueStatBytes, sai.QueueStatDroppedPackets, sai.QueueStatDroppedBytes,
			sai.QueueStatWREDDroppedPackets, sai.QueueStatWREDDroppedBytes,
			sai.QueueStatWREDECNMarkedPackets, sai.QueueStatWREDECNMarkedBytes,
			sai.QueueStatTrimPackets, sai.QueueStatDroppedTrimPackets, sai.QueueStatTxTrimPackets,
			sai.QueueStatCurrOccupancyBytes),
			pollGroup("QUEUE_WATERMARK", sai.QueueStatSharedWatermarkBytes, sai.QueueStatWatermarkBytes)},
	},
	groupKind: {
		object: sai.ObjectTypeIngressPriorityGroup, field: "PG_COUNTER_ID_LIST",
		maps: []string{schema.CountersPGNameMap, schema.CountersPGPortMap, schema.CountersPGIndexMap},
		groups: []flexGroup{pollGroup("PG_DROP", sai.IngressPriorityGroupStatDroppedPackets),
			pollGroup("PG_WATERMARK", sai.IngressPriorityGroupStatSharedWatermarkBytes,
				sai.IngressPriorityGroupStatXoffRoomWatermarkBytes)},
	},
	poolKind: {
		object: sai.ObjectTypeBufferPool, field: "BUFFER_POOL_COUNTER_ID_LIST",
		maps: []string{schema.CountersPoolNameMap},
		groups: []flexGroup{pollGroup("BUFFER_POOL_WATERMARK", sai.BufferPoolStatWatermarkBytes,
			sai.BufferPoolStatXoffRoomWatermarkBytes)},
	},
}

// The kinds of counted objects.
const (
	queueKind = iota
	groupKind
	poolKind
)

// A countedKind is a kind of objects whose counters are polled.
type countedKind struct {
	object sai.ObjectType
	field  string   // the field of FLEX_COUNTER_TABLE in FLEX_COUNTER_DB that lists the statistics
	maps   []string // the maps in COUNTERS_DB; the first has the objects by name, the others values by object
	groups []flexGroup
}

// A flexGroup is a flex counter group with its statistics.
type flexGroup struct {
	orch.FlexGroup
	wanted []sai.StatID
	ids    []string // statistics of wanted that the ASIC supports
}

// pollGroup returns the group of a row of FLEX_COUNTER_TABLE, with SONiC's name and interval.
func pollGroup(row string, wanted ...sai.StatID) flexGroup {
	return flexGroup{FlexGroup: orch.FlexGroup{Row: row, Name: row + "_STAT_COUNTER", Default: schema.DefaultPoll(row)},
		wanted: wanted}
}

// counts are the counters of all kinds of objects.
type counts struct {
	kinds [len(countedKinds)]counters
	pools map[string]sai.OID // the buffer pools that are counted, by name
}

func openCounts(ctx context.Context, cfg Config) (*counts, error) {
	c := &counts{pools: map[string]sai.OID{}}
	for i := range c.kinds {
		if err := c.kinds[i].open(ctx, cfg, countedKinds[i]); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// flexGroups returns the groups of all kinds.
func (c *counts) flexGroups() (groups []*orch.FlexGroup) {
	for i := range c.kinds {
		for j := range c.kinds[i].groups {
			groups = append(groups, &c.kinds[i].groups[j].FlexGroup)
		}
	}
	return groups
}

// each calls f for each kind.
func (c *counts) each(f func(k *counters) error) error {
	var errs []error
	for i := range c.kinds {
		errs = append(errs, f(&c.kinds[i]))
	}
	return errors.Join(errs...)
}

// dropFormer removes names of a previous run, and the rows of objects that no longer exist.
func (c *counts) dropFormer(ctx context.Context) error {
	return c.each(func(k *counters) error { return k.dropFormer(ctx) })
}

// flush sends the collected changes.
func (c *counts) flush(ctx context.Context) error {
	return c.each(func(k *counters) error { return k.flush(ctx) })
}

// stopPolling makes syncd stop polling objects that are about to be removed.
func (c *counts) stopPolling(ctx context.Context) error {
	return c.each(func(k *counters) error { return k.stopPolling(ctx) })
}

// retry returns the period of the timer for retries, or 0 if nothing is due.
func (c *counts) retry() time.Duration {
	for i := range c.kinds {
		if c.kinds[i].waits() {
			return retryPeriod
		}
	}
	return 0
}

func (c *counts) addPort(port string, q *portQueues) {
	for i, queue := range q.queues {
		c.kinds[queueKind].add(fmt.Sprintf("%s:%d", port, i), queue.oid, q.port.String(), fmt.Sprint(i),
			sai.EnumName(sai.QueueAttrType, queue.kind))
	}
	for i, group := range q.groups {
		c.kinds[groupKind].add(fmt.Sprintf("%s:%d", port, i), group, q.port.String(), fmt.Sprint(i))
	}
}

func (c *counts) removePort(port string, q *portQueues) {
	for i, queue := range q.queues {
		c.kinds[queueKind].remove(fmt.Sprintf("%s:%d", port, i), queue.oid)
	}
	for i, group := range q.groups {
		c.kinds[groupKind].remove(fmt.Sprintf("%s:%d", port, i), group)
	}
}

// Pool returns a buffer pool's object.
func (o *Orch) Pool(name string) (oid sai.OID, ok bool) {
	oid, ok = o.counts.pools[name]
	return oid, ok
}

// PoolChanges publishes the names of pools that were created, are another object now, or are about to be removed. The
// former objects are no longer found and must be released immediately.
func (o *Orch) PoolChanges() *orch.Topic[[]string] { return &o.poolChanges }

// countPools counts the pools of the plan, and no others. A pool that was recreated is another object.
func (o *Orch) countPools(ctx context.Context, p *plan) {
	var changed []string
	now, kind := map[string]sai.OID{}, &o.counts.kinds[poolKind]
	for k := range o.objects {
		if k.Table != schema.AppBufferPool {
			continue
		}
		if pool := o.target(p, k); pool != nil {
			now[k.Key] = pool.key.OID
		}
	}
	for name, oid := range o.counts.pools {
		if now[name] != oid {
			kind.remove(name, oid)
			changed = append(changed, name)
		}
	}
	for name, oid := range now {
		if o.counts.pools[name] != oid {
			kind.add(name, oid)
			changed = append(changed, name)
		}
	}
	if o.counts.pools = now; len(changed) > 0 {
		slices.Sort(changed)
		o.poolChanges.Publish(ctx, slices.Compact(changed))
	}
}

// counters maintains the maps of one kind of objects in COUNTERS_DB, and which of them are polled. Changes are
// collected until flush writes them.
type counters struct {
	poller orch.Poller
	field  string // the field of FLEX_COUNTER_TABLE in FLEX_COUNTER_DB that lists the statistics
	groups []flexGroup
	rows   []*swss.Table // COUNTERS and the tables of watermarks
	maps   []swss.Hash   // the name's object, then values by object
	start  []sai.OID
	stop   []sai.OID
	polled map[sai.OID]bool
	left   []string // rows of a previous run's objects that no longer exist
}

// open reads the entries that a previous run left in the maps.
func (c *counters) open(ctx context.Context, cfg Config, kind countedKind) error {
	db := cfg.Redis.DB(swss.CountersDB)
	c.poller, c.field, c.polled = cfg.Poller, kind.field, map[sai.OID]bool{}
	for _, table := range append([]string{schema.CountersTable}, watermarkTables...) {
		c.rows = append(c.rows, swss.NewTable(db, table))
	}
	has, err := cfg.SAI.StatsCapability(ctx, kind.object)
	c.groups = slices.Clone(kind.groups)
	for i := range c.groups {
		g := &c.groups[i]
		for _, id := range g.wanted {
			if err != nil && !sai.Unsupported(err) || slices.Contains(has, id) {
				g.ids = append(g.ids, id.String())
			}
		}
	}
	for _, name := range kind.maps {
		c.maps = append(c.maps, swss.Hash{Table: swss.NewTable(db, name)})
	}
	for i := range c.maps {
		if err := c.maps[i].Load(ctx); err != nil {
			return err
		}
	}
	return nil
}

// id returns the id of an object in the databases.
func (c *counters) id(oid sai.OID) string {
	id, _ := orch.PublicID(c.poller, oid) // objects are created only after the view was applied
	return id.String()
}

// dropFormer removes names of a previous run, and the rows of objects that no longer exist.
func (c *counters) dropFormer(ctx context.Context) error {
	if err := c.flush(ctx); err != nil {
		return err
	}
	c.left = append(c.left, c.maps[0].DropFormer()...)
	for i := range c.maps[1:] {
		c.maps[1+i].DropFormer()
	}
	return errors.Join(c.delete(ctx, c.left), c.flush(ctx))
}

// delete deletes the rows of objects.
func (c *counters) delete(ctx context.Context, keys []string) error {
	for _, table := range c.rows {
		if err := table.DelMany(ctx, keys); err != nil {
			return err
		}
	}
	return nil
}

// add counts an object. values are those of the maps after the first.
func (c *counters) add(name string, oid sai.OID, values ...string) {
	c.maps[0].Put(name, c.id(oid))
	for i, v := range values {
		c.maps[1+i].Put(c.id(oid), v)
	}
	c.start = append(c.start, oid)
}

func (c *counters) remove(name string, oid sai.OID) {
	c.maps[0].Remove(name)
	for i := range c.maps[1:] {
		c.maps[1+i].Remove(c.id(oid))
	}
	if i := slices.Index(c.start, oid); i >= 0 {
		c.start = slices.Delete(c.start, i, i+1)
	} else if c.polled[oid] {
		c.stop = append(c.stop, oid)
	}
}

// retryPeriod is the time after which a write to COUNTERS_DB that failed outside the handling of a row is tried again.
const retryPeriod = time.Second

// waits reports whether something has not been written or sent yet.
func (c *counters) waits() bool {
	waiting := len(c.start) + len(c.stop)
	for i := range c.maps {
		waiting += c.maps[i].Pending()
	}
	return waiting > 0
}

// flush sends the collected changes. Polling of removed objects stops first, since syncd must not read an object that
// does not exist.
func (c *counters) flush(ctx context.Context) error {
	if err := c.poll(ctx); err != nil {
		return err
	}
	for i := range c.maps {
		if err := c.maps[i].Flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (c *counters) poll(ctx context.Context) error {
	if err := c.stopPolling(ctx); err != nil {
		return err
	}
	for i := range c.groups {
		g := &c.groups[i]
		if c.poller == nil || len(g.ids) == 0 {
			continue
		}
		if err := g.Send(ctx, c.poller); err != nil {
			return err
		}
		if len(c.start) > 0 {
			if err := c.poller.StartPoll(ctx, g.Name, c.field, g.ids, c.start...); err != nil {
				return err
			}
		}
	}
	for _, oid := range c.start {
		c.polled[oid] = true
	}
	c.start = nil
	return nil
}

// stopPolling ends the polling of removed objects, and deletes their rows.
func (c *counters) stopPolling(ctx context.Context) error {
	if len(c.stop) == 0 {
		return nil
	}
	for i := range c.groups {
		if g := &c.groups[i]; c.poller != nil && len(g.ids) > 0 {
			if err := c.poller.StopPoll(ctx, g.Name, c.stop...); err != nil {
				return err
			}
		}
	}
	keys := make([]string, len(c.stop))
	for i, oid := range c.stop {
		keys[i] = c.id(oid)
	}
	if err := c.delete(ctx, keys); err != nil {
		return err
	}
	for _, oid := range c.stop {
		delete(c.polled, oid)
	}
	c.stop = nil
	return nil
}
