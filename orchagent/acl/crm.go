package acl

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// crmMaxWarnings is the maximum number of log lines for an exceeded threshold, until the value drops to the low
// threshold.
const crmMaxWarnings = 10

// pointKey identifies where tables and groups are counted.
type pointKey struct{ stage, point string }

// crm counts the ACL resources in use and reads from the ASIC how many are left (SONiC's critical resource monitoring).
type crm struct {
	api      sai.API
	log      *slog.Logger
	table    *swss.Table
	switchID sai.OID
	config   schema.CRM
	rows     map[string]schema.CRM // the valid rows of CRM

	others      []func() map[sai.AttrID]int // functions that count resources of other orchs; see Orch.Count
	tables      map[pointKey]int
	groups      map[pointKey]int
	entries     map[*instance]int
	warned      map[string]int
	unsupported map[sai.AttrID]bool         // attributes that the ASIC does not support
	written     map[string]swss.FieldValues // the rows written to COUNTERS_DB
}

func (c *crm) open(ctx context.Context, r *swss.Redis) error {
	c.table = swss.NewTable(r.DB(swss.CountersDB), schema.CountersCRM)
	c.config, c.rows = schema.DefaultCRM(), map[string]schema.CRM{}
	c.tables, c.groups, c.entries = map[pointKey]int{}, map[pointKey]int{}, map[*instance]int{}
	c.warned, c.unsupported = map[string]int{}, map[sai.AttrID]bool{}
	c.written = map[string]swss.FieldValues{}
	old, err := c.table.Keys(ctx)
	if err != nil {
		return err
	}
	old = slices.DeleteFunc(old, func(k string) bool {
		return !strings.HasPrefix(k, "ACL_") && k != crmStats && k != schema.CRMThresholds
	})
	return c.table.DelMany(ctx, old)
}

// row applies a row of CRM. As in SONiC, the key may be anything. If there are several valid rows, the row with the
// smallest key applies, and the others wait.
func (c *crm) row(ctx context.Context, daemon *orch.Daemon, t orch.Task) {
	delete(c.rows, t.Key)
	if t.Op == orch.Del {
		daemon.Unreport(ctx, schema.StateCRM, t.Key)
	} else {
		config, err := schema.ParseCRM(t.Key, t.Fields)
		if err == nil {
			c.rows[t.Key] = config
		} else {
			reportConfig(ctx, daemon, schema.StateCRM, t.Key, err)
		}
	}
	c.config = schema.DefaultCRM()
	keys := slices.Sorted(maps.Keys(c.rows))
	for i, key := range keys {
		var err error
		if c.config = c.rows[keys[0]]; i > 0 {
			err = orch.Wait("CRM row", keys[0], "%s|%s comes first, and one row applies", schema.CfgCRM, keys[0])
		}
		reportConfig(ctx, daemon, schema.StateCRM, key, err)
	}
}

// crmStats is the key of the row with the resources of the whole switch.
const crmStats = "STATS"

// crmPoints contains CRM's names of SAI's bind points.
var crmPoints = map[string]string{schema.BindPort: "PORT", schema.BindPortChannel: "LAG", schema.BindSwitch: "SWITCH"}

func (c *crm) tableAdded(in *instance)   { c.countTable(in, 1) }
func (c *crm) tableRemoved(in *instance) { c.countTable(in, -1); delete(c.entries, in) }

func (c *crm) countTable(in *instance, n int) {
	for _, b := range in.def.bind {
		c.tables[pointKey{in.def.stage, crmPoints[b]}] += n
	}
	if n > 0 {
		c.entries[in] = 0
	}
}

func (c *crm) groupAdded(g *group)   { c.groups[g.point()]++ }
func (c *crm) groupRemoved(g *group) { c.groups[g.point()]-- }

func (g *group) point() pointKey {
	switch g.target.key.Type {
	case sai.ObjectTypeLAG:
		return pointKey{g.stage, "LAG"}
	case sai.ObjectTypeSwitch:
		return pointKey{g.stage, "SWITCH"}
	}
	return pointKey{g.stage, "PORT"}
}

