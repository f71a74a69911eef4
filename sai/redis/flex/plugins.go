package flex

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"tamtam/sai"
	"tamtam/sai/redis/protocol"
)

// A plug-in is a Lua script that orchagent has loaded into Redis. It runs after each poll of its group, and computes
// further rows from those that were just written: rates, watermarks, the state of queues. orchagent registers it with
// the group by its digest.

// pluginTypes contains the type of the objects that a plug-in receives, by the field of the group that lists it.
var pluginTypes = map[string]sai.ObjectType{
	"PORT_PLUGIN_LIST":        sai.ObjectTypePort,
	"QUEUE_PLUGIN_LIST":       sai.ObjectTypeQueue,
	"PG_PLUGIN_LIST":          sai.ObjectTypeIngressPriorityGroup,
	"RIF_PLUGIN_LIST":         sai.ObjectTypeRouterInterface,
	"BUFFER_POOL_PLUGIN_LIST": sai.ObjectTypeBufferPool,
	"WRED_QUEUE_PLUGIN_LIST":  sai.ObjectTypeQueue,
	"WRED_PORT_PLUGIN_LIST":   sai.ObjectTypePort,

	"FLOW_COUNTER_PLUGIN_FIELD": sai.ObjectTypeCounter,
}

// isPlugin reports whether a field of a group lists plug-ins.
func isPlugin(field string) bool {
	_, known := pluginTypes[field]
	return known || strings.HasSuffix(field, "_PLUGIN_LIST")
}

// setPlugins replaces the plug-ins of one field.
func (g *Group) setPlugins(field, list string) {
	digests := slices.DeleteFunc(strings.Split(list, ","), func(s string) bool { return s == "" })
	if len(digests) == 0 {
		delete(g.plugins, field)
		return
	}
	g.plugins[field] = digests
}

// A pluginRun is one call of a plug-in.
type pluginRun struct {
	digest string
	keys   []string
}

// runPlugins runs the plug-ins of a group with the objects that were polled. Their other arguments are those of
// SONiC's syncd: the number of COUNTERS_DB, its table, and the polling interval in milliseconds.
func (c *Counters) runPlugins(ctx context.Context, name string) {
	runs, interval := c.pluginRuns(name)
	args := []any{strconv.Itoa(c.out.ID()), "COUNTERS", interval}
	for _, r := range runs {
		err := c.out.Client().EvalSha(ctx, r.digest, r.keys, args...).Err()
		if errors.Is(err, redis.Nil) {
			err = nil
		}
		c.notePlugin(name, r.digest, err)
	}
}

// pluginRuns returns the calls that are due after a poll of a group, and its interval.
func (c *Counters) pluginRuns(name string) (runs []pluginRun, milliseconds string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.Groups[name]
	if g == nil {
		return nil, ""
	}
	for _, field := range slices.Sorted(maps.Keys(g.plugins)) {
		keys := c.pluginKeys(g, pluginTypes[field])
		if len(keys) == 0 {
			continue
		}
		for _, digest := range g.plugins[field] {
			runs = append(runs, pluginRun{digest, keys})
		}
	}
	return runs, strconv.FormatInt(g.interval.Milliseconds(), 10)
}

// pluginKeys returns the virtual ids of a group's objects of one type.
func (c *Counters) pluginKeys(g *Group, t sai.ObjectType) (keys []string) {
	for _, vid := range slices.SortedFunc(maps.Keys(g.Counters), cmp.Compare[sai.OID]) {
		if kind, _ := protocol.VIDType(vid); kind == t && c.objects.IDs.Known(vid) {
			keys = append(keys, vid.String())
		}
	}
	return keys
}

// notePlugin logs a plug-in that fails, once for each reason.
func (c *Counters) notePlugin(group, digest string, err error) {
	at := group + ":" + digest
	if err == nil {
		delete(c.failing, at)
		return
	}
	if why := err.Error(); c.failing[at] != why {
		c.failing[at] = why
		c.log.Warn("syncd: a plug-in of a counter group fails; its rows are missing or old",
			"group", group, "plug-in", digest, "error", err)
	}
}
