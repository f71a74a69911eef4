package models

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/sflow"
)

// sFlowSessions is the list in which the settings of ports are written.
const sFlowSessions = "/sflow/sessions/session"

// samplingModule returns the mapping of openconfig-sampling-sflow, which has some of tamtam-sflow's rows.
func samplingModule() tree.Module {
	const at, written = "/sampling/sflow", "it is written in /sflow"
	absent := map[string]string{"state": "false"} // config shows only what is configured
	all := func(kind string) []tree.Leaf {
		return []tree.Leaf{
			leaf("sampling/sflow/"+kind+"/enabled", words("admin_state", absent[kind], "true", "up", "false", "down")),
			leaf("sampling/sflow/"+kind+"/polling-interval", number("polling_interval", "%d")),
		}
	}
	agent := func(family string) tree.Leaf {
		return leaf("sampling/sflow/state/agent-id-"+family, tree.Codec{Get: func(r tree.Record) []string {
			a, err := netip.ParseAddr(r.Field(schema.SFlowAddress))
			if err != nil || a.Is4() != (family == "ipv4") || a.Zone() != "" {
				return nil
			}
			return tree.One(a.String())
		}})
	}
	port := func(keys []string) bool { return keys[len(keys)-1] != schema.SFlowAll }
	return tree.Module{Name: "openconfig-sampling-sflow", Groups: []tree.Group{
		{Path: "/", Rows: []tree.Row{
			{DB: swss.ConfigDB, Table: schema.CfgSFlow, Key: schema.SFlowGlobal, Leaves: append(all("config"),
				leaf("sampling/sflow/config/dscp", fixed(constant("0"), "datagrams are not marked")),
				leaf("sampling/sflow/config/sample-size", fixed(constant(strconv.Itoa(sflow.MaxHeader)),
					"a sample has that much of its packet")))},
			{DB: swss.ApplDB, Table: schema.AppSFlow, Key: schema.SFlowGlobal, Leaves: append(all("state"),
				leaf("sampling/sflow/state/dscp", constant("0")),
				leaf("sampling/sflow/state/sample-size", constant(strconv.Itoa(sflow.MaxHeader))))},
			{DB: swss.CountersDB, Table: schema.CountersSFlow, Key: schema.SFlowAgent, Counter: true,
				Leaves: []tree.Leaf{agent("ipv4"), agent("ipv6")}},
		}},
		{Path: at + "/collectors/collector", View: written, Through: collectorThrough(), Rows: []tree.Row{
			collectorRow(swss.ConfigDB, schema.CfgSFlowCollector, append(collectorKeys("config"), leaf("config/network-instance",
				readOnly(words("collector_vrf", instanceName, instanceName, instanceName, "", "mgmt"))))),
			collectorRow(swss.ApplDB, schema.AppSFlowCollector, append(collectorKeys("state"), leaf("state/network-instance",
				readOnly(words("collector_vrf", "", instanceName, instanceName))))),
		}},
		{Path: at + "/interfaces/interface", View: written, Second: true, Through: samplingThrough(), Rows: []tree.Row{
			{DB: swss.ConfigDB, Table: schema.CfgSFlowSession, Key: "{name}", Fits: port, Entry: true,
				Leaves: sampledPort("config")},
			{DB: swss.ApplDB, Table: schema.AppSFlowSession, Key: "{name}", Fits: port, Leaves: sampledPort("state")},
			{DB: swss.ApplDB, Table: schema.AppSFlow, Key: schema.SFlowGlobal, Leaves: []tree.Leaf{
				leaf("state/polling-interval", readOnly(number("polling_interval", "%d")))}},
		}},
	}}
}

// collectorRow returns the rows of the collectors of a database, by address and port.
func collectorRow(db swss.DBName, table string, leaves []tree.Leaf) tree.Row {
	return tree.Row{
		DB: db, Table: table, Key: "{*}", Of: tree.AllFields, Each: "address port", Entry: true, Leaves: leaves,
		Fold: func(rows map[string]string) map[string]string {
			out := map[string]string{}
			for _, name := range tree.SortedKeys(rows) {
				address, port := collectorAt(tree.JSONFields(rows[name]))
				if at := address + " " + port; address != "" && out[at] == "" {
					out[at] = rows[name]
				}
			}
			return out
		},
	}
}

// collectorAt returns the address and the port of a collector's row; the address is "" if it is not valid.
func collectorAt(row map[string]string) (address, port string) {
	r := tree.Record{Fields: row}
	a, err := netip.ParseAddr(r.Field("collector_ip"))
	if err != nil || a.Zone() != "" {
		return "", ""
	}
	return a.Unmap().String(), cmp.Or(r.Field("collector_port"), strconv.Itoa(schema.SFlowPort))
}

// collectorKeys returns the leaves of the keys of a collector, below config or state.
func collectorKeys(at string) []tree.Leaf {
	key := func(i int) tree.Codec {
		return tree.Codec{Get: func(r tree.Record) []string { return tree.One(r.Keys[i]) }}
	}
	return []tree.Leaf{leaf(at+"/address", key(0)), leaf(at+"/port", key(1))}
}