func (c *crm) entryAdded(in *instance)   { c.entries[in]++ }
func (c *crm) entryRemoved(in *instance) { c.entries[in]-- }

func (c *crm) interval() time.Duration { return c.config.Interval }

// poll writes to COUNTERS_DB how much is used and available, and logs exceeded thresholds.
func (c *crm) poll(ctx context.Context, _ time.Time) error {
	rows := map[string]swss.FieldValues{}
	c.pollPoints(ctx, rows, "acl_table", c.tables, sai.SwitchAttrAvailableACLTable)
	c.pollPoints(ctx, rows, "acl_group", c.groups, sai.SwitchAttrAvailableACLTableGroup)
	for _, in := range c.sortedTables() {
		used := c.entries[in]
		key := fmt.Sprintf("ACL_TABLE_STATS:0x%x", uint64(in.oid))
		k := sai.Obj(sai.ObjectTypeACLTable, in.oid)
		c.pollTable(ctx, rows, key, "acl_entry", k, sai.ACLTableAttrAvailableACLEntry, used)
		c.pollTable(ctx, rows, key, "acl_counter", k, sai.ACLTableAttrAvailableACLCounter, used)
	}
	c.pollOthers(ctx, rows)
	var stale []string
	unknown := map[string][]string{} // fields that the ASIC does not report any more
	for k, was := range c.written {
		if rows[k] == nil {
			stale = append(stale, k)
			continue
		}
		for field := range was {
			if _, ok := rows[k][field]; !ok {
				unknown[k] = append(unknown[k], field)
			}
		}
	}
	slices.Sort(stale)
	if err := c.table.DelMany(ctx, stale); err != nil {
		return err
	}
	if err := c.table.HDelMany(ctx, unknown); err != nil {
		return err
	}
	c.written = rows
	return c.table.SetMany(ctx, rows)
}

// resources names the resources that other orchs count, by the switch attribute that reports how many are left.
var resources = map[sai.AttrID]string{
	sai.SwitchAttrAvailableIPv4RouteEntry: "ipv4_route", sai.SwitchAttrAvailableIPv6RouteEntry: "ipv6_route",
	sai.SwitchAttrAvailableIPv4NexthopEntry: "ipv4_nexthop", sai.SwitchAttrAvailableIPv6NexthopEntry: "ipv6_nexthop",
	sai.SwitchAttrAvailableIPv4NeighborEntry: "ipv4_neighbor", sai.SwitchAttrAvailableIPv6NeighborEntry: "ipv6_neighbor",
	sai.SwitchAttrAvailableNextHopGroupEntry:       "nexthop_group",
	sai.SwitchAttrAvailableNextHopGroupMemberEntry: "nexthop_group_member",
	sai.SwitchAttrAvailableFDBEntry:                "fdb_entry",
}

// pollOthers handles the resources that other orchs count.
func (c *crm) pollOthers(ctx context.Context, rows map[string]swss.FieldValues) {
	for _, count := range c.others {
		used := count()
		for _, id := range slices.Sorted(maps.Keys(used)) {
			if res := resources[id]; res != "" {
				c.pollTable(ctx, rows, crmStats, res, sai.Obj(sai.ObjectTypeSwitch, c.switchID), id, used[id])
			}
		}
	}
}

// pollPoints handles the resources that are counted by stage and bind point.
func (c *crm) pollPoints(
	ctx context.Context, rows map[string]swss.FieldValues, res string, used map[pointKey]int, id sai.AttrID,
) {
	v, ok := c.get(ctx, sai.Obj(sai.ObjectTypeSwitch, c.switchID), sai.Want(id, 64))
	if !ok {
		return
	}
	list, _ := v.(sai.ACLResources)
	for _, r := range list {
		key, ok := resourceKey(r)
		if !ok {
			continue
		}
		c.write(rows, "ACL_STATS:"+key.stage+":"+key.point, res, used[key], uint64(r.Available))
	}
}

