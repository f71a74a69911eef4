package ports

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

// wantedStats are the statistics of SONiC's port counters, that of frames with a wrong FCS, and those of pauses that
// SONiC's watchdog of flow control and "pfcstat --history" read. Those of trimming are of the queues of the port
// together.
var wantedStats = []sai.StatID{
	sai.PortStatIfInOctets, sai.PortStatIfInUcastPkts, sai.PortStatIfInNonUcastPkts, sai.PortStatIfInDiscards,
	sai.PortStatIfInErrors, sai.PortStatIfInUnknownProtos, sai.PortStatIfInBroadcastPkts, sai.PortStatIfInMulticastPkts,
	sai.PortStatIfOutOctets, sai.PortStatIfOutUcastPkts, sai.PortStatIfOutNonUcastPkts, sai.PortStatIfOutDiscards,
	sai.PortStatIfOutErrors, sai.PortStatIfOutQlen, sai.PortStatIfOutBroadcastPkts, sai.PortStatIfOutMulticastPkts,
	sai.PortStatInDroppedPkts, sai.PortStatOutDroppedPkts,
	sai.PortStatEtherRxOversizePkts, sai.PortStatEtherTxOversizePkts, sai.PortStatEtherStatsUndersizePkts,
	sai.PortStatEtherStatsJabbers, sai.PortStatEtherStatsFragments, sai.PortStatEtherStatsCrcAlignErrors,
	sai.PortStatEtherInPkts64Octets, sai.PortStatEtherInPkts65To127Octets, sai.PortStatEtherInPkts128To255Octets,
	sai.PortStatEtherInPkts256To511Octets, sai.PortStatEtherInPkts512To1023Octets,
	sai.PortStatEtherInPkts1024To1518Octets, sai.PortStatEtherInPkts1519To2047Octets,
	sai.PortStatEtherInPkts2048To4095Octets, sai.PortStatEtherInPkts4096To9216Octets,
	sai.PortStatEtherInPkts9217To16383Octets,
	sai.PortStatEtherOutPkts64Octets, sai.PortStatEtherOutPkts65To127Octets, sai.PortStatEtherOutPkts128To255Octets,
	sai.PortStatEtherOutPkts256To511Octets, sai.PortStatEtherOutPkts512To1023Octets,
	sai.PortStatEtherOutPkts1024To1518Octets, sai.PortStatEtherOutPkts1519To2047Octets,
	sai.PortStatEtherOutPkts2048To4095Octets, sai.PortStatEtherOutPkts4096To9216Octets,
	sai.PortStatEtherOutPkts9217To16383Octets,
	sai.PortStatTrimPackets, sai.PortStatDroppedTrimPackets, sai.PortStatTxTrimPackets,
	sai.PortStatPfc0RxPkts, sai.PortStatPfc1RxPkts, sai.PortStatPfc2RxPkts, sai.PortStatPfc3RxPkts,
	sai.PortStatPfc4RxPkts, sai.PortStatPfc5RxPkts, sai.PortStatPfc6RxPkts, sai.PortStatPfc7RxPkts,
	sai.PortStatPfc0TxPkts, sai.PortStatPfc1TxPkts, sai.PortStatPfc2TxPkts, sai.PortStatPfc3TxPkts,
	sai.PortStatPfc4TxPkts, sai.PortStatPfc5TxPkts, sai.PortStatPfc6TxPkts, sai.PortStatPfc7TxPkts,
	sai.PortStatPfc0RxPauseDurationUs, sai.PortStatPfc1RxPauseDurationUs, sai.PortStatPfc2RxPauseDurationUs,
	sai.PortStatPfc3RxPauseDurationUs, sai.PortStatPfc4RxPauseDurationUs, sai.PortStatPfc5RxPauseDurationUs,
	sai.PortStatPfc6RxPauseDurationUs, sai.PortStatPfc7RxPauseDurationUs,
	sai.PortStatPfc0On2offRxPkts, sai.PortStatPfc1On2offRxPkts, sai.PortStatPfc2On2offRxPkts,
	sai.PortStatPfc3On2offRxPkts, sai.PortStatPfc4On2offRxPkts, sai.PortStatPfc5On2offRxPkts,
	sai.PortStatPfc6On2offRxPkts, sai.PortStatPfc7On2offRxPkts,
}

