package trimming

import (
	"context"
	"slices"
	"time"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// counterField is the field of FLEX_COUNTER_TABLE that lists the statistics.
const counterField = "SWITCH_COUNTER_ID_LIST"

// counters makes syncd read the statistics of the switch, and maintains its name in COUNTERS_DB.
type counters struct {
	poller orch.Poller
	group  orch.FlexGroup
	chip   sai.OID
	ids    []string // statistics that the ASIC has
	names  swss.Hash
	begun  bool // true if syncd reads them
}

// open reads the entry of a previous run.
func (c *counters) open(ctx context.Context, cfg Config) error {
	c.poller, c.chip = cfg.Poller, cfg.Switch
	c.group = orch.FlexGroup{Row: schema.FlexSwitch, Name: schema.FlexSwitch + "_STAT_COUNTER",
		Default: schema.DefaultPoll(schema.FlexSwitch)}
	has, err := cfg.SAI.StatsCapability(ctx, sai.ObjectTypeSwitch)
	for _, id := range []sai.StatID{sai.SwitchStatDroppedTrimPackets, sai.SwitchStatTxTrimPackets} {
		if err != nil && !sai.Unsupported(err) || slices.Contains(has, id) {
			c.ids = append(c.ids, id.String())
		}
	}
	c.names.Table = swss.NewTable(cfg.Redis.DB(swss.CountersDB), schema.CountersSwitchNameMap)
	return c.names.Load(ctx)
}

// waits reports whether something has not been written or sent yet, and can be.
func (c *counters) waits() bool {
	_, known := orch.PublicID(c.poller, c.chip)
	return len(c.ids) > 0 && known && (!c.begun || !c.group.Sent() && c.poller != nil || c.names.Pending() > 0)
}

// retry returns the period of the timer for retries, or 0 if nothing is due.
func (c *counters) retry() time.Duration {
	if c.waits() {
		return time.Second
	}
	return 0
}

// flush sends what is missing.
func (c *counters) flush(ctx context.Context) error {
	id, known := orch.PublicID(c.poller, c.chip)
	if len(c.ids) == 0 || !known {
		return nil
	}
	if err := c.group.Send(ctx, c.poller); err != nil {
		return err
	}
	if !c.begun && c.poller != nil {
		if err := c.poller.StartPoll(ctx, c.group.Name, counterField, c.ids, c.chip); err != nil {
			return err
		}
	}
	c.begun = true
	c.names.Put(schema.SwitchName, id.String())
	return c.names.Flush(ctx)
}
