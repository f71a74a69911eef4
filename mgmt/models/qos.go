package models

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// qosModule returns the mapping of tamtam-qos.
func qosModule() tree.Module {
	queue := queueRow("{name}",
		"transmitted-packets", "PACKETS", "transmitted-octets", "BYTES", "dropped-packets", "DROPPED_PACKETS",
		"wred-dropped-packets", "WRED_DROPPED_PACKETS", "ecn-marked-packets", "WRED_ECN_MARKED_PACKETS",
		"occupancy", "CURR_OCCUPANCY_BYTES", "watermark", "WATERMARK_BYTES")
	outcome := func(table string) tree.Row {
		return tree.Row{DB: swss.StateDB, Table: table, Key: "{name}", Leaves: []tree.Leaf{
			leaf("state/status", readOnly(text(schema.FieldStatus))), leaf("state/reason", readOnly(text(schema.FieldReason))),
			leaf("state/monitor-port", readOnly(text("monitor_port"))), leaf("state/next-hop", readOnly(text("next_hop_ip"))),
		}}
	}
	schedulers, sessions := outcome(schema.AppScheduler), outcome(schema.AppMirrorSession)
	groups := outcome(schema.AppCOPP)
	schedulers.Leaves, groups.Leaves = schedulers.Leaves[:2], groups.Leaves[:2]
	return tree.Module{Name: "tamtam-qos", Groups: []tree.Group{
		{Path: "/queues/queue", Rows: []tree.Row{queue}},
		{Path: "/schedulers/scheduler", Rows: []tree.Row{
			{
				DB: swss.ConfigDB, Table: schema.CfgScheduler, Key: "{name}", Entry: true,
				Leaves: []tree.Leaf{leaf("state/type", readOnly(text("type"))), leaf("state/weight", readOnly(text("weight")))},
			},
			schedulers,
		}},
		{Path: "/copp/groups/group", Rows: append(coppRows(), groups)},
		{Path: "/mirror-sessions/mirror-session", Rows: []tree.Row{
			{
				DB: swss.ConfigDB, Table: schema.CfgMirrorSession, Key: "{name}", Entry: true,
				Leaves: []tree.Leaf{
					leaf("state/type", tree.Codec{Get: func(r tree.Record) []string {
						return tree.One(cmp.Or(r.Field("type"), "ERSPAN"))
					}}),
					leaf("state/source-address", readOnly(text("src_ip"))),
					leaf("state/destination-address", readOnly(text("dst_ip"))),
					leaf("state/source-ports", readOnly(text("src_port"))), leaf("state/direction", readOnly(text("direction"))),
				},
			},
			sessions,
		}},
	}}
}

// coppRows returns the rows of a group of traps: its configuration, its target state, and the counters of its policer.
func coppRows() []tree.Row {
	var wanted, counted []tree.Leaf
	for name, field := range map[string]string{
		"traps": "trap_ids", "trap-action": "trap_action", "queue": "queue", "meter-type": "meter_type", "mode": "mode",
		"cir": "cir", "cbs": "cbs", "pir": "pir", "pbs": "pbs",
		"green-action": "green_action", "yellow-action": "yellow_action", "red-action": "red_action",
	} {
		wanted = append(wanted, leaf("state/"+name, readOnly(text(field))))
	}
	for _, colour := range []string{"green", "yellow", "red"} {
		stat := "SAI_POLICER_STAT_" + strings.ToUpper(colour)
		counted = append(counted, leaf("state/"+colour+"-packets", readOnly(text(stat+"_PACKETS"))),
			leaf("state/"+colour+"-octets", readOnly(text(stat+"_BYTES"))))
	}
	slices.SortFunc(wanted, func(a, b tree.Leaf) int { return cmp.Compare(a.Path, b.Path) })
	configured := tree.Codec{Get: func(r tree.Record) []string {
		var fields []string
		for f, v := range r.Fields {
			fields = append(fields, f+"="+v)
		}
		slices.Sort(fields)
		return tree.One(strings.Join(fields, " "))
	}}
	return []tree.Row{
		{DB: swss.ConfigDB, Table: schema.CfgCOPPGroup, Key: "{name}", Entry: true,
			Leaves: []tree.Leaf{leaf("state/configured", configured)}},
		{DB: swss.ApplDB, Table: schema.AppCOPP, Key: "{name}", Entry: true, Leaves: wanted},
		objectRow(schema.CountersPolicerNameMap, "{name}", counted...),
	}
}

