package models

import (
	"tamtam/mgmt/models/aft"
	fwd "tamtam/mgmt/models/forwarding"
	"tamtam/mgmt/models/hft"
	"tamtam/mgmt/models/qos"
	"tamtam/mgmt/models/trimming"
	"tamtam/mgmt/tree"
)

// All returns all modules that the server serves.
func All() []tree.Module {
	modules := []tree.Module{
		interfacesModule(), ethernetModule(), ratesModule(), aggregateModule(), vlanModule(), addressesModule(),
		portsModule(), lacpModule(), sdnModule(), transceiverModule(), p4rtModule(),
		routingModule(), qosModule(), aclModule(), tablesModule(),
		systemModule(), platformModule(), breakoutModule(), lldpModule(), instanceModule(), qos.Module(),
		tamModule(), altMarkModule(), altMarkDraftModule(), flyMonModule(), tableRecordModule(), dropMonitorModule(),
		ifaModule(), sflowModule(), samplingModule(), healthModule(),
		outputsModule(), debugCounterModule(), hft.Module(), fwd.Module(), trimming.Module(), microburstModule(),
	}
	modules = append(modules, aft.Modules()...)
	return append(modules, statusModule(modules), configurationModule(), talliesModule())
}
