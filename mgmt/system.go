package mgmt

import (
	"encoding/json"
	"strings"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// systemModule is openconfig-system in the databases, and on the machine.
func systemModule() Module {
	host := func(leaf, field string) Leaf { return Leaf{"system/" + leaf, readOnly(text(field))} }
	return Module{Name: "openconfig-system", Groups: []Group{
		{Path: "/", Rows: []Row{
			{DB: swss.ConfigDB, Table: schema.CfgDeviceMetadata, Key: schema.MetadataKey, Leaves: []Leaf{
				{"system/config/hostname", text("hostname")}, {"system/state/hostname", readOnly(text("hostname"))},
			}},
			{DB: swss.StateDB, Source: HostFacts, Key: "switch", Leaves: []Leaf{
				host("state/software-version", "software-version"), host("state/boot-time", "boot-time"),
			}},
			{DB: swss.StateDB, Source: HostState, Key: "switch", Counter: true, Leaves: []Leaf{
				host("state/current-datetime", "current-datetime"), host("state/up-time", "up-time"),
				host("memory/state/physical", "physical"), host("memory/state/free", "free"),
				host("memory/state/available", "available"), host("memory/state/used", "used"),
			}},
		}},
		{Path: "/system/processes/process", Rows: []Row{
			{DB: swss.StateDB, Source: HostProcesses, Key: "{pid}", Entry: true, Counter: true, Leaves: []Leaf{
				{"state/name", readOnly(text("name"))}, {"state/start-time", readOnly(text("start-time"))},
				{"state/cpu-usage-user", readOnly(text("cpu-usage-user"))},
				{"state/cpu-usage-system", readOnly(text("cpu-usage-system"))},
				{"state/memory-usage", readOnly(text("memory-usage"))},
			}},
		}},
		{Path: "/system/alarms/alarm", Rows: []Row{
			{DB: swss.StateDB, Table: schema.StateAlarm, Key: "{id}", Entry: true, Leaves: alarmLeaves()},
		}},
	}}
}

// platformModule is openconfig-platform in the databases: the chassis, the chip, and a component for each number that
// ports have on the front panel.
func platformModule() Module {
	const resources = "/components/component/integrated-circuit/utilization/resources/resource"
	kind := func(of string) []Leaf { return []Leaf{{"state/type", constant(of)}} }
	metadata := Row{
		DB: swss.ConfigDB, Table: schema.CfgDeviceMetadata, Key: schema.MetadataKey, At: "chassis", Entry: true,
		Leaves: append(kind("CHASSIS"),
			Leaf{"state/model-name", readOnly(text("hwsku"))}, Leaf{"state/description", readOnly(text("platform"))},
			Leaf{"state/base-mac-address", readOnly(text("mac"))}),
	}
	return Module{Name: "openconfig-platform", Groups: []Group{
		{Path: "/components/component", View: "components are what there is", Rows: []Row{
			metadata,
			{
				DB: swss.ApplDB, Table: schema.AppSwitch, Key: schema.SwitchKey, At: "chip", Entry: true,
				Leaves: kind("INTEGRATED_CIRCUIT"),
			},
			{
				DB: swss.ApplDB, Table: schema.AppPort, Key: "{*}", Of: "index", Fold: frontPanel, Each: "name", Entry: true,
				Leaves: kind("PORT"),
			},
			{
				DB: swss.StateDB, Source: HostFacts, Key: "switch", At: "chassis",
				Leaves: []Leaf{{"state/software-version", readOnly(text("software-version"))}},
			},
		}},
		{Path: resources, View: "components are what there is", Rows: []Row{
			{
				DB: swss.CountersDB, Table: schema.CountersCRM, Key: "STATS", At: "chip", Each: "name", Fold: crmResources,
				Entry: true, Counter: true,
				Leaves: []Leaf{{"state/used", readOnly(text("used"))}, {"state/free", readOnly(text("free"))}},
			},
		}},
		{Path: interfacesPath, Rows: []Row{
			{DB: swss.ApplDB, Table: schema.AppPort, Key: "{name}", Only: "Ethernet",
				Leaves: []Leaf{{"state/hardware-port", Codec{Get: hardwarePort}}}},
		}},
	}}
}

// portComponent is what the component of a number on the front panel is called.
const portComponent = "port-"

func hardwarePort(r Record) []string {
	if r.Field("index") == "" {
		return nil
	}
	return one(portComponent + r.Field("index"))
}

// frontPanel makes components of the numbers that ports have on the front panel.
func frontPanel(numbers map[string]string) map[string]string {
	out := map[string]string{}
	for _, n := range numbers {
		if n != "" {
			out[portComponent+n] = "{}"
		}
	}
	return out
}

// crmResources makes resources of the fields crm_stats_RESOURCE_used and _available.
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
