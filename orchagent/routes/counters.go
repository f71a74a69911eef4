package routes

import (
	"context"
	"errors"
	"slices"
	"time"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// rifField is the field of FLEX_COUNTER_TABLE that lists the statistics.
const rifField = "RIF_COUNTER_ID_LIST"

// counters maintains which router interface each object in COUNTERS_DB is, and which router interfaces are polled.
// Changes are collected until flush writes them.
type counters struct {
	poller orch.Poller
	group  orch.FlexGroup
	ids    []string // statistics
	rows   []*swss.Table
	names  swss.Hash // COUNTERS_RIF_NAME_MAP
	types  swss.Hash // COUNTERS_RIF_TYPE_MAP
	named  map[string]*rif
	start  []sai.OID
	polled map[sai.OID]bool
	gone   []string // rows to be deleted
}

// open reads the entries that a previous run left in the maps.
func (c *counters) open(ctx context.Context, cfg Config) error {
	db := cfg.Redis.DB(swss.CountersDB)
	c.poller, c.named, c.polled = cfg.Poller, map[string]*rif{}, map[sai.OID]bool{}
	c.group = orch.FlexGroup{Row: "RIF", Name: "RIF_STAT_COUNTER", Default: schema.DefaultPoll("RIF")}
	c.rows = []*swss.Table{swss.NewTable(db, schema.CountersTable), swss.NewTable(db, schema.Rates)}
	c.names.Table = swss.NewTable(db, schema.CountersRIFNameMap)
	c.types.Table = swss.NewTable(db, schema.CountersRIFTypeMap)
	has, err := cfg.SAI.StatsCapability(ctx, sai.ObjectTypeRouterInterface)
	for id := sai.RouterInterfaceStatInOctets; id <= sai.RouterInterfaceStatOutErrorPackets; id++ {
		if err != nil || slices.Contains(has, id) {
			c.ids = append(c.ids, id.String())
		}
	}
	return errors.Join(c.names.Load(ctx), c.types.Load(ctx))
}

// dropFormer removes names of a previous run, and the rows of router interfaces that no longer exist.
func (c *counters) dropFormer(ctx context.Context) error {
	if err := c.flush(ctx); err != nil {
		return err
	}
	c.gone = append(c.gone, c.names.DropFormer()...)
	c.types.DropFormer()
	return c.flush(ctx)
}

func (c *counters) add(name string, r *rif) {
	c.named[name] = r
	c.start = append(c.start, r.oid)
}

// remove stops the polling of a router interface that is about to be removed, since syncd must not read an object that
// does not exist.
func (c *counters) remove(ctx context.Context, name string, r *rif) error {
	if c.polled[r.oid] && c.poller != nil {
		if err := c.poller.StopPoll(ctx, c.group.Name, r.oid); err != nil {
			return err
		}
	}
	delete(c.polled, r.oid)
	c.start = slices.DeleteFunc(c.start, func(oid sai.OID) bool { return oid == r.oid })
	c.names.Remove(name)
	if id, ok := orch.PublicID(c.poller, r.oid); ok {
		c.types.Remove(id.String())
		c.gone = append(c.gone, id.String())
	}
	delete(c.named, name)
	return nil
}

// again resumes the polling of a router interface that could not be removed.
func (c *counters) again(name string, r *rif) {
	if !c.polled[r.oid] && !slices.Contains(c.start, r.oid) {
		c.add(name, r)
	}
	if id, ok := orch.PublicID(c.poller, r.oid); ok {
		c.gone = slices.DeleteFunc(c.gone, func(row string) bool { return row == id.String() })
	}
}

// retry returns the time until the next flush of changes that could not be written, or 0 if there are none.
func (c *counters) retry() time.Duration {
	waiting := len(c.start) + len(c.named) + len(c.gone) + c.names.Pending() + c.types.Pending()
	if waiting > 0 || !c.group.Sent() && c.poller != nil {
		return time.Second
	}
	return 0
}

// flush sends the collected changes.
func (c *counters) flush(ctx context.Context) error {
	for _, table := range c.rows {
		if err := table.DelMany(ctx, c.gone); err != nil {
			return err
		}
	}
	c.gone = nil
	if err := c.group.Send(ctx, c.poller); err != nil {
		return err
	}
	if c.poller != nil && len(c.start) > 0 && len(c.ids) > 0 {
		if err := c.poller.StartPoll(ctx, c.group.Name, rifField, c.ids, c.start...); err != nil {
			return err
		}
		for _, oid := range c.start {
			c.polled[oid] = true
		}
	}
	c.start = nil
	for name, r := range c.named {
		// The id is unknown while the view of the router interface is not applied yet.
		if id, ok := orch.PublicID(c.poller, r.oid); ok {
			kind := sai.RouterInterfaceTypePort
			switch {
			case r.spec.on.Type == sai.ObjectTypeVLAN:
				kind = sai.RouterInterfaceTypeVLAN
			case r.spec.vlan != 0:
				kind = sai.RouterInterfaceTypeSubPort
			}
			c.names.Put(name, id.String())
			c.types.Put(id.String(), sai.EnumName(sai.RouterInterfaceAttrType, kind))
			delete(c.named, name)
		}
	}
	return errors.Join(c.names.Flush(ctx), c.types.Flush(ctx))
}
