package models

import (
	"encoding/json"
	"strings"

	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// systemModule returns the mapping of openconfig-system to the databases and to facts about the machine.
func systemModule() tree.Module {
	host := func(name, field string) tree.Leaf { return leaf("system/"+name, readOnly(text(field))) }
	return tree.Module{Name: "openconfig-system", Groups: []tree.Group{
		{Path: "/", Rows: []tree.Row{
			{DB: swss.ConfigDB, Table: schema.CfgDeviceMetadata, Key: schema.MetadataKey, Leaves: []tree.Leaf{
				leaf("system/config/hostname", text("hostname")), leaf("system/state/hostname", readOnly(text("hostname"))),
			}},
			{DB: swss.StateDB, Source: HostFacts, Key: "switch", Leaves: []tree.Leaf{
				host("state/software-version", "software-version"), host("state/boot-time", "boot-time"),
			}},
			{DB: swss.StateDB, Source: HostState, Key: "switch", Counter: true, Leaves: []tree.Leaf{
				host("state/current-datetime", "current-datetime"), host("state/up-time", "up-time"),
				host("clock/state/timezone-name", "timezone-name"),
				host("state/domain-name", "domain-name"), leaf("system/dns/state/search", readOnly(list("search"))),
				host("memory/state/physical", "physical"), host("memory/state/free", "free"),
				host("memory/state/available", "available"), host("memory/state/used", "used"),
			}},
		}},
		{Path: "/system/processes/process", Rows: []tree.Row{
			{DB: swss.StateDB, Source: HostProcesses, Key: "{pid}", Entry: true, Counter: true, Leaves: []tree.Leaf{
				leaf("state/name", readOnly(text("name"))), leaf("state/start-time", readOnly(text("start-time"))),
				leaf("state/cpu-usage-user", readOnly(text("cpu-usage-user"))),
				leaf("state/cpu-usage-system", readOnly(text("cpu-usage-system"))),
				leaf("state/cpu-utilization", readOnly(text("cpu-utilization"))),
				leaf("state/memory-usage", readOnly(text("memory-usage"))),
				leaf("state/memory-utilization", readOnly(text("memory-utilization"))),
			}},
		}},
		{Path: "/system/mount-points/mount-point", Rows: []tree.Row{
			{DB: swss.StateDB, Source: HostMounts, Key: "{name}", Entry: true, Counter: true,
				Leaves: numbers("state", "size", "available", "utilized")},
		}},
		{Path: "/system/cpus/cpu", Rows: []tree.Row{
			{DB: swss.StateDB, Source: HostCPUs, Key: "{index}", Entry: true, Counter: true,
				Leaves: numbers("state/total", "instant", "avg", "interval")},
		}},
		{Path: "/system/alarms/alarm", Rows: []tree.Row{
			{DB: swss.StateDB, Table: schema.StateAlarm, Key: "{id}", Entry: true, Leaves: alarmLeaves()},
		}},
	}}
}

// platformModule returns the mapping of openconfig-platform: the chassis, the chip, the software, and a component for
// each front-panel number of ports.
func platformModule() tree.Module {
	const components, there = "/components/component", "components are what there is"
	const policed = "integrated-circuit/pipeline-counters/control-plane-traffic/state/"
	const resources = components + "/integrated-circuit/utilization/resources/resource"
	kind := func(of string) []tree.Leaf {
		list := []tree.Leaf{leaf("state/type", constant(of)), leaf("state/removable", constant("false")),
			leaf("state/empty", constant("false"))}
		if of != "INTEGRATED_CIRCUIT" { // the state of the chip is that of syncd
			list = append(list, leaf("state/oper-status", constant("ACTIVE")))
		}
		if of != "CHASSIS" {
			list = append(list, leaf("state/parent", constant(chassis)))
		}
		return list
	}
	metadata := tree.Row{
		DB: swss.ConfigDB, Table: schema.CfgDeviceMetadata, Key: schema.MetadataKey, At: chassis, Entry: true,
		Leaves: append(kind("CHASSIS"),
			leaf("state/model-name", readOnly(text("hwsku"))), leaf("state/description", readOnly(text("platform"))),
			leaf("state/base-mac-address", readOnly(text("mac")))),
	}
	return tree.Module{Name: "openconfig-platform", Groups: []tree.Group{
		{Path: components, View: there, Rows: []tree.Row{
			metadata,
			{
				DB: swss.ApplDB, Table: schema.AppSwitch, Key: schema.SwitchKey, At: chip, Entry: true,
				Leaves: kind("INTEGRATED_CIRCUIT"),
			},
			{
				DB: swss.StateDB, Table: schema.StateHealth, Key: "syncd", At: chip, Counter: true, Leaves: []tree.Leaf{
					leaf("state/oper-status", readOnly(words(schema.HealthState, "INACTIVE", "ACTIVE", schema.HealthReady))),
				},
			},
			{
				DB: swss.ApplDB, Table: schema.AppPort, Key: "{*}", Of: "index", Fold: frontPanel, Each: "name", Entry: true,
				Leaves: kind("PORT"),
			},
			{
				DB: swss.StateDB, Source: HostFacts, Key: "switch", At: chassis,
				Leaves: []tree.Leaf{leaf("state/software-version", readOnly(text("software-version")))},
			},
			{
				DB: swss.StateDB, Source: HostFacts, Key: "switch", At: "software", Entry: true,
				Leaves: append(kind("OPERATING_SYSTEM"),
					leaf("state/software-version", readOnly(text("software-version")))),
			},
		}},
		{Path: components + "/subcomponents/subcomponent", View: there, Rows: []tree.Row{
			{DB: swss.ApplDB, Table: schema.AppPort, Key: "{*}", Of: "index", At: chassis, Each: "name", Fold: frontPanel,
				Entry: true},
			{DB: swss.ApplDB, Table: schema.AppSwitch, Key: schema.SwitchKey, At: chassis, Each: "name", Entry: true,
				Fold: func(map[string]string) map[string]string { return map[string]string{chip: "{}"} }},
		}},
		{Path: resources, View: there, Rows: crmRows(chip,
			leaf("state/used", readOnly(text("used"))), leaf("state/free", readOnly(text("free"))))},
		{Path: "/system/utilization/resources/resource", View: there, Rows: crmRows("",
			leaf("state/active-component-list", constant(chip)))},
		{Path: components, Rows: []tree.Row{{
			DB: swss.StateDB, Source: SourcePoliced, Key: "switch", At: chip, Counter: true, Leaves: []tree.Leaf{
				leaf(policed+"dropped-aggregate", readOnly(text("packets"))),
				leaf(policed+"dropped-bytes-aggregate", readOnly(text("octets"))),
			},
		}}},
		{Path: interfacesPath, Rows: []tree.Row{
			{DB: swss.ApplDB, Table: schema.AppPort, Key: "{name}", Only: "Ethernet",
				Leaves: []tree.Leaf{leaf("state/hardware-port", tree.Codec{Get: hardwarePort})}},
		}},
	}}
}

// SourcePoliced is the source of the row "switch" with the packets and the octets that the policers of trap groups
// dropped. A sum with an unknown part is absent.
const SourcePoliced = "policed"

// chassis is the component that has all others, such as the chip.
const chassis, chip = "chassis", "chip"

// portComponent is the prefix of the component's name, before the front-panel number.
const portComponent = "port-"

func hardwarePort(r tree.Record) []string {
	if r.Field("index") == "" {
		return nil
	}
	return tree.One(portComponent + r.Field("index"))
}

// frontPanel returns a component for each front-panel number of a port.
func frontPanel(numbers map[string]string) map[string]string {
	out := map[string]string{}
	for _, n := range numbers {
		if n != "" {
			out[portComponent+n] = "{}"
		}
	}
	return out
}

// crmRows returns the rows of a resource of the chip, in the component at or everywhere: its use and its thresholds.
func crmRows(at string, leaves ...tree.Leaf) []tree.Row {
	rows := []tree.Row{
		{Key: "STATS", Fold: crmResources, Entry: true, Leaves: leaves},
		{Key: schema.CRMThresholds, Fold: crmThresholds, Leaves: []tree.Leaf{
			leaf("state/used-threshold-upper", readOnly(text("high"))),
			leaf("state/used-threshold-upper-clear", readOnly(text("low"))),
		}},
	}
	if at != "" {
		rows[1].Leaves = append(rows[1].Leaves,
			leaf("state/used-threshold-upper-exceeded", readOnly(text("exceeded"))))
	}
	for i := range rows {
		rows[i].DB, rows[i].Table, rows[i].At, rows[i].Each = swss.CountersDB, schema.CountersCRM, at, "name"
		rows[i].Counter = true
	}
	return rows
}

// crmThresholds returns the thresholds of each resource, from its fields RESOURCE_high, RESOURCE_low and
// RESOURCE_exceeded.
func crmThresholds(fields map[string]string) map[string]string {
	out := map[string]string{}
	for f, high := range fields {
		name, ok := strings.CutSuffix(f, "_high")
		if !ok {
			continue
		}
		text, err := json.Marshal(map[string]string{"high": high, "low": fields[name+"_low"],
			"exceeded": fields[name+"_exceeded"]})
		if err == nil {
			out[name] = string(text)
		}
	}
	return out
}

// crmResources returns a resource for each pair of fields crm_stats_RESOURCE_used and _available.
func crmResources(fields map[string]string) map[string]string {
	out := map[string]string{}
	for f, used := range fields {
		name, ok := strings.CutSuffix(strings.TrimPrefix(f, "crm_stats_"), "_used")
		if !ok {
			continue
		}
		text, err := json.Marshal(map[string]string{"used": used, "free": fields["crm_stats_"+name+"_available"]})
		if err == nil {
			out[name] = string(text)
		}
	}
	return out
}