// resourceKey returns the key under which an answer of the ASIC is counted. It returns false for a stage or bind point
// that SONiC does not count.
func resourceKey(r sai.ACLResource) (pointKey, bool) {
	points := map[sai.Enum]string{
		sai.ACLBindPointTypePort: "PORT", sai.ACLBindPointTypeLAG: "LAG", sai.ACLBindPointTypeVLAN: "VLAN",
		sai.ACLBindPointTypeRouterInterface: "RIF", sai.ACLBindPointTypeSwitch: "SWITCH",
	}
	for name, stage := range stages {
		if point, ok := points[r.BindPoint]; ok && stage == r.Stage {
			return pointKey{name, point}, true
		}
	}
	return pointKey{}, false
}

func (c *crm) pollTable(
	ctx context.Context, rows map[string]swss.FieldValues, key, res string, k sai.Key, id sai.AttrID, used int,
) {
	v, ok := c.get(ctx, k, sai.Want(id, 0))
	if !ok {
		return
	}
	if n, ok := v.(sai.Uint); ok {
		c.write(rows, key, res, used, uint64(n))
	}
}

// get reads one attribute. Once the ASIC reports that it does not support the attribute, get does not ask again.
func (c *crm) get(ctx context.Context, k sai.Key, want sai.Attr) (sai.Value, bool) {
	if c.unsupported[want.ID] {
		return nil, false
	}
	got, err := c.api.Get(ctx, k, []sai.Attr{want})
	if err != nil {
		status, _ := sai.StatusOf(err)
		c.unsupported[want.ID] = orch.Unsupported(status)
		c.log.Warn("the switch does not report what is available", "attribute", want.ID.String(), "err", err)
		return nil, false
	}
	return got[0].Value, true
}

func (c *crm) write(rows map[string]swss.FieldValues, key, res string, used int, available uint64) {
	if rows[key] == nil {
		rows[key] = swss.FieldValues{}
	}
	rows[key]["crm_stats_"+res+"_used"] = strconv.Itoa(used)
	rows[key]["crm_stats_"+res+"_available"] = strconv.FormatUint(available, 10)
	t := c.check(key, res, uint64(max(used, 0)), available)
	if key != crmStats {
		return
	}
	if rows[schema.CRMThresholds] == nil {
		rows[schema.CRMThresholds] = swss.FieldValues{}
	}
	of := map[string]string{"_high": "", "_low": "", "_exceeded": ""} // "" replaces an earlier value
	if t.Type == schema.CRMPercentage {
		of["_high"], of["_low"] = strconv.FormatUint(uint64(t.High), 10), strconv.FormatUint(uint64(t.Low), 10)
		of["_exceeded"] = strconv.FormatBool(c.warned[key+" "+res] > 0)
	}
	for suffix, v := range of {
		rows[schema.CRMThresholds][res+suffix] = v
	}
}

// check logs when a value reaches the high threshold, and when it drops to the low one. It returns the thresholds.
func (c *crm) check(key, res string, used, available uint64) schema.CRMThreshold {
	t, ok := c.config.Thresholds[res]
	if !ok {
		t = schema.DefaultCRMThreshold()
	}
	value := used
	switch t.Type {
	case schema.CRMFree:
		value = available
	case schema.CRMPercentage:
		if used+available == 0 {
			return t
		}
		value = used * 100 / (used + available)
	}
	name := key + " " + res
	switch {
	case value >= uint64(t.High) && c.warned[name] < crmMaxWarnings:
		c.warned[name]++
		c.log.Warn("THRESHOLD_EXCEEDED", "resource", name, "type", t.Type, "value", value, "high", t.High,
			"used", used, "available", available)
	case value <= uint64(t.Low) && c.warned[name] > 0:
		delete(c.warned, name)
		c.log.Warn("THRESHOLD_CLEAR", "resource", name, "type", t.Type, "value", value, "low", t.Low,
			"used", used, "available", available)
	}
	return t
}

// sortedTables returns the tables of the ASIC in the order of their creation.
func (c *crm) sortedTables() []*instance {
	return slices.SortedFunc(maps.Keys(c.entries), func(a, b *instance) int {
		if a.oid < b.oid {
			return -1
		}
		return 1
	})
}
