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

// flexGroups contains the flex counter groups of queues and their default intervals, as in SONiC. FLEX_COUNTER_TABLE
// overrides the intervals.
var flexGroups = []flexGroup{
	{FlexGroup: orch.FlexGroup{Row: "QUEUE", Name: "QUEUE_STAT_COUNTER", Default: schema.DefaultPoll("QUEUE")},
		wanted: []sai.StatID{
			sai.QueueStatPackets, sai.QueueStatBytes, sai.QueueStatDroppedPackets, sai.QueueStatDroppedBytes,
			sai.QueueStatWREDDroppedPackets, sai.QueueStatWREDDroppedBytes,
			sai.QueueStatWREDECNMarkedPackets, sai.QueueStatWREDECNMarkedBytes,
			sai.QueueStatCurrOccupancyBytes,
		}},
	{FlexGroup: orch.FlexGroup{Row: "QUEUE_WATERMARK", Name: "QUEUE_WATERMARK_STAT_COUNTER",
		Default: schema.DefaultPoll("QUEUE_WATERMARK")},
		wanted: []sai.StatID{
			sai.QueueStatSharedWatermarkBytes, sai.QueueStatWatermarkBytes,
		}},
}

// queueField is the field of FLEX_COUNTER_TABLE that lists the statistics.
const queueField = "QUEUE_COUNTER_ID_LIST"

// A flexGroup is a flex counter group with its statistics.
type flexGroup struct {
	orch.FlexGroup
	wanted []sai.StatID
	ids    []string // statistics of wanted that the ASIC supports
}

// counters maintains the queue maps in COUNTERS_DB, and which queues are polled. Changes are collected until flush
// writes them.
type counters struct {
	poller orch.Poller
	groups []flexGroup
	rows   []*swss.Table // COUNTERS and the tables of watermarks
	maps   []swss.Hash   // name, port, index, type
	start  []sai.OID
	stop   []sai.OID
	polled map[sai.OID]bool
	left   []string // rows of a previous run's queues that no longer exist
}

// open reads the entries that a previous run left in the maps.
func (c *counters) open(ctx context.Context, cfg Config) error {
	db := cfg.Redis.DB(swss.CountersDB)
	c.poller, c.polled = cfg.Poller, map[sai.OID]bool{}
	for _, table := range []string{
		schema.CountersTable, schema.UserWatermarks, schema.PersistentWatermarks, schema.PeriodicWatermarks,
	} {
		c.rows = append(c.rows, swss.NewTable(db, table))
	}
	has, err := cfg.SAI.StatsCapability(ctx, sai.ObjectTypeQueue)
	c.groups = slices.Clone(flexGroups)
	for i := range c.groups {
		g := &c.groups[i]
		for _, id := range g.wanted {
			if err != nil || slices.Contains(has, id) {
				g.ids = append(g.ids, id.String())
			}
		}
	}
	for _, name := range []string{
		schema.CountersQueueNameMap, schema.CountersQueuePortMap,
		schema.CountersQueueIndexMap, schema.CountersQueueTypeMap,
	} {
		c.maps = append(c.maps, swss.Hash{Table: swss.NewTable(db, name)})
	}
	for i := range c.maps {
		if err := c.maps[i].Load(ctx); err != nil {
			return err
		}
	}
	return nil
}

// dropFormer removes names of a previous run, and the rows of queues that no longer exist.
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

// delete deletes the rows of queues.
func (c *counters) delete(ctx context.Context, keys []string) error {
	for _, table := range c.rows {
		if err := table.DelMany(ctx, keys); err != nil {
			return err
		}
	}
	return nil
}

func (c *counters) add(port string, q *portQueues) {
	for i, queue := range q.queues {
		oid, kind := queue.oid.String(), sai.EnumName(sai.QueueAttrType, queue.kind)
		c.maps[0].Put(fmt.Sprintf("%s:%d", port, i), oid)
		c.maps[1].Put(oid, q.port.String())
		c.maps[2].Put(oid, fmt.Sprint(i))
		c.maps[3].Put(oid, kind)
		c.start = append(c.start, queue.oid)
	}
}

func (c *counters) remove(port string, q *portQueues) {
	for i, queue := range q.queues {
		oid := queue.oid.String()
		c.maps[0].Remove(fmt.Sprintf("%s:%d", port, i))
		for m := 1; m < len(c.maps); m++ {
			c.maps[m].Remove(oid)
		}
		if i := slices.Index(c.start, queue.oid); i >= 0 {
			c.start = slices.Delete(c.start, i, i+1)
		} else if c.polled[queue.oid] {
			c.stop = append(c.stop, queue.oid)
		}
	}
}

// retryPeriod is the time after which a write to COUNTERS_DB that failed outside the handling of a row is tried again.
const retryPeriod = time.Second

// retry returns the period of the timer for retries, or 0 if nothing is due.
func (c *counters) retry() time.Duration {
	waiting := len(c.start) + len(c.stop)
	for i := range c.maps {
		waiting += c.maps[i].Pending()
	}
	if waiting == 0 {
		return 0
	}
	return retryPeriod
}

// flush sends the collected changes. Polling of removed queues stops first, since syncd must not read an object that
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
	for i := range c.groups {
		g := &c.groups[i]
		if c.poller == nil || len(g.ids) == 0 {
			continue
		}
		if len(c.stop) > 0 {
			if err := c.poller.StopPoll(ctx, g.Name, c.stop...); err != nil {
				return err
			}
		}
		if err := g.Send(ctx, c.poller); err != nil {
			return err
		}
		if len(c.start) > 0 {
			if err := c.poller.StartPoll(ctx, g.Name, queueField, g.ids, c.start...); err != nil {
				return err
			}
		}
	}
	keys := make([]string, len(c.stop))
	for i, oid := range c.stop {
		keys[i] = oid.String()
		delete(c.polled, oid)
	}
	if err := c.delete(ctx, keys); err != nil {
		return err
	}
	for _, oid := range c.start {
		c.polled[oid] = true
	}
	c.start, c.stop = nil, nil
	return nil
}