// portStats returns the wanted statistics that the ASIC has. If one statistic were missing, reading all of them would
// fail.
func portStats(ctx context.Context, api sai.API) []sai.StatID {
	has, err := api.StatsCapability(ctx, sai.ObjectTypePort)
	if err != nil {
		return wantedStats
	}
	return slices.DeleteFunc(slices.Clone(wantedStats), func(s sai.StatID) bool { return !slices.Contains(has, s) })
}

// counters maintains which port each object in COUNTERS_DB is, and which ports are polled. Changes are collected until
// flush writes them.
type counters struct {
	poller orch.Poller
	group  orch.FlexGroup
	ids    []string    // statistics
	rows   *swss.Table // COUNTERS
	rates  *swss.Table
	ports  swss.Hash
	lags   swss.Hash
	named  map[string]sai.OID // LAGs whose names must be written
	start  []sai.OID
	stop   []sai.OID
	polled map[sai.OID]bool
	left   []string // rows of a previous run's ports that no longer exist
}

// open reads the entries that a previous run left in the maps.
func (c *counters) open(ctx context.Context, cfg Config, chip *chip) error {
	db := cfg.Redis.DB(swss.CountersDB)
	c.poller = cfg.Poller
	c.rows, c.rates = swss.NewTable(db, schema.CountersTable), swss.NewTable(db, schema.Rates)
	c.ports = swss.Hash{Table: swss.NewTable(db, schema.CountersPortNameMap)}
	c.lags = swss.Hash{Table: swss.NewTable(db, schema.CountersLAGNameMap)}
	c.group = orch.FlexGroup{Row: "PORT", Name: schema.GroupPort, Default: schema.DefaultPoll("PORT")}
	c.polled, c.named = map[sai.OID]bool{}, map[string]sai.OID{}
	for _, id := range chip.stats {
		c.ids = append(c.ids, id.String())
	}
	return errors.Join(c.ports.Load(ctx), c.lags.Load(ctx))
}

// dropFormer removes names of a previous run, and the rows of ports that no longer exist.
func (c *counters) dropFormer(ctx context.Context) error {
	if err := c.flush(ctx); err != nil {
		return err
	}
	c.left = append(c.left, c.ports.DropFormer()...)
	c.lags.DropFormer()
	return errors.Join(c.rows.DelMany(ctx, c.left), c.rates.DelMany(ctx, c.left), c.flush(ctx))
}

func (c *counters) addPort(name string, oid sai.OID) {
	c.ports.Put(name, oid.String())
	c.start = append(c.start, oid)
}

func (c *counters) addLAG(name string, oid sai.OID) { c.named[name] = oid }

func (c *counters) removeLAG(name string) {
	delete(c.named, name)
	c.lags.Remove(name)
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

// stopPolling makes syncd stop polling ports that are about to be removed, since it must not read an object that does
// not exist.
func (c *counters) stopPolling(ctx context.Context) error {
	if len(c.stop) == 0 {
		return nil
	}
	if c.poller != nil {
		if err := c.poller.StopPoll(ctx, c.group.Name, c.stop...); err != nil {
			return err
		}
	}
	keys := make([]string, len(c.stop))
	for i, oid := range c.stop {
		keys[i] = oid.String()
		delete(c.polled, oid)
	}
	if err := errors.Join(c.rows.DelMany(ctx, keys), c.rates.DelMany(ctx, keys)); err != nil {
		return err
	}
	c.stop = nil
	return nil
}

// retryPeriod is the time after which failed writes and messages are tried again.
const retryPeriod = time.Second

// waits reports whether something has not been written or sent yet.
func (c *counters) waits() bool {
	waiting := len(c.start) + len(c.stop) + len(c.named) + c.ports.Pending() + c.lags.Pending()
	return waiting > 0 || !c.group.Sent() && c.poller != nil
}

// flush sends the collected changes.
func (c *counters) flush(ctx context.Context) error {
	if err := c.stopPolling(ctx); err != nil {
		return err
	}
	if err := c.group.Send(ctx, c.poller); err != nil {
		return err
	}
	if len(c.start) > 0 && c.poller != nil {
		if err := c.poller.StartPoll(ctx, c.group.Name, "PORT_COUNTER_ID_LIST", c.ids, c.start...); err != nil {
			return err
		}
	}
	for _, oid := range c.start {
		c.polled[oid] = true
	}
	c.start = nil
	for name, oid := range c.named {
		if id, ok := orch.PublicID(c.poller, oid); ok {
			c.lags.Put(name, id.String())
			delete(c.named, name)
		}
	}
	return errors.Join(c.ports.Flush(ctx), c.lags.Flush(ctx))
}
