package mgmt

// tamtamModules are all modules that the server serves.
func tamtamModules() []Module {
	modules := []Module{
		interfacesModule(), portsModule(), routingModule(), qosModule(), aclModule(), tamModule(),
		altMarkModule(), flyMonModule(), tableRecordModule(), healthModule(),
	}
	return append(modules, statusModule(modules), configurationModule(), talliesModule())
}
