package models

import (
	"context"
	"encoding/json"
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
			{DB: swss.ConfigDB, Table: schema.CfgSFlow, Key: schema.SFlowGlobal, Leaves: all("config")},
			{DB: swss.ApplDB, Table: schema.AppSFlow, Key: schema.SFlowGlobal, Leaves: append(all("state"),
				leaf("sampling/sflow/state/dscp", constant("0")),
				leaf("sampling/sflow/state/sample-size", constant(strconv.Itoa(sflow.MaxHeader))))},
			{DB: swss.CountersDB, Table: schema.CountersSFlow, Key: schema.SFlowAgent, Counter: true,
				Leaves: []tree.Leaf{agent("ipv4"), agent("ipv6")}},
		}},
		{Path: at + "/collectors/collector", View: written, Rows: []tree.Row{{
			DB: swss.ApplDB, Table: schema.AppSFlowCollector, Key: "{*}", Of: "collector_ip collector_port collector_vrf",
			Each: "address port", Fold: sFlowCollectors, Entry: true,
			Leaves: []tree.Leaf{leaf("state/network-instance", readOnly(words("vrf", "", "default", "default")))},
		}}},
		{Path: at + "/interfaces/interface", View: written, Second: true, Through: samplingThrough(), Rows: []tree.Row{
			{DB: swss.ConfigDB, Table: schema.CfgSFlowSession, Key: "{name}", Fits: port, Entry: true,
				Leaves: sampledPort("config")},
			{DB: swss.ApplDB, Table: schema.AppSFlowSession, Key: "{name}", Fits: port, Leaves: sampledPort("state")},
			{DB: swss.ApplDB, Table: schema.AppSFlow, Key: schema.SFlowGlobal, Leaves: []tree.Leaf{
				leaf("state/polling-interval", readOnly(number("polling_interval", "%d")))}},
		}},
	}}
}

// sFlowCollectors returns the collectors by address and port.
func sFlowCollectors(rows map[string]string) map[string]string {
	out := map[string]string{}
	for _, text := range rows {
		f := strings.Split(text, "|")
		if a, err := netip.ParseAddr(f[0]); err == nil && len(f) == 3 && f[1] != "" {
			vrf, _ := json.Marshal(map[string]string{"vrf": f[2]}) // strings can be encoded
			out[a.String()+" "+f[1]] = string(vrf)
		}
	}
	return out
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
