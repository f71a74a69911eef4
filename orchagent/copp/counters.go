package copp

import (
	"context"
	"slices"
	"time"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// policerField is the field of FLEX_COUNTER_TABLE that lists the statistics.
const policerField = "POLICER_COUNTER_ID_LIST"

// counters maintains which group each policer in COUNTERS_DB belongs to, and which policers are polled. Changes are
// collected until flush writes them.
type counters struct {
	poller orch.Poller
	group  orch.FlexGroup
	ids    []string    // statistics
	rows   *swss.Table // COUNTERS
	names  swss.Hash   // COUNTERS_POLICER_NAME_MAP
	has    map[string]sai.OID
	put    map[string]sai.OID // policers whose names must be written, by name
	start  []sai.OID
	stop   []sai.OID
	gone   []string // rows to be deleted
}

// open reads the entries that a previous run left in the map.
func (c *counters) open(ctx context.Context, cfg Config) error {
	db := cfg.Redis.DB(swss.CountersDB)
	c.poller, c.rows = cfg.Poller, swss.NewTable(db, schema.CountersTable)
	c.names.Table = swss.NewTable(db, schema.CountersPolicerNameMap)
	c.group = orch.FlexGroup{Row: "POLICER", Name: "POLICER_STAT_COUNTER", Default: schema.DefaultPoll("POLICER")}
	c.has, c.put = map[string]sai.OID{}, map[string]sai.OID{}
	wanted := []sai.StatID{
		sai.PolicerStatPackets, sai.PolicerStatAttrBytes, sai.PolicerStatGreenPackets, sai.PolicerStatGreenBytes,
		sai.PolicerStatYellowPackets, sai.PolicerStatYellowBytes, sai.PolicerStatRedPackets, sai.PolicerStatRedBytes,
	}
	has, err := cfg.SAI.StatsCapability(ctx, sai.ObjectTypePolicer)
	for _, id := range wanted {
		if err != nil || slices.Contains(has, id) { // if the ASIC lacks one statistic, reading all of them fails
			c.ids = append(c.ids, id.String())
		}
	}
	return c.names.Load(ctx)
}

// dropFormer removes names of a previous run, and the rows of policers that are no longer in use.
func (c *counters) dropFormer(ctx context.Context) error {
	if err := c.flush(ctx); err != nil {
		return err
	}
	c.gone = append(c.gone, c.names.DropFormer()...)
	return c.flush(ctx)
}

// set records the policer of a group. nil means that the group has none.
func (c *counters) set(name string, policer *object) {
	if was, ok := c.has[name]; ok {
		if i := slices.Index(c.start, was); i >= 0 {
			c.start = slices.Delete(c.start, i, i+1)
		} else {
			c.stop = append(c.stop, was)
		}
		delete(c.has, name)
		delete(c.put, name)
	}
	if policer == nil {
		c.names.Remove(name)
		return
	}
	c.has[name], c.put[name] = policer.key.OID, policer.key.OID
	c.start = append(c.start, policer.key.OID)
}

// retry returns the time until the next flush of changes that could not be written, or 0 if there are none.
func (c *counters) retry() time.Duration {
	waiting := len(c.put) + len(c.start) + len(c.stop) + len(c.gone) + c.names.Pending()
	if waiting > 0 || !c.group.Sent() && c.poller != nil {
		return time.Second
	}
	return 0
}

// flush sends the collected changes. Polling of removed policers stops first, since syncd must not read an object that
// does not exist.
func (c *counters) flush(ctx context.Context) error {
	if c.poller != nil && len(c.stop) > 0 {
		if err := c.poller.StopPoll(ctx, c.group.Name, c.stop...); err != nil {
			return err
		}
	}
	for _, oid := range c.stop {
		if id, ok := orch.PublicID(c.poller, oid); ok {
			c.gone = append(c.gone, id.String())
		}
	}
	c.stop = nil
	if err := c.rows.DelMany(ctx, c.gone); err != nil {
		return err
	}
	c.gone = nil
	if err := c.group.Send(ctx, c.poller); err != nil {
		return err
	}
	if c.poller != nil && len(c.start) > 0 {
		if err := c.poller.StartPoll(ctx, c.group.Name, policerField, c.ids, c.start...); err != nil {
			return err
		}
	}
	c.start = nil
	for name, oid := range c.put {
		// The id is unknown while the view of the policer is not applied yet.
		if id, ok := orch.PublicID(c.poller, oid); ok {
			c.names.Put(name, id.String())
			delete(c.put, name)
		}
	}
	return c.names.Flush(ctx)
}
