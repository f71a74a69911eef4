package ports

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/schema"
	"tamtam/swss"
)

// statGroup is the flex counter group of port statistics.
const statGroup = "PORT_STAT_COUNTER"

// statInterval is how often port statistics are read unless FLEX_COUNTER_TABLE
// says otherwise; as in SONiC.
const statInterval = time.Second

// A Poller has counters of objects read by syncd into COUNTERS_DB. The client of
// sairedis is one, once its groups can be set this way.
type Poller interface {
	// SetGroup says how often the counters of a group are read, and whether.
	SetGroup(ctx context.Context, group string, interval time.Duration, enabled bool) error
	StartPoll(ctx context.Context, group, field string, ids []string, objs ...sai.OID) error
	StopPoll(ctx context.Context, group string, objs ...sai.OID) error
}

// wantedStats are the statistics of SONiC's port counters.
var wantedStats = []sai.StatID{
	sai.PortStatIfInOctets, sai.PortStatIfInUcastPkts, sai.PortStatIfInNonUcastPkts, sai.PortStatIfInDiscards,
	sai.PortStatIfInErrors, sai.PortStatIfInUnknownProtos, sai.PortStatIfInBroadcastPkts, sai.PortStatIfInMulticastPkts,
	sai.PortStatIfOutOctets, sai.PortStatIfOutUcastPkts, sai.PortStatIfOutNonUcastPkts, sai.PortStatIfOutDiscards,
	sai.PortStatIfOutErrors, sai.PortStatIfOutQlen, sai.PortStatIfOutBroadcastPkts, sai.PortStatIfOutMulticastPkts,
	sai.PortStatInDroppedPkts, sai.PortStatOutDroppedPkts,
	sai.PortStatEtherRxOversizePkts, sai.PortStatEtherTxOversizePkts, sai.PortStatEtherStatsUndersizePkts,
	sai.PortStatEtherStatsJabbers, sai.PortStatEtherStatsFragments,
}

// portStats returns those of the wanted statistics that the ASIC has: reading
// one that it has not would fail for all.
func portStats(ctx context.Context, api sai.API) []sai.StatID {
	has, err := api.StatsCapability(ctx, sai.ObjectTypePort)
	if err != nil {
		return wantedStats
	}
	return slices.DeleteFunc(slices.Clone(wantedStats), func(s sai.StatID) bool { return !slices.Contains(has, s) })
}

// counters keeps what COUNTERS_DB says about which object is which port, and
// what is polled. Changes are collected and written by flush.
type counters struct {
	poller   Poller
	ids      []string    // statistics
	rows     *swss.Table // COUNTERS
	ports    swss.Hash
	lags     swss.Hash
	start    []sai.OID
	stop     []sai.OID
	polled   map[sai.OID]bool
	enabled  bool
	interval time.Duration
	dirty    bool // the group's settings have to be sent
}

// open removes what a former life left in the maps.
func (c *counters) open(ctx context.Context, cfg Config, chip *chip) error {
	db := cfg.Redis.DB(swss.CountersDB)
	c.poller = cfg.Poller
	c.rows = swss.NewTable(db, schema.CountersTable)
	c.ports = swss.Hash{Table: swss.NewTable(db, schema.CountersPortNameMap)}
	c.lags = swss.Hash{Table: swss.NewTable(db, schema.CountersLAGNameMap)}
	c.enabled, c.interval, c.dirty = true, statInterval, true
	c.polled = map[sai.OID]bool{}
	for _, id := range chip.stats {
		c.ids = append(c.ids, id.String())
	}
	for _, m := range []*swss.Hash{&c.ports, &c.lags} {
		if err := clearMap(ctx, m.Table, c.rows); err != nil {
			return err
		}
	}
	return nil
}

// flexRow takes a row of FLEX_COUNTER_TABLE. One that is not valid counts for
// nothing.
func (o *Orch) flexRow(ctx context.Context, t orch.Task) error {
	const group = "PORT"
	if t.Key != group {
		return nil
	}
	c := &o.counters
	enabled, interval := true, statInterval
	if t.Op == orch.Set {
		row, err := schema.ParseFlexCounter(t.Key, t.Fields)
		if err == nil && row.Given {
			enabled = row.Enabled
		}
		if err == nil && row.Interval > 0 {
			interval = row.Interval
		}
		status, reason := o.daemon.Verdict(schema.StateFlexCounter, err)
		o.daemon.Report(ctx, schema.StateFlexCounter, group, status, reason)
	} else {
		o.daemon.Unreport(ctx, schema.StateFlexCounter, group)
	}
	if enabled != c.enabled || interval != c.interval {
		c.enabled, c.interval, c.dirty = enabled, interval, true
	}
	return c.flush(ctx)
}

func (c *counters) addPort(name string, oid sai.OID) {
	c.ports.Put(name, oid.String())
	c.start = append(c.start, oid)
}

func (c *counters) removePort(name string, oid sai.OID) {
	c.ports.Remove(name)
	if i := slices.Index(c.start, oid); i >= 0 {
		c.start = slices.Delete(c.start, i, i+1)
		return
	}
	if c.polled[oid] && !slices.Contains(c.stop, oid) {
		c.stop = append(c.stop, oid)
	}
}

// stopPolling has syncd forget the ports that are about to be removed: it must
// not be asked to read an object that does not exist.
func (c *counters) stopPolling(ctx context.Context) error {
	if len(c.stop) == 0 {
		return nil
	}
	if c.poller != nil {
		if err := c.poller.StopPoll(ctx, statGroup, c.stop...); err != nil {
			return err
		}
	}
	keys := make([]string, len(c.stop))
	for i, oid := range c.stop {
		keys[i] = oid.String()
		delete(c.polled, oid)
	}
	if err := c.rows.DelMany(ctx, keys); err != nil {
		return err
	}
	c.stop = nil
	return nil
}

// flush sends what has changed.
func (c *counters) flush(ctx context.Context) error {
	if err := c.stopPolling(ctx); err != nil {
		return err
	}
	if err := c.sendGroup(ctx); err != nil {
		return err
	}
	if len(c.start) > 0 && c.poller != nil {
		if err := c.poller.StartPoll(ctx, statGroup, "PORT_COUNTER_ID_LIST", c.ids, c.start...); err != nil {
			return err
		}
	}
	for _, oid := range c.start {
		c.polled[oid] = true
	}
	c.start = nil
	return errors.Join(c.ports.Flush(ctx), c.lags.Flush(ctx))
}

func (c *counters) sendGroup(ctx context.Context) error {
	if !c.dirty || c.poller == nil {
		return nil
	}
	if err := c.poller.SetGroup(ctx, statGroup, c.interval, c.enabled); err != nil {
		return err
	}
	c.dirty = false
	return nil
}

// clearMap removes a map of names to objects, and the counters of the objects that it
// names.
func clearMap(ctx context.Context, m, rows *swss.Table) error {
	old, _, err := m.Get(ctx, "")
	if err != nil {
		return err
	}
	if err := rows.DelMany(ctx, slices.Sorted(maps.Values(old))); err != nil {
		return err
	}
	return m.Del(ctx, "")
}
