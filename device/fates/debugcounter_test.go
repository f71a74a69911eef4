package fates

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/saisim/drop"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// debugConfig adds debug counters to a configuration: one for each SAI reason that the chip counts, and some counters
// for several reasons.
func debugConfig(c device.ConfigDB) (reasons map[string][]drop.Reason) {
	reasons = map[string][]drop.Reason{}
	c[schema.CfgDebugCounter], c[schema.CfgDebugReason] = map[string]swss.FieldValues{}, map[string]swss.FieldValues{}
	add := func(name, kind string, of ...drop.Countable) {
		c[schema.CfgDebugCounter][name] = swss.FieldValues{"type": kind}
		for _, x := range of {
			c[schema.CfgDebugReason][name+"|"+x.SAI] = swss.FieldValues{"NULL": "NULL"}
			reasons[name] = append(reasons[name], x.Of...)
		}
		slices.Sort(reasons[name])
		reasons[name] = slices.Compact(reasons[name])
	}
	in, out := drop.CountableIn(), drop.CountableOut()
	for i, x := range in {
		kind := schema.PortIngressDrops
		if i >= 15 {
			kind = schema.SwitchIngressDrops
		}
		add(x.SAI, kind, x)
	}
	add("all", schema.PortIngressDrops, in...)
	add("all-switch", schema.SwitchIngressDrops, in...)
	add("out", schema.PortEgressDrops, out...)
	add("out-switch", schema.SwitchEgressDrops, out...)
	return reasons
}

// debug compares the debug counters, as syncd has read them, with the model's counts.
func (f *fated) debug() {
	f.Helper()
	devicetest.NoError(f.T, f.Syncd.Counters.PollAll(f.Context()))
	db := f.Redis.DB(swss.CountersDB).Client()
	row := func(key string) map[string]string { return db.HGetAll(f.Context(), key).Val() }
	ports, switches := row(schema.CountersDebugPortMap), row(schema.CountersDebugSwitchMap)
	objects, names := row(schema.CountersDebugOIDMap), row(schema.CountersPortNameMap)
	if len(ports)+len(switches) != len(f.reasons) || len(objects) != len(f.reasons) {
		f.Fatalf("%d counters: of ports %v, of the switch %v", len(f.reasons), ports, switches)
	}
	read := func(oid, stat string) uint64 {
		n, err := strconv.ParseUint(row("COUNTERS:" + oid)[stat], 10, 64)
		if err != nil {
			f.Fatalf("%s of %s: %v", stat, oid, err)
		}
		return n
	}
	for name, of := range f.reasons {
		want, all := map[string]uint64{}, uint64(0)
		for at, n := range f.drops {
			if slices.ContainsFunc(of, func(r drop.Reason) bool { return r.String() == at[1] }) {
				want[at[0]] += n
				all += n
			}
		}
		if stat, ok := switches[name]; ok {
			_, whole, _ := strings.Cut(objects[name], " ")
			if got := read(whole, stat); got != all {
				f.Errorf("counter %s has %d, the model %d", name, got, all)
			}
			continue
		}
		maps.DeleteFunc(want, func(port string, n uint64) bool { return n == 0 || names[port] == "" })
		got := map[string]uint64{}
		for port, oid := range names {
			if n := read(oid, ports[name]); n > 0 {
				got[port] = n
			}
		}
		if !maps.Equal(got, want) {
			f.Errorf("counter %s has %v, the model %v", name, got, want)
		}
	}
}
