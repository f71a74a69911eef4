package fetch

import (
	"context"
	"maps"
	"slices"

	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// resolvePorts finds the ports that rules name by aliases. It reads ports only if there are such rules.
func (r Reader) resolvePorts(ctx context.Context, g *tree.List, entries []*tree.Entry) error {
	config := slices.IndexFunc(g.Rows, func(r *tree.ListRow) bool {
		return r.DB == swss.ConfigDB && r.Table == schema.CfgACLRule
	})
	appl := slices.IndexFunc(g.Rows, func(r *tree.ListRow) bool { return r.Wanted != nil })
	if config < 0 || appl < 0 {
		return nil
	}
	var ports map[string]string
	for _, e := range entries {
		names := tree.Record{Fields: e.Rows[config]}.Field("IN_PORTS")
		is := tree.Record{Fields: e.Rows[appl]}.Field("IN_PORTS")
		if names == "" || is == "" || names == is {
			continue
		}
		if ports == nil {
			var err error
			if ports, err = r.portNames(ctx); err != nil {
				return err
			}
		}
		e.Ports = ports
	}
	return nil
}

// portNames returns the ports by alias. A port's own name has precedence over any alias. If several ports share an
// alias, it stands for the first of these ports.
func (r Reader) portNames(ctx context.Context) (map[string]string, error) {
	t := r.Redis.Reading(ctx)
	rows, lags := t.Dump(swss.ConfigDB, schema.CfgPort), t.Keys(swss.ConfigDB, schema.CfgPortChannel)
	if err := t.Err(); err != nil {
		return nil, tree.Unavailable(err)
	}
	ports := map[string]string{}
	for name, fields := range rows {
		alias := fields["alias"]
		if was, ok := ports[alias]; alias != "" && (!ok || schema.CompareNames(name, was) < 0) {
			ports[alias] = name
		}
	}
	for _, name := range slices.AppendSeq(lags, maps.Keys(rows)) {
		delete(ports, name)
	}
	return ports, nil
}
