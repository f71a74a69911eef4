package models

// Tables of Config.Host.
const (
	// HostFacts has the row "switch", which never changes: boot-time in ns since 1970, software-version.
	HostFacts = "facts"
	// HostState has the row "switch": current-datetime as in RFC 3339, up-time in ns, the memory physical, free,
	// available and used in bytes, timezone-name, search, the domains of the resolver, separated by blanks, and
	// domain-name, the first of them.
	HostState = "state"
	// HostProcesses has a row by pid: name, start-time, cpu-usage-user and cpu-usage-system in ns, memory-usage in
	// bytes, cpu-utilization and memory-utilization in percent. cpu-utilization is that of the last seconds or, at the
	// first look at a process, that since its start.
	HostProcesses = "processes"
	// HostMounts has a row by the path of each file system on a device: its size, available and utilized, in units of
	// 10^6 bytes.
	HostMounts = "mounts"
	// HostCPUs has a row by the index of each processor, and ALL: instant, the time that it did not idle, in percent of
	// the last seconds; avg, the same of the last minutes; and interval, their length in ns.
	HostCPUs = "cpus"
)
