package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tamtam/device"
	"tamtam/device/daemons"
	sairedis "tamtam/sai/redis"
	"tamtam/sai/redis/protocol"
	"tamtam/swss"
	"tamtam/swss/schema"
)

func databaseChecks() []check {
	return []check{
		{"marks in databases", true, marks},
		{"CONFIG_DB", true, configDB},
		{"DEVICE_METADATA", true, metadata},
		{"rows", true, rows},
		{"switch in ASIC_DB", true, asicSwitch},
		{"view in ASIC_DB", true, halfView},
		{"requests in ASIC_DB", true, requests},
		{"journal of syncd", true, journal},
		{"COUNTERS_DB", true, counters},
	}
}

// marks checks which processes own the databases. A daemon has one process, whose mark is in all its databases.
func marks(ctx context.Context, p *installation) answer {
	owners := map[string]string{}
	where := map[string]swss.DBName{}
	var foreign []string
	for _, name := range used {
		if name == swss.ConfigDB {
			continue // the user owns this database: no daemon marks it
		}
		d := p.r.DB(name)
		got, err := d.Client().HGetAll(ctx, swss.KeyMark).Result()
		if err != nil {
			return unknown("%s %s: %s", name, swss.KeyMark, swss.Why(err))
		}
		if n, err := d.Client().DBSize(ctx).Result(); err == nil && n > 0 && len(got) == 0 {
			foreign = append(foreign, string(name))
		}
		for daemon, owner := range got {
			if !slices.Contains(daemons.Daemons(), daemon) {
				continue // the entry is not a mark
			}
			if other, ok := owners[daemon]; ok && other != owner {
				return warn("stop one of the two; if there is one only, look again in a few seconds",
					"%s is of %s, process %.16s, and %s of another, process %.16s", where[daemon], daemon, other, name, owner)
			}
			owners[daemon], where[daemon] = owner, name
		}
	}
	switch {
	case len(foreign) > 0:
		return warn("give each switch a Redis of its own; if it is tamtam's, its daemons have not begun",
			"%s have rows and no mark of a daemon of tamtam: another SONiC's, or were emptied", strings.Join(foreign, ", "))
	case len(owners) == 0:
		return warn("start the daemons", "no daemon has marked a database yet")
	}
	return well("%s have one process each", strings.Join(device.SortedKeys(owners), ", "))
}

func configDB(ctx context.Context, p *installation) answer {
	d := p.r.DB(swss.ConfigDB)
	empty, err := d.Empty(ctx)
	n := d.Client().DBSize(ctx).Val()
	switch {
	case err != nil:
		return unknown("%s", swss.Why(err))
	case empty:
		return fail("tamtam config load FILE", "empty: no configuration has been loaded, or it was lost")
	case d.Client().Exists(ctx, swss.KeyInitialized).Val() == 0:
		return warn("redis-cli -n 4 set "+swss.KeyInitialized+" 1, once all rows are loaded",
			"%s is missing: SONiC's utilities wait for it", swss.KeyInitialized)
	}
	return well("%d keys", n)
}

func metadata(ctx context.Context, p *installation) answer {
	row, ok, err := swss.NewTable(p.r.DB(swss.ConfigDB), schema.CfgDeviceMetadata).Get(ctx, schema.MetadataKey)
	const set = "redis-cli -n 4 hset 'DEVICE_METADATA|localhost' mac 02:00:00:00:00:01 (its own)"
	switch {
	case swss.IsMisuse(err):
		return fail("redis-cli -n 4 del 'DEVICE_METADATA|localhost', then "+set, "DEVICE_METADATA|localhost is no hash")
	case err != nil:
		return unknown("%s", swss.Why(err))
	case !ok:
		return warn(set, "no row DEVICE_METADATA|localhost: the address is made from this machine's")
	}
	if _, err := schema.ParseDeviceMetadata(schema.MetadataKey, row); err != nil {
		return fail(set, "%s", err)
	}
	if row["mac"] == "" {
		return warn(set, "DEVICE_METADATA|localhost has no mac: the address is made from this machine's")
	}
	return well("mac %s", row["mac"])
}

// firstProblems is the maximum number of reasons in the finding.
const firstProblems = 5

