package acl

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// counterGroup is the flex counter group of ACL counters.
const counterGroup = "ACL_STAT_COUNTER"

// counters maintains which rule each counter in COUNTERS_DB belongs to, and which counters are polled. Changes are
// collected until flush writes them.
type counters struct {
	poller  orch.Poller
	group   orch.FlexGroup
	log     *slog.Logger
	rows    *swss.Table                 // COUNTERS
	names   swss.Hash                   // ACL_COUNTER_RULE_MAP
	holders swss.Hash                   // rows of STATE_DB that name holders; see Orch.setHolder
	tables  swss.Hash                   // ACL_TABLE_NAME_MAP
	unnamed map[string]sai.OID          // tables to be added to ACL_TABLE_NAME_MAP, by name
	fresh   []sai.OID                   // counters whose polling must begin
	gone    []string                    // keys of rows to be deleted from COUNTERS
	renamed map[schema.ACLRuleKey]*rule // rules whose counter names must be checked
	put     map[string]sai.OID          // counters whose names must be written, by name
	del     map[string]bool             // set of names to be deleted
}

// open reads the entries that a previous run left in the map.
func (c *counters) open(ctx context.Context, r *swss.Redis) error {
	db := r.DB(swss.CountersDB)
	c.rows = swss.NewTable(db, schema.CountersTable)
	c.names.Table = swss.NewTable(db, schema.CountersACLRuleMap)
	c.tables.Table = swss.NewTable(db, schema.CountersACLTableMap)
	c.unnamed = map[string]sai.OID{}
	c.renamed = map[schema.ACLRuleKey]*rule{}
	c.put, c.del = map[string]sai.OID{}, map[string]bool{}
	c.group = orch.FlexGroup{Row: "ACL", Name: counterGroup, Default: schema.DefaultPoll("ACL")}
	c.holders.Table = swss.NewTable(r.DB(swss.StateDB), schema.StateACLHolders)
	if err := c.holders.Load(ctx); err != nil {
		return err
	}
	if err := c.tables.Load(ctx); err != nil {
		return err
	}
	return c.names.Load(ctx)
}

// nameOf returns the name of a table of the ASIC in ACL_TABLE_NAME_MAP.
func (in *instance) nameOf() string {
	if in.feature == "" {
		return in.table.name
	}
	return in.table.name + ":" + in.feature
}

func (c *counters) tableAdded(in *instance) { c.unnamed[in.nameOf()] = in.oid }

func (c *counters) tableRemoved(in *instance) {
	delete(c.unnamed, in.nameOf())
	c.tables.Remove(in.nameOf())
}

// dropFormer removes names of a previous run, and the rows of counters that are no longer in use.
func (c *counters) dropFormer(ctx context.Context) error {
	if err := c.flush(ctx); err != nil {
		return err
	}
	c.gone = append(c.gone, c.names.DropFormer()...)
	c.tables.DropFormer()
	c.holders.DropFormer()
	return c.flush(ctx)
}

func (c *counters) start(oid sai.OID) { c.fresh = append(c.fresh, oid) }

// rename makes the next flush check the names of a rule's counters.
func (c *counters) rename(r *rule) { c.renamed[r.key] = r }

// stopPolling makes syncd stop polling counters that are about to be removed, since it must not read an object that
// does not exist.
func (c *counters) stopPolling(ctx context.Context, oids []sai.OID) {
	var polled []sai.OID
	fresh := map[sai.OID]bool{}
	for _, oid := range c.fresh {
		fresh[oid] = true
	}
	drop := map[sai.OID]bool{}
	for _, oid := range oids {
		if fresh[oid] {
			drop[oid] = true
			continue
		}
		polled = append(polled, oid)
		if id, ok := orch.PublicID(c.poller, oid); ok {
			c.gone = append(c.gone, id.String())
		}
	}
	if len(drop) > 0 {
		c.fresh = slices.DeleteFunc(c.fresh, func(oid sai.OID) bool { return drop[oid] })
	}
	if c.poller == nil || len(polled) == 0 {
		return
	}
	if err := c.poller.StopPoll(ctx, counterGroup, polled...); err != nil {
		c.log.Error("ACL counters that go are still polled", "err", err)
	}
}

// retry returns the time until the next flush of changes that could not be written, or 0 if there are none.
func (c *counters) retry() time.Duration {
	waiting := len(c.fresh) + len(c.gone) + len(c.renamed) + len(c.put) + len(c.del) + c.names.Pending() +
		c.holders.Pending() + len(c.unnamed) + c.tables.Pending()
	if !c.group.Sent() && c.poller != nil || waiting > 0 {
		return time.Second
	}
	return 0
}

// flush sends the collected changes.
func (c *counters) flush(ctx context.Context) error {
	if err := c.group.Send(ctx, c.poller); err != nil {
		return err
	}
	if c.poller != nil && len(c.fresh) > 0 {
		ids := []string{sai.ACLCounterAttrPackets.String(), sai.ACLCounterAttrBytes.String()}
		if err := c.poller.StartPoll(ctx, counterGroup, "ACL_COUNTER_ATTR_ID_LIST", ids, c.fresh...); err != nil {
			return err
		}
	}
	c.fresh = nil
	if err := c.rows.DelMany(ctx, c.gone); err != nil {
		return err
	}
	c.gone = nil
	return c.flushNames(ctx)
}

// flushNames updates ACL_COUNTER_RULE_MAP and ACL_TABLE_NAME_MAP.
func (c *counters) flushNames(ctx context.Context) error {
	for _, r := range c.renamed {
		c.nameAll(r)
	}
	c.renamed = orch.Emptied(c.renamed)
	for name := range c.del {
		c.names.Remove(name)
	}
	c.del = orch.Emptied(c.del)
	for name, oid := range c.put {
		// The id is unknown while the view of the counter is not applied yet.
		if id, ok := orch.PublicID(c.poller, oid); ok {
			c.names.Put(name, id.String())
			delete(c.put, name)
		}
	}
	for name, oid := range c.unnamed {
		if id, ok := orch.PublicID(c.poller, oid); ok {
			c.tables.Put(name, id.String())
			delete(c.unnamed, name)
		}
	}
	return errors.Join(c.names.Flush(ctx), c.tables.Flush(ctx), c.holders.Flush(ctx))
}

// nameAll names the counters of a rule. Those of the first feature are named after the rule, those of further features
// after rule and feature. For variants, the name of the variant is appended.
func (c *counters) nameAll(r *rule) {
	var want assoc[string, sai.OID]
	keys := r.entryKeys()
	for _, s := range keys {
		name := r.key.Appl()
		if s.feature != keys[0].feature {
			name += ":" + s.feature
		}
		if s.variant != "" {
			name += ":" + s.variant
		}
		want.set(name, r.entries.get(s).counter.oid)
	}
	for _, was := range r.mapped {
		if !want.has(was.key) {
			c.del[was.key] = true
			delete(c.put, was.key)
		}
	}
	for _, is := range want {
		if r.mapped.get(is.key) != is.value {
			c.put[is.key] = is.value
			delete(c.del, is.key)
		}
	}
	r.mapped = want
}

// compareFeatures orders TAM features as SONiC does. "" is the smallest.
func compareFeatures(a, b string) int {
	all := schema.Features()
	return cmp.Or(slices.Index(all, a)-slices.Index(all, b), schema.CompareNames(a, b))
}