// queueRow returns the row of counters of a queue; pairs holds the names of leaves and statistics in turn.
func queueRow(key string, pairs ...string) tree.Row {
	row := objectRow(schema.CountersQueueNameMap, key)
	row.Entry = true
	for i := 0; i < len(pairs); i += 2 {
		c := readOnly(text("SAI_QUEUE_STAT_" + pairs[i+1]))
		if strings.Contains(pairs[i+1], "WATERMARK") {
			c.Group = "QUEUE_WATERMARK"
		}
		row.Leaves = append(row.Leaves, leaf("state/"+pairs[i], c))
	}
	return row
}

// wredPath is the list of the WRED profiles.
const wredPath = "/qos/queue-management-profiles/queue-management-profile"

// queuesModule returns the mapping of openconfig-qos: the ports' egress queues with their counters, and WRED profiles.
func queuesModule() tree.Module {
	const ports = "/qos/interfaces/interface"
	const fixed = "QoS is written in CONFIG_DB"
	id := tree.Codec{Get: func(r tree.Record) []string { return tree.One(r.Keys[0]) }}
	return tree.Module{Name: "openconfig-qos", Groups: []tree.Group{
		{Path: ports, View: fixed, Rows: []tree.Row{
			{DB: swss.ApplDB, Table: schema.AppPort, Key: "{interface-id}", Only: "Ethernet", Entry: true,
				Leaves: []tree.Leaf{leaf("interface-ref/state/interface", id)}},
		}},
		{Path: ports + "/output/queues/queue", View: fixed, Through: queueThrough(), Rows: []tree.Row{
			queueRow("{interface-id}:{name}",
				"transmit-pkts", "PACKETS", "transmit-octets", "BYTES",
				"dropped-pkts", "DROPPED_PACKETS", "dropped-octets", "DROPPED_BYTES",
				"ecn-marked-pkts", "WRED_ECN_MARKED_PACKETS", "max-queue-len", "WATERMARK_BYTES"),
			{DB: swss.ConfigDB, Table: schema.CfgQueue, Key: "{*}", Of: tree.AllFields, Each: "interface-id name", Entry: true,
				Fold: configuredQueues, Leaves: []tree.Leaf{leaf("config/queue-management-profile", readOnly(text(queueProfile)))}},
		}},
		{Path: wredPath, Rows: []tree.Row{
			{DB: swss.ConfigDB, Table: schema.CfgWRED, Key: "{name}", Entry: true, Leaves: wredLeaves("config")},
			{DB: swss.ApplDB, Table: schema.AppWRED, Key: "{name}", Leaves: wredLeaves("state")},
		}},
	}}
}

// wredLeaves returns the leaves of a profile. Only green packets matter, since all packets of this switch are green.
func wredLeaves(at string) []tree.Leaf {
	ecn := words("ecn", "false", "true", "ecn_all", "true", "ecn_green", "true", "ecn_green_yellow",
		"true", "ecn_green_red", "false", "ecn_none")
	at = "wred/uniform/" + at
	return []tree.Leaf{
		leaf(at+"/min-threshold", number("green_min_threshold", "%d")),
		leaf(at+"/max-threshold", number("green_max_threshold", "%d")),
		leaf(at+"/max-drop-probability-percent", number("green_drop_probability", "%d")),
		leaf(at+"/drop", words("wred_green_enable", "false", "true", "true", "false", "false")),
		leaf(at+"/enable-ecn", ecn),
	}
}

// queueProfile is the field of a row of QUEUE with the name of a WRED profile.
const queueProfile = "wred_profile"

// configuredQueues returns the queues that rows of QUEUE configure, by port and number. Of several rows for a queue,
// the one whose key sorts first counts.
func configuredQueues(rows map[string]string) map[string]string {
	out := map[string]string{}
	for _, key := range slices.SortedFunc(maps.Keys(rows), schema.CompareNames) {
		q, err := schema.ParseQueue(key, withoutNull(tree.JSONFields(rows[key])))
		if err != nil {
			continue
		}
		text, err := json.Marshal(map[string]string{queueProfile: q.WRED})
		for _, port := range q.Ports {
			for _, n := range q.Queues {
				if at := fmt.Sprintf("%s %d", port, n); err == nil && out[at] == "" {
					out[at] = string(text)
				}
			}
		}
	}
	return out
}

// A queueAt is a queue of a port, with the row of QUEUE that configures it.
type queueAt struct {
	port, number, key string
	profile           string // name of its WRED profile; "" if it has none
}