func rows(ctx context.Context, p *installation) answer {
	problems, err := device.Problems(ctx, p.r)
	if err != nil {
		return unknown("%s", swss.Why(err))
	}
	if len(problems) == 0 {
		return well("no status is pending or failed")
	}
	count := map[string]int{}
	var first []string
	for _, o := range problems {
		if count[o.Status]++; len(first) < firstProblems {
			first = append(first, o.String())
		}
	}
	var sums []string
	for _, status := range device.SortedKeys(count) {
		sums = append(sums, fmt.Sprintf("%d %s", count[status], status))
	}
	more := ""
	if n := len(problems) - len(first); n > 0 {
		more = fmt.Sprintf("; and %d more", n)
	}
	found := fmt.Sprintf("%s: %s%s", strings.Join(sums, ", "), strings.Join(first, "; "), more)
	const change = "correct the rows of CONFIG_DB by their reasons"
	if count[schema.StatusFailed] > 0 {
		return fail(change, "%s", found)
	}
	return warn(change, "%s", found)
}

// find returns a key of a database that matches a pattern, "" if there is none.
func find(ctx context.Context, d *swss.DB, pattern string) (string, error) {
	for at := uint64(0); ; {
		keys, next, err := d.Client().Scan(ctx, at, pattern, 1000).Result()
		if err != nil {
			return "", err
		}
		if len(keys) > 0 {
			return keys[0], nil
		}
		if at = next; at == 0 {
			return "", nil
		}
	}
}

func asicSwitch(ctx context.Context, p *installation) answer {
	d := p.r.DB(swss.ASICDB)
	key, err := find(ctx, d, "ASIC_STATE:SAI_OBJECT_TYPE_SWITCH:*")
	if err != nil {
		return unknown("%s", swss.Why(err))
	}
	ids, err := d.Client().HLen(ctx, protocol.KeyVIDToRID).Result()
	const begin = "start syncd, then orchagent, and read their logs with --verbose"
	switch {
	case err != nil:
		return unknown("%s: %s", protocol.KeyVIDToRID, swss.Why(err))
	case key == "":
		return fail(begin, "no switch in ASIC_STATE: orchagent has not applied a view")
	case ids == 0:
		return fail(begin, "%s is there and %s is not: syncd has no chip for it", key, protocol.KeyVIDToRID)
	}
	return well("%s, %d objects", key, ids)
}

func halfView(ctx context.Context, p *installation) answer {
	key, err := find(ctx, p.r.DB(swss.ASICDB), "TEMP_ASIC_STATE:*")
	switch {
	case err != nil:
		return unknown("%s", swss.Why(err))
	case key != "":
		return warn("look again in a few seconds; if it stays, restart orchagent",
			"TEMP_ASIC_STATE is there: orchagent makes its view now, or was stopped while it did")
	}
	return well("applied: no TEMP_ASIC_STATE is left over")
}

func requests(ctx context.Context, p *installation) answer {
	n, err := p.r.DB(swss.ASICDB).Client().LLen(ctx, "ASIC_STATE_KEY_VALUE_OP_QUEUE").Result()
	switch {
	case err != nil:
		return unknown("%s", swss.Why(err))
	case n > 0:
		return warn("look again in a few seconds; if it stays, syncd does not work",
			"%d words of requests wait for syncd", n)
	}
	return well("none waits for syncd")
}

func journal(ctx context.Context, p *installation) answer {
	row, err := p.r.DB(swss.ASICDB).Client().HGetAll(ctx, sairedis.KeySyncd).Result()
	switch {
	case err != nil:
		return unknown("%s", swss.Why(err))
	case row["run"] == "" || row["outcomes"] == "":
		return warn("start syncd; with another syncd than tamtam's this is as it should be",
			"no %s in ASIC_DB: the syncd there is not tamtam's, or has not begun", sairedis.KeySyncd)
	}
	return well("%s outcomes", row["outcomes"])
}

// counters compares the map of ports with the rows. Rows contain no time, so it cannot detect whether they are still
// updated.
func counters(ctx context.Context, p *installation) answer {
	d := p.r.DB(swss.CountersDB)
	ports, err := d.Client().HGetAll(ctx, schema.CountersPortNameMap).Result()
	if err != nil {
		return unknown("%s", swss.Why(err))
	}
	var missing []string
	for _, port := range device.SortedKeys(ports) {
		n, err := d.Client().Exists(ctx, "COUNTERS:"+ports[port]).Result()
		if err != nil {
			return unknown("%s", swss.Why(err))
		}
		if n == 0 {
			missing = append(missing, port)
		}
	}
	switch {
	case len(ports) == 0:
		return warn("configure a row of PORT, and read orchagent's log",
			"COUNTERS_PORT_NAME_MAP is not there: no port has counters")
	case len(missing) > 0:
		return fail("see whether syncd works, and FLEX_COUNTER_TABLE in CONFIG_DB",
			"%d of %d ports have no counters, as %s", len(missing), len(ports), missing[0])
	}
	return well("%d ports have counters (rows bear no time: whether they are renewed is not looked at)", len(ports))
}