// collectorThrough returns the Through of collectors. SONiC calls a collector by a name, which follows from address and
// port where a Set makes one.
func collectorThrough() *tree.Through {
	const collectors = "/sflow/collectors/collector"
	removal := func(name string) string { return "sflow-collector " + name }
	row := func(ctx context.Context, s tree.Setting, name string) (map[string]string, error) {
		return s.Row(ctx, collectors, []string{name}, schema.CfgSFlowCollector)
	}
	// of returns the names of the collectors that match a pattern of address and port.
	of := func(ctx context.Context, s tree.Setting, pattern []string) (names []string, err error) {
		all, err := s.Match(ctx, collectors, tree.Wildcard)
		for i := 0; err == nil && i < len(all); i++ {
			var fields map[string]string
			if fields, err = row(ctx, s, all[i][0]); err == nil {
				if address, port := collectorAt(fields); address != "" && tree.Matches([]string{address, port}, pattern) {
					names = append(names, all[i][0])
				}
			}
		}
		return names, err
	}
	return &tree.Through{
		Put: func(ctx context.Context, s tree.Setting, keys []string, leaf string, v []string) error {
			a, err := netip.ParseAddr(keys[0])
			if err != nil || a.String() != keys[0] || a.Zone() != "" {
				return fmt.Errorf("address %s: want an address in its shortest form", tree.Quoted(keys[0]))
			}
			if leaf == "config/network-instance" && v[0] != instanceName {
				return fmt.Errorf("%s: want %s", tree.Quoted(v[0]), instanceName)
			}
			names, err := of(ctx, s, keys)
			if err != nil {
				return err
			}
			name := strings.ReplaceAll(keys[0], ":", "_") + "-" + keys[1]
			if len(names) > 0 {
				name = names[0]
				s.Later(removal(name), "", nil)
			}
			if err := s.Make(ctx, collectors, name); err != nil {
				return err
			}
			write := func(c tree.Codec, v ...string) error {
				return s.Write(ctx, collectors, []string{name}, schema.CfgSFlowCollector, c, v)
			}
			switch {
			case len(names) == 0:
				return errors.Join(write(number("collector_port", "%d"), keys[1]), write(text("collector_ip"), keys[0]))
			case leaf == "config/network-instance":
				return write(text("collector_vrf"), instanceName)
			}
			return nil
		},
		Remove: func(ctx context.Context, s tree.Setting, pattern []string, n *tree.Node, whole bool) error {
			names, err := of(ctx, s, pattern)
			for _, name := range names {
				if whole { // the Set may give it again
					s.Later(removal(name), "", func(ctx context.Context, _ []string) error {
						return s.Erase(ctx, collectors, name)
					})
				}
				vrf := tree.Codec{Get: text("collector_vrf").Get, Put: func(r tree.Record, _ []string) error {
					if r.Field("collector_vrf") == instanceName { // OpenConfig cannot express others
						r.Set("collector_vrf", "")
					}
					return nil
				}}
				if err == nil {
					err = s.Write(ctx, collectors, []string{name}, schema.CfgSFlowCollector, vrf, nil)
				}
			}
			return err
		},
	}
}

// sampledPort returns the leaves of a port. SONiC has one rate, and the direction for which it applies.
func sampledPort(at string) []tree.Leaf {
	rate := func(not string) tree.Codec {
		return tree.Codec{Get: func(r tree.Record) []string {
			if r.Field("sample_direction") == not || not == schema.SampleRX && r.Field("sample_direction") == "" {
				return nil
			}
			return number("sample_rate", "%d").Get(r)
		}}
	}
	return []tree.Leaf{
		leaf(at+"/enabled", readOnly(words("admin_state", "", "true", "up", "false", "down"))),
		leaf(at+"/ingress-sampling-rate", rate(schema.SampleTX)), leaf(at+"/egress-sampling-rate", rate(schema.SampleRX)),
	}
}

// samplingThrough returns the Through of the settings of ports.
func samplingThrough() *tree.Through {
	enabled, rate := words("admin_state", "", "true", "up", "false", "down"), number("sample_rate", "%d")
	ingress := tree.Codec{Get: rate.Get, Put: func(r tree.Record, v []string) error {
		switch {
		case len(v) > 0 && r.Field("sample_direction") == schema.SampleTX:
			return errors.New("sample-direction in " + sFlowSessions + " is tx: packets that come in are not sampled")
		case len(v) > 0 && r.Field("sample_direction") == "":
			r.Set("sample_direction", schema.SampleRX)
		}
		return rate.Put(r, v)
	}}
	settings := map[string]tree.Codec{"enabled": enabled, "ingress-sampling-rate": ingress}
	return &tree.Through{
		Put: func(ctx context.Context, s tree.Setting, keys []string, leaf string, v []string) error {
			name := strings.TrimPrefix(leaf, "config/")
			switch {
			case !schema.IsPortName(keys[0]):
				return fmt.Errorf("%s is no port", tree.Quoted(keys[0]))
			case name == "egress-sampling-rate":
				return errors.New("it is written in " + sFlowSessions + ", as sample-rate with a sample-direction")
			}
			if err := s.Make(ctx, sFlowSessions, keys[0]); err != nil || settings[name].Put == nil {
				return err
			}
			return s.Write(ctx, sFlowSessions, keys, schema.CfgSFlowSession, settings[name], v)
		},
		Remove: func(ctx context.Context, s tree.Setting, pattern []string, n *tree.Node, whole bool) error {
			port := func(keys []string) bool { return keys[0] != schema.SFlowAll }
			if whole && n.Type == nil {
				return erase(ctx, s, sFlowSessions, port, pattern[0])
			}
			there, err := ours(ctx, s, sFlowSessions, port, pattern[0])
			for _, keys := range there {
				for name, c := range settings {
					if err == nil && (n.Type == nil || n.Name == name) {
						err = s.Write(ctx, sFlowSessions, keys, schema.CfgSFlowSession, c, nil)
					}
				}
			}
			return err
		},
	}
}