// own reports whether the row configures only this queue.
func (q queueAt) own() bool { return q.key == q.port+"|"+q.number }

// queuesAt returns the configured queues that match a pattern of port and number.
func queuesAt(ctx context.Context, s tree.Setting, pattern []string) (found []queueAt, err error) {
	there, err := s.Match(ctx, rawRows, schema.CfgQueue, tree.Wildcard)
	taken := map[[2]string]bool{}
	slices.SortFunc(there, func(a, b []string) int { return schema.CompareNames(a[1], b[1]) })
	for i := 0; err == nil && i < len(there); i++ {
		var row map[string]string
		if row, err = readRaw(ctx, s, schema.CfgQueue, there[i][1]); err != nil {
			break
		}
		q, bad := schema.ParseQueue(there[i][1], withoutNull(row))
		for _, port := range q.Ports {
			for _, n := range q.Queues {
				at := [2]string{port, strconv.Itoa(int(n))}
				if bad == nil && !taken[at] && tree.Matches(at[:], pattern) {
					found = append(found, queueAt{at[0], at[1], there[i][1], q.WRED})
				}
				taken[at] = taken[at] || bad == nil
			}
		}
	}
	return found, err
}

// queueThrough returns the Through of the queues of ports.
func queueThrough() *tree.Through {
	shared := func(q queueAt) string { return "queue " + q.port + " " + q.number }
	refuse := func(q queueAt) error {
		return fmt.Errorf("QUEUE|%s configures it together with other queues: it is written in CONFIG_DB", q.key)
	}
	return &tree.Through{
		Put: func(ctx context.Context, s tree.Setting, keys []string, leaf string, v []string) error {
			port, key := keys[0], keys[0]+"|"+keys[1]
			if n, err := strconv.ParseUint(keys[1], 10, 8); err != nil || strconv.FormatUint(n, 10) != keys[1] {
				return fmt.Errorf("name %s: want the number of the queue", tree.Quoted(keys[1]))
			}
			if leaf == "" {
				return nil
			}
			s.Later("profile of "+key, "", func(ctx context.Context, _ []string) error {
				row, err := readRaw(ctx, s, schema.CfgQueue, key)
				name := tree.Record{Fields: row}.Field(queueProfile)
				if err != nil || name == "" {
					return err
				}
				if there, err := s.Match(ctx, wredPath, name); err != nil || len(there) > 0 {
					return err
				}
				return fmt.Errorf("/qos/interfaces/interface[interface-id=%s]/output/queues/queue[name=%s]/config/"+
					"queue-management-profile: there is no queue-management-profile %s", port, keys[1], name)
			})
			there, err := queuesAt(ctx, s, keys)
			if err != nil {
				return err
			}
			if len(there) > 0 && !there[0].own() {
				s.Later(shared(there[0]), "", nil)
				if there[0].profile != v[0] {
					return refuse(there[0])
				}
				return nil
			}
			if err := makeRaw(ctx, s, schema.CfgQueue, key); err != nil {
				return err
			}
			return writeRaw(ctx, s, schema.CfgQueue, key, text(queueProfile), keys, v)
		},
		Remove: func(ctx context.Context, s tree.Setting, pattern []string, n *tree.Node, _ bool) error {
			if n.Type != nil && n.Name != "queue-management-profile" {
				return nil
			}
			there, err := queuesAt(ctx, s, pattern)
			for _, q := range there {
				switch {
				case err != nil || q.profile == "":
				case !q.own() && pattern[0] == tree.Wildcard: // no Set of all ports can mean this row
				case !q.own(): // the Set may give the same value again
					s.Later(shared(q), "", func(context.Context, []string) error {
						return fmt.Errorf("/qos/interfaces/interface[interface-id=%s]/output/queues/queue[name=%s]: %w", q.port, q.number,
							refuse(q))
					})
				default:
					err = errors.Join(writeRaw(ctx, s, schema.CfgQueue, q.key, text(queueProfile), pattern, nil),
						removeEmpty(ctx, s, q.key))
				}
			}
			return err
		},
	}
}

// removeEmpty deletes a row of QUEUE that has no fields left.
func removeEmpty(ctx context.Context, s tree.Setting, key string) error {
	row, err := readRaw(ctx, s, schema.CfgQueue, key)
	if err != nil || row == nil || len(withoutNull(row)) > 0 {
		return err
	}
	return eraseRaw(ctx, s, schema.CfgQueue, key)
}
